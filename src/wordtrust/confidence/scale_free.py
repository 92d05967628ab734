"""Columns that do not depend on how a recognizer scales its scores: those of feature set `generic`.

Posteriors come at three sharpnesses: as they are, and with the scores of all paths multiplied by `FLAT` and `SHARP`.
Beside them stand ratios to the best arc of a node and to the best path, the arc's rank among those of its node,
scores relative to the other words of the utterance, and how long and how sure the utterance is. What they mean is the
same for every recognizer, so they are normalised by constants (`NORMAL`), not by statistics of anybody's data: a
generic model needs no adapting, and one utterance scores as it does among a thousand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from ..lattices.lattice import Flags, Floats, Lattices, Offsets
from .levels import local_log_posterior

FRAME = 0.01  # seconds
FLAT, SHARP = 0.4, 2.5  # what scores of paths are multiplied by
EDGE = 0.005  # seconds
TICK = 1e-6  # seconds: times that are nearer are one
GRAIN = 2.0**-30  # of what is summed: whole numbers add up to the same in any order and batch
SPREAD = 1e-6  # a smaller standard deviation within an utterance, as a share of the mean, is none

# By the flag that says whether they are there: columns that only some recognizers give.
SCALE_FREE_GROUPS: Mapping[str, tuple[str, ...]] = {
    "has_scores": ("relative_acoustic", "relative_transition"),
    "has_list": ("mean_token_logprob", "worst_token_logprob", "list_rank", "list_share"),
}
COMPUTED = (
    "duration", "relative_rate", "flat_posterior_logit", "sharp_posterior_logit", "node_ratio", "node_rank",
    "path_loss", "flat_utterance_posterior", "sharp_utterance_posterior",
)  # fmt: skip
OF_LATTICES = ("word_log_posterior", "slot_entropy", "edge_entropy")  # in no set
# Mean and standard deviation of each column, by which it is normalised.
NORMAL: Mapping[str, tuple[float, float]] = {
    "phones": (4.0, 2.0), "duration": (3.3, 0.8), "relative_rate": (0.0, 1.0), "phone_rate": (0.12, 0.06),
    "frequency": (4.0, 3.0),
    "posterior_logit": (0.0, 6.0), "flat_posterior_logit": (0.0, 6.0), "sharp_posterior_logit": (0.0, 8.0),
    "word_log_posterior": (0.0, 6.0), "slot_entropy": (0.7, 0.7), "edge_entropy": (0.7, 0.7),
    "word_posterior_logit": (0.0, 6.0), "local_posterior": (-2.0, 2.5), "node_ratio": (-1.5, 2.0),
    "node_rank": (0.7, 0.7), "path_loss": (1.0, 0.8), "depth": (2.0, 1.0),
    "utterance_posterior": (-0.4, 0.4), "flat_utterance_posterior": (-0.6, 0.5), "utterance_words": (2.3, 0.6),
    "sharp_utterance_posterior": (-0.3, 0.4), "relative_acoustic": (0.0, 1.0), "relative_transition": (0.0, 1.0),
    "mean_token_logprob": (-0.5, 0.7), "worst_token_logprob": (-0.9, 1.2), "list_rank": (0.8, 0.8),
    "list_share": (0.4, 0.35), "token_entropy": (0.9, 1.0), "token_rank": (0.2, 0.5), "token_margin": (2.5, 3.0),
}  # fmt: skip

Values = NDArray[np.float64]


def has_scale_free_group(networks: Lattices, flag: str) -> bool:
    """Whether networks have what a group of columns is made of."""
    if flag == "has_scores":
        return networks.acoustic is not None and networks.transition is not None
    return networks.extra.keys() >= {"logprob", "least_token_logprob", "tokens", "rank", "share"}


def tempered(networks: Lattices, posterior: Floats, power: float) -> Values:
    """[arcs] posteriors with the weight of every path raised to a power; posteriors are those of the networks."""
    from ..lattices.posterior import FlatGraph, arc_masses, arc_shares  # numba is loaded when it is first needed

    flat = FlatGraph.of(networks)
    share, _ = arc_shares(flat, power * local_log_posterior(networks.batch_source, posterior).astype(np.float64))
    arc_masses(flat, share)
    return share


def relative(values: Values, weight: Values, utterance: Offsets, utterances: int) -> Values:
    """Values less their weighted mean over the utterance, in its standard deviations; 0 where they do not differ."""
    total = np.maximum(np.bincount(utterance, weight, utterances), 1e-12)
    mean = np.bincount(utterance, weight * values, utterances) / total
    off = values - mean[utterance]
    spread = np.sqrt(np.bincount(utterance, weight * off**2, utterances) / total)
    differ = spread > SPREAD * (1 + np.abs(mean))
    return np.asarray(np.where(differ[utterance], off / np.where(differ, spread, 1.0)[utterance], 0.0))


@dataclass(frozen=True)
class ScaleFreeColumns:
    """The arcs of a batch of networks, with these columns as attributes."""

    networks: Lattices
    phones: Values  # [arcs] of the word
    mass: Values  # [arcs] how often the word was heard in training

    @cached_property
    def _start(self) -> Values:
        return self.networks.start_time

    @cached_property
    def _end(self) -> Values:
        return self.networks.end_time

    @cached_property
    def _utterance(self) -> Offsets:
        return self.networks.utterance_of_arc

    @cached_property
    def silence(self) -> Flags:
        """Arcs without a word."""
        silent: Flags = self.networks.word == 0
        return silent

    @cached_property
    def posterior(self) -> Floats:
        """The posteriors, which every network has."""
        if self.networks.posterior is None:
            raise InputError(
                "these lattices have no posteriors", file=self.networks.origin.file, remedy="Build networks first"
            )
        return self.networks.posterior

    @cached_property
    def frames(self) -> Values:
        """How long each arc lasts."""
        return (self._end - self._start) / FRAME

    @property
    def duration(self) -> Values:
        """The log of the number of frames."""
        return np.asarray(np.log(np.maximum(self.frames, 1.0)))

    @property
    def relative_rate(self) -> Values:
        """How slowly a word was said, by its estimated phones, beside the others of the utterance."""
        return self._relative(self.duration - np.log(np.maximum(self.phones, 1.0)))

    def _relative(self, values: Values) -> Values:
        weight = np.where(self.silence, 0.0, self.posterior.astype(np.float64))
        return relative(values, weight, self._utterance, len(self.networks))

    @cached_property
    def flat_posterior(self) -> Values:
        """The posterior where paths are nearer to each other."""
        return tempered(self.networks, self.posterior, FLAT)

    @cached_property
    def sharp_posterior(self) -> Values:
        """The posterior where paths are further from each other."""
        return tempered(self.networks, self.posterior, SHARP)

    @property
    def flat_utterance_posterior(self) -> Values:
        """The mean log of the flat posterior over the words of the 1-best."""
        return self._mean_log(self.flat_posterior)

    @property
    def sharp_utterance_posterior(self) -> Values:
        """The same of the sharp one."""
        return self._mean_log(self.sharp_posterior)

    def _mean_log(self, posterior: Values) -> Values:
        assert self.networks.picked is not None
        chosen = np.flatnonzero(self.networks.picked & ~self.silence)
        owner, utterances = self._utterance, len(self.networks)
        total = np.bincount(owner[chosen], np.log(np.maximum(posterior[chosen], 1e-6)), utterances)
        return np.asarray((total / np.maximum(np.bincount(owner[chosen], minlength=utterances), 1))[owner])

    @property
    def slot_entropy(self) -> Values:
        """The entropy of what may have been said at the middle of the arc, in nats."""
        return self._entropy_at((self._start + self._end) / 2)

    @property
    def edge_entropy(self) -> Values:
        """The mean of that just before the arc and just after it."""
        before, after = self._entropy_at(self._start - EDGE), self._entropy_at(self._end + EDGE)
        return np.asarray((before + after) / 2)

    @cached_property
    def _entropy_grains(self) -> Offsets:
        """[arcs] what each adds to the entropy of the instants that it is there."""
        share = self.posterior.astype(np.float64)
        return np.rint(-share * np.log(np.maximum(share, 1e-30)) / GRAIN).astype(np.int64)

    def _entropy_at(self, instant: Values) -> Values:
        """[arcs] the entropy at an instant for each, the same in every batch: whole numbers are added."""
        start, end, asked = (np.rint(time / TICK).astype(np.int64) for time in (self._start, self._end, instant))
        apart = self._utterance * (int(end.max(initial=0)) + int(2 / TICK))  # utterances one after the other
        total = np.zeros(len(instant), np.int64)
        for time, sign in ((start, 1), (end, -1)):
            order = np.argsort(time + apart, kind="stable")
            # what begins at the instant is there, what ends then is not
            until = np.searchsorted((time + apart)[order], asked + apart, side="right")
            total += sign * np.concatenate([[0], np.cumsum(self._entropy_grains[order])])[until]
        return np.asarray(np.maximum(GRAIN * total, 0.0))

    @property
    def node_ratio(self) -> Values:
        """The log of the posterior beside that of the best arc that leaves the same node."""
        node, posterior = self.networks.batch_source, np.maximum(self.posterior.astype(np.float64), 1e-12)
        best = np.zeros(len(self.networks.time))
        np.maximum.at(best, node, posterior)
        return np.asarray(np.log(posterior / best[node]))

    @property
    def node_rank(self) -> Values:
        """The log of one more than the number of arcs that leave the same node and are more probable."""
        node = self.networks.batch_source
        order = np.lexsort((-self.posterior.astype(np.float64), node))
        begin = np.diff(node[order], prepend=-1) != 0
        index = np.arange(len(node))
        within = index - np.maximum.accumulate(np.where(begin, index, 0))
        ties = np.r_[False, (node[order][1:] == node[order][:-1]) & (np.diff(self.posterior[order]) == 0)]
        rank = np.empty(len(node))
        rank[order] = np.maximum.accumulate(np.where(ties, 0, index)) - (index - within)
        return np.asarray(np.log1p(rank))

    @property
    def path_loss(self) -> Values:
        """The log of one more than how much worse, as a log ratio, the best path through an arc is than the best."""
        from ..lattices.posterior import path_losses  # numba is loaded when it is first needed

        local = local_log_posterior(self.networks.batch_source, self.posterior).astype(np.float64)
        loss, _ = path_losses(self.networks, local)
        return np.asarray(np.log1p(np.maximum(loss, 0.0)))

    @property
    def relative_acoustic(self) -> Values:
        """Acoustic score per frame, beside the other words of the utterance."""
        assert self.networks.acoustic is not None
        return self._relative(self.networks.acoustic.astype(np.float64) / np.maximum(self.frames, 1.0))

    @property
    def relative_transition(self) -> Values:
        """Language score, beside the other words of the utterance."""
        assert self.networks.transition is not None
        return self._relative(self.networks.transition.astype(np.float64))

    @property
    def mean_token_logprob(self) -> Values:
        """The log-probability of a token of the word, on average."""
        extra = self.networks.extra
        return np.asarray(extra["logprob"].astype(np.float64) / np.maximum(extra["tokens"], 1.0))

    @property
    def worst_token_logprob(self) -> Floats:
        """That of its least probable token."""
        return self.networks.extra["least_token_logprob"]

    @property
    def list_rank(self) -> Values:
        """The log of one more than the rank of the word's hypothesis."""
        return np.asarray(np.log1p(np.maximum(self.networks.extra["rank"].astype(np.float64), 0.0)))

    @property
    def list_share(self) -> Floats:
        """The share of the list's hypotheses that have the word there."""
        return self.networks.extra["share"]

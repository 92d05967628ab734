"""What the model sees of every arc of a network: a matrix with one named column for each feature.

- set `paper`: silence, phones, transition, acoustic, posterior, frames, one_best (the words' embeddings come on top);
- set `full`: these, and what recognizers give besides or what is hard to compute from the others. Of N-best lists:
  `logprob`, `least_token_logprob`, `tokens`, `rank`, `share`, `eot_logprob`, `empty_logprob`, `length`. Of all:
  `posterior_logit`; `local_posterior`: the log of an arc's share of its node; `frequency`: how often the word was
  heard in training; `depth`: how many arcs compete at its middle; `acoustic_rate`, `phone_rate`: per frame;
  `word_posterior_logit`: of all arcs that say the same word at its middle; `utterance_posterior`, `utterance_words`:
  the mean log-posterior of the words of the 1-best, and the log of their number.
  Of recognizers that tell how sure they were of each token: `token_entropy`, `token_rank`, `token_margin`.
  Of networks that a language model has read: `lm_logprob`, `lm_next_logprob`, `lm_share`.
- set `generic`: what does not depend on the scale of a recognizer's scores (`scale_free`). Beside it are columns that
  only the formula for lattices has (`lattice_formula`).

A column that a recognizer does not give is absent: a model trained without it does without it, and one that needs it
says so. Groups of columns of `lattices.evidence` are optional: a model trained with them also does without them. Each
has a flag that is 1 on arcs that have the group (`has_tokens`, `has_lm`); on others its columns are NaN, and 0 (the
mean) when normalised. Columns about words are 0 for silence, before and after normalisation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import logit
from ..base.errors import InputError, OptionError
from ..lattices.evidence import OPTIONAL_EVIDENCE
from ..lattices.lattice import Flags, Floats, Lattices, Offsets
from .levels import local_log_posterior
from .scale_free import (
    COMPUTED,
    GRAIN,
    NORMAL,
    OF_LATTICES,
    SCALE_FREE_GROUPS,
    TICK,
    ScaleFreeColumns,
    Values,
    has_scale_free_group,
)

VERSION = 1  # of the meaning of the columns below; models for another version are refused
EVIDENCE = ("logprob", "least_token_logprob", "tokens", "rank", "share", "eot_logprob", "empty_logprob", "length")
PAPER = ("silence", "phones", "transition", "acoustic", "posterior", "frames", "one_best")
FULL = (
    *PAPER, *EVIDENCE, "posterior_logit", "local_posterior", "frequency", "depth", "acoustic_rate", "phone_rate",
    "word_posterior_logit", "utterance_posterior", "utterance_words",
    *(column for flag, names in OPTIONAL_EVIDENCE.items() for column in (flag, *names)),
)  # fmt: skip
GENERIC = (
    "silence", "one_best", "phones", "phone_rate", "frequency", "posterior_logit", "word_posterior_logit",
    "local_posterior", "depth", "utterance_posterior", "utterance_words", *COMPUTED,
    *(column for flag, names in SCALE_FREE_GROUPS.items() for column in (flag, *names)),
    "has_tokens", *OPTIONAL_EVIDENCE["has_tokens"],
)  # fmt: skip
SETS: Mapping[str, tuple[str, ...]] = {"paper": PAPER, "full": FULL, "generic": GENERIC}
ALL = (*FULL, *(column for column in GENERIC if column not in FULL), *OF_LATTICES)  # columns of any set, and others
OPTIONAL_GROUPS = {**OPTIONAL_EVIDENCE, **SCALE_FREE_GROUPS}  # by flag: columns that a model also does without
OPTIONAL = frozenset(column for flag, names in OPTIONAL_GROUPS.items() for column in (flag, *names))
OF_WORDS = (OPTIONAL - set(OPTIONAL_GROUPS)) | {
    "phones", "logprob", "least_token_logprob", "tokens", "frequency", "phone_rate", "relative_rate",
}  # fmt: skip
FLAGS = frozenset({"silence", "one_best", *OPTIONAL_GROUPS})  # left as they are
_FLAG_OF = {name: flag for flag, names in OPTIONAL_GROUPS.items() for name in (flag, *names)}  # by column
LIMIT = 8.0  # standard deviations from the mean: what lies beyond says no more, and no input can blow up a network
SIZES = {"length": 2.0, "utterance_words": 1.5}  # how long an utterance is: standard deviations that sentences have
FORGET = 4.0  # beyond, sizes go back to the mean, so much faster
SURE = 1e-6  # posteriors nearer to 0 or 1 than this count as this near


@dataclass(frozen=True)
class Arcs(ScaleFreeColumns):
    """The arcs of a batch of networks, and what the columns are made of."""

    @property
    def posterior_logit(self) -> Values:
        """The posterior on the real line."""
        return clipped_logit(self.posterior)

    @property
    def flat_posterior_logit(self) -> Values:
        """The posterior where paths are nearer to each other, on the real line."""
        return clipped_logit(self.flat_posterior)

    @property
    def sharp_posterior_logit(self) -> Values:
        """The posterior where paths are further from each other, on the real line."""
        return clipped_logit(self.sharp_posterior)

    @property
    def local_posterior(self) -> Floats:
        """The log of the share that an arc has of all that leaves its node."""
        return local_log_posterior(self.networks.batch_source, self.posterior)

    @property
    def depth(self) -> Values:
        """The log of the number of arcs at the middle of each."""
        from .feature_kernels import count_crossing  # numba is loaded when it is first needed

        networks, count = self.networks, np.empty(len(self._start), np.int64)
        # rounded: the middle of 0.01 and 0.09 is a little less than 0.05
        time, middle = (np.round(seconds, 6) for seconds in (networks.time, (self._start + self._end) / 2))
        graph = networks.node_offsets, networks.arc_offsets, networks.source, networks.target
        count_crossing(*graph, time, middle, count)
        return np.asarray(np.log(np.maximum(count, 1)))

    @cached_property
    def word_posterior(self) -> Values:
        """The summed posteriors of all arcs that say the word of each at its middle."""
        from .feature_kernels import number_words, sum_crossing  # numba is loaded when it is first needed

        networks, group = self.networks, np.empty(len(self._start), np.int64)
        last = np.zeros(len(networks.vocabulary), np.int64)
        groups = number_words(networks.arc_offsets, networks.word, last, group)
        first = np.repeat(networks.time[networks.node_offsets[:-1]], np.diff(networks.node_offsets))
        ticks, grains = np.rint((networks.time - first) / TICK), np.rint(self.posterior / GRAIN).astype(np.int64)
        total = np.empty(len(group), np.int64)
        sum_crossing(group, groups, networks.batch_source, networks.batch_target, ticks, grains, total)
        return np.clip(total * GRAIN, self.posterior, 1.0)

    @property
    def word_posterior_logit(self) -> Values:
        """The posterior of the word on the real line."""
        return clipped_logit(self.word_posterior)

    @property
    def word_log_posterior(self) -> Values:
        """The log of the posterior of the word."""
        return np.asarray(np.log(np.maximum(self.word_posterior, SURE)))

    @property
    def utterance_posterior(self) -> Values:
        """The mean log-posterior of the words of the 1-best; 0 where it has none."""
        chosen, words = self._one_best_words
        log_posterior = np.log(np.maximum(self.word_posterior[chosen], SURE))
        total = np.bincount(self._utterance[chosen], log_posterior, len(words))
        return np.asarray((total / np.maximum(words, 1))[self._utterance])

    @property
    def utterance_words(self) -> Values:
        """The log of the number of words of the 1-best."""
        _, words = self._one_best_words
        return np.asarray(np.log1p(words)[self._utterance])

    @cached_property
    def _one_best_words(self) -> tuple[Offsets, Offsets]:
        """Arcs with a word that are on the 1-best; [utterances] how many there are."""
        assert self.networks.picked is not None
        chosen = np.flatnonzero(self.networks.picked & ~self.silence)
        return chosen, np.bincount(self._utterance[chosen], minlength=len(self.networks))

    @property
    def frequency(self) -> Values:
        """The log of how often a word was heard."""
        return np.log1p(np.maximum(self.mass, 0.0))

    @property
    def acoustic_rate(self) -> Values:
        """Acoustic score per frame."""
        assert self.networks.acoustic is not None
        return self.networks.acoustic / np.maximum(self.frames, 1.0)

    @property
    def phone_rate(self) -> Values:
        """Phones per frame."""
        return self.phones / np.maximum(self.frames, 1.0)


_ARRAYS = {"transition": "transition", "acoustic": "acoustic", "one_best": "picked"}  # of lattices, as they are
_NEEDED = {
    "acoustic_rate": "acoustic", "utterance_posterior": "picked", "utterance_words": "picked",
    "flat_utterance_posterior": "picked", "sharp_utterance_posterior": "picked",
}  # fmt: skip
_COMPUTED = frozenset(ALL) - set(EVIDENCE) - OPTIONAL - set(_ARRAYS)  # attributes of `Arcs`


def clipped_logit(probability: NDArray[np.floating]) -> Values:
    """Log-odds; what is (nearly) certain stays finite."""
    return logit(np.clip(probability.astype(np.float64), SURE, 1 - SURE))


def columns_of(name: str) -> tuple[str, ...]:
    """The columns of a feature set by name, or of a list of columns joined by commas."""
    if name in SETS:
        return SETS[name]
    return check_columns([part.strip() for part in name.split(",")])


def check_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns, if there is any and each of them is one that can be made."""
    unknown = [column for column in columns if column not in ALL]
    if unknown or not columns:
        named = repr(unknown[0])[:100] if unknown else "at all"
        raise OptionError(f"no feature set or column {named}; sets: {', '.join(SETS)}; columns: {', '.join(ALL)}")
    if len(set(columns)) < len(columns):
        raise OptionError(f"a column is named twice: {', '.join(columns)}")
    return tuple(columns)


def available(networks: Lattices, columns: Iterable[str]) -> tuple[str, ...]:
    """Those of the columns that these networks can fill."""
    return tuple(column for column in columns if _is_given(networks, column))


def _is_given(networks: Lattices, column: str) -> bool:
    if column in EVIDENCE:
        return column in networks.extra
    if column in OPTIONAL:
        return bool(_has_group(networks, column).any())
    if column in _NEEDED:
        return getattr(networks, _NEEDED[column]) is not None
    return column in _COMPUTED or (column in _ARRAYS and getattr(networks, _ARRAYS[column]) is not None)


def _has_group(networks: Lattices, column: str) -> Flags:
    """[arcs] that have all of the optional group that a column belongs to."""
    flag, there = _FLAG_OF[column], np.ones(len(networks.source), np.bool_)
    if flag in SCALE_FREE_GROUPS:
        return there & has_scale_free_group(networks, flag)
    for name in OPTIONAL_EVIDENCE[flag]:
        values = networks.extra.get(name)
        there &= False if values is None else ~np.isnan(values)
    return there


def optional_groups(columns: Sequence[str]) -> list[list[int]]:
    """The indices of the columns of each optional group, its flag among them."""
    groups = [(flag, *names) for flag, names in OPTIONAL_GROUPS.items()]
    indices = [[index for index, column in enumerate(columns) if column in group] for group in groups]
    return [group for group in indices if group]


def matrix(arcs: Arcs, columns: Sequence[str]) -> Floats:
    """[arcs, columns] as they are, before normalisation."""
    values = np.empty((len(arcs.networks.source), len(columns)), np.float32)
    for index, column in enumerate(columns):
        values[:, index] = _column(arcs, column)
        if column in OF_WORDS:
            values[arcs.silence, index] = 0.0
    return values


def _column(arcs: Arcs, column: str) -> NDArray[np.generic]:
    if column in OPTIONAL:
        there = _has_group(arcs.networks, column)
        if column in FLAGS or not there.any():
            return there if column in FLAGS else np.full(len(there), np.nan)
        computed = _FLAG_OF[column] in SCALE_FREE_GROUPS
        return np.where(there, getattr(arcs, column) if computed else arcs.networks.extra[column], np.nan)
    if not _is_given(arcs.networks, column):
        if column in EVIDENCE and arcs.silence.all():  # nothing was said, so there is nothing to know of words
            return np.zeros(len(arcs.silence), np.float32)
        raise InputError(
            f"there is no {column!r} on the arcs",
            file=arcs.networks.origin.file,
            remedy="The model was trained with it, on outputs of another kind: use `generic`, or train one",
        )
    if column in EVIDENCE:
        return arcs.networks.extra[column]
    values: NDArray[np.generic] = (
        getattr(arcs, column) if column in _COMPUTED else getattr(arcs.networks, _ARRAYS[column])
    )
    return values


def normalised(arcs: Arcs, statistics: Statistics, *, lenient: bool = False) -> Floats:
    """[arcs, columns] as a model sees them; where it is lenient, 0 (the mean) for columns that are not given."""
    columns = statistics.columns
    if not lenient:
        return statistics.normalise(matrix(arcs, columns), arcs.silence)
    values = np.zeros((len(arcs.silence), len(columns)), np.float32)
    kept = [index for index, column in enumerate(columns) if _is_given(arcs.networks, column)]
    own = Statistics(tuple(columns[index] for index in kept), statistics.mean[kept], statistics.std[kept])
    values[:, kept] = own.normalise(matrix(arcs, own.columns), arcs.silence)
    return values


def known_size(size: Floats, longest: np.float32) -> Floats:
    """Normalised sizes as far as training can have known them; of longer ones the size tells nothing, like the mean.

    Models learn from sentences, and are asked about segments of fifteen seconds: without this they doubt every word.
    """
    beyond = np.maximum(size - longest, 0)
    return np.where(beyond > 0, np.maximum(longest - np.float32(FORGET) * beyond, 0), size)


@dataclass(frozen=True, eq=False)
class Statistics:
    """Mean and standard deviation of every column over the training data, those about words over words only.

    Of optional columns, over the arcs that have them.
    """

    columns: tuple[str, ...]
    mean: Floats  # [columns] 0 for flags
    std: Floats  # [columns] 1 for flags

    @classmethod
    def fixed(cls, columns: Sequence[str]) -> Statistics:
        """Constants, for columns that mean the same for every recognizer."""
        mean, std = np.array([NORMAL.get(column, (0.0, 1.0)) for column in columns], np.float32).T
        return cls(tuple(columns), mean.copy(), std.copy())

    @classmethod
    def of(cls, raw: Floats, columns: Sequence[str], silence: Flags) -> Statistics:
        """Of the features of all training arcs."""
        mean, std = np.zeros(len(columns)), np.ones(len(columns))
        for index, column in enumerate(columns):
            values = raw[~silence if column in OF_WORDS else slice(None), index].astype(np.float64)
            values = values[~np.isnan(values)] if column in OPTIONAL else values
            if column not in FLAGS and len(values):
                mean[index], std[index] = values.mean(), values.std()
        std = np.where(std > 1e-6, std, 1.0)  # a column that never changes says nothing
        return cls(tuple(columns), mean.astype(np.float32), std.astype(np.float32))

    def normalise(self, raw: Floats, silence: Flags) -> Floats:
        """Features of mean 0 and standard deviation 1, within limits."""
        with np.errstate(over="ignore"):  # infinity is beyond the limit like much else
            values: Floats = np.clip((raw - self.mean) / self.std, -LIMIT, LIMIT)
        for index, column in enumerate(self.columns):
            if column in OF_WORDS:
                values[silence, index] = 0.0
            if column in OPTIONAL:
                values[np.isnan(values[:, index]), index] = 0.0
            if column in SIZES:
                values[:, index] = known_size(values[:, index], np.float32(SIZES[column]))
        return values

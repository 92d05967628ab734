"""Lattices as other recognizers would have left them: with other scales, beams, lists and vocabularies, at random.

A generic model is to hold for recognizers that nobody has seen, and nine of them are few. From one recognizer's
lattices come as many variants as are drawn: all scores sharper or flatter, acoustic and language scores weighed
against each other otherwise, another word penalty, a narrower beam, fewer hypotheses, a smaller vocabulary. What the
recognizer would print is then what its lattice says is best.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

from ..base.arrays import csr_rows
from ..lattices.lattice import Flags, Lattices
from ..lattices.paths import one_best
from ..lattices.posterior import path_losses, prune, select_arcs
from ..lattices.weights import Reals, Scales, log_scores, only_posteriors, weighed_scores
from .hwcn import SHARE

RANK = "rank"  # of the hypothesis that an arc is on, where there are hypotheses
_UNKNOWN = 1e4  # what a word outside the vocabulary costs: more than any beam, less than what no path avoids


@dataclass(frozen=True, slots=True)
class Variant:
    """How lattices are changed."""

    sharpness: float = 1.0  # all scores are multiplied by it
    balance: float = 1.0  # acoustic scores by it as well, where there are language scores
    penalty: float = 0.0  # added for every word
    beam: float | None = None  # arcs on no path within this of the best are left out
    hypotheses: int | None = None  # so many of a list are kept
    unknown: float = 0.0  # share of words that are not in the vocabulary
    seed: int = 0  # which words these are
    other_pick: bool = False  # the words that it prints are those that were best before scores were changed

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Variant:
        """A random one."""
        return cls(
            sharpness=float(np.exp(rng.normal(0.0, 0.5))),
            balance=float(np.exp(rng.normal(0.0, 0.5))) if rng.random() < 0.7 else 1.0,
            penalty=float(rng.normal(0.0, 0.7)) if rng.random() < 0.5 else 0.0,
            beam=float(rng.uniform(1.0, 12.0)) if rng.random() < 0.5 else None,
            hypotheses=int(rng.integers(1, 11)) if rng.random() < 0.5 else None,
            unknown=float(rng.uniform(0.0, 1.0) ** 2 * 0.6) if rng.random() < 0.4 else 0.0,
            seed=int(rng.integers(2**31)),
            other_pick=bool(rng.random() < 0.4),
        )

    @classmethod
    def of_same_recognizer(cls, rng: np.random.Generator) -> Variant:
        """A random one of a recognizer that is known: fewer hypotheses, a narrower beam, for some other scores."""
        rescored = rng.random() < 0.4
        return cls(
            sharpness=float(np.exp(rng.normal(0.0, 0.7))) if rescored else 1.0,
            balance=float(np.exp(rng.normal(0.0, 0.4))) if rescored and rng.random() < 0.7 else 1.0,
            penalty=float(rng.normal(0.0, 0.7)) if rescored and rng.random() < 0.5 else 0.0,
            beam=max(0.0, float(rng.uniform(-1.0, 8.0))),
            hypotheses=max(1, int(rng.integers(0, 11))),
        )

    def of(self, lattices: Lattices) -> Lattices:
        """The lattices of such a recognizer; those with posteriors instead of scores stay as they are."""
        if only_posteriors(lattices):
            return lattices
        printed = self._printed(lattices) if self.other_pick else None
        changed = replace(lattices, scales=self._scales(lattices), picked=printed)
        if self.hypotheses is not None and RANK in changed.extra:
            kept = changed.extra[RANK] < self.hypotheses
            changed = select_arcs(changed, kept if printed is None else kept | printed)
        score = log_scores(changed)
        loss, _ = path_losses(changed, score - _UNKNOWN * self._is_unknown(changed))
        beam = np.inf if self.beam is None else self.beam
        # What is left of an utterance always has the best path; unknown words stay only where nothing else was said.
        lost = np.full(len(changed), np.inf)
        np.minimum.at(lost, csr_rows(changed.arc_offsets), loss)
        keep = loss - lost[csr_rows(changed.arc_offsets)] <= min(beam, _UNKNOWN / 2) + 1e-6
        keep[one_best(changed).arcs_in(changed)] |= not self.unknown
        if changed.picked is not None:
            keep |= changed.picked
        return select_arcs(changed, keep)

    def in_scores(self, lattices: Lattices) -> Lattices:
        """The lattices of the same recognizer, the change in the scores instead of the scales.

        Readers that set scales of their own see it then. What was picked stays, and a list has fewer hypotheses
        whatever the beam is.
        """
        if RANK in lattices.extra and self.hypotheses is not None:
            narrow = _shortened(lattices, self.hypotheses)
        else:
            narrow = prune(lattices, beam=self.beam)
        if only_posteriors(narrow):
            return narrow
        unit = replace(narrow, scales=Scales())
        acoustic, transition = weighed_scores(replace(unit, scales=self._scales(unit)))
        return replace(narrow, acoustic=acoustic, transition=transition)

    def _printed(self, lattices: Lattices) -> Flags:
        """[arcs] on the path that the recognizer chose before."""
        printed = np.zeros(len(lattices.source), np.bool_)
        printed[one_best(lattices).arcs_in(lattices)] = True
        return printed

    def _scales(self, lattices: Lattices) -> Scales:
        given = lattices.scales
        balance = self.balance if lattices.transition is not None else 1.0
        return replace(
            given,
            acoustic=given.acoustic * self.sharpness * balance,
            transition=given.transition * self.sharpness,
            word_penalty=given.word_penalty * self.sharpness + self.penalty,
        )

    def _is_unknown(self, lattices: Lattices) -> Reals:
        """[arcs] 1 where the word is outside the vocabulary: the same words in every batch."""
        if not self.unknown:
            return np.zeros(len(lattices.source))
        words, index = np.unique(lattices.word, return_inverse=True)
        drawn = [
            bool(word) and _share(lattices.vocabulary[word], self.seed) < self.unknown for word in words.tolist()
        ]
        return np.array(drawn, np.float64)[index]


def _shortened(lattices: Lattices, hypotheses: int) -> Lattices:
    """Lists of so many hypotheses: the best, and always the one that was picked; what each has of all sums to 1."""
    of_arc, rank = csr_rows(lattices.arc_offsets), lattices.extra[RANK]
    picked = np.zeros(len(lattices))
    if lattices.picked is not None:
        np.maximum.at(picked, of_arc[lattices.picked], rank[lattices.picked])
    limit = np.where(picked < hypotheses, hypotheses, hypotheses - 1)
    return _with_shares(select_arcs(lattices, (rank < limit[of_arc]) | (rank == picked[of_arc])))


def _with_shares(lattices: Lattices) -> Lattices:
    if SHARE not in lattices.extra:
        return lattices
    of_arc, share = csr_rows(lattices.arc_offsets), lattices.extra[SHARE]
    hypotheses = np.unique(np.stack([of_arc, lattices.extra[RANK].astype(np.int64)]), axis=1, return_index=True)[1]
    total = np.bincount(of_arc[hypotheses], share[hypotheses], len(lattices))
    shared = np.minimum(share / np.maximum(total[of_arc], 1e-9), 1.0).astype(np.float32)
    return replace(lattices, extra={**lattices.extra, SHARE: shared})


def _share(word: str, seed: int) -> float:
    """A number from 0 to 1 that follows from the word and the seed."""
    return crc32(word.encode(), seed) / 2**32

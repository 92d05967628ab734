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
from ..lattices.lattice import Lattices
from ..lattices.paths import one_best
from ..lattices.posterior import path_losses, select_arcs
from ..lattices.weights import Reals, Scales, log_scores, only_posteriors

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

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Variant:
        """A random one."""
        return cls(
            sharpness=float(np.exp(rng.normal(0.0, 0.5))),
            balance=float(np.exp(rng.normal(0.0, 0.3))) if rng.random() < 0.7 else 1.0,
            penalty=float(rng.normal(0.0, 0.5)) if rng.random() < 0.5 else 0.0,
            beam=float(rng.uniform(1.0, 12.0)) if rng.random() < 0.5 else None,
            hypotheses=int(rng.integers(1, 11)) if rng.random() < 0.5 else None,
            unknown=float(rng.uniform(0.0, 0.15)) if rng.random() < 0.3 else 0.0,
            seed=int(rng.integers(2**31)),
        )

    def of(self, lattices: Lattices) -> Lattices:
        """The lattices of such a recognizer; those with posteriors instead of scores stay as they are."""
        if only_posteriors(lattices):
            return lattices
        changed = replace(lattices, scales=self._scales(lattices), picked=None)
        if self.hypotheses is not None and RANK in changed.extra:
            changed = select_arcs(changed, changed.extra[RANK] < self.hypotheses)
        score = log_scores(changed)
        loss, _ = path_losses(changed, score - _UNKNOWN * self._is_unknown(changed))
        beam = np.inf if self.beam is None else self.beam
        # What is left of an utterance always has the best path; unknown words stay only where nothing else was said.
        lost = np.full(len(changed), np.inf)
        np.minimum.at(lost, csr_rows(changed.arc_offsets), loss)
        keep = loss - lost[csr_rows(changed.arc_offsets)] <= min(beam, _UNKNOWN / 2) + 1e-6
        keep[one_best(changed).arcs_in(changed)] |= not self.unknown
        return select_arcs(changed, keep)

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


def _share(word: str, seed: int) -> float:
    """A number from 0 to 1 that follows from the word and the seed."""
    return crc32(word.encode(), seed) / 2**32

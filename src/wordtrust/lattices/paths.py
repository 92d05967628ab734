"""Best paths through lattices and networks, exact, by each decoding criterion.

- `one_best`: what the recognizer itself would print;
- `best_confidence`: the path with the best word confidences. `mean`, the paper's rule: the largest mean confidence
  of the words, over paths with at least one word; silence neither counts nor contributes. `mean-silence`: a silence
  arc counts max(1, seconds / 0.3) times, with the confidence given for it (its posterior, or its share of all paths).
  `gain`: the largest sum of confidence minus a threshold, where saying nothing is worth 0.

Ties go to the path with the larger product of posteriors, then to the earlier arc.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.arrays import csr_offsets, csr_rows
from ..base.errors import OptionError
from . import path_kernels
from .lattice import Floats, Ints, Lattices, Offsets
from .weights import Reals, printed_scores

CRITERIA = ("mean", "mean-silence", "gain")
SILENCE_UNIT = 0.3  # seconds of silence that count like one word


@dataclass(frozen=True, slots=True)
class Paths:
    """One path for each utterance of a batch: arcs, numbered within the utterance, end to end."""

    offsets: Offsets  # [utterances + 1]
    arcs: Ints

    @property
    def utterance_of_arc(self) -> Offsets:
        """[arcs] the index of the utterance whose path each is on."""
        return csr_rows(self.offsets)

    def arcs_in(self, lattices: Lattices) -> Offsets:
        """The arcs of all paths as indices into the arrays of the batch."""
        return np.repeat(lattices.arc_offsets[:-1], np.diff(self.offsets)) + self.arcs

    def without_silence(self, lattices: Lattices) -> Paths:
        """The same paths with the arcs alone that say a word."""
        spoken = lattices.word[self.arcs_in(lattices)] > 0
        return Paths(csr_offsets(spoken)[self.offsets], self.arcs[spoken])


def one_best(lattices: Lattices) -> Paths:
    """What each recognizer itself would print: the hypothesis it picked, or the best path with scores as given."""
    return best_paths(lattices, printed_scores(lattices))


def best_paths(lattices: Lattices, score: Reals) -> Paths:
    """The path of the largest total `score` through each lattice."""
    graph = lattices.node_offsets, lattices.arc_offsets, lattices.source, lattices.target
    return Paths(*path_kernels.best_paths(*graph, score))


def best_confidence(
    lattices: Lattices, confidence: Floats | Reals, criterion: str = "mean", *, threshold: float = 0.5
) -> Paths:
    """The path with the best word confidences by a criterion; `threshold` is that of `gain`. Needs posteriors."""
    if criterion not in CRITERIA:
        raise OptionError(f"the criterion is one of {', '.join(CRITERIA)}, not {criterion!r}")
    if lattices.posterior is None:
        raise OptionError("a best-confidence path needs arc posteriors; build networks first")
    if not np.isfinite(confidence).all():
        raise OptionError("a confidence is not a finite number")
    silent = lattices.word == 0
    value = np.asarray(confidence, np.float64)
    if criterion == "mean-silence":
        length = lattices.end_time - lattices.start_time
        weight = np.where(silent, np.maximum(1.0, length / SILENCE_UNIT), 1.0)
    else:
        weight = np.where(silent, 0.0, 1.0)
    tie = np.log(np.maximum(lattices.posterior, np.float32(1e-30))).astype(np.float64)
    path, offsets = np.empty(max(1, len(lattices.time)), np.int32), np.zeros(len(lattices) + 1, np.int64)
    path_kernels.best_ratios(
        lattices.node_offsets, lattices.arc_offsets, lattices.source, lattices.target, value, weight, ~silent, tie,
        threshold if criterion == "gain" else np.nan, path, offsets,
    )  # fmt: skip
    return Paths(offsets, path[: offsets[-1]])

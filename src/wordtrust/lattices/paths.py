"""Best paths through lattices and networks, exact, by every criterion (DESIGN, section 7).

- `one_best`: what the recognizer itself would print;
- `best_confidence`: the path that word confidences speak for. `mean`, the paper's rule: the largest mean confidence
  of the words, over paths with at least one word; silence neither counts nor contributes. `mean-silence`: a silence
  arc counts max(1, seconds / 0.3) times, with the confidence given for it (its posterior, or its share of all paths).
  `gain`: the largest sum of confidence minus a threshold, where saying nothing is worth 0.

Ties go to the path with the larger product of posteriors, then to the earlier arc.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import csr_offsets, csr_rows
from ..base.errors import OptionError
from ..base.jit import compiled, inner
from .lattice import Floats, Ints, Lattices, Offsets
from .weights import Reals, log_scores

CRITERIA = ("mean", "mean-silence", "gain")
SILENCE_UNIT = 0.3  # seconds of silence that count like one word
_TIE = 1e-12  # sums closer than this are equal


@dataclass(frozen=True, slots=True)
class Paths:
    """One path for each utterance of a batch: arc numbers, counted within the utterance, end to end."""

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


@inner
def turn(path: Ints, start: int, length: int) -> None:
    """Put a part of `path` the other way round (slices with steps take seconds to compile)."""
    for place in range(length // 2):
        a, b = start + place, start + length - 1 - place
        path[a], path[b] = path[b], path[a]


@compiled
def _best_paths(node_offsets: Offsets, arc_offsets: Offsets, source: Ints, target: Ints, score: Reals,
                path: Ints, offsets: Offsets) -> None:  # fmt: skip
    """The path of the largest total score through each lattice; ties go to the earlier arc."""
    written = 0
    for u in range(len(node_offsets) - 1):
        nodes, first = node_offsets[u + 1] - node_offsets[u], arc_offsets[u]
        best = np.full(nodes, -np.inf)
        back = np.full(nodes, -1, np.int32)
        best[0] = 0.0
        for arc in range(first, arc_offsets[u + 1]):  # sorted by source, so best[source] is final
            total = best[source[arc]] + score[arc]
            if total > best[target[arc]] or back[target[arc]] < 0:  # there is always a way back
                best[target[arc]] = total
                back[target[arc]] = arc - first
        node, length = nodes - 1, 0
        while node > 0:
            path[written + length] = back[node]
            length += 1
            node = source[first + back[node]]
        turn(path, written, length)
        written += length
        offsets[u + 1] = written


def one_best(lattices: Lattices) -> Paths:
    """What each recognizer itself would print: the hypothesis it picked, or the best path with scores as given."""
    if lattices.picked is not None:
        return best_paths(lattices, np.where(lattices.picked, 1.0, -1e6))
    return best_paths(lattices, log_scores(lattices))


def best_paths(lattices: Lattices, score: Reals) -> Paths:
    """The path of the largest total `score` through each lattice."""
    path = np.empty(max(1, len(lattices.time)), np.int32)
    offsets = np.zeros(len(lattices) + 1, np.int64)
    _best_paths(lattices.node_offsets, lattices.arc_offsets, lattices.source, lattices.target, score, path, offsets)
    return Paths(offsets, path[: offsets[-1]])


def best_confidence(
    lattices: Lattices, confidence: Floats | Reals, criterion: str = "mean", *, threshold: float = 0.5
) -> Paths:
    """The path that the word confidences speak for; `threshold` is that of `gain`. Needs posteriors."""
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
    _best_ratios(
        lattices.node_offsets, lattices.arc_offsets, lattices.source, lattices.target, value, weight, ~silent, tie,
        threshold if criterion == "gain" else np.nan, path, offsets,
    )  # fmt: skip
    return Paths(offsets, path[: offsets[-1]])


@inner
def _best_sums(
    source: Ints, target: Ints, score: Reals, counts: NDArray[np.bool_], tie: Reals,
    best: Reals, ties: Reals, back: Ints,
) -> None:  # fmt: skip
    """Best sums from the first node to every other: row 0 without, row 1 with at least one arc that counts.

    `back` holds the arc to come by, with the row it came from in its lowest bit.
    """
    best[:] = -np.inf
    best[0, 0], ties[0, 0] = 0.0, 0.0
    for arc in range(len(source)):
        s, t = source[arc], target[arc]
        for row in range(2):
            if best[row, s] == -np.inf:
                continue
            to = 1 if counts[arc] else row
            total, second = best[row, s] + score[arc], ties[row, s] + tie[arc]
            margin = total - best[to, t]
            if margin > _TIE or (margin >= -_TIE and second > ties[to, t] + _TIE):
                best[to, t], ties[to, t], back[to, t] = total, second, 2 * arc + row


@inner
def _trace(source: Ints, back: Ints, row: int, node: int, path: Ints) -> int:
    """Write the path that ends in (row, node), first arc first; gives its length."""
    length = 0
    while node > 0:
        step = back[row, node]
        path[length] = step // 2
        row, node = step % 2, source[step // 2]
        length += 1
    turn(path, 0, length)
    return length


@compiled
def _best_ratios(
    node_offsets: Offsets, arc_offsets: Offsets, source: Ints, target: Ints, value: Reals, weight: Reals,
    word: NDArray[np.bool_], tie: Reals, threshold: float, path: Ints, offsets: Offsets,
) -> None:  # fmt: skip
    """The path with the largest weighted mean of `value`, or with a threshold, the largest sum of what is over it.

    The mean is found by Dinkelbach's search: a path is the best one if no path has a positive sum of weight times
    (value - its mean); each round finds a better one, so it ends, and with the exact optimum.
    """
    for u in range(len(node_offsets) - 1):
        nodes, a0, a1 = node_offsets[u + 1] - node_offsets[u], arc_offsets[u], arc_offsets[u + 1]
        out = path[offsets[u] :]
        best, ties, back = np.empty((2, nodes)), np.empty((2, nodes)), np.empty((2, nodes), np.int32)
        by_mean = np.isnan(threshold)
        level = -1.0 if by_mean else threshold
        length = 0
        for _ in range(1000):
            score = weight[a0:a1] * (value[a0:a1] - level)
            _best_sums(source[a0:a1], target[a0:a1], score, word[a0:a1], tie[a0:a1], best, ties, back)
            end = nodes - 1
            spoken = best[1, end] > -np.inf
            margin = best[1, end] - best[0, end]
            better = margin > _TIE or (margin >= -_TIE and ties[1, end] > ties[0, end] + _TIE)
            row = 1 if spoken and (by_mean or better) else 0
            length = _trace(source[a0:a1], back, row, end, out)
            if not by_mean or not spoken:
                break
            total, mass = 0.0, 0.0
            for place in range(length):
                total += weight[a0 + out[place]] * value[a0 + out[place]]
                mass += weight[a0 + out[place]]
            if total / mass <= level + _TIE:
                break
            level = total / mass
        offsets[u + 1] = offsets[u] + length

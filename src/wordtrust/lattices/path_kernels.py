"""Kernels that find best paths. They run over plain arrays, the lattices of a batch end to end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.jit import compiled, inner
from .weights import Reals

Ints = NDArray[np.int32]
Offsets = NDArray[np.int64]
Numbers = NDArray[np.uint32]  # no index is negative: kernels that know it need not look, and take a quarter less time

_TIE = 1e-12  # sums closer than this are equal


def best_paths(
    node_offsets: Offsets, arc_offsets: Offsets, source: Ints, target: Ints, score: Reals
) -> tuple[Offsets, Ints]:
    """The path of the largest total score through each lattice: offsets, and arcs counted within the utterance."""
    path, offsets = np.empty(max(1, node_offsets[-1]), np.int32), np.zeros(len(node_offsets), np.int64)
    _best_paths(node_offsets, arc_offsets, source, target, score, path, offsets)
    return offsets, path[: offsets[-1]]


def best_through(
    source: Numbers, target: Numbers, score: Reals, starts: Offsets, ends: Offsets, nodes: int
) -> tuple[Reals, Reals]:
    """[arcs] the score of the best path through each arc; [starts] that of the best path of all from each start.

    Nodes count through the batch.
    """
    through, before, after = np.empty(len(score)), np.full(nodes, -np.inf), np.full(nodes, -np.inf)
    before[starts] = after[ends] = 0.0
    _best_through(source, target, score, before, after, through)
    return through, after[starts]


@inner
def reverse(path: Ints, start: int, length: int) -> None:
    """Put a part of `path` the other way round (slices with steps take seconds to compile)."""
    for i in range(length // 2):
        a, b = start + i, start + length - 1 - i
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
        reverse(path, written, length)
        written += length
        offsets[u + 1] = written


@compiled
def _best_through(source: Numbers, target: Numbers, score: Reals, before: Reals, after: Reals,
                  through: Reals) -> None:  # fmt: skip
    """The score of the best path through each arc; `before` has 0 at every start, `after` at every end."""
    for arc in range(len(score)):
        before[target[arc]] = max(before[target[arc]], before[source[arc]] + score[arc])
    for arc in range(len(score) - 1, -1, -1):
        onwards = score[arc] + after[target[arc]]
        after[source[arc]] = max(after[source[arc]], onwards)
        through[arc] = before[source[arc]] + onwards


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
    reverse(path, 0, length)
    return length


@compiled
def best_ratios(
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
            for i in range(length):
                total += weight[a0 + out[i]] * value[a0 + out[i]]
                mass += weight[a0 + out[i]]
            if total / mass <= level + _TIE:
                break
            level = total / mass
        offsets[u + 1] = offsets[u] + length

"""The confidence of a word of the output, from the confidences of arcs.

An arc's confidence is that of a word in one segmentation: "there" from 3.1 to 3.6 s and "there" from 3.2 to 3.6 s are
two arcs, but one word to people. What is shown for a word is the largest, over the instants it covers, of the summed
confidences of all arcs that say the same word, or one that counts as the same in these networks, at that instant.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..base.jit import compiled, inner
from ..lattices.lattice import Ints, Lattices, Offsets, Times
from ..lattices.paths import Paths, one_best
from ..lattices.weights import Reals
from .equivalents import Equate
from .equivalents.classes import word_classes


def word_confidence(lattices: Lattices, confidence: NDArray[np.floating], paths: Paths) -> Reals:
    """The confidence of every arc of `paths` as it is shown; for silence its own."""
    shown, classes = np.empty(len(paths.arcs)), word_classes(lattices, Equate.of_networks(lattices.origin))
    words = lattices.word if classes is None else classes[lattices.word]
    words.flags.writeable = False  # as those of lattices are, or the kernel would be compiled twice
    _shown_confidence(
        lattices.arc_offsets, lattices.start_time, lattices.end_time, words,
        np.ascontiguousarray(confidence, np.float64), paths.offsets, paths.arcs, shown,
    )  # fmt: skip
    return np.minimum(shown, 1.0)


def with_word_posteriors(networks: Lattices) -> Lattices:
    """Networks whose 1-best has, instead of posteriors of arcs, those of its words; lattices stay as they are."""
    if networks.origin.tolerance is None or networks.posterior is None:
        return networks
    paths, posterior = one_best(networks), networks.posterior.copy()
    posterior[paths.arcs_in(networks)] = word_confidence(networks, networks.posterior, paths)
    return replace(networks, posterior=posterior)


def capped_confidence(lattices: Lattices, confidence: NDArray[np.floating]) -> Reals:
    """Confidences of arcs, with those of words reduced where all that cross an instant would sum to more than 1.

    Confidences that are calibrated one by one no longer add up with those of their rivals. Every arc is divided by
    the largest sum that it is part of, so that no sum is left above 1.
    """
    capped = np.array(confidence, np.float64)
    _cap(lattices.node_offsets, lattices.arc_offsets, lattices.source, lattices.target, lattices.word, capped)
    return capped


@compiled
def _cap(
    node_offsets: Offsets, arc_offsets: Offsets, source: Ints, target: Ints, word: Ints, confidence: Reals
) -> None:
    for u in range(len(node_offsets) - 1):
        total = np.zeros(node_offsets[u + 1] - node_offsets[u])  # of words between each node and the next
        for arc in range(arc_offsets[u], arc_offsets[u + 1]):
            if word[arc] > 0:
                total[source[arc]] += confidence[arc]
                total[target[arc]] -= confidence[arc]
        for node in range(1, len(total)):
            total[node] += total[node - 1]
        for arc in range(arc_offsets[u], arc_offsets[u + 1]):
            most = 1.0
            for node in range(source[arc], target[arc]):
                most = max(most, total[node])
            if word[arc] > 0:
                confidence[arc] /= most


@inner
def _same_words(word: Ints, start: Times, end: Times, arc: int, first: int, last: int, same: Offsets) -> int:
    """Which arcs from `first` on say the word of `arc` while it is said; `start` never falls."""
    count = 0
    for other in range(first, last):
        if start[other] >= end[arc]:
            break
        if word[other] == word[arc] and end[other] > start[arc]:
            same[count] = other
            count += 1
    return count


@inner
def _largest_sum(
    same: Offsets, count: int, start: Times, end: Times, confidence: Reals, begin: float, heap: Offsets
) -> float:
    """The largest sum of confidences at any instant from `begin` on.

    The sum only rises where an arc begins. Those that go on are kept in a heap, the first to end on top.
    """
    size, total, most = 0, 0.0, 0.0
    for i in range(count):
        arc = same[i]
        instant = max(start[arc], begin)
        if end[arc] <= instant:  # it covers no instant
            continue
        while size > 0 and end[heap[0]] <= instant:
            total -= confidence[heap[0]]
            size -= 1
            _sink(heap, size, end)
        slot = size
        while slot > 0 and end[heap[(slot - 1) // 2]] > end[arc]:
            heap[slot] = heap[(slot - 1) // 2]
            slot = (slot - 1) // 2
        heap[slot] = arc
        total = confidence[arc] if size == 0 else total + confidence[arc]
        size += 1
        most = max(most, total)
    return most


@inner
def _sink(heap: Offsets, size: int, end: Times) -> None:
    """Put the last arc of a heap, which stands behind its end, in place of the first."""
    arc, slot = heap[size], 0
    while True:
        child = 2 * slot + 1
        if child + 1 < size and end[heap[child + 1]] < end[heap[child]]:
            child += 1
        if child >= size or end[heap[child]] >= end[arc]:
            break
        heap[slot] = heap[child]
        slot = child
    heap[slot] = arc


@compiled
def _shown_confidence(
    arc_offsets: Offsets, start: Times, end: Times, word: Ints, confidence: Reals, offsets: Offsets, path: Ints,
    shown: Reals,
) -> None:  # fmt: skip
    for u in range(len(offsets) - 1):
        first, last = arc_offsets[u], arc_offsets[u + 1]
        longest = 0.0
        for arc in range(first, last):
            if word[arc] > 0:
                longest = max(longest, end[arc] - start[arc])
        same, heap = np.empty(last - first, np.int64), np.empty(last - first, np.int64)
        begin = first  # arcs before it end too early for this word and all that follow
        for i in range(offsets[u], offsets[u + 1]):
            arc = first + path[i]
            shown[i] = confidence[arc]
            if word[arc] == 0 or end[arc] <= start[arc]:  # it covers no instant
                continue
            while start[begin] < start[arc] - longest:
                begin += 1
            count = _same_words(word, start, end, arc, begin, last, same)
            shown[i] = max(shown[i], _largest_sum(same, count, start, end, confidence, start[arc], heap))

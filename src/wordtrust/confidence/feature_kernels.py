"""The compiled loops of features that compare the times of arcs with each other.

Times of nodes never fall within an utterance; arcs are sorted by their source. An arc crosses an instant if it begins
there or before, and ends later.
"""

from __future__ import annotations

import numpy as np

from ..base.jit import compiled, inner
from ..lattices.lattice import Ints, Offsets, Times


@inner
def _until(times: Times, first: int, last: int, limit: float) -> int:
    """Behind the last of the times from `first` to `last`, which never fall, that is not after the limit."""
    while first < last:
        middle = (first + last) // 2
        if times[middle] <= limit:
            first = middle + 1
        else:
            last = middle
    return first


@compiled
def count_crossing(
    node_offsets: Offsets, arc_offsets: Offsets, source: Ints, target: Ints, time: Times, middle: Times,
    count: Offsets,
) -> None:  # fmt: skip
    """[arcs] how many arcs of the same utterance cross the middle of each."""
    going_on = np.zeros(len(time), np.int64)  # between each node and the next
    for u in range(len(arc_offsets) - 1):
        first, last = node_offsets[u], node_offsets[u + 1]
        for arc in range(arc_offsets[u], arc_offsets[u + 1]):
            going_on[first + source[arc]] += 1
            going_on[first + target[arc]] -= 1
        for node in range(first + 1, last):
            going_on[node] += going_on[node - 1]
        for arc in range(arc_offsets[u], arc_offsets[u + 1]):
            count[arc] = going_on[_until(time, first + source[arc], first + target[arc] + 1, middle[arc]) - 1]


@compiled
def number_words(arc_offsets: Offsets, word: Ints, last: Offsets, group: Offsets) -> int:
    """Number the words of every utterance, through the batch, and say how many there are.

    `group` gets the number of each arc's word; `last` has a 0 for every word of the vocabulary.
    """
    groups = 0
    for u in range(len(arc_offsets) - 1):
        before = groups
        for arc in range(arc_offsets[u], arc_offsets[u + 1]):
            if last[word[arc]] <= before:  # new in this utterance
                groups += 1
                last[word[arc]] = groups
            group[arc] = last[word[arc]] - 1
    return groups


@inner
def _counting_order(key: Offsets, keys: int) -> tuple[Offsets, Offsets]:
    """Where each key begins in the order of the keys, and that order; what has the same key stays in its order."""
    begin, order = np.zeros(keys + 1, np.int64), np.empty(len(key), np.int64)
    for k in key:
        begin[k + 1] += 1
    for k in range(keys):
        begin[k + 1] += begin[k]
    end = begin[:-1].copy()
    for index in range(len(key)):
        order[end[key[index]]] = index
        end[key[index]] += 1
    return begin, order


@compiled
def sum_crossing(
    group: Offsets, groups: int, source: Offsets, target: Offsets, time: Times, mass: Offsets, total: Offsets
) -> None:
    """[arcs] the masses of all arcs of the same group that cross the middle of each, added up.

    The arcs of a group stand side by side twice, by their start and by their end. What crosses an instant is what has
    begun less what has ended, both differences of running sums; what stands before the group is the same in both.
    """
    arcs = len(group)
    begin, by_start = _counting_order(group, groups)
    _, by_target = _counting_order(target, len(time))
    place, by_end = begin[:-1].copy(), np.empty(arcs, np.int64)
    for arc in by_target:
        by_end[place[group[arc]]] = arc
        place[group[arc]] += 1
    start, end = np.empty(arcs), np.empty(arcs)
    begun, ended = np.zeros(arcs + 1, np.int64), np.zeros(arcs + 1, np.int64)
    for index in range(arcs):
        start[index], end[index] = 2 * time[source[by_start[index]]], 2 * time[target[by_end[index]]]
        begun[index + 1] = begun[index] + mass[by_start[index]]
        ended[index + 1] = ended[index] + mass[by_end[index]]
    for arc in range(arcs):
        middle, first, last = time[source[arc]] + time[target[arc]], begin[group[arc]], begin[group[arc] + 1]
        total[arc] = begun[_until(start, first, last, middle)] - ended[_until(end, first, last, middle)]

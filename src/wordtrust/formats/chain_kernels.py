"""Kernels of `chains`: word times of many hypotheses to times without gaps and overlaps, and to nodes and arcs.

Utterance u has the hypotheses groups[u] to groups[u + 1]; hypothesis h has the words offsets[h] to offsets[h + 1].
"""

from __future__ import annotations

import numpy as np

from ..base.jit import compiled, inner
from ..lattices.graph import LATEST
from ..lattices.lattice import Ints, Offsets, Times

GAP = 0.1  # a longer pause between words is a silence arc, a shorter one a single node
SHORTEST = 0.01  # every word lasts at least as long
BACKWARDS = 0.1  # times may run backwards by so much: attention and rounding are no better than that
_SLACK = 1e-9  # of sums of decimal fractions

OK, NOT_A_TIME, RUNS_BACKWARDS, ENDS_EARLY = 0, 1, 2, 3


@compiled
def spread_all(groups: Offsets, offsets: Offsets, start: Times, end: Times, begin: float, finish: Times,
               counts: Ints, status: Ints, bad_word: Offsets) -> None:  # fmt: skip
    """Spread every hypothesis in place; writes how many words were too short, or what is wrong with which word."""
    for u in range(len(groups) - 1):
        for h in range(groups[u], groups[u + 1]):
            first, last = offsets[h], offsets[h + 1]
            status[u], word = _straighten(start[first:last], end[first:last], begin)
            if status[u] != OK:
                bad_word[u] = first + word
                break
            short = 0
            for word in range(first, last):
                short += end[word] - start[word] < SHORTEST - _SLACK
            if short:
                _make_room(start[first:last], end[first:last], begin, finish[u])
                counts[u] += short


@inner
def _straighten(start: Times, end: Times, begin: float) -> tuple[int, int]:
    """Make times run forwards where they run backwards by rounding, and let overlapping words meet."""
    previous = begin
    for word in range(len(start)):
        if not (abs(start[word]) <= LATEST and abs(end[word]) <= LATEST):
            return NOT_A_TIME, word
        if start[word] < previous - BACKWARDS - _SLACK:
            return RUNS_BACKWARDS, word
        if end[word] < start[word] - BACKWARDS - _SLACK:
            return ENDS_EARLY, word
        previous = start[word]
    previous = begin
    for word in range(len(start)):
        start[word] = max(start[word], previous)
        end[word] = max(end[word], start[word])
        previous = start[word]
    for word in range(1, len(start)):
        if start[word] < end[word - 1]:
            overlap = min(end[word], end[word - 1])
            start[word] = end[word - 1] = (start[word] + overlap) / 2
    return OK, 0


@inner
def _make_room(start: Times, end: Times, begin: float, finish: float) -> None:
    """Give every word its shortest length, moving boundaries as little as possible (least squares).

    Less the room that the words before it need, every boundary may only rise: an isotonic regression, solved by
    pooling neighbours that fall, and clipped to what begin and finish allow.
    """
    words = len(start)
    size = 2 * words
    value, count = np.empty(size), np.empty(size, np.int64)
    blocks = 0
    for boundary in range(size):  # start of word 0, end of word 0, start of word 1, ...
        word = boundary // 2
        value[blocks] = start[word] - word * SHORTEST if boundary % 2 == 0 else end[word] - (word + 1) * SHORTEST
        count[blocks] = 1
        blocks += 1
        while blocks > 1 and value[blocks - 2] > value[blocks - 1]:
            joined = count[blocks - 2] + count[blocks - 1]
            value[blocks - 2] += (value[blocks - 1] - value[blocks - 2]) * count[blocks - 1] / joined
            count[blocks - 2] = joined
            blocks -= 1
    highest = max(begin, max(finish, end[words - 1]) - words * SHORTEST)
    boundary = 0
    for block in range(blocks):
        level = min(max(value[block], begin), highest)
        if count[block] == 1 and level == value[block]:  # not moved: keep the very number
            boundary += 1
            continue
        for _ in range(count[block]):
            word = boundary // 2
            if boundary % 2 == 0:
                start[word] = level + word * SHORTEST
            else:
                end[word] = level + (word + 1) * SHORTEST
            boundary += 1


@compiled
def link_all(groups: Offsets, offsets: Offsets, start: Times, end: Times, begin: float, finish: Times,
             time: Times, source: Ints, target: Ints, word: Ints, arc_offsets: Offsets,
             node_offsets: Offsets) -> None:  # fmt: skip
    """Write nodes and arcs of all chains of all utterances."""
    for u in range(len(groups) - 1):
        base, nodes = node_offsets[u], 2
        time[base], time[base + 1] = begin, max(begin, finish[u])
        for w in range(offsets[groups[u]], offsets[groups[u + 1]]):
            time[base + 1] = max(time[base + 1], end[w])
        for h in range(groups[u], groups[u + 1]):
            nodes, arc_offsets[h + 1] = _link(offsets[h], offsets[h + 1], start, end, time[base:], nodes,
                                              source, target, word, arc_offsets[h])  # fmt: skip
        node_offsets[u + 1] = base + nodes


@inner
def _link(first: int, last: int, start: Times, end: Times, time: Times, nodes: int, source: Ints, target: Ints,
          word: Ints, arcs: int) -> tuple[int, int]:  # fmt: skip
    """Write the chain of some words after the nodes and arcs that are there; gives how many there are then."""
    node, now = 0, time[0]  # where the chain has come to
    for w in range(first, last):
        if start[w] - now > GAP + _SLACK:
            time[nodes] = start[w]
            source[arcs], target[arcs], word[arcs] = node, nodes, -1
            node = nodes
            nodes += 1
            arcs += 1
        elif node != 0:
            time[node] = (now + start[w]) / 2
        at_end = w == last - 1 and time[1] - end[w] <= GAP + _SLACK
        source[arcs], target[arcs], word[arcs] = node, 1 if at_end else nodes, w
        node, now = target[arcs], end[w]
        arcs += 1
        if not at_end:
            time[nodes] = end[w]
            nodes += 1
    if node != 1:
        source[arcs], target[arcs], word[arcs] = node, 1, -1
        arcs += 1
    return nodes, arcs

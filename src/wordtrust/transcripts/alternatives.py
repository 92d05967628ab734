"""What else may have been said at each word of an output.

An alternative of an output word is another word whose arcs overlap it by more than half of the shorter of the two.
Its confidence is found like that of the word itself (`networks.word_confidence`): the largest, over the instants of
the output word, of the summed confidences of those arcs. "Nothing was said" is no alternative: people look for
another word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.arrays import csr_offsets
from ..base.jit import compiled, inner
from ..lattices.lattice import Flags, Ints, Lattices, Offsets, Times
from ..networks.word_confidence import Reals

LEAST = 0.01  # alternatives less sure than this are not worth a person's time
_ROUNDING = 1e-6  # seconds: half is half, however times were rounded


class Rivals(NamedTuple):
    """The alternatives of many words end to end, the surest of each word first."""

    offsets: Offsets  # [words + 1]
    arcs: Offsets  # the surest arc of each alternative, counted through the batch
    confidence: Reals


def find_rivals(
    lattices: Lattices, start: Times, end: Times, confidence: Reals, word_offsets: Offsets, arcs: Offsets, most: int
) -> Rivals:
    """Up to `most` alternatives of each of the word arcs `arcs`; utterance u has those from word_offsets[u] on.

    `start`, `end` and `confidence` belong to all arcs of the batch, through which `arcs` counts too.
    """
    most = min(most, int(np.diff(lattices.arc_offsets).max(initial=0)))
    found, shown = np.empty((len(arcs), most), np.int64), np.empty((len(arcs), most))
    counts = np.zeros(len(arcs), np.int64)
    if most:
        words = len(lattices.vocabulary)
        _find(
            lattices.arc_offsets, start, end, lattices.word, confidence, _by_end(lattices), word_offsets, arcs,
            np.zeros(words), np.zeros(words), np.zeros(words, np.int64), np.zeros(len(start), bool),
            found, shown, counts,
        )  # fmt: skip
    kept = np.arange(most) < counts[:, None]
    return Rivals(csr_offsets(counts), found[kept], np.minimum(shown[kept], 1.0))


def _by_end(lattices: Lattices) -> Offsets:
    """All arcs, those of each utterance by their end: nodes are in the order of time."""
    return np.argsort(lattices.batch_target, kind="stable")


@inner
def _overlapping(start: Times, end: Times, word: Ints, said: int, first: int, last: int, near: Offsets) -> int:
    """Which arcs from `first` on say another word than the arc `said` in its place; `start` never falls."""
    count, length = 0, end[said] - start[said]
    for arc in range(first, last):
        if start[arc] >= end[said]:
            break
        shared = min(end[arc], end[said]) - max(start[arc], start[said])
        shorter = min(end[arc] - start[arc], length)
        if shared > 0 and 2 * shared > shorter + _ROUNDING and word[arc] > 0 and word[arc] != word[said]:
            near[count] = arc
            count += 1
    return count


@inner
def _sums(
    start: Times, end: Times, word: Ints, confidence: Reals, opens: float, near: Offsets, count: int,
    by_end: Offsets, ended: int, now: Reals, best: Reals, surest: Offsets, inside: Flags,
) -> None:  # fmt: skip
    """Of each word of the arcs `near`: the sum `now`, the `best` there was, one more than the `surest` arc.

    A sweep over instants from `opens` on: arcs come in by their start, and go in the order `by_end` from `ended` on.
    """
    for place in range(count):
        arc = near[place]
        this = word[arc]
        while end[by_end[ended]] <= max(start[arc], opens):
            gone = by_end[ended]
            if inside[gone]:
                now[word[gone]] -= confidence[gone]
            ended += 1
        inside[arc] = True
        now[this] += confidence[arc]
        best[this] = max(best[this], now[this])
        if surest[this] == 0 or confidence[arc] > confidence[surest[this] - 1]:
            surest[this] = arc + 1


@inner
def _insert(found: Offsets, shown: Reals, count: int, arc: int, value: float) -> int:
    """Put an alternative in its place among `count`, the surest first; gives how many there are then."""
    place = count
    while place > 0 and shown[place - 1] < value:
        place -= 1
    count = min(count + 1, len(found))
    for after in range(count - 1, place, -1):
        found[after], shown[after] = found[after - 1], shown[after - 1]
    if place < count:
        found[place], shown[place] = arc, value
    return count


@compiled
def _find(
    arc_offsets: Offsets, start: Times, end: Times, word: Ints, confidence: Reals, by_end: Offsets,
    word_offsets: Offsets, arcs: Offsets, now: Reals, best: Reals, surest: Offsets, inside: Flags,
    found: Offsets, shown: Reals, counts: Offsets,
) -> None:  # fmt: skip
    """Fill the rows of `found` and `shown`. What `_sums` keeps by word and by arc is 0 before and after each row."""
    for u in range(len(word_offsets) - 1):
        first, last = arc_offsets[u], arc_offsets[u + 1]
        near = np.empty(last - first, np.int64)
        longest = 0.0
        for arc in range(first, last):
            if word[arc] > 0:
                longest = max(longest, end[arc] - start[arc])
        begin, ended = first, first  # what comes before ends too early for this word and all that follow
        for row in range(word_offsets[u], word_offsets[u + 1]):
            said = arcs[row]
            while start[begin] < start[said] - longest:
                begin += 1
            while end[by_end[ended]] <= start[said] < end[said]:
                ended += 1
            count = _overlapping(start, end, word, said, begin, last, near)
            _sums(
                start, end, word, confidence, start[said], near, count, by_end, ended, now, best, surest, inside
            )  # fmt: skip
            for place in range(count):
                this = word[near[place]]
                if best[this] >= LEAST:
                    counts[row] = _insert(found[row], shown[row], counts[row], surest[this] - 1, best[this])
                now[this], best[this], surest[this], inside[near[place]] = 0.0, 0.0, 0, False

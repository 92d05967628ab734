"""Alternatives: other words that may have been said in place of a word of the output.

An alternative of an output word is another word whose arcs overlap it by more than half of the shorter of the two.
Its confidence is computed like that of the word itself (`networks.word_confidence`): the largest, over the instants
of the output word, of the summed confidences of those arcs. Silence is no alternative: people look for another word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.arrays import csr_offsets
from ..base.jit import compiled, inner
from ..lattices.lattice import Flags, Ints, Lattices, Offsets, Times
from ..lattices.weights import Reals

LEAST = 0.01  # alternatives of lower confidence are not worth a person's time
_ROUNDING = 1e-6  # seconds: half of the duration is not enough, however times were rounded


class WordAlternatives(NamedTuple):
    """The alternatives of many words end to end, those of a word by falling confidence."""

    offsets: Offsets  # [words + 1]
    arcs: Offsets  # the arc of highest confidence of each alternative, counted through the batch
    confidence: Reals


def find_alternatives(
    lattices: Lattices, start: Times, end: Times, confidence: Reals, word_offsets: Offsets, arcs: Offsets, most: int
) -> WordAlternatives:
    """Up to `most` alternatives of each of the word arcs `arcs`; utterance u has those from word_offsets[u] on.

    `start`, `end` and `confidence` belong to all arcs of the batch, through which `arcs` counts too.
    """
    most = min(most, int(np.diff(lattices.arc_offsets).max(initial=0)))
    best_arcs, sums = np.empty((len(arcs), most), np.int64), np.empty((len(arcs), most))
    counts = np.zeros(len(arcs), np.int64)
    if most:
        words = len(lattices.vocabulary)
        _find(
            lattices.arc_offsets, start, end, lattices.word, confidence, _by_end(lattices), word_offsets, arcs,
            np.zeros(words), np.zeros(words), np.zeros(words, np.int64), np.zeros(len(start), bool),
            best_arcs, sums, counts,
        )  # fmt: skip
    kept = np.arange(most) < counts[:, None]
    return WordAlternatives(csr_offsets(counts), best_arcs[kept], np.minimum(sums[kept], 1.0))


def _by_end(lattices: Lattices) -> Offsets:
    """All arcs, those of each utterance sorted by end: nodes are in the order of time."""
    return np.argsort(lattices.batch_target, kind="stable")


@inner
def _overlapping(start: Times, end: Times, word: Ints, chosen: int, first: int, last: int, near: Offsets) -> int:
    """Collect in `near` the arcs from `first` on that overlap the arc `chosen` and have another word.

    Arcs are in the order of their start. Returns how many there are.
    """
    count, length = 0, end[chosen] - start[chosen]
    for arc in range(first, last):
        if start[arc] >= end[chosen]:
            break
        shared = min(end[arc], end[chosen]) - max(start[arc], start[chosen])
        shorter = min(end[arc] - start[arc], length)
        if shared > 0 and 2 * shared > shorter + _ROUNDING and word[arc] > 0 and word[arc] != word[chosen]:
            near[count] = arc
            count += 1
    return count


@inner
def _sums(
    start: Times, end: Times, word: Ints, confidence: Reals, opens: float, near: Offsets, count: int,
    by_end: Offsets, ended: int, now: Reals, best: Reals, surest: Offsets, inside: Flags,
) -> None:  # fmt: skip
    """Of each word of the arcs `near`: the current sum `now`, the `best` sum so far, and 1 + the `surest` arc.

    A sweep over instants from `opens` on: arcs come in by their start, and go in the order `by_end` from `ended` on.
    """
    for index in range(count):
        arc = near[index]
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
def _insert(best_arcs: Offsets, sums: Reals, count: int, arc: int, value: float) -> int:
    """Insert an alternative among `count` in falling order; returns how many there are then."""
    index = count
    while index > 0 and sums[index - 1] < value:
        index -= 1
    count = min(count + 1, len(best_arcs))
    for after in range(count - 1, index, -1):
        best_arcs[after], sums[after] = best_arcs[after - 1], sums[after - 1]
    if index < count:
        best_arcs[index], sums[index] = arc, value
    return count


@compiled
def _find(
    arc_offsets: Offsets, start: Times, end: Times, word: Ints, confidence: Reals, by_end: Offsets,
    word_offsets: Offsets, arcs: Offsets, now: Reals, best: Reals, surest: Offsets, inside: Flags,
    best_arcs: Offsets, sums: Reals, counts: Offsets,
) -> None:  # fmt: skip
    """Fill the rows of `best_arcs` and `sums`. What `_sums` keeps by word and arc is 0 before and after each row."""
    for u in range(len(word_offsets) - 1):
        first, last = arc_offsets[u], arc_offsets[u + 1]
        near = np.empty(last - first, np.int64)
        longest = 0.0
        for arc in range(first, last):
            if word[arc] > 0:
                longest = max(longest, end[arc] - start[arc])
        begin, ended = first, first  # what comes before ends too early for this word and all that follow
        for row in range(word_offsets[u], word_offsets[u + 1]):
            chosen = arcs[row]
            while start[begin] < start[chosen] - longest:
                begin += 1
            while end[by_end[ended]] <= start[chosen] < end[chosen]:
                ended += 1
            count = _overlapping(start, end, word, chosen, begin, last, near)
            _sums(
                start, end, word, confidence, start[chosen], near, count, by_end, ended, now, best, surest, inside
            )  # fmt: skip
            for index in range(count):
                this = word[near[index]]
                if best[this] >= LEAST:
                    counts[row] = _insert(best_arcs[row], sums[row], counts[row], surest[this] - 1, best[this])
                now[this], best[this], surest[this], inside[near[index]] = 0.0, 0.0, 0, False

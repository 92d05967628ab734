"""Which words of two texts of the same speech are the same: hours of it, with passages that either one lacks.

Runs of words that come once in both texts (of five words, then of four and three) are anchors, as in a patience diff;
the longest chain of them in the same order cuts both texts into windows, in which more runs come once, and so on.
What is left between anchors is aligned exactly, with gaps that cost once to open and next to nothing to go on, so
that a missing passage is one gap and not a few chance words in between.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.jit import compiled, inner
from ..lattices.lattice import Ints, Offsets

NOWHERE = -1  # the partner of a word that has none
MATCH, SUBSTITUTION, OPEN, EXTEND = 2.0, -1.0, -2.5, -0.05  # scores of pairs of words, and costs of gaps
_RUNS = (5, 4, 3)  # words of an anchor
_FEW_PAIRS = 1 << 18  # pairs of words that are aligned at once, without anchors
_MOST_PAIRS = 1 << 26  # pairs of a window without anchors: one byte each; windows with more have no common text
_JUMP = 30  # words: a lone anchor that far off the line between its neighbours is chance
_MIXER = np.uint64(0x9E3779B97F4A7C15)

Hashes = NDArray[np.uint64]
Steps = NDArray[np.uint8]


class Window(NamedTuple):
    """A stretch of both texts."""

    first: int
    last: int
    other_first: int
    other_last: int

    @property
    def pairs(self) -> int:
        """How many pairs of words it has."""
        return (self.last - self.first) * (self.other_last - self.other_first)


def match_words(words: Ints, others: Ints) -> Offsets:
    """[words] which of `others` each word is, -1 for none; partners are equal and in the same order."""
    partner = np.full(len(words), NOWHERE, np.int64)
    waiting = [Window(0, len(words), 0, len(others))]
    while waiting:
        window = waiting.pop()
        if window.pairs <= _FEW_PAIRS:
            _align_window(words, others, window, partner)
            continue
        anchors = next(filter(len, (_anchors(words, others, window, run) for run in _RUNS)), None)
        if anchors is not None:
            partner[anchors[:, 0]] = anchors[:, 1]
            waiting.extend(_between(anchors, window))
        elif window.pairs <= _MOST_PAIRS:
            _align_window(words, others, window, partner)
    return partner


def _between(anchors: Offsets, window: Window) -> Iterator[Window]:
    """What is left of a window between the words that are matched."""
    first, other_first = window.first, window.other_first
    for word, other in (*anchors.tolist(), (window.last, window.other_last)):
        between = Window(first, word, other_first, other)
        if between.pairs:
            yield between
        first, other_first = word + 1, other + 1


def _anchors(words: Ints, others: Ints, window: Window, run: int) -> Offsets:
    """[matched, 2] the words of runs that come once on both sides of the window, in the same order on both."""
    here, there = words[window.first : window.last], others[window.other_first : window.other_last]
    once, once_there = _unique(_hashes(here, run)), _unique(_hashes(there, run))
    _, at, at_there = np.intersect1d(once[0], once_there[0], assume_unique=True, return_indices=True)
    pairs = np.stack([once[1][at], once_there[1][at_there]], 1)
    pairs = pairs[(here[pairs[:, :1] + np.arange(run)] == there[pairs[:, 1:] + np.arange(run)]).all(1)]
    chain = _without_chance(_longest_chain(pairs))
    matched = (chain[:, None, :] + np.arange(run)[None, :, None]).reshape(-1, 2)
    anchors: Offsets = _longest_chain(np.unique(matched, axis=0)) + np.array([window.first, window.other_first])
    return anchors


def _hashes(words: Ints, run: int) -> Hashes:
    """One number for each run of words."""
    if len(words) < run:
        return np.zeros(0, np.uint64)
    mixed = words.astype(np.uint64) + np.uint64(1)
    hashes = np.zeros(len(words) - run + 1, np.uint64)
    for index in range(run):
        hashes = (hashes ^ mixed[index : len(words) - run + 1 + index]) * _MIXER
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _unique(hashes: Hashes) -> tuple[Hashes, Offsets]:
    """Those that come once, and where."""
    values, first, counts = np.unique(hashes, return_index=True, return_counts=True)
    return values[counts == 1], first[counts == 1]


def _longest_chain(pairs: Offsets) -> Offsets:
    """The most pairs that rise in both numbers."""
    pairs = pairs[np.lexsort((-pairs[:, 1], pairs[:, 0]))]  # of two with the same first number, only one can rise
    tails, rows, before = list[int](), list[int](), list[int]()
    for row, other in enumerate(pairs[:, 1].tolist()):
        length = bisect_left(tails, other)
        before.append(rows[length - 1] if length else -1)
        if length == len(tails):
            tails.append(other)
            rows.append(row)
        else:
            tails[length], rows[length] = other, row
    chain, row = list[int](), rows[-1] if rows else -1
    while row >= 0:
        chain.append(row)
        row = before[row]
    return pairs[chain[::-1]]


def _without_chance(chain: Offsets) -> Offsets:
    """The chain without lone anchors that are far from the line between their neighbours, which is straight."""
    if len(chain) < 3:
        return chain
    shift = chain[:, 1] - chain[:, 0]
    before, after = np.abs(shift[1:-1] - shift[:-2]), np.abs(shift[1:-1] - shift[2:])
    is_straight = np.abs(shift[2:] - shift[:-2]) < np.minimum(before, after) / 2
    is_chance = np.concatenate([[False], is_straight & (np.minimum(before, after) > _JUMP), [False]])
    kept: Offsets = chain[~is_chance]
    return kept


def _align_window(words: Ints, others: Ints, window: Window, partner: Offsets) -> None:
    """Write the partners of the words of a window by their best alignment."""
    here, there = words[window.first : window.last], others[window.other_first : window.other_last]
    found = np.full(len(here), NOWHERE, np.int64)
    best_alignment(here, there, found)
    matched = np.flatnonzero(found >= 0)
    partner[window.first + matched] = window.other_first + found[matched]


@inner
def _trace_back(words: Ints, others: Ints, steps: Steps, state: int, partner: Offsets) -> None:
    """Follow an alignment from its end; states are a pair of words, a word skipped, one of the others skipped."""
    row, column = len(words), len(others)
    while row > 0 or column > 0:
        step = steps[row, column]
        if state == 0:
            if words[row - 1] == others[column - 1]:
                partner[row - 1] = column - 1
            state = step & 3
            row, column = row - 1, column - 1
        elif state == 1:
            state = 1 if step & 4 else (2 if step & 16 else 0)
            row -= 1
        else:
            state = 2 if step & 8 else (1 if step & 32 else 0)
            column -= 1


@compiled
def best_alignment(words: Ints, others: Ints, partner: Offsets) -> float:
    """Fill in the partner of each word by an alignment of the highest score, and return that.

    A step has, in two bits, the state before a pair of words, and a bit for each gap that goes on or follows another.
    """
    rows, columns, lowest = len(words), len(others), -1e30
    steps = np.zeros((rows + 1, columns + 1), np.uint8)
    pair, skip, skip_other = np.full(columns + 1, lowest), np.full(columns + 1, lowest), np.full(columns + 1, lowest)
    pair[0] = 0.0
    for column in range(1, columns + 1):
        skip_other[column] = OPEN + EXTEND * column
        steps[0, column] = 8 if column > 1 else 0
    for row in range(1, rows + 1):
        corner, corner_skip, corner_other = pair[0], skip[0], skip_other[0]
        pair[0], skip_other[0], skip[0] = lowest, lowest, OPEN + EXTEND * row
        steps[row, 0] = 4 if row > 1 else 0
        for column in range(1, columns + 1):
            best, step = corner, 0
            if corner_skip > best:
                best, step = corner_skip, 1
            if corner_other > best:
                best, step = corner_other, 2
            corner, corner_skip, corner_other = pair[column], skip[column], skip_other[column]
            pair[column] = best + (MATCH if words[row - 1] == others[column - 1] else SUBSTITUTION)
            opened = max(corner, corner_other) + OPEN + EXTEND
            if corner_skip + EXTEND > opened:
                skip[column] = corner_skip + EXTEND
                step |= 4
            else:
                skip[column] = opened
                step |= 16 if corner_other > corner else 0
            opened = max(pair[column - 1], skip[column - 1]) + OPEN + EXTEND
            if skip_other[column - 1] + EXTEND > opened:
                skip_other[column] = skip_other[column - 1] + EXTEND
                step |= 8
            else:
                skip_other[column] = opened
                step |= 32 if skip[column - 1] > pair[column - 1] else 0
            steps[row, column] = step
    score = max(pair[columns], skip[columns], skip_other[columns])
    state = 0 if score == pair[columns] else (1 if score == skip[columns] else 2)
    _trace_back(words, others, steps, state, partner)
    return float(score)

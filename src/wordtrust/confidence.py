"""The confidence of a word, as people see it.

An arc's confidence is that of a word in one segmentation. What is shown for a word of the output is the largest, over
the instants it covers, of the summed confidences of all arcs that say the same word at that instant (DESIGN, section
7): "there" from 3.1 to 3.6 s and "there" from 3.2 to 3.6 s are one word to people.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .decode import Paths
from .jit import compiled, inner
from .lattice import Ints, Lattices, Offsets, Times

Reals = NDArray[np.float64]


def word_confidence(lattices: Lattices, confidence: NDArray[np.floating], paths: Paths) -> Reals:
    """The confidence of every arc of `paths` as it is shown; for silence its own."""
    shown = np.empty(len(paths.arcs))
    owner = np.repeat(lattices.node_offsets[:-1], np.diff(lattices.arc_offsets))
    start, end = lattices.time[owner + lattices.source], lattices.time[owner + lattices.target]
    _shown(
        lattices.arc_offsets, start, end, lattices.word, np.ascontiguousarray(confidence, np.float64),
        paths.offsets, paths.arcs, shown,
    )  # fmt: skip
    return np.minimum(shown, 1.0)


@inner
def _same_words(word: Ints, start: Times, end: Times, arc: int, first: int, last: int, found: Offsets) -> int:
    """Which arcs from `first` on say the word of `arc` while it is said; `start` never falls."""
    count = 0
    for other in range(first, last):
        if start[other] >= end[arc]:
            break
        if word[other] == word[arc] and end[other] > start[arc]:
            found[count] = other
            count += 1
    return count


@compiled
def _shown(
    arc_offsets: Offsets, start: Times, end: Times, word: Ints, confidence: Reals, offsets: Offsets, path: Ints,
    shown: Reals,
) -> None:  # fmt: skip
    for u in range(len(offsets) - 1):
        first, last = arc_offsets[u], arc_offsets[u + 1]
        longest = 0.0
        for arc in range(first, last):
            if word[arc] > 0:
                longest = max(longest, end[arc] - start[arc])
        found = np.empty(last - first, np.int64)
        begin = first  # arcs before it end too early for this word and all that follow
        for place in range(offsets[u], offsets[u + 1]):
            arc = first + path[place]
            shown[place] = confidence[arc]
            if word[arc] == 0 or end[arc] <= start[arc]:  # it covers no instant
                continue
            while start[begin] < start[arc] - longest:
                begin += 1
            count = _same_words(word, start, end, arc, begin, last, found)
            for one in range(count):  # the sum only rises where an arc begins
                instant, total = max(start[found[one]], start[arc]), 0.0
                for other in range(count):
                    if start[found[other]] <= instant < end[found[other]]:
                        total += confidence[found[other]]
                shown[place] = max(shown[place], total)

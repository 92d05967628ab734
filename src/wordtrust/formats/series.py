"""A recording in pieces, one after the other, each with hypotheses of its own, as one graph.

For the formats that give alternatives for parts of a recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..lattices.lattice import Ints, Offsets, Times
from .timing import chains
from .timing_kernels import GAP


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A stretch of audio with all its hypotheses: hypothesis h has the words offsets[h] to offsets[h + 1]."""

    offsets: Offsets
    start: Times
    end: Times


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Pieces as one graph from node 0 to node `end`: each hypothesis a chain between the two ends of its piece."""

    time: Times
    source: Ints
    target: Ints
    word: Ints  # [arcs] number of the word, counted over all pieces; -1 for silence
    hypothesis: Ints  # [arcs] likewise; -1 for the pauses between pieces
    end: int
    spread_words: int


def series(pieces: Sequence[Piece]) -> Series:
    """Pieces one after the other, from 0 s to the last end. A pause between two, over 100 ms, is a silence arc.

    A piece that reaches into the next one ends where that begins.
    """
    firsts = [float(piece.start.min(initial=np.inf)) for piece in pieces]
    limits = np.minimum.accumulate([np.inf, *firsts[::-1]])[-2::-1]  # where the pieces after each begin
    joined = _Joined()
    for piece, first, limit in zip(pieces, firsts, limits.tolist(), strict=True):
        if joined.now + GAP < first < np.inf:
            joined.pause(first)
        joined.append(piece, limit)
    return joined.series()


class _Joined:
    """Pieces joined so far: nodes from 0 to `last`, at the time `now`."""

    def __init__(self) -> None:
        self.now = 0.0
        self._last = self._words = self._hypotheses = self._spread = 0
        self._nodes = 1
        self._times = [np.zeros(1)]
        self._arcs = [np.zeros((4, 0), np.int64)]  # rows: source, target, word, hypothesis

    def pause(self, until: float) -> None:
        self._arcs.append(np.array([[self._last], [self._nodes], [-1], [-1]]))
        self._times.append(np.array([until]))
        self._last, self._nodes, self.now = self._nodes, self._nodes + 1, until

    def append(self, piece: Piece, limit: float) -> None:
        start = np.maximum(piece.start, self.now)
        end = np.maximum(start, np.minimum(piece.end, limit))
        made = chains(piece.offsets, start, end, begin=self.now)
        counts = np.diff(made.offsets)
        # Its node 0 is where the piece before ended.
        node = np.append(self._last, np.arange(self._nodes, self._nodes + len(made.time) - 1))
        word = np.where(made.word < 0, -1, made.word + self._words)
        hypothesis = np.repeat(np.arange(len(counts)) + self._hypotheses, counts)
        self._arcs.append(np.stack([node[made.source], node[made.target], word, hypothesis]))
        self._times.append(made.time[1:])
        self._last, self.now = int(node[made.end]), float(made.time[made.end])
        self._nodes += len(made.time) - 1
        self._words += len(start)
        self._hypotheses += len(counts)
        self._spread += made.spread_words

    def series(self) -> Series:
        source, target, word, hypothesis = np.concatenate(self._arcs, 1).astype(np.int32)
        return Series(np.concatenate(self._times), source, target, word, hypothesis, self._last, self._spread)

"""Recognizers' clocks differ: attention-based ones are off by 100 ms and more, and some give no times at all.

The output of one recognizer is aligned with that of another, the pivot. Words that both have are anchors: their
starts and ends are the same instants. Between anchors time runs evenly, and start and end of the utterances are
anchors too. The map never runs backwards.

It may jump: where the pivot has a word more, one instant of the other recognizer is a whole stretch of the pivot's.
What ends at that instant then ends before the stretch, and what begins there begins after it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...base.jit import compiled
from ...lattices.lattice import Ints, Lattices, Offsets, Times
from ...lattices.paths import one_best
from ...lattices.text import UNKNOWN
from ...networks.align import align_numbers

_STEP = 1e-6  # seconds between two nodes, at least: each has an instant of its own


@dataclass(frozen=True, slots=True, eq=False)
class Warped:
    """Where the nodes of a recognizer's networks lie on another one's clock."""

    before: Times  # [nodes] when the words that end there end
    after: Times  # [nodes] when the words that begin there begin


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """The output words of a batch with their times, utterances end to end."""

    offsets: Offsets
    word: Ints
    start: Times
    end: Times
    clock: Times  # [nodes] times of all nodes, no two of an utterance the same

    @classmethod
    def of(cls, lattices: Lattices) -> Said:
        """What the recognizer picked."""
        paths, clock = one_best(lattices), lattices.time.copy()
        spread(lattices.node_offsets, clock, _STEP)
        words = paths.without_silence(lattices)
        arcs, owner = words.arcs_in(lattices), words.utterance_of_arc
        node = lattices.node_offsets[owner]
        return cls(
            words.offsets,
            lattices.word[arcs],
            clock[node + lattices.source[arcs]],
            clock[node + lattices.target[arcs]],
            clock,
        )

    def part(self, lattices: Lattices, first: int, last: int) -> Said:
        """What was picked of the utterances from `first` to before `last`; `lattices` are those of all."""
        words, nodes = slice(*self.offsets[[first, last]]), slice(*lattices.node_offsets[[first, last]])
        offsets = self.offsets[first : last + 1] - self.offsets[first]
        return Said(offsets, self.word[words], self.start[words], self.end[words], self.clock[nodes])


def warp(member: Lattices, pivot: Lattices, said: Said, pivot_said: Said) -> Warped:
    """Put the nodes of `member` on the clock of `pivot`; both have the same utterances and word numbers."""
    unknown = member.vocabulary.find(UNKNOWN)
    found = align_numbers(pivot_said.word, pivot_said.offsets, said.word, said.offsets, unknown=unknown)
    partner = np.where(found.correct, found.reference, -1)
    before, after = np.empty(len(said.clock)), np.empty(len(said.clock))
    _warp(
        member.node_offsets, said.clock, said.offsets, said.start, said.end, partner.astype(np.int32),
        pivot.node_offsets, pivot_said.clock, pivot_said.offsets, pivot_said.start, pivot_said.end, before, after,
    )  # fmt: skip
    return Warped(before, after)


@compiled
def spread(node_offsets: Offsets, time: Times, step: float) -> None:
    """Give every node an instant of its own, at least `step` after the one before, in place."""
    for u in range(len(node_offsets) - 1):
        for node in range(node_offsets[u] + 1, node_offsets[u + 1]):
            time[node] = max(time[node], time[node - 1] + step)


@compiled
def _warp(
    node_offsets: Offsets, clock: Times, offsets: Offsets, start: Times, end: Times, partner: Ints,
    pivot_nodes: Offsets, pivot_clock: Times, pivot_offsets: Offsets, pivot_start: Times, pivot_end: Times,
    before: Times, after: Times,
) -> None:  # fmt: skip
    """`partner` is the pivot's word that each word is, -1 for none; both kinds of words are in order of time."""
    for u in range(len(node_offsets) - 1):
        n0, n1, words = node_offsets[u], node_offsets[u + 1], offsets[u + 1] - offsets[u]
        x, y = np.empty(2 * words + 2), np.empty(2 * words + 2)
        x[0], y[0], anchors = clock[n0], pivot_clock[pivot_nodes[u]], 1
        for place in range(offsets[u], offsets[u + 1]):
            if partner[place] >= 0:
                other = pivot_offsets[u] + partner[place]
                x[anchors], y[anchors] = start[place], pivot_start[other]
                x[anchors + 1], y[anchors + 1] = end[place], pivot_end[other]
                anchors += 2
        x[anchors], y[anchors] = clock[n1 - 1], pivot_clock[pivot_nodes[u + 1] - 1]
        here = 0  # the first anchor that is not before the node
        for node in range(n0, n1):
            while x[here] < clock[node]:
                here += 1
            if x[here] > clock[node]:
                share = (clock[node] - x[here - 1]) / (x[here] - x[here - 1])
                before[node] = after[node] = min(y[here - 1] + share * (y[here] - y[here - 1]), y[here])
                continue
            before[node] = y[here]
            while here < anchors and x[here + 1] == clock[node]:
                here += 1
            after[node] = y[here]

"""The k best word sequences of each lattice, exact, each by its best path.

Paths that say the same words (they differ in times or in silence) count as one: the best of them stands for all. This
is exact, not a beam: a sequence among the k best of a lattice has a beginning among the k best at every node it goes
through, else there would be k better ones with the same end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OptionError
from ..base.jit import compiled, inner
from .lattice import Ints, Lattices, Offsets
from .path_kernels import reverse
from .weights import Reals

_Hashes = NDArray[np.uint64]
# Of hashes of word sequences: where they begin, and what spreads a word and a sequence over all bits. Small numbers
# would do no good: 1 ^ 1 is 0, so words 1 and 2 would be the same as word 3.
_BEGIN, _SPREAD, _FACTOR = np.uint64(0x243F6A8885A308D3), np.uint64(0xD6E8FEB86659FD93), np.uint64(0x9E3779B97F4A7C15)
MOST = 100  # more would need a heap


@dataclass(frozen=True, slots=True)
class KBest:
    """The best paths of a batch, those of an utterance together, best first; arcs count within the utterance."""

    offsets: Offsets  # [utterances + 1] utterance u has the paths offsets[u] to offsets[u + 1]
    path_offsets: Offsets  # [paths + 1]
    arcs: Ints
    score: Reals  # [paths]

    def arcs_in(self, lattices: Lattices) -> Offsets:
        """The arcs of all paths as indices into the arrays of the batch."""
        arcs_of = np.diff(self.path_offsets[self.offsets])
        return np.repeat(lattices.arc_offsets[:-1], arcs_of) + self.arcs


def k_best(lattices: Lattices, score: Reals, k: int) -> KBest:
    """The `k` best word sequences of each lattice (fewer where it has fewer) by the sum of `score` over their arcs.

    Ties go to the path that comes by earlier arcs.
    """
    if not 1 <= k <= MOST:
        raise OptionError(f"the number of best paths is from 1 to {MOST}, not {k}")
    longest = max(1, int(np.diff(lattices.node_offsets).max(initial=1)) - 1)  # arcs of a path
    offsets, path_offsets = np.zeros(len(lattices) + 1, np.int64), np.zeros(len(lattices) * k + 1, np.int64)
    totals, lists = np.empty(len(lattices) * k), []
    arcs, row = np.empty(k * longest, np.int32), np.empty(k + 1, np.int64)
    for u in range(len(lattices)):
        part = slice(lattices.arc_offsets[u], lattices.arc_offsets[u + 1])
        first = offsets[u]
        found = _k_best(
            lattices.node_offsets[u + 1] - lattices.node_offsets[u], lattices.source[part], lattices.target[part],
            lattices.word[part], score[part], k, arcs, row, totals[first:],
        )  # fmt: skip
        offsets[u + 1] = first + found
        path_offsets[first + 1 : first + found + 1] = path_offsets[first] + row[1 : found + 1]
        lists.append(arcs[: row[found]].copy())
    paths = int(offsets[-1])
    joined = np.concatenate(lists) if lists else np.zeros(0, np.int32)
    return KBest(offsets, path_offsets[: paths + 1], joined, totals[:paths])


@inner
def _insert(totals: Reals, hashes: _Hashes, back: Ints, ranks: Ints, count: int, total: float, words: np.uint64,
            arc: int, rank: int) -> int:  # fmt: skip
    """Put a way to a node among its best ones, sorted; gives how many there are."""
    k, at = len(totals), count
    for i in range(count):
        if hashes[i] == words:
            if total <= totals[i]:
                return count
            at = i  # the same words by a worse path: replaced
            break
    if at == k:
        if total <= totals[k - 1]:
            return count
        at = k - 1
    elif at == count:
        count += 1
    while at > 0 and totals[at - 1] < total:
        totals[at], hashes[at], back[at], ranks[at] = totals[at - 1], hashes[at - 1], back[at - 1], ranks[at - 1]
        at -= 1
    totals[at], hashes[at], back[at], ranks[at] = total, words, arc, rank
    return count


@compiled
def _k_best(nodes: int, source: Ints, target: Ints, word: Ints, score: Reals, k: int, path: Ints, offsets: Offsets,
            out: Reals) -> int:  # fmt: skip
    """The k best of one lattice: their arcs, where each begins, their scores; gives how many there are."""
    totals, hashes = np.empty((nodes, k)), np.empty((nodes, k), np.uint64)
    back, ranks, count = np.empty((nodes, k), np.int32), np.empty((nodes, k), np.int32), np.zeros(nodes, np.int32)
    totals[0, 0], hashes[0, 0], count[0] = 0.0, _BEGIN, 1
    for arc in range(len(source)):  # sorted by source, so what is at the source is final
        s, t = source[arc], target[arc]
        for rank in range(count[s]):
            words = hashes[s, rank]
            if word[arc] > 0:
                words = (words ^ np.uint64(word[arc]) * _SPREAD) * _FACTOR
                words ^= words >> np.uint64(32)
            count[t] = _insert(
                totals[t], hashes[t], back[t], ranks[t], count[t], totals[s, rank] + score[arc], words, arc, rank
            )
    written = 0
    offsets[0] = 0
    for i in range(count[nodes - 1]):
        node, rank, begin = nodes - 1, i, written
        out[i] = totals[node, rank]
        while node > 0:
            arc = back[node, rank]
            path[written] = arc
            rank, node, written = ranks[node, rank], source[arc], written + 1
        reverse(path, begin, written - begin)
        offsets[i + 1] = written
    return int(count[nodes - 1])

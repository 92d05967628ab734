"""The path through a lattice that comes nearest to what was said."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.jit import compiled, inner
from ..lattices.lattice import Ints, Lattices, Offsets
from ..lattices.path_kernels import reverse
from ..lattices.paths import Paths, one_best
from ..lattices.text import UNKNOWN
from .align import align_ids
from .reference_words import ReferenceWords

Worth = NDArray[np.float64]
Worth32 = NDArray[np.float32]
Windows = tuple[Ints, Ints]  # for each node, the fewest and the most reference words that may come before it

MAX_CELLS = 1 << 23  # (node, reference word) pairs kept for one utterance; beyond it a band in time is searched
BAND = 10.0  # seconds on either side


@dataclass(frozen=True, slots=True, eq=False)
class OraclePaths:
    """The paths with the fewest errors, and which of their words stand for something else."""

    paths: Paths
    alternative: Ints  # [arcs of all paths] the arc of the alternatives that says the same word, -1 for none


def oracle_paths(lattices: Lattices, references: ReferenceWords, *, as_written: bool = False) -> Paths:
    """The path with the fewest errors through each lattice; ties to the larger sum of posteriors of right words.

    With `as_written`, a word that stands for others is worth 1 less, so that a path with the words of the reference
    comes first: otherwise two words in place of one would have the larger sum. Exact, but for utterances of thousands
    of words: there a node is only compared with what the 1-best has been aligned with within ten seconds of it.
    """
    worth = lattices.posterior
    if worth is None:
        worth = np.ones(len(lattices.word), np.float32)
        worth.flags.writeable = False  # as posteriors are, or the kernel would be compiled twice
    windows = _windows(lattices, references)
    graphs = WordGraphs(lattices.node_offsets, lattices.arc_offsets, lattices.source, lattices.target, lattices.word)
    unknown, stands_for_others = lattices.vocabulary.find(UNKNOWN), -1.0 if as_written else 0.0
    return find_oracles(graphs, worth, references, windows, unknown, stands_for_others).paths


@dataclass(frozen=True, slots=True, eq=False)
class WordGraphs:
    """What paths are searched in; the arrays are those of `Lattices`, and cannot be written to either."""

    node_offsets: Offsets
    arc_offsets: Offsets
    source: Ints
    target: Ints
    word: Ints


def find_oracles(
    graph: WordGraphs, worth: Worth32, references: ReferenceWords, windows: Windows, unknown: int,
    stands_for_others: float = 0.0,
) -> OraclePaths:  # fmt: skip
    """The path with the fewest errors through each graph, within windows of the reference for each node.

    Words of alternatives are worth `stands_for_others` more.
    """
    nodes = graph.node_offsets[-1]
    path, alternative = np.empty(max(1, nodes), np.int32), np.empty(max(1, nodes), np.int32)
    offsets, others = np.zeros(len(graph.node_offsets), np.int64), references.alternatives
    _oracles(
        graph.node_offsets, graph.arc_offsets, graph.source, graph.target, graph.word, worth,
        references.words, references.offsets, others.offsets, others.source, others.target, others.word,
        others.states, unknown, stands_for_others, *windows, path, alternative, offsets,
    )  # fmt: skip
    return OraclePaths(Paths(offsets, path[: offsets[-1]]), alternative[: offsets[-1]])


def _windows(lattices: Lattices, references: ReferenceWords) -> Windows:
    """For each node, the first and last number of reference words that may come before it."""
    nodes, words = np.diff(lattices.node_offsets), np.diff(references.offsets)
    low, high = np.zeros(len(lattices.time), np.int32), np.repeat(words, nodes).astype(np.int32)
    for i in np.flatnonzero(nodes * (words + 1) > MAX_CELLS).tolist():
        part = slice(lattices.node_offsets[i], lattices.node_offsets[i + 1])
        low[part], high[part] = _band(lattices[i : i + 1], references.rows(np.array([i])), int(words[i]))
    return low, high


def _band(lattices: Lattices, references: ReferenceWords, words: int) -> Windows:
    """A band around where the right words of the 1-best lie in time."""
    own = one_best(lattices).without_silence(lattices)
    unknown = lattices.vocabulary.find(UNKNOWN)
    alignments = align_ids(
        references.words, references.offsets, lattices.word[own.arcs], own.offsets, unknown=unknown
    )
    right = alignments.correct
    when = lattices.time[lattices.target[own.arcs[right]]]
    position = alignments.reference[right]
    before = np.concatenate([[0], position + 1])[np.searchsorted(when, lattices.time - BAND, "right")]
    after = np.concatenate([position, [words]])[np.searchsorted(when, lattices.time + BAND, "left")]
    # Never more than fits: around the line through these words, or straight from start to end where there are none.
    whole = lattices.time[[0, -1]]
    centre = np.interp(lattices.time, [whole[0], *when, whole[1]], [0, *(position + 1), words])
    half = max(1, MAX_CELLS // (2 * len(lattices.time)))
    low = np.clip(np.maximum(before, centre - half), 0, words).astype(np.int32)
    high = np.clip(np.minimum(np.maximum(after, before), centre + half), low, words).astype(np.int32)
    low[0], high[-1] = 0, words
    return low, high


@inner
def _offer(cost: Ints, gain: Worth, back: Offsets, cell: int, errors: int, worth: float, step: int) -> None:
    """Take a path to a cell if it has fewer errors than the one known, or as many and is worth more."""
    if errors < cost[cell] or (errors == cost[cell] and worth > gain[cell]):
        cost[cell], gain[cell], back[cell] = errors, worth, step


_MANY = np.int32(1 << 30)
# In `back`: a deletion; or 2 * arc, plus 1 if the arc's word stands for a reference word; or, below the deletion, one
# for each pair of an arc of the alternatives and an arc.
_DELETION = -1


@inner
def _cell(row: Offsets, low: Ints, high: Ints, node: int, state: int, words: int) -> int:
    """Where a state is kept that is not outside of the window of a node, or -1.

    Behind the window of every node there are the states within alternatives, which are numbered from `words` + 1 on.
    """
    if state > words:
        return int(row[node] + high[node] - low[node] + state - words)
    return int(row[node] + state - low[node]) if low[node] <= state <= high[node] else -1


@inner
def _take_alternatives(node: int, t: int, arc: int, arcs: int, word: int, worth: float, from_state: Ints,
                       to_state: Ints, said: Ints, states: int, words: int, low: Ints, high: Ints, row: Offsets,
                       cost: Ints, gain: Worth, back: Offsets) -> None:  # fmt: skip
    """Go along one arc within alternatives, and along those arcs of alternatives that say its word."""
    for state in range(words + 1, words + 1 + states):
        cell, next_cell = _cell(row, low, high, node, state, words), _cell(row, low, high, t, state, words)
        if cost[cell] < _MANY:
            _offer(cost, gain, back, next_cell, cost[cell] + (1 if word > 0 else 0), gain[cell], 2 * arc)
    for other in range(len(said)):
        if said[other] != word:
            continue
        cell = _cell(row, low, high, node, from_state[other], words)
        next_cell = _cell(row, low, high, t, to_state[other], words)
        if cell >= 0 and next_cell >= 0 and cost[cell] < _MANY:
            step = _DELETION - 1 - (other * arcs + arc)
            _offer(cost, gain, back, next_cell, cost[cell], gain[cell] + worth, step)


@inner
def _fill(source: Ints, target: Ints, word: Ints, worth: Worth32, reference: Ints, from_state: Ints, to_state: Ints,
          said: Ints, states: int, unknown: int, more: float, low: Ints, high: Ints, row: Offsets, cost: Ints,
          gain: Worth, back: Offsets) -> None:  # fmt: skip
    """Fewest errors from the start to each (node, state) in the windows.

    A state is the number of reference words before the node, or lies within an alternative.
    """
    settled, words = -1, len(reference)
    for arc in range(len(source) + 1):
        node = source[arc] if arc < len(source) else len(low) - 1
        if node != settled:  # arcs are sorted by source: all paths into it are known, but for deletions
            for j in range(low[node] + 1, high[node] + 1):
                cell = row[node] + j - low[node]
                _offer(cost, gain, back, cell, cost[cell - 1] + 1, gain[cell - 1], _DELETION)
            settled = node
        if arc == len(source):
            break
        t = target[arc]
        for j in range(low[node], high[node] + 1):
            cell = row[node] + j - low[node]
            if cost[cell] >= _MANY:
                continue
            next_cell, errors, value = row[t] + j - low[t], cost[cell], gain[cell]
            if low[t] <= j <= high[t]:
                _offer(cost, gain, back, next_cell, errors + (1 if word[arc] > 0 else 0), value, 2 * arc)
            if word[arc] > 0 and j < words and low[t] <= j + 1 <= high[t]:
                same = word[arc] == reference[j] and word[arc] != unknown
                value += worth[arc] if same else 0.0
                _offer(cost, gain, back, next_cell + 1, errors + (0 if same else 1), value, 2 * arc + 1)
        _take_alternatives(
            node, t, arc, len(source), word[arc], worth[arc] + more, from_state, to_state, said, states, words, low,
            high, row, cost, gain, back,
        )  # fmt: skip


@compiled
def _oracles(
    node_offsets: Offsets, arc_offsets: Offsets, source: Ints, target: Ints, word: Ints, worth: Worth32,
    reference_words: Ints, reference_offsets: Offsets, other_offsets: Offsets, from_state: Ints, to_state: Ints,
    said: Ints, states: Offsets, unknown: int, more: float, low: Ints, high: Ints,
    path: Ints, alternative: Ints, offsets: Offsets,
) -> None:  # fmt: skip
    for u in range(len(offsets) - 1):
        n0, n1, a0, a1 = node_offsets[u], node_offsets[u + 1], arc_offsets[u], arc_offsets[u + 1]
        others = slice(other_offsets[u], other_offsets[u + 1])
        reference = reference_words[reference_offsets[u] : reference_offsets[u + 1]]
        lows, highs = low[n0:n1], high[n0:n1]
        row = np.zeros(n1 - n0 + 1, np.int64)
        for node in range(n1 - n0):
            row[node + 1] = row[node] + highs[node] - lows[node] + 1 + states[u]
        cost, gain = np.full(row[-1], _MANY, np.int32), np.zeros(row[-1])
        back = np.full(row[-1], _DELETION, np.int64)
        cost[0] = 0
        _fill(
            source[a0:a1], target[a0:a1], word[a0:a1], worth[a0:a1], reference, from_state[others],
            to_state[others], said[others], states[u], unknown, more, lows, highs, row, cost, gain, back,
        )  # fmt: skip
        out, length, node, j = path[offsets[u] :], 0, n1 - n0 - 1, len(reference)
        while node > 0:
            if j <= len(reference):
                j = max(j, lows[node])
            step = back[_cell(row, lows, highs, node, j, len(reference))]
            if step == _DELETION and j > lows[node]:
                j -= 1
                continue
            arc, other = step // 2, -1
            if step < _DELETION:
                other, arc = divmod(_DELETION - 1 - step, a1 - a0)
                j = from_state[other_offsets[u] + other]
            elif step == _DELETION:  # a band too narrow for any path: any arc that ends here
                arc = a1 - a0 - 1
                while target[a0 + arc] != node:
                    arc -= 1
            else:
                j -= step % 2
            out[length], alternative[offsets[u] + length] = arc, other
            length += 1
            node = source[a0 + arc]
            if step == _DELETION:
                j = min(max(j, lows[node]), highs[node])
        reverse(out, 0, length)
        reverse(alternative[offsets[u] :], 0, length)
        offsets[u + 1] = offsets[u] + length

"""Labels: which words of a network (or lattice) are right, given the reference.

There are two rules. `one-best`, the paper's: each word of the recognizer's 1-best is aligned with the reference;
every arc with the same two ends as that word is right if it says the aligned reference word. Where nothing of the
1-best matches, nothing is right. `oracle`: on the path with the fewest errors, the words that match the reference are
right. All other words are wrong, and silence has no label.

A reference may hold words the recognizer cannot know: they are never right and cost a deletion or substitution. An
empty reference makes every word wrong; an empty hypothesis has nothing to label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import row_offsets
from ..base.errors import OptionError
from ..base.jit import compiled, inner
from ..lattices.lattice import Flags, Ints, Lattices, Offsets
from ..lattices.path_kernels import reverse
from ..lattices.paths import Paths, one_best
from ..lattices.text import UNKNOWN
from .align import Alignments, align_ids

Labels = NDArray[np.int8]
Worth = NDArray[np.float64]
Worth32 = NDArray[np.float32]

RULES = ("oracle", "one-best")
RIGHT, WRONG, NONE = 1, 0, -1
MAX_CELLS = 1 << 23  # (node, reference word) pairs kept for one utterance; beyond it a band in time is searched
BAND = 10.0  # seconds on either side


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceWords:
    """References as word numbers of a batch's vocabulary, -2 for words that are not in it, end to end."""

    words: Ints
    offsets: Offsets

    @classmethod
    def of(cls, references: Sequence[Sequence[str]], lattices: Lattices) -> ReferenceWords:
        """Look up the reference words of each utterance in the vocabulary of a batch."""
        if len(references) != len(lattices):
            raise ValueError(f"{len(references)} references for {len(lattices)} utterances")
        find = lattices.vocabulary.find
        ids = np.array([find(word) if word != UNKNOWN else -1 for words in references for word in words], np.int32)
        return cls(np.where(ids > 0, ids, np.int32(-2)), row_offsets(references))

    def utterance(self, index: int) -> ReferenceWords:
        """The reference of one utterance."""
        words = self.words[self.offsets[index] : self.offsets[index + 1]]
        return ReferenceWords(words, np.array([0, len(words)], np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPaths:
    """Paths with their words aligned to the reference."""

    paths: Paths
    words: Paths  # the same without silence: an arc for every word of the alignments
    alignments: Alignments

    @property
    def errors(self) -> int:
        """Substitutions, deletions and insertions of all of them."""
        return int(self.alignments.errors.sum())


def score_paths(lattices: Lattices, paths: Paths, references: ReferenceWords) -> ScoredPaths:
    """Align the words of paths through a batch with its references."""
    words, unknown = paths.without_silence(lattices), lattices.vocabulary.find(UNKNOWN)
    hypothesis = lattices.word[words.arcs_in(lattices)]
    alignments = align_ids(references.words, references.offsets, hypothesis, words.offsets, unknown=unknown)
    return ScoredPaths(paths, words, alignments)


def label_arcs(lattices: Lattices, references: ReferenceWords, rule: str = "oracle") -> Labels:
    """1 for right words, 0 for wrong ones, -1 for silence, for every arc of a batch of networks."""
    if rule not in RULES:
        raise OptionError(f"the label rule is one of {', '.join(RULES)}, not {rule!r}")
    labels = np.where(lattices.word > 0, WRONG, NONE).astype(np.int8)
    if rule == "oracle":
        best = score_paths(lattices, oracle_paths(lattices, references), references)
        labels[best.words.arcs_in(lattices)[best.alignments.correct]] = RIGHT
    else:
        own = score_paths(lattices, one_best(lattices), references)
        _label_rivals(
            lattices.arc_offsets, lattices.source, lattices.target, lattices.word, own.alignments.offsets,
            own.words.arcs, own.alignments.reference, own.alignments.correct, references.words, references.offsets,
            labels,
        )  # fmt: skip
    return labels


@compiled
def _label_rivals(
    arc_offsets: Offsets, source: Ints, target: Ints, word: Ints, offsets: Offsets, path: Ints,
    aligned: Ints, correct: Flags, reference: Ints, reference_offsets: Offsets, labels: Labels,
) -> None:  # fmt: skip
    """The arcs beside each 1-best word (and it itself) that say the reference word it is aligned with."""
    for u in range(len(offsets) - 1):
        first, last = arc_offsets[u], arc_offsets[u + 1]
        matches = 0
        for i in range(offsets[u], offsets[u + 1]):
            matches += correct[i]
        for i in range(offsets[u], offsets[u + 1]):
            if matches == 0 or aligned[i] < 0:
                continue
            expected, own = reference[reference_offsets[u] + aligned[i]], first + path[i]
            rival = own
            while rival > first and source[rival - 1] == source[own]:  # arcs are sorted by source
                rival -= 1
            while rival < last and source[rival] == source[own]:
                if target[rival] == target[own] and word[rival] == expected:
                    labels[rival] = RIGHT
                rival += 1


def oracle_paths(lattices: Lattices, references: ReferenceWords) -> Paths:
    """The path with the fewest errors through each lattice; ties to the larger sum of posteriors of right words.

    Exact, but for utterances of thousands of words: there a node is only compared with what the 1-best has been
    aligned with within ten seconds of it.
    """
    worth = lattices.posterior
    if worth is None:
        worth = np.ones(len(lattices.word), np.float32)
        worth.flags.writeable = False  # as posteriors are, or the kernel would be compiled twice
    path, offsets = np.empty(max(1, len(lattices.time)), np.int32), np.zeros(len(lattices) + 1, np.int64)
    low, high = _windows(lattices, references)
    _oracles(
        lattices.node_offsets, lattices.arc_offsets, lattices.source, lattices.target, lattices.word, worth,
        references.words, references.offsets, lattices.vocabulary.find(UNKNOWN), low, high, path, offsets,
    )  # fmt: skip
    return Paths(offsets, path[: offsets[-1]])


def _windows(lattices: Lattices, references: ReferenceWords) -> tuple[Ints, Ints]:
    """For each node, the first and last number of reference words that may come before it."""
    nodes, words = np.diff(lattices.node_offsets), np.diff(references.offsets)
    low, high = np.zeros(len(lattices.time), np.int32), np.repeat(words, nodes).astype(np.int32)
    for i in np.flatnonzero(nodes * (words + 1) > MAX_CELLS).tolist():
        part = slice(lattices.node_offsets[i], lattices.node_offsets[i + 1])
        low[part], high[part] = _band(lattices[i : i + 1], references.utterance(i), int(words[i]))
    return low, high


def _band(lattices: Lattices, references: ReferenceWords, words: int) -> tuple[Ints, Ints]:
    """A band around where the right words of the 1-best lie in time."""
    own = score_paths(lattices, one_best(lattices), references)
    right = own.alignments.correct
    when = lattices.time[lattices.target[own.words.arcs[right]]]
    position = own.alignments.reference[right]
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
def _offer(cost: Ints, gain: Worth, back: Ints, cell: int, errors: int, worth: float, step: int) -> None:
    """Take a path to a cell if it has fewer errors than the one known, or as many and is worth more."""
    if errors < cost[cell] or (errors == cost[cell] and worth > gain[cell]):
        cost[cell], gain[cell], back[cell] = errors, worth, step


_MANY = np.int32(1 << 30)
_DELETION = -1  # in `back`; else 2 * arc, plus 1 if the arc's word stands for a reference word


@inner
def _fill(source: Ints, target: Ints, word: Ints, worth: Worth32, reference: Ints, unknown: int,
          low: Ints, high: Ints, row: Offsets, cost: Ints, gain: Worth, back: Ints) -> None:  # fmt: skip
    """Fewest errors from the start to each (node, number of reference words before it) in the windows."""
    settled = -1
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
            if word[arc] > 0 and j < len(reference) and low[t] <= j + 1 <= high[t]:
                same = word[arc] == reference[j] and word[arc] != unknown
                more = worth[arc] if same else 0.0
                _offer(cost, gain, back, next_cell + 1, errors + (0 if same else 1), value + more, 2 * arc + 1)


@compiled
def _oracles(
    node_offsets: Offsets, arc_offsets: Offsets, source: Ints, target: Ints, word: Ints, worth: Worth32,
    reference_words: Ints, reference_offsets: Offsets, unknown: int, low: Ints, high: Ints,
    path: Ints, offsets: Offsets,
) -> None:  # fmt: skip
    for u in range(len(offsets) - 1):
        n0, n1, a0, a1 = node_offsets[u], node_offsets[u + 1], arc_offsets[u], arc_offsets[u + 1]
        reference = reference_words[reference_offsets[u] : reference_offsets[u + 1]]
        lows, highs = low[n0:n1], high[n0:n1]
        row = np.zeros(n1 - n0 + 1, np.int64)
        for node in range(n1 - n0):
            row[node + 1] = row[node] + highs[node] - lows[node] + 1
        cost, gain = np.full(row[-1], _MANY, np.int32), np.zeros(row[-1])
        back = np.full(row[-1], _DELETION, np.int32)
        cost[0] = 0
        _fill(
            source[a0:a1], target[a0:a1], word[a0:a1], worth[a0:a1], reference, unknown, lows, highs, row,
            cost, gain, back,
        )  # fmt: skip
        out, length, node, j = path[offsets[u] :], 0, n1 - n0 - 1, len(reference)
        while node > 0:
            j = max(j, lows[node])
            step = back[row[node] + j - lows[node]]
            if step == _DELETION and j > lows[node]:
                j -= 1
            elif step == _DELETION:  # a band too narrow for any path: any arc that ends here
                arc = a1 - a0 - 1
                while target[a0 + arc] != node:
                    arc -= 1
                out[length] = arc
                length += 1
                node = source[a0 + arc]
                j = min(max(j, lows[node]), highs[node])
            else:
                out[length] = step // 2
                length += 1
                node, j = source[a0 + step // 2], j - step % 2
        reverse(out, 0, length)
        offsets[u + 1] = offsets[u] + length

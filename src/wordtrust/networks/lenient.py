"""The alignment of words with a reference that has alternatives.

Where an alternative saves errors, it cuts the alignment in two: what is before it and what is after it are aligned by
the rules of `align`. Without alternatives, all of it is. The number of errors is the smallest that there is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.arrays import csr_items, csr_offsets
from ..lattices.lattice import Ints, Offsets
from .align import INSERTED, Alignments, align_ids
from .oracle import MAX_CELLS, Windows, WordGraphs, find_oracles
from .reference_words import ReferenceWords


def align_leniently(references: ReferenceWords, words: Ints, offsets: Offsets, *, unknown: int) -> Alignments:
    """Align hypotheses, their words end to end, with references; hits are counted in words of the references."""
    strict = align_ids(references.words, references.offsets, words, offsets, unknown=unknown)
    rows = np.flatnonzero(np.diff(references.alternatives.offsets) * np.diff(offsets) * strict.errors)
    if not len(rows):
        return strict
    some = references.rows(rows)
    part = csr_items(offsets, rows)
    hypotheses = _chains(words[part], csr_offsets(np.diff(offsets)[rows]))
    worth = np.ones(len(part), np.float32)
    worth.flags.writeable = False
    windows = _windows(some, hypotheses, strict.reference[part])
    found = find_oracles(hypotheses, worth, some, windows, unknown).alternative
    owner = np.repeat(np.arange(len(rows)), np.diff(hypotheses.arc_offsets))
    used = np.unique(owner[found >= 0])  # in the others, no alternative saves errors
    if not len(used):
        return strict
    own = csr_items(hypotheses.arc_offsets, used)
    hypotheses = _chains(words[part[own]], csr_offsets(np.diff(hypotheses.arc_offsets)[used]))
    better = _align_between(some.rows(used), hypotheses, found[own], unknown)
    return _better_rows(strict, better, rows[used], part[own])


def _chains(words: Ints, offsets: Offsets) -> WordGraphs:
    """Hypotheses as lattices with one path each."""
    source = (np.arange(len(words)) - np.repeat(offsets[:-1], np.diff(offsets))).astype(np.int32)
    arrays = (offsets + np.arange(len(offsets)), offsets, source, source + np.int32(1), words)
    for array in arrays:
        array.flags.writeable = False  # as those of lattices are, or the kernel would be compiled twice
    return WordGraphs(*arrays)


def _windows(references: ReferenceWords, hypotheses: WordGraphs, aligned: Ints) -> Windows:
    """All of the reference for every node; in long utterances, what is around the strict alignment."""
    nodes, lengths = np.diff(hypotheses.node_offsets), np.diff(references.offsets)
    low, high = np.zeros(nodes.sum(), np.int32), np.repeat(lengths, nodes).astype(np.int32)
    for row in np.flatnonzero(nodes * (lengths + 1) > MAX_CELLS).tolist():
        place = slice(hypotheses.node_offsets[row], hypotheses.node_offsets[row + 1])
        own = aligned[hypotheses.arc_offsets[row] : hypotheses.arc_offsets[row + 1]]
        at = np.flatnonzero(own != INSERTED)
        count, length = int(nodes[row]), int(lengths[row])
        centre = np.interp(np.arange(count), [0, *(at + 1), count - 1], [0, *(own[at] + 1), length])
        half = max(1, MAX_CELLS // (2 * count))
        low[place], high[place] = np.clip(centre - half, 0, length), np.clip(centre + half, 0, length)
        high[place.stop - 1] = length
    return low, high


@dataclass(slots=True)
class _Cuts:
    """The parts of hypotheses and references between alternatives, and these."""

    ours: list[range]  # words of the reference, counted through all
    theirs: list[range]  # words of the hypothesis
    owner: list[int]
    matched: list[tuple[int, int, int]]  # word of a hypothesis, the reference word it stands for, and the next one
    spans: list[tuple[int, int, int]]  # utterance; how many reference words an alternative is right for; insertions

    @classmethod
    def of(cls, references: ReferenceWords, hypotheses: WordGraphs, alternative: Ints) -> _Cuts:
        cuts = cls([], [], [], [], [])
        for row in range(len(references.offsets) - 1):
            cuts._add(references, hypotheses, alternative, row)
        return cuts

    def _add(self, references: ReferenceWords, hypotheses: WordGraphs, alternative: Ints, row: int) -> None:
        (begin, end), (first, last) = (
            offsets[row : row + 2].tolist() for offsets in (references.offsets, hypotheses.arc_offsets)
        )
        others = references.alternatives
        ours, theirs, start, inside = begin, first, 0, list[int]()
        for word in (np.flatnonzero(alternative[first:last] >= 0) + first).tolist():
            arc = others.offsets[row] + alternative[word]
            source, target = int(others.source[arc]), int(others.target[arc])
            if source <= end - begin:
                self._cut(row, range(ours, begin + source), range(theirs, word))
                start, inside = source, []
            inside.append(word)
            if target <= end - begin:
                self.matched += [(place, min(start + at, target - 1), target) for at, place in enumerate(inside)]
                self.spans.append((row, target - start, word + 1 - inside[0] - len(inside)))
                ours, theirs = begin + target, word + 1
        self._cut(row, range(ours, end), range(theirs, last))

    def _cut(self, row: int, ours: range, theirs: range) -> None:
        self.ours.append(ours)
        self.theirs.append(theirs)
        self.owner.append(row)


def _align_between(references: ReferenceWords, hypotheses: WordGraphs, alternative: Ints, unknown: int) -> Alignments:
    """Right words where alternatives are, and the alignment of what is between them."""
    cuts = _Cuts.of(references, hypotheses, alternative)
    ours, theirs = _gathered(cuts.ours), _gathered(cuts.theirs)
    ends = csr_offsets([len(part) for part in cuts.theirs])
    parts = align_ids(
        references.words[ours], csr_offsets([len(part) for part in cuts.ours]), hypotheses.word[theirs], ends,
        unknown=unknown,
    )  # fmt: skip
    correct, aligned = np.zeros(len(hypotheses.word), np.bool_), np.full(len(hypotheses.word), INSERTED, np.int32)
    before = [part.start - references.offsets[row] for part, row in zip(cuts.ours, cuts.owner, strict=True)]
    shift = np.repeat(np.array(before, np.int32), np.diff(ends))
    correct[theirs] = parts.correct
    aligned[theirs] = np.where(parts.reference == INSERTED, parts.reference, parts.reference + shift)
    counts = np.zeros((len(references.offsets) - 1, 4), np.int32)
    np.add.at(counts, cuts.owner, parts.counts)
    after = aligned + np.int32(1)
    for word, reference, following in cuts.matched:
        correct[word], aligned[word], after[word] = True, reference, following
    for row, hits, inserted in cuts.spans:
        counts[row, 0] += hits
        counts[row, 3] += inserted
    return Alignments(hypotheses.arc_offsets, correct, aligned, counts, after)


def _gathered(parts: list[range]) -> Offsets:
    return np.concatenate([np.zeros(0, np.int64), *(np.arange(part.start, part.stop) for part in parts)])


def _better_rows(strict: Alignments, lenient: Alignments, rows: Offsets, part: Offsets) -> Alignments:
    """The strict alignments with others in place of those that have more errors, or as many and fewer hits."""
    worse, hits = strict.errors[rows] - lenient.errors, lenient.counts[:, 0] - strict.counts[rows, 0]
    is_better = (worse > 0) | ((worse == 0) & (hits > 0))
    words = np.repeat(is_better, np.diff(lenient.offsets))
    correct, aligned, counts = strict.correct.copy(), strict.reference.copy(), strict.counts.copy()
    after = aligned + np.int32(1)
    correct[part[words]], aligned[part[words]] = lenient.correct[words], lenient.reference[words]
    assert lenient.after is not None
    after[part[words]] = lenient.after[words]
    counts[rows[is_better]] = lenient.counts[is_better]
    return Alignments(strict.offsets, correct, aligned, counts, after)

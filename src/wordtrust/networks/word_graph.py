"""A small lattice of words that may have been said (or recognized), and the alignment of two of them.

A graph is a row of arcs, each with a word and the arcs that may come before it. A plain text is a chain; alternatives
make it branch. Arc 0 stands for the start. `align_graphs` finds the pair of paths, and their alignment, that NIST's
sclite finds, ties included: a word in place of another costs 4, a word too much or too few 3, an optional word left
out 2, no word (`@`) next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import row_offsets
from ..base.errors import InputError
from ..formats.references.nist_text import NO_WORD, Parts, SpelledWord, Spelling, is_same
from ..lattices.lattice import Flags, Ints, Offsets
from .word_graph_kernels import NO_WORD_FLAG, OPTIONAL_FLAG, UNKNOWN_FLAG, align_all

MAX_PAIRS = 2 * 10**8  # pairs of words that one alignment may compare
MAX_STEPS = 2 * 10**9  # ways from one pair to the next that it may try: more than pairs where there are alternatives
MAX_BEFORE = 127  # arcs that may come before one

_START = SpelledWord("")


@dataclass(slots=True)
class WordGraph:
    """Words that may follow each other."""

    words: list[SpelledWord] = field(default_factory=lambda: [_START])
    before: list[tuple[int, ...]] = field(default_factory=lambda: [()])
    ends: tuple[int, ...] = (0,)  # arcs that may be the last

    @classmethod
    def of(cls, parts: Parts, spelling: Spelling) -> WordGraph:
        """The graph of a text."""
        graph = cls()
        graph.ends = graph.add(parts, spelling, graph.ends)
        return graph

    def add(self, parts: Parts, spelling: Spelling, before: tuple[int, ...]) -> tuple[int, ...]:
        """Add what may follow some arcs; gives the arcs that it may end with."""
        for part in parts:
            if isinstance(part, str):
                for word in spelling(part):
                    before = (self.add_word(word, before),)
            else:
                before = self._add_alternatives(part, spelling, before)
        return before

    def _add_alternatives(self, rows: list[Parts], spelling: Spelling, before: tuple[int, ...]) -> tuple[int, ...]:
        ends: list[int] = []
        for row in rows:
            size = len(self.words)
            last = self.add(row, spelling, before)
            if len(self.words) == size:  # nothing of it is a word
                last = (self.add_word(SpelledWord(NO_WORD), before),)
            ends += [end for end in last if end not in ends]
        return tuple(ends)

    def add_word(self, word: SpelledWord, before: tuple[int, ...]) -> int:
        """Add one word after some arcs; gives its arc."""
        if len(before) > MAX_BEFORE:
            raise InputError(
                f"{len(before)} alternatives in one place", remedy=f"At most {MAX_BEFORE} can be aligned"
            )
        self.words.append(word)
        self.before.append(before)
        return len(self.words) - 1


@dataclass(frozen=True, slots=True, eq=False)
class GraphAlignments:
    """Steps of the alignments of many pairs of graphs, end to end."""

    offsets: Offsets  # [pairs + 1]
    reference: Ints  # [steps] the arc of the reference, -1 for an insertion
    hypothesis: Ints  # [steps] the arc of the hypothesis, -1 for a deletion
    correct: Flags  # [steps]

    def counts(self) -> Ints:
        """[pairs, 4] hits, substitutions, deletions, insertions.

        An optional word that was left out is a hit, as with sclite.
        """
        kind = np.where(self.correct, 0, np.where(self.hypothesis < 0, 2, np.where(self.reference < 0, 3, 1)))
        owner = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        counts = np.zeros((len(self.offsets) - 1, 4), np.int32)
        np.add.at(counts, (owner, kind), 1)
        return counts


def align_graphs(
    references: Sequence[WordGraph],
    hypotheses: Sequence[WordGraph],
    *,
    beside_nothing: int = 4000,
    keep_nothing: bool = False,
) -> GraphAlignments:
    """Align each hypothesis with its reference as sclite does.

    `beside_nothing` is what a word in place of no word costs, in thousandths; steps of no word alone are left out
    unless `keep_nothing`.
    """
    if len(references) != len(hypotheses):
        raise ValueError(f"{len(references)} references for {len(hypotheses)} hypotheses")
    _check_sizes(references, hypotheses)
    ids: dict[str, int] = {}
    ours, theirs = _GraphArrays.of(references, ids), _GraphArrays.of(hypotheses, ids)
    also_offsets, also = _fragment_pairs(references, hypotheses)
    most = len(ours.word) + len(theirs.word)
    offsets = np.zeros(len(references) + 1, np.int64)
    reference, hypothesis = np.empty(most, np.int32), np.empty(most, np.int32)
    correct = np.empty(most, np.bool_)
    align_all(
        ours.offsets, ours.word, ours.flags, ours.before_offsets, ours.before, ours.end_offsets, ours.ends,
        theirs.offsets, theirs.word, theirs.flags, theirs.before_offsets, theirs.before, theirs.end_offsets,
        theirs.ends, also_offsets, also, beside_nothing, keep_nothing, offsets, reference, hypothesis, correct,
    )  # fmt: skip
    size = offsets[-1]
    return GraphAlignments(offsets, reference[:size], hypothesis[:size], correct[:size])


def _check_sizes(references: Sequence[WordGraph], hypotheses: Sequence[WordGraph]) -> None:
    for number, (ours, theirs) in enumerate(zip(references, hypotheses, strict=True)):
        steps = sum(map(len, ours.before)) * sum(map(len, theirs.before))
        if len(ours.words) * len(theirs.words) > MAX_PAIRS or steps > MAX_STEPS:
            raise InputError(
                f"{len(ours.words):,} reference words and {len(theirs.words):,} hypothesis words are too many to "
                "align",
                place=f"segment number {number + 1}",
                remedy="Cut the recording into segments",
            )


@dataclass(frozen=True, slots=True, eq=False)
class _GraphArrays:
    """Many graphs end to end, for the kernel."""

    offsets: Offsets
    word: Ints
    flags: NDArray[np.uint8]
    before_offsets: Offsets
    before: Ints
    end_offsets: Offsets
    ends: Ints

    @classmethod
    def of(cls, graphs: Sequence[WordGraph], ids: dict[str, int]) -> _GraphArrays:
        words = [word for graph in graphs for word in graph.words]
        before = [arcs for graph in graphs for arcs in graph.before]
        return cls(
            row_offsets(graph.words for graph in graphs),
            np.array([ids.setdefault(word.word, len(ids)) for word in words], np.int32),
            np.array([_flags(word) for word in words], np.uint8),
            row_offsets(before),
            _flat(before),
            row_offsets(graph.ends for graph in graphs),
            _flat(graph.ends for graph in graphs),
        )


def _flat(rows: Iterable[Sequence[int]]) -> Ints:
    return np.array([item for row in rows for item in row], np.int32)


def _flags(word: SpelledWord) -> int:
    if word.word == NO_WORD:
        return NO_WORD_FLAG
    return (OPTIONAL_FLAG if word.optional else 0) | (UNKNOWN_FLAG if word.unknown else 0)


def _fragment_pairs(references: Sequence[WordGraph], hypotheses: Sequence[WordGraph]) -> tuple[Offsets, Ints]:
    """For each arc of all references, the arcs of its hypothesis that are right because one is a fragment."""
    rows: list[Sequence[int]] = []
    for ours, theirs in zip(references, hypotheses, strict=True):
        fragments = [arc for arc, word in enumerate(theirs.words) if word.fragment]
        for word in ours.words:
            arcs = range(1, len(theirs.words)) if word.fragment else fragments
            rows.append([arc for arc in arcs if word.word and is_same(word, theirs.words[arc])] if arcs else ())
    return row_offsets(rows), _flat(rows)

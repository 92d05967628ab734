"""Which words of a lattice stand for which words of its reference.

For every utterance, `find_alternatives` looks for spans of the reference that other words of the lattice may be
written for. Only words that the lattice has are looked at, so there are few alternatives, and none for most
utterances. A compiled search (`candidates`) says from which reference words on there may be one at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ...base.arrays import csr_items, csr_offsets
from ...lattices.lattice import Ints, Lattices, Offsets
from .candidates import APART, READ_ALIKE, TOGETHER, find_candidates
from .compounds import written_apart, written_together
from .equate import Equate
from .lattice_words import LatticeWords, WordRow
from .readings import Reading, WordReadings, for_kinds

MOST_WORDS = 16  # that stand for a span of the reference
MOST_STEPS = 500  # of the search from one reference word

Span = tuple[int, int, WordRow]  # from word, to word of the reference, and the words that stand for them


@dataclass(frozen=True, slots=True, eq=False)
class Alternatives:
    """Alternatives of the references of a batch: arcs beside the chain of the reference words.

    The states of an utterance are the n + 1 places between its n reference words, and behind them one state for
    every gap within an alternative of several words.
    """

    offsets: Offsets  # [utterances + 1] of arcs
    source: Ints  # [arcs] state
    target: Ints
    word: Ints  # in the vocabulary of the batch
    states: Offsets  # [utterances] how many there are beyond the places between reference words

    @classmethod
    def none(cls, utterances: int) -> Alternatives:
        """No alternatives at all."""
        nothing = np.zeros(0, np.int32)
        return cls(np.zeros(utterances + 1, np.int64), nothing, nothing, nothing, np.zeros(utterances, np.int64))

    @classmethod
    def of(cls, rows: Sequence[Sequence[Span]], lengths: Sequence[int]) -> Alternatives:
        """Of spans of references with these numbers of words."""
        arcs: list[tuple[int, int, int]] = []
        counts, states = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        for index, (spans, length) in enumerate(zip(rows, lengths, strict=True)):
            before, state = len(arcs), length + 1
            for start, end, words in spans:
                path = [start, *range(state, state + len(words) - 1), end]
                arcs += zip(path[:-1], path[1:], words, strict=True)
                state += len(words) - 1
            counts[index], states[index] = len(arcs) - before, state - length - 1
        source, target, word = np.array(arcs, np.int32).reshape(-1, 3).T.copy()
        return cls(csr_offsets(counts), source, target, word, states)

    def rows(self, rows: Offsets) -> Alternatives:
        """Those of some utterances."""
        arcs, offsets = csr_items(self.offsets, rows), csr_offsets(np.diff(self.offsets)[rows])
        return Alternatives(offsets, self.source[arcs], self.target[arcs], self.word[arcs], self.states[rows])


def find_alternatives(
    references: Sequence[Sequence[str]], ids: Ints, offsets: Offsets, lattices: Lattices, equate: Equate
) -> Alternatives:
    """The alternatives of the references of a batch that its lattices have.

    `ids` are the words of the references, end to end, in the vocabulary of the batch; below 0 where it lacks them.
    """
    if not equate or not len(ids) or not len(lattices.word):
        return Alternatives.none(len(lattices))
    known, candidates = for_kinds(equate), find_candidates(references, ids, offsets, lattices, equate)
    marked = np.flatnonzero(candidates.marks)
    owner = np.searchsorted(offsets, marked, "right") - 1
    rows: list[list[Span]] = [[] for _ in references]
    places = zip(owner.tolist(), (marked - offsets[owner]).tolist(), candidates.marks[marked].tolist(), strict=True)
    for index, group in groupby(places, key=lambda place: place[0]):
        lattice = LatticeWords(lattices, index, known, candidates.is_open)
        for _, start, marks in group:
            rows[index] += _spans(references[index], start, lattice, marks)
    return Alternatives.of(rows, np.diff(offsets).tolist())


def _spans(reference: Sequence[str], start: int, lattice: LatticeWords, marks: int) -> list[Span]:
    """The alternatives that begin with one reference word."""
    rows: list[tuple[int, WordRow]] = []
    if marks & READ_ALIKE:
        rows += _same_reading(reference, start, lattice)
    if marks & APART:
        rows += [(start + 1, words) for words in written_apart(reference[start], lattice)]
    if marks & TOGETHER:
        rows += [(end, (joined,)) for end, joined in written_together(reference, start, lattice)]
    own = tuple(map(lattice.vocabulary.find, reference[start : start + MOST_WORDS]))
    return [(start, end, words) for end, words in dict.fromkeys(rows) if words != own[: end - start]]


def _same_reading(reference: Sequence[str], start: int, lattice: LatticeWords) -> Iterator[tuple[int, WordRow]]:
    """Rows of words of the lattice that are read like reference words from `start` on, up to where both end.

    The side whose reading is behind takes its next word, until neither is ahead.
    """
    waiting: list[tuple[int, WordRow, Reading, Reading]] = [(start, (), (), ())]
    for _ in range(MOST_STEPS):
        if not waiting:
            return
        at, words, ours, theirs = waiting.pop()
        if ours:
            continued = [(at, words + row, _rests(ours, said)) for row, said in lattice.beginning(ours[0])]
        else:
            continued = [(end, words, _rests(said, theirs)) for end, said in _units(reference, at, lattice.known)]
        for end, row, rests in continued:
            if rests == ((), ()) and row:
                yield end, row
            elif rests and len(row) < MOST_WORDS and end - start < MOST_WORDS:
                waiting.append((end, row, *rests))


def _rests(first: Reading, second: Reading) -> tuple[Reading, Reading] | None:
    """What is left of two readings where one has ended; None if they differ before."""
    shared = min(len(first), len(second))
    return (first[shared:], second[shared:]) if first[:shared] == second[:shared] else None


def _units(reference: Sequence[str], at: int, known: WordReadings) -> Iterable[tuple[int, Reading]]:
    """How the next words of a reference may be read, and where they end."""
    if at == len(reference):
        return
    for said in known.of(reference[at]) or ((reference[at],),):
        yield at + 1, said
    if known.may_be_in_phrase(reference[at]):
        for end in range(at + 2, min(at + 3, len(reference)) + 1):
            for said in known.of_phrase(tuple(reference[at:end])):
                yield end, said

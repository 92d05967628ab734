"""Alternatives of references: the alignment against brute force, and what is right in a lattice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.strategies import all_paths, assembled, batch_of, lattices
from wordtrust.lattices.lattice import Lattice
from wordtrust.networks import lenient as module
from wordtrust.networks.equivalents import ALL
from wordtrust.networks.equivalents.alternatives import Alternatives
from wordtrust.networks.gaps import missing_words
from wordtrust.networks.labels import score_paths
from wordtrust.networks.lenient import align_leniently
from wordtrust.networks.oracle import oracle_paths
from wordtrust.networks.reference_words import ReferenceWords

Span = tuple[int, int, tuple[int, ...]]
WORDS = st.integers(1, 4)


def fewest_errors(reference: Sequence[int], spans: Sequence[Span], words: Sequence[int]) -> int:
    """The equation written out: an alternative is all there, in order, or it is not used."""

    @cache
    def rest(at: int, word: int) -> int:
        steps = []
        if at < len(reference):
            steps.append(1 + rest(at + 1, word))
        if word < len(words):
            steps.append(1 + rest(at, word + 1))
            if at < len(reference):
                steps.append((reference[at] != words[word]) + rest(at + 1, word + 1))
        steps += [within(end, said, word) for start, end, said in spans if start == at]
        return min(steps, default=0)

    @cache
    def within(end: int, said: tuple[int, ...], word: int) -> int:
        if not said:
            return rest(end, word)
        if word == len(words):
            return 1 << 20
        skipped = 1 + within(end, said, word + 1)
        return min(within(end, said[1:], word + 1), skipped) if said[0] == words[word] else skipped

    return rest(0, 0)


@st.composite
def references(draw: st.DrawFn, most: int = 6) -> tuple[list[int], list[Span]]:
    words = draw(st.lists(WORDS, max_size=most))
    spans: list[Span] = []
    for _ in range(draw(st.integers(0, 4)) if words else 0):
        start = draw(st.integers(0, len(words) - 1))
        end = draw(st.integers(start + 1, min(len(words), start + 3)))
        spans.append((start, end, tuple(draw(st.lists(WORDS, min_size=1, max_size=3)))))
    return words, spans


def spoken(rows: Sequence[tuple[list[int], list[Span]]]) -> ReferenceWords:
    words = np.array([word for row, _ in rows for word in row], np.int32)
    offsets = np.cumsum([0, *(len(row) for row, _ in rows)])
    return ReferenceWords(words, offsets, Alternatives.of([spans for _, spans in rows], np.diff(offsets).tolist()))


@given(st.lists(st.tuples(references(), st.lists(WORDS, max_size=6)), min_size=1, max_size=3))
def test_errors_are_the_fewest_of_all_alternatives(
    cases: list[tuple[tuple[list[int], list[Span]], list[int]]],
) -> None:
    words = np.array([word for _, said in cases for word in said], np.int32)
    offsets = np.cumsum([0, *(len(said) for _, said in cases)])
    found = align_leniently(spoken([reference for reference, _ in cases]), words, offsets, unknown=-1)
    for row, ((reference, spans), said) in enumerate(cases):
        one = found[row]
        assert one.substitutions + one.deletions + one.insertions == fewest_errors(reference, tuple(spans), said)
        assert one.hits + one.substitutions + one.deletions == len(reference)
        assert sum(one.correct) + one.substitutions + one.insertions == len(said)
        assert all(place < len(reference) for place in one.reference)
        missing = missing_words(found, np.cumsum([0, *(len(reference) for (reference, _), _ in cases)]))
        assert missing[offsets[row] + row : offsets[row + 1] + row + 1].sum() == one.deletions
        assert not any(right and place < 0 for right, place in zip(one.correct, one.reference, strict=True))


@given(lattices(words=("a", "b", "c", "d", ""), max_arcs=8), references(most=4))
def test_the_oracle_is_the_best_of_all_paths(lattice: Lattice, reference: tuple[list[int], list[Span]]) -> None:
    batch, said = batch_of(lattice), spoken([reference])
    errors = [
        fewest_errors(reference[0], tuple(reference[1]), [int(word) for word in lattice.word[list(path)] if word])
        for path in all_paths(lattice)
    ]
    for as_written in (False, True):
        best = oracle_paths(batch, said, as_written=as_written)
        assert score_paths(batch, best, said).errors == min(errors)


@given(references(), st.lists(WORDS, min_size=1, max_size=6))
def test_long_utterances_are_no_worse_than_without_alternatives(
    reference: tuple[list[int], list[Span]], words: list[int]
) -> None:
    said, hypothesis, ends = spoken([reference]), np.array(words, np.int32), np.array([0, len(words)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_CELLS", 12)
        banded = align_leniently(said, hypothesis.copy(), ends.copy(), unknown=-1)
    exact = align_leniently(said, hypothesis.copy(), ends.copy(), unknown=-1)
    strict = align_leniently(said.strict, hypothesis, ends, unknown=-1)
    assert exact.errors <= banded.errors <= strict.errors


def test_words_of_the_reference_come_before_those_that_stand_for_them() -> None:
    """Two words for one have the larger sum of posteriors; as they are written, the one word is taken."""
    lattice = assembled(
        "u", time=[0.0, 0.5, 1.0, 1.5], ends=[(0, 1), (0, 2), (1, 2), (2, 3)], tokens=["it", "it's", "is", "fine"],
        posterior=[0.6, 0.4, 0.6, 1.0],
    ).batch()  # fmt: skip
    for reference, plain in (("it's fine", [0, 2, 3]), ("it is fine", [0, 2, 3]), ("it's", [0, 2, 3])):
        said = ReferenceWords.of([reference.split()], lattice, ALL)
        assert oracle_paths(lattice, said).arcs.tolist() == plain
        as_written = [1, 3] if "'" in reference else plain
        assert oracle_paths(lattice, said, as_written=True).arcs.tolist() == as_written

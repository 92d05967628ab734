"""Alternatives of references: the alignment against brute force, and what is right in a lattice."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.strategies import all_paths, assembled, batch_of, lattices
from wordtrust.lattices.lattice import Ints, Lattice, Offsets
from wordtrust.networks import lenient as module
from wordtrust.networks.align import align
from wordtrust.networks.equivalents import ALL
from wordtrust.networks.equivalents.alternatives import Alternatives
from wordtrust.networks.gaps import missing_words
from wordtrust.networks.labels import score_paths
from wordtrust.networks.lenient import align_leniently
from wordtrust.networks.oracle import oracle_paths
from wordtrust.networks.reference_words import ReferenceWords

Span = tuple[int, int, tuple[int, ...]]
WORDS = st.integers(1, 4)
MANY = 1 << 20  # errors: not possible


def fewest_errors(
    reference: Sequence[int], spans: Sequence[Span], words: Sequence[int], inside: Sequence[range] | None = None
) -> int:
    """The equation written out: an alternative is all there, in order, or it is not used.

    `inside` has how many reference words may come before each word, and after the last one; but for those within
    alternatives.
    """

    @cache
    def rest(at: int, word: int) -> int:
        steps = []
        if inside and at not in inside[word]:
            return MANY
        if at < len(reference):
            steps.append(1 + rest(at + 1, word))
        if word < len(words):
            steps.append(1 + rest(at, word + 1))
            if at < len(reference):
                steps.append((reference[at] != words[word]) + rest(at + 1, word + 1))
        heard = tuple(words[word : word + 1])
        steps += [within(end, said[1:], word + 1) for start, end, said in spans if (start, said[:1]) == (at, heard)]
        return min(steps, default=0)

    @cache
    def within(end: int, said: tuple[int, ...], word: int) -> int:
        if not said:
            return rest(end, word)
        if word == len(words):
            return MANY
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
    words, offsets = in_a_row([said for _, said in cases])
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


def band(reference: Sequence[int], words: Sequence[int], cells: int) -> list[range]:
    """How many reference words may come before each word: those around a line through the strict alignment."""
    alignment = align([*map(str, reference)], [*map(str, words)])
    line = {0: 0} | {word + 1: place + 1 for word, place in enumerate(alignment.reference) if place >= 0}
    line.setdefault(len(words), len(reference))
    half, found = max(1, cells // (2 * (len(words) + 1))), []
    for node in range(len(words) + 1):
        left, right = max(k for k in line if k <= node), min(k for k in line if k >= node)
        part = Fraction(node - left, max(1, right - left))
        middle = line[left] + part * (line[right] - line[left]) if node < len(words) else len(reference)
        found.append(range(max(0, floor(middle - half)), min(len(reference), floor(middle + half)) + 1))
    return found


def in_a_row(parts: Sequence[Sequence[int]]) -> tuple[Ints, Offsets]:
    return np.array([word for part in parts for word in part], np.int32), np.cumsum([0, *map(len, parts)])


@given(
    st.lists(st.tuples(references(most=12), st.lists(WORDS, min_size=1, max_size=12)), min_size=1, max_size=3),
    st.integers(0, 100),
)
def test_long_utterances_are_searched_around_the_strict_alignment(
    cases: list[tuple[tuple[list[int], list[Span]], list[int]]], cells: int
) -> None:
    said, (words, ends) = spoken([reference for reference, _ in cases]), in_a_row([words for _, words in cases])
    strict = align_leniently(said.strict, words.copy(), ends.copy(), unknown=-1)
    exact = align_leniently(said, words.copy(), ends.copy(), unknown=-1)
    inside = [
        band(reference, words, cells)
        if (len(words) + 1) * (len(reference) + 1) > cells
        else [range(len(reference) + 1)] * (len(words) + 1)
        for (reference, _), words in cases
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_CELLS", cells)
        banded = align_leniently(said, words.copy(), ends.copy(), unknown=-1)
        windows = module._windows(said, module._chains(words, ends), strict.reference)
    kept = [range(low, high + 1) for low, high in zip(*(side.tolist() for side in windows), strict=True)]
    assert kept == [window for windows in inside for window in windows]
    for row, ((reference, spans), heard) in enumerate(cases):
        confined = fewest_errors(reference, tuple(spans), heard, inside[row])
        assert exact.errors[row] <= banded.errors[row] <= min(confined, strict.errors[row])


@pytest.mark.parametrize(
    ("reference", "span", "words", "places", "after"),
    [
        ([1, 2], (0, 1, (3, 4, 3)), [3, 4, 3, 2], [0, 0, 0, 1], [1, 1, 1, 2]),
        ([2, 1, 2], (1, 2, (3, 4)), [2, 3, 4, 2], [0, 1, 1, 2], [1, 2, 2, 3]),
        ([1, 2, 1, 2], (0, 3, (3, 4)), [3, 4, 2], [0, 1, 3], [3, 3, 4]),
    ],
)
def test_which_reference_words_others_stand_for(
    reference: list[int], span: Span, words: list[int], places: list[int], after: list[int]
) -> None:
    """One after the other, and all that are too many for the last; after each of them comes what follows all."""
    found = align_leniently(spoken([(reference, [span])]), *in_a_row([words]), unknown=-1)
    assert found.after is not None
    assert (found.errors.tolist(), found.correct.tolist()) == ([0], [True] * len(words))
    assert (found.reference.tolist(), found.after.tolist()) == (places, after)


def test_alternatives_that_save_nothing_are_not_used() -> None:
    """ "b c" for the "a" of "a c": then "c" is missing, as "a" is without. Errors and hits are as many."""
    found = align_leniently(spoken([([1, 3], [(0, 1, (2, 3))])]), *in_a_row([[2, 3]]), unknown=-1)
    assert (found.correct.tolist(), found.counts.tolist()) == ([False, True], [[1, 1, 0, 0]])


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

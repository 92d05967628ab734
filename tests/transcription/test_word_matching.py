"""Matching the words of two texts, against all alignments and on long texts that were damaged in known places."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordtrust.lattices.lattice import Ints, Offsets
from wordtrust.transcription import word_matching
from wordtrust.transcription.word_matching import EXTEND, MATCH, OPEN, SUBSTITUTION, best_alignment, match_words

few = st.lists(st.integers(0, 3), max_size=7)
text = st.lists(st.integers(0, 8), max_size=60)


def ids(words: list[int]) -> Ints:
    return np.array(words, np.int32)


def best_score(words: list[int], others: list[int]) -> float:
    """Over all alignments, one step after the other."""

    @cache
    def best(row: int, column: int, before: int) -> float:
        if row == len(words) and column == len(others):
            return 0.0
        choices = []
        if row < len(words) and column < len(others):
            reward = MATCH if words[row] == others[column] else SUBSTITUTION
            choices.append(reward + best(row + 1, column + 1, 0))
        if row < len(words):
            choices.append(EXTEND + (0.0 if before == 1 else OPEN) + best(row + 1, column, 1))
        if column < len(others):
            choices.append(EXTEND + (0.0 if before == 2 else OPEN) + best(row, column + 1, 2))
        return max(choices)

    return best(0, 0, 0)


def score_of(partner: Offsets, words: list[int], others: list[int]) -> float:
    """The best score of the words between partners, with these matched."""
    total, first, other_first = 0.0, 0, 0
    for word, other in [*((w, int(p)) for w, p in enumerate(partner) if p >= 0), (len(words), len(others))]:
        total += best_score(words[first:word], others[other_first:other])
        total += MATCH if word < len(words) else 0.0
        first, other_first = word + 1, other + 1
    return total


def check_partners(partner: Offsets, words: Ints, others: Ints) -> None:
    matched = np.flatnonzero(partner >= 0)
    assert (np.diff(partner[matched]) > 0).all()
    assert (words[matched] == others[partner[matched]]).all()


@settings(max_examples=200, deadline=None)
@given(few, few)
def test_no_alignment_is_better(words: list[int], others: list[int]) -> None:
    partner = np.full(len(words), -1, np.int64)
    score = best_alignment(ids(words), ids(others), partner)
    assert score == pytest.approx(best_score(words, others))
    check_partners(partner, ids(words), ids(others))
    assert score_of(partner, words, others) == pytest.approx(score)


@settings(max_examples=50, deadline=None)
@given(text, text, st.integers(0, 1))
def test_partners_are_equal_and_in_order_with_anchors_too(
    words: list[int], others: list[int], few_pairs: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_matching, "_FEW_PAIRS", 20 * few_pairs)
        partner = match_words(ids(words), ids(others))
    check_partners(partner, ids(words), ids(others))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=60))
def test_a_text_is_itself(words: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_matching, "_FEW_PAIRS", 20)
        assert match_words(ids(words), ids(words)).tolist() == list(range(len(words)))


def spoken(count: int, random: np.random.Generator) -> Ints:
    """Words that are as often as words are: Zipf's law."""
    return np.minimum(random.zipf(1.3, count), 20_000).astype(np.int32)


def damaged(words: Ints, rate: float, random: np.random.Generator) -> tuple[Ints, Offsets]:
    """The words with errors as recognizers make them, and which word each of them is (-1: a wrong one)."""
    kind = random.random(len(words))
    replaced = np.where(kind < rate / 2, spoken(len(words), random), words)
    origin = np.where(kind < rate / 2, -1, np.arange(len(words)))
    kept = (kind < rate / 2) | (kind > rate * 0.8)  # the rest is left out, or gets a word after it
    times = np.where(kept, np.where(kind > 1 - rate * 0.2, 2, 1), 0)
    again = np.repeat(np.arange(len(words)), times)
    is_extra = np.concatenate([[False], again[1:] == again[:-1]]) if len(again) else np.zeros(0, bool)
    result = np.where(is_extra, spoken(len(again), random), replaced[again])
    return result.astype(np.int32), np.where(is_extra, -1, origin[again])


@pytest.mark.parametrize(("rate", "least"), [(0.1, 0.99), (0.45, 0.93)])
def test_an_hour_with_errors_and_missing_passages(rate: float, least: float) -> None:
    random = np.random.default_rng(5)
    truth = spoken(12_000, random)
    words, origin = damaged(np.delete(truth, slice(3000, 3400)), rate / 2, random)
    origin = np.where(origin >= 3000, origin + 400, origin)
    others, other_origin = damaged(np.delete(truth, slice(8000, 9000)), rate / 2, random)
    other_origin = np.where(other_origin >= 8000, other_origin + 1000, other_origin)
    match_words(words[:10], others[:10])  # compiled by now
    began = time.perf_counter()
    partner = match_words(words, others)
    assert time.perf_counter() - began < 10
    check_partners(partner, words, others)
    both = np.intersect1d(origin[origin >= 0], other_origin[other_origin >= 0])
    right = (partner >= 0) & (origin >= 0) & (other_origin[partner] == origin)
    assert right.sum() >= least * len(both)
    assert right.sum() >= least * (partner >= 0).sum() * 0.97
    in_gap = (origin >= 8020) & (origin < 8980)
    assert (partner[in_gap] >= 0).mean() < 0.1


def test_texts_without_anything_in_common_and_loops_end_soon() -> None:
    began = time.perf_counter()
    assert (match_words(np.arange(50_000, dtype=np.int32), np.arange(50_000, 100_000, dtype=np.int32)) < 0).all()
    loop = np.zeros(30_000, np.int32)
    check_partners(match_words(loop, loop[:20_000]), loop, loop)
    assert len(match_words(np.zeros(0, np.int32), loop)) == 0
    assert time.perf_counter() - began < 20

"""Stretches: everything is heard, no choice of windows is better for its price, the best come first."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wordtrust.transcripts.review import stretches as module
from wordtrust.transcripts.review.items import ReviewItems
from wordtrust.transcripts.review.stretches import CONTEXT, LONGEST, find_stretches

word = st.tuples(
    st.sampled_from((0.0, 0.1, 0.7, 3.0)), st.sampled_from((0.0, 0.2, 0.6)), st.sampled_from((0.0, 0.01, 0.2, 0.9))
)


def items_of(words: list[tuple[float, float, float]], tracks: int = 1, *, apart: bool = True) -> ReviewItems:
    """A pause, a length and a chance of being wrong for each word; gaps lack words half as often."""
    pause, length, wrong = np.array(words, np.float64).reshape(-1, 3).T
    end = np.cumsum(pause + length)
    sizes = [len(part) for part in np.array_split(np.arange(len(words)), tracks)]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    missing = np.concatenate([[*wrong[a:b].tolist(), 0.05] for a, b in pairwise(offsets)]) / 2
    return ReviewItems.of_arrays(offsets, end - length, end, wrong, missing, np.arange(tracks) * apart)


@given(st.lists(word, min_size=1, max_size=40), st.integers(1, 3))
def test_everything_is_heard_once(words: list[tuple[float, float, float]], tracks: int) -> None:
    items = items_of(words, tracks)
    order = find_stretches(items)
    heard = np.zeros(len(items.start), np.bool_)
    for first, last, start, end in zip(order.first, order.last, order.start, order.end, strict=True):
        heard[first : last + 1] = True
        assert start <= items.start[first]
        assert items.end[last] <= end
        assert end - start <= LONGEST + 2 * CONTEXT + 1e-9
        for edge, beyond in ((first, first - 1), (last, last + 1)):
            if items.is_gap[edge] and 0 <= beyond < len(heard):
                assert items.is_gap[beyond] or beyond in items.track - 1 or beyond in items.track
        assert not any(first < border <= last for border in items.track[1:-1])
    assert heard[items.errors > 0].all()
    assert order.errors.sum() == pytest.approx(items.errors.sum())
    assert (np.diff(order.errors / order.seconds) <= 1e-9).all()


@given(st.lists(word, min_size=1, max_size=8), st.integers(1, 2), st.sampled_from((0.02, 0.1, 0.3)))
@settings(max_examples=40)
def test_the_choice_at_a_price_is_the_best(words: list[tuple[float, float, float]], cut: int, price: float) -> None:
    items = items_of(words, min(cut, len(words)), apart=False)
    assert len(items.track) == 2
    chosen = np.zeros(len(items.start), np.bool_)
    module._choose(items.start, items.end, items.errors, items.track, items.is_gap, price, CONTEXT, chosen)
    places = np.flatnonzero(~items.is_gap)
    best = max(
        _value(items, places[np.array(choice)], price) for choice in product((False, True), repeat=len(places))
    )
    assert _value(items, np.flatnonzero(chosen), price) == pytest.approx(best, abs=1e-9)


def _value(items: ReviewItems, playing: NDArray[np.int64], price: float) -> float:
    """Expected errors of words, and of gaps without a word beside them that is not played; minus the time."""
    is_playing, segment = np.isin(np.arange(len(items.start)), playing), items.segment
    gained = is_playing.copy()
    for gap in np.flatnonzero(items.is_gap):
        beside = [k for k in (gap - 1, gap + 1) if 0 <= k < len(segment) and segment[k] == segment[gap]]
        gained[gap] = all(is_playing[beside])
    places, seconds = np.flatnonzero(~items.is_gap), 0.0
    for before, place in pairwise([-1, *places]):
        if is_playing[place]:
            goes_on = before >= 0 and is_playing[before]
            lead = min(CONTEXT, items.start[place]) + items.end[place] - items.start[place] + CONTEXT
            seconds += items.end[place] - items.end[before] if goes_on else lead
    return float(items.errors[gained].sum() - price * seconds)


def test_neighbours_are_played_together_and_context_is_heard() -> None:
    words = [(0.5, 0.3, 0.9), (0.1, 0.3, 0.0), (0.1, 0.3, 0.8), (9.0, 0.3, 0.7)]
    items = items_of(words)
    order = find_stretches(items)
    assert (order.first[0], order.last[0]) == (0, 5)  # the sure word between the doubtful ones as well
    assert order.start[0] == 0.0
    assert order.end[0] == pytest.approx(0.5 + 3 * 0.3 + 2 * 0.1 + CONTEXT)


@given(st.lists(st.tuples(*[st.floats(-5, 50, allow_nan=False)] * 2), min_size=1, max_size=12), st.integers(1, 3))
def test_any_times_become_times_that_never_fall_in_a_track(times: list[tuple[float, float]], segments: int) -> None:
    start, end = np.array(times).T
    sizes = [len(part) for part in np.array_split(np.arange(len(times)), segments)]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    chance = np.full(len(times), 0.5)
    items = ReviewItems.of_arrays(
        offsets, start, end, chance, np.full(len(times) + segments, 0.1), np.zeros(segments, np.int64)
    )
    assert (items.end >= items.start).all()
    assert (items.start >= 0).all()
    assert items.track[0] == 0
    assert items.track[-1] == len(items.start)
    for first, last in zip(items.track[:-1], items.track[1:], strict=True):
        assert (np.diff(items.start[first:last]) >= 0).all()
        assert (np.diff(items.end[first:last]) >= 0).all()
    assert items.is_gap.sum() == len(times) + segments

"""Word times: the best path against all paths, and what every alignment must keep."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wordtrust.recognizers.moonshine.words import (
    EDGE,
    FIRST_FRAME,
    FRAME_SECONDS,
    PAUSE,
    WordTokens,
    fit_of_frames,
    token_spans,
    word_times,
)

Reals = NDArray[np.float64]


def _all_paths(tokens: int, frames: int, begins: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Every way to give frames to states in order: state 2t is the pause before token t, 2t + 1 the token itself."""
    allowed = []
    for path in product(range(2 * tokens + 1), repeat=frames):
        forward = all(left <= right for left, right in pairwise(path))
        has_all = {2 * token + 1 for token in range(tokens)} <= set(path)
        inner = {state // 2 for state in path if state % 2 == 0}
        if forward and has_all and all(pause in (0, tokens - 1, tokens) or begins[pause] for pause in inner):
            allowed.append(path)
    return allowed


def _value(path: tuple[int, ...], fit: Reals) -> float:
    edges = (0, 2 * len(fit) - 2, 2 * len(fit))
    pauses = {state: EDGE if state in edges else PAUSE for state in range(0, 2 * len(fit) + 1, 2)}
    return sum(pauses[state] if state % 2 == 0 else fit[state // 2, frame] for frame, state in enumerate(path))


def _value_of_spans(spans: Reals, fit: Reals) -> float:
    path = np.zeros(fit.shape[1], int)
    for token, (first, last) in enumerate(spans.astype(int)):
        path[first:last] = 2 * token + 1
        path[last:] = 2 * token + 2
    return _value(tuple(path.tolist()), fit)


@given(st.integers(0, 10_000), st.integers(2, 3), st.integers(3, 5))
@settings(max_examples=40, deadline=None)
def test_no_path_is_better(seed: int, tokens: int, frames: int) -> None:
    random = np.random.default_rng(seed)
    fit, begins = random.normal(0, 1, (tokens, frames)), random.random(tokens) < 0.5
    (spans,) = token_spans([fit.astype(np.float32)], [begins])
    best = max(_value(path, fit) for path in _all_paths(tokens, frames, begins))
    assert _value_of_spans(spans, fit) == pytest.approx(best, abs=1e-4)


@given(st.integers(0, 10_000), st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_tokens_follow_each_other_and_texts_do_not_touch(seed: int, lengths: list[int], frames: int) -> None:
    """Also where there are more tokens than frames; a text is aligned as if it were alone."""
    random = np.random.default_rng(seed)
    fits = [random.normal(0, 1, (length, frames)).astype(np.float32) for length in lengths]
    begins = [random.random(length) < 0.4 for length in lengths]
    together = token_spans(fits, begins)
    for fit, begin, spans in zip(fits, begins, together, strict=True):
        assert spans.shape == (len(fit), 2)
        assert (spans[:, 0] < spans[:, 1]).all()
        assert (spans[1:, 0] >= spans[:-1, 1]).all()
        assert spans.min() >= 0
        assert spans.max() <= frames
        if max(lengths) <= frames:
            assert token_spans([fit], [begin])[0].tolist() == spans.tolist()


def test_clear_attention_gives_clear_times() -> None:
    fit = np.full((4, 100), -0.5, np.float32)
    for token, (first, last) in enumerate([(20, 30), (30, 45), (80, 90), (90, 92)]):
        fit[token, first:last] = 3.0
    (spans,) = token_spans([fit], [np.array([True, False, True, False])])
    assert spans.tolist() == [[20, 30], [30, 45], [80, 90], [90, 92]]
    times = word_times(spans, [WordTokens("ab", 0, 2), WordTokens("c", 2, 3)], 2.4)
    assert times.tolist() == [[0.5, 1.1], [1.94, 2.18]]  # 24 ms a frame, 16 ms after the beginning


def test_a_short_gap_belongs_to_the_word_before() -> None:
    spans = np.array([[1.0, 4.0], [20.0, 30.0]])
    times = word_times(spans, [WordTokens("a", 0, 1), WordTokens("b", 1, 2)], 0.508)
    assert times[0].tolist() == pytest.approx(
        [FRAME_SECONDS + FIRST_FRAME, 20 * FRAME_SECONDS + FIRST_FRAME], abs=0.0051
    )
    assert times[1, 1] == 0.5  # no word ends after the audio


def test_no_words_have_no_times() -> None:
    assert word_times(np.array([[0.0, 1.0]]), [], 1.0).shape == (0, 2)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 3), st.integers(1, 12))
@settings(max_examples=30, deadline=None)
def test_the_fit_is_the_mean_median_z_score(seed: int, heads: int, rows: int, frames: int) -> None:
    attention = np.random.default_rng(seed).random((heads, rows, frames)).astype(np.float32)
    found = fit_of_frames(attention)
    for row, frame in product(range(rows), range(frames)):
        scores = []
        for head in attention[:, row].astype(np.float64):
            around = [head[min(max(frame + shift, 0), frames - 1)] for shift in (-1, 0, 1)]
            scores.append((np.median(around) - head.mean()) / (head.std() + 1e-9))
        assert found[row, frame] == pytest.approx(np.mean(scores), abs=1e-3)

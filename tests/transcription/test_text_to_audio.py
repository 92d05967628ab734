"""Where the words of a text are in a recording: times of its own or none, clocks that are off, passages that lack."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordtrust.lattices.lattice import Ints, Times
from wordtrust.transcription.text_to_audio import Clock, LocatedWords, TimedWords, locate

SEGMENTS, WORDS = 20, 10  # of each; a word takes half a second, a pause between segments a second


def recording(seed: int = 0) -> Clock:
    random = np.random.default_rng(seed)
    segment = np.repeat(np.arange(SEGMENTS), WORDS)
    start = 6.0 * segment + 0.5 * np.tile(np.arange(WORDS), SEGMENTS) + 1
    words = TimedWords(random.integers(0, 3000, len(start)).astype(np.int32), letters(len(start)), start, start + 0.5)
    edges: Times = 6.0 * np.arange(SEGMENTS, dtype=np.float64) + 1
    return Clock(words, segment.astype(np.int64), edges, edges + 5.0)


def letters(count: int) -> Ints:
    return np.full(count, 5, np.int32)


def check(located: LocatedWords, clock: Clock) -> None:
    assert (np.diff(located.stretch) >= 0).all()
    assert ((located.stretch >= 0) & (located.stretch <= 2 * len(clock.start))).all()
    assert (located.end >= located.start).all()


def with_errors(words: TimedWords, every: int) -> TimedWords:
    wrong = words.word.copy()
    wrong[::every] = 5000 + np.arange(len(wrong[::every]))
    return replace(words, word=wrong)


@pytest.mark.parametrize("is_timed", [True, False])
def test_words_are_where_they_were_heard(is_timed: bool) -> None:
    clock = recording()
    located = locate(replace(with_errors(clock.words, 3), is_timed=is_timed), clock)
    check(located, clock)
    assert located.found == pytest.approx(2 / 3, abs=0.01)
    assert located.stretch.tolist() == (2 * clock.segment + 1).tolist()
    assert np.abs(located.start - clock.words.start).max() < (1e-9 if is_timed else 1.5)


@pytest.mark.parametrize(("shift", "drift"), [(7.0, 1.0), (-3.0, 1.0), (0.0, 1.04)])
def test_a_clock_that_is_off_is_set_right(shift: float, drift: float) -> None:
    clock = recording()
    text = with_errors(clock.words, 3)
    text = replace(text, start=drift * text.start + shift, end=drift * text.end + shift)
    located = locate(text, clock)
    assert np.abs(located.start - clock.words.start).max() < 1.0
    assert located.stretch.tolist() == (2 * clock.segment + 1).tolist()
    assert located.late == pytest.approx(shift + (drift - 1) * 60, abs=0.6)


@pytest.mark.parametrize("is_timed", [True, False])
def test_passages_that_the_text_lacks_and_has_too_many(is_timed: bool) -> None:
    clock, words = recording(), recording().words
    kept = np.r_[0:50, 90:200]
    text = TimedWords(words.word[kept], letters(160), words.start[kept], words.end[kept], is_timed)
    located = locate(text, clock)
    check(located, clock)
    assert located.found == 1
    assert not np.isin(located.stretch, 2 * np.arange(5, 9) + 1).any()
    heard = replace(clock, words=TimedWords(words.word[:100], letters(100), words.start[:100], words.end[:100]))
    heard = replace(heard, segment=clock.segment[:100])
    much = locate(replace(words, is_timed=is_timed), heard)
    check(much, heard)
    assert much.found == 0.5


def test_timed_words_in_a_pause_are_in_a_pause() -> None:
    clock = recording()
    clock = replace(clock, end=clock.start + 2.0)  # the listener found no speech after the second second
    keep = clock.words.end <= clock.start[clock.segment] + 2.0
    said = clock.words
    heard = TimedWords(said.word[keep], said.letters[keep], said.start[keep], said.end[keep])
    located = locate(clock.words, replace(clock, words=heard, segment=clock.segment[keep]))
    assert set((located.stretch[keep] % 2).tolist()) == {1}
    middle = (clock.words.start - clock.start[clock.segment]) == 3.5
    assert set((located.stretch[middle] % 2).tolist()) == {0}


def test_another_text_is_not_found_and_nothing_is_nowhere() -> None:
    clock, other = recording(), recording(1).words
    assert locate(other, clock).found < 0.05
    empty = TimedWords(np.zeros(0, np.int32), letters(0), np.zeros(0), np.zeros(0))
    assert locate(empty, clock).found == 1
    silent = Clock(empty, np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    for is_timed in (True, False):
        located = locate(replace(other, is_timed=is_timed), silent)
        assert (located.stretch == 0).all()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 6), max_size=40), st.lists(st.tuples(st.integers(0, 6), st.integers(1, 9)), max_size=40),
    st.booleans(), st.floats(-50, 50),
)  # fmt: skip
def test_any_text_is_located_in_order(
    text: list[int], heard: list[tuple[int, int]], is_timed: bool, shift: float
) -> None:
    start = np.arange(len(heard), dtype=np.float64)
    words = TimedWords(np.array([word for word, _ in heard], np.int32), letters(len(heard)), start, start + 0.9)
    segment = (np.arange(len(heard)) // 4).astype(np.int64)
    edges = 4.0 * np.arange(segment.max(initial=-1) + 1, dtype=np.float64)
    clock = Clock(words, segment, edges, edges + 3.9)
    own: Times = np.arange(len(text), dtype=np.float64) + shift
    located = locate(TimedWords(np.array(text, np.int32), letters(len(text)), own, own + 0.5, is_timed), clock)
    check(located, clock)
    assert np.isfinite(located.start).all()
    assert 0 <= located.found <= 1

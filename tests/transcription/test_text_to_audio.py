"""Where the words of a text are in a recording: times of its own or none, clocks that are off, passages that lack."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordtrust.lattices.lattice import Times
from wordtrust.transcription.text_to_audio import Clock, LocatedWords, TimedWords, locate

SEGMENTS, WORDS = 20, 10  # of each; a word takes half a second, a pause between segments a second


def recording(seed: int = 0) -> Clock:
    random = np.random.default_rng(seed)
    segment = np.repeat(np.arange(SEGMENTS), WORDS)
    start = 6.0 * segment + 0.5 * np.tile(np.arange(WORDS), SEGMENTS) + 1
    words = TimedWords(spelled(random.integers(0, 3000, len(start)).tolist()), start, start + 0.5)
    edges: Times = 6.0 * np.arange(SEGMENTS, dtype=np.float64) + 1
    return Clock(words, segment.astype(np.int64), edges, edges + 5.0)


def spelled(numbers: list[int]) -> tuple[str, ...]:
    """Words that look like nothing else."""
    return tuple("".join(chr(ord("a") + int(digit)) for digit in f"{number:05}") for number in numbers)


def some(words: TimedWords, chosen: np.ndarray, *, is_timed: bool = True) -> TimedWords:
    rows = np.arange(len(words))[chosen].tolist()
    return TimedWords(tuple(words.words[row] for row in rows), words.start[rows], words.end[rows], is_timed)


def check(located: LocatedWords, clock: Clock) -> None:
    assert (np.diff(located.stretch) >= 0).all()
    assert ((located.stretch >= 0) & (located.stretch <= 2 * len(clock.start))).all()
    assert (located.end >= located.start).all()


def with_errors(words: TimedWords, every: int) -> TimedWords:
    wrong = list(words.words)
    wrong[::every] = spelled(list(range(5000, 5000 + len(wrong[::every]))))
    return replace(words, words=tuple(wrong))


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
    text = some(words, kept, is_timed=is_timed)
    located = locate(text, clock)
    check(located, clock)
    assert located.found == 1
    assert not np.isin(located.stretch, 2 * np.arange(5, 9) + 1).any()
    heard = replace(clock, words=some(words, np.arange(100)), segment=clock.segment[:100])
    much = locate(replace(words, is_timed=is_timed), heard)
    check(much, heard)
    assert much.found == 0.5


def test_timed_words_in_a_pause_are_in_a_pause() -> None:
    clock = recording()
    clock = replace(clock, end=clock.start + 2.0)  # the listener found no speech after the second second
    keep = clock.words.end <= clock.start[clock.segment] + 2.0
    heard = some(clock.words, keep)
    located = locate(clock.words, replace(clock, words=heard, segment=clock.segment[keep]))
    assert set((located.stretch[keep] % 2).tolist()) == {1}
    middle = (clock.words.start - clock.start[clock.segment]) == 3.5
    assert set((located.stretch[middle] % 2).tolist()) == {0}


def test_another_text_is_not_found_and_nothing_is_nowhere() -> None:
    clock, other = recording(), recording(1).words
    assert locate(other, clock).found < 0.05
    empty = TimedWords((), np.zeros(0), np.zeros(0))
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
    words = TimedWords(spelled([word for word, _ in heard]), start, start + 0.9)
    segment = (np.arange(len(heard)) // 4).astype(np.int64)
    edges = 4.0 * np.arange(segment.max(initial=-1) + 1, dtype=np.float64)
    clock = Clock(words, segment, edges, edges + 3.9)
    own: Times = np.arange(len(text), dtype=np.float64) + shift
    located = locate(TimedWords(spelled(text), own, own + 0.5, is_timed), clock)
    check(located, clock)
    assert np.isfinite(located.start).all()
    assert 0 <= located.found <= 1


def clock_of(*segments: str) -> Clock:
    """Words of a letter a tenth of a second, segments two seconds apart."""
    words, owner, times, edges, now = list[str](), list[int](), list[float](), list[float](), 0.0
    for index, segment in enumerate(segments):
        edges.append(now)
        for word in segment.split():
            words.append(word)
            owner.append(index)
            times.append(now)
            now += 0.1 * len(word)
        edges.append(now)
        now += 2.0
    start = np.array(times)
    end = start + 0.1 * np.array([len(word) for word in words])
    bounds = np.array(edges).reshape(-1, 2)
    return Clock(TimedWords(tuple(words), start, end), np.array(owner, np.int64), bounds[:, 0], bounds[:, 1])


def untimed(text: str) -> TimedWords:
    words = tuple(text.split())
    return TimedWords(words, np.zeros(len(words)), np.zeros(len(words)), is_timed=False)


def test_misheard_words_of_a_text_without_times_are_where_something_else_was_heard() -> None:
    clock = clock_of("a bridge too far", "i will empty it", "he plays for uratu", "her research")
    located = locate(untimed("a bridge too far abu md he plays for urartu her research"), clock)
    assert located.stretch.tolist() == [1, 1, 1, 1, 3, 3, 5, 5, 5, 5, 7, 7]
    abu, md = located.start[4:6]
    assert clock.start[1] <= abu < md < clock.end[1]


def test_a_misheard_word_before_a_missing_passage_is_where_it_looks_alike() -> None:
    passage = "then nobody came along because all of them were already gone elsewhere that evening"
    clock = clock_of("we drove to", "milton canes", passage, "and back again")
    for text in ("we drove to milton keynes and back again", "we drove to keynes and back again"):
        located = locate(untimed(text), clock)
        assert located.stretch[text.split().index("keynes")] == 3


def test_a_word_that_nobody_heard_is_between_its_neighbours() -> None:
    clock = clock_of("we drove home", "and slept")
    located = locate(untimed("we drove nowhere home and slept"), clock)
    assert located.stretch.tolist() == [1, 1, 1, 1, 3, 3]
    assert clock.words.end[1] - 1e-6 <= located.start[2] <= located.end[2] <= clock.words.start[2] + 1e-6


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("the colour of 6 houses", "the color of six houses"),
        ("it's been 25 years", "it is been twenty five years"),
        ("it is 25 %", "it's twenty five percent"),
        ("\u4eca\u5929\u5929\u6c14", "\u4eca\u5929 \u5929\u6c14"),
    ],
)
def test_other_spellings_are_the_same_words(text: str, heard: str) -> None:
    clock = clock_of("well", heard, "bye")
    located = locate(untimed(f"well {text} bye"), clock)
    assert located.found == 1
    assert located.stretch.tolist() == [1, *[3] * len(text.split()), 5]
    assert (np.diff(located.start) > 0).all()
    assert (located.end[1:-1] <= clock.end[1] + 1e-9).all()

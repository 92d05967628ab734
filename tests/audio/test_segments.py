"""Segments: no speech lost, nothing depends on blocks, bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.helpers.speech import noises, recording
from wordtrust.audio import RATE
from wordtrust.audio.audio_file import AudioFile
from wordtrust.audio.segments import ENTER, LEAVE, PADDING, Segment, SegmentCutter, SpeechSpan, frames_in, segments
from wordtrust.base.errors import OptionError

pytestmark = pytest.mark.slow

Array = NDArray[np.float32]

# The cutter, on made-up probabilities

LONGEST = frames_in(15.0)
runs = st.lists(
    st.tuples(
        st.one_of(st.integers(1, 12), st.integers(1, 80), st.integers(1, 1200)),
        st.sampled_from([0.0, 0.1, 0.34, 0.36, 0.49, 0.51, 0.9, 1.0]),
    ),
    max_size=30,
)


def cut(probabilities: list[float], longest: int = LONGEST) -> list[SpeechSpan]:
    cutter, found = SegmentCutter(longest), []
    for probability in probabilities:
        found += list(cutter.push(probability))
        # Memory: a span being made, and the frames after it that decide about it.
        assert len(found) == 0 or found[-1].last <= cutter.needed
        assert cutter._now - cutter.needed <= longest + frames_in(4.0)
        assert len(cutter._probabilities) <= 2 * longest + frames_in(4.0)
    return found + list(cutter.finish())


@settings(max_examples=120, deadline=None)
@given(runs, st.sampled_from([frames_in(3.0), LONGEST, frames_in(30.0)]))
def test_spans_hold_all_speech_once_and_in_order(made: list[tuple[int, float]], longest: int) -> None:
    probabilities = [probability for count, probability in made for _ in range(count)]
    spans = cut(probabilities, longest)
    covered = np.zeros(len(probabilities), int)
    for span in spans:
        assert 0 <= span.first <= span.start < span.end <= span.last <= len(probabilities)
        assert max(span.start - span.first, span.last - span.end) <= PADDING
        assert span.last - span.first <= longest
        # Speech at both ends, but for cuts where there is no pause.
        assert probabilities[span.start] >= LEAVE or span.start in {each.end for each in spans}
        assert probabilities[span.end - 1] >= LEAVE or span.end in {each.start for each in spans}
        assert LEAVE * 0.5 < span.speech <= 1
        covered[span.first : span.last] += 1
    assert [span.first for span in spans] == sorted(span.first for span in spans)
    assert covered.max(initial=0) <= 1
    for start, end in _runs(np.array(probabilities) >= ENTER):
        if end - start >= frames_in(0.26):
            assert covered[start:end].all()


@settings(max_examples=60, deadline=None)
@given(runs)
def test_spans_hold_little_else(made: list[tuple[int, float]]) -> None:
    probabilities = np.array([probability for count, probability in made for _ in range(count)])
    spans = cut(probabilities.tolist())
    for start, end in _runs(probabilities < LEAVE):
        if end - start > frames_in(1.0):  # a pause: only padding of it is kept
            kept = sum(max(0, min(end, span.last) - max(start, span.first)) for span in spans)
            assert kept <= 2 * PADDING


def _runs(where: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], where.astype(int), [0]])))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def test_short_noises_are_dropped_and_short_words_near_speech_are_kept() -> None:
    assert cut([0.0] * 50 + [1.0] * 7 + [0.0] * 50) == []
    assert cut([0.0] * 50 + ([1.0] * 3 + [0.0] * 20) * 9) == []
    (span,) = cut([0.0] * 50 + [1.0] * 8 + [0.0] * 50)
    assert (span.first, span.start, span.end, span.last, span.speech) == (50 - PADDING, 50, 58, 58 + PADDING, 1.0)
    (span,) = cut([1.0] * 20 + [0.0] * 8 + [1.0] * 3 + [0.0] * 50)
    assert (span.start, span.end) == (0, 31)


def test_neighbours_are_joined_and_long_pauses_part() -> None:
    spoken, pause = [0.9] * 30, [0.0] * 20
    assert [(span.start, span.end) for span in cut(spoken + pause + spoken)] == [(0, 80)]
    apart = cut(spoken + [0.0] * 30 + spoken)
    assert [(span.start, span.end) for span in apart] == [(0, 30), (60, 90)]


def test_the_cut_is_at_the_longest_pause_that_is_not_early() -> None:
    def spoken(*lengths: int) -> list[float]:
        return [0.0 if index % 2 else 1.0 for index, length in enumerate(lengths) for _ in range(length)]

    first, second = cut(spoken(60, 20, 120, 6, 100, 12, 60, 5, 200))  # pauses end at 80, 206, 318, 383
    assert (first.end, second.start) == (306, 318)
    assert first.last == second.first == 312  # the pause is shared
    first, second = cut(spoken(60, 10, 440))  # the only pause is better than cutting a word
    assert (first.end, second.start) == (60, 70)


def test_speech_without_a_pause_is_cut_where_it_is_least_like_speech() -> None:
    probabilities = [1.0] * 900
    probabilities[400] = 0.6
    first, second, *_ = cut(probabilities)
    assert first.last == second.first == first.end == second.start
    assert abs(first.end - 400) <= 1


# The whole, on real speech


def same(some: list[Segment], others: list[Segment]) -> bool:
    keys = [[(each.index, each.start, each.speech) for each in found] for found in (some, others)]
    return keys[0] == keys[1] and all(np.array_equal(a.samples, b.samples) for a, b in zip(some, others, strict=True))


@settings(max_examples=8, deadline=None)
@given(st.lists(st.one_of(st.integers(0, 600), st.integers(0, 200_000)), min_size=1, max_size=40))
def test_segments_do_not_depend_on_blocks(sizes: list[int]) -> None:
    samples = recording("two_cities.wav")[: RATE * 20]
    edges = [edge for edge in np.cumsum(sizes).tolist() if edge < len(samples)]
    assert same(list(segments(np.split(samples, edges))), list(segments([samples])))


def test_segments_of_a_reading() -> None:
    found = list(segments([recording("two_cities.wav")]))
    assert [each.index for each in found] == list(range(len(found)))
    assert 3 <= len(found) <= 8
    for each in found:
        start = round(each.start * RATE)
        np.testing.assert_array_equal(each.samples, recording("two_cities.wav")[start : start + len(each.samples)])
        assert each.end == pytest.approx(each.start + each.seconds)
        assert each.seconds <= 15
        assert each.speech > 0.9
    assert all(before.end <= after.start + 1e-9 for before, after in pairwise(found))
    # He reads all the time, from the first second to the 42nd.
    assert found[0].start == pytest.approx(1.0, abs=0.4)
    assert found[-1].end == pytest.approx(41.9, abs=0.4)
    assert sum(each.seconds for each in found) > 38


def test_times_are_global() -> None:
    plain = list(segments([recording()]))
    later = list(segments([np.zeros(RATE * 100, np.float32), recording(), np.zeros(RATE * 100, np.float32)]))
    assert len(plain) == len(later)
    for one, other in zip(plain, later, strict=True):
        assert other.start == pytest.approx(one.start + 100, abs=0.2)
        assert other.end == pytest.approx(one.end + 100, abs=0.2)


@pytest.mark.parametrize("longest", [3.0, 8.0, 30.0])
def test_no_segment_is_longer_than_asked(longest: float) -> None:
    found = list(segments([recording("two_cities.wav")], longest=longest))
    assert max(each.seconds for each in found) <= longest
    assert sum(each.seconds for each in found) > 36


@pytest.mark.parametrize("longest", [0.0, 2.9, 30.1, float("nan")])
def test_lengths_that_cannot_be(longest: float) -> None:
    with pytest.raises(OptionError, match="3 to 30 s"):
        segments([], longest=longest)


def test_the_first_segment_comes_early_and_little_is_held() -> None:
    read = 0

    def endless() -> Iterator[Array]:
        nonlocal read
        while True:
            for block in np.array_split(recording("two_cities.wav"), 44):
                read += len(block)
                yield block

    stream = segments(endless())
    for _ in range(12):
        found = next(stream)
        assert read / RATE - found.end < 18  # no more is read than is needed
    assert read > 60 * RATE


@pytest.mark.parametrize("level", [0.2, 0.02, 0.001])
def test_silence_and_noise_are_no_speech(level: float) -> None:
    for name, samples in noises(20.0, seed=5).items():
        if name == "babble":  # meant to be taken for speech
            continue
        assert list(segments([np.clip(samples * level, -1, 1)])) == [], name


def test_nothing_and_next_to_nothing() -> None:
    assert list(segments([])) == []
    for count in (0, 1, 511, 512, 1599):
        assert list(segments([np.zeros(count, np.float32)])) == []


def test_from_a_file_of_another_rate_with_other_channels(tmp_path: Path) -> None:
    path = tmp_path / "stereo.flac"
    loud = soxr.resample(recording(), RATE, 44_100)
    soundfile.write(path, np.stack([np.zeros_like(loud), loud], axis=1), 44_100)
    audio = AudioFile.open(path)
    assert list(segments(audio.blocks(1))) == []
    found, expected = list(segments(audio.blocks(2))), list(segments([recording()]))
    assert [each.start for each in found] == pytest.approx([each.start for each in expected], abs=0.1)
    assert [each.seconds for each in found] == pytest.approx([each.seconds for each in expected], abs=0.2)

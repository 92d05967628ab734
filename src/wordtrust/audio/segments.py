"""Cutting a stream of audio into segments of speech: silence dropped, each short enough for any recognizer.

Where to cut is decided frame by frame from speech probabilities alone. Runs of speech with hardly a pause between
them form a phrase; a phrase too short to be a word is noise. Phrases join into one segment until a long pause comes
or the segment gets too long; then it is cut at its longest pause.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ..base.errors import OptionError
from . import RATE, Samples
from .vad import FRAME, VoiceActivityDetector

LONGEST = 15.0  # seconds: what Moonshine's makers use; no recognizer is given more than 30
ENTER, LEAVE = 0.5, 0.35  # probability at which speech begins, and below which it ends (Silero's own defaults)
_BOUNDS = (3.0, 30.0)  # seconds that `longest` may be


def frames_in(seconds: float) -> int:
    """The number of whole frames in a stretch of time."""
    return int(seconds * RATE / FRAME + 1e-9)


PADDING = frames_in(0.33)  # kept on both sides: with less, words at the edges are misrecognised more often
_SHORTEST = frames_in(0.26)  # of speech in a phrase
_GAP = frames_in(0.13)  # shorter gaps are part of speech, not pauses
_PHRASE_PAUSE = frames_in(0.35)  # the longest pause within a phrase
_SEGMENT_PAUSE = frames_in(0.8)  # a longer pause ends a segment


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of speech with a little of the audio around it."""

    index: int
    start: float  # seconds from the beginning of the stream
    samples: Samples
    speech: float  # mean speech probability over its frames, pauses and padding aside

    @property
    def seconds(self) -> float:
        """Its length."""
        return len(self.samples) / RATE

    @property
    def end(self) -> float:
        """Seconds from the beginning of the stream."""
        return self.start + self.seconds


def segments(blocks: Iterable[Samples], *, longest: float = LONGEST) -> Iterator[Segment]:
    """Segments of speech of at most `longest` seconds, in order, not overlapping, each as soon as it is certain.

    The segments do not depend on how the stream is cut into blocks. About 30 s of audio are held at most.
    """
    if not _BOUNDS[0] <= longest <= _BOUNDS[1]:
        raise OptionError(f"segments of {longest:g} s: they can be {_BOUNDS[0]:g} to {_BOUNDS[1]:g} s long")
    return _segments(blocks, frames_in(longest))


def _segments(blocks: Iterable[Samples], longest: int) -> Iterator[Segment]:
    buffer = _SampleBuffer()
    for index, span in enumerate(_spans(blocks, SegmentCutter(longest), buffer)):
        yield Segment(index, span.first * FRAME / RATE, buffer.copy(span.first, span.last), span.speech)


def _spans(blocks: Iterable[Samples], cutter: SegmentCutter, buffer: _SampleBuffer) -> Iterator[SpeechSpan]:
    for batch in VoiceActivityDetector().detect(blocks):
        buffer.append(batch.samples, batch.length)
        for probability in batch.probabilities.tolist():
            yield from cutter.push(probability)
        buffer.discard_before(cutter.needed)
    yield from cutter.finish()


class _SampleBuffer:
    """The last seconds of a stream, addressed by frame."""

    def __init__(self) -> None:
        self._samples = np.zeros(0, np.float32)
        self._first = 0  # the frame that the samples begin with
        self._end = 0  # samples of the stream so far, without what was appended to fill the last frame

    def append(self, samples: Samples, length: int) -> None:
        self._end = self._first * FRAME + len(self._samples) + length
        self._samples = np.concatenate([self._samples, samples])

    def copy(self, first: int, last: int) -> Samples:
        offset = self._first * FRAME
        return self._samples[first * FRAME - offset : min(last * FRAME, self._end) - offset].copy()

    def discard_before(self, frame: int) -> None:
        count = max(0, frame - self._first)
        self._samples = self._samples[count * FRAME :]
        self._first += count


@dataclass(frozen=True, slots=True)
class SpeechSpan:
    """A stretch of the stream in frames: speech from `start` to `end`, with padding from `first` to `last`."""

    start: int
    end: int
    first: int
    last: int
    speech: float  # mean probability, pauses aside


@dataclass(slots=True)
class _SpeechRun:
    start: int
    end: int


@dataclass(slots=True)
class SegmentCutter:
    """Takes one speech probability after the other and returns spans, in order, as soon as they are certain."""

    longest: int  # frames of a span with its padding
    _now: int = 0  # frames so far
    _in_speech: bool = False
    _phrase: list[_SpeechRun] = field(default_factory=list)  # runs that may still be noise
    _runs: list[_SpeechRun] = field(default_factory=list)  # certainly speech, not returned yet
    _speech_end: int = -1_000_000  # end of the last run that is certainly speech
    _returned: int = 0  # where the last span ended
    _probabilities: list[float] = field(default_factory=list)  # of the frames from _base on
    _base: int = 0

    def push(self, probability: float) -> Iterator[SpeechSpan]:
        """Add the next frame."""
        self._probabilities.append(probability)
        self._now += 1
        self._in_speech = probability >= (LEAVE if self._in_speech else ENTER)
        if self._in_speech:
            self._extend(self._now - 1)
            while self._runs and self._length(len(self._runs)) > self._most:
                yield self._cut()
        else:
            if self._phrase and self._now - self._phrase[-1].end > _PHRASE_PAUSE:
                self._phrase.clear()
            if self._runs and self._now - self._runs[-1].end > _SEGMENT_PAUSE:
                yield self._flush()
        self._discard_probabilities()

    def finish(self) -> Iterator[SpeechSpan]:
        """End the stream."""
        if self._runs:
            yield self._flush()

    @property
    def _most(self) -> int:
        return self.longest - 2 * PADDING

    @property
    def needed(self) -> int:
        """The first frame that may still become part of a span."""
        starts = [runs[0].start for runs in (self._phrase, self._runs) if runs]
        return max(self._returned, min(starts, default=self._now) - PADDING)

    def _extend(self, frame: int) -> None:
        """Add a frame of speech to the last run or as a new one, of certain speech or of what may still be noise."""
        runs = self._runs if frame - self._speech_end <= _PHRASE_PAUSE else self._phrase
        if runs and frame - runs[-1].end < _GAP:
            runs[-1].end = frame + 1
        else:
            runs.append(_SpeechRun(frame, frame + 1))
        if runs is self._phrase and sum(run.end - run.start for run in runs) >= _SHORTEST:
            self._runs += runs
            runs.clear()
        if self._runs:
            self._speech_end = self._runs[-1].end

    def _cut(self) -> SpeechSpan:
        """The first part of the waiting runs, cut at the longest pause that does not come too early."""
        runs = self._runs
        pauses = [(after.start - before.end, count) for count, (before, after) in enumerate(pairwise(runs), 1)]
        pauses = [pause for pause in pauses if self._length(pause[1]) <= self._most]
        if pauses:
            _, count = max(
                (pause for pause in pauses if self._length(pause[1]) >= self._most // 3), default=pauses[-1]
            )
            first, self._runs = runs[:count], runs[count:]
            return self._span(first, (self._runs[0].start - first[-1].end) // 2)
        frame = self._least_speech()
        first, self._runs = [_SpeechRun(runs[0].start, frame)], [_SpeechRun(frame, runs[0].end)]
        return self._span(first, 0)

    def _length(self, count: int) -> int:
        """Frames from the first waiting run to the end of the run with this number."""
        return self._runs[count - 1].end - self._runs[0].start

    def _least_speech(self) -> int:
        """The least speech-like frame in the last third of a span without a pause."""
        start = self._runs[0].start
        frames = range(start + self._most * 2 // 3, start + self._most)
        return min(frames, key=lambda frame: (sum(self._between(frame - 1, frame + 2)), -frame))

    def _flush(self) -> SpeechSpan:
        runs, self._runs = self._runs, []
        return self._span(runs, PADDING)

    def _span(self, runs: list[_SpeechRun], room: int) -> SpeechSpan:
        start, end = runs[0].start, runs[-1].end
        probabilities = [probability for run in runs for probability in self._between(run.start, run.end)]
        first = max(self._returned, start - PADDING)
        self._returned = min(end + min(PADDING, room), self._now)
        return SpeechSpan(start, end, first, self._returned, sum(probabilities) / len(probabilities))

    def _between(self, start: int, end: int) -> list[float]:
        return self._probabilities[start - self._base : end - self._base]

    def _discard_probabilities(self) -> None:
        if self.needed - self._base > self.longest:  # now and then, not at every frame
            del self._probabilities[: self.needed - self._base]
            self._base = self.needed

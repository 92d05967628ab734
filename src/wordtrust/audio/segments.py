"""A stream of audio as pieces of speech: silence dropped, each short enough for any recognizer, times global."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ..base.errors import OptionError
from . import RATE, Samples
from .cuts import Cutter, Span, frames
from .vad import FRAME, Detector

LONGEST = 15.0  # seconds: what Moonshine's makers use; no recognizer is given more than 30
_BOUNDS = (3.0, 30.0)


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of speech with a little of what is around it."""

    index: int
    start: float  # seconds from the beginning of the stream
    samples: Samples
    speech: float  # how likely it is speech: the mean over its frames, pauses and padding aside

    @property
    def seconds(self) -> float:
        """How long it is."""
        return len(self.samples) / RATE

    @property
    def end(self) -> float:
        """Seconds from the beginning of the stream."""
        return self.start + self.seconds


def segments(blocks: Iterable[Samples], *, longest: float = LONGEST) -> Iterator[Segment]:
    """Pieces of speech of at most `longest` seconds, in order, none overlapping, each as soon as it is certain.

    What comes out does not depend on how the stream was cut into blocks. About 30 s of audio are held at most.
    """
    if not _BOUNDS[0] <= longest <= _BOUNDS[1]:
        raise OptionError(f"segments of {longest:g} s: they can be {_BOUNDS[0]:g} to {_BOUNDS[1]:g} s long")
    return _segments(blocks, frames(longest))


def _segments(blocks: Iterable[Samples], longest: int) -> Iterator[Segment]:
    tape = _Tape()
    for index, span in enumerate(_spans(blocks, Cutter(longest), tape)):
        yield Segment(index, span.first * FRAME / RATE, tape.copy(span.first, span.last), span.speech)


def _spans(blocks: Iterable[Samples], cutter: Cutter, tape: _Tape) -> Iterator[Span]:
    for heard in Detector().listen(blocks):
        tape.append(heard.samples, heard.real)
        for probability in heard.speech.tolist():
            yield from cutter.push(probability)
        tape.forget(cutter.needed)
    yield from cutter.finish()


class _Tape:
    """The last seconds of a stream, by frame number."""

    def __init__(self) -> None:
        self._samples = np.zeros(0, np.float32)
        self._base = 0  # the frame that the samples begin with
        self._end = 0  # samples of the stream so far, filling aside

    def append(self, samples: Samples, real: int) -> None:
        self._end = self._base * FRAME + len(self._samples) + real
        self._samples = np.concatenate([self._samples, samples])

    def copy(self, first: int, last: int) -> Samples:
        start = self._base * FRAME
        return self._samples[first * FRAME - start : min(last * FRAME, self._end) - start].copy()

    def forget(self, before: int) -> None:
        keep = max(0, before - self._base)
        self._samples = self._samples[keep * FRAME :]
        self._base += keep

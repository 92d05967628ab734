"""Where to cut a stream into pieces of speech, decided frame by frame from speech probabilities alone.

Runs of speech are *bits*. Bits with hardly a pause between them make a phrase; a phrase too short to be a word is
noise. Phrases join into one piece until a long pause comes or the piece gets too long; then it is cut at its longest
pause.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from .vad import STEP

ENTER, LEAVE = 0.5, 0.35  # probability at which speech begins, and below which it ends (Silero's own defaults)


def frames(seconds: float) -> int:
    """Whole frames in this time."""
    return int(seconds / STEP + 1e-9)


PAD = frames(0.33)  # kept on both sides: with less, words at the edges are misheard more often
_SHORTEST = frames(0.26)  # of speech in a phrase
_GAP = frames(0.13)  # shorter gaps are part of speech, not pauses
_NEAR = frames(0.35)  # pause inside a phrase
_APART = frames(0.8)  # a longer pause ends a piece


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the stream, in frames: speech from `start` to `end`, with padding from `first` to `last`."""

    start: int
    end: int
    first: int
    last: int
    speech: float  # mean probability, pauses aside


@dataclass(slots=True)
class _Bit:
    start: int
    end: int


@dataclass(slots=True)
class Cutter:
    """Give it one probability after the other; it gives spans, in order and apart, as soon as they are certain."""

    longest: int  # frames of a span with its padding
    _now: int = 0  # frames heard
    _on: bool = False
    _maybe: list[_Bit] = field(default_factory=list)  # a phrase that may still be noise
    _bits: list[_Bit] = field(default_factory=list)  # speech for sure, not given yet
    _tail: int = -1_000_000  # end of the last bit that is speech for sure
    _given: int = 0  # where the last span ended
    _probabilities: list[float] = field(default_factory=list)  # of the frames since _base
    _base: int = 0

    def push(self, probability: float) -> Iterator[Span]:
        """The next frame."""
        self._probabilities.append(probability)
        self._now += 1
        self._on = probability >= (LEAVE if self._on else ENTER)
        if self._on:
            self._extend(self._now - 1)
            while self._bits and self._length(len(self._bits)) > self._most:
                yield self._cut()
        else:
            if self._maybe and self._now - self._maybe[-1].end > _NEAR:
                self._maybe.clear()
            if self._bits and self._now - self._bits[-1].end > _APART:
                yield self._flush()
        self._forget()

    def finish(self) -> Iterator[Span]:
        """The stream has ended."""
        if self._bits:
            yield self._flush()

    @property
    def _most(self) -> int:
        return self.longest - 2 * PAD

    @property
    def needed(self) -> int:
        """Frames before this one are not needed any more."""
        starts = [bits[0].start for bits in (self._maybe, self._bits) if bits]
        return max(self._given, min(starts, default=self._now) - PAD)

    def _extend(self, frame: int) -> None:
        """This frame is speech: of the last bit, or of a new one, of a phrase that is certain or may be noise."""
        bits = self._bits if frame - self._tail <= _NEAR else self._maybe
        if bits and frame - bits[-1].end < _GAP:
            bits[-1].end = frame + 1
        else:
            bits.append(_Bit(frame, frame + 1))
        if bits is self._maybe and sum(bit.end - bit.start for bit in bits) >= _SHORTEST:
            self._bits += bits
            bits.clear()
        if self._bits:
            self._tail = self._bits[-1].end

    def _cut(self) -> Span:
        """The first part of what is waiting, cut at its longest pause that is not too early."""
        bits = self._bits
        pauses = [(after.start - before.end, k) for k, (before, after) in enumerate(pairwise(bits), 1)]
        pauses = [pause for pause in pauses if self._length(pause[1]) <= self._most]
        if pauses:
            _, count = max(
                (pause for pause in pauses if self._length(pause[1]) >= self._most // 3), default=pauses[-1]
            )
            given, self._bits = bits[:count], bits[count:]
            return self._span(given, (self._bits[0].start - given[-1].end) // 2)
        frame = self._least()
        given, self._bits = [_Bit(bits[0].start, frame)], [_Bit(frame, bits[0].end)]
        return self._span(given, 0)

    def _length(self, count: int) -> int:
        """Frames from the first of the waiting bits to the end of this many."""
        return self._bits[count - 1].end - self._bits[0].start

    def _least(self) -> int:
        """The least speech-like frame in the last third of a span without a pause."""
        start = self._bits[0].start
        choice = range(start + self._most * 2 // 3, start + self._most)
        return min(choice, key=lambda frame: (sum(self._heard(frame - 1, frame + 2)), -frame))

    def _flush(self) -> Span:
        bits, self._bits = self._bits, []
        return self._span(bits, PAD)

    def _span(self, bits: list[_Bit], room: int) -> Span:
        start, end = bits[0].start, bits[-1].end
        heard = [probability for bit in bits for probability in self._heard(bit.start, bit.end)]
        first = max(self._given, start - PAD)
        self._given = min(end + min(PAD, room), self._now)
        return Span(start, end, first, self._given, sum(heard) / len(heard))

    def _heard(self, start: int, end: int) -> list[float]:
        return self._probabilities[start - self._base : end - self._base]

    def _forget(self) -> None:
        if self.needed - self._base > self.longest:  # now and then, not at every frame
            del self._probabilities[: self.needed - self._base]
            self._base = self.needed

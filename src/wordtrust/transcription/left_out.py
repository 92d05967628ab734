"""Which stretches of a recording have no words in its transcript, and why: for those who check it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..transcripts.words import LeftOut

SHORTEST = 2.0  # seconds: people pause for less
DAMAGED, NO_SPEECH, NO_WORDS = "the file is damaged here", "no speech was found", "no words were recognised"


@dataclass(frozen=True, slots=True)
class HeardSegment:
    """A segment that went to a recognizer."""

    start: float  # seconds
    end: float
    has_words: bool
    dropped: str | None = None  # why words were taken for hallucinated


def left_out(
    segments: Iterable[HeardSegment], damaged: Sequence[tuple[float, float]], duration: float | None
) -> tuple[LeftOut, ...]:
    """Segments without words, damage, and pauses of `SHORTEST` and more, in the order of time."""
    stretches, now = [LeftOut(start, end, DAMAGED) for start, end in damaged], 0.0
    for segment in segments:
        stretches += _pauses(now, segment.start, damaged)
        if not segment.has_words:
            stretches.append(LeftOut(segment.start, segment.end, segment.dropped or NO_WORDS))
        now = max(now, segment.end)
    stretches += _pauses(now, duration or now, damaged)
    return tuple(sorted(stretches, key=lambda stretch: (stretch.start, stretch.end)))


def _pauses(start: float, end: float, damaged: Sequence[tuple[float, float]]) -> Iterator[LeftOut]:
    """What lies between two times and is long enough, without what is damaged."""
    for first, last in sorted(damaged):
        if start < last and first < end:
            if first - start >= SHORTEST:
                yield LeftOut(start, first, NO_SPEECH)
            start = max(start, last)
    if end - start >= SHORTEST:
        yield LeftOut(start, end, NO_SPEECH)

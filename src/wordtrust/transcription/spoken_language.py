"""Whether a recording is in the language that was asked for, by what recognizers say of its segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from ..formats.transcript.records import SpeechWarning
from ..recognizers.languages import is_foreign, likely_language

_MOST = 0.5  # of the seconds of speech: more are no longer chance, accents or noise
_ENOUGH = 5.0  # seconds of speech: of less nothing is known


class HeardSpeech(Protocol):
    """A segment that went to recognizers."""

    @property
    def start(self) -> float:
        """Seconds."""

    @property
    def end(self) -> float:
        """Seconds."""

    @property
    def warnings(self) -> tuple[SpeechWarning, ...]:
        """What is unusual about it."""

    @property
    def dropped(self) -> str | None:
        """Why its words were left out."""


@dataclass(frozen=True, slots=True)
class SpokenLanguage:
    """How much of the speech of a recording is in another language than the one that was asked for."""

    segments: int
    foreign: int
    likely: str | None = None  # what it is, where a recognizer knows

    @classmethod
    def of(cls, segments: Iterable[HeardSpeech]) -> SpokenLanguage | None:
        """None where most of it is in the language that was asked for, or nothing is known."""
        heard = list(segments)
        foreign = [segment for segment in heard if is_foreign(segment.warnings, segment.dropped)]
        seconds, all_seconds = (sum(each.end - each.start for each in part) for part in (foreign, heard))
        if seconds < _ENOUGH or seconds <= _MOST * all_seconds:
            return None
        named = Counter(name for segment in foreign if (name := likely_language(segment.warnings)))
        likely = named.most_common(1)[0][0] if named else None
        return cls(len(heard), len(foreign), likely)

    @property
    def line(self) -> str:
        """For people: what is the matter, and what to do."""
        found = f"{self.foreign:,} of {self.segments:,} stretches of speech"
        if self.likely:
            return f"this sounds like the language {self.likely} ({found}): --language {self.likely}"
        return f"this is not English, as it seems ({found}): --language CODE asks Whisper for another language"

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        likely = {"likely": self.likely} if self.likely else {}
        return {"foreign_segments": self.foreign, "segments": self.segments, **likely}

"""What is unusual about many utterances, in a line for each kind of warning."""

from __future__ import annotations

from collections.abc import Iterable

from ..base.number_format import counted
from ..base.visible_text import visible
from ..formats.transcript.records import SpeechWarning
from .utterance import UtteranceWords
from .words import clock

LEAST_SHARE = 0.05  # of the utterances: what fewer have is chance, and stands with these


class WarningSummary:
    """Counts warnings as transcripts come; how they are cut into batches makes no difference."""

    def __init__(self, of: Iterable[UtteranceWords] = ()) -> None:
        self._utterances = 0
        self._counts: dict[str, int] = {}
        self._first: dict[str, tuple[str, SpeechWarning]] = {}  # where a warning came first, and what it said
        self.add(of)

    def add(self, transcripts: Iterable[UtteranceWords]) -> None:
        """Count those of more utterances; those without words are left out."""
        for transcript in transcripts:
            self._utterances += bool(transcript.words)
            for warning in transcript.warnings if transcript.words else ():
                self._counts[warning.name] = self._counts.get(warning.name, 0) + 1
                place = f"{visible(transcript.utt)} at {clock(transcript.words[0].start)}"
                self._first.setdefault(warning.name, (place, warning))

    def lines(self) -> list[str]:
        """A line for each kind of warning that is more than chance, the most frequent first."""
        names = sorted(self._counts, key=lambda name: -self._counts[name])
        return [self._line(name) for name in names if self._counts[name] >= LEAST_SHARE * self._utterances]

    def _line(self, name: str) -> str:
        place, warning = self._first[name]
        if self._utterances == 1:
            return visible(warning.message)
        counts = f"{self._counts[name]:,} of {counted(self._utterances, 'utterance')}"
        return f"{visible(name)}: {counts}, such as {place}: {visible(warning.message)}"

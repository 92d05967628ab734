"""What every writer of transcripts is given: the file, and what is known about the transcripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .utterance import UtteranceWords
from .words import LeftOut

AddTranscripts = Callable[[Sequence[UtteranceWords]], None]  # writes these too


@dataclass(frozen=True, slots=True)
class Target:
    """A file of transcripts."""

    path: Path
    recordings: bool = False  # transcripts are segments of the recordings that they are named after
    about: Mapping[str, Any] = field(default_factory=dict)  # what is known about the recording, as JSON
    left_out: Sequence[LeftOut] | None = None  # stretches of the recording without words; None: not known
    channels: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # recording -> its file and channel
    plain: bool = False  # subtitles without marks


def accept_threshold(about: Mapping[str, Any]) -> float | None:
    """The confidence from which on words are accepted, where somebody asked (`accept` in what is known)."""
    accept = about.get("accept")
    threshold = accept.get("threshold") if isinstance(accept, Mapping) else None
    return float(threshold) if isinstance(threshold, int | float) and 0 <= threshold <= 1 else None

"""What every writer of transcripts is given: the file, and what is known about the transcripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .transcript import Transcript

AddTranscripts = Callable[[Sequence[Transcript]], None]  # writes these too


@dataclass(frozen=True, slots=True)
class Target:
    """A file of transcripts."""

    path: Path
    recordings: bool = False  # transcripts are segments of the recordings that they are named after
    about: Mapping[str, Any] = field(default_factory=dict)  # what is known about the recording, as JSON
    channels: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # recording -> its file and channel

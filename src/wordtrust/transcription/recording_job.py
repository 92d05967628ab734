"""Work on recordings that ends in files of transcripts, and can be interrupted: what transcribing and checking share.

Finished pieces are kept in a journal beside the first output file, so an interrupted job resumes where it stopped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from ..base.files import is_stream
from ..base.journal import Journal
from ..base.locks import claimed
from ..transcripts.ctm_writer import channel_name
from ..transcripts.transcript import Transcript
from ..transcripts.words import LeftOut
from ..transcripts.writer import TranscriptWriter


class Recording(Protocol):
    """What words are of: audio, or a transcript of audio that is not there."""

    @property
    def name(self) -> str:
        """Unique among those of a job."""

    @property
    def channel(self) -> int | None:
        """Counted from 1; None if it is all of the file."""

    @property
    def file(self) -> str:
        """What is read."""

    @property
    def about(self) -> dict[str, Any]:
        """What files of its words say about it."""


Outputs = Mapping[Path, Sequence[Recording]]  # the recordings that go into each file

_MOST_CLAIMED = 100  # files that nobody else may write meanwhile: each takes a descriptor of the process


class RecordingJob(ABC):
    """Output files that nobody else writes meanwhile, and the journal of the work on them.

    A subclass fills `transcripts`, by the names of recordings, and says what is known about them.
    """

    def __init__(self, outputs: Outputs, work: Mapping[str, Any]) -> None:
        self._outputs = outputs
        self.transcripts: dict[str, list[Transcript]] = {}
        self._stack = ExitStack()
        self._files = [path for path in outputs if not is_stream(path)]
        self._journal = Journal(self._files[0], work) if self._files else None

    def __enter__(self) -> Self:
        with ExitStack() as on_error:
            for folder in {path.parent for path in self._files}:
                folder.mkdir(exist_ok=True)
            for path in self._files[:_MOST_CLAIMED]:
                on_error.enter_context(claimed(path))
            if self._journal is not None:
                on_error.enter_context(self._journal)
            self._stack = on_error.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self._journal is not None and not self.has_kept:
            self._journal.remove()
        self._stack.__exit__(kind, error, trace)

    @property
    def resumed(self) -> int:
        """The number of pieces that an interrupted job had finished."""
        return self._journal.resumed if self._journal is not None else 0

    @property
    def has_kept(self) -> bool:
        """Whether anything is kept that the same job would resume with."""
        return self._journal is not None and any(True for _ in self._journal)

    @abstractmethod
    def about(self, members: Sequence[Recording]) -> dict[str, Any]:
        """What a file of these recordings says about them."""

    @abstractmethod
    def left_out(self, name: str) -> Sequence[LeftOut] | None:
        """The stretches of the recording of this name that have no words."""

    def write(self, *, plain: bool = False) -> Iterator[tuple[Path, int]]:
        """Write all files, and return each with its number of words; then the journal is removed.

        With `plain`, subtitles mark nothing.
        """
        for path, members in self._outputs.items():
            yield path, self._write_file(path, members, plain)
        if self._journal is not None:
            self._journal.remove()

    def _write_file(self, path: Path, members: Sequence[Recording], plain: bool) -> int:
        stretches = self.left_out(members[0].name) if len(members) == 1 else None
        by_channel = [recording for recording in members if recording.channel]
        channels = {recording.name: channel_name(recording.name, recording.about) for recording in by_channel}
        with TranscriptWriter(
            path, recordings=True, about=self.about(members), left_out=stretches, channels=channels, plain=plain
        ) as writer:
            for recording in members:
                writer.add(self.transcripts[recording.name])
        return sum(len(segment.words) for recording in members for segment in self.transcripts[recording.name])

"""Recordings through recognizers into transcript files: the work behind `wordtrust transcribe`.

Finished segments are kept in a journal beside the first output file, so an interrupted job resumes where it stopped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..audio.audio_file import AudioFile
from ..audio.listing import STDIN, listed_audio
from ..base.errors import InputError, OptionError
from ..base.files import is_stream, require_new, require_parent
from ..base.journal import Journal
from ..base.problems import Problems
from ..base.threads import available_cores
from ..transcripts.transcript import Transcript
from ..transcripts.words import LeftOut
from ..transcripts.writer import TranscriptWriter
from .left_out import HeardSegment, left_out
from .recording_job import Outputs, Recording, RecordingJob
from .spoken_language import SpokenLanguage
from .transcriber import AudioRecording, RecognizedSegment, Transcriber, recordings

_SEVERAL = (".jsonl", ".jsonl.gz", ".ctm", ".ctm.gz", ".parquet")  # formats that may hold several recordings
_LONG = 120.0  # seconds of audio from which on it pays to start processes


def default_jobs(of: Sequence[AudioRecording]) -> int:
    """One recognizer for little audio, one per core for more."""
    return available_cores() if sum(recording.audio.duration or _LONG for recording in of) >= _LONG else 1


def open_recordings(
    paths: Sequence[str], channels: str, problems: Problems, *, stdin: Path | None = None
) -> list[AudioRecording]:
    """The recordings of audio files and folders, all opened before the work begins; `stdin` is the file of `-`."""
    return recordings(open_audio(paths, problems, stdin=stdin), channels)


def require_most(audio: Sequence[AudioFile], problems: Problems) -> None:
    """Report the files of which more could not be read than could, once they have been."""
    for file in audio:
        if file.is_mostly_lost:
            found = f"most of it could not be read: {file.lost:.1f} of {file.duration or 0.0:.1f} s"
            problems.report(InputError(found, file=file.path, remedy="The words are those of the rest"))


def open_audio(
    paths: Sequence[str], problems: Problems | None = None, *, stdin: Path | None = None
) -> list[AudioFile]:
    """Audio files and those of folders, all opened; one that cannot be goes to `problems`."""
    files, problems = list[AudioFile](), problems or Problems()
    for path in (path for named in paths for path in listed_audio(named, problems.report)):
        try:
            files.append(AudioFile.open(path, stdin if path == STDIN else None))
        except InputError as error:
            problems.report(error)
    if not files:
        raise OptionError("no audio file is left")
    return files


def plan_outputs(patterns: Sequence[str], of: Sequence[Recording], *, overwrite: bool = True) -> Outputs:
    """The files to write, from names in which {name} stands for a recording's; refuses now what would fail later.

    What is there already is only replaced if that is said (`overwrite`).
    """
    outputs: dict[Path, list[Recording]] = {}
    for pattern in patterns:
        holds_several = pattern.endswith(_SEVERAL) or (is_stream(Path(pattern)) and not Path(pattern).suffix)
        if "{name}" not in pattern and len(of) > 1 and not holds_several:
            raise OptionError(
                f"{pattern}: one file holds one recording, here are {len(of)}: put {{name}} into the file's name"
            )
        for recording in of:
            path = Path(pattern.replace("{name}", recording.name))
            path = path if is_stream(path) else Path(os.path.realpath(path))
            TranscriptWriter(path, recordings=True)
            _check_writable(path, of, may_make_folder="{name}" in pattern)
            require_new(path, overwrite=overwrite)
            if recording not in outputs.setdefault(path, []):
                outputs[path].append(recording)
    return outputs


def _check_writable(path: Path, inputs: Sequence[Recording], *, may_make_folder: bool) -> None:
    """Refuse what cannot be written; the folder of many files is made if it is the only one that is missing."""
    will_make = may_make_folder and not path.parent.exists()
    require_parent(path.parent if will_make else path)
    if is_stream(path):
        return
    if path.is_dir():
        raise OptionError(f"{path}: cannot be written: it is a folder")
    if not os.access(path.parent.parent if will_make else path.parent, os.W_OK):
        raise OptionError(f"{path}: cannot be written: the folder does not allow it")
    if any(path == Path(recording.file).resolve() for recording in inputs):
        raise OptionError(f"{path}: is what is read; name another file")


class TranscriptionJob(RecordingJob):
    """Transcribes recordings segment by segment, then writes the files.

        with TranscriptionJob(transcriber, recordings, outputs, "moonshine") as job:
            for recording in recordings:
                for segment, transcript in job.segments(recording): ...
            for path, words in job.write(): ...

    `recognizer` is how the recognizers were named: two folders may hold models of one name.
    """

    def __init__(
        self, transcriber: Transcriber, of: Sequence[AudioRecording], outputs: Outputs, recognizer: str
    ) -> None:
        self._transcriber, self._recordings = transcriber, of
        self._heard: dict[str, list[HeardSegment]] = {}
        self._recognized: dict[str, list[RecognizedSegment]] = {}
        work = {
            "about": transcriber.provenance,
            "asked": recognizer,
            "recordings": [recording.fingerprint for recording in of],
        }
        super().__init__(outputs, work)

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What files of the words say about all of them."""
        return self._transcriber.provenance

    def segments(self, recording: AudioRecording) -> Iterator[tuple[RecognizedSegment, Transcript]]:
        """The segments of a recording with their transcripts, as they come."""
        self.transcripts[recording.name], self._heard[recording.name] = [], []
        kept = self._recognized[recording.name] = []
        for segment in self._transcriber.recognize(recording, self._journal):
            transcript = self._transcriber.transcript(recording, segment)
            kept.append(replace(segment, lines=(), lattices=()))
            self._keep(recording, segment, transcript)
            yield segment, transcript

    def _keep(self, recording: AudioRecording, segment: RecognizedSegment, transcript: Transcript) -> None:
        if transcript.words:
            self.transcripts[recording.name].append(transcript)
        heard = HeardSegment(segment.start, segment.end, bool(transcript.words), segment.dropped)
        self._heard[recording.name].append(heard)

    def write(self, *, plain: bool = False) -> Iterator[tuple[Path, int]]:
        """Write all files, and return each with its number of words; then the journal is removed."""
        if self._journal is not None and self._transcriber.combiner.is_provisional:
            for recording in self._recordings:
                self._revise(recording, self._journal)
        return super().write(plain=plain)

    def _revise(self, recording: AudioRecording, journal: Journal) -> None:
        """Score all segments again with models adapted to all of them; nothing is recognised again."""
        self.transcripts[recording.name], self._heard[recording.name] = [], []
        for segment in self._transcriber.recognize(recording, journal):
            self._keep(recording, segment, self._transcriber.transcript(recording, segment, learn=False))

    def about(self, members: Sequence[Recording]) -> dict[str, Any]:
        """What a file of these recordings says about them."""
        if len(members) > 1:
            return dict(self._transcriber.provenance)
        language = self.foreign_language(members[0])
        known = {} if language is None else {"language": language.to_dict()}
        return members[0].about | self._transcriber.provenance | known

    def foreign_language(self, recording: Recording) -> SpokenLanguage | None:
        """What is known about the language of a recording that is not in the one that was asked for."""
        return SpokenLanguage.of(self._recognized.get(recording.name, ()))

    def left_out(self, name: str) -> Sequence[LeftOut] | None:
        """The stretches of the recording of this name that have no words."""
        audio = next(recording.audio for recording in self._recordings if recording.name == name)
        return left_out(self._heard[name], audio.damaged, audio.duration)

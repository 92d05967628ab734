"""Manifests: the utterances of a corpus and where their audio is.

- a table with tabs and a header: `audio` (a path), and optionally `utt`, `start`, `end` (seconds), `channel` (from 1)
  and `split`; references (`text`, `speaker`) may be in the same table;
- JSON lines: the same names, or NeMo's `audio_filepath`, `offset` and `duration`;
- lhotse's cuts or recordings, as JSON lines. Audio that is a command or an address is never run or fetched;
- Kaldi's wav.scp: an utterance and a path on each line. Commands (`... |`) are never run;
- a folder or an audio file: each file is an utterance.

Paths are relative to the manifest's folder. A table without the column `audio` finds UTT.wav, UTT.mp3, ... there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..audio.listing import SUFFIXES, audio_files
from ..base import json_checks as check
from ..base.errors import InputError, OptionError
from ..base.problems import Problems
from ..formats.inputs import Stream, streams

AUDIO_COLUMNS = ("audio", "audio_filepath", "path", "file", "wav")  # names of the column with the path
_REMEDY = "A manifest is a table with tabs and the column `audio`, JSON lines, wav.scp, or a folder of audio files"


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """An utterance to be recognised."""

    utt: str
    path: Path
    place: str  # in the manifest
    start: float | None = None  # seconds
    end: float | None = None
    channel: int | None = None  # counted from 1
    split: str | None = None

    @property
    def fingerprint(self) -> list[Any]:
        """What must not have changed if work on it is to be resumed."""
        try:
            stat = self.path.stat()
        except OSError:  # reported when it is read
            return [self.utt, str(self.path)]
        return [self.utt, str(self.path), stat.st_size, stat.st_mtime_ns, self.start, self.end, self.channel]


def read_manifest(
    manifest: str | Path, audio: Path | None = None, problems: Problems | None = None
) -> list[ManifestEntry]:
    """The utterances of a manifest, a folder or an audio file; `audio` is the folder of relative paths, if another.

    Bad rows are errors, or go to `problems` when that says to skip them.
    """
    path, problems = Path(manifest), problems or Problems()
    if path.is_dir() or path.suffix.lower() in SUFFIXES:
        entries = list(_entries_of_files(path, problems))
    else:
        entries = [entry for stream in streams([path]) for entry in _entries(stream, audio or path.parent, problems)]
    if not entries:
        raise InputError("there are no utterances in it", file=str(manifest), remedy=_REMEDY)
    _check_unique(entries, str(manifest))
    return entries


def _entries_of_files(path: Path, problems: Problems) -> Iterator[ManifestEntry]:
    if not path.is_dir():
        yield ManifestEntry(path.stem, path, "")
        return
    for file in audio_files(path, problems.report):
        yield ManifestEntry(file.relative_to(path).with_suffix("").as_posix().replace("/", "-"), file, "")


def _entries(stream: Stream, folder: Path, problems: Problems) -> Iterator[ManifestEntry]:
    header: list[str] | None = None
    files: dict[str, Path] = {}  # by utterance, listed when first needed
    for line_number, raw in stream.lines():
        line = raw.decode("utf-8", "replace").removeprefix("\ufeff").strip("\r\n")
        if line_number == 1 and _is_header(line):
            header = [name.strip().lower() for name in line.split("\t")]
        elif line.strip():
            place = f"line {line_number}"
            try:
                row = _row(header, line)
                yield _entry(row, _path(row, folder, files, problems), place)
            except InputError as error:
                problems.report(error.at(file=stream.name, place=place))


def _is_header(line: str) -> bool:
    names = {name.strip().lower() for name in line.split("\t")}
    return bool(names & {*AUDIO_COLUMNS, "utt"}) and not line.lstrip().startswith("{")


def _row(header: list[str] | None, line: str) -> Mapping[str, Any]:
    """A line as column names and values."""
    if header is not None:
        return _table_row(header, line)
    if not line.lstrip().startswith("{"):
        return _scp_row(line)
    row = check.record(check.parse(line))
    return _lhotse_row(row) if {"recording", "sources", "recording_id"} & set(row) else row


def _lhotse_row(line: Mapping[str, Any]) -> dict[str, Any]:
    """A cut with its recording, or a recording, as our own columns."""
    recording = check.object_of(line, "recording") if "recording" in line else line
    if "sources" not in recording:
        raise InputError("a supervision names no audio", remedy="Give lhotse's cuts, which hold their recordings")
    sources = check.objects_of(recording, "sources")
    if len(sources) != 1 or sources[0].get("type") != "file":
        kinds = ", ".join(str(source.get("type"))[:20] for source in sources) or "none"
        raise InputError(f"the audio is no single file, but: {kinds}", remedy="Save the audio to files first")
    row: dict[str, Any] = {"utt": check.string(line, "id"), "audio": check.string(sources[0], "source")}
    if line is not recording:
        start, seconds = check.number(line, "start"), check.number(line, "duration")
        row |= {"start": start, "end": start + seconds}
        channels = sources[0].get("channels")
        if isinstance(channels, list) and len(channels) > 1 and isinstance(line.get("channel"), int):
            row["channel"] = line["channel"] + 1  # counted from 0 there
    return row


def _path(row: Mapping[str, Any], folder: Path, files: dict[str, Path], problems: Problems) -> Path:
    """The audio file that the row names, or the one that is named after the utterance."""
    column = next((name for name in AUDIO_COLUMNS if row.get(name)), None)
    if column is not None:
        return folder / check.string(row, column)
    if not files:
        if not folder.is_dir():
            raise OptionError(f"{folder}: there is no such folder of audio")
        files.update({file.stem: file for file in audio_files(folder, problems.report)})
    utt = check.string(row, "utt")
    if utt not in files:
        remedy = "Name the files in the column `audio`, or their folder with --audio"
        raise InputError(f"there is no audio file {utt}.* in {folder}", utt=utt, remedy=remedy)
    return files[utt]


def _table_row(header: list[str], line: str) -> dict[str, Any]:
    values = [value.strip() for value in line.split("\t")]
    if len(values) != len(header):
        message = f"{len(values)} fields where the header has {len(header)}"
        raise InputError(message, remedy="Separate fields by one tab")
    row: dict[str, Any] = {name: value for name, value in zip(header, values, strict=True) if value}
    for name in ("start", "end", "offset", "duration", "channel"):
        if name in row:
            row[name] = check.number_in(row[name], f"the column {name}")
    return row


def _scp_row(line: str) -> dict[str, Any]:
    fields = line.split(maxsplit=1)
    if len(fields) < 2 or fields[1].rstrip().endswith("|") or "\0" in line:
        found = "one field" if len(fields) < 2 else "a command"
        commas = " (commas? Use tabs)" if "," in line else ""
        raise InputError(f"{found} where a name and a path should be{commas}", remedy=_REMEDY)
    return {"utt": fields[0], "audio": fields[1].strip()}


def entry_of(row: Mapping[str, Any], folder: Path) -> ManifestEntry:
    """The utterance of a JSON object that names its audio."""
    if not any(row.get(name) for name in AUDIO_COLUMNS):
        raise InputError("it names no audio", remedy=_REMEDY)
    return _entry(row, _path(row, folder, {}, Problems()), "")


def _entry(row: Mapping[str, Any], path: Path, place: str) -> ManifestEntry:
    start, end, offset, length = (check.number_or_none(row, name) for name in ("start", "end", "offset", "duration"))
    if offset is not None:  # without it, the duration is that of the whole file
        start, end = offset, offset + length if length is not None else end
    channel = check.number_or_none(row, "channel")
    _check_times(start, end, channel)
    part = "" if start is None else f"-{start:.2f}"  # parts of one file have names of their own
    name = next((str(row[key]) for key in ("utt", "id") if row.get(key) not in (None, "")), f"{path.stem}{part}")
    split = row.get("split")
    number = None if channel is None else int(channel)
    return ManifestEntry(name, path, place, start, end, number, split and str(split))


def _check_times(start: float | None, end: float | None, channel: float | None) -> None:
    first, last = start or 0.0, math.inf if end is None else end
    if first < 0 or last <= first:
        raise InputError(f"it starts at {first:g} s and ends at {last:g} s", remedy="Give seconds, start before end")
    if channel is not None and (channel < 1 or channel != int(channel)):
        raise InputError(f"the channel is {channel:g}", remedy="Channels are counted from 1")


def _check_unique(entries: Iterable[ManifestEntry], name: str) -> None:
    seen: dict[str, str] = {}
    for entry in entries:
        if entry.utt in seen:
            message = f"two utterances have this name, also {seen[entry.utt]}"
            remedy = "Give each its own name in the column `utt`"
            raise InputError(message, file=name, utt=entry.utt, place=entry.place, remedy=remedy)
        seen[entry.utt] = entry.place or str(entry.path)

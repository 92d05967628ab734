"""Which audio belongs to a transcript: what is named, what the transcript names itself, or what lies beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..audio.audio_file import AudioFile
from ..audio.listing import SUFFIXES
from ..base.errors import InputError, OptionError
from ..transcripts.transcript import Transcripts


@dataclass(frozen=True, slots=True)
class ViewedFile:
    """A transcript as it was read, and the file that it is in."""

    path: Path
    transcripts: Transcripts

    @property
    def recordings(self) -> list[str]:
        """The names of its recordings."""
        return list(dict.fromkeys(segment.utt for segment in self.transcripts))


def audio_of(viewed: ViewedFile, given: Sequence[str]) -> dict[str, AudioFile]:
    """The audio of each recording, by its name: what is `given`, or what is found; without any, none."""
    if given:
        return _assigned(viewed.recordings, [AudioFile.open(path) for path in given])
    opened: dict[Path, AudioFile] = {}
    found: dict[str, AudioFile] = {}
    for name in viewed.recordings:
        for path in _candidates(viewed, name):
            if path not in opened and not _open(path, opened):
                continue
            found[name] = opened[path]
            break
    return found


def _assigned(names: Sequence[str], files: Sequence[AudioFile]) -> dict[str, AudioFile]:
    """One file is of all recordings; several are of those that are called like them."""
    if len(files) == 1:
        return dict.fromkeys(names, files[0])
    by_stem = {Path(file.path).stem: file for file in files}
    found = {name: by_stem[stem] for name in names for stem in _stems(name) if stem in by_stem}
    unused = [file.path for file in files if file not in found.values()]
    if unused:
        raise OptionError(f"{unused[0]}: no recording is called like it; these are there: {', '.join(names[:5])}")
    return found


def _stems(name: str) -> list[str]:
    """What the audio of a recording may be called: as itself, or without its channel (call-1)."""
    stem, dash, channel = name.rpartition("-")
    return [name, stem] if dash and len(channel) <= 8 else [name]


def _candidates(viewed: ViewedFile, name: str) -> Iterator[Path]:
    """Where the audio of a recording may be, the likeliest first."""
    folder = viewed.path.parent
    for named in _named(viewed.transcripts.about):
        if len(viewed.recordings) == 1 or Path(named).stem in _stems(name):
            yield from (Path(named), folder / named, folder / Path(named).name)
    own = [viewed.path.name.split(".")[0], viewed.path.stem] if len(viewed.recordings) == 1 else []
    for stem in dict.fromkeys([*_stems(name), *own]):
        if "/" not in stem and "\0" not in stem:
            yield from (folder / f"{stem}{suffix}" for suffix in SUFFIXES)


def _named(about: Mapping[str, Any]) -> list[str]:
    listed = about.get("files")
    names = [about.get("file"), *(listed if isinstance(listed, list) else [])]
    return [name for name in names if isinstance(name, str) and name and "\0" not in name]


def _open(path: Path, opened: dict[Path, AudioFile]) -> bool:
    try:
        if not path.is_file():
            return False
        opened[path] = AudioFile.open(path)
    except (InputError, OSError):
        return False
    return True

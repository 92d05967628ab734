"""Which audio files somebody means: those that are named, those of a folder, or what comes through a pipe."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ..base.errors import InputError

STDIN = "-"
SUFFIXES = tuple(
    ".wav .flac .mp3 .ogg .opus .oga .aiff .aif .au .wv .caf .w64 "
    ".m4a .m4b .mp4 .m4v .mov .3gp .3g2 .mkv .mka .webm .wma .wmv .asf .amr .awb .aac .ac3 .avi .flv .ts .mts .mpg "
    ".mpeg .mp2 .mpga .ape .tta .gsm".split()
)


def audio_files(folder: Path, report: Callable[[InputError], None]) -> list[Path]:
    """All audio files below a folder, and films; folders that cannot be read are reported."""

    def unreadable(error: OSError) -> None:
        report(InputError(f"the folder cannot be read: {error.strerror}", file=str(error.filename)))

    names = (Path(parent) / name for parent, _, files in os.walk(folder, onerror=unreadable) for name in files)
    return sorted(path for path in names if path.suffix.lower() in SUFFIXES and path.is_file())


def listed_audio(named: str, report: Callable[[InputError], None]) -> list[str]:
    """The file that is named, or the audio files of the folder."""
    if not os.path.isdir(named):  # unlike the methods of a path, this takes any name
        return [named]
    files = [str(file) for file in audio_files(Path(named), report)]
    if not files:
        report(InputError("there are no audio files in this folder", file=named, remedy="Name the files themselves"))
    return files


@contextmanager
def saved_stdin() -> Iterator[Path]:
    """What comes through a pipe, as a file: containers are read back and forth."""
    with TemporaryDirectory(prefix="wordtrust-") as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        yield path

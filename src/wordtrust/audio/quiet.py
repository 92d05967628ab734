"""Decoders that print: libmpg123 tells of every damaged frame on stderr itself, past all that Python could catch."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

_STDERR = 2
_MPEG_NAMES = (".mp1", ".mp2", ".mp3", ".mpga")


def is_mpeg(path: str) -> bool:
    """Whether libmpg123 will decode a file, by its name or by how it begins."""
    if Path(path).suffix.lower() in _MPEG_NAMES:
        return True
    try:
        with Path(path).open("rb") as file:
            head = file.read(3)
    except OSError:
        return False
    return head == b"ID3" or (head[:1] == b"\xff" and head[1:2] >= b"\xe0")


def prints(handle: Any) -> bool:
    """Whether reading this soundfile.SoundFile prints what is wrong with the file."""
    return str(handle.subtype).startswith("MPEG")


@contextmanager
def quiet(is_needed: bool) -> Iterator[None]:
    """Nothing reaches stderr from in here, not even from C, if this is needed; threads may be in here together."""
    if not is_needed:
        yield
        return
    _MUTE.begin()
    try:
        yield
    finally:
        _MUTE.end()


class _Mute:
    """The first to come puts stderr away, the last to go puts it back."""

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._kept: int | None = None  # what stderr was

    def begin(self) -> None:
        with self._lock:
            if not self._inside:
                self._kept = _put_away()
            self._inside += 1

    def end(self) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._kept is not None:
                os.dup2(self._kept, _STDERR)
                os.close(self._kept)
                self._kept = None


_MUTE = _Mute()


def _put_away() -> int | None:
    """Stderr leads nowhere from now on; gives what it was, or None where there is none."""
    if sys.__stderr__ is None or not _can_be_written():
        return None
    try:
        with Path(os.devnull).open("wb") as nowhere:
            kept = os.dup(_STDERR)
            os.dup2(nowhere.fileno(), _STDERR)
    except OSError:
        return None
    return kept


def _can_be_written() -> bool:
    """Whether number 2 is stderr still: where it was closed, it may be the very file that is being read."""
    try:
        import fcntl

        return fcntl.fcntl(_STDERR, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    except ImportError:  # as on Windows
        return True
    except OSError:
        return False

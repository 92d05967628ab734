"""Decoding audio files that are damaged: silence in place of what cannot be decoded, and no noise on stderr.

A block that cannot be decoded becomes silence of the same length, so that times stay right. libmpg123 prints every
damaged frame on stderr from C, beyond the reach of `sys.stderr`, so stderr is muted while MP3s are decoded.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

_PROBE = 1024  # frames: how precisely damage is located
_PADDING = 0.25  # seconds that a header may promise too much (encoder padding)
_SHORT = re.compile(r"\b(?:data|SSND|Data Size|riff|Riff size)\s*:\s*(\d+) \(should be (\d+)\)")
FRAMES_PER_BYTE = 1_000  # of any file at most; silence in FLAC has some 300
_UNKNOWN_LENGTH = 1 << 48  # frames that libsndfile reports when a header does not say
_MPEG_SUFFIXES = (".mp1", ".mp2", ".mp3", ".mpga")
_STDERR = 2
_STDERR_LOCK = RLock()  # file descriptor 2 belongs to the whole process: one thread redirects it at a time

Block = NDArray[np.float32]  # [frames, channels]


class Notify(Protocol):
    """Is told what is wrong with a file, and which seconds of it are lost."""

    def __call__(self, message: str, lost: tuple[float, float] | None) -> None:
        """A message for people, or none, and the seconds from and to which nothing could be read."""


class DamageTolerantReader:
    """Reads a file in blocks from any frame on, and notifies about what could not be decoded.

    `open_file` returns a new soundfile.SoundFile: after an error a decoder is unusable, even for seeking. `go_on`
    reads the rest, from a frame on, after the first error, where another decoder is better at that (MP3).
    """

    def __init__(
        self,
        open_file: Callable[[], Any],
        notify: Notify,
        first: int = 0,
        *,
        go_on: Callable[[int, int], Iterator[Block]] | None = None,
    ) -> None:
        self._open_file, self._notify, self._go_on = open_file, notify, go_on
        self._handle = open_file()
        self._position = 0  # the next frame to return
        self._is_placed = True  # whether the decoder stands where it was told to
        # A header may promise any number of frames: what it says is believed as far as the file can hold them.
        self._reach = Path(self._handle.name).stat().st_size * FRAMES_PER_BYTE
        if first:
            self._position = min(first, int(self._handle.frames))
            self._reopen_at(self._position)

    def close(self) -> None:
        """Close the file."""
        self._handle.close()

    def blocks(self, size: int) -> Iterator[Block]:
        """Everything that can be decoded, in blocks of at most `size` frames; damage in the middle is silence."""
        while True:
            block = self._read(size)
            if self._go_on is not None and not self._is_whole(block):
                yield from self._go_on(self._position, size)
                return
            if block is None:  # damage: some of this block may come before it
                yield from self._blocks_before_damage()
            elif len(block):
                self._position += len(block)
                yield block
                continue
            resumed = self._frame_after_damage()
            if resumed is None:
                return
            yield from self._silence(resumed - self._position, size)

    def _is_whole(self, block: Block | None) -> bool:
        """Whether a block is what it should be: samples, or nothing at the end of the file."""
        missing = self._handle.frames - self._position
        return block is not None and (len(block) > 0 or missing <= _PADDING * self._handle.samplerate)

    def _blocks_before_damage(self) -> Iterator[Block]:
        self._reopen_at(self._position)
        while (block := self._read(_PROBE)) is not None and len(block):
            self._position += len(block)
            yield block

    def _frame_after_damage(self) -> int | None:
        """Where decoding can resume, probing further and further ahead; None at the end of the file."""
        rate, total = int(self._handle.samplerate), int(self._handle.frames)
        missing = (total - self._position) / rate
        if missing <= _PADDING or total >= _UNKNOWN_LENGTH:
            return None
        ahead = rate // 8
        while self._position + ahead < min(total, self._reach):
            if self._is_readable_at(self._position + ahead):
                start, seconds = self._position / rate, ahead / rate
                self._notify(f"{seconds:.1f} s from {start:.1f} s on could not be read", (start, start + seconds))
                return self._position + ahead
            ahead *= 2
        message = f"the last {missing:.1f} s could not be read: the file is damaged or ends early"
        self._notify(message, (self._position / rate, total / rate))
        return None

    def _is_readable_at(self, frame: int) -> bool:
        if not self._reopen_at(frame):
            return False
        block = self._read(_PROBE)
        return block is not None and len(block) > 0 and self._reopen_at(frame)

    def _silence(self, frames: int, size: int) -> Iterator[Block]:
        while frames > 0:
            block = np.zeros((min(frames, size), self._handle.channels), np.float32)
            frames -= len(block)
            self._position += len(block)
            yield block

    def _read(self, size: int) -> Block | None:
        import soundfile

        if not self._is_placed:
            return None
        try:
            with muted_stderr(prints_errors(self._handle)):
                block: Block = self._handle.read(size, dtype="float32", always_2d=True)
        except (soundfile.SoundFileError, RuntimeError):
            return None
        return block

    def _reopen_at(self, frame: int) -> bool:
        import soundfile

        self._handle.close()
        self._handle = self._open_file()
        self._is_placed = False
        if frame > self._reach:  # libsndfile would decode for hours to get there
            return False
        with suppress(soundfile.SoundFileError, RuntimeError), muted_stderr(prints_errors(self._handle)):
            self._is_placed = bool(self._handle.seek(frame) == frame)
        return self._is_placed


def truncation(path: str, handle: Any) -> str | None:
    """A message if a file ends before its header says so, which soundfile itself accepts without a word."""
    sizes = [(int(promised), int(present)) for promised, present in _SHORT.findall(handle.extra_info)]
    # A recording that was never closed has 0 or the largest integer as its size: nothing is known to be lost.
    lost = [promised - present for promised, present in sizes if present < promised < 0x7FFF_0000]
    if lost and handle.frames:
        size = Path(path).stat().st_size
        seconds = max(lost) / max(1, size) * handle.frames / handle.samplerate
        return f"the last {seconds:.1f} s could not be read: the file ends early" if seconds > _PADDING else None
    if handle.format == "OGG" and not _has_last_ogg_page(path):
        return "the file ends early: what came after could not be read"
    return None


def _has_last_ogg_page(path: str) -> bool:
    """Whether the last page of an Ogg file is flagged as the last of its stream."""
    with Path(path).open("rb") as file:
        file.seek(max(0, Path(path).stat().st_size - (1 << 17)))
        tail = file.read()
    last = tail.rfind(b"OggS")
    return last < 0 or len(tail) < last + 6 or bool(tail[last + 5] & 4)


def is_mpeg(path: str) -> bool:
    """Whether libmpg123 will decode a file, judged by its name or its first bytes."""
    if Path(path).suffix.lower() in _MPEG_SUFFIXES:
        return True
    try:
        with Path(path).open("rb") as file:
            head = file.read(3)
    except OSError:
        return False
    return head == b"ID3" or (head[:1] == b"\xff" and head[1:2] >= b"\xe0")


def has_frame_count(path: str) -> bool:
    """Whether an MP3 begins with a frame that says how many there are; what else is said of its length is a guess."""
    with Path(path).open("rb") as file:
        head = file.read(10)
        if head[:3] == b"ID3" and len(head) == 10:
            size = sum((byte & 0x7F) << shift for byte, shift in zip(head[6:], (21, 14, 7, 0), strict=True))
            file.seek(10 + size)
        head = file.read(1 << 13)
    return b"Xing" in head or b"Info" in head


def prints_errors(handle: Any) -> bool:
    """Whether reading this soundfile.SoundFile prints to stderr what is wrong with the file."""
    return str(handle.subtype).startswith("MPEG")


@contextmanager
def muted_stderr(is_needed: bool) -> Iterator[None]:
    """Discard everything written to stderr, even from C; other threads that need this too wait for their turn."""
    if not is_needed:
        yield
        return
    with _STDERR_LOCK:
        original = _redirect_stderr()
        try:
            yield
        finally:
            if original is not None:
                os.dup2(original, _STDERR)
                os.close(original)


def _redirect_stderr() -> int | None:
    """Point file descriptor 2 at the null device; returns a copy of what it was, None if there is no stderr."""
    if sys.__stderr__ is None or not _is_stderr_writable():
        return None
    try:
        with Path(os.devnull).open("wb") as null:
            original = os.dup(_STDERR)
            os.dup2(null.fileno(), _STDERR)
    except OSError:
        return None
    return original


def _is_stderr_writable() -> bool:
    """Whether descriptor 2 still is stderr: where that was closed, it may be the very file that is being read."""
    try:
        import fcntl

        return fcntl.fcntl(_STDERR, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    except ImportError:  # as on Windows
        return True
    except OSError:
        return False

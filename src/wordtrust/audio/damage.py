"""Reading past damage: a block that cannot be decoded is silence of the same length, so that times stay right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .quiet import prints, quiet

_PIECE = 1024  # frames: how closely damage is located
_TAIL = 0.25  # seconds that a header may promise too much (encoders' padding)
_SHORT = re.compile(r"\b(?:data|SSND|Data Size|riff|Riff size)\s*:\s*(\d+) \(should be (\d+)\)")

Block = NDArray[np.float32]


class Reader:
    """Blocks of a file from its first or another frame, [frames, channels]; tells what could not be read.

    `opened` gives a new soundfile.SoundFile: after an error a decoder is of no use, not even for seeking.
    """

    def __init__(self, opened: Callable[[], Any], tell: Callable[[str], None], first: int = 0) -> None:
        self._opened, self._tell = opened, tell
        self._handle = opened()
        self._at = 0  # frames given so far
        if first:
            self._at = min(first, int(self._handle.frames))
            self._go(self._at)

    def close(self) -> None:
        """Close the file."""
        self._handle.close()

    def blocks(self, size: int) -> Iterator[Block]:
        """All that can be read; what is damaged in the middle is silence."""
        while True:
            block = self._read(size)
            if block is None:  # what comes before the damage is in there
                yield from self._until_damage()
            elif len(block):
                self._at += len(block)
                yield block
                continue
            resumed = self._beyond_damage()
            if resumed is None:
                return
            yield from self._silence(resumed - self._at, size)

    def _until_damage(self) -> Iterator[Block]:
        self._go(self._at)
        while (block := self._read(_PIECE)) is not None and len(block):
            self._at += len(block)
            yield block

    def _beyond_damage(self) -> int | None:
        """Where reading can go on, looking further and further ahead; None at the end of the file."""
        rate, total = int(self._handle.samplerate), int(self._handle.frames)
        missing = (total - self._at) / rate
        if missing <= _TAIL or total >= 1 << 48:
            return None
        ahead = rate // 8
        while self._at + ahead < total:
            if self._can_read(self._at + ahead):
                self._tell(f"{ahead / rate:.1f} s from {self._at / rate:.1f} s on could not be read")
                return self._at + ahead
            ahead *= 2
        self._tell(f"the last {missing:.1f} s could not be read: the file is damaged or ends early")
        return None

    def _can_read(self, frame: int) -> bool:
        if not self._go(frame):
            return False
        block = self._read(_PIECE)
        return block is not None and len(block) > 0 and self._go(frame)

    def _silence(self, frames: int, size: int) -> Iterator[Block]:
        while frames > 0:
            block = np.zeros((min(frames, size), self._handle.channels), np.float32)
            frames -= len(block)
            self._at += len(block)
            yield block

    def _read(self, size: int) -> Block | None:
        import soundfile

        try:
            with quiet(prints(self._handle)):
                block: Block = self._handle.read(size, dtype="float32", always_2d=True)
        except (soundfile.SoundFileError, RuntimeError):
            return None
        return block

    def _go(self, frame: int) -> bool:
        """Open the file anew, at this frame."""
        import soundfile

        self._handle.close()
        self._handle = self._opened()
        try:
            with quiet(prints(self._handle)):
                return bool(self._handle.seek(frame) == frame)
        except (soundfile.SoundFileError, RuntimeError):
            return False


def cut_short(path: str, handle: Any) -> str | None:
    """What to say of a file that ends before its header says so, where soundfile quietly takes what is there."""
    sizes = [(int(said), int(found)) for said, found in _SHORT.findall(handle.extra_info)]
    # A recording that was never closed has 0 or the largest number there is as its size: nothing is known to be lost.
    lost = [said - found for said, found in sizes if found < said < 0x7FFF_0000]
    if lost and handle.frames:
        size = Path(path).stat().st_size
        seconds = max(lost) / max(1, size) * handle.frames / handle.samplerate
        return f"the last {seconds:.1f} s could not be read: the file ends early" if seconds > _TAIL else None
    if handle.format == "OGG" and not _ogg_ends(path):
        return "the file ends early: what came after could not be read"
    return None


def _ogg_ends(path: str) -> bool:
    """Whether the last page of an Ogg file says that it is the last."""
    with Path(path).open("rb") as file:
        file.seek(max(0, Path(path).stat().st_size - (1 << 17)))
        tail = file.read()
    last = tail.rfind(b"OggS")
    return last < 0 or len(tail) < last + 6 or bool(tail[last + 5] & 4)

"""Packed bytes, unpacked piece by piece and with a bound: a small file fills no memory and takes no hours.

What an input may unpack to is counted over all of its members and layers (`Budget`): some bytes are free, and beyond
them there are so many for each byte of the file as it was given. Lattices and transcripts pack 4 to 20 times smaller.
"""

from __future__ import annotations

import bz2
import io
import lzma
import struct
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO, Protocol, cast

from isal.isal_zlib import IsalError

from ..base.errors import InputError

FREE = 1 << 22  # bytes that any input may unpack to
RATIO = 50  # bytes beyond these for each byte of the file itself
FREE_JSON = 200_000_000  # bytes of memory that the values of a JSON text may take
JSON_RATIO = 40  # the same beyond these for each byte of the file
_LARGEST_WINDOW = 1 << 27  # bytes of memory to unpack xz; `xz -9` needs 65 MB
_INPUT = 1 << 16
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
_ISAL_ERROR = cast("type[Exception]", IsalError)  # its stub has the type wrong
_UNPACK_IT = "If you trust the file, unpack it first and give what comes out"
# What the libraries that unpack raise on damaged bytes; several of these are not in their documentation.
BYTE_ERRORS = (
    OSError, EOFError, RuntimeError, ValueError, LookupError, ArithmeticError, MemoryError, struct.error, zlib.error,
    _ISAL_ERROR, lzma.LZMAError,
)  # fmt: skip


class Budget:
    """What an input may still unpack to."""

    def __init__(self, packed: int = 0) -> None:
        self.packed = packed  # bytes of the file itself, as far as it was read
        self._unpacked = 0

    def read(self, size: int) -> None:
        """So many more bytes of the file itself were read."""
        self.packed += size

    def unpack(self, size: int) -> None:
        """So many more bytes came out; raises when they are too many."""
        self._unpacked += size
        if self._unpacked > FREE + RATIO * self.packed:
            raise InputError(
                f"{self.packed:,} bytes unpack to more than {self._unpacked - size:,}, as in no real corpus",
                remedy=_UNPACK_IT,
            )

    def check_json(self, text: bytes) -> None:
        """Refuse a JSON text whose values would take far more memory than the file has bytes."""
        most = FREE_JSON + JSON_RATIO * self.packed
        if len(text) * JSON_RATIO > most and (size := _json_size(text)) > most:
            raise InputError(
                f"{self.packed:,} bytes hold JSON that needs {size / 1e6:,.0f} MB of memory", remedy=_UNPACK_IT
            )


def _json_size(text: bytes) -> int:
    """About how much memory the values of a JSON text take; less than JSON_RATIO for each byte."""
    values = 64 * (text.count(b"[") + text.count(b"{") + text.count(b":")) + 40 * text.count(b",")
    return min(values, (JSON_RATIO - 1) * len(text))


def packed_as(head: bytes) -> str | None:
    """How bytes that begin so are packed: gzip, bzip2 or xz; None if they are not."""
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


def unpacker(kind: str, read: Callable[[int], bytes]) -> BinaryIO:
    """A file with the unpacked bytes of what `read` gives."""
    if kind == "gzip":
        from isal import igzip

        return cast(BinaryIO, igzip.IGzipFile(fileobj=cast(BinaryIO, Readable(read)), mode="rb"))
    magic = next(magic for magic, name in _MAGIC.items() if name == kind)
    make = bz2.BZ2Decompressor if kind == "bzip2" else partial(lzma.LZMADecompressor, memlimit=_LARGEST_WINDOW)
    return cast(BinaryIO, _Unpacked(magic, make, read))


class Readable(io.RawIOBase):
    """A function that reads, as a file object."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` as far as there is something to read now."""
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Unpacked(io.RawIOBase):
    """One packed stream after another, as tools that work in parallel write them, unpacked; what follows is left."""

    def __init__(self, magic: bytes, make: Callable[[], _Decompressor], read: Callable[[int], bytes]) -> None:
        self._magic, self._make, self._read_packed = magic, make, read
        self._unpack = make()
        self._waiting = b""

    def read(self, size: int = _INPUT) -> bytes:
        """Up to `size` bytes, b"" at the end."""
        while not self._unpack.eof or self._begin_next():
            data, self._waiting = self._waiting, b""
            if not data and self._unpack.needs_input and not (data := self._read_packed(_INPUT)):
                raise EOFError("it ends in the middle of the packed data")
            if unpacked := self._unpack.decompress(data, size):
                return unpacked
        return b""

    def _begin_next(self) -> bool:
        """Go on to the next stream, if there is one; zeros may stand before it."""
        data = self._unpack.unused_data.lstrip(b"\0")
        while len(data) < len(self._magic) and (piece := self._read_packed(_INPUT)):
            data = (data + piece).lstrip(b"\0")
        if not data.startswith(self._magic):
            return False
        self._waiting, self._unpack = data, self._make()
        return True

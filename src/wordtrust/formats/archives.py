"""The files in a tar or zip archive, one after the other, without trust in what the archive says about itself.

Tar archives are read here and not by `tarfile`, which takes any size for true: it skips for ever, or reads a name
of gigabytes. Owners and times do not matter to us, so this takes few lines. Known are ustar, GNU's long names and
large sizes, and pax; sparse files are refused.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from ..base.errors import InputError
from .unpacking import BYTE_ERRORS, Readable

_BLOCK = 512
_SKIP = 1 << 20
_LONGEST_NAME = 1 << 16  # bytes; also of a pax header, which holds little else
_LARGEST = 1 << 60  # bytes of a member
_FILES, _LONG_NAME, _PAX, _SPARSE = b"0\0007", b"L", b"x", b"S"


def tar_members(read: Callable[[int], bytes]) -> Iterator[tuple[str, BinaryIO]]:
    """The files of a tar archive that `read` gives the bytes of; each is to be read before the next is asked for."""
    archive = _Tar(read)
    long_name, pax = b"", dict[bytes, bytes]()
    while header := archive.header():
        kind = header[156:157]
        size = _size(header, pax.get(b"size"))
        if kind in (_LONG_NAME, _PAX):
            data = archive.short_member(size)
            long_name, pax = (data.rstrip(b"\0"), pax) if kind == _LONG_NAME else (long_name, _pax_fields(data))
            continue
        name = (pax.get(b"path") or long_name or _header_name(header)).decode("utf-8", "surrogateescape")
        if kind == _SPARSE or any(field.startswith(b"GNU.sparse.") for field in pax):
            raise InputError(f"{name} in the tar archive is a sparse file", remedy="Make it without --sparse")
        archive.left = archive.padded = size
        archive.padded += -size % _BLOCK
        if kind in _FILES and not name.endswith("/"):
            yield name, cast(BinaryIO, Readable(archive.read))
        archive.skip()
        long_name, pax = b"", {}


class _Tar:
    """The bytes of a tar archive, and how many of them belong to the member that is being read."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self.left = 0  # bytes of the member
        self.padded = 0  # the same with those that fill its last block

    def header(self) -> bytes:
        """The next header; b"" at the end of the archive."""
        block = self._exactly(_BLOCK, at_end=True)
        if not block.strip(b"\0"):
            return b""
        stated = _octal(block[148:156])
        if stated != sum(block[:148]) + 8 * ord(" ") + sum(block[156:]):
            raise InputError("the tar archive is damaged: a header has the wrong checksum", remedy="Make it again")
        return block

    def short_member(self, size: int) -> bytes:
        """A member that is part of a header."""
        if size > _LONGEST_NAME:
            raise InputError(f"the tar archive has a name or header of {size:,} bytes", remedy="Make it again")
        return self._exactly(size + -size % _BLOCK)[:size]

    def read(self, size: int) -> bytes:
        """Up to `size` bytes of the member."""
        data = self._read(min(size, self.left)) if self.left else b""
        if self.left and not data:
            raise EOFError("the tar archive is cut off")
        self.left -= len(data)
        self.padded -= len(data)
        return data

    def skip(self) -> None:
        """Pass over what is left of the member."""
        while self.padded:
            self.padded -= len(self._some(min(self.padded, _SKIP)))

    def _some(self, size: int) -> bytes:
        data = self._read(size)
        if not data:
            raise InputError("the tar archive is cut off", remedy="Copy or make it again")
        return data

    def _exactly(self, size: int, *, at_end: bool = False) -> bytes:
        data = self._read(size)
        if at_end and not data:  # many programs leave out the empty blocks at the end
            return b""
        while len(data) < size:
            data += self._some(size - len(data))
        return data


def _size(header: bytes, in_pax: bytes | None) -> int:
    field = header[124:136]
    if in_pax is not None:
        size = int(in_pax) if in_pax.isdigit() and len(in_pax) < 20 else -1
    elif field[0] & 0x80:  # GNU's way with large ones
        size = int.from_bytes(field[1:], "big") if field[0] == 0x80 else -1
    else:
        size = _octal(field)
    if not 0 <= size < _LARGEST:
        raise InputError("the tar archive is damaged: a member has no proper size", remedy="Make it again")
    return size


def _octal(field: bytes) -> int:
    """The number in a header; -1 if there is none."""
    digits = field.partition(b"\0")[0].strip(b" ")
    return int(digits, 8) if digits and not digits.strip(b"01234567") else 0 if not digits else -1


def _header_name(header: bytes) -> bytes:
    name, prefix = header[:100].partition(b"\0")[0], header[345:500].partition(b"\0")[0]
    return prefix + b"/" + name if prefix and header[257:263] == b"ustar\0" else name


def _pax_fields(data: bytes) -> dict[bytes, bytes]:
    """The fields of a pax header: each is its own length, a blank, and `name=value`."""
    fields: dict[bytes, bytes] = {}
    while data.strip(b"\0"):
        digits = data.partition(b" ")[0]
        length = int(digits) if digits.isdigit() and len(digits) < 8 else 0
        name, equals, value = data[len(digits) + 1 : length].partition(b"=")
        if length > len(data) or not equals or not value.endswith(b"\n"):
            raise InputError("the tar archive is damaged: a pax header has the wrong form", remedy="Make it again")
        fields[name] = value[:-1]
        data = data[length:]
    return fields


def zip_members(path: Path, report: Callable[[InputError], None]) -> Iterator[tuple[str, BinaryIO]]:
    """The files of a zip archive; those that cannot be opened are reported."""
    if not path.is_file():  # the table of contents stands at its end
        raise InputError("a zip archive cannot be read from a pipe", remedy="Save it as a file first")
    with _zip_errors("the zip archive"):
        archive = zipfile.ZipFile(path)
    with archive:
        for member in archive.infolist():
            name = member.filename
            if name.endswith("/"):
                continue
            try:
                with _zip_errors("this file in the zip archive"):
                    file = archive.open(member)
            except InputError as error:
                report(error.at(file=f"{path}:{name}"))
                continue
            with file:
                yield name, cast(BinaryIO, file)


@contextmanager
def _zip_errors(what: str) -> Iterator[None]:
    """What `zipfile` raises about damage, unknown ways of packing, and passwords is an error about the archive."""
    try:
        yield
    except (*BYTE_ERRORS, zipfile.BadZipFile) as error:
        about = str(error).rstrip(".") or type(error).__name__
        raise InputError(f"{what} cannot be read: {about}", remedy="Make it again") from None

"""Parquet files that may be damaged or hostile: how much is in them, asked before anything is unpacked, and errors.

The footer is read here and not by pyarrow, which ends the process where what is said of a column is damaged. It is
a structure of Thrift's compact protocol; what does not matter here is passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from ..base.errors import InputError
from .unpacking import BYTE_ERRORS

_MAGIC, _TAIL = b"PAR1", 8  # bytes at the end: the size of the footer, and the magic
_TRUE, _FALSE, _BYTE, _I64, _DOUBLE, _BINARY, _LIST, _STRUCT = 1, 2, 3, 6, 7, 8, 9, 12
_ROW_GROUPS, _COLUMNS, _META_DATA, _VALUES, _BYTES = 4, 1, 3, 5, 6  # numbers of fields
_DEEPEST = 20


@contextmanager
def arrow_errors(file: str, place: str = "", *, remedy: str) -> Iterator[None]:
    """Whatever arrow finds wrong with a file becomes an `InputError`."""
    try:
        yield
    except InputError as error:
        raise error.at(file=file, place=place) from None
    except (pa.ArrowException, *BYTE_ERRORS, TypeError) as error:
        message = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"cannot be read on: {message}", file=file, place=place, remedy=remedy) from None


@dataclass(frozen=True, slots=True)
class GroupSize:
    """What a row group holds."""

    values: int  # of the column with the most of them: those of lists are counted one by one
    unpacked: int  # bytes


def group_sizes(file: BinaryIO) -> list[GroupSize]:
    """What the row groups of a parquet file hold; a `ValueError` where the footer is damaged."""
    end = file.seek(0, 2)
    file.seek(max(0, end - _TAIL))
    tail = file.read()
    if len(tail) < _TAIL or tail[4:] != _MAGIC:
        raise ValueError("no parquet file, or cut off")
    (size,) = struct.unpack("<I", tail[:4])
    if size > end - _TAIL:
        raise ValueError("the footer is larger than the file")
    file.seek(end - _TAIL - size)
    footer = _Compact(file.read(size))
    try:
        return [_group(footer) for _ in footer.items_of(_ROW_GROUPS)]
    except IndexError:
        raise ValueError("the footer is cut off") from None


def _group(footer: _Compact) -> GroupSize:
    columns = [_column(footer) for _ in footer.items_of(_COLUMNS)]
    return GroupSize(max((values for values, _ in columns), default=0), sum(unpacked for _, unpacked in columns))


def _column(footer: _Compact) -> tuple[int, int]:
    """The values of a column and their unpacked bytes."""
    found = {_VALUES: 0, _BYTES: 0}
    for number, kind in footer.fields():
        if (number, kind) != (_META_DATA, _STRUCT):
            footer.skip(kind)
            continue
        for inner, inner_kind in footer.fields():
            if inner in found and inner_kind == _I64:
                found[inner] = footer.integer()
            else:
                footer.skip(inner_kind)
    if min(found.values()) < 0:
        raise ValueError("a column with less than no values")
    return found[_VALUES], found[_BYTES]


class _Compact:
    """A structure of Thrift's compact protocol, read from front to back."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """The number and type of each field of a structure; who asks reads or skips its value before the next."""
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self.integer()
            yield number, head & 15

    def items_of(self, wanted: int) -> Iterator[None]:
        """Go through a structure: give a turn for each structure in the list with this number, skip all else."""
        for number, kind in self.fields():
            if number != wanted or kind != _LIST:
                self.skip(kind)
                continue
            size, item = self._list_head()
            for _ in range(size):
                if item != _STRUCT:
                    raise ValueError("a list of the wrong type")
                yield

    def integer(self) -> int:
        """A number with a sign."""
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)

    def skip(self, kind: int, depth: int = 0, *, in_list: bool = False) -> None:
        """Pass over a value; that of a field which is true or false is its type."""
        if depth > _DEEPEST:
            raise ValueError("the footer is nested too deeply")
        if kind in (_TRUE, _FALSE):
            self._move(int(in_list))
        elif kind == _BYTE:
            self._move(1)
        elif _BYTE < kind <= _I64:
            self._unsigned()
        elif kind in (_DOUBLE, _BINARY):
            self._move(8 if kind == _DOUBLE else self._unsigned())
        elif kind == _LIST:
            size, item = self._list_head()
            for _ in range(size):
                self.skip(item, depth + 1, in_list=True)
        elif kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        else:
            raise ValueError(f"the footer has a value of type {kind}")

    def _list_head(self) -> tuple[int, int]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._unsigned()
        if size > len(self._data) - self._at:  # an item takes a byte at least
            raise ValueError("the footer has a list that is longer than itself")
        return size, head & 15

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("the footer has a number that is too long")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _move(self, size: int) -> None:
        self._at += size
        if self._at > len(self._data):
            raise IndexError

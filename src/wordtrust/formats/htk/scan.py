"""The text of one HTK lattice as arrays: its nodes, links and header fields, whatever they mean together.

Fields may come in any order, several items may stand on a line, values may be quoted and escaped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ...base.errors import InputError
from ...lattices.lattice import Ints, Offsets, Times
from . import kernels
from .kernels import TIME

MAX_HEADER = 200  # fields
_FEW = 1000
PADDING = b" " * 32  # the scanner looks at several bytes at once
_SPECIAL = re.compile(rb"""[\\"']""")
_QUOTED = re.compile(rb"""\"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""", re.DOTALL)
TITLES = {
    kernels.NODE: "node number I", kernels.START: "start node S", kernels.END: "end node E", TIME: "time t",
    kernels.ACOUSTIC: "acoustic score a", kernels.LANGUAGE: "language score l", kernels.NGRAM: "n-gram score n",
    kernels.PRONUNCIATION: "pronunciation score r", kernels.POSTERIOR: "posterior p",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Text:
    """The text of one lattice: whole lines within some bytes, of which more or `PADDING` must follow it."""

    data: bytes
    start: int
    end: int
    line: int = 1  # of the file, on which it starts

    def error(self, found: str, at: int, remedy: str = "Is this an HTK lattice, and is it whole?") -> InputError:
        """An error about byte `at` of `data`."""
        line = self.line + count_lines(self.data, self.start, at)
        return InputError(found, place=f"line {line}", remedy=remedy)


def count_lines(data: bytes, start: int, end: int) -> int:
    """How many lines end between two bytes."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8)[start:end] == ord("\n")))


@dataclass(frozen=True, slots=True)
class Items:
    """All nodes, or all links, of a lattice in the order of the file."""

    whole: Offsets  # [items, 5] FIRST to WORD_TO, as htk_kernels has them
    value: Times  # [items, 6] time, scores and posterior; NaN where there is none
    given: Offsets  # [slots] how many items have each of these, and how many have a word

    def __len__(self) -> int:
        return len(self.whole)

    def column(self, slot: int) -> Times:
        """One kind of number: TIME, ACOUSTIC and so on."""
        return self.value[:, slot - TIME]

    def count(self, slot: int) -> int:
        """How many items have it; of WORD as well."""
        return int(self.given[slot])

    def labels(self, data: bytes) -> tuple[Ints, list[int], list[int]]:
        """A number for every item's label, -1 without one, and for every number from where to where it stands."""
        number, example = np.empty(len(self), np.int32), np.empty(len(self), np.int64)
        spans = self.whole[:, kernels.WORD_FROM :]
        known = kernels.number_labels(np.frombuffer(data, np.uint8), spans, number, example)
        start, end = spans[example[:known]].T
        return number, start.tolist(), end.tolist()


@dataclass(frozen=True, slots=True)
class Scanned:
    """What stands in the text of one lattice."""

    nodes: Items
    links: Items
    node_count: int  # more than len(nodes) where there are more than were to be kept
    link_count: int
    header: Offsets  # [fields, 4] the bytes from which to which name and value stand


class Scanner:
    """Scans one text after another into the same arrays: what it gives is good until the next `scan`."""

    def __init__(self) -> None:
        self._whole = np.empty((2, 0, kernels.WHOLES), np.int64)
        self._value = np.empty((2, 0, kernels.COLUMNS))
        self._header = np.empty((0, 4), np.int64)

    def scan(self, text: Text, *, quotes: bool, limit: int, lattices: int = 1) -> Scanned:
        """The fields of a text that holds this many lattices. `quotes`: whether values may be quoted and escaped.

        At most `limit` nodes and `limit` links are kept, however many there are.
        """
        size = text.end - text.start
        rows, fields = min(limit, size // 4 + 1), min(lattices * MAX_HEADER, size // 2 + 1)  # "I=0 ", "= "
        # Rows that stay unused cost nothing: the system gives memory when it is written to.
        if rows > self._whole.shape[1]:
            self._whole = np.empty((2, rows, kernels.WHOLES), np.int64)
            self._value = np.empty((2, rows, kernels.COLUMNS))
        if fields != len(self._header):
            self._header = np.empty((fields, 4), np.int64)
        late = np.empty((_FEW, 5), np.int64)  # numbers that the kernel leaves to Python
        count, given = self._run(text, quotes, late)
        if count[kernels.N_LATE] > len(late):
            late = np.empty((count[kernels.N_LATE], 5), np.int64)
            count, given = self._run(text, quotes, late)
        for kind, row, column, start, end in late[: count[kernels.N_LATE]].tolist():
            self._value[kind, row, column] = float(text.data[start:end])
        nodes, links = count[kernels.N_NODES].item(), count[kernels.N_LINKS].item()
        return Scanned(
            Items(self._whole[0, :nodes], self._value[0, :nodes], given[0]),
            Items(self._whole[1, :links], self._value[1, :links], given[1]),
            nodes,
            links,
            self._header[: count[kernels.N_HEADER]],
        )

    def _run(self, text: Text, quotes: bool, late: Offsets) -> tuple[Offsets, Offsets]:
        count, given = np.zeros(kernels.COUNTS, np.int64), np.zeros((2, kernels.SLOTS), np.int64)
        data = np.frombuffer(text.data, np.uint8)
        kernels.scan(
            data, text.start, text.end, quotes, self._whole, self._value, given, self._header, late, count
        )  # fmt: skip
        if count[kernels.STATUS] != kernels.OK:
            raise _refusal(text, *count[kernels.STATUS :].tolist())
        return count, given


def _refusal(text: Text, status: int, start: int, end: int, field: int) -> InputError:
    found = repr(text.data[start : min(end, start + 40)].decode("utf-8", "replace"))
    if status == kernels.SUBLATTICE_USED:
        return sublattice(text, found, start)
    if status == kernels.BINARY:
        return text.error(f"the field {found} is binary", start, "Have the lattice written as text (HTK: no B in -q)")
    messages = {
        kernels.NO_EQUALS: f"expected NAME=VALUE, found {found}",
        kernels.NOT_WHOLE: f"the {TITLES.get(field)} is {found}, not a whole number",
        kernels.NOT_NUMBER: f"the {TITLES.get(field)} is {found}, not a number",
        kernels.NO_NODES: "a link without start node S or end node E",
        kernels.LONG_HEADER: f"the header has more than {MAX_HEADER} fields",
    }
    return text.error(messages[status], start)


def sublattice(text: Text, name: str, at: int) -> InputError:
    """The error for what only grammars have."""
    remedy = "Sub-lattices belong to grammars: expand them first, or give the lattices that a recognizer wrote"
    return text.error(f"the sub-lattice {name} is not read", at, remedy)


def unescaped(value: bytes, *, quotes: bool) -> bytes:
    """A value as HTK reads it: without the quotes around it, escapes (\\" and octal \\303) resolved."""
    if not quotes or not _SPECIAL.search(value):
        return value
    if _QUOTED.fullmatch(value):
        value = value[1:-1]
    if b"\\" not in value:
        return value
    plain, place = bytearray(), 0
    while place < len(value):
        if value[place] == ord("\\") and place + 1 < len(value):
            digits = value[place + 1 : place + 4]
            octal = len(digits) - len(digits.lstrip(b"01234567"))
            plain.append(int(digits[:octal], 8) & 255 if octal else value[place + 1])
            place += 1 + (octal or 1)
        else:
            plain.append(value[place])
            place += 1
    return bytes(plain)

"""The text of HTK lattices as arrays: nodes, links and header fields, whatever they mean together.

Fields may come in any order, several items may stand on a line, values may be quoted and escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...base.errors import InputError
from ...lattices.lattice import Ints, Offsets, Times
from ..interning import intern
from . import kernels
from .kernels import TIME

MAX_HEADER = 200  # fields
_FEW = 1000
NONE, SOME, ALL = range(3)  # how many items of a lattice have a field
PADDING = b" " * 32  # the scanner looks at several bytes at once
_SPECIAL = re.compile(rb"""[\\"']""")
_QUOTED = re.compile(rb"""\"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+'""", re.DOTALL)
TITLES = {
    kernels.NODE: "node number I", kernels.START: "start node S", kernels.END: "end node E", TIME: "time t",
    kernels.ACOUSTIC: "acoustic score a", kernels.LANGUAGE: "language score l", kernels.NGRAM: "n-gram score n",
    kernels.PRONUNCIATION: "pronunciation score r", kernels.POSTERIOR: "posterior p",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LatticeText:
    """The text of one lattice, or several: whole lines within some bytes, of which more or `PADDING` follow it."""

    data: bytes
    start: int
    end: int
    line: int = 1  # of the file, on which it starts

    def error(self, message: str, at: int, remedy: str = "Is this an HTK lattice, and is it whole?") -> InputError:
        """An error about byte `at` of `data`."""
        line = self.line + count_lines(self.data, self.start, at)
        return InputError(message, place=f"line {line}", remedy=remedy)


def count_lines(data: bytes, start: int, end: int) -> int:
    """How many lines end between two bytes."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8)[start:end] == ord("\n")))


@dataclass(frozen=True, slots=True)
class Items:
    """All nodes, or all links, of a lattice in the order of the file."""

    whole: Offsets  # [items, 5] FIRST to WORD_TO, as `kernels` has them
    value: Times  # [items, 6] time, scores and posterior; NaN where there is none

    def __len__(self) -> int:
        return len(self.whole)

    def column(self, slot: int) -> Times:
        """One kind of number: TIME, ACOUSTIC and so on."""
        return self.value[:, slot - TIME]

    def offsets(self, starts: Offsets) -> Offsets:
        """Where the items of each lattice begin, for lattices that begin at these bytes."""
        return np.searchsorted(self.whole[:, kernels.PLACE], starts).astype(np.int64)

    def part(self, offsets: Offsets) -> tuple[Items, Offsets]:
        """The items of some lattices that follow each other, given their offsets; and their offsets in that part."""
        kept = slice(offsets[0], offsets[-1])
        return Items(self.whole[kept], self.value[kept]), offsets - offsets[0]

    def counts(self, offsets: Offsets) -> Offsets:
        """[lattices, slots] how many items of each lattice have a field."""
        has = np.zeros((len(self) + 1, kernels.SLOTS), np.int64)
        has[1:, kernels.WORD] = self.whole[:, kernels.WORD_FROM] >= 0
        has[1:, TIME:] = ~np.isnan(self.value)
        return np.diff(np.cumsum(has, axis=0)[offsets], axis=0)

    def labels(self, data: bytes) -> tuple[Ints, list[int], list[int]]:
        """An id for every item's label, -1 without one, and for every id from where to where it stands."""
        ids, first = np.empty(len(self), np.int32), np.empty(len(self), np.int64)
        starts, ends = self.whole[:, kernels.WORD_FROM], self.whole[:, kernels.WORD_TO]
        count = intern(np.frombuffer(data, np.uint8), starts, ends, ids, first)
        return ids, starts[first[:count]].tolist(), ends[first[:count]].tolist()


@dataclass(frozen=True, slots=True)
class ScannedText:
    """What stands in the text of one lattice, or of several that follow each other."""

    nodes: Items
    links: Items
    given: Offsets  # [nodes and links, slots] how many items have each field
    node_count: int  # more than len(nodes) where there are more than were to be kept
    link_count: int
    header: Offsets  # [fields, 4] the bytes from which to which name and value stand

    def layouts(self, node_offsets: Offsets, link_offsets: Offsets) -> Offsets:
        """[lattices, slots of nodes and then of links] whether NONE, SOME or ALL items of a lattice have a field."""
        lattices = len(node_offsets) - 1
        layout = _layout(self.given, np.array([[len(self.nodes)], [len(self.links)]])).ravel()
        if lattices == 1:
            return layout[None]
        sizes = np.diff(node_offsets), np.diff(link_offsets)
        if SOME not in layout and sizes[0].all() and sizes[1].all():  # so each of them has the layout of all
            return np.broadcast_to(layout, (lattices, len(layout)))
        nodes = _layout(self.nodes.counts(node_offsets), sizes[0][:, None])
        return np.hstack([nodes, _layout(self.links.counts(link_offsets), sizes[1][:, None])])


def _layout(counts: Offsets, sizes: Offsets) -> Offsets:
    layout: Offsets = np.where(counts < sizes, SOME, ALL) * (counts > 0)
    return layout


class Scanner:
    """Scans one text after another into the same arrays: what it gives is good until the next `scan`."""

    def __init__(self) -> None:
        self._whole = np.empty((2, 0, kernels.WHOLES), np.int64)
        self._value = np.empty((2, 0, kernels.COLUMNS))
        self._header = np.empty((0, 4), np.int64)

    def scan(self, texts: Sequence[LatticeText], *, quotes: bool, max_items: int) -> ScannedText:
        """The fields of texts that follow each other. `quotes`: whether values may be quoted and escaped.

        Of a single text at most `max_items` nodes and as many links are kept, however many there are.
        """
        text = texts[0] if len(texts) == 1 else replace(texts[0], end=texts[-1].end)
        size = text.end - text.start
        rows = min(max_items, size // 4 + 1) if len(texts) == 1 else size // 4 + 1  # "I=0 "
        fields = min(len(texts) * MAX_HEADER, size // 2 + 1)  # "= "
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
        return ScannedText(
            Items(self._whole[0, :nodes], self._value[0, :nodes]),
            Items(self._whole[1, :links], self._value[1, :links]),
            given,
            nodes,
            links,
            self._header[: count[kernels.N_HEADER]],
        )

    def _run(self, text: LatticeText, quotes: bool, late: Offsets) -> tuple[Offsets, Offsets]:
        count, given = np.zeros(kernels.COUNTS, np.int64), np.zeros((2, kernels.SLOTS), np.int64)
        data = np.frombuffer(text.data, np.uint8)
        kernels.scan(
            data, text.start, text.end, quotes, self._whole, self._value, given, self._header, late, count
        )  # fmt: skip
        if count[kernels.STATUS] != kernels.OK:
            raise _refusal(text, *count[kernels.STATUS :].tolist())
        return count, given


def _refusal(text: LatticeText, status: int, start: int, end: int, field: int) -> InputError:
    shown = repr(text.data[start : min(end, start + 40)].decode("utf-8", "replace"))
    if status == kernels.SUBLATTICE_USED:
        return sublattice(text, shown, start)
    if status == kernels.BINARY:
        return text.error(f"the field {shown} is binary", start, "Have the lattice written as text (HTK: no B in -q)")
    messages = {
        kernels.NO_EQUALS: f"expected NAME=VALUE, found {shown}",
        kernels.NOT_WHOLE: f"the {TITLES.get(field)} is {shown}, not a whole number",
        kernels.NOT_NUMBER: f"the {TITLES.get(field)} is {shown}, not a number",
        kernels.NO_NODES: "a link without start node S or end node E",
        kernels.LONG_HEADER: f"the header has more than {MAX_HEADER} fields",
    }
    return text.error(messages[status], start)


def sublattice(text: LatticeText, name: str, at: int) -> InputError:
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
    plain, index = bytearray(), 0
    while index < len(value):
        if value[index] == ord("\\") and index + 1 < len(value):
            digits = value[index + 1 : index + 4]
            octal = len(digits) - len(digits.lstrip(b"01234567"))
            plain.append(int(digits[:octal], 8) & 255 if octal else value[index + 1])
            index += 1 + (octal or 1)
        else:
            plain.append(value[index])
            index += 1
    return bytes(plain)

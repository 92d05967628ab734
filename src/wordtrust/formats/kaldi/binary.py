"""Kaldi lattices in binary, CompactLattice and Lattice, single or double precision: archives, and single lattices.

What Kaldi's decoders write by default (`ark:lat.1`). `binary_kernels` describes the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ...base.arrays import csr_offsets
from ...base.errors import InputError
from ...base.problems import Problems
from ...lattices.lattice import Floats, Ints, Lattices, Offsets
from ..digits import Bytes
from ..format import Format, ReadOptions
from ..inputs import Stream
from . import binary_kernels as fst
from .lattices import KaldiBatch, KaldiReader

NAME = "kaldi-binary"
PIECE = 1 << 22
_BEGINNING = re.compile(rb"(?:[^\s\0]{1,%d} (?:\0B)?)?%s" % (fst.MAX_KEY, re.escape(fst.MAGIC)))
NO_LATTICE = "Graphs to decode or train with (HCLG.fst, fsts.*.gz) hold nothing that was recognised; lat.*.gz do"
_CUT_OFF = "The file is cut off or damaged: copy or make it again"
_MARK = b"\0B"  # before binary objects of other kinds; lattices have none, but copies of them may
_SHORT = 256  # bytes that nearly all names and headers fit into
_ROOM = 32  # readable bytes behind the data, for the kernels


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # all formats are asked alike
    """OpenFst's magic number, alone or after a name, and arcs of a lattice."""
    beginning = _BEGINNING.match(head)
    if not beginning:
        return 0.0
    header = fst.read_header(head[beginning.end() - len(fst.MAGIC) :])
    return 1.0 if isinstance(header, fst.FstHeader) else 0.3


def other_graph(head: bytes) -> str:
    """What graph of OpenFst, and no lattice, a file begins with; empty if it begins with none."""
    beginning = _BEGINNING.match(head)
    header = fst.read_header(head[beginning.end() - len(fst.MAGIC) :]) if beginning else None
    return header if isinstance(header, str) and header.endswith("not a lattice") else ""


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """Lattices of a binary file, batch by batch."""
    reader = KaldiReader(stream.name, options, problems, form=NAME, place="byte")
    for batch in reader.parsed(stream, PIECE, lambda source: Archive(source, reader, stream.stem)):
        yield from reader.lattices(batch.batch(reader))


@dataclass(slots=True)
class ArchiveEntry:
    """A lattice in an archive."""

    utt: str
    place: int  # byte of the file where its name, or else its header, begins
    at: int  # place of its states in the buffer
    header: fst.FstHeader
    end: int  # how far it was followed
    progress: Offsets  # see `binary_kernels.walk`
    states: int = 0  # passed so far
    arcs: int = 0
    finals: int = 0

    def follow(self, data: Bytes, size: int, *, last: bool) -> int:
        """Go on to its end or that of the first `size` bytes; gives MORE, DONE or BAD."""
        header = self.header
        status, self.end = fst.walk(data, size, self.end, self.progress, header.cost_size, header.compact)
        _, arcs_left, self.states, self.arcs, self.finals = self.progress.tolist()
        if status == fst.MORE and last and header.states < 0 and self.end == size and not arcs_left:
            return fst.DONE
        return status

    def larger_than(self, arcs: int) -> bool:
        """Whether it has more arcs than this, or so many states that it must have."""
        return self.arcs > arcs or self.states > arcs + 1


@dataclass(slots=True)
class ArchiveBatch:
    """Some lattices of an archive as arrays, words still numbers."""

    entries: list[ArchiveEntry]
    arcs: Ints  # [source, target, label, frames]
    costs: Floats
    finals: Ints  # [state, frames]
    final_costs: Floats

    @classmethod
    def parse(cls, data: Bytes, entries: list[ArchiveEntry]) -> ArchiveBatch:
        """Read lattices that were followed to their ends."""
        n_arcs, n_finals = sum(entry.arcs for entry in entries), sum(entry.finals for entry in entries)
        arcs, costs = np.empty((4, n_arcs), np.int32), np.empty((2, n_arcs), np.float32)
        finals, final_costs = np.empty((2, n_finals), np.int32), np.empty((2, n_finals), np.float32)
        headers = [(entry.at, entry.states, entry.header.cost_size, entry.header.compact) for entry in entries]
        fst.parse(data, np.array(headers, np.int64), arcs, costs, finals, final_costs)
        return cls(entries, arcs, costs, finals, final_costs)

    def batch(self, reader: KaldiReader) -> KaldiBatch:
        """The same with words looked up."""
        starts = np.array([entry.header.start for entry in self.entries])
        states = np.array([entry.states for entry in self.entries])
        tokens, token = reader.look_up(self.arcs[2])
        return KaldiBatch(
            utts=[entry.utt for entry in self.entries],
            tokens=tokens,
            place=np.array([entry.place for entry in self.entries], np.int64),
            framed=np.array([not entry.header.compact for entry in self.entries]),
            start=np.where((starts >= 0) & (starts < states), starts, states).astype(np.int32),
            states=states.astype(np.int32),
            arc_offsets=csr_offsets([entry.arcs for entry in self.entries]),
            final_offsets=csr_offsets([entry.finals for entry in self.entries]),
            source=self.arcs[0],
            target=self.arcs[1],
            label=self.arcs[2],
            token=token,
            frames=self.arcs[3],
            graph=self.costs[0],
            acoustic=self.costs[1],
            final_state=self.finals[0],
            final_frames=self.finals[1],
            final_graph=self.final_costs[0],
            final_acoustic=self.final_costs[1],
        )


class Archive:
    """Batches of lattices, and an error for each that is too large; raises where the bytes make no sense."""

    def __init__(
        self, source: Iterator[bytes], reader: KaldiReader, unnamed: str = "", *, place: int = 0, single: bool = False
    ) -> None:
        self._source, self._reader = source, reader
        self._single = single  # stop after the first lattice
        self._unnamed = unnamed  # the name of a first lattice that has none
        self._data: Bytes = np.empty(0, np.uint8)
        self._filled = 0
        self._base = place  # place in the file of the buffer's first byte
        self._at = 0  # where the next lattice begins in the buffer
        self._entry: ArchiveEntry | None = None  # the one that is being followed

    def __iter__(self) -> Iterator[ArchiveBatch | InputError]:
        for piece in chain(self._source, [b""]):
            self._append(piece)
            for item in self._whole(last=not piece):
                yield item
                if self._single:
                    return

    def _append(self, piece: bytes) -> None:
        """Forget what was used, and add a piece; room is doubled, so that a large lattice is not copied too often."""
        kept = self._data[self._at : self._filled]
        filled = len(kept) + len(piece)
        grown = self._data if filled + _ROOM <= len(self._data) else np.empty(2 * filled + _ROOM, np.uint8)
        grown[: len(kept)] = kept.copy() if grown is self._data else kept
        grown[len(kept) : filled] = np.frombuffer(piece, np.uint8)
        grown[filled : filled + _ROOM] = 0
        if self._entry is not None:
            self._entry.at -= self._at
            self._entry.end -= self._at
        self._base += self._at
        self._data, self._filled, self._at = grown, filled, 0

    def _whole(self, *, last: bool) -> Iterator[ArchiveBatch | InputError]:
        entries: list[ArchiveEntry] = []
        too_large: list[InputError] = []
        failed: InputError | None = None
        try:
            while (entry := self._next(last=last)) is not None:
                if entry.larger_than(self._reader.options.max_arcs):
                    where = {"file": self._reader.file, "utt": entry.utt, "place": f"byte {entry.place}"}
                    arcs = max(entry.arcs, entry.states - 1)
                    too_large.append(self._reader.options.too_many_arcs(arcs, **where))
                else:
                    entries.append(entry)
                if self._single:
                    break
        except InputError as error:
            failed = error
        if entries:
            yield ArchiveBatch.parse(self._data, entries)
        yield from too_large
        if failed:
            raise failed

    def _next(self, *, last: bool) -> ArchiveEntry | None:
        """The next lattice that is whole; None if the buffer has no more."""
        entry = self._entry or self._begin(last=last)
        if entry is None:
            return None
        status = entry.follow(self._data, self._filled, last=last)
        self._entry = None if status == fst.DONE else entry
        if status == fst.DONE or entry.larger_than(self._reader.options.max_arcs):
            self._at = entry.end  # if it is too large, its bytes are of no use
        if status == fst.DONE:
            return entry
        if status == fst.BAD or last:
            message = "the bytes of a lattice make no sense" if status == fst.BAD else _cut(entry)
            raise self._reader.error(message, utt=entry.utt, place=self._base + entry.end, remedy=_CUT_OFF)
        return None

    def _begin(self, *, last: bool) -> ArchiveEntry | None:
        """Read a name and a header; None at the end, and where more bytes are needed."""
        for size in (_SHORT, fst.MAX_KEY + fst.HEADER_SIZE):
            head = self._data[self._at : min(self._filled, self._at + size)].tobytes()
            name, at = _name(head)
            header = fst.read_header(head[at:])
            if header is not None:
                break
        file_position = self._base + self._at
        if header is None and last and head.strip():
            header = "the end of the file inside a header"
        elif header is None and len(head) > fst.MAX_KEY:
            header = "no name of an utterance"
        if header is None:
            return None
        utt = self._utt(name, file_position)
        if isinstance(header, str):
            remedy = NO_LATTICE if other_graph(head[at:]) else _CUT_OFF
            raise self._reader.error(f"found {header}", utt=utt, place=file_position + at, remedy=remedy)
        states = header.states if header.states >= 0 else np.iinfo(np.int64).max
        begin = self._at + at + header.size
        return ArchiveEntry(utt, file_position, begin, header, begin, np.array([states, 0, 0, 0, 0]))

    def _utt(self, name: bytes, file_position: int) -> str:
        try:
            utt, self._unnamed = name.decode() or self._unnamed, ""
        except UnicodeDecodeError:
            utt = ""
        if not utt:
            message = f"found no name of an utterance in UTF-8, but {name[:40]!r}"
            raise self._reader.error(message, place=file_position, remedy=_CUT_OFF)
        return utt


def _name(head: bytes) -> tuple[bytes, int]:
    """The name of an utterance, and where its lattice begins; there may be none in front of a first lattice."""
    if head.startswith(fst.MAGIC):
        return b"", 0
    name, space, _ = head.partition(b" ")
    at = len(name) + len(space)
    return name, at + len(_MARK) if head.startswith(_MARK, at) else at


def _cut(entry: ArchiveEntry) -> str:
    announced = f" of {entry.header.states:,}" if entry.header.states >= 0 else ""
    return f"the file ends inside a lattice, in state {entry.states:,}{announced}"


FORMAT = Format(name=NAME, title="Kaldi binary lattices", suffixes=(), sniff=sniff, read=read)

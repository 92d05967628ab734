"""Kaldi lattices as text, CompactLattice and Lattice: archives, and files of one lattice without a name line.

Words are numbers (with a words.txt) or already words. Times come from the number of transition ids and the frame
length. What `lattice-copy ark:- ark,t:-` prints; `kaldi_parse` describes the lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ..assemble import Problems
from ..lattice import Lattices
from . import kaldi_parse as kernel
from .ahead import pieces
from .base import Format, ReadOptions
from .digits import Bytes
from .inputs import MAX_DOCUMENT, Stream
from .kaldi import Reading
from .kaldi_lines import LineParser

NAME = "kaldi-text"
_PIECE = 1 << 23
_EMPTY_LINE = re.compile(rb"^[ \t\r]*\n", re.MULTILINE)
_COMPACT_ARC = re.compile(rb"\d+[ \t]+\d+[ \t]+\S+[ \t]+[^\s,]+,[^\s,]+,[\d_]*[ \t\r]*")
_FRAME_ARC = re.compile(rb"\d+[ \t]+\d+[ \t]+\S+[ \t]+\S+[ \t]+[^\s,]+,[^\s,]+[ \t\r]*")
_BARE_ARC = re.compile(rb"\d+[ \t]+\d+[ \t]+\S+([ \t]+\S+)?[ \t\r]*")
_FINAL = re.compile(rb"\d+([ \t]+[^\s,]+,[^\s,]+(,[\d_]*)?)?[ \t\r]*")


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # all formats are asked alike
    """Kaldi's weights have commas, which sets them apart from other text of arcs; else the name line must do."""
    lines = head.lstrip().split(b"\n", 20)[:20]
    named = bool(lines) and len(lines[0].split()) == 1
    arcs = lines[1:] if named else lines
    for line in arcs:
        if _COMPACT_ARC.fullmatch(line) or _FRAME_ARC.fullmatch(line):
            return 1.0
        if not (_BARE_ARC.fullmatch(line) or _FINAL.fullmatch(line)):
            return 0.0
    found = any(_BARE_ARC.fullmatch(line) for line in arcs)
    return 0.0 if not found else 0.6 if named else 0.2


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """Lattices of a text file, chunk by chunk."""
    reading = Reading(stream.name, options, problems, form=NAME, place="line")
    parser = LineParser(reading, unnamed=stream.stem)
    chunks = _Chunks(stream, reading)
    for data, size in chunks:
        found, lines = parser.found(data, size, chunks.line)
        chunks.line += lines
        yield from reading.lattices(found)


class _Chunks:
    """A text file in chunks that end where a lattice ends, in one buffer that is used again."""

    def __init__(self, stream: Stream, reading: Reading) -> None:
        self._stream, self._reading = stream, reading
        self._data: Bytes = np.empty(0, np.uint8)
        self._filled = 0
        self.line = 1  # of the file, where the next chunk begins

    def __iter__(self) -> Iterator[tuple[Bytes, int]]:
        source = pieces(self._stream, _PIECE)
        limit = 2 * _PIECE
        for piece in source:
            seen = self._filled
            self._append(piece)
            end = kernel.last_empty_line(self._data, max(0, seen - 64), self._filled)
            if end > 0:
                yield self._data, end
                self._drop(end)
                limit = 2 * _PIECE
            elif self._filled > limit:
                limit = 2 * self._filled  # looking at all of it again is worth it when it has doubled
                self._check_size(source)
        if self._filled:
            yield self._data, self._filled

    def _append(self, piece: bytes) -> None:
        filled = self._filled + len(piece)
        room = filled + len(kernel.PADDING)
        if room > len(self._data):
            grown = np.empty(room if room < _PIECE else 2 * room, np.uint8)
            grown[: self._filled] = self._data[: self._filled]
            self._data = grown
        self._data[self._filled : room] = np.frombuffer(piece + kernel.PADDING, np.uint8)
        self._filled = filled

    def _drop(self, end: int) -> None:
        left = self._filled - end + len(kernel.PADDING)
        self._data[:left] = self._data[end : end + left].copy()
        self._filled -= end

    def _check_size(self, source: Iterator[bytes]) -> None:
        """Pass over a lattice with too many arcs; what has few arcs and yet no end is no lattice."""
        arcs = kernel.count_arcs(self._data, self._filled)
        if arcs > self._reading.options.max_arcs:
            self._pass_over(source)
        elif self._filled > MAX_DOCUMENT:
            raise self._reading.error(
                f"a lattice has {self._filled:,} bytes and no end", place=self.line, remedy="Is this Kaldi text?"
            )

    def _pass_over(self, source: Iterator[bytes]) -> None:
        text = self._data[: self._filled].tobytes()
        utt = text.split(maxsplit=1)[0].decode(errors="replace")
        place, arcs = f"line {self.line}", 0
        self._data, self._filled = np.empty(0, np.uint8), 0
        while text:
            end = _EMPTY_LINE.search(text)
            cut = end.end() if end else text.rfind(b"\n") + 1
            arcs += kernel.count_arcs(np.frombuffer(text, np.uint8), cut)
            self.line += text.count(b"\n", 0, cut)
            if end:
                self._append(text[cut:])
                break
            piece = next(source, b"")
            text = text[cut:] + piece if piece else b""
        error = self._reading.options.too_many_arcs(arcs, file=self._reading.file, utt=utt, place=place)
        self._reading.problems.report(error)


FORMAT = Format(
    name=NAME,
    title="Kaldi lattice text",
    suffixes=(".ark", ".ark.txt", ".lat.txt"),
    sniff=sniff,
    read=read,
)

"""Kaldi lattices as text, CompactLattice and Lattice: archives, and files of one lattice without a name line.

Words are numbers (with a words.txt) or already words. Times come from the number of transition ids and the frame
length. What `lattice-copy ark:- ark,t:-` prints; `kaldi_parse` describes the lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, takewhile

import numpy as np

from ...base.errors import InputError
from ...lattices.assemble import Problems
from ...lattices.lattice import Lattices
from ..ahead import ahead, pieces
from ..base import Format, ReadOptions
from ..inputs import MAX_DOCUMENT, Stream
from . import parse as kernel
from .common import Reading
from .lines import Chunk, TextLattices
from .write import write

NAME = "kaldi-text"
_PIECE = 1 << 22
_LARGE = 1 << 24  # from this size on, one lattice is watched for too many arcs
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
    for line in takewhile(bytes.strip, arcs):
        if _COMPACT_ARC.fullmatch(line) or _FRAME_ARC.fullmatch(line):
            return 1.0
        if not (_BARE_ARC.fullmatch(line) or _FINAL.fullmatch(line)):
            return 0.0
    found = any(_BARE_ARC.fullmatch(line) for line in arcs)
    return 0.0 if not found else 0.6 if named else 0.2


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """Lattices of a text file, chunk by chunk."""
    reading = Reading(stream.name, options, problems, form=NAME, place="line")
    text = TextLattices(reading, unnamed=stream.stem)
    for item in _parsed(stream, reading):
        if isinstance(item, InputError):
            problems.report(item)
        else:
            yield from reading.lattices(text.found(item))


def _parsed(stream: Stream, reading: Reading) -> Iterator[Chunk | InputError]:
    """A file in chunks. If it is not a small one, threads unpack and parse while the last chunk is worked on."""
    source = pieces(stream, _PIECE)
    first = next(source, b"")
    if len(first) < _PIECE:
        return iter(_Chunks(iter([first]), reading))
    return ahead(iter(_Chunks(chain([first], ahead(source)), reading)))


class _Chunks:
    """Parsed chunks, cut where lattices end, and an error for each lattice that is too large to be kept."""

    def __init__(self, source: Iterator[bytes], reading: Reading) -> None:
        self._source, self._reading = source, reading
        self._line = 1  # where the next chunk begins

    def __iter__(self) -> Iterator[Chunk | InputError]:
        parts: list[bytes] = []
        limit = _LARGE
        for piece in self._source:
            end = kernel.last_empty_line(np.frombuffer(piece, np.uint8))
            if end > 0:
                yield self._chunk([*parts, piece[:end]])
                parts, limit = [piece[end:]], _LARGE
                continue
            parts.append(piece)
            size = sum(map(len, parts))
            if size > limit:
                limit = 2 * size  # looking at all of it again is worth it when it has doubled
                text = b"".join(parts)
                parts = [text]
                if kernel.count_arcs(np.frombuffer(text, np.uint8)) > self._reading.options.max_arcs:
                    error, rest = self._pass_over(text)
                    yield error
                    parts = [rest]
                elif size > MAX_DOCUMENT:
                    found = f"a lattice has {size:,} bytes and does not end"
                    raise self._reading.error(found, place=self._line, remedy="Is this Kaldi text?")
        if any(parts):
            yield self._chunk(parts)

    def _chunk(self, parts: list[bytes]) -> Chunk:
        chunk = Chunk.parse(parts, self._line)
        self._line += chunk.lines
        return chunk

    def _pass_over(self, text: bytes) -> tuple[InputError, bytes]:
        """Skip a lattice with too many arcs. Gives the error about it and what comes after it."""
        utt = text.split(maxsplit=1)[0].decode(errors="replace")
        place, arcs, rest = f"line {self._line}", 0, b""
        while text:
            end = _EMPTY_LINE.search(text)
            cut = end.end() if end else text.rfind(b"\n") + 1
            arcs += kernel.count_arcs(np.frombuffer(text[:cut].rstrip() + b"\n", np.uint8))
            self._line += text.count(b"\n", 0, cut)
            if end:
                rest = text[cut:]
                break
            piece = next(self._source, b"")
            text = text[cut:] + piece if piece else b""
        return self._reading.options.too_many_arcs(arcs, file=self._reading.file, utt=utt, place=place), rest


FORMAT = Format(
    name=NAME,
    title="Kaldi lattice text",
    suffixes=(".ark", ".ark.txt", ".lat.txt"),
    sniff=sniff,
    read=read,
    write=write,
)

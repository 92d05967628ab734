"""Kaldi script files: a list of utterances and where their lattices are, `utt path` or `utt path:offset` a line.

Files are looked for from the current folder, then from that of the list. Commands (`... |`) are never run. A list
names files wherever they are, as that is what it is for; one inside an archive is refused, as nobody has seen it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from ...base.errors import InputError
from ...base.problems import Problems
from ...lattices.assemble import BATCH_ARCS
from ...lattices.lattice import Lattices
from ..format import Format, ReadOptions
from ..inputs import MAX_DOCUMENT, Stream, unpacked
from . import binary_kernels as fst
from . import text_kernels as kernel
from .binary import Archive
from .lattices import KaldiBatch, KaldiReader, join
from .text import TextChunk, TextLattices

NAME = "kaldi-scp"
_OFFSET = re.compile(r"(.+):(\d{1,18})")
_LISTED = re.compile(rb"\S++[ \t]++(\S.*)")
_PLACE = re.compile(rb":\d+$|\|$")
_EMPTY_LINE = re.compile(rb"\n[ \t\r]*\n")
_FIRST_READ = 1 << 16
_MOST_WAITING = 1_000  # lattices, before they are checked
_AGAIN = "Make the list again: lattice-copy ark:OLD.ark ark,scp:NEW.ark,NEW.scp"


def sniff(head: bytes, name: str) -> float:
    """Two fields a line, the second of them a place in a file, a file, or a command."""
    lines = [line for line in head.split(b"\n", 20)[:20] if line.strip()]
    locations = [_location(line) for line in (lines[:-1] if len(lines) > 1 else lines)]
    if not all(locations) or not locations:
        return 0.0
    sure = any(_PLACE.search(location) for location in locations)
    return 1.0 if sure and name.endswith(".scp") else 0.9 if sure else 0.7 if name.endswith(".scp") else 0.1


def _location(line: bytes) -> bytes:
    """The second of two fields if it can be a place in a file, a file or a command, else nothing."""
    listed = _LISTED.fullmatch(line)
    location = listed[1].rstrip(b" \t\r") if listed else b""
    is_file = len(location.split(None, 1)) == 1 and (b"/" in location or b"." in location or _PLACE.search(location))
    return location if is_file or (location.endswith(b"|") and len(location) > 1) else b""


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """The lattices that a list names, in its order."""
    if stream.name.startswith(f"{stream.path}:"):
        raise stream.error("a list of files inside an archive", remedy="Unpack the archive and look at the list")
    reader = KaldiReader(stream.name, options, problems, form=NAME, place="line")
    with _ListedFiles(stream.path.parent, reader) as files:
        waiting: list[KaldiBatch] = []
        for line_number, line in stream.lines():
            try:
                lattice = files.lattice(*_entry(line), line_number) if line.strip() else None
            except InputError as error:
                problems.report(error.at(file=stream.name, place=f"line {line_number}"))
                continue
            if lattice is None:
                continue
            if waiting and (_is_full(waiting) or lattice.tokens is not waiting[0].tokens):
                yield from reader.lattices(join(waiting))
                waiting = []
            waiting.append(lattice)
        if waiting:
            yield from reader.lattices(join(waiting))


def _is_full(waiting: list[KaldiBatch]) -> bool:
    return len(waiting) >= _MOST_WAITING or sum(len(batch.source) for batch in waiting) >= BATCH_ARCS


def _entry(line: bytes) -> tuple[str, str, int]:
    """Name, path and offset (-1: none) of a line."""
    try:
        utt, _, location = line.decode().replace("\t", " ").strip(" \r").partition(" ")
    except UnicodeDecodeError:
        raise InputError("the line is not UTF-8", remedy="Convert the list to UTF-8") from None
    location = location.strip()
    if not location:
        raise InputError(f"{utt[:60]!r} has no file", remedy="A line is `utt path` or `utt path:offset`")
    if location.endswith("|"):
        raise InputError(
            f"a command instead of a file: {location[:60]!r}",
            utt=utt,
            remedy="Commands in lists are never run: run it yourself, and list the file that it writes",
        )
    with_offset = _OFFSET.fullmatch(location)
    return (utt, with_offset[1], int(with_offset[2])) if with_offset else (utt, location, -1)


class _ListedFiles:
    """The files that a list names; the last one stays open for the next line."""

    def __init__(self, folder: Path, reader: KaldiReader) -> None:
        self._folder, self._reader = folder, reader
        self._text = TextLattices(reader)
        self._named = ""
        self._path = Path()
        self._raw: BinaryIO = io.BytesIO()

    def __enter__(self) -> _ListedFiles:
        return self

    def __exit__(self, *error: object) -> None:
        self._raw.close()

    def lattice(self, utt: str, named: str, offset: int, line: int) -> KaldiBatch | None:
        """One lattice; None if it is bad and was reported."""
        self._open(named, utt)
        try:
            stream = self._stream(utt, offset)
            head = stream.head(fst.MAX_KEY + fst.HEADER_SIZE)
            batch = self._binary(stream, utt, offset) if fst.MAGIC in head else self._lines(stream, utt, offset)
        except OSError as error:
            raise InputError(f"{self._path} cannot be read: {error.strerror}", utt=utt) from None
        if batch is None or not batch.utts:
            return None
        if batch.utts != [utt]:
            raise InputError(f"{self._path} has utterance {batch.utts[0]!r} there", utt=utt, remedy=_AGAIN)
        return replace(batch, place=np.array([line]))

    def _open(self, named: str, utt: str) -> None:
        if named == self._named:
            return
        paths = [Path(named), self._folder / named]
        try:
            path = next((candidate for candidate in paths if candidate.is_file()), None)
            if path is None:
                tried = " nor ".join(dict.fromkeys(map(str, paths)))
                raise InputError(f"there is no file {tried}", utt=utt, remedy="Run it from where the list was made")
            raw = path.open("rb")
        except (OSError, ValueError) as error:
            raise InputError(f"{named[:200]!r} cannot be opened: {error}", utt=utt) from None
        self._raw.close()
        self._raw, self._path, self._named = cast(BinaryIO, raw), path, named
        self._text = TextLattices(self._reader)

    def _stream(self, utt: str, offset: int) -> Stream:
        """The bytes of a lattice and what follows; before an offset stands the utterance's name."""
        self._raw.seek(0)
        if offset <= 0:
            return unpacked(self._raw, str(self._path), self._path)
        name = f"{utt} ".encode()
        size = self._raw.seek(0, io.SEEK_END)
        if offset >= size:
            raise InputError(f"{self._path} has {size:,} bytes, and no byte {offset:,}", utt=utt, remedy=_AGAIN)
        begin = max(0, offset - max(len(name), 24))
        self._raw.seek(begin)
        before = self._raw.read(offset - begin)
        if not before.endswith(name):
            raise InputError(
                f"before byte {offset} of {self._path} the name of the utterance should stand, not {before!r}",
                utt=utt, remedy=_AGAIN,
            )  # fmt: skip
        return Stream(self._raw, str(self._path), self._path)

    def _binary(self, stream: Stream, utt: str, offset: int) -> KaldiBatch | None:
        reader = KaldiReader(str(self._path), self._reader.options, self._reader.problems, form=NAME, place="byte")
        archive = Archive(_growing(stream), reader, utt, place=max(0, offset), single=True)
        for item in archive:
            if not isinstance(item, InputError):
                return item.batch(self._reader)
            self._reader.problems.report(item)
        return None

    def _lines(self, stream: Stream, utt: str, offset: int) -> KaldiBatch:
        self._text.unnamed = utt
        where = f"{self._path}:{offset}" if offset >= 0 else str(self._path)
        return self._text.batch(TextChunk.parse([self._to_empty_line(stream, utt)], 1, where))

    def _to_empty_line(self, stream: Stream, utt: str) -> bytes:
        """Text up to the end of the first lattice; its name may stand before it."""
        text = b""
        for piece in _growing(stream):
            text += piece
            if end := _EMPTY_LINE.search(text, len(text) - len(text.lstrip())):
                return text[: end.end()]
            arcs = kernel.count_arcs(np.frombuffer(text, np.uint8))
            if arcs > self._reader.options.max_arcs:
                raise self._reader.options.too_many_arcs(arcs, utt=utt)
            if len(text) > MAX_DOCUMENT:
                raise InputError(f"{self._path} has a lattice that does not end", utt=utt, remedy=_AGAIN)
        return text


def _growing(stream: Stream) -> Iterator[bytes]:
    """Larger and larger pieces: most lattices are small."""
    size = _FIRST_READ
    while piece := stream.read(size):
        yield piece
        size = min(2 * size, 1 << 24)


FORMAT = Format(name=NAME, title="Kaldi script file (scp)", suffixes=(".scp",), sniff=sniff, read=read)

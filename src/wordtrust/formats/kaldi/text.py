"""Kaldi lattices as text, CompactLattice and Lattice: archives, and files of one lattice without a name line.

Words are numbers (with a words.txt) or already words. Times come from the number of transition ids and the frame
length. What `lattice-copy ark:- ark,t:-` prints; `text_kernels` describes the lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np

from ...base.errors import InputError
from ...base.problems import Problems
from ...lattices.assemble import Tokens
from ...lattices.lattice import Flags, Floats, Ints, Lattices, Offsets
from ..digits import Bytes, single
from ..format import Format, ReadOptions
from ..inputs import MAX_DOCUMENT, Stream
from ..interning import intern
from . import text_kernels as kernel
from .lattices import KaldiBatch, KaldiReader, select
from .write import write

NAME = "kaldi-text"
PIECE = 1 << 22
_LARGE = 1 << 24  # from this size on, one lattice is watched for too many arcs
_EMPTY_LINE = re.compile(rb"^[ \t\r]*\n", re.MULTILINE)
_COMPACT_ARC = re.compile(rb"\d+[ \t]+\d+[ \t]+\S+[ \t]+[^\s,]+,[^\s,]+,[\d_]*[ \t\r]*")
_FRAME_ARC = re.compile(rb"\d+[ \t]+\d+[ \t]+\S+[ \t]+\S+[ \t]+[^\s,]+,[^\s,]+[ \t\r]*")
_BARE_ARC = re.compile(rb"\d+[ \t]+\d+[ \t]+\S+([ \t]+\S+)?[ \t\r]*")
_FINAL = re.compile(rb"\d+([ \t]+[^\s,]+,[^\s,]+(,[\d_]*)?)?[ \t\r]*")
_FIELD, _FIELD_END, _LINE_END = re.compile(rb"[^ \t\r\n]+"), re.compile(rb"[ \t\r\n]"), re.compile(rb"\n")
_LINES = (
    "A line is `source target word graph,acoustic,ids` or `source target ilabel olabel graph,acoustic`; for a final "
    "state, `state graph,acoustic,ids`"
)


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
    has_arcs = any(_BARE_ARC.fullmatch(line) for line in arcs)
    return 0.0 if not has_arcs else 0.6 if named else 0.2


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """Lattices of a text file, chunk by chunk."""
    reader = KaldiReader(stream.name, options, problems, form=NAME, place="line")
    text = TextLattices(reader, unnamed=stream.stem)
    for chunk in reader.parsed(stream, PIECE, lambda source: _TextChunks(source, reader)):
        yield from reader.lattices(text.batch(chunk))


class _TextChunks:
    """Parsed chunks, cut where lattices end, and an error for each lattice that is too large to be kept."""

    def __init__(self, source: Iterator[bytes], reader: KaldiReader) -> None:
        self._source, self._reader = source, reader
        self._line = 1  # where the next chunk begins

    def __iter__(self) -> Iterator[TextChunk | InputError]:
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
                if kernel.count_arcs(np.frombuffer(text, np.uint8)) > self._reader.options.max_arcs:
                    error, rest = self._pass_over(text)
                    yield error
                    parts = [rest]
                elif size > MAX_DOCUMENT:
                    message = f"a lattice has {size:,} bytes and does not end"
                    raise self._reader.error(message, place=self._line, remedy="Is this Kaldi text?")
        if any(parts):
            yield self._chunk(parts)

    def _chunk(self, parts: list[bytes]) -> TextChunk:
        chunk = TextChunk.parse(parts, self._line)
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
        return self._reader.options.too_many_arcs(arcs, file=self._reader.file, utt=utt, place=place), rest


@dataclass(slots=True)
class TextChunk:
    """A stretch of text that ends where a lattice ends, and what the kernel found in it."""

    data: Bytes
    line: int  # where it begins in its file
    lines: int
    utts: Offsets  # [utterances, columns of the kernel]
    arcs: Ints  # [rows of the kernel, arcs]
    costs: Floats  # [graph and acoustic, arcs]
    finals: Ints  # [states and frames, final states]
    final_costs: Floats
    odd: Offsets
    file: str = ""  # for messages, if it is not the file that is being read
    names: list[str] = field(default_factory=list)
    bad: dict[int, InputError] = field(default_factory=dict)  # by utterance

    @classmethod
    def parse(cls, parts: list[bytes], line: int, file: str = "") -> TextChunk:
        """Parse text (given in parts) that begins on line `line` and ends where a lattice ends."""
        data = np.frombuffer(b"".join([*parts, kernel.PADDING]), np.uint8)
        size = len(data) - len(kernel.PADDING)
        rows = kernel.count_lines(data[:size]) + 1
        arcs, costs = np.empty((5, rows), np.int32), np.empty((2, rows), np.float32)
        finals, final_costs = np.empty((2, rows), np.int32), np.empty((2, rows), np.float32)
        utts, odd = np.empty((rows, 8), np.int64), np.empty((rows, 4), np.int64)
        counts = kernel.parse(data, size, arcs, costs, finals, final_costs, utts, odd)
        n_utts, n_arcs, n_finals, n_odd, lines = counts
        return cls(
            data, line, lines, utts[:n_utts], arcs[:, :n_arcs], costs[:, :n_arcs],
            finals[:, :n_finals], final_costs[:, :n_finals], odd[:n_odd], file,
        )  # fmt: skip

    def owner(self, arc: int, column: int = kernel.ARCS) -> int:
        """Which utterance has this arc (or final state)."""
        return int(np.searchsorted(self.utts[:, column], arc, "right")) - 1

    def line_of(self, row: int, at: int) -> int:
        """The number of the line of utterance `row` that holds byte `at`."""
        begin = int(self.utts[row, kernel.KEY])
        before = self.data[begin:at]
        return self.line + int(self.utts[row, kernel.LINE]) - 1 + kernel.count_lines(before)

    def text(self, at: int, stop: re.Pattern[bytes]) -> bytes:
        """What stands at `at`, up to `stop`."""
        size = 64
        while not (end := stop.search(self.data[at : at + size].tobytes())):
            size *= 4
        return end.string[: end.start()]


class TextLattices:
    """Completes the chunks of one file; it remembers whether that file has words or their numbers."""

    def __init__(self, reader: KaldiReader, unnamed: str = "") -> None:
        self._reader = reader
        self.unnamed = unnamed  # the name of the next utterance, if it has none of its own
        self._spelled: bool | None = None  # words themselves, not numbers; None: not known yet

    def batch(self, chunk: TextChunk) -> KaldiBatch:
        """The lattices of a chunk; those that cannot be read are reported."""
        self._name(chunk)
        self._explain_bad_lines(chunk)
        self._read_odd_numbers(chunk)
        utts = chunk.utts
        tokens, token = self._tokens(chunk)
        lattices = KaldiBatch(
            utts=chunk.names,
            tokens=tokens,
            place=utts[:, kernel.LINE] + (chunk.line - 1),
            framed=utts[:, kernel.KIND] == kernel.FRAMED,
            start=utts[:, kernel.START].astype(np.int32),
            states=np.full(len(utts), -1, np.int32),
            arc_offsets=np.append(utts[:, kernel.ARCS], chunk.arcs.shape[1]),
            final_offsets=np.append(utts[:, kernel.FINALS], chunk.finals.shape[1]),
            source=chunk.arcs[kernel.SOURCE],
            target=chunk.arcs[kernel.TARGET],
            label=chunk.arcs[kernel.LABEL],
            token=token,
            frames=chunk.arcs[kernel.FRAMES],
            graph=chunk.costs[0],
            acoustic=chunk.costs[1],
            final_state=chunk.finals[0],
            final_frames=chunk.finals[1],
            final_graph=chunk.final_costs[0],
            final_acoustic=chunk.final_costs[1],
        )
        for row in sorted(chunk.bad):
            self._reader.problems.report(chunk.bad[row])
        return select(lattices, (row for row in range(len(utts)) if row not in chunk.bad)) if chunk.bad else lattices

    def _name(self, chunk: TextChunk) -> None:
        for row, (begin, end) in enumerate(chunk.utts[:, : kernel.KEY_END + 1].tolist()):
            name = chunk.data[begin:end].tobytes()
            try:
                chunk.names.append(name.decode() or self.unnamed)
            except UnicodeDecodeError:
                chunk.names.append(name.decode(errors="replace"))
                self._blame(chunk, row, begin, "the name of the utterance is not UTF-8", "Convert the file to UTF-8")
            if not chunk.names[-1]:
                remedy = "An utterance begins with a line that has its name alone"
                self._blame(chunk, row, begin, "an utterance has no name", remedy)
            self.unnamed = ""

    def _blame(self, chunk: TextChunk, row: int, at: int, message: str, remedy: str) -> None:
        file, place = chunk.file or self._reader.file, f"line {chunk.line_of(row, at)}"
        chunk.bad.setdefault(row, InputError(message, file=file, utt=chunk.names[row], place=place, remedy=remedy))

    def _explain_bad_lines(self, chunk: TextChunk) -> None:
        for row in np.flatnonzero(chunk.utts[:, kernel.BAD_AT] >= 0).tolist():
            at = int(chunk.utts[row, kernel.BAD_AT])
            self._blame(chunk, row, at, *explain(chunk.text(at, _LINE_END)))

    def _read_odd_numbers(self, chunk: TextChunk) -> None:
        for what, row, at, which in chunk.odd.tolist():
            costs = chunk.costs if what == kernel.ARC else chunk.final_costs
            for column, text in enumerate(chunk.text(at, _FIELD_END).split(b",")[:2]):
                if which & (1 << column):
                    value = single(text)
                    costs[column, row] = np.nan if value is None else value
                    if value is None:
                        owner = chunk.owner(row, kernel.ARCS if what == kernel.ARC else kernel.FINALS)
                        self._blame(chunk, owner, at, f"{_shown(text)} is no number where a cost belongs", _LINES)

    def _tokens(self, chunk: TextChunk) -> tuple[Tokens, Ints]:
        label = chunk.arcs[kernel.LABEL]
        spelled = label < 0
        if self._spelled is None and label.any():
            self._spelled = int(spelled.sum()) > int((label > 0).sum())  # a damaged word or two decide nothing
        if self._spelled:
            return self._reader.spelled, self._spelled_tokens(chunk)
        for arc in _first_of_each(chunk, spelled):
            at = int(chunk.arcs[kernel.LABEL_AT, arc])
            message = f"the word {_shown(chunk.text(at, _FIELD_END))} is not a number, but others in this file are"
            self._blame(chunk, chunk.owner(arc), at, message, _LINES)
        return self._reader.look_up(label)

    def _spelled_tokens(self, chunk: TextChunk) -> Ints:
        at = chunk.arcs[kernel.LABEL_AT]
        word_ids, first = np.empty(len(at), np.int32), np.empty(len(at), np.int64)
        count = intern(chunk.data, at, kernel.field_ends(chunk.data, at), word_ids, first)
        tokens = [self._spelled_token(chunk.text(start, _FIELD_END)) for start in at[first[:count]].tolist()]
        token = np.array(tokens, np.int32)[word_ids]
        for arc in _first_of_each(chunk, token < 0):
            self._blame(chunk, chunk.owner(arc), int(at[arc]), "a word is not UTF-8", "Convert the file to UTF-8")
        return token

    def _spelled_token(self, text: bytes) -> int:
        if text in (b"<eps>", b"0"):
            return 0
        try:
            return self._reader.spelled.id(text.decode())
        except UnicodeDecodeError:
            return -1


def _first_of_each(chunk: TextChunk, marked: Flags) -> Iterator[int]:
    """The first marked arc of each utterance that has one."""
    last = -1
    for arc in np.flatnonzero(marked).tolist():
        owner = chunk.owner(arc)
        if owner != last:
            yield arc
            last = owner


def _shown(text: bytes) -> str:
    """Some text of the file, for a message."""
    return repr(text[:60].decode(errors="replace"))


def explain(line: bytes) -> tuple[str, str]:
    """Why a line cannot be read, and what to do."""
    fields = _FIELD.findall(line)
    if not fields[0].isdigit():
        message = f"a line begins with {_shown(fields[0])} where the number of a state belongs"
        ending = "; a lattice ends with an empty line, and the next line names the next utterance"
        return message, _LINES + ending * (len(fields) == 1)
    if any(text.isdigit() and len(text) > 9 and int(text[:20]) > 2**31 - 2 for text in fields[:2]):
        message = f"the number of a state is too large: {_shown(line.strip())}"
        return message, "The file is damaged: copy or make it again"
    if len(fields) > 5:
        return f"a line has {len(fields)} fields: {_shown(line.strip())}", _LINES
    return f"cannot be read as an arc or a final state: {_shown(line.strip())}", _LINES


FORMAT = Format(NAME, "Kaldi lattice text", (".ark", ".ark.txt", ".lat.txt"), sniff=sniff, read=read, write=write)

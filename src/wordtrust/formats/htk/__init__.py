"""HTK's Standard Lattice Format, as HTK, SRILM, PocketSphinx and others write it (.slf, .lat).

A header, then a line for each node (I=) and each link (J=). A file holds one lattice, or several one after another,
each with a VERSION= line in its header.

PocketSphinx gives a link whose score came out positive (only <s> in mid-utterance) -424242 of its units instead,
"improbable but recognizable": -43440 as a natural logarithm. We keep it: no path takes such a link while there is
another, and its posterior is 0.

    header      what the header says
    scan        text to arrays of fields, with its compiled `kernels`
    lattices    what the fields mean
    posteriors  what posteriors mean: probabilities or logarithms
    write       lattices as HTK would write them
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, pairwise

from ...base.errors import InputError
from ...base.problems import Problems
from ...lattices.assemble import assemble_parts
from ...lattices.lattice import Lattices, Origin
from ..format import Format, ReadOptions
from ..inputs import CHUNK, Stream
from ..scaling import penalty_by_label
from .header import WRITTEN_BY_US, Author
from .lattices import SlfLattices, alike
from .scan import PADDING, LatticeText, Scanner, count_lines
from .write import write

_LONGEST = 1 << 29  # bytes of one lattice
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ITEM = re.compile(rb"^[ \t]*[IJ]=", re.MULTILINE)
_VERSION = re.compile(rb"^[ \t]*VERSION=[ \t]*[\"']?[0-9.]", re.MULTILINE)
_SIZE = re.compile(rb"^(?:[^\n#]*\s)?(?:N|NODES|L|LINKS)=[0-9]", re.MULTILINE)
_NODE_OR_LINK = re.compile(rb"^[ \t]*(?:I=[0-9]|J=[0-9][^\n]*\s(?:S|START|E|END)=[0-9])", re.MULTILINE)


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """The lattices of one file."""
    reader = _SlfReader(stream, options, problems)
    for texts in _texts(stream):
        yield from reader.read(texts)


class _SlfReader:
    """A file while it is read."""

    def __init__(self, stream: Stream, options: ReadOptions, problems: Problems) -> None:
        self._file, self._stem, self._options, self._problems = stream.name, stream.stem, options, problems
        self._tokens, self._scanner = options.shared_tokens(), Scanner()
        self._count = 0  # lattices so far

    def read(self, texts: list[LatticeText]) -> Iterator[Lattices]:
        """The lattices of some texts; a bad one is reported."""
        counts = range(self._count + 1, self._count + len(texts) + 1)
        names = [self._stem if count == 1 else f"{self._stem}-{count}" for count in counts]
        self._count += len(texts)
        for author, group in groupby(zip(texts, names, strict=True), lambda pair: Author.of(pair[0])):
            yield from self._read(list(group), author)

    def _read(self, texts: list[tuple[LatticeText, str]], author: Author) -> Iterator[Lattices]:
        """The lattices of texts by one program, with names for those that have none: scanned all at once.

        Where that fails, halves are scanned, down to the text that is to blame.
        """
        own, names = [text for text, _ in texts], [name for _, name in texts]
        try:
            scanned = self._scanner.scan(own, quotes=author.quotes, max_items=self._options.max_arcs)
        except InputError as error:
            if len(texts) == 1:
                self._report(error.at(utt=names[0]))
            else:
                yield from self._read(texts[: len(texts) // 2], author)
                yield from self._read(texts[len(texts) // 2 :], author)
            return
        for group in alike(own, names, scanned, author, self._options):
            if isinstance(group, InputError):
                self._report(group)
            else:
                yield from self._assembled(group, author)

    def _assembled(self, group: SlfLattices, author: Author) -> Iterator[Lattices]:
        origin = Origin(self._file, "htk", "given" if group.has_times else "aligned")
        scales = group.scales
        for raw in group.read(self._tokens):
            if isinstance(raw, InputError):
                self._report(raw)
                continue
            batches = assemble_parts(
                raw, self._tokens, origin=origin, scales=scales, problems=self._problems,
                max_arcs=self._options.max_arcs,
            )  # fmt: skip
            for batch in batches:  # what we wrote has a link for every word, and so its penalty
                yield batch if author.wordtrust else penalty_by_label(batch, scales, silent=False)

    def _report(self, error: InputError) -> None:
        self._problems.report(error.at(file=self._file))


def _texts(stream: Stream) -> Iterator[list[LatticeText]]:
    """The lattices of a file, those of each piece of it together."""
    if stream.head(3) == _BYTE_ORDER_MARK:
        stream.read(3)
    rest, waiting, line = b"", list[bytes](), 1
    for piece in stream.pieces(CHUNK):
        waiting.append(piece)
        if len(rest) + len(waiting) * CHUNK > _LONGEST:
            raise stream.error(f"a lattice is longer than {_LONGEST:,} bytes", remedy="Is this an HTK lattice?")
        if len(piece) < CHUNK or len(waiting) * CHUNK < len(rest):  # a long one is not copied again and again
            continue
        data = b"".join((rest, *waiting))
        starts = _starts(data)
        if len(starts) > 1:
            yield _cut(data, starts, line)
        line += count_lines(data, 0, starts[-1])
        rest, waiting = data[starts[-1] :], []
    data = b"".join((rest, *waiting, b"\n", PADDING))
    yield _cut(data, [*_starts(data), len(data) - len(PADDING)], line)


def _cut(data: bytes, starts: list[int], line: int) -> list[LatticeText]:
    """The lattices from each start to the next one."""
    texts, previous = [], 0
    for start, end in pairwise(starts):
        line += count_lines(data, previous, start)
        texts.append(LatticeText(data, start, end, line))
        previous = start
    return texts


def _starts(data: bytes) -> list[int]:
    """Where each lattice begins: after the last node or link before its VERSION= line."""
    starts = [0]
    while item := _ITEM.search(data, starts[-1]):
        version = data.find(b"\nVERSION=", item.end())
        if version < 0:
            break
        begin = version + 1
        while not _ITEM.match(data, previous := data.rfind(b"\n", 0, begin - 1) + 1):
            begin = previous
        starts.append(begin)
    return starts


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # the name says less than the content
    """Fields with these names in lines of NAME=VALUE are nothing else."""
    if b"VERSION=" not in head and b"I=" not in head and b"J=" not in head:
        return 0.0  # much quicker than the patterns
    version, size = _VERSION.search(head) is not None, _SIZE.search(head) is not None
    items = _NODE_OR_LINK.search(head) is not None
    if items and (version or size):
        return 1.0
    return 0.8 if version and size else 0.7 if items else 0.3 if version else 0.0


FORMAT = Format(
    "htk", "an HTK lattice (SLF)", (".slf", ".lat"), sniff=sniff, read=read, write=write,
    keeps_scales=lambda head: head.startswith(WRITTEN_BY_US),
)  # fmt: skip

"""HTK's Standard Lattice Format, as HTK, SRILM, PocketSphinx and others write it (.slf, .lat).

A header, then a line for each node (I=) and each link (J=). A file holds one lattice, or several one after another,
each with a VERSION= line in its header.

PocketSphinx gives a link whose score came out positive (only <s> in mid-utterance) -424242 of its units instead,
"improbable but recognizable": -43440 as a natural logarithm. We keep it: no path takes such a link while there is
another, and its posterior is 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..assemble import Builder, Problems, Tokens
from ..errors import InputError
from ..lattice import Lattices, Origin
from .base import Format, ReadOptions
from .htk_header import Author, read_header
from .htk_lattice import Draft, Labels, raw_lattice
from .htk_scan import Scanner, Text
from .htk_write import write
from .inputs import MAX_DOCUMENT, Stream

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ITEM = re.compile(rb"^[ \t]*[IJ]=", re.MULTILINE)
_VERSION = re.compile(rb"^[ \t]*VERSION=[ \t]*[\"']?[0-9.]", re.MULTILINE)
_SIZE = re.compile(rb"^(?:[^\n#]*\s)?(?:N|NODES|L|LINKS)=[0-9]", re.MULTILINE)
_NODE_OR_LINK = re.compile(rb"^[ \t]*(?:I=[0-9]|J=[0-9][^\n]*\s(?:S|START|E|END)=[0-9])", re.MULTILINE)


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """The lattices of one file."""
    tokens = Tokens(options.normalizer)
    builder = Builder(tokens, problems, origin=Origin(stream.name, "htk"))
    labels, scanner = Labels(tokens), Scanner(options.max_arcs)
    for number, text in enumerate(_texts(stream), 1):
        name = stream.stem if number == 1 else f"{stream.stem}-{number}"
        try:
            author = Author.of(text.data)
            scanned = scanner.scan(text, quotes=not author.pocketsphinx)
            header = read_header(text, scanned, author)
            name = header.utterance or name
            raw = raw_lattice(Draft(text, scanned, header, not author.pocketsphinx), labels, options)
        except InputError as error:
            problems.report(error.at(file=stream.name, utt=name))
        else:
            yield from builder.add(name, **raw)
    yield from builder.flush()


def _texts(stream: Stream) -> Iterator[Text]:
    """Each lattice of a file. The next one begins after the last node or link before its VERSION= line."""
    buffer, line, searched = bytearray(), 1, 0
    if stream.head(3) == _BYTE_ORDER_MARK:
        stream.read(3)
    for chunk in stream.chunks():
        buffer += chunk
        while (cut := _next_lattice(buffer, searched)) > 0:
            text = Text(bytes(buffer[:cut]), line)
            del buffer[:cut]
            line, searched = line + text.data.count(b"\n"), 0
            yield text
        searched = max(0, buffer.rfind(b"\n"))
        if len(buffer) > MAX_DOCUMENT:
            raise stream.error(f"a lattice is larger than {MAX_DOCUMENT:,} bytes", remedy="Is this an HTK lattice?")
    if not buffer.endswith(b"\n"):
        buffer += b"\n"
    yield Text(bytes(buffer), line)


def _next_lattice(buffer: bytearray, searched: int) -> int:
    """Where the second lattice in `buffer` begins; 0 if it holds only (a part of) one."""
    found = buffer.find(b"VERSION=", searched)
    while found >= 0:
        begin = buffer.rfind(b"\n", 0, found) + 1
        if not buffer[begin:found].strip() and _ITEM.search(buffer, 0, begin):
            break
        found = buffer.find(b"VERSION=", found + 1)
    if found < 0:
        return 0
    while not _ITEM.match(buffer, previous := buffer.rfind(b"\n", 0, begin - 1) + 1, begin):
        begin = previous
    return begin


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # the name says less than the content
    """Fields with these names in lines of NAME=VALUE are nothing else."""
    version, size = _VERSION.search(head) is not None, _SIZE.search(head) is not None
    items = _NODE_OR_LINK.search(head) is not None
    if items and (version or size):
        return 1.0
    return 0.8 if version and size else 0.7 if items else 0.3 if version else 0.0


FORMAT = Format(
    name="htk",
    title="an HTK lattice (SLF)",
    suffixes=(".slf", ".lat"),
    sniff=sniff,
    read=read,
    write=write,
)

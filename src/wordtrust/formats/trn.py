"""NIST TRN: an utterance a line, its words and then its name in parentheses; comments begin with `;;`.

    so it is (speaker-utterance)

There are no times and no confidences: every word lasts a second. Of alternatives `{ a / b }` the first is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..base.errors import InputError
from ..base.problems import Problems
from ..lattices.assemble import Builder, RawLattice, Tokens
from ..lattices.lattice import Lattices, Origin
from .chains import linear_lattice
from .format import Format, ReadOptions
from .inputs import Stream
from .nist_text import NO_WORD, Parts, parse_text

_BOM = b"\xef\xbb\xbf"


def sniff(head: bytes, name: str) -> float:
    """How surely these bytes are TRN: every line ends in a name in parentheses."""
    lines = head.removeprefix(_BOM).split(b"\n")[:500]
    if len(lines) > 1:
        lines.pop()  # it may be cut
    rows = [line.split() for line in lines if line.strip() and not line.lstrip().startswith(b";;")]
    if not rows or b"\0" in head or not all(_name(row[-1]) for row in rows):
        return 0.0
    return 0.9 if name.endswith(".trn") or any(len(row) > 1 for row in rows) else 0.3


def _name(field: bytes) -> bytes:
    """The name in `(name)`; empty for anything else."""
    inside = field[1:-1]
    return inside if field[:1] + field[-1:] == b"()" and b"(" not in inside and b")" not in inside else b""


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """One lattice a line, with one path."""
    tokens = options.shared_tokens()
    builder = Builder(tokens, problems, origin=Origin(stream.name, "trn", times="aligned"))
    for line_number, raw in stream.lines():
        line = raw.removeprefix(_BOM) if line_number == 1 else raw
        if not line.strip() or line.startswith(b";;"):
            continue
        try:
            yield from builder.add(_lattice(line, line_number, tokens, options))
        except InputError as error:
            problems.report(error.at(file=stream.name, place=f"line {line_number}"))
    yield from builder.flush()


def _lattice(line: bytes, line_number: int, tokens: Tokens, options: ReadOptions) -> RawLattice:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        raise InputError("the line is not UTF-8", remedy="Save the file as UTF-8") from None
    said, _, name = text.strip().rpartition("(")
    utt = name.removesuffix(")")
    if not utt or utt == name or utt.split() != [utt]:
        raise InputError("the line does not end in (utterance)", remedy="A TRN line is: text (utt)")
    try:
        words = _words(parse_text(said))
    except ValueError as error:
        raise InputError(str(error), utt=utt, remedy="Alternatives are written { a / b }") from None
    if len(words) > options.max_arcs:
        raise options.too_many_arcs(len(words), utt=utt)
    seconds = np.arange(len(words) + 1, dtype=np.float64)
    return linear_lattice(utt, tokens.ids(words), seconds[:-1], seconds[1:], None, place=line_number, times="aligned")


def _words(parts: Parts) -> Sequence[str]:
    words: list[str] = []
    for part in parts:
        if isinstance(part, list):
            words += _words(part[0])
        elif part != NO_WORD:
            words.append(part)
    return words


FORMAT = Format(name="trn", title="NIST TRN", suffixes=(".trn",), sniff=sniff, read=read)

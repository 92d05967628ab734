"""NIST TRN: an utterance a line, its words and then its name in parentheses; comments begin with `;;`.

    so it is (speaker-utterance)

There are no times and no confidences: every word lasts a second. Alternatives `{ a / b c / @ }` become parallel
branches, the first of which is the picked one; `@` is silence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..base.arrays import row_offsets
from ..base.errors import InputError
from ..base.problems import Problems
from ..lattices.assemble import Builder, RawLattice, Tokens
from ..lattices.lattice import Ints, Lattices, Origin
from .chains import SegmentWords, linear_lattice, segment_chains
from .format import Format, ReadOptions
from .inputs import Stream
from .references.nist_text import NO_WORD, Part, Parts, parse_text

MAX_BRANCHES = 100
Branches = list[list[str]]  # the words of each alternative

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
        segments = _segments(parse_text(said))
    except ValueError as error:
        raise InputError(str(error), utt=utt, remedy="Alternatives are written { a / b }") from None
    words = [word for branches in segments for branch in branches for word in branch]
    if len(words) > options.max_arcs:
        raise options.too_many_arcs(len(words), utt=utt)
    if any(len(branches) > 1 for branches in segments):
        return _branched(utt, segments, tokens.ids(words), line_number)
    seconds = np.arange(len(words) + 1, dtype=np.float64)
    lattice = linear_lattice(
        utt, tokens.ids(words), seconds[:-1], seconds[1:], None, place=line_number, times="aligned"
    )
    return replace(lattice, picked=[True] * len(lattice.source))


def _branched(utt: str, segments: Sequence[Branches], token: Ints, line_number: int) -> RawLattice:
    """Every segment lasts as many seconds as its longest branch has words; the words of others are spread over it."""
    timed, begin = [], 0.0
    for branches in segments:
        span = float(max(map(len, branches)))
        start = np.concatenate([begin + np.arange(len(row)) * span / max(len(row), 1) for row in branches])
        end = start + np.repeat([span / max(len(row), 1) for row in branches], [len(row) for row in branches])
        timed.append(SegmentWords(row_offsets(branches), start, end))
        begin += span
    graph = segment_chains(timed)
    is_first = [index == 0 for branches in segments for index in range(len(branches))]
    picked = np.array([*is_first, True])[graph.hypothesis]
    return graph.lattice(utt, token, place=line_number, picked=picked, times="aligned")


def _segments(parts: Parts) -> list[Branches]:
    """Alternatives, and the words between them as segments with one branch."""
    segments: list[Branches] = []
    for part in parts:
        branches = _branches(part)
        if len(branches) == 1 and segments and len(segments[-1]) == 1:
            segments[-1][0] += branches[0]
        elif any(branches):
            segments.append(branches)
    return segments


def _branches(part: Part) -> Branches:
    """All that a part may say, the first alternatives first; ValueError if that is too much."""
    if isinstance(part, str):
        return [[] if part == NO_WORD else [part]]
    branches: Branches = []
    for row in part:
        said: Branches = [[]]
        for inner in row:
            following = _branches(inner)
            if len(said) * len(following) > MAX_BRANCHES:
                raise ValueError(f"there are more than {MAX_BRANCHES} alternatives in one place")
            said = [[*before, *after] for before in said for after in following]
        branches += said
    if len(branches) > MAX_BRANCHES:
        raise ValueError(f"there are more than {MAX_BRANCHES} alternatives in one place")
    return branches


FORMAT = Format(name="trn", title="NIST TRN", suffixes=(".trn",), sniff=sniff, read=read)

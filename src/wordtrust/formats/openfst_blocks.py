"""OpenFst and k2 text as columns: which line is what, and which column.

OpenFst's `fstprint` writes `source target input output [cost]`, for acceptors `source target label [cost]`, and final
states as `state [cost]`; a cost of 0 is left out. k2's `to_str` writes `source target label [aux_label] score`, with
label -1 on the arcs into the final state, which stands alone on the last line. Several automata in one file are
separated by blank lines, each under its name where Kaldi wrote them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..base.errors import InputError
from .inputs import Stream

LARGEST_WEIGHT = 1e30  # so that sums along paths stay numbers
KALDI = "Weights with commas are Kaldi's: use --format kaldi"
_LAYOUT = "Lines are `source target input output [cost]`, as fstprint writes them, or as k2.to_str does"


@dataclass(slots=True)
class Block:
    """The lines of one automaton: arcs as fields behind the two states, and final states."""

    line: int
    utt: str
    start: int = -1
    source: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    fields: list[tuple[bytes, ...]] = field(default_factory=list)
    final: dict[int, float] = field(default_factory=dict)  # state to cost, for k2 score
    error: InputError | None = None  # the first thing that is wrong with it


def blocks(stream: Stream, name: str, max_arcs: int) -> Iterator[Block]:
    """The automata of a file, called `name` where the file does not name them.

    One with an error, or with more than `max_arcs` arcs, comes without the rest of its lines.
    """
    block: Block | None = None
    count = 0
    for number, line in stream.lines():
        row = line.split()
        if not row:
            if block:
                yield block
            block = None
            continue
        if block is None:
            count += 1
            block = Block(number, name if count == 1 else f"{name}-{count}")
            if len(row) == 1:  # an automaton begins with an arc: this is its name
                block.utt = row[0].decode("utf-8", "replace")
                continue
        if block.error or len(block.source) > max_arcs:
            continue
        try:
            _add(block, row)
        except InputError as error:
            block.error = error.at(utt=block.utt, place=f"line {number}")
    if block:
        yield block


def _add(block: Block, row: list[bytes]) -> None:
    state = _state(row[0])
    if block.start < 0:
        block.start = state
    if len(row) <= 2:
        weight = number(row[1]) if len(row) == 2 else 0.0
        if math.isfinite(weight):  # of infinite cost: not final
            block.final[state] = weight
    elif len(row) <= 5:
        block.source.append(state)
        block.target.append(_state(row[1]))
        block.fields.append(tuple(row[2:]))
    else:
        raise InputError(f"{len(row)} columns, 5 at most are known", remedy=_LAYOUT)


def _state(text: bytes) -> int:
    if not text.isdigit() or len(text) > 18:
        raise InputError(f"the state is {shown(text)}, not a number", remedy=_LAYOUT)
    return int(text)


def number(text: bytes) -> float:
    """A weight."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if math.isnan(found) or b"_" in text or (abs(found) > LARGEST_WEIGHT and math.isfinite(found)):
        remedy = KALDI if b"," in text else _LAYOUT
        raise InputError(f"the weight is {shown(text)}, not a number", remedy=remedy)
    return found


def shown(text: bytes) -> str:
    """A field as messages quote it."""
    return repr(text[:40].decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of an automaton's arcs."""

    k2: bool
    label: list[bytes]  # what is matched with the audio
    word: list[bytes]  # the label again for an acceptor
    weight: list[bytes | None]  # cost, for k2 score; None where it is left out


def columns(block: Block) -> Columns:
    """Tell the columns apart. Their number alone does not: `0 1 7 5` has an output or a weight."""
    label = [row[0] for row in block.fields]
    sizes = {len(row) for row in block.fields}
    k2 = b"-1" in label
    if k2 and (len(sizes) > 1 or sizes == {1}):
        raise InputError("arcs of k2 have a score each and the same number of columns", remedy=_LAYOUT)
    if len(sizes) > 1 and 1 in sizes and 3 in sizes:
        raise InputError("some arcs have 3 columns and others 5", remedy=_LAYOUT)
    unweighted = sizes == {2} and not k2 and not _are_weights([row[1] for row in block.fields], label)
    if not unweighted and 3 not in sizes:
        return Columns(k2, label, label, [row[1] if len(row) > 1 else None for row in block.fields])
    weight = [row[2] if len(row) > 2 else None for row in block.fields]
    return Columns(k2, label, [row[1] for row in block.fields], weight)


def _are_weights(texts: list[bytes], labels: list[bytes]) -> bool:
    """Numbers; whole ones only beside labels that are symbols, or else they are labels themselves."""
    try:
        for text in texts:
            number(text)
    except InputError:
        return False
    return not all(text.isdigit() for text in (*texts, *labels))

"""The compiled parser of Kaldi's lattice text: whole chunks of a file to arrays, at hundreds of megabytes a second.

It knows the plain spellings and stops at everything else: numbers in an odd spelling are listed for Python to read,
an utterance with an odd line is marked and passed over, so that slow and careful code can say what is wrong with it.

One line is one arc or one final state, fields parted by blanks:

    source target word [graph,acoustic,id_id_...]       an arc of a CompactLattice, one id a frame
    source target ilabel olabel [graph,acoustic]        an arc of a Lattice, a frame long if ilabel is not 0
    state [graph,acoustic[,id_id_...]]                  a final state

A line with a single field begins an utterance and names it; an empty line ends one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base.jit import compiled, inlined, inner
from ...lattices.lattice import Floats, Ints, Offsets
from ..digits import Bytes, decimal, digits, joined, short_decimal, short_number

SOURCE, TARGET, LABEL, LABEL_AT, FRAMES = range(5)  # rows of the arc table; LABEL is -1 where it is no number
KEY, KEY_END, LINE, ARCS, FINALS, START, KIND, BAD_AT = range(8)  # columns of utterances
UNDECIDED, COMPACT, FRAMED = range(3)  # kinds of lattices
PADDING = b"\n\n" + bytes(64)  # behind every chunk: the parser looks ahead without asking where the end is

_NEWLINE, _COMMA = 10, 44
ARC, FINAL, _BAD = range(3)  # what a line is
_MAX_STATE = 2**31 - 2


@inlined
def _is_blank(byte: int) -> bool:
    return (byte == 32) | (byte == 9) | (byte == 13)


@inlined
def _blanks(data: Bytes, at: int) -> int:
    """The first place from `at` on that is no blank."""
    while _is_blank(data[at]):
        at += 1
    return at


@inlined
def _field(data: Bytes, at: int) -> int:
    """Where the field that begins at `at` ends."""
    while not (_is_blank(data[at]) or data[at] == _NEWLINE):
        at += 1
    return at


@inlined
def _whole(data: Bytes, at: int) -> tuple[int, int]:
    """The whole number that makes up the field at `at`, or -1, and where the field ends."""
    value, count = digits(data, at)
    at += count
    if 0 < count < 16 and value <= _MAX_STATE and (_is_blank(data[at]) or data[at] == _NEWLINE):
        return value, at
    return -1, _field(data, at)


@inlined
def _cost(data: Bytes, at: int) -> tuple[float, int, bool]:
    """The number at `at`, up to a comma or blank; where it ends; whether Python must read it."""
    value, length = decimal(data, at)
    at += length
    if length and (data[at] == _COMMA or data[at] == _NEWLINE or _is_blank(data[at])):
        return value, at, False
    while not (data[at] == _COMMA or data[at] == _NEWLINE or _is_blank(data[at])):
        at += 1
    return 0.0, at, True


class Weight(NamedTuple):
    """A weight at the end of a line, as the parser saw it."""

    kind: int  # COMPACT or FRAMED; UNDECIDED: this is no weight
    graph: float
    acoustic: float
    frames: int
    odd: int  # 1: Python must read the graph cost, 2: the acoustic cost, 3: both


class Line(NamedTuple):
    """An arc or a final state, as the parser saw it."""

    what: int  # ARC, FINAL or _BAD
    state: int
    target: int
    label: int
    label_at: int
    weight_at: int
    weight: Weight


@inlined
def _weight(data: Bytes, at: int) -> Weight:
    """The weight that fills the rest of the line."""
    graph, at, graph_odd = _cost(data, at)
    if data[at] != _COMMA:
        return Weight(UNDECIDED, 0.0, 0.0, 0, 0)
    acoustic, at, acoustic_odd = _cost(data, at + 1)
    kind, frames = FRAMED, 0
    if data[at] == _COMMA:
        kind = COMPACT
        frames, length = joined(data, at + 1)
        at += 1 + length
    if data[_blanks(data, at)] != _NEWLINE:
        kind = UNDECIDED
    return Weight(kind, graph, acoustic, frames, graph_odd + 2 * acoustic_odd)


@inlined
def _has_comma(data: Bytes, at: int, end: int) -> bool:
    while at < end and data[at] != _COMMA:
        at += 1
    return at < end


@inlined
def _arc(data: Bytes, state: int, target: int, at: int) -> Line:
    """An arc, from its third field on."""
    label, stop = _whole(data, at)
    following = _blanks(data, stop)
    if data[following] == _NEWLINE:
        return Line(ARC, state, target, label, at, at, Weight(COMPACT, 0.0, 0.0, 0, 0))
    weight = _weight(data, following)
    if weight.kind == COMPACT:
        return Line(ARC, state, target, label, at, following, weight)
    frames, at = int(label != 0), following
    label, stop = _whole(data, at)
    following = _blanks(data, stop)
    if data[following] == _NEWLINE:
        what = _BAD if _has_comma(data, at, stop) else ARC  # a weight that is damaged, not a word
        return Line(what, state, target, label, at, at, Weight(FRAMED, 0.0, 0.0, frames, 0))
    kind, graph, acoustic, _, odd = _weight(data, following)
    what = ARC if kind == FRAMED else _BAD
    return Line(what, state, target, label, at, following, Weight(FRAMED, graph, acoustic, frames, odd))


@inlined
def _line(data: Bytes, at: int) -> Line:
    """The arc or final state at `at`."""
    state, stop = _whole(data, at)
    at = _blanks(data, stop)
    target, stop = _whole(data, at)
    following = _blanks(data, stop)
    if target >= 0 and data[following] != _NEWLINE:
        line = _arc(data, state, target, following)
    elif data[at] == _NEWLINE:
        line = Line(FINAL, state, 0, 0, at, at, Weight(UNDECIDED, 0.0, 0.0, 0, 0))
    else:
        weight = _weight(data, at)
        line = Line(FINAL if weight.kind != UNDECIDED else _BAD, state, 0, 0, at, at, weight)
    return line


@inner
def _plain_arcs(data: Bytes, at: int, size: int, arcs: Ints, costs: Floats, arc: int) -> tuple[int, int]:
    """Read arcs of a CompactLattice in the usual spelling, until a line is anything else; most lines pass here.

    Straight through, with one decision a line. Gives where it stopped and how many arcs there are now.
    """
    while at < size:
        source, stop, fine = short_number(data, at)
        target, next_stop, good = short_number(data, stop + 1)
        fine &= good & _is_gap(data[stop]) & _is_gap(data[next_stop])
        label_at = next_stop + 1
        label, stop, good = short_number(data, label_at)
        fine &= good & _is_gap(data[stop])
        graph, stop, good = short_decimal(data, stop + 1)
        fine &= good & (data[stop] == _COMMA)
        acoustic, stop, good = short_decimal(data, stop + 1)
        fine &= good & (data[stop] == _COMMA)
        frames, length = joined(data, stop + 1)
        stop += 1 + length
        if not fine & (data[stop] == _NEWLINE):
            break
        arcs[SOURCE, arc], arcs[TARGET, arc] = source, target
        arcs[LABEL, arc], arcs[LABEL_AT, arc], arcs[FRAMES, arc] = label, label_at, frames
        costs[0, arc], costs[1, arc] = graph, acoustic
        arc += 1
        at = stop + 1
    return at, arc


@inlined
def _is_gap(byte: int) -> bool:
    return (byte == 9) | (byte == 32)


@inlined
def _keep(line: Line, arcs: Ints, costs: Floats, arc: int, finals: Ints, final_costs: Floats,
          final: int) -> tuple[int, int]:  # fmt: skip
    """Put an arc or a final state into the tables; gives how many there are now."""
    weight = line.weight
    if line.what == ARC:
        arcs[SOURCE, arc], arcs[TARGET, arc] = line.state, line.target
        arcs[LABEL, arc], arcs[LABEL_AT, arc], arcs[FRAMES, arc] = line.label, line.label_at, weight.frames
        costs[0, arc], costs[1, arc] = weight.graph, weight.acoustic
        return arc + 1, final
    finals[0, final], finals[1, final] = line.state, weight.frames
    final_costs[0, final], final_costs[1, final] = weight.graph, weight.acoustic
    return arc, final + 1


@inlined
def _key(data: Bytes, at: int) -> int:
    """Where the field at `at` ends if it is alone on its line, else -1."""
    stop = _field(data, at)
    return stop if data[_blanks(data, stop)] == _NEWLINE else -1


@inlined
def _next_line(data: Bytes, at: int) -> int:
    while data[at] != _NEWLINE:
        at += 1
    return at + 1


@compiled
def parse(data: Bytes, size: int, arcs: Ints, costs: Floats, finals: Ints, final_costs: Floats, utts: Offsets,
          odd: Offsets) -> tuple[int, int, int, int, int]:  # fmt: skip
    """Parse `size` bytes of `data`; PADDING follows. Gives the numbers of utterances, arcs, finals, odd ones, lines.

    Row u of `utts` says where utterance u begins among the arcs and finals; BAD_AT is the first line in it that
    cannot be read, or -1. `odd` lists weights for Python to read: arc or final, its row, place, which costs.
    """
    at, line_number, utt, arc, final, odd_count = 0, 0, -1, 0, 0, 0
    inside, bad, plain, kind, odd_before = False, False, True, UNDECIDED, 0
    while at < size:
        begin, line_number = at, line_number + 1
        at = _blanks(data, at)
        if data[at] == _NEWLINE:
            inside = False
        elif not inside:
            inside, bad, plain, kind, odd_before = True, False, True, UNDECIDED, odd_count
            utt += 1
            # One by one: a whole row at once takes numba seconds to compile.
            utts[utt, KEY], utts[utt, KEY_END], utts[utt, LINE] = at, at, line_number
            utts[utt, ARCS], utts[utt, FINALS], utts[utt, START] = arc, final, -1
            utts[utt, KIND], utts[utt, BAD_AT] = UNDECIDED, -1
            stop = _key(data, at)
            if stop < 0:  # a file without names: this is its first line already
                at, line_number = begin, line_number - 1
                continue
            utts[utt, KEY_END] = stop
        elif not bad:
            if plain:
                before = arc
                at, arc = _plain_arcs(data, at, size, arcs, costs, arc)
                if arc > before:
                    utts[utt, START] = arcs[SOURCE, before] if utts[utt, START] < 0 else utts[utt, START]
                    utts[utt, KIND] = kind = COMPACT
                    line_number += arc - before - 1
                    continue
            line = _line(data, at)
            line_kind = line.weight.kind
            bad = line.what == _BAD or line.state < 0 or (line_kind != kind and UNDECIDED not in (kind, line_kind))
            if bad:
                utts[utt, BAD_AT] = begin
                arc, final, odd_count = utts[utt, ARCS], utts[utt, FINALS], odd_before
            else:
                kind = max(kind, line_kind)
                plain = line.what == FINAL and kind != FRAMED  # one arc that is not plain: others will not be either
                utts[utt, KIND] = kind
                utts[utt, START] = line.state if utts[utt, START] < 0 else utts[utt, START]
                if line.weight.odd:
                    odd[odd_count, 0], odd[odd_count, 1] = line.what, arc if line.what == ARC else final
                    odd[odd_count, 2], odd[odd_count, 3] = line.weight_at, line.weight.odd
                    odd_count += 1
                arc, final = _keep(line, arcs, costs, arc, finals, final_costs, final)
        at = _next_line(data, at)
    return utt + 1, arc, final, odd_count, line_number


@compiled
def count_lines(data: Bytes) -> int:
    """How many line ends there are."""
    count = 0
    for at in range(len(data)):
        count += data[at] == _NEWLINE
    return count


@compiled
def count_arcs(data: Bytes) -> int:
    """How many lines have three fields or more, since the last empty line."""
    count, fields, blank = 0, 0, True
    for at in range(len(data)):
        if data[at] == _NEWLINE:
            count = count + (fields >= 3) if fields else 0
            fields, blank = 0, True
        elif _is_blank(data[at]):
            blank = True
        else:
            fields += blank
            blank = False
    return count


@compiled
def last_empty_line(data: Bytes) -> int:
    """Where the line after the last empty one begins; -1 if there is none."""
    at = len(data) - 1
    while at > 0:
        if data[at] == _NEWLINE:
            before = at - 1
            while before >= 0 and _is_blank(data[before]):
                before -= 1
            if before >= 0 and data[before] == _NEWLINE:
                return at + 1
            at = before
        else:
            at -= 1
    return -1


@compiled
def field_ends(data: Bytes, starts: Ints) -> Ints:
    """Where the fields that begin at `starts` end."""
    ends = np.empty_like(starts)
    for index in range(len(starts)):
        ends[index] = _field(data, starts[index])
    return ends

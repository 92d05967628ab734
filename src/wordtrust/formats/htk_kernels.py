"""Compiled kernels for HTK lattices: fields to arrays in one pass over the bytes, equal words to equal numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..jit import compiled
from ..lattice import Flags, Ints, Offsets, Times

Bytes = NDArray[np.uint8]

# What a field holds. The numbers of a node or link, TIME to POSTERIOR, are the columns of its values.
IGNORED, WORD, SUBLATTICE, NODE, LINK, START, END, TIME = range(8)
ACOUSTIC, LANGUAGE, NGRAM, PRONUNCIATION, POSTERIOR, SLOTS = range(8, 14)
BAD, LATE, EXACT, WHOLE = range(4)  # what came of reading a number
COLUMNS = SLOTS - TIME
NAMES = {
    "I": NODE, "J": LINK, "W": WORD, "WORD": WORD, "L": SUBLATTICE, "S": START, "START": START, "E": END, "END": END,
    "t": TIME, "time": TIME, "a": ACOUSTIC, "ac": ACOUSTIC, "acoustic": ACOUSTIC,
    "l": LANGUAGE, "lm": LANGUAGE, "language": LANGUAGE, "n": NGRAM, "ngram": NGRAM,
    "r": PRONUNCIATION, "pronunciation": PRONUNCIATION, "p": POSTERIOR, "posterior": POSTERIOR,
}  # fmt: skip

# Whole numbers of an item: a node's own number or a link's start, a link's end, the byte where the item starts, and
# the bytes from which to which its word stands.
FIRST, SECOND, PLACE, WORD_FROM, WORD_TO, WHOLES = range(6)

OK, NO_EQUALS, BINARY, NOT_WHOLE, NOT_NUMBER, NO_NODES, SUBLATTICE_USED, LONG_HEADER = range(8)
# What `count` holds: how many rows are filled (of parts 0 and 1, of the header, of `late`),
# then why scanning stopped, at which bytes and at which field.
N_NODES, N_LINKS, N_HEADER, N_LATE, STATUS, FROM, TO, FIELD, COUNTS = range(9)


def _code(name: str) -> int:
    """A field name as a number: its first seven letters and its length."""
    return int.from_bytes(name.encode()[:7], "little") + (len(name) << 56)


_CODES = np.array([_code(name) for name in NAMES if len(name) > 1], np.int64)
_CODE_SLOTS = np.array([slot for name, slot in NAMES.items() if len(name) > 1], np.int64)
_LETTER_SLOTS = np.array([NAMES.get(chr(byte), IGNORED) for byte in range(256)], np.int64)
_POWERS = np.array([10.0**power for power in range(23)])  # the powers of ten that a double holds exactly
_ROOM_FOR_DIGIT = 2**53 // 10 - 1  # up to here, one more digit still gives a whole number that a double holds
_NEWLINE, _SPACE, _HASH, _DOT, _EQUALS, _TILDE, _BACKSLASH = 10, 32, 35, 46, 61, 126, 92
_DOUBLE_QUOTE, _SINGLE_QUOTE, _PLUS, _MINUS, _ZERO, _NINE = 34, 39, 43, 45, 48, 57


@compiled
def _fail(count: Offsets, status: int, start: int, end: int, field: int) -> None:
    if count[STATUS] == OK:
        count[STATUS], count[FROM], count[TO], count[FIELD] = status, start, end, field


@compiled
def _line_end(data: Bytes, place: int) -> int:
    while data[place] != _NEWLINE:
        place += 1
    return place


@compiled
def _name_end(data: Bytes, place: int) -> int:
    while data[place] > _SPACE and data[place] != _EQUALS and data[place] != _TILDE:
        place += 1
    return place


@compiled
def _slot(data: Bytes, start: int, end: int) -> int:
    """What the field with this name holds."""
    if end == start + 1:
        return int(_LETTER_SLOTS[data[start]])
    code = min(end - start, 100) << 56
    for place in range(min(end - start, 7)):
        code += int(data[start + place]) << (8 * place)
    for known in range(len(_CODES)):
        if _CODES[known] == code:
            return int(_CODE_SLOTS[known])
    return IGNORED


@compiled
def _value_end(data: Bytes, start: int, quotes: bool) -> int:
    """Where a value ends: at its closing quote, or at white space that is not escaped.

    A quote without a partner before the line ends is a letter like any other: many write 'em and 'til as they are.
    """
    if quotes and (data[start] == _DOUBLE_QUOTE or data[start] == _SINGLE_QUOTE):
        place = start + 1
        while data[place] != _NEWLINE and data[place] != data[start]:
            place += 2 if data[place] == _BACKSLASH and data[place + 1] != _NEWLINE else 1
        if data[place] == data[start] and data[place + 1] <= _SPACE:
            return place + 1
    place = start
    while data[place] > _SPACE:
        place += 2 if quotes and data[place] == _BACKSLASH and data[place + 1] != _NEWLINE else 1
    return place


@compiled
def _real(data: Bytes, start: int) -> tuple[int, int, float]:
    """Read a number: where it ends, what came of it (BAD and so on), and its value."""
    place, mantissa = start, 0
    if data[place] == _MINUS or data[place] == _PLUS:
        place += 1
    begin = place
    while _ZERO <= data[place] <= _NINE:
        mantissa = 10 * mantissa + data[place] - _ZERO
        place += 1
    digits, scale = place - begin, 0
    if data[place] == _DOT:
        place += 1
        begin = place
        while _ZERO <= data[place] <= _NINE:
            mantissa = 10 * mantissa + data[place] - _ZERO
            place += 1
        digits, scale = digits + place - begin, begin - place
    if digits and (data[place] == 101 or data[place] == 69):  # e or E
        place, power = _power(data, place + 1)
        digits, scale = digits if place > 0 else 0, scale + power
    if digits == 0 or data[place] > _SPACE:
        return start, BAD, 0.0
    if digits > 18 or mantissa > 2**53 or abs(scale) > 22:
        return place, LATE, 0.0
    # Two numbers that a double holds exactly and one operation: the nearest double, as strtod would give it.
    value = mantissa / _POWERS[-scale] if scale < 0 else mantissa * _POWERS[scale]
    return place, EXACT if scale else WHOLE, -value if data[start] == _MINUS else value


@compiled
def _power(data: Bytes, place: int) -> tuple[int, int]:
    """Read the digits of an exponent: where they end (-1: there are none), and the power of ten."""
    down = data[place] == _MINUS
    if down or data[place] == _PLUS:
        place += 1
    begin, power = place, 0
    while _ZERO <= data[place] <= _NINE:
        power = min(10 * power + data[place] - _ZERO, 99_999)
        place += 1
    return place if place > begin else -1, -power if down else power


@compiled
def _store(kind: int, begin: int, filled: int, field: Offsets, number: Times, whole: Offsets, value: Times,
           given: Offsets, late: Offsets, count: Offsets) -> None:  # fmt: skip
    """Keep the node or link whose fields were collected, if there is still room for it."""
    row = count[kind]
    count[kind] += 1
    if row >= whole.shape[1]:
        return
    one, other = (NODE, NODE) if kind == N_NODES else (START, END)
    if kind == N_NODES and filled & (1 << SUBLATTICE):
        _fail(count, SUBLATTICE_USED, field[SUBLATTICE, 0], field[SUBLATTICE, 1], SUBLATTICE)
    if not (filled & (1 << one) and filled & (1 << other)):
        _fail(count, NO_NODES, begin, begin, kind)
    if field[one, 2] != WHOLE:
        _fail(count, NOT_WHOLE, field[one, 0], field[one, 1], one)
    if field[other, 2] != WHOLE:
        _fail(count, NOT_WHOLE, field[other, 0], field[other, 1], other)
    whole[kind, row, FIRST], whole[kind, row, SECOND] = int(number[one]), int(number[other])
    whole[kind, row, PLACE], whole[kind, row, WORD_FROM], whole[kind, row, WORD_TO] = begin, -1, -1
    if filled & (1 << WORD):
        whole[kind, row, WORD_FROM], whole[kind, row, WORD_TO] = field[WORD, 0], field[WORD, 1]
        given[kind, WORD] += 1
    for slot in range(TIME, SLOTS):
        value[kind, row, slot - TIME] = np.nan
        if filled & (1 << slot):
            value[kind, row, slot - TIME] = number[slot]
            given[kind, slot] += 1
            if field[slot, 2] == BAD:
                _fail(count, NOT_NUMBER, field[slot, 0], field[slot, 1], slot)
            elif field[slot, 2] == LATE:
                _store_late(kind, row, slot, field, late, count)


@compiled
def _store_late(kind: int, row: int, slot: int, field: Offsets, late: Offsets, count: Offsets) -> None:
    """Note a number that has too many digits for the fast way."""
    place = count[N_LATE]
    count[N_LATE] += 1
    if place < len(late):
        late[place, 0], late[place, 1], late[place, 2] = kind, row, slot - TIME
        late[place, 3], late[place, 4] = field[slot, 0], field[slot, 1]


@compiled
def _store_header(name: int, end: int, value_end: int, header: Offsets, count: Offsets) -> None:
    row = count[N_HEADER]
    if row == len(header):
        _fail(count, LONG_HEADER, name, end, IGNORED)
        return
    header[row, 0], header[row, 1], header[row, 2], header[row, 3] = name, end, end + 1, value_end
    count[N_HEADER] += 1


@compiled
def scan(data: Bytes, quotes: bool, whole: Offsets, value: Times, given: Offsets, header: Offsets, late: Offsets,
         count: Offsets) -> None:  # fmt: skip
    """Collect fields line by line: a line (or the part of one) with I is a node, with J a link, else a header.

    `data` must end with a newline: every loop over its bytes stops there. `whole`, `value` and `given` have the
    nodes in part 0 and the links in part 1.
    """
    field, number = np.zeros((SLOTS, 3), np.int64), np.zeros(SLOTS)  # where each field of an item stands, its state
    place, begin, filled, kept, kind = 0, 0, 0, 0, -1  # kept: header fields of the lines before this one
    while place < len(data) and count[STATUS] == OK:
        if data[place] == _HASH:
            place = _line_end(data, place)
        if data[place] == _NEWLINE:
            if kind >= 0:
                _store(kind, begin, filled, field, number, whole, value, given, late, count)
            place += 1
            begin, filled, kept, kind = place, 0, count[N_HEADER], -1
            continue
        if data[place] <= _SPACE:
            place += 1
            continue
        name, end = place, _name_end(data, place)
        if data[end] != _EQUALS:
            place = end
            # A dot on its own ends a sub-lattice, which the header speaks of as well.
            if not (data[name] == _DOT and end == name + 1):
                _fail(count, BINARY if data[end] == _TILDE else NO_EQUALS, name, end, IGNORED)
            continue
        slot = _slot(data, name, end)
        if slot in (NODE, LINK):
            if kind >= 0:  # a second one on this line
                _store(kind, begin, filled, field, number, whole, value, given, late, count)
                begin, filled = name, 0
            kind, count[N_HEADER] = slot - NODE, kept
        field[slot, 0], field[slot, 2] = end + 1, BAD
        if slot >= NODE:
            place, field[slot, 2], number[slot] = _real(data, end + 1)
        if field[slot, 2] == BAD:
            place = _value_end(data, end + 1, quotes)
        field[slot, 1] = place
        if kind < 0:
            _store_header(name, end, place, header, count)
        filled |= 1 << slot


@compiled
def number_labels(data: Bytes, spans: Offsets, number: Ints, example: Offsets) -> int:
    """Give equal labels equal numbers, from 0 in order of appearance (-1: none); `example` has a row for each."""
    size = 4
    while size < 2 * len(number):
        size *= 2
    table = np.full(size, -1, np.int64)
    known = 0
    for row in range(len(number)):
        start, end = spans[row, 0], spans[row, 1]
        if start < 0:
            number[row] = -1
            continue
        code = np.uint64(14695981039346656037)  # FNV-1a
        for place in range(start, end):
            code = (code ^ np.uint64(data[place])) * np.uint64(1099511628211)
        spot = np.int64((code ^ (code >> np.uint64(32))) & np.uint64(size - 1))
        while table[spot] >= 0:
            other = example[table[spot]]
            if _same(data, start, end, spans[other, 0], spans[other, 1]):
                break
            spot = (spot + 1) & (size - 1)
        if table[spot] < 0:
            table[spot] = known
            example[known] = row
            known += 1
        number[row] = table[spot]
    return known


@compiled
def _same(data: Bytes, start: int, end: int, other_start: int, other_end: int) -> bool:
    if end - start != other_end - other_start:
        return False
    while start < end and data[start] == data[other_start]:
        start, other_start = start + 1, other_start + 1
    return start == end


@compiled
def ends(number: Offsets, pairs: Offsets, source: Ints, target: Ints, entered: Flags, left: Flags) -> int:
    """The ends of links between nodes that are numbered from 0 in order, and which nodes have links in and out.

    Gives -1; or the first link with an end that is no node; or -2 if the nodes are numbered in another way.
    """
    for node in range(len(number)):
        if number[node] != node:
            return -2
    for link in range(len(pairs)):
        start, end = pairs[link, 0], pairs[link, 1]
        if not (0 <= start < len(number) and 0 <= end < len(number)):
            return link
        source[link], target[link] = start, end
        left[start] = entered[end] = True
    return -1

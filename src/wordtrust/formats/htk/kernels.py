"""Compiled kernels for HTK lattices: fields to arrays in one pass over the bytes, and the ends of links."""

from __future__ import annotations

import numpy as np

from ...base.jit import compiled, inlined, inner
from ...lattices.lattice import Ints, Offsets, Times
from ..digits import Bytes, digits

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

NUMBERED, OTHERWISE = -1, -2  # how the nodes of a lattice are numbered: from 0 on without gaps, or not
NOT_GIVEN = -(2**62)  # for the number of a node

_LONG_NAMES = [name for name in NAMES if len(name) > 1]
_SPELLING = np.array([list(name.encode().ljust(16)) for name in _LONG_NAMES], np.uint8)
_LENGTHS = np.array([len(name) for name in _LONG_NAMES], np.int64)
_LONG_SLOTS = np.array([NAMES[name] for name in _LONG_NAMES], np.int64)
_LETTER_SLOTS = np.array([NAMES.get(chr(byte), IGNORED) for byte in range(256)], np.int64)
_POWERS = np.array([10.0**power for power in range(23)])  # the powers of ten that a double holds exactly
_WHOLE_POWERS = 10 ** np.arange(16)
_NEWLINE, _SPACE, _HASH, _DOT, _EQUALS, _TILDE, _BACKSLASH = 10, 32, 35, 46, 61, 126, 92
_DOUBLE_QUOTE, _SINGLE_QUOTE, _PLUS, _MINUS, _ZERO, _NINE, _E = 34, 39, 43, 45, 48, 57, 101


@inner
def _fail(count: Offsets, status: int, start: int, end: int, field: int) -> None:
    if count[STATUS] == OK:
        count[STATUS], count[FROM], count[TO], count[FIELD] = status, start, end, field


@inlined
def _line_end(data: Bytes, cursor: int) -> int:
    while data[cursor] != _NEWLINE:
        cursor += 1
    return cursor


@inlined
def _name_end(data: Bytes, cursor: int) -> int:
    while data[cursor] > _SPACE and data[cursor] != _EQUALS and data[cursor] != _TILDE:
        cursor += 1
    return cursor


@inlined
def _slot(data: Bytes, start: int, end: int) -> int:
    """What the field with this name holds."""
    if end == start + 1:
        return int(_LETTER_SLOTS[data[start]])
    for row in range(len(_LENGTHS)):
        length = 0
        while length < _LENGTHS[row] and data[start + length] == _SPELLING[row, length]:
            length += 1
        if length == _LENGTHS[row] == end - start:
            return int(_LONG_SLOTS[row])
    return IGNORED


@inlined
def _value_end(data: Bytes, start: int, quotes: bool) -> int:
    """Where a value ends: at its closing quote, or at white space that is not escaped.

    A quote without a partner before the line ends is a letter like any other: many write 'em and 'til as they are.
    """
    if quotes and (data[start] == _DOUBLE_QUOTE or data[start] == _SINGLE_QUOTE):
        cursor = start + 1
        while data[cursor] != _NEWLINE and data[cursor] != data[start]:
            cursor += 2 if data[cursor] == _BACKSLASH and data[cursor + 1] != _NEWLINE else 1
        if data[cursor] == data[start] and data[cursor + 1] <= _SPACE:
            return cursor + 1
    cursor = start
    while data[cursor] > _SPACE:
        cursor += 2 if quotes and data[cursor] == _BACKSLASH and data[cursor + 1] != _NEWLINE else 1
    return cursor


@inlined
def _number(data: Bytes, start: int) -> tuple[int, int, float]:
    """Read a number: where it ends, what came of it (BAD and so on), and its value."""
    negative = data[start] == _MINUS
    mantissa, count = digits(data, start + negative)
    end, scale = start + negative + count, 0
    if data[end] == _DOT:
        fraction, digits_read = digits(data, end + 1)
        end, count, scale = end + 1 + digits_read, count + digits_read, min(digits_read, 15)
        mantissa = mantissa * _WHOLE_POWERS[scale] + fraction
    if data[end] == _E and data[end + 1] == _MINUS:
        power, digits_read = digits(data, end + 2)
        end, count, scale = end + 2 + digits_read, count if digits_read else 0, scale + power
    if not 0 < count <= 15 or scale > 22 or data[end] > _SPACE:
        return _any_number(data, start)
    # Two numbers that a double holds exactly and one division: the nearest double, as strtod would give it.
    value = mantissa / _POWERS[scale]
    return end, EXACT if scale else WHOLE, -value if negative else value


@inner
def _any_number(data: Bytes, start: int) -> tuple[int, int, float]:
    """The same for numbers in any spelling, digit by digit."""
    cursor, mantissa = start, 0
    if data[cursor] == _MINUS or data[cursor] == _PLUS:
        cursor += 1
    begin, point = cursor, -1
    while _ZERO <= data[cursor] <= _NINE or (data[cursor] == _DOT and point < 0):
        if data[cursor] == _DOT:
            point = cursor
        else:
            mantissa = 10 * mantissa + data[cursor] - _ZERO
        cursor += 1
    count, scale = cursor - begin, 0
    if point >= 0:
        count, scale = count - 1, point + 1 - cursor
    if count and (data[cursor] == 101 or data[cursor] == 69):  # e or E
        cursor, power = _power(data, cursor + 1)
        count, scale = count if cursor > 0 else 0, scale + power
    if count == 0 or data[cursor] > _SPACE:
        return start, BAD, 0.0
    if count > 18 or mantissa > 2**53 or abs(scale) > 22:
        return cursor, LATE, 0.0
    value = mantissa / _POWERS[-scale] if scale < 0 else mantissa * _POWERS[scale]
    return cursor, EXACT if scale else WHOLE, -value if data[start] == _MINUS else value


@inner
def _power(data: Bytes, cursor: int) -> tuple[int, int]:
    """Read the digits of an exponent: where they end (-1: there are none), and the power of ten."""
    down = data[cursor] == _MINUS
    if down or data[cursor] == _PLUS:
        cursor += 1
    begin, power = cursor, 0
    while _ZERO <= data[cursor] <= _NINE:
        power = min(10 * power + data[cursor] - _ZERO, 99_999)
        cursor += 1
    return cursor if cursor > begin else -1, -power if down else power


@inlined
def _store(kind: int, begin: int, filled: int, field: Offsets, numbers: Times, whole: Offsets, value: Times,
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
    whole[kind, row, FIRST], whole[kind, row, SECOND] = int(numbers[one]), int(numbers[other])
    whole[kind, row, PLACE], whole[kind, row, WORD_FROM], whole[kind, row, WORD_TO] = begin, -1, -1
    if filled & (1 << WORD):
        whole[kind, row, WORD_FROM], whole[kind, row, WORD_TO] = field[WORD, 0], field[WORD, 1]
        given[kind, WORD] += 1
    for slot in range(TIME, SLOTS):
        value[kind, row, slot - TIME] = np.nan
        if filled & (1 << slot):
            value[kind, row, slot - TIME] = numbers[slot]
            given[kind, slot] += 1
            if field[slot, 2] == BAD:
                _fail(count, NOT_NUMBER, field[slot, 0], field[slot, 1], slot)
            elif field[slot, 2] == LATE:
                _store_late(kind, row, slot, field, late, count)


@inner
def _store_late(kind: int, row: int, slot: int, field: Offsets, late: Offsets, count: Offsets) -> None:
    """Note a number that has too many digits for the fast way."""
    index = count[N_LATE]
    count[N_LATE] += 1
    if index < len(late):
        late[index, 0], late[index, 1], late[index, 2] = kind, row, slot - TIME
        late[index, 3], late[index, 4] = field[slot, 0], field[slot, 1]


@inlined
def _store_header(name: int, end: int, value_end: int, header: Offsets, count: Offsets) -> None:
    row = count[N_HEADER]
    if row == len(header):
        _fail(count, LONG_HEADER, name, end, IGNORED)
        return
    header[row, 0], header[row, 1], header[row, 2], header[row, 3] = name, end, end + 1, value_end
    count[N_HEADER] += 1


@compiled
def scan(data: Bytes, start: int, end: int, quotes: bool, whole: Offsets, value: Times, given: Offsets,
         header: Offsets, late: Offsets, count: Offsets) -> None:  # fmt: skip
    """Collect fields line by line: a line (or the part of one) with I is a node, with J a link, else a header.

    The byte before `end` must be a newline: every loop over bytes stops there. `whole`, `value` and `given` have the
    nodes in part 0 and the links in part 1.
    """
    field, numbers = np.zeros((SLOTS, 3), np.int64), np.zeros(SLOTS)  # where each field of an item stands, its state
    cursor, begin, filled, kept, kind = start, start, 0, 0, -1  # kept: header fields of the lines before this one
    while cursor < end and count[STATUS] == OK:
        if data[cursor] == _HASH:
            cursor = _line_end(data, cursor)
        if data[cursor] == _NEWLINE:
            if kind >= 0:
                _store(kind, begin, filled, field, numbers, whole, value, given, late, count)
            cursor += 1
            begin, filled, kept, kind = cursor, 0, count[N_HEADER], -1
            continue
        if data[cursor] <= _SPACE:
            cursor += 1
            continue
        name, equals = cursor, _name_end(data, cursor)
        if data[equals] != _EQUALS:
            cursor = equals
            # A dot on its own ends a sub-lattice, which the header speaks of as well.
            if not (data[name] == _DOT and equals == name + 1):
                _fail(count, BINARY if data[equals] == _TILDE else NO_EQUALS, name, equals, IGNORED)
            continue
        slot = _slot(data, name, equals)
        if slot in (NODE, LINK):
            if kind >= 0:  # a second one on this line
                _store(kind, begin, filled, field, numbers, whole, value, given, late, count)
                begin, filled = name, 0
            kind, count[N_HEADER] = slot - NODE, kept
        field[slot, 0], field[slot, 2] = equals + 1, BAD
        if slot >= NODE:
            cursor, field[slot, 2], numbers[slot] = _number(data, equals + 1)
        if field[slot, 2] == BAD:
            cursor = _value_end(data, equals + 1, quotes)
        field[slot, 1] = cursor
        if kind < 0:
            _store_header(name, equals, cursor, header, count)
        filled |= 1 << slot


@compiled
def number_ends(node_ids: Offsets, node_offsets: Offsets, pairs: Offsets, link_offsets: Offsets, source: Ints,
                target: Ints, status: Offsets) -> None:  # fmt: skip
    """The nodes at both ends of every link, counted from 0 in each lattice, where nodes are numbered so.

    The `status` of a lattice becomes NUMBERED; or OTHERWISE if its nodes have other numbers; or the first of its
    links with an end that is no node.
    """
    for u in range(len(status)):
        n0, l0, l1 = node_offsets[u], link_offsets[u], link_offsets[u + 1]
        nodes = node_offsets[u + 1] - n0
        status[u] = NUMBERED
        for node in range(nodes):
            if node_ids[n0 + node] != node:
                status[u] = OTHERWISE
                break
        if status[u] == OTHERWISE:
            continue
        for link in range(l0, l1):
            one, other = pairs[link, 0], pairs[link, 1]
            if not (0 <= one < nodes and 0 <= other < nodes):
                status[u] = link - l0
                break
            source[link], target[link] = one, other


@compiled
def outer_nodes(node_ids: Offsets, node_offsets: Offsets, source: Ints, target: Ints, link_offsets: Offsets,
                given: Offsets, outer: Ints, candidates: Offsets) -> None:  # fmt: skip
    """The start (row 0) and the end (row 1) of each lattice: the node with the `given` number, or the only one that
    no link enters, or leaves, where that is NOT_GIVEN. `candidates` says how many nodes it could be.
    """
    entered, left = np.zeros(len(node_ids), np.bool_), np.zeros(len(node_ids), np.bool_)
    for u in range(len(node_offsets) - 1):
        n0, n1 = node_offsets[u], node_offsets[u + 1]
        for link in range(link_offsets[u], link_offsets[u + 1]):
            left[n0 + source[link]] = True
            entered[n0 + target[link]] = True
        for node in range(n0, n1):
            is_start, is_end = left[node] and not entered[node], entered[node] and not left[node]
            if is_start if given[0, u] == NOT_GIVEN else node_ids[node] == given[0, u]:
                outer[0, u], candidates[0, u] = node - n0, candidates[0, u] + 1
            if is_end if given[1, u] == NOT_GIVEN else node_ids[node] == given[1, u]:
                outer[1, u], candidates[1, u] = node - n0, candidates[1, u] + 1

"""Equal stretches of text get equal ids: what a compiled parser does with words before Python sees them."""

from __future__ import annotations

import numpy as np

from ..base.jit import compiled, inner
from ..lattices.lattice import Ints, Offsets
from .digits import Bytes

_MOST_STEPS = 32  # of a search for a free place, on average; words of any language take one or two


def intern(data: Bytes, starts: Ints | Offsets, ends: Ints | Offsets, ids: Ints, first: Offsets) -> int:
    """Number the stretches of `data` from 0 in order of appearance, equal ones alike; gives how many differ.

    Where a start is negative there is none, and its id is -1. `first` gets the row in which each id first appears.
    """
    count = _intern(data, starts, ends, ids, first)
    return _intern_safely(data, starts, ends, ids, first) if count < 0 else count


def _intern_safely(data: Bytes, starts: Ints | Offsets, ends: Ints | Offsets, ids: Ints, first: Offsets) -> int:
    """The same for words made to collide: Python's own tables have a secret key."""
    text, numbers = data.tobytes(), dict[bytes, int]()
    for row, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        if start < 0:
            ids[row] = -1
            continue
        word = text[start:end]
        if word not in numbers:
            first[len(numbers)] = row
            numbers[word] = len(numbers)
        ids[row] = numbers[word]
    return len(numbers)


@compiled
def _intern(data: Bytes, starts: Ints | Offsets, ends: Ints | Offsets, ids: Ints, first: Offsets) -> int:
    """`intern`; -1 where too many stretches fall on the same places of the table."""
    steps = _MOST_STEPS * (len(starts) + 1)
    size = 16
    while size < 2 * len(starts):
        size *= 2
    table = np.full(size, -1, np.int64)
    count = 0
    for row in range(len(starts)):
        start, end = starts[row], ends[row]
        if start < 0:
            ids[row] = -1
            continue
        code = np.uint64(14695981039346656037)  # FNV-1a
        for index in range(start, end):
            code = (code ^ np.uint64(data[index])) * np.uint64(1099511628211)
        slot = np.int64((code ^ (code >> np.uint64(32))) & np.uint64(size - 1))
        while table[slot] >= 0:
            other = first[table[slot]]
            if _equal(data, start, end, starts[other], ends[other]):
                break
            slot = (slot + 1) & (size - 1)
            steps -= 1
            if steps < 0:
                return -1
        if table[slot] < 0:
            table[slot] = count
            first[count] = row
            count += 1
        ids[row] = table[slot]
    return count


@inner
def _equal(data: Bytes, start: int, end: int, other_start: int, other_end: int) -> bool:
    if end - start != other_end - other_start:
        return False
    while start < end and data[start] == data[other_start]:
        start, other_start = start + 1, other_start + 1
    return start == end

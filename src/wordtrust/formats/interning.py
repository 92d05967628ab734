"""Equal stretches of text get equal ids: what a compiled parser does with words before Python sees them."""

from __future__ import annotations

import numpy as np

from ..base.jit import compiled, inner
from ..lattices.lattice import Ints, Offsets
from .digits import Bytes


@compiled
def intern(data: Bytes, starts: Ints | Offsets, ends: Ints | Offsets, ids: Ints, first: Offsets) -> int:
    """Number the stretches of `data` from 0 in order of appearance, equal ones alike; gives how many differ.

    Where a start is negative there is none, and its id is -1. `first` gets the row in which each id first appears.
    """
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

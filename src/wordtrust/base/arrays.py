"""Arrays of many items end to end, cut into rows by offsets, as in a sparse matrix in CSR form; and log-odds.

Row r of `values` is `values[offsets[r] : offsets[r + 1]]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Offsets = NDArray[np.int64]
Reals = NDArray[np.float64]


def csr_offsets(counts: ArrayLike) -> Offsets:
    """[rows + 1] where each row begins and the last one ends; `counts` has the number of items of each row."""
    offsets = np.zeros(np.size(counts) + 1, np.int64)
    np.cumsum(counts, dtype=np.int64, out=offsets[1:])
    return offsets


def csr_rows(offsets: Offsets) -> Offsets:
    """[items] the row that each item is in."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def csr_items(offsets: Offsets, rows: Offsets) -> Offsets:
    """[items] the places of all items of some rows, row after row."""
    counts = np.diff(offsets)[rows]
    return np.arange(counts.sum()) + np.repeat(offsets[rows] - csr_offsets(counts)[:-1], counts)


def row_offsets(rows: Iterable[Sequence[object]]) -> Offsets:
    """The offsets of rows given as sequences, once these are put end to end."""
    return csr_offsets(np.fromiter(map(len, rows), np.int64))


def concatenate_offsets(parts: Iterable[Offsets]) -> Offsets:
    """The offsets of several arrays of rows that are put end to end."""
    return csr_offsets(np.concatenate([np.zeros(0, np.int64), *(np.diff(part) for part in parts)]))


def logit(probability: Reals) -> Reals:
    """Log-odds; those of 0 and 1 are -inf and inf."""
    with np.errstate(divide="ignore"):
        odds = np.log(probability)
        odds -= np.log1p(-probability)
    return odds

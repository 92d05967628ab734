"""What the posteriors (p=) of HTK lattices mean: probabilities, or their logarithms to the header's base."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...lattices.lattice import Flags, Ints, Offsets, Times
from .header import SlfHeader

MEANING = "Posteriors are from 0 to 1, or all of a lattice are their logarithms, from 0 down"
_ROUNDING = 0.01  # by which a posterior may be over 1: decoders add logs in whole numbers


class Posteriors(NamedTuple):
    """The posteriors of some lattices that are written alike."""

    probability: Times  # [links]
    computed: Flags  # [lattices] whether they are posteriors at all, not placeholders
    bad: Offsets  # links whose posterior is neither a probability nor a logarithm, the first of each lattice


def read_posteriors(values: Times, offsets: Offsets, source: Ints, header: SlfHeader) -> Posteriors:
    """The meaning of `values` [links]; `source` has the node that each link leaves.

    Logarithms are never above 0, and some are below it. In files that others wrote, values that are all 0 are the
    logarithm of 1 if the lattice is a single path, or if others here have logarithms; else they were never computed.
    """
    low, high = np.minimum.reduceat(values, offsets[:-1]), np.maximum.reduceat(values, offsets[:-1])
    has_logs = header.base != 0
    is_log = (low < 0) & (high <= _ROUNDING) & has_logs
    is_bad = ~is_log & ((low < 0) | (high > 1 + _ROUNDING))
    computed = np.ones(len(low), np.bool_)
    if header.all_ones_is_unknown:
        zeros, ones = (low == 0) & (high == 0), (low == 1) & (high == 1)
        logs_of_one = zeros & (_single_paths(zeros, offsets, source) | bool(is_log.any())) & has_logs
        computed = (~zeros | logs_of_one) & (~ones | _single_paths(ones, offsets, source))
        is_log |= logs_of_one
    if is_log.any():
        values = np.where(np.repeat(is_log, np.diff(offsets)), np.exp(header.natural(values)), values)
    return Posteriors(np.minimum(values, 1.0), computed, _first_bad(is_bad, values, offsets))


def _first_bad(is_bad: Flags, values: Times, offsets: Offsets) -> Offsets:
    """The first link of each bad lattice that is to blame."""
    bad = []
    for row in np.flatnonzero(is_bad).tolist():
        own = values[offsets[row] : offsets[row + 1]]
        bad.append(offsets[row] + np.argmax((own < 0) | (own > 1 + _ROUNDING)))
    return np.array(bad, np.int64)


def _single_paths(rows: Flags, offsets: Offsets, source: Ints) -> Flags:
    """[lattices] whether those of `rows` have a single path."""
    single = np.zeros(len(rows), np.bool_)
    for row in np.flatnonzero(rows).tolist():
        own = source[offsets[row] : offsets[row + 1]]
        single[row] = len(np.unique(own)) == len(own)
    return single

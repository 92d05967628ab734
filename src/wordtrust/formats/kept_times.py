"""When words were said by the file they come from, kept beside a lattice, which moves words that overlap."""

from __future__ import annotations

import numpy as np

from ..lattices.lattice import Floats, Lattices, Times

DURATION = "duration"
MIDDLES = ("middle", "middle_rest", "middle_last")  # a number in three parts, as arcs carry floats


def exact_middles(lattices: Lattices) -> Times | None:
    """[arcs] the middles of words as the file has them, if they were kept: a lattice moves words that overlap."""
    if not all(name in lattices.extra for name in MIDDLES):
        return None
    middles: Times = np.sum([lattices.extra[name].astype(np.float64) for name in reversed(MIDDLES)], axis=0)
    return middles


def time_parts(middle: Times, duration: Times) -> dict[str, Floats]:
    """Times of words as numbers of arcs, for `written_times`."""
    rest, parts = middle, {DURATION: duration.astype(np.float32)}
    for name in MIDDLES:
        parts[name] = rest.astype(np.float32)
        rest = rest - parts[name]
    return parts


def written_times(lattices: Lattices) -> tuple[Times, Times] | None:
    """[arcs] the starts and ends of words as the file has them, if they were kept."""
    middles = exact_middles(lattices)
    if middles is None or DURATION not in lattices.extra:
        return None
    duration = np.round(lattices.extra[DURATION].astype(np.float64), 6)
    start: Times = np.round(middles - duration / 2, 6)
    return start, start + duration

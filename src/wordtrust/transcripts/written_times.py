"""When words were said by the file they come from: a lattice moves words that overlap, and bridges short pauses."""

from __future__ import annotations

import numpy as np

from ..formats.kept_times import written_times
from ..lattices.lattice import Lattices, Offsets, Times
from ..lattices.text import JOINER


def written_times_of(lattices: Lattices, arcs: Offsets) -> tuple[list[float], list[float]] | None:
    """Start and end of the words on some arcs as they are written, if that was kept.

    The pieces of a token (`Middle-`, `earth`) share its time as they do in the lattice.
    """
    written = written_times(lattices)
    if written is None or lattices.origin.tolerance is not None:
        return None
    first, last = _token_ends(lattices, arcs)
    begin, finish = written[0][arcs], written[1][arcs]
    start, end = lattices.start_time[arcs], lattices.end_time[arcs]
    token_start, token_end = start[first], end[last]
    stretch = (finish - begin) / np.maximum(token_end - token_start, 1e-9)
    positions = np.arange(len(arcs))
    shared_start: Times = np.where(positions == first, begin, begin + (start - token_start) * stretch)
    shared_end: Times = np.where(positions == last, finish, begin + (end - token_start) * stretch)
    return shared_start.tolist(), shared_end.tolist()


def _token_ends(lattices: Lattices, arcs: Offsets) -> tuple[Offsets, Offsets]:
    """[arcs] the first and the last piece of the token that each is a piece of."""
    surfaces = lattices.vocabulary.lookup(lattices.surface[arcs].tolist())
    utterance = lattices.utterance_of_arc[arcs]
    goes_on = np.array([surface.endswith(JOINER) for surface in surfaces], np.bool_)
    is_rest = np.array([not surface for surface in surfaces], np.bool_)  # of a number that was spelled out
    begins = np.ones(len(arcs), np.bool_)
    begins[1:] = ~(goes_on[:-1] | is_rest[1:]) | (utterance[1:] != utterance[:-1])
    ends = np.append(begins[1:], True)[: len(arcs)]
    token = np.cumsum(begins) - 1
    return np.flatnonzero(begins)[token], np.flatnonzero(ends)[token]

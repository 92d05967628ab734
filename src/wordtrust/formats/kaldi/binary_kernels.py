"""Lattices as Kaldi writes them in binary: OpenFst's vector format, with weights of two costs and a string of ids.

The numbers are little endian. After the header come the states, each with its final weight and its arcs:

    header   magic, type of graph, type of arc, version, flags, properties, start, states, arcs
    state    weight of ending here (infinite: not final), number of arcs, arcs
    arc      input label, output label, weight, next state
    weight   graph and acoustic cost, in a CompactLattice also the number of transition ids, and these
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from ...base.jit import compiled, inlined
from ...lattices.lattice import Floats, Ints, Offsets
from ..digits import Bytes, load

MAGIC = struct.pack("<i", 2125659606)
MAX_KEY = 4096
_MAX_NAME = 64
_MAX_IDS = 10_000_000  # on one arc: a day of frames
_FIXED = struct.Struct("<iiQqqq")
_SYMBOL_TABLES = 3  # flags: input and output symbols follow the header
HEADER_SIZE = 4 + 2 * (4 + _MAX_NAME) + _FIXED.size  # at most

# Arc type: bytes of a cost, and whether arcs are words with strings of ids (CompactLattice) or frames (Lattice).
ARC_TYPES = {
    b"lattice4": (4, False),
    b"lattice8": (8, False),
    b"compactlattice44": (4, True),
    b"compactlattice84": (8, True),
}

MORE, DONE, BAD = range(3)
_1, _2, _3 = np.uint64(1), np.uint64(2), np.uint64(3)


@dataclass(slots=True)
class FstHeader:
    """How a lattice is stored."""

    cost_size: int
    compact: bool
    start: int
    states: int  # -1: up to the end of the file
    size: int  # bytes


def read_header(data: bytes) -> FstHeader | str | None:
    """The header at the beginning of `data`, or what is there instead; None if more bytes are needed."""
    if not data.startswith(MAGIC):
        return None if MAGIC.startswith(data) else f"no lattice, but {data[:12]!r}"
    graph_type, at = _name(data, len(MAGIC))
    arc_type, at = _name(data, at)
    if len(data) < at + _FIXED.size:
        return None
    _, flags, _, start, states, _ = _FIXED.unpack_from(data, at)
    if graph_type != b"vector" or arc_type not in ARC_TYPES:
        return f"an FST of type {_shown(graph_type)} with arcs of type {_shown(arc_type)}, not a lattice"
    if flags & _SYMBOL_TABLES:
        return "a lattice with symbol tables inside"
    return FstHeader(*ARC_TYPES[arc_type], start, states, at + _FIXED.size)


def _name(data: bytes, at: int) -> tuple[bytes, int]:
    """A name with its length before it, and where it ends; one of impossible length is taken for empty."""
    length = int.from_bytes(data[at : at + 4], "little")
    length = length if length <= _MAX_NAME else 0
    return data[at + 4 : at + 4 + length], at + 4 + length


def _shown(name: bytes) -> str:
    return repr(name.decode(errors="replace"))


@inlined
def _int32(data: Bytes, at: int) -> int:
    first = np.uint64(at)
    low = np.uint32(data[first]) | np.uint32(data[first + _1]) << np.uint32(8)
    high = np.uint32(data[first + _2]) | np.uint32(data[first + _3]) << np.uint32(8)
    return int(np.int32(low | high << np.uint32(16)))


@inlined
def _cost(data: Bytes, at: int, cost_size: int) -> float:
    if cost_size == 4:
        return float(np.int32(_int32(data, at)).view(np.float32))
    return float(np.int64(load(data, np.uint64(at))).view(np.float64))


@inlined
def _weight_end(data: Bytes, at: int, cost_size: int, compact: bool) -> int:
    """Where the weight at `at` ends; -1 if it has an impossible number of ids."""
    at += 2 * cost_size
    if not compact:
        return at
    ids = _int32(data, at)
    return at + 4 + 4 * ids if 0 <= ids <= _MAX_IDS else -1


@compiled
def walk(data: Bytes, size: int, at: int, progress: Offsets, cost_size: int, compact: bool) -> tuple[int, int]:
    """Follow a lattice from state to state and arc to arc, up to its end or that of the first `size` bytes.

    `progress` says how far it has come: states left, arcs left of this state, and the states, arcs and final states
    passed so far. Gives MORE, DONE or BAD, and the place. After `size` must come room for a weight and a number.
    """
    fixed = 2 * cost_size + (4 if compact else 0)  # bytes of a weight without its ids
    left, arcs_left, states, arcs, finals = progress
    status = DONE
    while left > 0 or arcs_left > 0:
        before = 8 if arcs_left else 0  # labels come before an arc's weight, the next state or a count after it
        after = 4 if arcs_left else 8
        status = MORE
        if at + before + fixed > size:
            break
        end = _weight_end(data, at + before, cost_size, compact)
        if end < 0:
            status = BAD
            break
        if end + after > size:
            break
        if arcs_left:
            arcs_left -= 1
            arcs += 1
        else:
            count = np.int64(load(data, np.uint64(end)))
            if count < 0:
                status = BAD
                break
            finals += not (_cost(data, at, cost_size) == np.inf and _cost(data, at + cost_size, cost_size) == np.inf)
            left, arcs_left, states = left - 1, count, states + 1
        at = end + after
        status = DONE
    progress[0], progress[1], progress[2], progress[3], progress[4] = left, arcs_left, states, arcs, finals
    return status, at


@compiled
def parse(data: Bytes, entries: Offsets, arcs: Ints, costs: Floats, finals: Ints, final_costs: Floats) -> None:
    """Read whole lattices into tables. An entry is: place, states, bytes of a cost, compact or not.

    Rows of `arcs` are source, target, label and frames; of `finals`, states and frames.
    """
    arc, final = 0, 0
    for row in range(len(entries)):
        at, states, cost_size, compact = entries[row]
        for state in range(states):
            end = _weight_end(data, at, cost_size, compact != 0)
            graph, acoustic = _cost(data, at, cost_size), _cost(data, at + cost_size, cost_size)
            if not (graph == np.inf and acoustic == np.inf):
                finals[0, final], finals[1, final] = state, (end - at - 2 * cost_size) // 4 - 1 if compact else 0
                final_costs[0, final], final_costs[1, final] = graph, acoustic
                final += 1
            count = np.int64(load(data, np.uint64(end)))
            at = end + 8
            for _ in range(count):
                weight = at + 8
                end = _weight_end(data, weight, cost_size, compact != 0)
                arcs[0, arc], arcs[1, arc], arcs[2, arc] = state, _int32(data, end), _int32(data, at + 4)
                ids = (end - weight - 2 * cost_size) // 4 - 1
                arcs[3, arc] = ids if compact else _int32(data, at) != 0
                costs[0, arc] = _cost(data, weight, cost_size)
                costs[1, arc] = _cost(data, weight + cost_size, cost_size)
                arc += 1
                at = end + 4

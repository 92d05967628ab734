"""The plain way to read Kaldi lattices: line by line with `split` and tuples, or value by value with `struct`.

What the fast readers are measured against. They look words up as those do, but neither check nor order the graph
and give no times.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

Arc = tuple[int, int, str, float, float, int]  # source, target, word, graph and acoustic cost, frames
Final = tuple[int, float, float, int]
Lattices = dict[str, tuple[list[Arc], list[Final]]]


def read_words(lines: Iterable[str]) -> dict[str, str]:
    """The words of a symbol table by their numbers, as they are printed."""
    return {number: word for word, number in map(str.split, lines)}


def read_text(lines: Iterable[str], words: dict[str, str]) -> Lattices:
    """The lattices of a CompactLattice text archive."""
    lattices: Lattices = {}
    arcs: list[Arc] = []
    finals: list[Final] = []
    inside = False
    for line in lines:
        fields = line.split()
        if not fields:
            inside = False
        elif not inside:
            inside = True
            arcs, finals = lattices[fields[0]] = [], []
        elif len(fields) > 2:
            graph, acoustic, ids = fields[3].split(",")
            frames = ids.count("_") + 1 if ids else 0
            arcs.append((int(fields[0]), int(fields[1]), words[fields[2]], float(graph), float(acoustic), frames))
        elif len(fields) == 2:
            graph, acoustic, ids = fields[1].split(",")
            finals.append((int(fields[0]), float(graph), float(acoustic), ids.count("_") + 1 if ids else 0))
        else:
            finals.append((int(fields[0]), 0.0, 0.0, 0))
    return lattices


_HEADER = struct.Struct("<iiQqqq")
_FINAL, _COUNT, _ARC, _TARGET = (
    struct.Struct("<ffi"),
    struct.Struct("<q"),
    struct.Struct("<iiffi"),
    struct.Struct("<i"),
)


def read_binary(data: bytes, words: dict[int, str]) -> Lattices:
    """The lattices of a CompactLattice archive in single precision."""
    lattices: Lattices = {}
    at, infinite = 0, float("inf")
    while at < len(data):
        end = data.index(b" ", at)
        arcs, finals = lattices[data[at:end].decode()] = [], []
        at = end + 5
        for _ in range(2):
            at += 4 + _TARGET.unpack_from(data, at)[0]
        states = _HEADER.unpack_from(data, at)[4]
        at += _HEADER.size
        for state in range(states):
            graph, acoustic, frames = _FINAL.unpack_from(data, at)
            if graph != infinite:
                finals.append((state, graph, acoustic, frames))
            at += 12 + 4 * frames
            (count,) = _COUNT.unpack_from(data, at)
            at += 8
            for _ in range(count):
                _, label, graph, acoustic, frames = _ARC.unpack_from(data, at)
                at += 20 + 4 * frames
                arcs.append((state, _TARGET.unpack_from(data, at)[0], words[label], graph, acoustic, frames))
                at += 4
    return lattices


def write_binary(lattices: Lattices, numbers: dict[str, int]) -> bytes:
    """The same lattices as such an archive, to have one to read."""
    names = b"".join(struct.pack("<i", len(name)) + name for name in (b"vector", b"compactlattice44"))
    parts = []
    for utt, (arcs, finals) in lattices.items():
        ends = {state: (graph, acoustic, frames) for state, graph, acoustic, frames in finals}
        states = 1 + max([*ends, *(max(arc[:2]) for arc in arcs)])
        leaving: list[list[Arc]] = [[] for _ in range(states)]
        for arc in arcs:
            leaving[arc[0]].append(arc)
        header = _HEADER.pack(2, 0, 3, arcs[0][0], states, 0)
        parts.append(utt.encode() + b" " + _TARGET.pack(2125659606) + names + header)
        for state in range(states):
            graph, acoustic, frames = ends.get(state, (float("inf"), float("inf"), 0))
            parts.append(_FINAL.pack(graph, acoustic, frames) + _TARGET.pack(1) * frames)
            parts.append(_COUNT.pack(len(leaving[state])))
            for _, target, word, arc_graph, arc_acoustic, arc_frames in leaving[state]:
                label = numbers[word]
                parts.append(_ARC.pack(label, label, arc_graph, arc_acoustic, arc_frames))
                parts.append(_TARGET.pack(1) * arc_frames + _TARGET.pack(target))
    return b"".join(parts)

"""Best paths through lattices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .jit import compiled
from .lattice import Floats, Ints, Lattice, Lattices, Offsets


@dataclass(frozen=True, slots=True)
class Paths:
    """One path for each utterance of a batch: arc numbers, counted within the utterance, end to end."""

    offsets: Offsets  # [utterances + 1]
    arcs: Ints


def arc_scores(lattice: Lattice | Lattices) -> Floats:
    """Each arc's score as its recognizer weighs it: scaled scores, or else the log of the posterior."""
    scales = lattice.scales
    if lattice.acoustic is None and lattice.transition is None:
        if lattice.posterior is None:
            return np.zeros(len(lattice.source), np.float32)
        return np.log(np.maximum(lattice.posterior, np.float32(1e-30)))
    total = np.where(lattice.word > 0, np.float32(scales.word_penalty), np.float32(0))
    if lattice.acoustic is not None:
        total = total + np.float32(scales.acoustic) * lattice.acoustic
    if lattice.transition is not None:
        total = total + np.float32(scales.transition) * lattice.transition
    return total.astype(np.float32)


@compiled
def _best_paths(node_offsets: Offsets, arc_offsets: Offsets, source: Ints, target: Ints, score: Floats,
                path: Ints, offsets: Offsets) -> None:  # fmt: skip
    """The path of the largest total score through each lattice; ties go to the earlier arc."""
    written = 0
    for u in range(len(node_offsets) - 1):
        nodes, first = node_offsets[u + 1] - node_offsets[u], arc_offsets[u]
        best = np.full(nodes, -np.inf)
        back = np.full(nodes, -1, np.int32)
        best[0] = 0.0
        for arc in range(first, arc_offsets[u + 1]):  # sorted by source, so best[source] is final
            total = best[source[arc]] + score[arc]
            if total > best[target[arc]]:
                best[target[arc]] = total
                back[target[arc]] = arc - first
        node, length = nodes - 1, 0
        while node > 0:
            path[written + length] = back[node]
            length += 1
            node = source[first + back[node]]
        path[written : written + length] = path[written : written + length][::-1].copy()
        written += length
        offsets[u + 1] = written


def one_best(lattices: Lattices) -> Paths:
    """What each recognizer itself would print: the hypothesis it picked, or the best path with scores as given."""
    score = arc_scores(lattices)
    if lattices.picked is not None:
        score = np.where(lattices.picked, np.float32(1), np.float32(-1e6))
    return best_paths(lattices, score)


def best_paths(lattices: Lattices, score: Floats) -> Paths:
    """The path of the largest total `score` through each lattice."""
    path = np.empty(max(1, len(lattices.time)), np.int32)
    offsets = np.zeros(len(lattices) + 1, np.int64)
    _best_paths(lattices.node_offsets, lattices.arc_offsets, lattices.source, lattices.target, score, path, offsets)
    return Paths(offsets, path[: offsets[-1]])

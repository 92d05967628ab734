"""The likeliest texts of a lattice, exactly: what a recognizer with lattices prints as its N-best list.

Paths that say the same words at other times or with other pauses are one text, that of the best of them.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import NamedTuple

import numpy as np

from wordtrust.lattices.lattice import Flags, Lattice
from wordtrust.lattices.posterior import path_losses
from wordtrust.lattices.weights import Reals

TEXTS = 10


class Text(NamedTuple):
    """One text, and the best path that says it."""

    score: float
    words: tuple[int, ...]  # as the recognizer wrote them, numbers in the lattice's vocabulary
    arcs: tuple[int, ...]  # pauses among them


class _Beginning(NamedTuple):
    """The first arcs of a path; of these the heap gives the one with the best end, among equals the oldest."""

    cost: float  # minus the score of the best path that begins so
    age: int
    score: float  # so far
    node: int
    words: tuple[int, ...]
    arcs: tuple[int, ...]


def best_texts(
    lattice: Lattice, most: int = TEXTS, *, score: Reals | None = None, among: Flags | None = None
) -> list[Text]:
    """The best texts, the likeliest first, by a score for each arc: by default as the recognizer weighs them.

    With `among` (which arcs), only paths of these count.
    """
    values = lattice.scores() if score is None else score
    arcs = range(lattice.arcs) if among is None else np.flatnonzero(among).tolist()
    return list(islice(_texts(lattice, values.tolist(), arcs), most))


def within_beam(lattice: Lattice, beam: float, *, score: Reals | None = None) -> Flags:
    """[arcs] which lie on a path whose score is less than the best one's by at most `beam`: what pruning leaves."""
    losses, _ = path_losses(lattice.batch(), lattice.scores() if score is None else score)
    kept: Flags = losses <= beam
    return kept


def _texts(lattice: Lattice, score: Sequence[float], arcs: Sequence[int]) -> Iterator[Text]:
    """All texts, the likeliest first. The best way on from every node is known, so paths come out in their order."""
    target, surface = lattice.target.tolist(), lattice.surface.tolist()
    spoken = (lattice.word > 0).tolist()
    left, leaving = _to_end(lattice, score, arcs), _leaving(lattice, arcs)
    ages, seen = count(), set()
    heap = [_Beginning(-left[0], next(ages), 0.0, 0, (), ())]
    while heap:
        path = heapq.heappop(heap)
        if (path.node, path.words) in seen:  # these words came here before, by a better path
            continue
        seen.add((path.node, path.words))
        if path.node == lattice.nodes - 1:
            yield Text(path.score, path.words, path.arcs)
        for arc in leaving[path.node]:
            total, node = path.score + score[arc], target[arc]
            words = (*path.words, surface[arc]) if spoken[arc] else path.words
            heapq.heappush(heap, _Beginning(-total - left[node], next(ages), total, node, words, (*path.arcs, arc)))


def _to_end(lattice: Lattice, score: Sequence[float], arcs: Sequence[int]) -> list[float]:
    """The best score from every node to the end by these arcs."""
    source, target = lattice.source.tolist(), lattice.target.tolist()
    best = [-math.inf] * (lattice.nodes - 1) + [0.0]
    for arc in reversed(arcs):  # sorted by source, so best[target] is final
        best[source[arc]] = max(best[source[arc]], score[arc] + best[target[arc]])
    return best


def _leaving(lattice: Lattice, arcs: Sequence[int]) -> list[list[int]]:
    """Those of the arcs that leave each node and are on a way to the end."""
    found: list[list[int]] = [[] for _ in range(lattice.nodes)]
    source = lattice.source.tolist()
    for arc in arcs:
        found[source[arc]].append(arc)
    return found

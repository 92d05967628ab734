"""What every recognizer says about every hypothesis of a union: how sure it is of that word there, and of what else.

Two arcs are about the same word if they say it and overlap by half of the shorter one: recognizers cut the same word
at different instants. What speaks against an arc is what a recognizer holds possible in the middle of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..jit import compiled
from ..lattice import Flags, Floats, Ints, Offsets, Times
from .union import Union

SHORTEST = 0.01  # seconds that an arc has at least when arcs are compared
# For each recognizer: confidence of the word there, the largest of another word's, that of all words together, the
# mass of silence, whether the word is in its output, the word's posterior, and its confidence with just these ends.
KINDS = ("word", "rival", "words", "silence", "own", "posterior", "arc")
Evidence = NDArray[np.float32]  # [arcs, recognizers, kinds]


def evidence(union: Union) -> Evidence:
    """Look at every arc with the eyes of every recognizer; of silence arcs, `word` is the mass of silence."""
    lattices = union.lattices
    time = lattices.time.copy()
    _spread(lattices.node_offsets, time, SHORTEST)
    found = np.zeros((*union.confidence.shape, len(KINDS)), np.float32)
    found[:, :, KINDS.index("arc")] = union.confidence
    _look(
        lattices.node_offsets, lattices.arc_offsets, time, lattices.source, lattices.target, lattices.word,
        union.confidence, union.posterior, union.own, found,
    )  # fmt: skip
    return np.minimum(found, np.float32(1.0))


@compiled
def _spread(node_offsets: Offsets, time: Times, step: float) -> None:
    for u in range(len(node_offsets) - 1):
        for node in range(node_offsets[u] + 1, node_offsets[u + 1]):
            time[node] = max(time[node], time[node - 1] + step)


@compiled
def _look(node_offsets: Offsets, arc_offsets: Offsets, time: Times, source: Ints, target: Ints, word: Ints,
          confidence: Floats, posterior: Floats, own: Flags, found: Evidence) -> None:  # fmt: skip
    systems = confidence.shape[1]
    for u in range(len(node_offsets) - 1):
        n0, a0, a1 = node_offsets[u], arc_offsets[u], arc_offsets[u + 1]
        for arc in range(a0, a1):
            start, end = time[n0 + source[arc]], time[n0 + target[arc]]
            middle = (start + end) / 2
            for other in range(a0, a1):
                begin, finish = time[n0 + source[other]], time[n0 + target[other]]
                if begin >= end:  # arcs are sorted by source
                    break
                common = min(end, finish) - max(start, begin)
                if common <= 0:
                    continue
                same = word[other] == word[arc] and 2 * common >= min(end - start, finish - begin)
                across = begin <= middle < finish
                for system in range(systems):
                    sure = confidence[other, system]
                    if same:
                        found[arc, system, 0] += sure
                        found[arc, system, 4] += own[other, system]
                        found[arc, system, 5] += posterior[other, system]
                    if across and word[other] == 0:
                        found[arc, system, 3] += sure
                    elif across:
                        found[arc, system, 2] += sure
                        if not same:
                            found[arc, system, 1] = max(found[arc, system, 1], sure)

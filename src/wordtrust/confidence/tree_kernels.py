"""The compiled loop over trees (see `trees`): a block of arcs goes down one tree together, level by level.

Which way an arc goes is a number that is added and not a branch that is taken, since no processor could predict it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.jit import compiled, inner
from ..lattices.lattice import Floats

BLOCK = 64  # arcs: their inputs and one tree stay in the cache
Bytes = NDArray[np.uint8]
_ONE, _TWO = np.uint32(1), np.uint32(2)


@inner
def _go_down(block: Floats, arcs: int, feature: Bytes, threshold: Floats, missing_right: Bytes, has_nan: bool,
             at: NDArray[np.uint32]) -> None:  # fmt: skip
    """From the root of one tree to the leaf of each arc of a block; `at` has their numbers behind those of nodes."""
    for arc in range(arcs):
        at[arc] = 0
    level = 1
    while level <= len(feature):
        for arc in range(arcs):
            node = at[arc]
            value = block[feature[node], arc]
            right = np.uint32(value > threshold[node])
            if has_nan:
                right |= np.uint32(value != value) & np.uint32(missing_right[node])  # noqa: PLR0124
            at[arc] = _TWO * node + _ONE + right
        level *= 2


@compiled
def add_leaves(
    inputs: Floats, feature: Bytes, threshold: Floats, missing_right: Bytes, leaf: Floats, total: NDArray[np.float64]
) -> None:
    """Add the leaf that every arc comes to in every tree to its total."""
    nodes = feature.shape[1]
    at = np.empty(BLOCK, np.uint32)  # the node that each arc has come to
    block = np.empty((inputs.shape[1], BLOCK), np.float32)  # inputs of arcs side by side
    for first in range(0, len(inputs), BLOCK):
        arcs, has_nan = min(BLOCK, len(inputs) - first), False
        for arc in range(arcs):
            for column in range(inputs.shape[1]):
                value = inputs[first + arc, column]
                has_nan |= value != value  # noqa: PLR0124
                block[column, arc] = value
        for tree in range(len(feature)):
            if has_nan:
                _go_down(block, arcs, feature[tree], threshold[tree], missing_right[tree], True, at)
            else:
                _go_down(block, arcs, feature[tree], threshold[tree], missing_right[tree], False, at)
            for arc in range(arcs):
                total[first + arc] += leaf[tree, at[arc] - np.uint32(nodes)]

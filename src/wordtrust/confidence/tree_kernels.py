"""The compiled loop over trees (see `trees`): a block of arcs goes down one tree together, level by level.

Which way an arc goes is a number that is added and not a branch that is taken, since no processor could predict it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.jit import compiled
from ..lattices.lattice import Floats

BLOCK = 64  # arcs: their inputs and one tree stay in the cache
Bytes = NDArray[np.uint8]
_ONE, _TWO = np.uint32(1), np.uint32(2)


@compiled
def add_leaves(
    inputs: Floats, feature: Bytes, threshold: Floats, missing_right: Bytes, leaf: Floats, total: NDArray[np.float64]
) -> None:
    """Add the leaf that every arc comes to in every tree to its total."""
    nodes = feature.shape[1]
    at = np.empty(BLOCK, np.uint32)  # the node that each arc has come to
    for first in range(0, len(inputs), BLOCK):
        arcs = min(BLOCK, len(inputs) - first)
        for tree in range(len(feature)):
            looks_at, limit, nan_goes, value_of = feature[tree], threshold[tree], missing_right[tree], leaf[tree]
            for arc in range(arcs):
                at[arc] = 0
            level = 1
            while level <= nodes:
                for arc in range(arcs):
                    node = at[arc]
                    value = inputs[first + arc, looks_at[node]]
                    is_nan = np.uint32(value != value)  # noqa: PLR0124
                    right = np.uint32(value > limit[node]) | (is_nan & np.uint32(nan_goes[node]))
                    at[arc] = _TWO * node + _ONE + right
                level *= 2
            for arc in range(arcs):
                total[first + arc] += value_of[at[arc] - np.uint32(nodes)]

"""The level of every node of a batch of networks: the longest way to it, from the start and from the end."""

from __future__ import annotations

import numpy as np

from ..base.jit import compiled
from ..lattices.lattice import Ints, Lattices, Offsets


def node_levels(networks: Lattices) -> tuple[Ints, Ints]:
    """The longest way to each node from the start, and from the end."""
    ahead, behind = np.zeros(len(networks.time), np.int32), np.zeros(len(networks.time), np.int32)
    _node_levels(networks.node_offsets, networks.arc_offsets, networks.source, networks.target, ahead, behind)
    return ahead, behind


@compiled
def _node_levels(
    node_offsets: Offsets, arc_offsets: Offsets, source: Ints, target: Ints, ahead: Ints, behind: Ints
) -> None:
    for u in range(len(arc_offsets) - 1):
        node = node_offsets[u]
        for arc in range(arc_offsets[u], arc_offsets[u + 1]):  # sorted by source
            s, t = node + source[arc], node + target[arc]
            ahead[t] = max(ahead[t], ahead[s] + 1)
        for arc in range(arc_offsets[u + 1] - 1, arc_offsets[u] - 1, -1):
            s, t = node + source[arc], node + target[arc]
            behind[s] = max(behind[s], behind[t] + 1)

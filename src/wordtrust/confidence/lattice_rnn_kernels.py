"""The compiled loops of the torch-free lattice RNN: levels of nodes, the order of arcs, and the LSTM on one level.

Rows are contiguous float32 and the inner loops plain, so that the compiler makes vector instructions of them. Weights
of gates that end in a sigmoid come halved, sigmoid(x) being (1 + tanh(x / 2)) / 2: all gates are one loop over tanh.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.jit import arithmetic, compiled, inlined_arithmetic
from ..lattices.lattice import Floats, Ints, Lattices, Offsets

HALF = np.float32(0.5)
# x P(x^2) / Q(x^2), fitted to tanh with the least relative error up to 8, from where on it is 1 but for 2e-7
_FAR = np.float32(8.0)
_P0, _P1, _P2, _P3 = (np.float32(p) for p in (9.99999854e-01, 1.29256603e-01, 2.95102110e-03, 1.14283969e-05))
_Q1, _Q2, _Q3, _Q4 = (np.float32(q) for q in (4.62588759e-01, 2.38155428e-02, 2.38668805e-04, 2.45920280e-07))
_ONE = np.float32(1.0)

Numbers = NDArray[np.int64]


@inlined_arithmetic
def tanh(x: Any) -> Any:
    """To 5e-7 of the value."""
    x = min(max(x, -_FAR), _FAR)
    s = x * x
    return x * (((_P3 * s + _P2) * s + _P1) * s + _P0) / ((((_Q4 * s + _Q3) * s + _Q2) * s + _Q1) * s + _ONE)


def node_levels(networks: Lattices) -> tuple[Ints, Ints]:
    """[nodes] the length of the longest path to each node from the start, and from the end."""
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


@compiled
def number_nodes(
    utterances: Numbers, node_offsets: Offsets, level: Ints, backwards: bool, node_bounds: Numbers, number: Ints
) -> None:
    """Number the nodes of some utterances by level, from `node_bounds[level]` to that of the next level.

    Nodes where utterances end (begin, backwards) have number -1, since their state is not needed.
    """
    for u in utterances:
        end = node_offsets[u] if backwards else node_offsets[u + 1] - 1
        for node in range(node_offsets[u], node_offsets[u + 1]):
            if node != end:
                node_bounds[level[node] + 1] += 1
    free = np.empty(len(node_bounds) - 1, np.int64)  # the next number of each level
    for depth in range(len(free)):
        free[depth] = node_bounds[depth]
        node_bounds[depth + 1] += node_bounds[depth]
    index = 0
    for u in utterances:
        end = node_offsets[u] if backwards else node_offsets[u + 1] - 1
        for node in range(node_offsets[u], node_offsets[u + 1]):
            number[index] = -1
            if node != end:
                number[index] = free[level[node]]
                free[level[node]] += 1
            index += 1


@compiled
def order_arcs(
    utterances: Numbers, node_offsets: Offsets, arc_offsets: Offsets, source: Ints, target: Ints, number: Ints,
    ends: Numbers, arc: Numbers, come: Ints, go: Ints,
) -> None:  # fmt: skip
    """Arcs of some utterances in the order of the number of the node that they come from.

    `arc`: which; `come` and `go`: the nodes they come from and go to; `ends`, zeros before: where the arcs of each
    node end in that order.
    """
    first = 0
    for u in utterances:
        for a in range(arc_offsets[u], arc_offsets[u + 1]):
            ends[number[first + source[a]] + 1] += 1
        first += node_offsets[u + 1] - node_offsets[u]
    for node in range(len(ends) - 1):
        ends[node + 1] += ends[node]
    first = 0
    for u in utterances:
        for a in range(arc_offsets[u], arc_offsets[u + 1]):
            node = number[first + source[a]]
            index = ends[node]  # where its arcs begin, until all have their index
            arc[index], come[index], go[index] = a, node, number[first + target[a]]
            ends[node] += 1
        first += node_offsets[u + 1] - node_offsets[u]


@arithmetic
def lstm(
    begin: int, end: int, first: int, first_node: int, come: Ints, go: Ints, weight: Floats, gates: Floats,
    product: Floats, nodes: Floats, state: Floats,
) -> None:  # fmt: skip
    """c = f c' + i g, h = o tanh(c) for the arcs of one level, and what they give to the nodes that they enter."""
    size = state.shape[1] // 2
    for arc in range(begin, end):
        x, mine = gates[arc - first], state[arc - first]
        r, before = product[come[arc] - first_node], nodes[come[arc]]
        for j in range(4 * size):
            x[j] = tanh(x[j] + r[j])
        for j in range(size):
            kept = (HALF + HALF * x[size + j]) * before[size + j]
            mine[size + j] = kept + (HALF + HALF * x[j]) * x[2 * size + j]
        for j in range(size):
            mine[j] = (HALF + HALF * x[3 * size + j]) * tanh(mine[size + j])
        if go[arc] >= 0:
            node, share = nodes[go[arc]], weight[arc]
            for j in range(2 * size):
                node[j] += share * mine[j]

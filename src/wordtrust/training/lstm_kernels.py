"""The LSTM passes of `lattice_rnn` for float32 on a CPU: each level in one compiled pass over its arcs.

Torch needs a dozen operations for a level of some hundred arcs, each with a new array. Without these kernels training
on a CPU takes 1.4 times as long on large networks and 1.8 times on small ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..base.jit import arithmetic
from ..confidence.lattice_rnn_kernels import HALF, tanh
from ..lattices.lattice import Floats

Indices = NDArray[np.int64]
_ONE = np.float32(1.0)
_EQUAL_WEIGHTS = np.empty(0, np.float32)


class CompiledLstm:
    """As `lattice_rnn.TorchLstm`."""

    @staticmethod
    def forward(x: Tensor, product: Tensor, nodes: Tensor, source: Tensor, gates: Tensor, state: Tensor) -> None:
        """Fill in `gates` and `state` of a level's arcs."""
        _forward(*(tensor.numpy() for tensor in (x.detach(), product, nodes, source, gates, state)))

    @staticmethod
    def backward(
        nodes: Tensor, source: Tensor, gates: Tensor, state: Tensor
    ) -> Callable[[slice, tuple[Tensor, ...], Tensor], None]:
        """Of a batch; what it gives fills in `back` of a level's arcs."""
        of_nodes, sources, of_gates, states = (tensor.numpy() for tensor in (nodes, source, gates, state))

        def level_backward(arcs: slice, gradient: tuple[Tensor, ...], back: Tensor) -> None:
            rest = (tensor.numpy() for tensor in (*gradient, back))
            _backward(of_nodes, sources[arcs], of_gates[arcs], states[arcs], *rest)

        return level_backward

    @staticmethod
    def collect(rows: Tensor, index: Tensor, offsets: Tensor, weight: Tensor | None, out: Tensor) -> None:
        """Fill in `out` with weighted sums of rows."""
        weights = _EQUAL_WEIGHTS if weight is None else weight.numpy()
        _collect(rows.numpy(), index.numpy(), offsets.numpy(), weights, out.numpy())


@arithmetic
def _collect(rows: Floats, index: Indices, offsets: Indices, weight: Floats, out: Floats) -> None:
    for node in range(len(offsets)):
        total = out[node]
        for j in range(len(total)):
            total[j] = 0.0
        end = offsets[node + 1] if node + 1 < len(offsets) else len(index)
        for i in range(offsets[node], end):
            row, share = rows[index[i]], weight[i] if len(weight) else _ONE
            for j in range(len(total)):
                total[j] += share * row[j]


@arithmetic
def _forward(x: Floats, product: Floats, nodes: Floats, source: Indices, gates: Floats, state: Floats) -> None:
    size = state.shape[1] // 2
    scale = np.empty(4 * size, np.float32)  # sigmoid(x) = 1/2 + 1/2 tanh(x/2), so that all gates are one loop
    for j in range(4 * size):
        scale[j] = _ONE if j // size == 2 else HALF
    for arc in range(len(source)):
        gate, given, r = gates[arc], x[arc], product[source[arc]]
        before, after = nodes[source[arc]], state[arc]
        for j in range(4 * size):
            gate[j] = _ONE - scale[j] + scale[j] * tanh(scale[j] * (given[j] + r[j]))
        for j in range(size):
            after[size + j] = gate[size + j] * before[size + j] + gate[j] * gate[2 * size + j]
        for j in range(size):
            after[j] = gate[3 * size + j] * tanh(after[size + j])


@arithmetic
def _backward(
    nodes: Floats, source: Indices, gates: Floats, state: Floats, grad_node: Floats, target: Indices, weight: Floats,
    grad_arc: Floats, back: Floats,
) -> None:  # fmt: skip
    size = state.shape[1] // 2
    tanh_c, grad_h, grad_c = np.empty(size, np.float32), np.empty(size, np.float32), np.empty(size, np.float32)
    for arc in range(len(source)):
        gate, after, before, out = gates[arc], state[arc], nodes[source[arc]], back[arc]
        node, own, share = grad_node[target[arc]], grad_arc[arc], weight[arc]
        for j in range(size):
            tanh_c[j] = tanh(after[size + j])
        for j in range(size):
            grad_h[j] = share * node[j] + own[j]
        for j in range(size):
            slope = _ONE - tanh_c[j] * tanh_c[j]
            grad_c[j] = share * node[size + j] + grad_h[j] * gate[3 * size + j] * slope
        for j in range(size):
            out[j] = grad_c[j] * gate[2 * size + j] * gate[j] * (_ONE - gate[j])
        for j in range(size):
            out[size + j] = grad_c[j] * before[size + j] * gate[size + j] * (_ONE - gate[size + j])
        for j in range(size):
            out[2 * size + j] = grad_c[j] * gate[j] * (_ONE - gate[2 * size + j] * gate[2 * size + j])
        for j in range(size):
            out[3 * size + j] = grad_h[j] * tanh_c[j] * gate[3 * size + j] * (_ONE - gate[3 * size + j])
        for j in range(size):
            out[4 * size + j] = grad_c[j] * gate[size + j]

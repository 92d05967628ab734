"""The cells of `cells` for the processor: each level in one pass, with what goes in and out of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..base.jit import arithmetic
from ..confidence.lattice_rnn_kernels import HALF, tanh
from ..lattices.lattice import Floats
from .cells import Cell, Grads

Numbers = NDArray[np.int64]
_ONE = np.float32(1.0)
_EVEN = np.empty(0, np.float32)  # every row counts once


def _arrays(*tensors: Tensor) -> list[NDArray[Any]]:
    return [tensor.numpy() for tensor in tensors]


class _Collecting:
    def collect(self, rows: Tensor, index: Tensor, offsets: Tensor, weight: Tensor | None, out: Tensor) -> None:
        """See `cells.Cell`."""
        given = _EVEN if weight is None else weight.numpy()
        _collect(rows.numpy(), index.numpy(), offsets.numpy(), given, out.numpy())


class CompiledLstm(_Collecting):
    """As `cells.Lstm`."""

    states = 2
    alike = True

    def forward(self, x: Tensor, product: Tensor, nodes: Tensor, source: Tensor, acts: Tensor, state: Tensor) -> None:
        """See `cells.Cell`."""
        _lstm_forward(*_arrays(x.detach(), product, nodes, source, acts, state))

    def backward(
        self, product: Tensor, nodes: Tensor, source: Tensor, acts: Tensor, state: Tensor, grads: Grads, back: Tensor,
        grad_x: Tensor,
    ) -> None:  # fmt: skip
        """See `cells.Cell`."""
        del product, grad_x
        _lstm_backward(*_arrays(nodes, source, acts, state, *grads, back))


class CompiledGru(_Collecting):
    """As `cells.Gru`."""

    states = 1
    alike = False

    def forward(self, x: Tensor, product: Tensor, nodes: Tensor, source: Tensor, acts: Tensor, state: Tensor) -> None:
        """See `cells.Cell`."""
        _gru_forward(*_arrays(x.detach(), product, nodes, source, acts, state))

    def backward(
        self, product: Tensor, nodes: Tensor, source: Tensor, acts: Tensor, state: Tensor, grads: Grads, back: Tensor,
        grad_x: Tensor,
    ) -> None:  # fmt: skip
        """See `cells.Cell`."""
        del state
        _gru_backward(*_arrays(product, nodes, source, acts, *grads, back, grad_x))


COMPILED_CELLS: dict[str, Cell] = {"lstm": CompiledLstm(), "gru": CompiledGru()}


@arithmetic
def _collect(rows: Floats, index: Numbers, offsets: Numbers, weight: Floats, out: Floats) -> None:
    for place in range(len(offsets)):
        mine = out[place]
        for j in range(len(mine)):
            mine[j] = 0.0
        end = offsets[place + 1] if place + 1 < len(offsets) else len(index)
        for number in range(offsets[place], end):
            row, share = rows[index[number]], weight[number] if len(weight) else _ONE
            for j in range(len(mine)):
                mine[j] += share * row[j]


@arithmetic
def _lstm_forward(x: Floats, product: Floats, nodes: Floats, source: Numbers, acts: Floats, state: Floats) -> None:
    size = state.shape[1] // 2
    scale = np.empty(4 * size, np.float32)  # sigmoid(x) = 1/2 + 1/2 tanh(x/2), so that all gates are one loop
    for j in range(4 * size):
        scale[j] = _ONE if j // size == 2 else HALF
    for arc in range(len(source)):
        mine, given, r = acts[arc], x[arc], product[source[arc]]
        before, after = nodes[source[arc]], state[arc]
        for j in range(4 * size):
            mine[j] = _ONE - scale[j] + scale[j] * tanh(scale[j] * (given[j] + r[j]))
        for j in range(size):
            after[size + j] = mine[size + j] * before[size + j] + mine[j] * mine[2 * size + j]
        for j in range(size):
            after[j] = mine[3 * size + j] * tanh(after[size + j])


@arithmetic
def _lstm_backward(
    nodes: Floats, source: Numbers, acts: Floats, state: Floats, grad_node: Floats, target: Numbers, weight: Floats,
    grad_h: Floats, back: Floats,
) -> None:  # fmt: skip
    size = state.shape[1] // 2
    squashed, toward_h, toward_c = np.empty(size, np.float32), np.empty(size, np.float32), np.empty(size, np.float32)
    for arc in range(len(source)):
        mine, after, before, out = acts[arc], state[arc], nodes[source[arc]], back[arc]
        node, own, share = grad_node[target[arc]], grad_h[arc], weight[arc]
        for j in range(size):
            squashed[j] = tanh(after[size + j])
        for j in range(size):
            toward_h[j] = share * node[j] + own[j]
        for j in range(size):
            slope = _ONE - squashed[j] * squashed[j]
            toward_c[j] = share * node[size + j] + toward_h[j] * mine[3 * size + j] * slope
        for j in range(size):
            out[j] = toward_c[j] * mine[2 * size + j] * mine[j] * (_ONE - mine[j])
        for j in range(size):
            out[size + j] = toward_c[j] * before[size + j] * mine[size + j] * (_ONE - mine[size + j])
        for j in range(size):
            out[2 * size + j] = toward_c[j] * mine[j] * (_ONE - mine[2 * size + j] * mine[2 * size + j])
        for j in range(size):
            out[3 * size + j] = toward_h[j] * squashed[j] * mine[3 * size + j] * (_ONE - mine[3 * size + j])
        for j in range(size):
            out[4 * size + j] = toward_c[j] * mine[size + j]


@arithmetic
def _gru_forward(x: Floats, product: Floats, nodes: Floats, source: Numbers, acts: Floats, state: Floats) -> None:
    size = state.shape[1]
    for arc in range(len(source)):
        mine, given, r = acts[arc], x[arc], product[source[arc]]
        before, after = nodes[source[arc]], state[arc]
        for j in range(2 * size):
            mine[j] = HALF + HALF * tanh(HALF * (given[j] + r[j]))
        for j in range(size):
            mine[2 * size + j] = mine[j] * r[2 * size + j]
        for j in range(2 * size, 3 * size):
            mine[j] = tanh(given[j] + mine[j])
        for j in range(size):
            after[j] = mine[2 * size + j] + mine[size + j] * (before[j] - mine[2 * size + j])


@arithmetic
def _gru_backward(
    product: Floats, nodes: Floats, source: Numbers, acts: Floats, grad_node: Floats, target: Numbers, weight: Floats,
    grad_h: Floats, back: Floats, grad_x: Floats,
) -> None:  # fmt: skip
    size = nodes.shape[1]
    for arc in range(len(source)):
        mine, r, before, out, given = acts[arc], product[source[arc]], nodes[source[arc]], back[arc], grad_x[arc]
        node, own, share = grad_node[target[arc]], grad_h[arc], weight[arc]
        for j in range(size):  # the gradient of the state, kept in its place for a while
            out[3 * size + j] = share * node[j] + own[j]
        for j in range(size):
            n = mine[2 * size + j]
            given[2 * size + j] = out[3 * size + j] * (_ONE - mine[size + j]) * (_ONE - n * n)
        for j in range(size):
            given[j] = given[2 * size + j] * r[2 * size + j] * mine[j] * (_ONE - mine[j])
        for j in range(size):
            z = mine[size + j]
            given[size + j] = out[3 * size + j] * (before[j] - mine[2 * size + j]) * z * (_ONE - z)
        for j in range(2 * size):
            out[j] = given[j]
        for j in range(size):
            out[2 * size + j] = given[2 * size + j] * mine[j]
        for j in range(size):
            out[3 * size + j] *= mine[size + j]

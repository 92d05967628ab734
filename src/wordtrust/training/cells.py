"""The cells of the recurrent network, forwards and backwards, on the arcs of one level at a time.

`x` is an arc's own input and `product` the recurrent product of each node, both for all gates side by side; `nodes`
are the states of nodes, `source` the node that an arc comes from, `state` what its own state becomes. States are [h]
or [h | c]. Everything is written into arrays of the caller: a batch has hundreds of levels, and new memory for each
would cost more than the arithmetic.

These are torch's operations, for any device; on the processor `cells_compiled` does the same in one pass.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag


class Grads(NamedTuple):
    """Where the gradient of the states of a level's arcs comes from: weight * node[target] + h."""

    node: Tensor  # [nodes, h or h and c] of the states of the level's nodes
    target: Tensor  # [arcs] node that each enters
    weight: Tensor  # [arcs] how much of it
    h: Tensor  # [arcs, h] of what is made of the arcs' own h

    def whole(self) -> Tensor:
        """[arcs, h or h and c]"""
        grad = self.node[self.target] * self.weight[:, None]
        grad[:, : self.h.shape[1]] += self.h
        return grad


def sums(rows: Tensor, index: Tensor, offsets: Tensor, weight: Tensor | None = None) -> Tensor:
    """Sums of (weighted) rows: those of index[offsets[0]:offsets[1]] and so on, always in the same order."""
    return embedding_bag(index, rows, offsets, mode="sum", per_sample_weights=weight)


class Cell(Protocol):
    """What the recurrence asks of a cell."""

    states: int  # h alone, or h and c
    alike: bool  # whether `x` has the gradient of the recurrent product

    def forward(self, x: Tensor, product: Tensor, nodes: Tensor, source: Tensor, acts: Tensor, state: Tensor) -> None:
        """Fill in `state`, and in `acts` what the way back needs."""

    def backward(
        self, product: Tensor, nodes: Tensor, source: Tensor, acts: Tensor, state: Tensor, grads: Grads, back: Tensor,
        grad_x: Tensor,
    ) -> None:  # fmt: skip
        """From gradients of states to `back`, for the node before: that of its product, then of h or c.

        `grad_x` is filled in where it is not the former.
        """

    def collect(self, rows: Tensor, index: Tensor, offsets: Tensor, weight: Tensor | None, out: Tensor) -> None:
        """`sums`, into `out`."""


class _Collecting:
    def collect(self, rows: Tensor, index: Tensor, offsets: Tensor, weight: Tensor | None, out: Tensor) -> None:
        """See `Cell`."""
        out.copy_(sums(rows, index, offsets, weight))


class Lstm(_Collecting):
    """Gates i, f, g, o."""

    states = 2
    alike = True

    def forward(self, x: Tensor, product: Tensor, nodes: Tensor, source: Tensor, acts: Tensor, state: Tensor) -> None:
        """c = f c' + i g, h = o tanh(c)."""
        size = x.shape[1] // 4
        torch.add(x, product[source], out=acts)
        acts[:, : 2 * size].sigmoid_()
        acts[:, 2 * size : 3 * size].tanh_()
        acts[:, 3 * size :].sigmoid_()
        i, f, g, o = acts.chunk(4, 1)
        h, c = state.chunk(2, 1)
        torch.mul(f, nodes[source, size:], out=c)
        c.addcmul_(i, g)
        torch.tanh(c, out=h)
        h.mul_(o)

    def backward(
        self, product: Tensor, nodes: Tensor, source: Tensor, acts: Tensor, state: Tensor, grads: Grads, back: Tensor,
        grad_x: Tensor,
    ) -> None:  # fmt: skip
        """Gradients of the gates are those of x and of the product alike."""
        del product, grad_x
        size = acts.shape[1] // 4
        i, f, g, o = acts.chunk(4, 1)
        grad_h, grad_c = grads.whole().chunk(2, 1)
        squashed = torch.tanh(state[:, size:])
        grad_c = grad_c + grad_h * o * (1 - squashed * squashed)
        slopes = acts - acts * acts  # of a sigmoid
        torch.mul(grad_c * g, slopes[:, :size], out=back[:, :size])
        torch.mul(grad_c * nodes[source, size:], slopes[:, size : 2 * size], out=back[:, size : 2 * size])
        torch.mul(grad_c * i, 1 - g * g, out=back[:, 2 * size : 3 * size])
        torch.mul(grad_h * squashed, slopes[:, 3 * size :], out=back[:, 3 * size : 4 * size])
        torch.mul(grad_c, f, out=back[:, 4 * size :])


class Gru(_Collecting):
    """Gates r, z, n; the recurrent part of n is let through by r."""

    states = 1
    alike = False

    def forward(self, x: Tensor, product: Tensor, nodes: Tensor, source: Tensor, acts: Tensor, state: Tensor) -> None:
        """h = (1 - z) n + z h'."""
        size, r = x.shape[1] // 3, product[source]
        torch.add(x[:, : 2 * size], r[:, : 2 * size], out=acts[:, : 2 * size])
        acts[:, : 2 * size].sigmoid_()
        reset, z, n = acts.chunk(3, 1)
        torch.mul(reset, r[:, 2 * size :], out=n)
        n.add_(x[:, 2 * size :]).tanh_()
        torch.lerp(n, nodes[source], z, out=state)

    def backward(
        self, product: Tensor, nodes: Tensor, source: Tensor, acts: Tensor, state: Tensor, grads: Grads, back: Tensor,
        grad_x: Tensor,
    ) -> None:  # fmt: skip
        """The gradient of n differs between x and the product by the reset gate."""
        del state
        size, grad = acts.shape[1] // 3, grads.whole()
        reset, z, n = acts.chunk(3, 1)
        grad_n = grad * (1 - z) * (1 - n * n)
        torch.mul(grad_n * product[source, 2 * size :], reset - reset * reset, out=grad_x[:, :size])
        torch.mul(grad * (nodes[source] - n), z - z * z, out=grad_x[:, size : 2 * size])
        grad_x[:, 2 * size :].copy_(grad_n)
        back[:, : 2 * size].copy_(grad_x[:, : 2 * size])
        torch.mul(grad_n, reset, out=back[:, 2 * size : 3 * size])
        torch.mul(grad, z, out=back[:, 3 * size :])


CELLS: dict[str, Cell] = {"lstm": Lstm(), "gru": Gru()}


def cell_for(kind: str, like: Tensor) -> Cell:
    """The cell for tensors like this one: compiled on the processor, where numba is there."""
    if like.device.type == "cpu" and like.dtype == torch.float32:
        try:
            from .cells_compiled import COMPILED_CELLS
        except ImportError:  # training from a packed file needs no numba
            return CELLS[kind]
        return COMPILED_CELLS[kind]
    return CELLS[kind]

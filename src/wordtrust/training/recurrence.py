"""One direction of the lattice RNN over a batch, with its gradient written out.

    arc:   state(e) = cell(x(e), state(source(e)))
    node:  state(v) = sum of w(e) state(e) over the arcs e that enter v, where the w(e) sum to 1

All arcs that leave a node share its recurrent product, so that product is taken per node. Automatic differentiation
would keep a graph of every level and add up gradients of the whole batch once a level, which is quadratic; here both
passes fill arrays in place. On the way back each node collects from the arcs that leave it, in a fixed order, so the
gradient is the same in every run, also on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..confidence.levels import Plan, merge_weights, spread
from .cells import Grads, cell_for, sums


@dataclass(frozen=True, slots=True)
class Level:
    """The part of a plan that belongs to one level."""

    nodes: slice
    arcs: slice
    source: Tensor  # [arcs]
    target: Tensor  # [arcs] within the level
    number: Tensor  # [arcs] 0, 1, 2 ...
    entering: Tensor  # [nodes] where the arcs of each begin, within the level
    leaving: Tensor  # arcs that leave the nodes
    leaving_offsets: Tensor  # [nodes]
    weight: Tensor | None  # [arcs]
    spread: Tensor  # [arcs, 3], for attention


@dataclass(frozen=True, slots=True)
class Way:
    """A plan on the device, cut into levels once."""

    arc: Tensor  # [arcs] number of each in the batch
    nodes: int
    levels: list[Level]

    @classmethod
    def of(cls, plan: Plan, merge: str, posterior: NDArray[np.float32], device: torch.device) -> Way:
        """Of a plan; `posterior` in the order of the batch."""

        def put(array: NDArray[Any]) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        def split(array: NDArray[Any], bounds: NDArray[np.int64]) -> list[Tensor]:
            return list(torch.split(put(array), np.diff(bounds).tolist()))

        nodes, arcs = plan.node_bounds, plan.arc_bounds
        leave = plan.leaving_offsets
        levels = np.repeat(np.arange(plan.levels), np.diff(nodes))
        inside = np.repeat(nodes[:-1], np.diff(arcs))
        ranked = posterior[plan.arc]
        weights: list[Tensor | None] = [None] * plan.levels
        if merge != "attention":
            weights = list(split(merge_weights(merge, plan.target, ranked, np.arange(len(ranked))), arcs))
        numbers = torch.arange(int(np.diff(arcs).max(initial=0)), device=device)
        parts = zip(
            split(plan.source, arcs),
            split(plan.target - inside, arcs),
            split(plan.entering[:-1] - arcs[:-1][levels], nodes),
            split(plan.leaving, leave[nodes]),
            split(leave[:-1] - leave[nodes][:-1][levels], nodes),
            weights,
            split(spread(plan.target, ranked), arcs),
            strict=True,
        )
        bounds = zip(nodes[:-1].tolist(), nodes[1:].tolist(), arcs[:-1].tolist(), arcs[1:].tolist(), strict=True)
        cut = [
            Level(slice(n0, n1), slice(a0, a1), source, target, numbers[: a1 - a0], *rest)
            for (n0, n1, a0, a1), (source, target, *rest) in zip(bounds, parts, strict=True)
        ]
        return cls(put(plan.arc), len(plan.entering) - 1, cut)


@dataclass(frozen=True, slots=True)
class Attention:
    """Learned merging: w(e) is a softmax over v . tanh(A h(e) + S spread(e) + b)."""

    state: Tensor  # A [size, h]
    spread: Tensor  # S [size, 3]
    bias: Tensor  # b [size]
    score: Tensor  # v [size]

    def weigh(self, level: Level, h: Tensor) -> tuple[Tensor, Tensor]:
        """The weights of the arcs of a level, and the inner layer."""
        inner = torch.addmm(self.bias, h, self.state.T).addmm_(level.spread, self.spread.T).tanh_()
        score = inner @ self.score
        nodes = level.nodes.stop - level.nodes.start
        top = score.new_full((nodes,), -torch.inf).scatter_reduce_(0, level.target, score, "amax")
        weight = (score - top[level.target]).exp_()
        total = sums(weight[:, None], level.number, level.entering)[:, 0]
        return weight / total[level.target], inner

    def grad_score(self, level: Level, weight: Tensor, state: Tensor, grad_node: Tensor) -> Tensor:
        """The gradient of the score inside the softmax."""
        worth = (grad_node[level.target] * state).sum(1) * weight
        return worth - weight * sums(worth[:, None], level.number, level.entering)[:, 0][level.target]


class Recurrence(torch.autograd.Function):
    """States h of all arcs, in the order of the plan, from their inputs."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, recurrent: Tensor, bias: Tensor, kind: str, way: Way, *attention: Tensor
    ) -> Tensor:
        """`recurrent` is [gates, h], `bias` goes with it; `attention` has the parts of `Attention`, or nothing."""
        cell, size = cell_for(kind, x), recurrent.shape[1]
        learned = Attention(*attention) if attention else None
        state, acts = x.new_empty(len(x), cell.states * size), torch.empty_like(x)
        nodes, product = x.new_zeros(way.nodes, cell.states * size), x.new_empty(way.nodes, x.shape[1])
        weights, inner = (
            x.new_empty(len(x) if learned else 0),
            x.new_empty(len(x) if learned else 0, len(attention and attention[3])),
        )
        for level in way.levels:
            if level.arcs.stop > level.arcs.start:
                here = state[level.arcs]
                cell.forward(x[level.arcs], product, nodes, level.source, acts[level.arcs], here)
                weight = level.weight
                if learned:
                    weight, inner[level.arcs] = learned.weigh(level, here[:, :size])
                    weights[level.arcs] = weight
                cell.collect(here, level.number, level.entering, weight, nodes[level.nodes])
                torch.addmm(bias, nodes[level.nodes, :size], recurrent.T, out=product[level.nodes])
            else:  # where utterances begin, all states are 0
                product[level.nodes] = bias
        ctx.kind, ctx.way = kind, way
        ctx.save_for_backward(recurrent, state, acts, nodes, product, weights, inner, *attention)
        return state[:, :size].clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        """Level by level from the end."""
        recurrent, state, acts, nodes, product, weights, inner, *attention = ctx.saved_tensors
        cell, size, way = cell_for(ctx.kind, acts), recurrent.shape[1], ctx.way
        learned = Attention(*attention) if attention else None
        grad_h, gates = grads[0].contiguous(), recurrent.shape[0]
        back = acts.new_empty(len(acts), gates + size)
        grad_x = back[:, :gates] if cell.alike else torch.empty_like(acts)
        grad_nodes = back.new_empty(len(nodes), gates + size)  # of products, then of h or c, as the arcs gave it back
        grad_score, grad_inner = torch.zeros_like(weights), torch.zeros_like(inner)
        for level in reversed(way.levels):
            pulled = grad_nodes[level.nodes]
            cell.collect(back, level.leaving, level.leaving_offsets, None, pulled)
            if level.arcs.stop == level.arcs.start:
                continue
            grad_node = pulled.new_empty(len(pulled), state.shape[1])
            torch.mm(pulled[:, :gates], recurrent, out=grad_node[:, :size])
            grad_node[:, -size:] = pulled[:, gates:] + (grad_node if cell.states == 1 else 0)
            here = state[level.arcs]
            weight = level.weight if level.weight is not None else weights[level.arcs]
            own = grad_h[level.arcs]
            if learned:
                score = learned.grad_score(level, weight, here, grad_node)
                layer = inner[level.arcs]
                grad_score[level.arcs] = score
                grad_inner[level.arcs] = score[:, None] * learned.score * (1 - layer * layer)
                own = own + grad_inner[level.arcs] @ learned.state
            cell.backward(
                product, nodes, level.source, acts[level.arcs], here, Grads(grad_node, level.target, weight, own),
                back[level.arcs], grad_x[level.arcs],
            )  # fmt: skip
        grad_product = grad_nodes[:, :gates]
        found = [grad_x, grad_product.T @ nodes[:, :size], grad_product.sum(0), None, None]
        if learned:
            spreads = torch.cat([level.spread for level in way.levels])
            found += [grad_inner.T @ state[:, :size], grad_inner.T @ spreads, grad_inner.sum(0), grad_score @ inner]
        return tuple(found)


class Permutation(torch.autograd.Function):
    """Rows in another order: what indexing does, but its gradient is only another such order, not a sum."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, order: Tensor, inverse: Tensor) -> Tensor:
        """`inverse` undoes `order`."""
        ctx.save_for_backward(inverse)
        return x[order]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        """Back into the old order."""
        (inverse,) = ctx.saved_tensors
        return grads[0][inverse], None, None

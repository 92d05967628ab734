"""The lattice RNN written out arc by arc: slow, plain, and differentiated by torch.

What the fast implementations are compared with. Nodes are numbered so that every arc leads to a larger number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

Arc = tuple[int, int]


def lstm_cell(x: Tensor, h: Tensor, c: Tensor, recurrent: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    i, f, g, o = (x + recurrent @ h + bias).chunk(4)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def merge(kind: str, states: Tensor, posterior: Tensor) -> Tensor:
    """The state of a node from those of the arcs that enter it, [arcs, h and c]."""
    if kind == "mean":
        return states.mean(0)
    share = posterior / posterior.sum()
    return (share[:, None] * states).sum(0)


def direction(
    prefix: str, x: Tensor, arcs: Sequence[Arc], posterior: Tensor, weights: Mapping[str, Tensor], kind: str
) -> list[Tensor]:
    """The state h of every arc; `arcs` in any order, from smaller to larger nodes."""
    recurrent, bias = weights[prefix + "recurrent.weight"], weights[prefix + "recurrent.bias"]
    size, nodes = recurrent.shape[1], 1 + max(target for _, target in arcs)
    node_state: dict[int, Tensor] = {}
    arc_state: dict[int, Tensor] = {}
    for node in range(nodes):
        entering = [number for number, (_, target) in enumerate(arcs) if target == node]
        if entering:
            states = torch.stack([arc_state[number] for number in entering])
            node_state[node] = merge(kind, states, posterior[entering])
        else:
            node_state[node] = x.new_zeros(2 * size)
        for number, (source, _) in enumerate(arcs):
            if source == node:
                given = weights[prefix + "input.weight"] @ x[number] + weights[prefix + "input.bias"]
                state = node_state[node]
                arc_state[number] = torch.cat(lstm_cell(given, state[:size], state[size:], recurrent, bias))
    return [arc_state[number][:size] for number in range(len(arcs))]


def logits(
    x: Tensor, arcs: Sequence[Arc], posterior: Tensor, skipped: Tensor, weights: Mapping[str, Tensor], kind: str
) -> Tensor:
    """One logit an arc; `x` are features and embedding side by side, `skipped` the logits of the posteriors."""
    last = max(target for _, target in arcs)
    turned = [(last - target, last - source) for source, target in arcs]
    ahead = direction("forwards.", x, arcs, posterior, weights, kind)
    behind = direction("backwards.", x, turned, posterior, weights, kind)
    found = []
    for one, other, skip in zip(ahead, behind, skipped, strict=True):
        hidden = torch.relu(weights["hidden.weight"] @ torch.cat([one, other]) + weights["hidden.bias"])
        logit = (weights["output.weight"] @ hidden + weights["output.bias"])[0]
        found.append(logit + weights["skip"][0] * skip if "skip" in weights else logit)
    return torch.stack(found)

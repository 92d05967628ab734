"""What becomes of the numbers that the network gives for each arc: a loss, and a confidence (DESIGN, section 10).

`independent`: one number, the logit of the confidence; cross entropy with the labels.

`normalised`: the first number is an arc's potential in a distribution over all paths. An arc's share m of it comes
from a pass backwards and one forwards, level by level; the path with the fewest errors should be likely. The second
is the logit of q, whether the best of these words is right at all; cross entropy of m q, with m held fixed. The
confidence is m q: at every instant, those of the arcs that cross it sum to at most 1.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from .lattice_rnn import Batch, BatchLevel, Traversal, segment_sums

_NEAREST = 1 - 1e-7  # to certainty, where a logarithm follows


def loss_of(batch: Batch, outputs: Tensor, path_weight: float) -> Tensor:
    """The summed loss of a batch."""
    if outputs.shape[1] == 1:
        return binary_cross_entropy_with_logits(outputs[:, 0], batch.label, batch.counts, reduction="sum")
    share, log_part = _shares(batch, outputs[:, 0].detach())
    path = batch.path.double()
    # The gradient of the path's likelihood is the share of each arc less whether it is on the path.
    likelihood = cast(Tensor, Likelihood.apply(outputs[:, 0], (share - path).float(), -(log_part * path).sum()))  # type: ignore[no-untyped-call]
    return path_weight * likelihood + _words_loss(batch, share, outputs[:, 1])


def confidence_of(batch: Batch, outputs: Tensor) -> Tensor:
    """[arcs] in double precision."""
    if outputs.shape[1] == 1:
        return torch.sigmoid(outputs[:, 0].double())
    return opinions_of(batch, outputs)[:, 1]


def opinions_of(batch: Batch, outputs: Tensor) -> Tensor:
    """[arcs, 2] share of all paths and confidence."""
    share, _ = _shares(batch, outputs[:, 0])
    return torch.stack([share, share * torch.sigmoid(outputs[:, 1].double())], 1)


class Likelihood(torch.autograd.Function):
    """A loss whose gradient is known."""

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx, potential: Tensor, gradient: Tensor, loss: Tensor
    ) -> Tensor:
        """`potential` has the `gradient` of `loss`."""
        ctx.save_for_backward(gradient)
        return loss.to(potential.dtype)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *grads: Tensor) -> tuple[Tensor, None, None]:
        """As it was given."""
        (gradient,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return grads[0] * gradient, None, None


def _words_loss(batch: Batch, share: Tensor, logit: Tensor) -> Tensor:
    """Cross entropy of m q."""
    sure = logsigmoid(logit)
    right = -(share.clamp_min(1e-12).log().float() + sure)
    wrong = -torch.log1p(-(share.float() * sure.exp()).clamp_max(_NEAREST))
    return (batch.counts * (batch.label * right + (1 - batch.label) * wrong)).sum()


@torch.no_grad()
def _shares(batch: Batch, potential: Tensor) -> tuple[Tensor, Tensor]:
    """[arcs] share of all paths, and the log of each arc's part of all ways on from its node."""
    log_part = _log_parts(batch.backward, potential.double()[batch.backward.arc])[batch.backward_index]
    part, share = log_part.exp(), torch.empty_like(log_part)
    mass = part.new_zeros(batch.forward.nodes)
    first = batch.forward.levels[0].nodes
    mass[first] = 1.0
    for level in batch.forward.levels[1:]:
        share[level.arcs] = part[level.arcs] * mass[level.source]
        mass[level.nodes] = _sums(share[level.arcs], level)
    return share, log_part


def _log_parts(traversal: Traversal, potential: Tensor) -> Tensor:
    """Through the network from its end, in the order of the backward direction."""
    found, after = torch.empty_like(potential), potential.new_zeros(traversal.nodes)
    for level in traversal.levels[1:]:
        onwards = potential[level.arcs] + after[level.source]
        nodes = level.nodes.stop - level.nodes.start
        top = onwards.new_full((nodes,), -torch.inf).scatter_reduce_(0, level.target, onwards, "amax")
        total = top + _sums((onwards - top[level.target]).exp_(), level).log_()
        after[level.nodes] = total
        found[level.arcs] = onwards - total[level.target]
    return found


def _sums(values: Tensor, level: BatchLevel) -> Tensor:
    """[nodes] of the arcs that enter each."""
    return segment_sums(values[:, None], level.arc, level.entering)[:, 0]

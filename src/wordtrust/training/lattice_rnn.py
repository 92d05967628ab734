"""The bidirectional lattice RNN in torch: from a batch of networks to the outputs of its arcs.

    arc:   state(e) = LSTM(x(e), state(source(e)))
    node:  state(v) = sum of w(e) state(e) over the arcs e that enter v, where the w(e) sum to 1

A hidden layer over the states of both directions gives the outputs of an arc, of which a head makes a loss and a
confidence. Names of weights are those of the model file, which the scorer without torch reads as well.

Head `independent`: one output, the logit of the confidence; cross entropy with the labels.

Head `normalised`: the first output is an arc's potential in a distribution over all paths. An arc's share m of it
comes from a pass backwards and one forwards, level by level; the path with the fewest errors should be likely. The
second is the logit of q, whether the best of these words is right at all; cross entropy of m q, with m held fixed
unless `share_weight` says that it learns from this as well.
The confidence is m q: at every instant, those of the arcs that cross it sum to at most 1.

All arcs that leave a node share its recurrent product, so that product is taken per node. The gradient is written
out: automatic differentiation would keep a graph of every level and add up gradients of the whole batch once a level,
which is quadratic. Here both passes fill arrays in place, as a batch has hundreds of levels. Backwards each node
collects from the arcs that leave it, in a fixed order, so the gradient is the same in every run, also on a GPU.

In comments on shapes, h is the size of a state; a state is [h | c], gates are [i | f | g | o] of h numbers each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, dropout, embedding_bag, logsigmoid

from ..confidence.config import Config
from ..confidence.levels import LevelPlan, merge_weights
from .gap_head import GapBatch, GapHead, gap_loss

_NEAREST = 1 - 1e-7  # to certainty, where a logarithm follows

try:
    from .lstm_kernels import CompiledLstm
except ImportError:  # training from a packed file needs no numba
    _compiled_lstm: LstmPasses | None = None
else:
    _compiled_lstm = CompiledLstm()


@dataclass(frozen=True, slots=True)
class BatchLevel:
    """The nodes of one level of a batch and the arcs that enter them."""

    nodes: slice
    arcs: slice
    source: Tensor  # [arcs] node that each leaves
    target: Tensor  # [arcs] node that each enters, counted within the level
    arc: Tensor  # [arcs] 0, 1, 2 ...
    entering: Tensor  # [nodes] where the arcs that enter each begin, within the level
    leaving: Tensor  # arcs that leave the nodes
    leaving_offsets: Tensor  # [nodes]
    weight: Tensor  # [arcs] share of each in the state of the node it enters


@dataclass(frozen=True, slots=True)
class Traversal:
    """One direction through a batch on the device, cut into levels once."""

    arc: Tensor  # [arcs] index of each in the batch
    source: Tensor  # [arcs] node that each leaves
    target: Tensor  # [arcs] node that each enters
    nodes: int
    levels: list[BatchLevel]

    @classmethod
    def of(cls, plan: LevelPlan, merge: str, posterior: NDArray[np.float32], device: torch.device) -> Traversal:
        """Of a plan; `posterior` in the order of the batch."""

        def put(array: NDArray[Any]) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        def split(array: NDArray[Any], bounds: NDArray[np.int64]) -> list[Tensor]:
            return list(torch.split(put(array), np.diff(bounds).tolist()))

        nodes, arcs, leave = plan.node_bounds, plan.arc_bounds, plan.leaving_offsets
        level = np.repeat(np.arange(plan.levels), np.diff(nodes))
        arc = torch.arange(int(np.diff(arcs).max(initial=0)), device=device)
        columns = zip(
            split(plan.source, arcs),
            split(plan.target - np.repeat(nodes[:-1], np.diff(arcs)), arcs),
            split(plan.entering[:-1] - arcs[:-1][level], nodes),
            split(plan.leaving, leave[nodes]),
            split(leave[:-1] - leave[nodes][:-1][level], nodes),
            split(merge_weights(merge, plan.target, posterior[plan.arc]), arcs),
            strict=True,
        )
        bounds = zip(nodes[:-1].tolist(), nodes[1:].tolist(), arcs[:-1].tolist(), arcs[1:].tolist(), strict=True)
        levels = [
            BatchLevel(slice(n0, n1), slice(a0, a1), source, target, arc[: a1 - a0], *rest)
            for (n0, n1, a0, a1), (source, target, *rest) in zip(bounds, columns, strict=True)
        ]
        return cls(put(plan.arc), put(plan.source), put(plan.target), len(plan.entering) - 1, levels)


class StateGradient(NamedTuple):
    """Parts of the gradient of the states of a level's arcs: weight * node[target], and arc added to h."""

    node: Tensor  # [nodes, 2 h] of the states of the level's nodes
    target: Tensor  # [arcs] node that each enters
    weight: Tensor  # [arcs] share of each in it
    arc: Tensor  # [arcs, h] of the output h of the arcs themselves

    def total(self) -> Tensor:
        """[arcs, 2 h]"""
        gradient = self.node[self.target] * self.weight[:, None]
        gradient[:, : self.arc.shape[1]] += self.arc
        return gradient


LevelBackward = Callable[[slice, StateGradient, Tensor], None]  # fills in the last, of the arcs of one level


class LstmPasses(Protocol):
    """The LSTM on the arcs of one level, forwards and backwards; results go into arrays of the caller."""

    def forward(
        self, x: Tensor, product: Tensor, nodes: Tensor, source: Tensor, gates: Tensor, state: Tensor
    ) -> None:
        """Fill in `gates` [arcs, 4 h] and `state` [arcs, 2 h].

        `x` [arcs, 4 h] is made of the arcs' own inputs, `product` [all nodes, 4 h] of the states `nodes`.
        """

    def backward(self, nodes: Tensor, source: Tensor, gates: Tensor, state: Tensor) -> LevelBackward:
        """For a whole batch; what it gives fills in `back` [arcs, 5 h] of the arcs of one level after the other.

        `back` has the gradients of the gates' arguments, then of the source node's c.
        """

    def collect(self, rows: Tensor, index: Tensor, offsets: Tensor, weight: Tensor | None, out: Tensor) -> None:
        """`segment_sums`, into `out`."""


class TorchLstm:
    """With torch's operations, for any device."""

    @staticmethod
    def forward(x: Tensor, product: Tensor, nodes: Tensor, source: Tensor, gates: Tensor, state: Tensor) -> None:
        """c = f c' + i g, h = o tanh(c)."""
        size = x.shape[1] // 4
        torch.add(x, product[source], out=gates)
        gates[:, : 2 * size].sigmoid_()
        gates[:, 2 * size : 3 * size].tanh_()
        gates[:, 3 * size :].sigmoid_()
        i, f, g, o = gates.chunk(4, 1)
        h, c = state.chunk(2, 1)
        torch.mul(f, nodes[source, size:], out=c)
        c.addcmul_(i, g)
        torch.tanh(c, out=h)
        h.mul_(o)

    @staticmethod
    def backward(nodes: Tensor, source: Tensor, gates: Tensor, state: Tensor) -> LevelBackward:
        """The gradient of a gate's argument is that of x and of the recurrent product alike.

        All factors that do not depend on a gradient are taken for the whole batch at once: on a GPU the number of
        operations is what a level costs.
        """
        size = gates.shape[1] // 4
        i, f, g, o = gates.chunk(4, 1)
        tanh_c = torch.tanh(state[:, size:])
        to_c = o * (1 - tanh_c * tanh_c)
        slope_i, slope_f, _, slope_o = (gates - gates * gates).chunk(4, 1)  # of a sigmoid
        of_c = nodes[source, size:]
        factors = torch.stack([g * slope_i, of_c * slope_f, i * (1 - g * g), tanh_c * slope_o, f], 1)  # [arcs, 5, h]

        def level_backward(arcs: slice, gradient: StateGradient, back: Tensor) -> None:
            grad_h, grad_c = gradient.total().chunk(2, 1)
            grad_c = torch.addcmul(grad_c, grad_h, to_c[arcs])
            parts = back.view(-1, 5, size)
            torch.mul(factors[arcs], grad_c[:, None, :], out=parts)
            torch.mul(factors[arcs, 3], grad_h, out=parts[:, 3])

        return level_backward

    @staticmethod
    def collect(rows: Tensor, index: Tensor, offsets: Tensor, weight: Tensor | None, out: Tensor) -> None:
        """`segment_sums`, into `out`."""
        out.copy_(segment_sums(rows, index, offsets, weight))


def segment_sums(rows: Tensor, index: Tensor, offsets: Tensor, weight: Tensor | None = None) -> Tensor:
    """Sums of (weighted) rows: those of index[offsets[0]:offsets[1]] and so on, always in the same order."""
    return embedding_bag(index, rows, offsets, mode="sum", per_sample_weights=weight)


def lstm_for(x: Tensor) -> LstmPasses:
    """The LSTM for tensors like this one: compiled for float32 on a CPU, where there is numba (`lstm_kernels`)."""
    if _compiled_lstm is not None and x.device.type == "cpu" and x.dtype == torch.float32:
        return _compiled_lstm
    return TorchLstm()


class Recurrence(torch.autograd.Function):
    """States h of all arcs, in the order of the traversal, from their inputs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, recurrent: Tensor, bias: Tensor, traversal: Traversal) -> Tensor:
        """[arcs, h], where `x` is [arcs, 4 h], `recurrent` [4 h, h] and `bias` [4 h]."""
        lstm, size = lstm_for(x), recurrent.shape[1]
        state, gates = x.new_empty(len(x), 2 * size), torch.empty_like(x)
        nodes, product = x.new_zeros(traversal.nodes, 2 * size), x.new_empty(traversal.nodes, 4 * size)
        for level in traversal.levels:
            if level.arcs.stop > level.arcs.start:
                level_state = state[level.arcs]
                lstm.forward(x[level.arcs], product, nodes, level.source, gates[level.arcs], level_state)
                lstm.collect(level_state, level.arc, level.entering, level.weight, nodes[level.nodes])
                torch.addmm(bias, nodes[level.nodes, :size], recurrent.T, out=product[level.nodes])
            else:  # where utterances begin, all states are 0
                product[level.nodes] = bias
        ctx.traversal = traversal
        ctx.save_for_backward(recurrent, state, gates, nodes)
        return state[:, :size].clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        """Level by level from the end."""
        recurrent, state, gates, nodes = ctx.saved_tensors
        lstm, size = lstm_for(gates), recurrent.shape[1]
        grad_h = grads[0].contiguous()  # [arcs, h]
        back = gates.new_empty(len(gates), 5 * size)  # of the gates' arguments, then of c
        grad_product = back.new_empty(len(nodes), 5 * size)  # of products, then of c, as the arcs gave it back
        level_backward = lstm.backward(nodes, ctx.traversal.source, gates, state)
        for level in reversed(ctx.traversal.levels):
            collected = grad_product[level.nodes]
            lstm.collect(back, level.leaving, level.leaving_offsets, None, collected)
            if level.arcs.stop == level.arcs.start:
                continue
            grad_node = collected.new_empty(len(collected), 2 * size)
            torch.mm(collected[:, : 4 * size], recurrent, out=grad_node[:, :size])
            grad_node[:, size:] = collected[:, 4 * size :]
            gradient = StateGradient(grad_node, level.target, level.weight, grad_h[level.arcs])
            level_backward(level.arcs, gradient, back[level.arcs])
        grad_product = grad_product[:, : 4 * size]
        return back[:, : 4 * size], grad_product.T @ nodes[:, :size], grad_product.sum(0), None


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


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of networks on the device. Arcs are in the order of the forward direction."""

    features: Tensor  # [arcs, columns] normalised
    logit: Tensor  # [arcs] of the posterior
    local: Tensor  # [arcs] log of the share that each has of the posterior of its node
    label: Tensor  # [arcs] 1 right, 0 wrong, or between where there are teachers
    path: Tensor  # [arcs] 1 on the path with the fewest errors; likewise
    counts: Tensor  # [arcs] 1 where an arc carries loss
    word: Tensor  # [arcs] which of the batch's words
    buckets: Tensor  # n-grams of the batch's words, one after the other
    bucket_offsets: Tensor  # [words]
    vectors: Tensor  # [words, dimension] where embeddings come from a file
    forward: Traversal
    backward: Traversal
    backward_index: Tensor  # [arcs] where each arc is in the backward direction
    arcs: int  # that carry loss
    utterance: Tensor  # [arcs] which of the batch's utterances
    utterances: int
    gaps: GapBatch | None = None  # None where the data know of none


class Direction(nn.Module):
    """The weights of one direction."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.input = nn.Linear(config.inputs, config.gates)
        self.recurrent = nn.Linear(config.state, config.gates)
        for linear in (self.input, self.recurrent):
            nn.init.zeros_(linear.bias)
        nn.init.xavier_uniform_(self.input.weight)
        for gate in self.recurrent.weight.data.chunk(4):
            nn.init.orthogonal_(gate)
        self.input.bias.data[config.state : 2 * config.state] = 1.0  # the forget gate begins open

    def forward(self, x: Tensor, traversal: Traversal) -> Tensor:
        """[arcs, h] states of the arcs from their inputs, both in the order of the traversal."""
        states = Recurrence.apply(self.input(x), self.recurrent.weight, self.recurrent.bias, traversal)  # type: ignore[no-untyped-call]
        return cast(Tensor, states)


class LatticeRNN(nn.Module):
    """From a batch to the outputs that its head makes confidences of."""

    def __init__(self, config: Config, drop: float = 0.0, word_drop: float = 0.0) -> None:
        super().__init__()
        self.config, self.drop, self.word_drop = config, drop, word_drop
        self.embedding = None
        if config.embedding == "hashed":
            self.embedding = nn.Embedding(config.buckets, config.dimension)
            nn.init.normal_(self.embedding.weight, std=0.1)
        self.forwards = Direction(config)
        self.backwards = Direction(config)
        self.hidden = nn.Linear(2 * config.state, config.hidden)
        self.output = nn.Linear(config.hidden, config.outputs)
        self.skip = nn.Parameter(torch.ones(config.outputs)) if config.skip else None
        nn.init.zeros_(self.output.weight)  # so that training begins with the posterior where it can
        self.gap = GapHead(config) if config.gap else None

    def forward(self, batch: Batch) -> Tensor:
        """[arcs, outputs], and 2 gap numbers more where the model tells where words are missing."""
        x = self._dropped(self._inputs(batch))  # [arcs, inputs]
        forwards = self.forwards(x, batch.forward)  # [arcs, h]
        order, index = batch.backward.arc, batch.backward_index
        backwards = self.backwards(Permutation.apply(x, order, index), batch.backward)  # type: ignore[no-untyped-call]
        backwards = cast(Tensor, Permutation.apply(backwards, index, order))  # type: ignore[no-untyped-call]
        hidden = torch.relu(self.hidden(self._dropped(torch.cat([forwards, backwards], 1))))  # [arcs, hidden]
        outputs = cast(Tensor, self.output(hidden))
        if self.skip is not None:
            outputs = outputs + self.skip * self._skipped(batch)
        return outputs if self.gap is None else torch.cat([outputs, self.gap.of_arcs(hidden)], 1)

    def measures(self, batch: Batch, given: Tensor) -> Measures:
        """What a loss and confidences are made of, from what `forward` gave."""
        outputs, of_gaps = given[:, : self.config.outputs], given[:, self.config.outputs :]
        share = log_part = None
        chance = torch.sigmoid(outputs[:, -1].detach().double())
        if self.config.head == "normalised":
            share, log_part = _path_shares(batch, outputs[:, 0].detach())
        if self.gap is None or batch.gaps is None:
            return Measures(outputs, share, log_part)
        of_paths = torch.sigmoid(batch.logit.double()) if share is None else share
        return Measures(outputs, share, log_part, self.gap(batch.gaps, of_gaps, of_paths, chance))

    def _skipped(self, batch: Batch) -> Tensor:
        """[arcs, outputs] the recognizer's posterior, which goes straight to the output."""
        if self.config.head == "independent":
            return batch.logit[:, None]
        return torch.stack([batch.local, batch.logit], 1)

    def _inputs(self, batch: Batch) -> Tensor:
        if self.config.embedding == "none":
            return batch.features
        if self.embedding is None:
            vectors = batch.vectors
        else:
            vectors = embedding_bag(batch.buckets, self.embedding.weight, batch.bucket_offsets, mode="mean")
        if self.training and self.word_drop and self.embedding is not None:  # as if the word were not known
            vectors = vectors * (torch.rand(len(vectors), 1, device=vectors.device) >= self.word_drop)
        return torch.cat([batch.features, vectors[batch.word]], 1)

    def _dropped(self, x: Tensor) -> Tensor:
        return dropout(x, self.drop, self.training) if self.drop else x


class Measures(NamedTuple):
    """Of a batch: its outputs, the shares of paths that follow from these, and the logits of its gaps."""

    outputs: Tensor  # [arcs, outputs]
    share: Tensor | None  # [arcs] of all paths, in double precision; None of independent confidences
    log_part: Tensor | None  # [arcs] of all ways on from a node
    gaps: Tensor | None = None  # [gaps]; None where the model or the batch has none

    @property
    def confidence(self) -> Tensor:
        """[arcs] in double precision."""
        chance = torch.sigmoid(self.outputs[:, -1].double())
        return chance if self.share is None else self.share * chance

    @property
    def soft_labels(self) -> Tensor:
        """[arcs, 2] share of all paths and confidence, in double precision: what a student learns from a teacher."""
        assert self.share is not None
        return torch.stack([self.share, self.confidence], 1)

    def loss(self, batch: Batch, path_weight: float, gap_weight: float = 1.0, share_weight: float = 0.0) -> Tensor:
        """The summed loss of a batch."""
        loss = self._word_loss(batch, path_weight, share_weight)
        if self.gaps is not None and batch.gaps is not None and gap_weight:
            loss = loss + gap_weight * gap_loss(batch.gaps, self.gaps)
        return loss

    def _word_loss(self, batch: Batch, path_weight: float, share_weight: float) -> Tensor:
        if self.share is None or self.log_part is None:
            logits = self.outputs[:, 0]
            return binary_cross_entropy_with_logits(logits, batch.label, batch.counts, reduction="sum")
        path = batch.path.double()
        # The gradient of the path's likelihood is the share of each arc less whether it is on the path.
        gradient, loss = path_weight * (self.share - path), -path_weight * (self.log_part * path).sum()
        if share_weight:
            slope = share_weight * _slope_of_share(batch, self.share, self.outputs[:, 1].detach())
            gradient = gradient + _expectation_gradient(batch, self.share, self.log_part, slope)
        likelihood = cast(Tensor, PathLoss.apply(self.outputs[:, 0], gradient.float(), loss))  # type: ignore[no-untyped-call]
        return likelihood + _word_loss(batch, self.share, self.outputs[:, 1])


class PathLoss(torch.autograd.Function):
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


def _word_loss(batch: Batch, share: Tensor, logit: Tensor) -> Tensor:
    """Cross entropy of m q."""
    log_q = logsigmoid(logit)
    right = -(share.clamp_min(1e-12).log().float() + log_q)
    wrong = -torch.log1p(-(share.float() * log_q.exp()).clamp_max(_NEAREST))
    return (batch.counts * (batch.label * right + (1 - batch.label) * wrong)).sum()


def _slope_of_share(batch: Batch, share: Tensor, logit: Tensor) -> Tensor:
    """[arcs] of the cross entropy of m q by m."""
    q, label = torch.sigmoid(logit.double()), batch.label.double()
    wrong = q / (1 - share * q).clamp_min(1e-4)
    return batch.counts.double() * ((1 - label) * wrong - label / share.clamp_min(1e-6))


@torch.no_grad()
def _expectation_gradient(batch: Batch, share: Tensor, log_part: Tensor, worth: Tensor) -> Tensor:
    """[arcs] the gradient by potentials of the expected sum of `worth` over the arcs of a path.

    That is an arc's share times how much more the paths through it are worth than all paths.
    """
    forward, backward = batch.forward, batch.backward
    before = worth.new_zeros(forward.nodes)
    so_far = share * worth
    for level in forward.levels[1:]:
        own, arcs = share[level.arcs], so_far[level.arcs]
        sums = segment_sums(torch.stack([own, arcs + own * before[level.source]], 1), level.arc, level.entering)
        before[level.nodes] = sums[:, 1] / sums[:, 0].clamp_min(1e-300)
    part, own_worth = log_part.exp()[backward.arc], worth[backward.arc]
    after = worth.new_zeros(backward.nodes)
    for level in backward.levels[1:]:
        onwards = part[level.arcs] * (own_worth[level.arcs] + after[level.source])
        after[level.nodes] = _node_sums(onwards, level)
    through = before[forward.source] + worth + after[backward.source][batch.backward_index]
    total = worth.new_zeros(batch.utterances).index_add_(0, batch.utterance, so_far)
    return share * (through - total[batch.utterance])


@torch.no_grad()
def _path_shares(batch: Batch, potential: Tensor) -> tuple[Tensor, Tensor]:
    """[arcs] share of all paths, and the log of each arc's part of all ways on from its node."""
    log_part = _log_parts(batch.backward, potential.double()[batch.backward.arc])[batch.backward_index]
    part, share = log_part.exp(), torch.empty_like(log_part)
    mass = part.new_zeros(batch.forward.nodes)
    mass[batch.forward.levels[0].nodes] = 1.0
    for level in batch.forward.levels[1:]:
        own = torch.mul(part[level.arcs], mass[level.source], out=share[level.arcs])
        mass[level.nodes] = _node_sums(own, level)
    return share, log_part


def _log_parts(traversal: Traversal, potential: Tensor) -> Tensor:
    """[arcs] of the backward direction, from the end of the network on."""
    onwards, after = torch.zeros_like(potential), potential.new_zeros(traversal.nodes)
    for level in traversal.levels[1:]:
        own = torch.add(potential[level.arcs], after[level.source], out=onwards[level.arcs])
        nodes = level.nodes.stop - level.nodes.start
        top = own.new_full((nodes,), -torch.inf).scatter_reduce_(0, level.target, own, "amax")
        total = _node_sums((own - top[level.target]).exp_(), level).log_()
        torch.add(top, total, out=after[level.nodes])
    return onwards - after[traversal.target]


def _node_sums(values: Tensor, level: BatchLevel) -> Tensor:
    """[nodes] of the arcs that enter each."""
    return segment_sums(values[:, None], level.arc, level.entering)[:, 0]

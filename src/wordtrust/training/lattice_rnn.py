"""The bidirectional lattice RNN in torch (DESIGN, section 5): one logit for every arc of a batch of networks,
or two numbers that make shares of all paths (see `heads`).

Names of weights are those of the model file, which the scorer without torch reads as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, embedding_bag

from ..confidence.config import ATTENTION_SIZE, Config
from .recurrence import Permutation, Recurrence, Way


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of networks on the device. Arcs are in the order of the forward direction."""

    features: Tensor  # [arcs, columns] normalised
    logit: Tensor  # [arcs] of the posterior
    local: Tensor  # [arcs] log of the share that each has of the posterior of its node
    label: Tensor  # [arcs] 1 right, 0 wrong, or between where other models teach
    path: Tensor  # [arcs] 1 on the path with the fewest errors; likewise
    counts: Tensor  # [arcs] 1 where an arc carries loss
    word: Tensor  # [arcs] which of the batch's words
    buckets: Tensor  # n-grams of the batch's words, one after the other
    bucket_offsets: Tensor  # [words]
    vectors: Tensor  # [words, dimension] where embeddings come from a file
    forward: Way
    backward: Way
    backward_place: Tensor  # [arcs] where each arc is in the backward direction
    arcs: int  # that carry loss


class Direction(nn.Module):
    """The weights of one direction."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.kind = config.cell
        self.input = nn.Linear(config.inputs, config.gates)
        self.recurrent = nn.Linear(config.state, config.gates)
        self.attention = AttentionWeights(config.state) if config.merge == "attention" else None
        for linear in (self.input, self.recurrent):
            nn.init.zeros_(linear.bias)
        nn.init.xavier_uniform_(self.input.weight)
        for gate in self.recurrent.weight.data.chunk(config.gates // config.state):
            nn.init.orthogonal_(gate)
        if config.cell == "lstm":  # remember, until told otherwise
            self.input.bias.data[config.state : 2 * config.state] = 1.0

    def forward(self, x: Tensor, way: Way) -> Tensor:
        """States of the arcs, in the order of the way."""
        attention = self.attention.parts() if self.attention else ()
        found = Recurrence.apply(
            self.input(x), self.recurrent.weight, self.recurrent.bias, self.kind, way, *attention
        )  # type: ignore[no-untyped-call]
        return cast(Tensor, found)


class AttentionWeights(nn.Module):
    """What learned merging has of its own."""

    def __init__(self, state: int) -> None:
        super().__init__()
        self.inner = nn.Linear(state, ATTENTION_SIZE)
        self.spread = nn.Linear(3, ATTENTION_SIZE, bias=False)
        self.score = nn.Linear(ATTENTION_SIZE, 1, bias=False)

    def parts(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """In the order of `recurrence.Attention`."""
        return self.inner.weight, self.spread.weight, self.inner.bias, self.score.weight[0]


class LatticeRNN(nn.Module):
    """From a batch to what its head makes confidences of."""

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

    def forward(self, batch: Batch) -> Tensor:
        """[arcs, outputs]"""
        x = self._dropped(self._inputs(batch))
        ahead = self.forwards(x, batch.forward)
        turned, place = batch.backward.arc, batch.backward_place
        behind = self.backwards(Permutation.apply(x, turned, place), batch.backward)  # type: ignore[no-untyped-call]
        behind = cast(Tensor, Permutation.apply(behind, place, turned))  # type: ignore[no-untyped-call]
        hidden = torch.relu(self.hidden(self._dropped(torch.cat([ahead, behind], 1))))
        found = cast(Tensor, self.output(hidden))
        return found if self.skip is None else found + self.skip * self._straight(batch)

    def _straight(self, batch: Batch) -> Tensor:
        """[arcs, outputs] what the recognizer thinks."""
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

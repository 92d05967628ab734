"""The head for missing words in torch: the equations of `confidence.gap_inputs`, and the loss.

The hidden layer of an arc goes to the gap after it and to the one before it, through weights of its own for each.
Shares of all paths and chances of words are held fixed: what is learned here is where words are missing, not which
words are right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, embedding_bag

from ..confidence.config import GAP_INPUTS, Config
from ..confidence.gap_inputs import DOUBT, LEAST_DOUBT, LEAST_MASS, MASS, MOST_WORDS, Scale
from .gap_data import GapData

RARE = -4.0  # the logit that training begins with: in one gap of fifty, words are missing


@dataclass(frozen=True, slots=True)
class GapBatch:
    """The gaps of a batch on the device."""

    missing: Tensor  # [gaps] 1 where words are missing, or between where there are teachers
    fixed: Tensor  # [gaps, FIXED]
    before: Tensor  # [gaps] the arc before each; the number of arcs where there is none
    after: Tensor
    near: Tensor  # arcs near the gaps
    near_offsets: Tensor  # [gaps]
    is_rival: Tensor  # [near] 1 or 0
    is_inside: Tensor

    @classmethod
    def of(
        cls, gaps: GapData, position: NDArray[np.int64], device: torch.device, teacher_weight: float = 0.0
    ) -> GapBatch:
        """Of gaps whose arcs are counted through the batch; `position` is where the batch has each arc."""
        padded = np.append(position, len(position))  # -1 is the last one

        def put(array: NDArray[np.generic]) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        return cls(
            put(gaps.targets(teacher_weight)), put(gaps.fixed), put(padded[gaps.before]), put(padded[gaps.after]),
            put(padded[gaps.near]), put(gaps.near_offsets[:-1]), put(gaps.is_rival.astype(np.float64)),
            put(gaps.is_inside.astype(np.float64)),
        )  # fmt: skip


class GapHead(nn.Module):
    """The weights of the head."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.before = nn.Linear(config.hidden, config.gap, bias=False)
        self.after = nn.Linear(config.hidden, config.gap, bias=False)
        self.inputs = nn.Linear(GAP_INPUTS, config.gap)
        self.output = nn.Linear(config.gap, 1)
        nn.init.constant_(self.output.bias, RARE)

    def of_arcs(self, hidden: Tensor) -> Tensor:
        """[arcs, 2 gap] what each arc gives to the gap after it, then to the gap before it."""
        return torch.cat([self.before(hidden), self.after(hidden)], 1)

    def forward(self, gaps: GapBatch, of_arcs: Tensor, share: Tensor, chance: Tensor) -> Tensor:
        """[gaps] logits; `share` and `chance` are those of arcs, in double precision."""
        inputs = torch.cat([gaps.fixed, model_inputs(gaps, share.detach(), chance.detach())], 1)
        given = torch.cat([of_arcs, of_arcs.new_zeros(1, of_arcs.shape[1])])
        before, after = given.chunk(2, 1)
        layer = torch.relu(self.inputs(inputs) + before[gaps.before] + after[gaps.after])
        return cast(Tensor, self.output(layer))[:, 0]


def gap_loss(gaps: GapBatch, logits: Tensor) -> Tensor:
    """The summed cross entropy."""
    return binary_cross_entropy_with_logits(logits, gaps.missing, reduction="sum")


def model_inputs(gaps: GapBatch, share: Tensor, chance: Tensor) -> Tensor:
    """[gaps, OF_MODEL]"""
    last = len(share)
    rival, inside = (_sums(gaps, share, weight) for weight in (gaps.is_rival, gaps.is_inside))
    excess = _sums(gaps, share, None) - (gaps.before < last).double() - (gaps.after < last).double()
    padded = [torch.cat([values, values.new_ones(1)]) for values in (share, chance)]
    doubts = [1 - values[words] for values in padded for words in (gaps.before, gaps.after)]
    columns = [
        *(_scaled((mass + LEAST_MASS).log(), MASS) for mass in (rival, inside)),
        excess.clamp(-MOST_WORDS, MOST_WORDS),
        *(_scaled((doubt.clamp(0, 1) + LEAST_DOUBT).log(), DOUBT) for doubt in doubts),
    ]
    return torch.stack(columns, 1).float()


def _sums(gaps: GapBatch, values: Tensor, weight: Tensor | None) -> Tensor:
    """[gaps] of the arcs near each, always in the same order."""
    near = values[gaps.near] if weight is None else values[gaps.near] * weight
    every = torch.arange(len(near), device=near.device)
    return embedding_bag(every, near[:, None], gaps.near_offsets, mode="sum")[:, 0]


def _scaled(values: Tensor, scale: Scale) -> Tensor:
    return (values + scale.shift) / scale.size

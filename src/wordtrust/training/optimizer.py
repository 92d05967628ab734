"""AdamW as torch has it, without loading torch's compiler, which would more than double the time to start."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from .lattice_rnn import LatticeRNN
from .options import TrainOptions


class AdamW(torch.optim.AdamW):
    """The same steps; the wrappers around torch's own methods import `torch._dynamo` to tell it to stay away."""

    add_param_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Optimizer.zero_grad)
    step = torch.no_grad()(inspect.unwrap(torch.optim.AdamW.step))


def optimizer_of(network: LatticeRNN, options: TrainOptions) -> AdamW:
    """Word vectors learn more slowly: as fast as the rest, they would learn the training data by heart."""
    embedding = [] if network.embedding is None else [network.embedding.weight]
    rest = [weight for weight in network.parameters() if not any(weight is vectors for vectors in embedding)]
    pairs = ((rest, 1.0), (embedding, options.embedding_rate))
    groups: list[dict[str, Any]] = [
        {"params": weights, "lr": options.rate, "share": share} for weights, share in pairs if weights
    ]
    return AdamW(groups, weight_decay=options.decay)

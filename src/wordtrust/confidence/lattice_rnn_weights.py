"""The weights of a model, checked, and laid out as the scorer wants them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..base.errors import InputError
from ..lattices.lattice import Floats
from .config import Config, weight_shapes

Weights = Mapping[str, Floats]
SIGMOID_GATES = {"lstm": (0, 1, 3), "gru": (0, 1)}


@dataclass(frozen=True, slots=True)
class Attention:
    """Learned merging: a softmax over v . tanh(A h + S spread + b)."""

    state: Floats  # A [h, size]
    spread: Floats  # S [3, size]
    bias: Floats  # b [size]
    score: Floats  # v [size]


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction: gates of sigmoids halved, products with a row vector from the left."""

    input: Floats  # [inputs + 1, gates] the last row is the bias
    recurrent: Floats  # [h, gates]
    bias: Floats  # [h] that of the recurrent part of n, in a GRU; else 0
    hidden: Floats  # [h, hidden] this direction's part of the hidden layer
    attention: Attention | None

    @classmethod
    def of(cls, config: Config, weights: Weights, name: str, hidden: Floats) -> Direction:
        """Out of weights that were checked."""
        size = config.state
        scale = np.ones(config.gates, np.float32)
        for gate in SIGMOID_GATES[config.cell]:
            scale[gate * size : (gate + 1) * size] = 0.5
        recurrent_bias, own = weights[f"{name}.recurrent.bias"].copy(), np.zeros(size, np.float32)
        if config.cell == "gru":
            own = recurrent_bias[2 * size :].copy()
            recurrent_bias[2 * size :] = 0.0
        bias = weights[f"{name}.input.bias"] + recurrent_bias
        return cls(
            input=_contiguous(np.concatenate([weights[f"{name}.input.weight"], bias[:, None]], 1).T * scale),
            recurrent=_contiguous(weights[f"{name}.recurrent.weight"].T * scale),
            bias=own,
            hidden=_contiguous(hidden.T),
            attention=_attention(weights, name) if config.merge == "attention" else None,
        )


def _attention(weights: Weights, name: str) -> Attention:
    part = f"{name}.attention"
    return Attention(
        state=_contiguous(weights[f"{part}.inner.weight"].T),
        spread=_contiguous(weights[f"{part}.spread.weight"].T),
        bias=weights[f"{part}.inner.bias"],
        score=weights[f"{part}.score.weight"][0],
    )


def checked(config: Config, weights: Weights) -> dict[str, Floats]:
    """The weights as float32; an `InputError` where they are not those of such a model."""
    expected = weight_shapes(config)
    for name in sorted(set(expected) ^ set(weights)):
        what = "lacks" if name in expected else "has more than it should:"
        raise InputError(f"the model {what} the weights {name!r}", remedy=_REMEDY)
    made = {}
    for name, shape in expected.items():
        if weights[name].shape != shape:
            raise InputError(
                f"the weights {name!r} of the model are {weights[name].shape}, not {shape}", remedy=_REMEDY
            )
        made[name] = _contiguous(weights[name])
        if not np.isfinite(made[name]).all():
            raise InputError(f"the weights {name!r} of the model are not all numbers", remedy=_REMEDY)
    return made


_REMEDY = "Its parts do not belong together or were damaged: train it or fetch it again"


def _contiguous(array: Floats) -> Floats:
    return np.ascontiguousarray(array, np.float32)

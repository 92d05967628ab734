"""The weights of a model, checked, and laid out as the scorer wants them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..base.errors import InputError
from ..lattices.lattice import Floats
from .config import Config, weight_shapes

Weights = Mapping[str, Floats]
SIGMOID_GATES = (0, 1, 3)  # input, forget and output gate; the other ends in a tanh


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction: gates of sigmoids halved, products with a row vector from the left."""

    input: Floats  # [inputs + 1, gates] the last row is the bias
    recurrent: Floats  # [h, gates]
    hidden: Floats  # [h, hidden] this direction's part of the hidden layer

    @classmethod
    def of(cls, config: Config, weights: Weights, name: str, hidden: Floats) -> Direction:
        """Out of weights that were checked."""
        size = config.state
        scale = np.ones(config.gates, np.float32)
        for gate in SIGMOID_GATES:
            scale[gate * size : (gate + 1) * size] = 0.5
        bias = weights[f"{name}.input.bias"] + weights[f"{name}.recurrent.bias"]
        return cls(
            input=_contiguous(np.concatenate([weights[f"{name}.input.weight"], bias[:, None]], 1).T * scale),
            recurrent=_contiguous(weights[f"{name}.recurrent.weight"].T * scale),
            hidden=_contiguous(hidden.T),
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

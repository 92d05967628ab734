"""How a joint model is fitted: the options, and the optimiser of its weights."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ...base.errors import OptionError
from .arc_models import Layers

_MEAN_DECAY, _SQUARE_DECAY = 0.9, 0.999  # Adam's usual ones
_WARM_UP = 50  # steps


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How a joint model is fitted."""

    hidden: int = 32
    epochs: int = 60
    batch: int = 48  # utterances, all with the same subset
    unions: int = 16  # subsets that each batch is joined from
    folds: int = 4  # of speakers; each has weights that are fitted without them
    rate: float = 0.02
    decay: float = 1e-3
    risk: float = 0.85  # weight of expected errors; the rest is that of likelihood
    confidence_epochs: int = 20
    draws: int = 16  # subsets that each utterance is decoded from, for what is fitted on outputs
    gap_hidden: int = 16
    gap_epochs: int = 6
    gap_rate: float = 0.01
    least_gain: float = 1.0  # standard errors; where the joint output gains less, the best member's output stands
    seed: int = 0

    def __post_init__(self) -> None:
        outputs = (self.draws, self.gap_hidden, self.gap_epochs)
        if min(self.hidden, self.epochs, self.batch, self.unions, self.confidence_epochs, *outputs) < 1:
            raise OptionError("a joint model is fitted with sizes and epochs of at least 1")
        if self.folds < 2 or not 0 <= self.risk <= 1:
            raise OptionError("a joint model is fitted in two folds or more, with a risk from 0 to 1")


DEFAULT = FitOptions()


class Adam:
    """Adam over the arrays of `Layers` with weight decay; the rate warms up, then falls to 0 by a cosine."""

    def __init__(self, layers: Layers, options: FitOptions, total: int) -> None:
        self._layers, self._decay, self._rate, self._total = layers, options.decay, options.rate, total
        self._steps = 0
        self._mean = [np.zeros_like(getattr(layers, field.name)) for field in fields(layers)]
        self._square = [np.zeros_like(mean) for mean in self._mean]

    def step(self, gradient: Layers) -> None:
        """Update the weights, in place."""
        rate = self._rate * min(1.0, (self._steps + 1) / _WARM_UP) * 0.5
        rate *= 1 + np.cos(np.pi * self._steps / self._total)
        self._steps += 1
        for index, field in enumerate(fields(self._layers)):
            slope, weights = getattr(gradient, field.name), getattr(self._layers, field.name)
            self._mean[index] += (1 - _MEAN_DECAY) * (slope - self._mean[index])
            self._square[index] += (1 - _SQUARE_DECAY) * (slope**2 - self._square[index])
            size = np.sqrt(self._square[index] / (1 - _SQUARE_DECAY**self._steps)) + 1e-8
            direction = self._mean[index] / (1 - _MEAN_DECAY**self._steps) / size
            weights -= rate * (direction + self._decay * weights)

"""Fitting the weights on held-out utterances: each step takes other utterances and another subset of recognizers.

What is made small is the logarithm of two things, for every union: how unlikely the oracle path is, which makes
probabilities of potentials, and how many errors paths are expected to have, which is what counts. Logarithms, because
the errors of good recognizers are a tenth of those of bad ones, and matter as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np

from ...base.errors import OptionError
from ...lattices.lattice import Flags
from ...lattices.posterior import arc_masses, shares
from ...lattices.weights import Reals
from .examples import Batch, Example
from .risk import expected_accuracy
from .weigh import Layers, Matrix, Rows, Weigher, rows_of

_KEPT_MEAN, _KEPT_SQUARE = 0.9, 0.999  # Adam's usual ones
_WARM_UP = 50  # steps
LEAST_LOSS = 0.3  # nats or errors an utterance: unions with less do not count for more


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How the model is fitted."""

    hidden: int = 32
    epochs: int = 60
    batch: int = 48  # utterances, all with the same subset
    unions: int = 16  # subsets that each batch is joined from
    folds: int = 4  # of speakers; each has a model that is fitted without them
    rate: float = 0.02
    decay: float = 1e-3
    risk: float = 0.85  # weight of expected errors; the rest is that of likelihood
    trust_epochs: int = 20
    least_gain: float = 1.0  # standard errors; where all together gain less, the best member's output stands
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.hidden, self.epochs, self.batch, self.unions, self.trust_epochs) < 1:
            raise OptionError("a joint model is fitted with sizes and epochs of at least 1")
        if self.folds < 2 or not 0 <= self.risk <= 1:
            raise OptionError("a joint model is fitted in two folds or more, with a risk from 0 to 1")


DEFAULT = FitOptions()


class Adam:
    """Adam over the arrays of `Layers`, with weight decay; the rate rises, then falls to 0 by a cosine."""

    def __init__(self, layers: Layers, options: FitOptions, total: int) -> None:
        self._layers, self._decay, self._rate, self._total = layers, options.decay, options.rate, total
        self._steps = 0
        self._mean = [np.zeros_like(getattr(layers, each.name)) for each in fields(layers)]
        self._square = [np.zeros_like(each) for each in self._mean]

    def step(self, gradient: Layers) -> None:
        """Go one step down."""
        rate = self._rate * min(1.0, (self._steps + 1) / _WARM_UP) * 0.5
        rate *= 1 + np.cos(np.pi * self._steps / self._total)
        self._steps += 1
        for number, each in enumerate(fields(self._layers)):
            slope, weights = getattr(gradient, each.name), getattr(self._layers, each.name)
            self._mean[number] += (1 - _KEPT_MEAN) * (slope - self._mean[number])
            self._square[number] += (1 - _KEPT_SQUARE) * (slope**2 - self._square[number])
            size = np.sqrt(self._square[number] / (1 - _KEPT_SQUARE**self._steps)) + 1e-8
            direction = self._mean[number] / (1 - _KEPT_MEAN**self._steps) / size
            weights -= rate * (direction + self._decay * weights)


def fit_shared(batches: Sequence[Batch], systems: int, options: FitOptions = DEFAULT, *, seed: int = 0) -> Weigher:
    """One model for every subset of so many recognizers.

    Recognizers are in the order of their quality: the first of each subset is its pivot.
    """
    random, model = np.random.default_rng([options.seed, seed]), Weigher.new(systems, options.hidden, seed)
    total = options.epochs * len(batches)
    optimisers = Adam(model.word, options, total), Adam(model.silence, options, total)
    for example in shuffled(batches, options.epochs, random):
        for optimiser, gradient in zip(optimisers, slopes(model, example, options.risk)[1], strict=True):
            optimiser.step(gradient)
    return model


def shuffled(batches: Sequence[Batch], epochs: int, random: np.random.Generator) -> Iterator[Example]:
    """Every batch once in an epoch, joined from any of its subsets."""
    for _ in range(epochs):
        for place in random.permutation(len(batches)).tolist():
            yield batches[place][int(random.integers(len(batches[place])))]


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """What the gradient for one kind of arc needs."""

    layers: Layers
    kind: Flags  # [arcs]
    part: Matrix  # their inputs
    rows: Rows
    active: Matrix


def forward(model: Weigher, example: Example) -> tuple[Reals, list[Kept]]:
    """The potentials of a union, and what `backward` needs: words, then silence."""
    x, rows = example.x, rows_of(example.members, model.systems)
    potential, kept = np.empty(len(x)), []
    for layers, kind in ((model.word, ~example.silent), (model.silence, example.silent)):
        part = x[kind]
        potential[kind], active = layers.potential(part, rows)
        kept.append(Kept(layers, kind, part, rows, active))
    return potential, kept


def backward(kept: Sequence[Kept], slope: Reals) -> list[Layers]:
    """The gradients of the weights, given that of the potentials."""
    fine: Matrix = slope.astype(np.float32)
    return [each.layers.gradient(each.part, each.rows, each.active, fine[each.kind]) for each in kept]


def slopes(model: Weigher, example: Example, risk: float) -> tuple[float, list[Layers]]:
    """The loss of one union, and its gradients."""
    potential, kept = forward(model, example)
    loss, slope = _loss(example, potential, risk)
    return loss, backward(kept, slope)


def _loss(example: Example, potential: Reals, risk: float) -> tuple[float, Reals]:
    """What is made small, and its gradient by the potentials."""
    flat, least = example.flat, LEAST_LOSS * example.utterances
    share, after = shares(flat, potential)
    mass = share.copy()
    node = arc_masses(flat, mass)
    unlikely = float(after[flat.start].sum() - potential[example.oracle].sum()) + least
    accuracy, better = expected_accuracy(flat, share, mass, node, example.accuracy)
    errors = max(example.words - accuracy, 0.0) + least
    slope = (1 - risk) * (mass - example.oracle) / unlikely - risk * better / errors
    return float((1 - risk) * np.log(unlikely) + risk * np.log(errors)), slope

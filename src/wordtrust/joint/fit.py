"""Fitting the weights on held-out utterances, by the likelihood of oracle paths.

`fit_shared` makes the model that serves every subset: each step takes other utterances and another subset. What one
subset needs besides, a linear correction, is found by `fit_correction` in a few steps of L-BFGS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from ..labels import Spoken, oracle_paths
from ..lattice import Flags, Lattices
from ..networks import REFERENCE
from ..posterior import Flat, arc_masses, shares
from ..scores import Reals
from .evidence import evidence
from .minimise import minimise
from .union import Systems
from .weigh import Layers, Matrix, Weigher, inputs, rows_of

_KEPT_MEAN, _KEPT_SQUARE = 0.9, 0.999  # Adam's usual ones
_UNLIKELY = 0.02  # a word with this marginal: what it is trusted hardly matters
_FAR = 30.0  # a logit of certainty
_LOSS = 0.3  # nats an utterance: subsets with a smaller loss do not count for more


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How the model is fitted."""

    hidden: int = 32
    epochs: int = 80
    batch: int = 48  # utterances, all with the same subset
    rate: float = 0.02
    decay: float = 1e-4
    correction_steps: int = 25
    correction_ridge: float = 10.0
    trust_steps: int = 40
    least_gain: float = 0.01  # of the best member's errors; where all together gain less, its own output stands
    seed: int = 0


DEFAULT = FitOptions()


def oracle_arcs(lattices: Lattices) -> Flags:
    """Which arcs are on the oracle path, silence too."""
    paths = oracle_paths(lattices, Spoken.of([note.split() for note in lattices.notes[REFERENCE]], lattices))
    found = np.zeros(len(lattices.word), bool)
    found[np.repeat(lattices.arc_offsets[:-1], np.diff(paths.offsets)) + paths.arcs] = True
    return found


class _Adam:
    """Adam over the arrays of `Layers`, with weight decay."""

    def __init__(self, layers: Layers, decay: float) -> None:
        self._layers, self._decay, self._steps = layers, decay, 0
        self._mean = [np.zeros_like(getattr(layers, each.name)) for each in fields(layers)]
        self._square = [np.zeros_like(each) for each in self._mean]

    def step(self, gradient: Layers, rate: float) -> None:
        """Go one step down."""
        self._steps += 1
        for number, each in enumerate(fields(self._layers)):
            slope, weights = getattr(gradient, each.name), getattr(self._layers, each.name)
            self._mean[number] += (1 - _KEPT_MEAN) * (slope - self._mean[number])
            self._square[number] += (1 - _KEPT_SQUARE) * (slope**2 - self._square[number])
            size = np.sqrt(self._square[number] / (1 - _KEPT_SQUARE**self._steps)) + 1e-8
            direction = self._mean[number] / (1 - _KEPT_MEAN**self._steps) / size
            weights -= rate * (direction + self._decay * weights)


def _random_subset(random: np.random.Generator, systems: int) -> list[int]:
    """Half of the time any size, half of the time any recognizers: mostly of middle size."""
    if systems > 2 and random.random() < 0.5:
        members = np.flatnonzero(random.random(systems) < 0.5)
        if len(members) > 1:
            return [int(each) for each in members]
    size = int(random.integers(2, systems + 1))
    return sorted(random.choice(systems, size, replace=False).tolist())


def fit_shared(
    systems: Systems, options: FitOptions = DEFAULT, tell: Callable[[int, float], None] | None = None
) -> Weigher:
    """One model for every subset; `tell` hears of each epoch and its loss in nats an utterance.

    Recognizers are in the order of their quality: the first of each subset is its pivot.
    """
    random, count = np.random.default_rng(options.seed), len(systems.hypotheses)
    batches = systems.batches(options.batch)
    model = Weigher.new(count, options.hidden, options.seed)
    optimisers = _Adam(model.word, options.decay), _Adam(model.silence, options.decay)
    steps, total = 0, options.epochs * len(batches)
    for epoch in range(options.epochs):
        loss = 0.0
        for place in random.permutation(len(batches)).tolist():
            rate = options.rate * min(1.0, (steps + 1) / 50) * 0.5 * (1 + np.cos(np.pi * steps / total))
            found, gradients = _slopes(model, batches[place], _random_subset(random, count))
            for optimiser, gradient in zip(optimisers, gradients, strict=True):
                optimiser.step(gradient, rate)
            loss += found
            steps += 1
        if tell:
            tell(epoch, loss / len(batches))
    return model


def _slopes(model: Weigher, systems: Systems, members: Sequence[int]) -> tuple[float, list[Layers]]:
    """The loss of one union, in nats an utterance, and the gradients of its logarithm.

    Of the logarithm, because the loss of a union of good recognizers is a tenth of that of bad ones, and matters as
    much.
    """
    union = systems.union(members)
    x, silent, rows = inputs(union, evidence(union)), union.lattices.word == 0, rows_of(members, model.systems)
    potential, kept = np.empty(len(x)), []
    for layers, kind in ((model.word, ~silent), (model.silence, silent)):
        part = x[kind]
        potential[kind], active = layers.potential(part, rows)
        kept.append((layers, kind, part, active))
    loss, slope = _likelihood(Flat.of(union.lattices), potential, oracle_arcs(union.lattices))
    count = len(union.lattices)
    scaled = (slope / (loss + _LOSS * count)).astype(np.float32)
    return loss / count, [layers.gradient(part, rows, active, scaled[kind]) for layers, kind, part, active in kept]


def _likelihood(flat: Flat, potential: Reals, oracle: Flags) -> tuple[float, Reals]:
    """Minus the log likelihood of the oracle paths, and its gradient by the potentials."""
    share, after = shares(flat, potential)
    loss = float(after[flat.start].sum() - potential[oracle].sum())
    arc_masses(flat, share)
    return loss, share - oracle


def fit_correction(lattices: Lattices, x: Matrix, potential: Reals, oracle: Flags, options: FitOptions) -> Matrix:
    """[2, columns] the linear part that one union needs besides the shared potentials."""
    flat, silent, columns = Flat.of(lattices), lattices.word == 0, x.shape[1]
    words, silences = np.ascontiguousarray(x[~silent]), np.ascontiguousarray(x[silent])

    def loss(weights: Reals) -> tuple[float, Reals]:
        own = weights.astype(np.float32).reshape(2, columns)
        total = potential.copy()
        total[~silent] += words @ own[0]
        total[silent] += silences @ own[1]
        found, slope = _likelihood(flat, total, oracle)
        fine = slope.astype(np.float32)
        gradient = np.concatenate([fine[~silent] @ words, fine[silent] @ silences]).astype(np.float64)
        ridge = options.correction_ridge
        return found + 0.5 * ridge * float(weights @ weights), gradient + ridge * weights

    found = minimise(loss, np.zeros(2 * columns), steps=options.correction_steps)
    return found.reshape(2, columns).astype(np.float32)


def fit_trust(x: Matrix, marginal: Reals, right: Flags, options: FitOptions) -> Matrix:
    """[columns] weights of the chance that the best of competing words is right at all, q.

    A word is right with probability marginal * q, so this is the best of all words: fitted by cross entropy over
    words whose marginal is not next to nothing.
    """
    likely = marginal > _UNLIKELY
    x, marginal, right = np.ascontiguousarray(x[likely]), marginal[likely], right[likely]

    def loss(weights: Reals) -> tuple[float, Reals]:
        q = 1 / (1 + np.exp(-np.clip((x @ weights.astype(np.float32)).astype(np.float64), -_FAR, _FAR)))
        wrong = np.maximum(1 - marginal * q, 1e-9)
        value = -np.log(q[right]).sum() - np.log(wrong[~right]).sum()
        slope = np.where(right, q - 1, marginal * q * (1 - q) / wrong)
        gradient = (slope.astype(np.float32) @ x).astype(np.float64)
        return float(value + 0.5 * weights @ weights), gradient + weights

    return minimise(loss, np.zeros(x.shape[1]), steps=options.trust_steps).astype(np.float32)

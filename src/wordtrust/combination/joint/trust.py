"""How much a word of a union is trusted: the share of the paths that have it, times the chance that any is right.

Words that exclude each other share what there is; that all words of a place may be wrong is told by a small model
of the same evidence. Weights that are fitted for the fewest errors make paths surer than they should be, so trust
has weights of its own, and both are fitted together by the cross entropy of all words of a union.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...lattices.lattice import Flags
from ...lattices.posterior import Flat, arc_masses, shares
from ...lattices.weights import Reals
from .examples import Batch, Example
from .fit import LEAST_LOSS, Adam, FitOptions, backward, forward, shuffled
from .risk import expected_accuracy
from .weigh import Layers, Matrix, Weigher, marginals, rows_of

_FAR = 30.0  # a logit of certainty
_LEAST = 1e-6  # a probability


@dataclass(frozen=True, slots=True, eq=False)
class Trust:
    """The weights of paths, and of the chance that the best of competing words is right at all."""

    weigher: Weigher
    right: Layers

    def confidence(self, flat: Flat, x: Matrix, silent: Flags, members: Sequence[int]) -> Reals:
        """How likely each arc is right; of silence, how likely nothing was said. Crossing arcs sum to at most 1."""
        found = marginals(flat, self.weigher.potentials(x, silent, members))
        odds = self.right.potential(x[~silent], rows_of(members, self.weigher.systems))[0]
        found[~silent] *= _sigmoid(odds)
        return found


def _sigmoid(odds: Matrix) -> Reals:
    found: Reals = 1 / (1 + np.exp(-np.clip(odds.astype(np.float64), -_FAR, _FAR)))
    return found


def fit_trust(batches: Sequence[Batch], systems: int, options: FitOptions, *, seed: int = 0) -> Trust:
    """Trust for every subset of so many recognizers."""
    random = np.random.default_rng([options.seed, seed])
    weigher = Weigher.new(systems, options.hidden, seed)
    trust = Trust(weigher, Layers.new(len(weigher.word.skip), options.hidden, random))
    parts, total = (weigher.word, weigher.silence, trust.right), options.trust_epochs * len(batches)
    optimisers = [Adam(each, options, total) for each in parts]
    for example in shuffled(batches, options.trust_epochs, random):
        for optimiser, gradient in zip(optimisers, trust_slopes(trust, example)[1], strict=True):
            optimiser.step(gradient)
    return trust


def trust_slopes(trust: Trust, example: Example) -> tuple[float, list[Layers]]:
    """The logarithm of the cross entropy of a union's words, and its gradients: words, silence, right."""
    potential, kept = forward(trust.weigher, example)
    share, _ = shares(example.flat, potential)
    mass = share.copy()
    node, words = arc_masses(example.flat, mass), ~example.silent
    part, rows = kept[0].part, kept[0].rows
    odds, active = trust.right.potential(part, rows)
    marginal, q, right = np.maximum(mass[words], _LEAST), _sigmoid(odds), example.right[words]
    wrong = np.maximum(1 - marginal * q, _LEAST)
    loss = -float(np.log(np.where(right, np.maximum(marginal * q, _LEAST), wrong)).sum())
    loss += LEAST_LOSS * example.utterances
    by_marginal = np.zeros(len(mass))
    by_marginal[words] = np.where(right, -1 / marginal, q / wrong)
    slope = expected_accuracy(example.flat, share, mass, node, by_marginal)[1] / loss
    by_odds = np.where(right, q - 1, marginal * q * (1 - q) / wrong) / loss
    return float(np.log(loss)), [
        *backward(kept, slope), trust.right.gradient(part, rows, active, by_odds.astype(np.float32)),
    ]  # fmt: skip

"""How a generic model tells confidences in lattices of recognizers that it has never seen: a formula, no network.

What a network learns of some recognizers' lattices misleads about others'; a weighted sum of few numbers that mean
the same everywhere does not. The log-odds of a word are

    bias + sum of weight * column

over columns of `features` and `scale_free`: its posterior, that of all its arcs together, as logit and as logarithm;
and, counting less, how much may have been said at its middle, just before and just after it (entropies). Where these
two say nothing, the order of words is that of their posteriors. The arcs of a word share this confidence as they
share its posterior. The formula is for lattices with acoustic and language scores (`is_for`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..base.json_checks import list_of, number
from ..lattices.lattice import Flags, Lattices
from ..lattices.weights import Reals
from .features import SURE, Arcs, Statistics, check_columns, clipped_logit, normalised
from .scale_free import has_scale_free_group

COLUMNS = ("word_posterior_logit", "word_log_posterior", "slot_entropy", "edge_entropy")
LARGEST = 100.0  # a weight
SUREST = 30.0  # as a logit

Curve = Callable[[Reals], Reals]


@dataclass(frozen=True)
class LatticeFormula:
    """Columns, normalised by constants, their weights, and what is added."""

    columns: tuple[str, ...]
    weights: tuple[float, ...]
    bias: float

    def __post_init__(self) -> None:
        check_columns(self.columns)
        if len(self.weights) != len(self.columns):
            raise ValueError(
                f"the formula for lattices has {len(self.weights)} weights of {len(self.columns)} columns"
            )
        if not all(abs(weight) <= LARGEST for weight in (*self.weights, self.bias)):
            raise ValueError(f"the formula for lattices has weights that are no numbers up to {LARGEST:g}")

    @staticmethod
    def is_for(networks: Lattices) -> bool:
        """Whether these networks are of lattices with acoustic and language scores."""
        return has_scale_free_group(networks, "has_scores") and not has_scale_free_group(networks, "has_list")

    def log_odds(self, networks: Lattices) -> Reals:
        """[arcs] of each to be right; those of one word sum to its confidence."""
        arcs = _arcs(networks)
        z = np.clip(_inputs(arcs, self.columns) @ np.array(self.weights) + self.bias, -SUREST, SUREST)
        share = arcs.posterior.astype(np.float64) / np.maximum(arcs.word_posterior, SURE)
        return clipped_logit(np.minimum(share, 1.0) / (1.0 + np.exp(-z)))

    def calibrated(self, recognizers: Iterable[Iterable[Lattices]], curve: Curve) -> LatticeFormula:
        """The formula, stretched and moved so that the words of the 1-best are calibrated after this curve.

        Over labelled networks, every recognizer counting alike; those with lists of hypotheses count as well.
        """
        words = [self._words(networks) for networks in recognizers]
        found, step = np.array([1.0, 0.0]), 0.4  # what weights are multiplied by, and what is added
        least = _loss(words, curve, found)
        while step > 0.005:
            around = [found + step * np.array(off) for off in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1))]
            losses = [_loss(words, curve, tried) for tried in around if tried[0] > 0]
            best = int(np.argmin(losses))
            if losses[best] < least:
                found, least = [tried for tried in around if tried[0] > 0][best], losses[best]
            else:
                step /= 2
        factor, offset = found.tolist()
        weights = tuple(factor * weight for weight in self.weights)
        return LatticeFormula(self.columns, weights, factor * self.bias + offset)

    def _words(self, networks: Iterable[Lattices]) -> tuple[Reals, Flags]:
        """The log-odds of the words of the 1-best, each as a whole, and whether they are right."""
        from ..networks.build_store import LABEL  # training, which reads models, does without what this imports

        odds, right = [np.zeros(0)], [np.zeros(0, np.bool_)]
        for batch in networks:
            assert batch.picked is not None
            words = np.flatnonzero(batch.picked & (batch.word > 0))
            odds.append((_inputs(_arcs(batch), self.columns) @ np.array(self.weights) + self.bias)[words])
            right.append(batch.extra[LABEL][words] > 0)
        return np.concatenate(odds), np.concatenate(right)

    def to_json(self) -> dict[str, Any]:
        """What model.json says of it."""
        return {"columns": list(self.columns), "weights": list(self.weights), "bias": self.bias}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """What `to_json` wrote; anything else is a `KeyError`, `ValueError` or `OptionError`."""
        columns, weights = (list_of(record, name, "lattices") for name in ("columns", "weights"))
        if not all(isinstance(weight, float | int) and not isinstance(weight, bool) for weight in weights):
            raise ValueError("the formula for lattices has weights that are no numbers")
        return cls(tuple(map(str, columns)), tuple(map(float, weights)), number(record, "bias", "lattices"))


def _loss(words: Sequence[tuple[Reals, Flags]], curve: Curve, stretched: Reals) -> float:
    """The mean cross entropy over recognizers."""
    factor, offset = stretched.tolist()
    losses = []
    for odds, right in words:
        chance = 1.0 / (1.0 + np.exp(-np.clip(factor * odds + offset, -SUREST, SUREST)))
        shown = np.clip(curve(chance), SURE, 1 - SURE)
        losses.append(-np.log(np.where(right, shown, 1 - shown)).mean() if len(right) else 0.0)
    return float(np.mean(losses))


def formula_inputs(networks: Lattices) -> Reals:
    """[arcs, columns] as formulas see them."""
    return _inputs(_arcs(networks), COLUMNS)


def _inputs(arcs: Arcs, columns: tuple[str, ...]) -> Reals:
    return normalised(arcs, Statistics.fixed(columns), lenient=True).astype(np.float64)


def _arcs(networks: Lattices) -> Arcs:
    """Without facts about words, which a formula does not need."""
    nothing = np.zeros(len(networks.source))
    return Arcs(networks, nothing, nothing)

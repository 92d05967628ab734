"""Fit the formula of a generic model for lattices (`confidence.lattice_formula`) over several recognizers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..base.errors import OptionError
from ..confidence.lattice_formula import COLUMNS, LatticeFormula, formula_inputs
from ..lattices.lattice import Lattices
from ..lattices.weights import Reals
from ..networks.build_store import LABEL

STEPS = 50  # of Newton's method, at most
SLIGHT = 1e-6  # a penalty that only keeps its equations solvable
# Of squared weights, in COLUMNS: entropies count for less than they would on known recognizers (chosen by leaving out
# families, and on recipes of others, where they mislead if they count in full).
PENALTY = (SLIGHT, SLIGHT, 0.1, 0.1)
OTHERS = 0.1  # what words beside the 1-best count, all of them together


def fit_lattice_formula(recognizers: Iterable[Iterable[Lattices]]) -> LatticeFormula:
    """Logistic regression over words of labelled networks, every recognizer counting alike.

    Recognizers that give lists of hypotheses count as well: what is probable and what competes is told alike.
    """
    parts = [part for part in map(_words, recognizers) if len(part.right)]
    if not parts or min(sum(np.count_nonzero(part.right == kind) for part in parts) for kind in (0, 1)) == 0:
        raise OptionError("a formula for lattices needs words that are right and words that are wrong")
    inputs, right, weight = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    *weights, bias = logistic_regression(inputs, right, weight / len(parts), (*PENALTY, SLIGHT)).tolist()
    return LatticeFormula(COLUMNS, tuple(weights), bias)


class _Words(NamedTuple):
    """Words of one recognizer."""

    inputs: Reals  # [words, columns]
    right: Reals  # [words] 1 or 0
    weight: Reals  # [words] summing to 1


def _words(networks: Iterable[Lattices]) -> _Words:
    inputs, right, best = [np.zeros((0, len(COLUMNS)))], [np.zeros(0)], [np.zeros(0, np.bool_)]
    for batch in networks:
        assert batch.picked is not None
        words = np.flatnonzero((batch.word > 0) & (batch.extra[LABEL] >= 0))
        inputs.append(formula_inputs(batch)[words])
        right.append(batch.extra[LABEL][words].astype(np.float64))
        best.append(batch.picked[words])
    on_best = np.concatenate(best)
    share = np.where(on_best, 1 - OTHERS, OTHERS)
    count = np.where(on_best, np.count_nonzero(on_best), np.count_nonzero(~on_best))
    return _Words(np.concatenate(inputs), np.concatenate(right), share / np.maximum(count, 1))


def logistic_regression(inputs: Reals, right: Reals, weight: Reals, penalty: Sequence[float]) -> Reals:
    """[columns + 1] the weights of the columns and the bias: the likeliest, less a penalty on their squares."""
    rows = np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1)
    found, held = np.zeros(rows.shape[1]), np.array(penalty)
    for _ in range(STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(rows @ found, -30, 30)))
        slope = rows.T @ (weight * (right - chance)) - held * found
        curve = rows.T @ (rows * (weight * chance * (1 - chance))[:, None]) + np.diag(held)
        step = np.linalg.solve(curve, slope)
        found = found + step
        if np.abs(step).max() < 1e-9:
            break
    return found

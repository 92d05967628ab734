"""Logistic regression over a few columns: what most people would try first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import json_checks
from ..base.errors import InputError
from ..confidence.calibration.base import CLIP, sigmoid
from ..confidence.calibration.logistic import fit_logistic
from ..confidence.features import LIMIT
from ..lattices.lattice import Flags
from ..lattices.weights import Reals

STRENGTHS = (1.0, 10.0, 100.0, 1000.0)  # how much a weight of 1 costs, in nats of all words
LARGEST = 1e6  # of any number in a file


@dataclass(frozen=True, eq=False)
class Logistic:
    """P(right) = sigmoid(intercept + weights . columns), columns of mean 0 and spread 1 within limits."""

    mean: Reals  # [columns]
    spread: Reals
    weights: Reals
    intercept: float
    strength: float  # of the regularisation

    @classmethod
    def fit(cls, raw: Reals, right: Flags, strength: float) -> Logistic:
        """Fit to rows of columns; the weights, but not the intercept, are drawn to 0."""
        mean, spread = raw.mean(axis=0), raw.std(axis=0)
        spread = np.where(spread > 1e-6, spread, 1.0)  # a column that never changes says nothing
        features = np.column_stack([_normalised(raw, mean, spread), np.ones(len(raw))])
        penalty = np.append(np.full(raw.shape[1], strength), 0.0)
        found = fit_logistic(features, right, penalty)
        return cls(mean, spread, found[:-1], float(found[-1]), strength)

    def predict(self, raw: Reals) -> Reals:
        """The probability of being right for each row."""
        return sigmoid(_normalised(raw, self.mean, self.spread) @ self.weights + self.intercept)

    def likelihood(self, raw: Reals, right: Flags) -> float:
        """The log-likelihood of rows with known labels, in nats a row."""
        chance = np.clip(self.predict(raw), CLIP, 1 - CLIP)
        return float(np.mean(np.log(np.where(right, chance, 1 - chance))))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        lists = {name: getattr(self, name).tolist() for name in ("mean", "spread", "weights")}
        return lists | {"intercept": self.intercept, "strength": self.strength}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any], columns: int) -> Logistic:
        """What `to_dict` wrote for so many columns; anything else is an `InputError`."""
        mean, spread, weights = (_numbers(form, name, columns) for name in ("mean", "spread", "weights"))
        if not (spread > 0).all():
            raise InputError("a column of the logistic regression has no spread", remedy="Fit it again")
        return cls(mean, spread, weights, json_checks.number(form, "intercept"), json_checks.number(form, "strength"))


def choose_logistic(
    raw: Reals, right: Flags, held_raw: Reals, held_right: Flags, strengths: Sequence[float] = STRENGTHS
) -> Logistic:
    """Fit with each strength, and keep the one that held-out rows are most likely under."""
    tried = [Logistic.fit(raw, right, strength) for strength in strengths]
    return max(tried, key=lambda each: each.likelihood(held_raw, held_right))


def _normalised(raw: Reals, mean: Reals, spread: Reals) -> Reals:
    found: Reals = np.clip((raw - mean) / spread, -LIMIT, LIMIT)
    return found


def _numbers(form: Mapping[str, Any], name: str, size: int) -> Reals:
    listed = json_checks.list_of(form, name)
    if len(listed) != size:
        raise InputError(f"{name} of the logistic regression are {len(listed)}, not {size}", remedy="Fit it again")
    found = np.array([json_checks.number({name: value}, name) for value in listed])
    if not (np.abs(found) <= LARGEST).all():
        raise InputError(f"{name} of the logistic regression are not all up to {LARGEST:g}", remedy="Fit it again")
    return found

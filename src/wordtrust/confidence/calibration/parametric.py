"""Calibrators with two or three parameters: a logistic curve through all of the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...lattices.lattice import Flags
from .base import STEEPEST, Calibrator, Groups, Reals, clipped, number_between, sigmoid
from .logistic import fit_logistic


class Platt(Calibrator):
    """sigmoid(slope * logit + offset), with Platt's smoothed targets. Logits are clipped to those of 1e-7."""

    name = "platt"

    def __init__(self, domain: str = "probability") -> None:
        self.domain = domain

    def _fit(self, scores: Reals, correct: Flags, groups: Groups) -> None:  # noqa: ARG002
        self.slope_, self.offset_ = fit_platt(self._logits(scores), correct)

    def _predict(self, scores: Reals) -> Reals:
        return sigmoid(self.slope_ * clipped(self._logits(scores)) + self.offset_)

    def _to_dict(self) -> dict[str, Any]:
        return {"slope": self.slope_, "offset": self.offset_}

    def _from_dict(self, fitted: Mapping[str, Any]) -> None:
        self.slope_, self.offset_ = slope_and_offset(fitted)


def fit_platt(logits: Reals, correct: Flags) -> tuple[float, float]:
    """Slope and offset of a Platt fit."""
    slope, offset = fit_logistic(np.stack([clipped(logits), np.ones(len(logits))], axis=1), correct)
    return float(slope), float(offset)


def slope_and_offset(fitted: Mapping[str, Any]) -> tuple[float, float]:
    """The two numbers of a Platt fit, from a dictionary that nobody has checked."""
    slope, offset = (number_between(fitted, name, -STEEPEST, STEEPEST) for name in ("slope", "offset"))
    return slope, offset


class Temperature(Calibrator):
    """sigmoid(logit / temperature): makes confidences softer or bolder. Logits are clipped as for Platt."""

    name = "temperature"

    def __init__(self, domain: str = "probability") -> None:
        self.domain = domain

    def _fit(self, scores: Reals, correct: Flags, groups: Groups) -> None:  # noqa: ARG002
        [scale] = fit_logistic(clipped(self._logits(scores))[:, np.newaxis], correct)
        self.scale_ = max(0.0, float(scale))  # 1 / temperature; scores that point the wrong way count for nothing

    def _predict(self, scores: Reals) -> Reals:
        return sigmoid(self.scale_ * clipped(self._logits(scores)))

    def _to_dict(self) -> dict[str, Any]:
        return {"scale": self.scale_}

    def _from_dict(self, fitted: Mapping[str, Any]) -> None:
        self.scale_ = number_between(fitted, "scale", 0, STEEPEST)


class Beta(Calibrator):
    """sigmoid(a log p - b log(1 - p) + offset) with a, b of at least 0 (Kull, Silva Filho and Flach, 2017)."""

    name = "beta"

    def __init__(self, domain: str = "probability") -> None:
        self.domain = domain

    def _fit(self, scores: Reals, correct: Flags, groups: Groups) -> None:  # noqa: ARG002
        features = self._features(scores)
        used = [0, 1, 2]
        while True:
            weights = np.zeros(3)
            weights[used] = fit_logistic(np.ascontiguousarray(features[:, used]), correct)
            falling = [column for column in used if column < 2 and weights[column] < 0]
            if not falling:
                break
            used.remove(min(falling, key=lambda column: float(weights[column])))  # as the paper does: without it
        self.a_, self.b_, self.offset_ = weights.tolist()

    def _features(self, scores: Reals) -> Reals:
        logits = clipped(self._logits(scores))
        log_p, log_not_p = -np.logaddexp(0, -logits), -np.logaddexp(0, logits)
        return np.stack([log_p, -log_not_p, np.ones(len(logits))], axis=1)

    def _predict(self, scores: Reals) -> Reals:
        return sigmoid(self._features(scores) @ np.array([self.a_, self.b_, self.offset_]))

    def _to_dict(self) -> dict[str, Any]:
        return {"a": self.a_, "b": self.b_, "offset": self.offset_}

    def _from_dict(self, fitted: Mapping[str, Any]) -> None:
        self.a_, self.b_ = (number_between(fitted, each, 0, STEEPEST) for each in ("a", "b"))
        self.offset_ = number_between(fitted, "offset", -STEEPEST, STEEPEST)

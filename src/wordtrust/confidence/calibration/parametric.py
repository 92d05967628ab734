"""Calibrators with two or three parameters, a logistic curve through all of the data, and the fit behind them.

The logistic regression is fitted by Newton's method. Targets are Platt's: (N_right + 1) / (N_right + 2) and
1 / (N_wrong + 2) instead of 1 and 0. So there always is a finite best fit, also where one class is missing or the two
can be told apart without error.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...base.jit import compiled
from ...lattices.lattice import Flags
from .base import Calibrator, Groups, Ranges, Reals, clipped, sigmoid

WEIGHT, RISING = (-1e15, 1e15), (0.0, 1e15)  # the ranges of weights in a logistic fit
_MOST_STEPS = 100  # of Newton's method
_MANY = 1_000_000
_ENOUGH = 1e-12  # gain in nats a word that is worth another step


class Platt(Calibrator):
    """sigmoid(slope * logit + offset), with Platt's smoothed targets. Logits are clipped to those of 1e-7."""

    name = "platt"
    learnt: ClassVar[Ranges] = {"slope": WEIGHT, "offset": WEIGHT}

    def _fit(self, scores: Reals, correct: Flags, groups: Groups) -> None:  # noqa: ARG002
        self.slope_, self.offset_ = fit_platt(self._logits(scores), correct)

    def _predict(self, scores: Reals) -> Reals:
        return sigmoid(self.slope_ * clipped(self._logits(scores)) + self.offset_)


def fit_platt(logits: Reals, correct: Flags) -> tuple[float, float]:
    """Slope and offset of a Platt fit."""
    slope, offset = fit_logistic(np.stack([clipped(logits), np.ones(len(logits))], axis=1), correct)
    return float(slope), float(offset)


class Temperature(Calibrator):
    """sigmoid(logit / temperature): makes confidences softer or bolder. Logits are clipped as for Platt."""

    name = "temperature"
    learnt: ClassVar[Ranges] = {"scale": RISING}

    def _fit(self, scores: Reals, correct: Flags, groups: Groups) -> None:  # noqa: ARG002
        [scale] = fit_logistic(clipped(self._logits(scores))[:, np.newaxis], correct)
        self.scale_ = max(0.0, float(scale))  # 1 / temperature; scores that point the wrong way count for nothing

    def _predict(self, scores: Reals) -> Reals:
        return sigmoid(self.scale_ * clipped(self._logits(scores)))


class Beta(Calibrator):
    """sigmoid(a log p - b log(1 - p) + offset) with a, b of at least 0 (Kull, Silva Filho and Flach, 2017)."""

    name = "beta"
    learnt: ClassVar[Ranges] = {"a": RISING, "b": RISING, "offset": WEIGHT}

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


def fit_logistic(features: Reals, correct: Flags, penalty: Reals | None = None) -> Reals:
    """The weights of the columns of `features` with the largest likelihood; an intercept is a column of ones.

    With a `penalty`, one for each column, half of it times the square of the weight is taken off the likelihood.
    """
    words, size = features.shape
    right = int(np.count_nonzero(correct))
    targets = (right + 1) / (right + 2), 1 / (words - right + 2)
    gradient, hessian = np.zeros(size), np.zeros((size, size))
    if words > _MANY:  # begin near the end: a few steps over all words are enough
        every = words // (_MANY // 10)
        weights = fit_logistic(np.ascontiguousarray(features[::every]), correct[::every].copy(), penalty)
    else:
        weights = np.zeros(size)
    loss = _penalised(features, correct, targets, weights, penalty, gradient, hessian)
    for _ in range(_MOST_STEPS):
        # A column that adds nothing makes the Hessian singular; the ridge keeps the step finite.
        ridge = np.eye(size) * (1e-12 * np.trace(hessian) + 1e-300)
        step = np.linalg.solve(hessian + ridge, gradient)
        while True:
            next_weights = weights - step
            next_loss = _penalised(features, correct, targets, next_weights, penalty, gradient, hessian)
            if next_loss <= loss or not np.abs(step).max() > 1e-9:
                break
            step /= 2
        gain, weights = loss - next_loss, next_weights if next_loss <= loss else weights
        loss = min(next_loss, loss)
        if gain <= _ENOUGH * words:
            break
    return weights


def _penalised(
    features: Reals, correct: Flags, targets: tuple[float, float], weights: Reals, penalty: Reals | None,
    gradient: Reals, hessian: Reals,
) -> float:  # fmt: skip
    loss: float = _derivatives(features, correct, *targets, weights, gradient, hessian)
    if penalty is None:
        return loss
    gradient += penalty * weights
    hessian[np.diag_indices(len(weights))] += penalty
    return loss + float(penalty @ np.square(weights)) / 2


@compiled
def _derivatives(
    features: Reals, correct: Flags, target_right: float, target_wrong: float, weights: Reals, gradient: Reals,
    hessian: Reals,
) -> float:  # fmt: skip
    """The loss in nats; its first and second derivatives are written to `gradient` and `hessian`."""
    size = len(weights)
    gradient[:] = 0.0
    hessian[:] = 0.0
    loss = 0.0
    for word in range(len(features)):
        z = 0.0
        for j in range(size):
            z += weights[j] * features[word, j]
        target = target_right if correct[word] else target_wrong
        tail = np.exp(-abs(z))
        loss += np.log1p(tail) + max(z, 0.0) - target * z
        probability = 1 / (1 + tail) if z >= 0 else tail / (1 + tail)
        slope = tail / ((1 + tail) * (1 + tail))
        for j in range(size):
            gradient[j] += (probability - target) * features[word, j]
            for k in range(j + 1):
                hessian[j, k] += slope * features[word, j] * features[word, k]
    for j in range(size):
        for k in range(j):
            hessian[k, j] = hessian[j, k]
    return loss

"""Logistic regression by Newton's method, for a handful of features and any number of words.

Targets are Platt's: (N_right + 1) / (N_right + 2) and 1 / (N_wrong + 2) instead of 1 and 0. So there always is a
finite best fit, also where one class is missing or the two can be told apart without error.
"""

from __future__ import annotations

import numpy as np

from ...base.jit import compiled
from ...lattices.lattice import Flags
from .base import Reals

_STEPS = 100
_MANY = 1_000_000
_ENOUGH = 1e-12  # gain in nats a word that is worth another step


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
    for _ in range(_STEPS):
        # A column that adds nothing makes the Hessian singular; the ridge keeps the step finite.
        ridge = np.eye(size) * (1e-12 * np.trace(hessian) + 1e-300)
        step = np.linalg.solve(hessian + ridge, gradient)
        while True:
            tried = weights - step
            found = _penalised(features, correct, targets, tried, penalty, gradient, hessian)
            if found <= loss or not np.abs(step).max() > 1e-9:
                break
            step /= 2
        gain, loss, weights = loss - found, min(found, loss), tried if found <= loss else weights
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
        spread = tail / ((1 + tail) * (1 + tail))
        for j in range(size):
            gradient[j] += (probability - target) * features[word, j]
            for k in range(j + 1):
                hessian[j, k] += spread * features[word, j] * features[word, k]
    for j in range(size):
        for k in range(j):
            hessian[k, j] = hessian[j, k]
    return loss

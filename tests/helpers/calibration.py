"""What the tests of calibrators share: the kernel sum written out, and words with known probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]


def sigmoid(logits: Reals) -> Reals:
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-logits)))


def log_sum(logits: Reals, width: float, at: Reals) -> Reals:
    """log Σ_i L k(L (y_i - y)) for each y of `at`, term by term, in logs so that nothing underflows."""
    if not len(logits):
        return np.full(len(at), -np.inf)
    distance = np.abs(width * (logits[:, np.newaxis] - at))
    return np.asarray(np.logaddexp.reduce(np.log(width) - distance - 2 * np.log1p(np.exp(-distance)), axis=0))


def direct(logits: Reals, correct: Flags, width: float, at: Reals) -> Reals:
    """The paper's P(correct | y), by the sum over all words."""
    return sigmoid(log_sum(logits[correct], width, at) - log_sum(logits[~correct], width, at))


def with_prior(logits: Reals, correct: Flags, width: float, prior: float, platt: Reals, at: Reals) -> Reals:
    right, wrong = (np.exp(log_sum(logits[chosen], width, at)) for chosen in (correct, ~correct))
    return np.asarray((right + prior * platt) / (right + wrong + prior))


def words(truth: Callable[[Reals], Reals], size: int, seed: int = 0) -> tuple[Reals, Flags]:
    """Confidences and labels of words that are right with the probability `truth` says at their logit."""
    random = np.random.default_rng(seed)
    logits = random.normal(1.5, 2, size)
    return sigmoid(logits), random.random(size) < truth(logits)


def halved(logits: Reals) -> Reals:
    """Overconfident: the log-odds are half of what they claim, which all calibrators can learn."""
    return sigmoid(logits / 2)


def with_a_dip(logits: Reals) -> Reals:
    """Not monotone: words around a logit of 3 are much worse than those to either side."""
    return np.asarray(sigmoid(logits) * (1 - 0.8 * np.exp(-2 * np.square(logits - 3))))

"""Words with known probabilities: calibrators must find them, within what so many words can tell."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.calibration import Reals, halved, sigmoid, with_a_dip, words
from wordtrust.confidence.calibration import KernelCalibrator, make, names

pytestmark = pytest.mark.slow

SIZE = 100_000
GROUPS = 10


def excess(calibrated: Reals, truth: Reals, order: Reals) -> float:
    """The largest mean distance from the truth in a tenth of the words, in units of its sampling error."""
    worst = 0.0
    for tenth in np.array_split(np.argsort(order), GROUPS):
        error = np.sqrt(np.mean(truth[tenth] * (1 - truth[tenth])) / (SIZE / GROUPS))
        worst = max(worst, abs(np.mean(calibrated[tenth] - truth[tenth])) / error)
    return worst


def new_logits(seed: int) -> Reals:
    return np.random.default_rng(seed).normal(1.5, 2, SIZE)


@pytest.mark.parametrize("name", names())
def test_all_recover_a_monotone_truth(name: str) -> None:
    score, correct = words(halved, SIZE)
    logits = new_logits(1)
    calibrated = make(name).fit(score, correct).predict(sigmoid(logits))
    assert excess(calibrated, halved(logits), logits) < 4
    assert excess(sigmoid(logits), halved(logits), logits) > 20  # before
    assert np.sqrt(np.mean(np.square(calibrated - halved(logits)))) < (0.03 if name == "histogram" else 0.01)


def test_a_truth_that_is_not_monotone() -> None:
    score, correct = words(with_a_dip, SIZE)
    logits = new_logits(2)
    truth = with_a_dip(logits)
    off = {name: make(name).fit(score, correct).predict(sigmoid(logits)) - truth for name in names()}
    error = {name: float(np.sqrt(np.mean(np.square(distance)))) for name, distance in off.items()}
    assert error["kernel"] < 0.02
    assert min(error[name] for name in ("isotonic", "platt", "temperature", "beta")) > 0.1
    assert error["kernel"] < error["histogram"] / 2


def test_most_confidences_are_one() -> None:
    """As in Earnings-21: 78% of the words claim to be certain, and are right less often than that."""
    random = np.random.default_rng(0)
    score, correct = words(halved, SIZE)
    certain = random.random(SIZE) < 0.78
    score[certain], correct[certain] = 1, random.random(np.count_nonzero(certain)) < 0.93
    calibrator = KernelCalibrator().fit(score, correct)
    assert calibrator.predict([1.0])[0] == pytest.approx(0.93, abs=0.004)
    logits = np.random.default_rng(3).normal(1.5, 2, SIZE)
    off = calibrator.predict(sigmoid(logits)) - halved(logits)
    assert np.sqrt(np.mean(np.square(off))) < 0.02  # the many certain words do not pull the others


def test_more_words_come_closer() -> None:
    logits = new_logits(4)
    errors = []
    for size in (300, 3000, 30_000, 300_000):
        calibrated = KernelCalibrator().fit(*words(with_a_dip, size, seed=size)).predict(sigmoid(logits))
        errors.append(np.sqrt(np.mean(np.square(calibrated - with_a_dip(logits)))))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.01

"""The usual calibrators, against plain optimisers, scikit-learn and numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize  # type: ignore[import-untyped]
from sklearn.isotonic import IsotonicRegression

from tests.helpers.calibration import Flags, Reals, halved, sigmoid, with_a_dip, words
from wordtrust.base.errors import OptionError
from wordtrust.confidence.calibration import Beta, Histogram, Isotonic, Platt, Temperature, make, names

Bounds = tuple[float | None, float | None]

RIVALS = tuple(name for name in names() if name != "kernel")
MONOTONE = ("platt", "temperature", "isotonic", "beta")
SCORED = st.lists(st.tuples(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.9, 1.0])), st.booleans()), min_size=1)


def loss(weights: Reals, features: Reals, correct: Flags) -> float:
    """Cross entropy against Platt's targets."""
    right, wrong = np.count_nonzero(correct), np.count_nonzero(~correct)
    target = np.where(correct, (right + 1) / (right + 2), 1 / (wrong + 2))
    z = features @ weights
    return float(np.sum(np.logaddexp(0, z) - target * z))


def best(features: Reals, correct: Flags, bounds: Sequence[Bounds]) -> Any:
    start = np.zeros(features.shape[1])
    options = {"ftol": 1e-14, "gtol": 1e-10, "maxiter": 10_000}
    return minimize(loss, start, (features, correct), method="L-BFGS-B", bounds=bounds, options=options)


@pytest.mark.parametrize("seed", range(3))
def test_logistic_ones_are_the_best_fit(seed: int) -> None:
    score, correct = words(with_a_dip, 500, seed)
    score[:20] = [0, 1] * 10
    p = np.clip(score, 1e-7, 1 - 1e-7)
    logits, one = np.log(p) - np.log1p(-p), np.ones(len(p))
    platt, temperature = Platt().fit(score, correct), Temperature().fit(score, correct)
    beta = Beta().fit(score, correct)
    free: Bounds = (None, None)
    rising: Bounds = (0, None)
    for weights, columns, bounds in (
        ([platt.slope_, platt.offset_], [logits, one], [free, free]),
        ([temperature.scale_], [logits], [rising]),
        ([beta.a_, beta.b_, beta.offset_], [np.log(p), -np.log1p(-p), one], [rising, rising, free]),
    ):
        features = np.stack(columns, axis=1)
        wanted = best(features, correct, bounds)
        assert loss(np.array(weights), features, correct) <= wanted.fun + 1e-6
        assert sigmoid(features @ weights) == pytest.approx(sigmoid(features @ wanted.x), abs=1e-3)


def test_more_than_a_million_words() -> None:
    """They begin from a part of the words, and must end at the same place."""
    score, correct = words(halved, 1_200_000)
    calibrator = Platt().fit(score, correct)
    logits = np.clip(np.log(score) - np.log1p(-score), -16.1, 16.1)
    off = sigmoid(calibrator.slope_ * logits + calibrator.offset_) - correct
    assert [off.mean(), (off * logits).mean()] == pytest.approx([0, 0], abs=1e-5)  # where the derivative vanishes


def test_beta_never_falls() -> None:
    score = np.linspace(0.01, 0.99, 200)
    calibrator = Beta().fit(score, score < 0.5)
    assert min(calibrator.a_, calibrator.b_) == 0
    assert calibrator.predict([0.1, 0.9]) == pytest.approx([0.5, 0.5], abs=0.01)


@given(SCORED)
def test_isotonic_is_that_of_sklearn(drawn: list[tuple[float, bool]]) -> None:
    score, correct = map(np.array, zip(*drawn, strict=True))
    score = np.round(score, 9)  # scikit-learn takes scores for equal that are nearer than that
    isotonic = Isotonic().fit(score, correct)
    wanted = IsotonicRegression(out_of_bounds="clip").fit(
        np.append(score, [score.min(), score.max()]), np.append(correct, [1.0, 0.0])
    )
    assert isotonic.predict(score) == pytest.approx(wanted.predict(score), abs=1e-9)


def test_histogram_by_hand() -> None:
    score = [0.1, 0.2, 0.3, 0.4, 0.9, 0.9, 0.9, 0.9]
    calibrator = Histogram(bins=4).fit(score, [0, 0, 1, 0, 1, 1, 1, 0])
    assert calibrator.edges_ == pytest.approx([0.25, 0.65])  # the four words of 0.9 stay together
    assert calibrator.predict([0.0, 0.24, 0.26, 0.6, 0.7, 1.0]) == pytest.approx(
        [1 / 4, 1 / 4, 1 / 2, 1 / 2, 2 / 3, 2 / 3]
    )


def test_histogram_tells_neighbouring_floats_apart() -> None:
    low, high = 0.5, float(np.nextafter(0.5, 1))
    calibrator = Histogram(bins=2).fit([low] * 50 + [high] * 50, [0] * 50 + [1] * 50)
    assert calibrator.predict([low, high]) == pytest.approx([1 / 52, 51 / 52])


@given(st.sampled_from(RIVALS), SCORED)
def test_probabilities_whatever_the_words_and_monotone_ones_are_monotone(
    name: str, drawn: list[tuple[float, bool]]
) -> None:
    score, correct = zip(*drawn, strict=True)
    calibrated = make(name).fit(score, correct).predict(sorted([1e-320, *score, 1 - 1e-16, *np.linspace(0, 1, 200)]))
    assert ((calibrated >= 0) & (calibrated <= 1)).all()
    steps = np.diff(calibrated)
    if name in MONOTONE:
        assert (steps >= -1e-12).all() or (name == "platt" and (steps <= 1e-12).all())  # its slope may be negative


@pytest.mark.parametrize("label", [True, False])
@pytest.mark.parametrize("name", RIVALS)
def test_one_class_is_missing(name: str, label: bool) -> None:
    calibrated = make(name).fit(np.linspace(0.55, 0.95, 60), np.full(60, label)).predict(np.linspace(0.55, 0.95, 60))
    assert ((calibrated > 0) & (calibrated < 1)).all()  # sixty words prove nothing for sure
    if name != "temperature" or label:  # no temperature turns confidences over 0.5 into less
        assert (np.abs(calibrated - float(label)) < 0.45).all()


@pytest.mark.parametrize("name", RIVALS)
def test_logits_are_taken_too(name: str) -> None:
    score, correct = words(halved, 3000)
    score[:100] = [0, 1] * 50
    with np.errstate(divide="ignore"):
        logits = np.log(score) - np.log1p(-score)
    of_logits = make(name, domain="logit").fit(logits, correct).predict(logits)
    of_scores = make(name).fit(score, correct).predict(score)
    assert np.abs(of_logits - of_scores).max() < 1e-6


@pytest.mark.parametrize("bins", [0, 2.5, True, None])
def test_bad_bins(bins: object) -> None:
    with pytest.raises(OptionError, match="bins is"):
        make("histogram", bins=bins).fit([0.5], [1])

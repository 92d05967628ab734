"""The kernel calibrator against the sum it stands for, written out."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.calibration import Flags, Reals, direct, halved, sigmoid, with_a_dip, with_prior, words
from wordtrust.base.errors import OptionError
from wordtrust.base.folds import balanced_folds
from wordtrust.confidence.calibration import KernelCalibrator, Platt
from wordtrust.confidence.calibration.kernel_choice import FOLDS, PRIORS, WIDTHS, choose

pytestmark = pytest.mark.slow

# Wide and narrow scores, and few values that occur again and again.
LOGITS = st.one_of(st.floats(-700, 700), st.floats(-4, 4), st.sampled_from([-2.0, 0.0, 0.5, 3.0, 3.0001, 17.0]))
WORDS = st.lists(st.tuples(LOGITS, st.booleans()), min_size=1, max_size=60)


def places(logits: Reals, width: float, seed: int = 0) -> Reals:
    """Where to compare: at the words, near them, between them, and far outside."""
    random = np.random.default_rng(seed)
    near = logits + random.normal(0, 1 / width, len(logits))
    between = random.uniform(logits.min() - 40 / width, logits.max() + 40 / width, 300)
    return np.concatenate([logits, near, between, [logits.min() - 1e4, logits.max() + 1e4, 0.0]])


def assert_exact(logits: Reals, correct: Flags, width: float) -> None:
    at = places(logits, width)
    calibrated = KernelCalibrator(width, prior=0, domain="logit").fit(logits, correct).predict(at)
    assert np.abs(calibrated - direct(logits, correct, width, at)).max() < 1e-6


@given(WORDS, st.floats(0.05, 8))
@settings(max_examples=60)
def test_is_the_sum_of_the_paper(drawn: list[tuple[float, bool]], width: float) -> None:
    logits, correct = map(np.array, zip(*drawn, strict=True))
    assert_exact(logits, correct, width)


@pytest.mark.parametrize("width", [0.01, 1.8, 20.0])
def test_is_the_sum_for_clusters_far_apart(width: float) -> None:
    """Gaps in which all kernels underflow, single words beside thousands, right and wrong in turns."""
    centres = np.array([-700.0, -699.5, -30.0, -1.0, 0.0, 1e-9, 2.0, 2.5, 300.0, 700.0])
    logits = np.repeat(centres, [1, 1, 900, 3, 1, 1, 1000, 1, 1, 500])
    assert_exact(logits, np.arange(len(logits)) % 3 > 0, width)
    assert_exact(centres, np.arange(len(centres)) % 2 > 0, width)


def test_is_the_sum_for_many_words() -> None:
    score, correct = words(with_a_dip, 200_000)
    logits = np.log(score) - np.log1p(-score)
    at = np.random.default_rng(1).uniform(-12, 14, 150)
    calibrated = KernelCalibrator(L=5, prior=0).fit(score, correct).predict(sigmoid(at))
    assert np.abs(calibrated - direct(logits, correct, 5.0, at)).max() < 1e-6


def test_by_hand() -> None:
    """One right word at 0, one wrong at 1, L = 1, asked at 0: k(0) = 1/4 against k(1) = e / (1 + e)^2."""
    calibrator = KernelCalibrator(L=1, prior=0, domain="logit").fit([0, 1], [True, False])
    assert calibrator.predict([0.0])[0] == pytest.approx(0.25 / (0.25 + np.e / (1 + np.e) ** 2), abs=1e-6)
    assert calibrator.predict([0.5])[0] == pytest.approx(0.5, abs=1e-6)
    # Far above both, e^-(y - 0) against e^-(y - 1).
    assert calibrator.predict([1e6])[0] == pytest.approx(1 / (1 + np.e), abs=1e-6)


@given(WORDS, st.floats(0.1, 4), st.floats(1e-6, 1e6))
@settings(max_examples=60)
def test_prior_is_the_formula(drawn: list[tuple[float, bool]], width: float, prior: float) -> None:
    logits, correct = map(np.array, zip(*drawn, strict=True))
    at = places(logits, width)
    platt = Platt("logit").fit(logits, correct).predict(at)
    calibrated = KernelCalibrator(width, prior, "logit").fit(logits, correct).predict(at)
    assert np.abs(calibrated - with_prior(logits, correct, width, prior, platt, at)).max() < 1e-6


def test_a_large_prior_is_platt_and_a_thin_tail_too() -> None:
    score, correct = words(halved, 2000)
    like_platt = KernelCalibrator(4, 1e12).fit(score, correct)
    assert like_platt.predict(score) == pytest.approx(Platt().fit(score, correct).predict(score), abs=1e-6)
    # One wrong word above all right ones turns 1.00 into almost nothing without a prior.
    logits = np.append(np.linspace(0, 5, 500), 8.0)
    correct = np.append(np.ones(500, bool), False)
    bare, pulled = (KernelCalibrator(4, prior, "logit").fit(logits, correct).predict([8.0])[0] for prior in (0, 10))
    assert bare < 0.01
    assert pulled > 0.5


def test_zero_and_one_have_rates_of_their_own() -> None:
    random = np.random.default_rng(0)
    score, correct = words(halved, 4000)
    score = np.concatenate([score, np.ones(3000), np.zeros(100)])
    correct = np.concatenate([correct, random.random(3000) < 0.9, random.random(100) < 0.3])
    calibrator = KernelCalibrator(2, 0).fit(score, correct)
    inside = (score > 0) & (score < 1)
    same = KernelCalibrator(2, 0).fit(score[inside], correct[inside])
    assert calibrator.predict(score[inside]) == pytest.approx(same.predict(score[inside]), abs=1e-12)
    at_ends = [same.predict([score[inside].min()])[0], same.predict([score[inside].max()])[0]]
    for value, end in zip([0.0, 1.0], at_ends, strict=True):
        there = correct[score == value]
        assert calibrator.predict([value])[0] == pytest.approx((there.sum() + end) / (len(there) + 1), abs=1e-12)
        # Never seen: as at the nearest score that was.
        assert same.predict([value])[0] == pytest.approx(end, abs=1e-12)


def test_infinite_logits_are_zero_and_one() -> None:
    score = np.array([0, 0.2, 0.5, 0.9, 1, 1])
    correct = [0, 1, 0, 1, 1, 0]
    with np.errstate(divide="ignore"):
        logits = np.log(score) - np.log1p(-score)
    of_logits = KernelCalibrator(domain="logit").fit(logits, correct).predict(logits)
    assert np.array_equal(of_logits, KernelCalibrator().fit(score, correct).predict(score))


@pytest.mark.parametrize("prior", [0, None])
def test_only_zeros_and_ones(prior: float | None) -> None:
    calibrator = KernelCalibrator(prior=prior).fit([1, 1, 1, 0], [1, 1, 0, 0])
    share = 3 / 6  # of right words, smoothed: what is known about all other scores
    assert calibrator.predict([0, 0.5, 1]) == pytest.approx([share / 2, share, (2 + share) / 4])


@pytest.mark.parametrize("label", [True, False])
def test_one_class_is_missing(label: bool) -> None:
    score = np.linspace(0.1, 0.9, 50)
    correct = np.full(50, label)
    at = np.array([0, 1e-300, 0.05, 0.5, 0.95, 1 - 1e-16, 1])
    inside = at[1:-1]
    assert (KernelCalibrator(prior=0).fit(score, correct).predict(inside) == float(label)).all()
    calibrated = KernelCalibrator().fit(score, correct).predict(at)
    assert (np.abs(calibrated - float(label)) < 0.1).all()
    assert ((calibrated > 0) & (calibrated < 1)).all()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_few_words(size: int) -> None:
    calibrator = KernelCalibrator().fit(np.linspace(0.3, 0.9, size), np.arange(size) % 2)
    calibrated = calibrator.predict(np.linspace(0, 1, 101))
    assert ((calibrated > 0) & (calibrated < 1)).all()


def test_is_small_and_does_not_hold_the_words() -> None:
    score, correct = words(halved, 100_000)
    assert len(json.dumps(KernelCalibrator(1.8, 0).fit(score, correct).to_dict())) < 5_000
    assert len(json.dumps(KernelCalibrator().fit(score, correct).to_dict())) < 10_000


def likelihood(logits: Reals, correct: Flags, width: float, prior: float) -> float:
    """Of held-out words, with the sums written out."""
    fold = balanced_folds(len(logits), None, FOLDS)
    total = 0.0
    for number in range(FOLDS):
        out = fold == number
        platt = Platt("logit").fit(logits[~out], correct[~out]).predict(logits[out])
        probability = with_prior(logits[~out], correct[~out], width, prior, platt, logits[out])
        total += np.log(np.clip(np.where(correct[out], probability, 1 - probability), 1e-7, 1)).sum()
    return total


@pytest.mark.parametrize("seed", range(3))
def test_choice_has_the_best_likelihood(seed: int) -> None:
    score, correct = words(with_a_dip, 400, seed)
    logits = np.log(score) - np.log1p(-score)
    width, prior = choose(logits, correct, None, None, None)
    spread = np.std(logits)
    best = max(likelihood(logits, correct, w / spread, p) for w in WIDTHS[::2] for p in PRIORS[::2])
    assert likelihood(logits, correct, width, prior) > best - 1.5  # half a nat of indifference, and the bins


def test_choice_keeps_what_is_given() -> None:
    score, correct = words(halved, 500)
    assert KernelCalibrator(3, None).fit(score, correct).L_ == 3
    only_prior = KernelCalibrator(None, 7).fit(score, correct)
    assert only_prior.prior_ == 7
    assert only_prior.L is None


def test_speakers_are_held_out_whole() -> None:
    """Every speaker says one thing over and over: only whole new speakers show that a single score means nothing."""
    random = np.random.default_rng(0)
    speaker = np.repeat(np.arange(60), 20)
    score, correct = random.random(60)[speaker], (random.random(60) < 0.7)[speaker]
    by_word, by_speaker = (KernelCalibrator().fit(score, correct, groups) for groups in (None, speaker))
    assert by_speaker.L_ < by_word.L_ / 10
    assert np.std(by_speaker.predict(score)) < np.std(by_word.predict(score)) / 2


@given(st.lists(st.integers(0, 9), min_size=1, max_size=80), st.integers(2, 6))
def test_folds(groups: list[int], folds: int) -> None:
    fold_of_word = balanced_folds(len(groups), np.array(groups), folds)
    assert set(fold_of_word) == set(range(min(folds, len(set(groups)))))
    for group in set(groups):
        assert len({int(fold) for fold, name in zip(fold_of_word, groups, strict=True) if name == group}) == 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"L": 0}, "L is 0"),
        ({"L": float("nan")}, "L is nan"),
        ({"L": "wide"}, "L is 'wide'"),
        ({"prior": -1}, "prior is -1"),
        ({"prior": float("inf")}, "prior is inf"),
        ({"domain": "percent"}, "domain is 'percent'"),
    ],
)
def test_bad_parameters(params: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        KernelCalibrator().set_params(**params).fit([0.5], [1])

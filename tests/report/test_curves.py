"""The numbers behind the plots of the report, against hand-worked cases and other implementations."""

from __future__ import annotations

from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as oracle

from wordtrust.base.number_format import rounded_up
from wordtrust.evaluation.metrics import Scores, review_curve
from wordtrust.report.chart import fitted_axis, round_step
from wordtrust.report.curves import Sweep, deviate, histograms, reliability, thin


def drawn(words: int, seed: int, steps: int = 0) -> Scores:
    """Words whose scores are true; in so many steps, so that many are equal."""
    random = np.random.default_rng(seed)
    score = random.random(words)
    score = np.round(score * steps) / steps if steps else score
    return Scores.of(score, random.random(words) < score, [f"speaker {n % 7}" for n in range(words)])


def sweep(scores: Scores) -> Sweep:
    found = Sweep.of(scores)
    assert found is not None
    return found


populations = st.builds(drawn, st.integers(30, 200), st.integers(0, 9999), st.sampled_from([0, 1, 3, 10])).filter(
    lambda scores: 0 < scores.correct.sum() < len(scores)
)


@given(populations)
def test_the_area_below_the_det_curve_is_that_of_the_metric(scores: Scores) -> None:
    accepted, rejected = sweep(scores).rates()
    area = float(np.trapezoid((1 - rejected)[::-1], accepted[::-1]))
    assert area == pytest.approx(scores.metrics().auc, abs=1e-12)


@given(populations)
def test_the_det_curve_goes_through_the_eer(scores: Scores) -> None:
    accepted, rejected = sweep(scores).rates()
    crossing = np.interp(0.0, rejected - accepted, rejected)
    assert crossing == pytest.approx(scores.metrics().eer, abs=1e-9)


@given(populations)
def test_the_review_curve_is_that_of_the_metrics(scores: Scores) -> None:
    expected = review_curve(scores)
    assert expected is not None
    np.testing.assert_allclose(np.interp(expected[0], *sweep(scores).review()), expected[1], atol=1e-12)


@pytest.mark.parametrize("of_wrong", [True, False])
def test_precision_and_recall_are_those_of_sklearn(of_wrong: bool) -> None:
    scores = drawn(500, 3)
    found = sweep(scores).finding_wrong() if of_wrong else sweep(scores).accepting()
    labels, ranks = (~scores.correct, -scores.score) if of_wrong else (scores.correct, scores.score)
    precision, recall, _ = oracle.precision_recall_curve(labels, ranks)
    expected = {(round(r, 9), round(p, 9)) for r, p in zip(recall, precision, strict=True)}
    points = [(round(r, 9), round(p, 9)) for r, p in zip(*found, strict=True)]
    assert sum(point in expected for point in points) >= 500 - 21  # all but those of fewer than 20 words


def test_precision_of_a_handful_of_words_is_not_drawn() -> None:
    scores = Scores.of(np.arange(100) / 100, np.arange(100) > 0)  # the least trusted word is the only wrong one
    recall, precision = sweep(scores).finding_wrong()
    assert precision[0] == pytest.approx(1 / 5)  # a twentieth of the words at least
    assert (recall == 1).all()


def test_equal_scores_are_one_straight_piece() -> None:
    """Half of the words checked, in any order, find half of the errors."""
    found = sweep(Scores.of([0.5] * 8, [True] * 6 + [False] * 2))
    np.testing.assert_allclose(*found.review())
    recall, precision = found.finding_wrong()
    assert precision == pytest.approx(2 / 8)
    assert recall[-1] == 1


def test_where_all_are_right_there_is_no_curve() -> None:
    assert Sweep.of(Scores.of([0.5, 0.6], [True, True])) is None
    assert Sweep.of(Scores()) is None


def distance(point: np.ndarray, line: np.ndarray) -> float:
    """From a point to the nearest place of a polyline, written out."""
    best = np.inf
    for start, end in pairwise(line):
        along = end - start
        length = along @ along
        where = min(1.0, max(0.0, float((point - start) @ along / length))) if length else 0.0
        best = min(best, float(np.linalg.norm(point - start - where * along)))
    return best


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=60))
def test_thinning_stays_within_its_tolerance(points: list[tuple[float, float]]) -> None:
    x, y = np.array(sorted(points)).T
    thin_x, thin_y = thin(x, y, 0.02)
    spans = [float(np.ptp(each)) or 1.0 for each in (x, y)]
    line = np.stack([thin_x / spans[0], thin_y / spans[1]], axis=1)
    for point in np.stack([x / spans[0], y / spans[1]], axis=1):
        assert distance(point, line) <= 0.02 + 1e-9
    assert (thin_x[0], thin_y[0], thin_x[-1], thin_y[-1]) == (x[0], y[0], x[-1], y[-1])


def test_thinning_makes_a_long_curve_short() -> None:
    x, y = sweep(drawn(200_000, 1)).review()
    thin_x, thin_y = thin(x, y)
    assert len(x) >= 200_000
    assert len(thin_x) < 500
    assert np.abs(np.interp(x, thin_x, thin_y) - y).max() < 2e-3


def test_reliability_by_hand() -> None:
    scores = Scores.of([0.05, 0.95, 1.0, 0.97, 0.55, 0.5], [False, True, True, False, True, False], list("abcabc"))
    low, middle, high = reliability(scores, 10)
    assert (low.low, low.high, low.words, low.right) == (0.0, 0.1, 1, 0)
    assert low.interval is None  # one speaker says nothing of others
    assert (middle.words, middle.share) == (2, 0.5)
    assert middle.claimed == pytest.approx(0.525)
    assert (high.low, high.high, high.words, high.right) == (0.9, 1.0, 3, 2)
    assert high.claimed == pytest.approx((0.95 + 1.0 + 0.97) / 3)


def wilson(right: float, words: float) -> tuple[float, float]:
    z, share = 1.96, right / words
    middle, half = share + z * z / 2 / words, z * (share * (1 - share) / words + z * z / 4 / words**2) ** 0.5
    return (middle - half) / (1 + z * z / words), (middle + half) / (1 + z * z / words)


def test_one_word_a_speaker_has_wilsons_interval() -> None:
    correct = np.arange(2000) % 5 > 0
    (found,) = reliability(Scores.of(np.full(2000, 0.75), correct, [f"s{n}" for n in range(2000)]))
    assert found.interval == pytest.approx(wilson(1600, 2000), rel=1e-3)


def test_words_of_a_speaker_that_are_all_alike_count_once() -> None:
    correct = np.repeat(np.arange(200) % 5 > 0, 10)
    (found,) = reliability(Scores.of(np.full(2000, 0.75), correct, [f"s{n // 10}" for n in range(2000)]))
    assert found.interval == pytest.approx(wilson(160, 200), rel=0.01)


def test_no_wrong_word_is_no_proof() -> None:
    (found,) = reliability(Scores.of([0.95] * 4, [True] * 4, list("abcd")))
    assert found.interval == pytest.approx(wilson(4, 4))
    assert wilson(4, 4)[0] < 0.55


def test_histograms_by_hand() -> None:
    right, wrong = histograms(Scores.of([0.0, 0.24, 0.25, 0.99, 1.0], [True, False, False, True, True]), 4)
    assert right.tolist() == [1, 0, 0, 2]
    assert wrong.tolist() == [1, 1, 0, 0]


def test_normal_deviates() -> None:
    rates = np.array([1e-4, 0.001, 0.02, 0.2, 0.5, 0.7, 0.95, 0.9999])
    np.testing.assert_allclose(deviate(rates), [NormalDist().inv_cdf(rate) for rate in rates], atol=5e-4)
    assert np.isfinite(deviate(np.array([0.0, 1.0]))).all()


@pytest.mark.parametrize(
    ("rough", "step"), [(0.9, 1), (1, 1), (1.1, 2), (3, 5), (0.021, 0.05), (60, 100), (1e-9, 1e-9)]
)
def test_steps_are_round(rough: float, step: float) -> None:
    assert round_step(rough) == pytest.approx(step)


@given(st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 6)), min_size=1, max_size=5))
def test_an_axis_holds_its_values(values: list[float]) -> None:
    axis = fitted_axis("x", np.array(values))
    assert axis.low < min(values) <= max(values) < axis.high
    assert 1 <= len(axis.ticks) <= 12
    assert all(axis.low - 1e-9 <= tick <= axis.high + 1e-9 for tick, _ in axis.ticks)


@pytest.mark.parametrize(("threshold", "shown"), [(0.9, "0.900"), (0.8941, "0.895"), (0.0, "0.000"), (1.0, "1.000")])
def test_a_threshold_is_never_shown_lower_than_it_is(threshold: float, shown: str) -> None:
    assert rounded_up(threshold) == shown

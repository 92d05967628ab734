"""Operating points, against plain loops over thresholds and over words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordtrust as wt
from wordtrust.base.errors import OptionError
from wordtrust.evaluation.metrics import OperatingPoint, Scores, errors_caught, operating_point, review_curve

words = st.lists(st.tuples(st.integers(0, 20).map(lambda k: k / 20), st.booleans()), min_size=1, max_size=40)


def population(rows: list[tuple[float, bool]]) -> Scores:
    return Scores.of([row[0] for row in rows], [row[1] for row in rows])


@given(words, st.sampled_from([0.5, 0.55, 0.75, 0.9, 0.98, 1.0]))
def test_the_lowest_threshold_that_is_good_enough(rows: list[tuple[float, bool]], precision: float) -> None:
    good = []
    for threshold in {score for score, _ in rows}:
        accepted = [correct for score, correct in rows if score >= threshold]
        if sum(accepted) * 100 >= round(precision * 100) * len(accepted):
            good.append(threshold)
    point = operating_point(population(rows), precision)
    assert (point.threshold if point else None) == min(good, default=None)


def test_what_an_operating_point_says() -> None:
    rows = [(0.9, True), (0.8, True), (0.7, False), (0.6, True), (0.6, True), (0.1, False), (0.1, True), (0.0, False)]
    assert operating_point(population(rows), 0.8) == OperatingPoint(
        threshold=0.6, precision=0.8, accepted=5 / 8, correct_accepted=4 / 5, errors_rejected=1 - 1 / 3
    )
    assert operating_point(population([(0.3, True)]), 0.98) == OperatingPoint(0.3, 1.0, 1.0, 1.0, None)


def test_no_threshold_is_good_enough() -> None:
    assert operating_point(population([(1.0, False), (1.0, True)])) is None
    assert operating_point(Scores()) is None


@given(words.filter(lambda rows: not all(correct for _, correct in rows)), st.integers(0, 40))
def test_errors_caught_is_what_reviewers_find_on_average(rows: list[tuple[float, bool]], reviewed: int) -> None:
    """A word at a time, least trusted first; of tied words each one has the same chance to be next."""
    left, found = float(min(reviewed, len(rows))), 0.0
    for value in sorted({score for score, _ in rows}):
        tied = [correct for score, correct in rows if score == value]
        taken = min(left, len(tied))
        found += taken * tied.count(False) / len(tied)
        left -= taken
    wanted = found / sum(not correct for _, correct in rows)
    share = min(reviewed, len(rows)) / len(rows)
    assert errors_caught(population(rows), share) == pytest.approx(wanted, abs=1e-9)


@given(words.filter(lambda rows: not all(correct for _, correct in rows)))
def test_the_review_curve_joins_these_points(rows: list[tuple[float, bool]]) -> None:
    curve = review_curve(population(rows), points=11)
    assert curve is not None
    shares, found = curve
    assert shares == pytest.approx(np.arange(11) / 10)
    assert found == pytest.approx([errors_caught(population(rows), share) for share in shares], abs=1e-9)
    assert found[0] == 0
    assert found[-1] == pytest.approx(1)
    assert population(rows).metrics().errors_caught == pytest.approx(found[1])


def test_the_review_curve_is_in_percent() -> None:
    """Of 200 words, the two of the lowest score are one percent, and all errors are there."""
    curve = review_curve(population([(0.1, False), (0.1, True), *[(0.9, True)] * 198]))
    assert curve is not None
    assert curve[0] == pytest.approx(np.arange(101) / 100)
    assert curve[1] == pytest.approx([0.0] + [1.0] * 100)


def test_nothing_to_catch() -> None:
    right = population([(0.5, True)])
    assert errors_caught(right) is None
    assert review_curve(right) is None
    assert errors_caught(Scores()) is None


def test_options_out_of_range() -> None:
    with pytest.raises(OptionError, match="the precision is 98"):
        operating_point(Scores(), 98)
    with pytest.raises(OptionError, match="the share to review is 10"):
        errors_caught(Scores(), 10)
    for share in (-0.1, 1.1):
        with pytest.raises(OptionError, match=f"the share to review is {share}"):
            errors_caught(Scores(), share)


def test_thresholds_as_json() -> None:
    """100 words; those of the five lowest scores are wrong, and two of the ten highest."""
    score = np.arange(100) / 100
    correct = (np.arange(100) >= 5) & ~np.isin(np.arange(100), [95, 98])
    found = wt.threshold(Scores.of(score, correct), 0.9)
    about = found.to_dict()
    assert found.words == 100
    assert about["on_these_words"]["threshold"] == 0.0
    assert about["errors_caught"] == {key: pytest.approx(5 / 7) for key in ("0.05", "0.1", "0.2", "0.3")}
    assert "too few" in about["on_new_speakers"]["reason"]
    none = wt.threshold(Scores.of([0.5], [False]), 0.9).to_dict()
    assert none["on_these_words"] is None
    assert none["errors_caught"]["0.3"] == pytest.approx(0.3)

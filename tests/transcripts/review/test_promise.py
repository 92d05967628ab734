"""The promise against a second library, against drawing, and as a person expects it to move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gamma, nbinom  # type: ignore[import-untyped]

from wordtrust.transcripts.review.promise import LIMIT, STRENGTH, WEIGHT, Belief, Evidence, most_errors

expected = st.floats(0, 500)
found = st.integers(0, 500)
left = st.floats(0, 2000)
allowed = st.integers(0, 800)


def believed(expected: float, found: float) -> Belief:
    return Belief.after(Evidence(expected, found))


@given(expected, found, left, allowed)
def test_as_the_negative_binomial_distribution_of_scipy(expected: float, found: int, left: float, most: int) -> None:
    weight = WEIGHT / (1 + WEIGHT * expected / LIMIT)
    shape, rate = STRENGTH + weight * found, STRENGTH + weight * expected
    oracle = nbinom.cdf(most, shape, rate / (rate + left))
    assert believed(expected, found).promise(left, most) == pytest.approx(float(oracle), abs=1e-9)


def test_as_drawn() -> None:
    random = np.random.default_rng(0)
    belief = believed(20.0, 30)
    factors = random.gamma(belief.shape, 1 / belief.rate, 200_000)
    few = (random.poisson(factors * 12.0) <= 20).mean()
    assert belief.promise(12.0, 20) == pytest.approx(few, abs=0.005)
    assert belief.factor == pytest.approx(factors.mean(), abs=0.01)


@given(expected, found, left, allowed, st.floats(0, 50), st.integers(1, 50))
def test_right_words_raise_it_and_wrong_ones_lower_it(
    expected: float, found: int, left: float, most: int, more: float, wrong: int
) -> None:
    promise = believed(expected, found).promise(left, most)
    assert believed(expected + more, found).promise(left, most) >= promise - 1e-9
    assert believed(expected, found + wrong).promise(left, most) <= promise + 1e-9
    assert believed(expected, found).promise(left + more, most) <= promise + 1e-9
    assert believed(expected, found).promise(left, most + wrong) >= promise - 1e-9


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(0, 5)), max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_verdicts_does_not_matter(verdicts: list[tuple[float, int]], random: object) -> None:
    shuffled = list(verdicts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    totals = [sum((Evidence(*each) for each in listed), Evidence()) for listed in (verdicts, shuffled)]
    promises = [Belief.after(total).promise(7.0, 9) for total in totals]
    assert promises[0] == pytest.approx(promises[1], abs=1e-9)


def test_the_limit_of_what_doubtful_words_say_about_the_rest() -> None:
    assert believed(1e9, 1e9).shape == pytest.approx(STRENGTH + LIMIT)
    assert believed(1e9, 1e9).factor == pytest.approx(1.0)


def test_nothing_left_and_nothing_allowed() -> None:
    assert Belief().promise(0.0, 0) == 1.0
    assert Belief().promise(5.0, -1) == 0.0
    assert Belief().promise(1e6, 10) == pytest.approx(0.0, abs=1e-9)
    assert 0.0 < Belief().promise(0.5, 0) < 1.0


def test_quantiles_of_the_factor() -> None:
    belief = believed(30.0, 40)
    for deviate, share in ((-1.2816, 0.1), (0.0, 0.5), (1.2816, 0.9)):
        assert belief.quantile(deviate) == pytest.approx(
            float(gamma.ppf(share, belief.shape, scale=1 / belief.rate)), rel=0.01
        )


def test_most_errors() -> None:
    assert [most_errors(0.02, words) for words in (0, 49, 50, 100, 150, 1000)] == [0, 0, 1, 2, 3, 20]
    assert most_errors(0.07, 100) == 7  # 0.07 * 100 is a little more than 7, 0.29 * 100 a little less than 29
    assert most_errors(0.29, 100) == 29

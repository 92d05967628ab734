"""Intervals and paired tests, against naive loops that really copy the words of every speaker drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtrust.base.errors import InputError
from wordtrust.evaluation.metrics import Scores, SpeakerErrors, compare, intervals
from wordtrust.evaluation.metrics.resample import speaker_draws
from wordtrust.evaluation.metrics.scores import METRICS

SPEAKERS = 12


def scores(seed: int, size: int = 300, better: float = 0.0, speakers: int = SPEAKERS) -> Scores:
    """Made-up words of speakers who are not equally easy to recognize; ties included."""
    random = np.random.default_rng(seed)
    speaker = random.integers(0, speakers, size)
    ease = random.normal(1, 1, speakers)[speaker]
    correct = random.random(size) < 1 / (1 + np.exp(-ease))
    logit = (1 + better) * np.where(correct, 1.5, -0.5) + random.normal(size=size)
    score = np.round(1 / (1 + np.exp(-logit)), 2)
    return Scores.of(score, correct, [f"s{number:03d}" for number in speaker])


def errors(seed: int, rate: float = 0.2, speakers: int = SPEAKERS) -> SpeakerErrors:
    random = np.random.default_rng(seed)
    wrong = random.binomial(50, rate, speakers)
    inserted = random.binomial(10, rate, speakers)
    counts = np.stack([50 - wrong, wrong, np.zeros_like(wrong), inserted], axis=1)
    return SpeakerErrors(tuple(f"s{number:03d}" for number in range(speakers)), counts)


def draws(speakers: int, replicates: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    return np.concatenate(list(speaker_draws(speakers, replicates, np.random.default_rng(seed))))


def naive(measured: Scores, weights: np.ndarray[tuple[int], np.dtype[np.int32]]) -> dict[str, float]:
    """Copy every word as often as its speaker is drawn, then measure."""
    copies = weights[measured.speaker]
    return Scores.of(np.repeat(measured.score, copies), np.repeat(measured.correct, copies)).metrics().to_dict()


@given(st.lists(st.integers(0, 3), min_size=SPEAKERS, max_size=SPEAKERS))
def test_weights_are_copies(weights: list[int]) -> None:
    measured = scores(0, size=60).among(tuple(f"s{number:03d}" for number in range(SPEAKERS)))
    row = np.array(weights, np.int32)
    values, wanted = measured.values(row[np.newaxis]), naive(measured, row)
    for name in METRICS:
        assert values[name][0] == pytest.approx(wanted.get(name, np.nan), abs=1e-9, nan_ok=True)


def test_intervals_are_those_of_a_loop() -> None:
    measured = scores(1)
    weights = draws(len(measured.speakers), 50, seed=7)
    rows = [naive(measured, row) for row in weights]
    found = intervals(measured, replicates=50, level=0.9, seed=7)
    assert set(found) == set(METRICS)
    for name, interval in found.items():
        low, high = np.quantile([row[name] for row in rows], [0.05, 0.95])
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-9)
        assert interval.value == pytest.approx(getattr(measured.metrics(), name), abs=1e-12)
        assert (interval.level, interval.replicates, interval.speakers) == (0.9, 50, SPEAKERS)


def test_word_error_rate_by_a_loop() -> None:
    measured = errors(2)
    rates = []
    for row in draws(SPEAKERS, 40, seed=3):
        hits, substitutions, deletions, insertions = sum(
            times * counts for times, counts in zip(row, measured.counts, strict=True)
        )
        rates.append((substitutions + deletions + insertions) / (hits + substitutions + deletions))
    interval = intervals(measured, replicates=40, seed=3)["wer"]
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(rates, [0.025, 0.975])))
    assert interval.value == measured.total.wer


def test_draws() -> None:
    weights = draws(20, 2000, seed=0)
    assert weights.shape == (2000, 20)
    assert (weights.sum(axis=1) == 20).all()
    assert weights.mean(axis=0) == pytest.approx(np.ones(20), abs=0.1)
    assert weights.var() == pytest.approx(1 - 1 / 20, abs=0.05)  # of a binomial variable


def test_draws_some_at_a_time_are_the_same() -> None:
    some = np.concatenate(list(speaker_draws(9, 31, np.random.default_rng(5), rows=2)))
    assert np.array_equal(some, draws(9, 31, seed=5))


def test_the_seed_decides() -> None:
    measured = scores(4)
    assert intervals(measured, seed=1) == intervals(measured, seed=1)
    assert intervals(measured, seed=1) != intervals(measured, seed=2)


def test_shards_give_the_interval_of_the_whole() -> None:
    first, second = scores(5), scores(6, speakers=20)
    one, other = intervals(first + second, replicates=60), intervals(second + first, replicates=60)
    for name in METRICS:
        assert one[name].low == pytest.approx(other[name].low, abs=1e-12)


def test_speakers_give_wider_intervals_than_words() -> None:
    measured = scores(7, size=2000)
    by_word = Scores.of(measured.score, measured.correct, [str(number) for number in range(2000)])
    wide, narrow = (intervals(each, replicates=200)["brier"] for each in (measured, by_word))
    assert wide.low is not None
    assert wide.high is not None
    assert narrow.low is not None
    assert narrow.high is not None
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_one_speaker_has_no_interval() -> None:
    alone = intervals(Scores.of([0.1, 0.9], [0, 1]))["auc"]
    assert (alone.value, alone.low, alone.high, alone.replicates) == (1.0, None, None, 0)
    assert intervals(Scores())["auc"].value is None
    assert intervals(SpeakerErrors())["wer"].value is None


def test_draws_without_errors_are_left_out() -> None:
    """Only one of two speakers made an error: a quarter of the draws have none, a quarter have nothing else."""
    measured = Scores.of([0.9, 0.8, 0.2], [1, 1, 0], ["x", "x", "y"])
    found = intervals(measured, replicates=1000)
    assert 400 < found["auc"].replicates < 600
    assert 650 < found["auc_pr_correct"].replicates < 850
    assert found["brier"].replicates == 1000


def test_measures_that_most_draws_lack_have_no_interval() -> None:
    counts = np.array([[0, 0, 0, 1], [0, 0, 0, 1]])
    interval = intervals(SpeakerErrors(("x", "y"), counts))["wer"]
    assert (interval.value, interval.low, interval.high, interval.replicates) == (None, None, None, 0)


def test_a_system_does_not_differ_from_itself() -> None:
    for measured in (scores(8), errors(8)):
        for difference in compare(measured, measured).values():
            assert (difference.value, difference.low, difference.high, difference.p) == (0.0, 0.0, 0.0, 1.0)


def test_a_clear_difference() -> None:
    worse, better = errors(9, rate=0.3), errors(10, rate=0.1)
    difference = compare(better, worse)["wer"]
    assert difference.value == pytest.approx((better.total.wer or 0) - (worse.total.wer or 0))
    assert difference.high is not None
    assert difference.high < 0
    assert difference.p == pytest.approx(2 / 1001)
    turned = compare(worse, better)["wer"]
    assert turned.low == pytest.approx(-difference.high)


def test_differences_are_those_of_a_loop() -> None:
    first, second = scores(11), scores(12, better=0.3)
    found = compare(first, second, replicates=40, seed=2)
    weights = draws(SPEAKERS, 40, seed=2)
    for name in ("nce", "eer", "ece"):
        drawn = np.array([naive(first, row)[name] - naive(second, row)[name] for row in weights])
        assert (found[name].low, found[name].high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
        fewer = min((drawn <= 0).sum(), (drawn >= 0).sum())
        assert found[name].p == pytest.approx(min(1, 2 * (fewer + 1) / 41))


def test_a_speaker_for_whom_one_system_said_nothing_still_counts() -> None:
    first = Scores.of([0.9, 0.1, 0.8], [1, 0, 1], ["x", "x", "y"])
    second = Scores.of([0.9, 0.1], [1, 0], ["x", "x"])
    assert compare(first, second)["brier"].speakers == 2
    with pytest.raises(InputError, match="no speaker in common"):
        compare(first, Scores.of([0.5], [1], ["z"]))
    with pytest.raises(InputError, match="cannot be paired"):
        compare(errors(0), errors(0, speakers=SPEAKERS + 1))


def test_chance_is_found_significant_about_as_often_as_it_should() -> None:
    values = [compare(errors(seed, speakers=60), errors(seed + 500, speakers=60))["wer"].p for seed in range(300)]
    share = np.mean([p is not None and p < 0.05 for p in values])
    assert 0.02 < share < 0.1

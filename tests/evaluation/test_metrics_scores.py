"""Measures of confidence, against scikit-learn, plain transcriptions of their definitions, and their own laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.calibration import calibration_curve
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

from wordtrust.base.errors import InputError
from wordtrust.evaluation.metrics import ScoreMetrics, Scores
from wordtrust.evaluation.metrics.scores import METRICS

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Few distinct values make ties, 0 and 1 are frequent in practice.
probability = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]) | st.floats(0, 1)
words = st.lists(st.tuples(probability, st.booleans(), st.sampled_from("xyz")), min_size=1, max_size=40)
Words = list[tuple[float, bool, str]]


def population(rows: Words) -> Scores:
    score, correct, speakers = zip(*rows, strict=True) if rows else ((), (), ())
    return Scores.of(np.array(score), np.array(correct, bool), speakers)


def two_classes(rows: Words) -> bool:
    return len({correct for _, correct, _ in rows}) == 2


def nist_nce(score: Floats, correct: Flags) -> float:
    """What sclite computes for a whole system (compute_SCORE_nce in its scores.c), word by word."""
    n, right = len(score), int(correct.sum())
    p_c = right / n
    h_max = -right * math.log2(p_c) - (n - right) * math.log2(1 - p_c)
    gained = 0.0
    for p, is_correct in zip(score.tolist(), correct.tolist(), strict=True):
        clipped = min(max(p, 0.0000001), 0.9999999)
        gained += math.log2(clipped) if is_correct else math.log2(1 - clipped)
    return (h_max + gained) / h_max


def swept_eer(score: Floats, correct: Flags) -> float:
    """Try every threshold, join the (miss, false alarm) pairs by straight lines, bisect for where they are equal."""
    thresholds = [*sorted(set(score.tolist())), math.inf]
    miss = [float(np.mean(score[correct] < threshold)) for threshold in thresholds]
    alarm = [float(np.mean(score[~correct] >= threshold)) for threshold in thresholds]
    steps = np.arange(len(thresholds))
    low, high = 0.0, float(len(thresholds) - 1)
    for _ in range(200):
        middle = (low + high) / 2
        if np.interp(middle, steps, alarm) > np.interp(middle, steps, miss):
            low = middle
        else:
            high = middle
    return float(np.interp(high, steps, miss))


def binned_ece(score: Floats, correct: Flags, bins: int = 15) -> float:
    """Each word as 15 equal parts, tied words replaced by their mean, the parts in 15 bins."""
    likely = np.array([correct[score == value].mean() for value in score])
    order = np.argsort(score)
    gaps = np.repeat((score - likely)[order], bins).reshape(bins, -1)
    return float(np.abs(gaps.mean(axis=1)).mean())


@given(words.filter(two_classes))
def test_against_definitions(rows: Words) -> None:
    scores = population(rows)
    score, correct = np.asarray(scores.score), scores.correct
    measured = scores.metrics()
    assert measured.nce == pytest.approx(nist_nce(score, correct), abs=1e-9)
    assert measured.eer == pytest.approx(swept_eer(score, correct), abs=1e-9)
    assert measured.ece == pytest.approx(binned_ece(score, correct), abs=1e-9)
    assert measured.auc == pytest.approx(roc_auc_score(correct, score), abs=1e-12)
    assert measured.auc_pr_correct == pytest.approx(average_precision_score(correct, score), abs=1e-12)
    assert measured.auc_pr_wrong == pytest.approx(average_precision_score(~correct, -score), abs=1e-12)
    assert measured.brier == pytest.approx(brier_score_loss(correct, score), abs=1e-12)
    assert measured.undefined == {}
    assert (measured.words, measured.correct) == (len(rows), correct.sum())


def test_against_scikit_learn_on_many_words_most_of_them_at_one() -> None:
    random = np.random.default_rng(1)
    correct = random.random(30_000) < 0.8
    score = np.where(random.random(30_000) < 0.78, 1.0, np.round(random.beta(2 + 2 * correct, 2), 2))
    measured = Scores.of(score, correct).metrics()
    assert measured.auc == pytest.approx(roc_auc_score(correct, score), abs=1e-12)
    assert measured.auc_pr_wrong == pytest.approx(average_precision_score(~correct, -score), abs=1e-12)
    assert measured.eer == pytest.approx(swept_eer(score, correct), abs=1e-9)
    assert measured.nce == pytest.approx(nist_nce(score, correct), abs=1e-9)


def test_calibration_error_against_scikit_learn() -> None:
    """Without ties, and with a multiple of 15 words, its quantile bins are ours."""
    random = np.random.default_rng(2)
    score = random.random(15 * 40)
    correct = random.random(len(score)) < score**2
    share, mean = calibration_curve(correct, score, n_bins=15, strategy="quantile")
    assert Scores.of(score, correct).metrics().ece == pytest.approx(np.abs(share - mean).mean(), abs=1e-12)


def test_worked_example() -> None:
    """Four right words (.9 .8 .6 .3) and two wrong ones (.7 .2), by hand."""
    measured = Scores.of([0.9, 0.8, 0.6, 0.3, 0.7, 0.2], [1, 1, 1, 1, 0, 0]).metrics()
    assert measured.auc == pytest.approx(6 / 8)
    # Rejecting .2 and .3: miss 1/4, false alarm 1/2. Rejecting .6 too: both 1/2.
    assert measured.eer == pytest.approx(1 / 2)
    assert measured.auc_pr_correct == pytest.approx((1 + 1 + 3 / 4 + 4 / 5) / 4)
    assert measured.auc_pr_wrong == pytest.approx((1 + 2 / 4) / 2)
    assert measured.brier == pytest.approx((0.01 + 0.04 + 0.16 + 0.49 + 0.49 + 0.04) / 6)
    assert measured.errors_caught == pytest.approx(0.6 / 2)  # 10% of six words is .6 of the one at .2
    h_max = 4 * math.log2(6 / 4) + 2 * math.log2(6 / 2)
    lost = -math.log2(0.9 * 0.8 * 0.6 * 0.3 * (1 - 0.7) * (1 - 0.2))
    assert measured.nce == pytest.approx((h_max - lost) / h_max)


def test_eer_lies_between_two_thresholds() -> None:
    """Rates (miss, alarm) go from (0, 1/3) to (1/2, 0): equal where 1/3 - t/3 = t/2, at t = 2/5."""
    measured = Scores.of([0.9, 0.5, 0.5, 0.2, 0.2], [1, 1, 0, 0, 0]).metrics()
    assert measured.eer == pytest.approx(1 / 5)


@pytest.mark.parametrize(
    ("score", "correct", "wanted"),
    [
        ([1.0, 1.0, 0.0], [1, 1, 0], {"eer": 0.0, "auc": 1.0, "ece": 0.0, "brier": 0.0, "errors_caught": 0.3}),
        ([0.0, 0.0, 1.0], [1, 1, 0], {"eer": 1.0, "auc": 0.0, "ece": 1.0, "brier": 1.0, "errors_caught": 0.0}),
        ([0.5, 0.5, 0.5], [1, 1, 0], {"eer": 0.5, "auc": 0.5, "ece": 1 / 6, "auc_pr_correct": 2 / 3}),
        ([2 / 3, 2 / 3, 2 / 3], [1, 1, 0], {"nce": 0.0, "ece": 0.0}),
    ],
)
def test_perfect_worst_and_constant_scores(score: list[float], correct: list[int], wanted: dict[str, float]) -> None:
    measured = Scores.of(score, correct).metrics().to_dict()
    assert {name: measured[name] for name in wanted} == pytest.approx(wanted, abs=1e-9)


def test_certain_scores_are_clipped_for_nce_only() -> None:
    certain, clipped = Scores.of([1.0, 0.0], [1, 0]), Scores.of([1 - 1e-7, 1e-7], [1, 0])
    assert certain.metrics().nce == clipped.metrics().nce
    assert certain.metrics().nce == pytest.approx(1.0, abs=1e-6)
    assert Scores.of([0.0, 1.0], [1, 0]).metrics().nce == pytest.approx(1 - math.log2(1e7))


ALL_BUT = set(METRICS)


@pytest.mark.parametrize(
    ("score", "correct", "defined", "reason"),
    [
        ([], [], set(), "there are no words"),
        ([0.3, 0.9], [1, 1], {"auc_pr_correct", "ece", "brier"}, "no word is wrong"),
        ([0.3, 0.9], [0, 0], {"auc_pr_wrong", "ece", "brier", "errors_caught"}, "no word is right"),
        ([-3.0, 4.0], [0, 1], ALL_BUT - {"nce", "ece", "brier"}, "scores outside 0 to 1 are not probabilities"),
    ],
)
def test_undefined_is_none_with_a_reason(
    score: list[float], correct: list[int], defined: set[str], reason: str
) -> None:
    measured = Scores.of(score, correct).metrics()
    assert {name for name in METRICS if getattr(measured, name) is not None} == defined
    assert measured.undefined == {name: reason for name in METRICS if name not in defined}
    assert set(measured.to_dict()) == defined | {"words", "correct"}


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_must_be_numbers(bad: float) -> None:
    with pytest.raises(InputError, match="1 of 2 scores are not finite numbers"):
        Scores.of([0.5, bad], [1, 0])


def test_lengths_must_fit() -> None:
    with pytest.raises(ValueError, match="2 scores, 1 labels and 2 speakers do not fit"):
        Scores.of([0.5, 0.5], [1])


def test_labels_and_speakers_must_make_sense() -> None:
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        Scores.of([0.5, 0.5], [1, math.nan])
    with pytest.raises(ValueError, match="not among 0 to 0"):
        Scores(np.array([0.5]), np.array([True]), np.array([1], np.int32), ("x",))


def test_what_was_measured_cannot_change() -> None:
    given = np.array([0.5, 0.6])
    scores = Scores.of(given, [0, 1])
    with pytest.raises(ValueError, match="read-only"):
        scores.score[0] = 1
    given[0] = 0.4  # the caller's own array is left alone


def close(first: ScoreMetrics, second: ScoreMetrics) -> bool:
    wanted = pytest.approx(first.to_dict(), abs=1e-9)
    return bool(second.to_dict() == wanted) and first.undefined == second.undefined


@given(words, st.integers(0, 40))
def test_shards_add_up_to_the_whole(rows: Words, cut: int) -> None:
    whole, parts = population(rows), population(rows[cut:]) + population(rows[:cut])
    assert parts.speakers == whole.speakers
    assert close(parts.metrics(), whole.metrics())
    assert close((Scores() + whole + Scores()).metrics(), whole.metrics())


@given(words, st.randoms(use_true_random=False))
def test_the_order_of_words_does_not_matter(rows: Words, random: Any) -> None:
    mixed = list(rows)
    random.shuffle(mixed)
    assert close(population(rows).metrics(), population(mixed).metrics())


@given(words)
def test_every_word_twice_changes_nothing(rows: Words) -> None:
    once, twice = population(rows).metrics().to_dict(), population(rows * 2).metrics().to_dict()
    assert {**twice, "words": 0, "correct": 0} == pytest.approx({**once, "words": 0, "correct": 0}, abs=1e-9)


@given(words)
def test_only_the_ranking_matters_for_eer_and_auc(rows: Words) -> None:
    scores = population(rows)
    ranks = np.unique(scores.score, return_inverse=True)[1]
    moved = Scores.of(3.0 * ranks - 40, scores.correct).metrics()
    for name in ("eer", "auc", "auc_pr_correct", "auc_pr_wrong", "errors_caught"):
        assert getattr(moved, name) == getattr(scores.metrics(), name)


@given(words.filter(two_classes))
def test_turned_around(rows: Words) -> None:
    """Trusting wrong words as much as right ones were before: 1 - AUC, the same EER for the labels turned too."""
    scores = population(rows)
    turned = Scores.of(1 - np.asarray(scores.score, np.float64), ~scores.correct)
    if len(np.unique(turned.score)) == len(np.unique(scores.score)):  # 1 - x may join neighbours
        assert turned.metrics().auc == pytest.approx(scores.metrics().auc)
        assert turned.metrics().eer == pytest.approx(scores.metrics().eer)


def test_float32_stays_compact_and_float64_exact() -> None:
    single = Scores.of(np.array([0.1, 0.9], np.float32), [0, 1], ["x", "y"])
    assert (Scores() + single + single + Scores()).score.dtype == np.float32
    assert Scores.of([0.1, 0.9], [0, 1]).score.dtype == np.float64
    assert Scores.of([0, 1], [0, 1]).score.dtype == np.float64


def test_speakers_of_utterances() -> None:
    scores = Scores.of([0.1, 0.2, 0.3], [0, 1, 1], ["y", "z", "x"], np.array([0, 2, 2, 3]))
    assert scores.speakers == ("x", "y", "z")
    assert scores.speaker.tolist() == [1, 1, 0]
    joined = scores + Scores.of([0.5], [1], ["a"])
    assert joined.speakers == ("a", "x", "y", "z")
    assert joined.speaker.tolist() == [2, 2, 1, 0]

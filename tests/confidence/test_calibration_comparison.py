"""The comparison of calibrators on held-out words."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.helpers.calibration import halved, with_a_dip, words
from wordtrust.base.errors import OptionError
from wordtrust.base.folds import balanced_folds
from wordtrust.confidence.calibration import (
    BadScores,
    Histogram,
    KernelCalibrator,
    Platt,
    compare,
    names,
)
from wordtrust.evaluation.metrics import Scores

SIZE = 4000
SPEAKERS = [f"s{number % 40}" for number in range(SIZE)]


def test_is_out_of_fold() -> None:
    """One calibrator by a plain loop."""
    score, correct = words(with_a_dip, SIZE)
    fold = balanced_folds(SIZE, SPEAKERS, 5)
    calibrated = np.empty(SIZE)
    for left_out in range(5):
        out = fold == left_out
        calibrated[out] = Platt().fit(score[~out], correct[~out]).predict(score[out])
    wanted, raw = (Scores.of(scores, correct, SPEAKERS).metrics() for scores in (calibrated, score))
    table = compare(score, correct, SPEAKERS, calibrators=["platt"], replicates=50)
    for row, metrics in (("platt", wanted), ("uncalibrated", raw)):
        for measure in ("nce", "ece", "brier"):
            interval, value = table.rows[row][measure], getattr(metrics, measure)
            assert interval.value == pytest.approx(value)
            assert interval.low is not None
            assert interval.high is not None
            assert interval.low <= value <= interval.high or measure == "ece"  # resampling only adds to it
    assert (table.words, table.groups, table.folds) == (SIZE, 40, 5)


def test_kernel_wins_where_the_truth_has_a_dip() -> None:
    table = compare(*words(with_a_dip, SIZE), SPEAKERS, replicates=20)
    assert list(table.rows) == ["uncalibrated", *names()]
    assert table.best == "kernel"
    gains = {name: row["nce"].value or 0 for name, row in table.rows.items()}
    assert gains["kernel"] > gains["isotonic"] + 0.05
    lines = str(table).splitlines()
    assert lines[0].split() == ["NCE", "ECE", "Brier"]
    assert lines[2].startswith("kernel")
    assert lines[2].count(" to ") == 3


def test_without_speakers_there_are_no_intervals() -> None:
    table = compare(*words(halved, 500), calibrators=["temperature"])
    row = table.rows["temperature"]["nce"]
    assert (row.low, row.high, table.groups) == (None, None, None)
    record = json.loads(json.dumps(table.to_dict()))
    assert "groups" not in record
    assert record["calibrators"]["temperature"]["nce"] == {"value": row.value}
    assert " to " not in str(table)


def test_words_that_are_all_right() -> None:
    table = compare([0.9, 0.8, 0.7, 0.6] * 5, [1] * 20, ["a", "b"] * 10, replicates=20)
    assert table.folds == 2
    assert table.to_dict()["calibrators"]["kernel"]["nce"] == {}
    assert "-" in str(table)
    assert table.best in names()


def test_logits_and_calibrators_of_your_own() -> None:
    score, correct = words(halved, SIZE)
    logits = np.log(score) - np.log1p(-score)
    mine = {"fine": Histogram(100, "logit"), "paper": KernelCalibrator(1.8, 0, "logit")}
    table = compare(logits, correct, SPEAKERS, calibrators=mine, domain="logit", folds=3, replicates=10)
    assert list(table.rows) == ["uncalibrated", "fine", "paper"]
    same = {"paper": KernelCalibrator(1.8, 0)}
    of_scores = compare(score, correct, SPEAKERS, calibrators=same, folds=3, replicates=10)
    for name in ("uncalibrated", "paper"):
        assert table.rows[name]["nce"].value == pytest.approx(of_scores.rows[name]["nce"].value, abs=1e-6)
    with pytest.raises(OptionError, match="not fitted"):
        mine["fine"].predict([0])  # ours were copies


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([0.5, 0.6], [1]), {}, BadScores, "do not fit"),
        (([0.5, 0.6], [1, 0], ["a"]), {}, BadScores, "do not fit"),
        (([0.5, 0.6], [1, 0], ["a", "a"]), {}, BadScores, "one group cannot be split"),
        (([], []), {}, BadScores, "cannot be split"),
        (([0.5, 0.6], [1, 0]), {"folds": 1}, OptionError, "at least 2"),
        (([0.5, 0.6], [1, 0]), {"calibrators": ["magic"]}, OptionError, "no calibrator 'magic'"),
        (([0.5, 0.6], [1, 0]), {"calibrators": {"uncalibrated": Platt()}}, OptionError, "is named 'uncalibrated'"),
        (([0.5, 0.6], [1, 0]), {"domain": "percent"}, OptionError, "domain is 'percent'"),
    ],
)
def test_bad_calls(arguments: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        compare(*arguments, **options)

"""What training measures on its development set: the same numbers as the metrics, without numba."""

from __future__ import annotations

import numpy as np
import pytest

from wordtrust.evaluation.eer_nce import eer_and_nce
from wordtrust.evaluation.metrics import Scores


@pytest.mark.parametrize("seed", range(5))
def test_measures_are_those_of_the_metrics(seed: int) -> None:
    rng = np.random.default_rng(seed)
    confidence = rng.choice(np.linspace(0, 1, 30), 500)
    correct = rng.random(500) < confidence
    metrics = Scores.of(confidence, correct).metrics()
    assert eer_and_nce(confidence, correct) == pytest.approx((metrics.eer, metrics.nce), abs=1e-12)


@pytest.mark.parametrize("correct", [np.ones(9, bool), np.zeros(9, bool), np.zeros(0, bool)])
def test_words_all_alike_have_no_measures(correct: np.ndarray) -> None:
    assert eer_and_nce(np.full(len(correct), 0.5), correct) is None

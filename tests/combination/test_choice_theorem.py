"""The theorem behind choosing the output with the largest calibrated confidence: where it holds and where not.

If a recognizer's confidence is what its words are worth *given all confidences*, the chosen outputs are worth the
largest of them: E[accuracy] = E[max C] >= max E[C] (docs/combination.md). That each is calibrated by itself is not
enough.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.helpers.system_outputs import outputs, side_by_side
from wordtrust.combination.subset_comparison import compare_subsets, mean_confidence
from wordtrust.combination.system_output import SystemOutputs
from wordtrust.confidence.calibration import KernelCalibrator

WORDS = 10  # of an utterance
Values = NDArray[np.float64]


def recognizers(confidence: Values, accuracy: Values, seed: int) -> SystemOutputs:
    """Recognizers [systems, utterances] with one confidence for all words of an output, which are right so often."""
    rng = np.random.default_rng(seed)
    right = rng.random((*accuracy.shape, WORDS)) < accuracy[:, :, None]
    systems = {
        name: outputs(
            [" ".join("a" if one else "x" for one in words) for words in right[row]],
            np.repeat(confidence[row], WORDS).tolist(),
            calibrated=np.repeat(confidence[row], WORDS).tolist(),
        )
        for row, name in enumerate("ABCDE"[: len(accuracy)])
    }
    return side_by_side(systems, [" ".join("a" * WORDS)] * accuracy.shape[1])


def is_calibrated(systems: SystemOutputs, *, tolerance: float = 0.03) -> bool:
    """Whether the words of each recognizer are right as often as it says, at each of its confidences."""
    for row, sure in enumerate(mean_confidence(systems)):
        accuracy = 1 - systems.errors[row] / WORDS
        for level in np.unique(np.round(sure, 1)):
            at = np.round(sure, 1) == level
            if at.sum() > 100 and abs(accuracy[at].mean() - sure[at].mean()) > tolerance:
                return False
    return True


@pytest.mark.parametrize("seed", range(3))
def test_calibrated_given_all_confidences_every_subset_is_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    accuracy = rng.choice([0.5, 0.7, 0.9], (5, 2000), p=[0.3, 0.4, 0.3])  # what one knows tells nothing of another
    systems = recognizers(accuracy, accuracy, seed)
    assert is_calibrated(systems)
    found = compare_subsets(systems, replicates=10)
    assert found.better == {"raw": 26, "calibrated": 26}  # of 26 subsets
    largest = mean_confidence(systems).max(axis=0).mean()
    assert 1 - found.subsets[-1].methods["calibrated"] == pytest.approx(largest, abs=0.01)
    assert largest > mean_confidence(systems).mean(axis=1).max()


def test_calibration_makes_it_hold_where_raw_confidences_do_not() -> None:
    """One recognizer brags: raw, it is nearly always taken; calibrated, only where it is right."""
    rng = np.random.default_rng(0)
    accuracy = rng.choice([0.5, 0.7, 0.9], (2, 2000))
    raw = np.stack([accuracy[0], 0.9 + 0.1 * accuracy[1]])  # 0.95 where half of the words are wrong
    systems = recognizers(raw, accuracy, 0)
    curves = [
        KernelCalibrator(20.0, prior=0).fit(np.asarray(output.confidence), _right_words(systems, row))
        for row, output in enumerate(systems.outputs)
    ]
    by_curve = [output.with_calibrated(curve) for output, curve in zip(systems.outputs, curves, strict=True)]
    found = compare_subsets(replace(systems, outputs=tuple(by_curve)), replicates=10)
    assert found.better == {"raw": 0, "calibrated": 1}


def test_each_calibrated_by_itself_is_not_enough() -> None:
    """A always says .75, and is right .55 of the time where B says .7, .95 where B says .8; B is right as it says."""
    rng = np.random.default_rng(0)
    b = rng.choice([0.7, 0.8], 4000)
    a = np.where(b == 0.7, 0.55, 0.95)
    systems = recognizers(np.stack([np.full(4000, 0.75), b]), np.stack([a, b]), 0)
    assert is_calibrated(systems)
    found = compare_subsets(systems, replicates=10)
    assert found.worse == {"raw": 1, "calibrated": 1}  # A where it is at its worst, B where A would be better
    assert 1 - found.subsets[0].methods["calibrated"] == pytest.approx((0.55 + 0.8) / 2, abs=0.01)


def test_words_that_are_missing_are_not_in_the_theorem() -> None:
    """Accuracy is of words that are said: who says half of them, all right, is taken and makes more errors."""
    said = "a b c d"
    whole = outputs([said.replace("d", "x")] * 20, 0.75, calibrated=[0.75] * 80)
    half = outputs(["a b"] * 20, 1.0, calibrated=[1.0] * 40)
    found = compare_subsets(side_by_side({"whole": whole, "half": half}, [said] * 20), replicates=10)
    assert found.worse == {"raw": 1, "calibrated": 1}


def _right_words(systems: SystemOutputs, row: int) -> NDArray[np.bool_]:
    return np.array([word == "a" for u in range(len(systems)) for word in systems.outputs[row].words(u)])

"""Missing words and whole utterances: from models to transcripts, calibration and evaluation."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from zlib import crc32

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.made_models import made_gap_model, made_model, sample_networks
from wordtrust.confidence.calibrate_model import OutOfFoldScorer, calibrate_model, fit_calibration, held_out_scores
from wordtrust.confidence.evaluate_model import evaluate
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.lattices.lattice import Lattices, concatenate
from wordtrust.lattices.paths import one_best
from wordtrust.networks.align import align
from wordtrust.networks.text_probability import text_probability

KINDS = {"posterior", "confidence", "calibrated"}


@pytest.fixture(scope="module")
def networks() -> Lattices:
    return sample_networks("sphinx")


@pytest.fixture(scope="module")
def scorer(networks: Lattices) -> WordScorer:
    return WordScorer(made_gap_model(networks))


def test_transcripts_have_them_whatever_else_is_in_the_batch(networks: Lattices, scorer: WordScorer) -> None:
    together = scorer(networks)
    turned = scorer(concatenate(networks[index : index + 1] for index in reversed(range(len(networks)))))
    for one, other in zip(together, reversed(turned), strict=True):
        assert one.gaps is not None
        assert other.gaps is not None
        assert len(one.gaps) == len(one.words) + 1
        np.testing.assert_allclose(one.gaps, other.gaps, atol=1e-6)
        assert one.confidence == pytest.approx(other.confidence, abs=1e-6)
        assert all(0 <= probability <= 1 for probability in (*one.gaps, one.confidence or 0.0))


def test_an_utterance_is_right_if_its_text_is_and_nothing_is_missing(networks: Lattices, scorer: WordScorer) -> None:
    scores = scorer.arc_scores(networks)
    paths = scorer.choice.paths(networks, scores.confidence)
    text = text_probability(networks, scores.share, paths, scores.chance)
    for index, transcript in enumerate(scorer(networks)):
        assert transcript.gaps is not None
        expected = text[index] * math.prod(1 - gap for gap in transcript.gaps)
        assert transcript.confidence == pytest.approx(expected, abs=1e-6)
        assert text[index] > expected
    assert len(scorer.correct(networks[:0], scorer.arc_scores(networks[:0]), one_best(networks[:0]))) == 0


def test_a_model_without_the_head_has_utterances_alone(networks: Lattices) -> None:
    scorer = WordScorer(made_model(networks))
    transcript = scorer(networks)[0]
    assert transcript.gaps is None
    assert transcript.correct is not None
    assert set(evaluate(networks, scorer).to_dict()["gaps"]) == {"posterior"}


def test_evaluation_counts_them(networks: Lattices, scorer: WordScorer) -> None:
    networks = replace(networks, origin=replace(networks.origin, equate=""))  # words as they are written
    calibrated = WordScorer(calibrate_model(scorer, networks).model)
    assert calibrated.calibration is not None
    assert {"gaps", "utterances"} <= set(calibrated.calibration.parts)
    measured = evaluate(networks, calibrated)
    gaps, right, missing = 0, 0, 0
    for transcript, reference in zip(calibrated(networks), networks.notes["reference"], strict=True):
        said = [word.norm for word in transcript.words]
        found = align(reference.split(), said)
        gaps += len(said) + 1
        right += found.substitutions + found.deletions + found.insertions == 0
        aligned = [-1, *(word for word in found.reference if word >= 0), len(reference.split())]
        missing += sum(after - before > 1 for before, after in pairwise(aligned))
    record = measured.to_dict()
    assert set(record["gaps"]) == KINDS
    assert set(record["whole_utterances"]) == {*KINDS, "mean_confidence"}
    assert record["gaps"]["calibrated"]["rate"] == pytest.approx(missing / gaps)
    assert record["whole_utterances"]["calibrated"]["rate"] == pytest.approx(right / len(networks))
    shown = [gap for transcript in calibrated(networks) for gap in transcript.gaps or ()]
    np.testing.assert_allclose(measured.beyond_words["gaps", "calibrated"].score, shown, atol=1e-6)
    assert record["gaps"]["calibrated"]["mean"] == pytest.approx(np.mean(shown))
    for kind, name in (("calibrated", "confidence"), ("mean_confidence", "mean_confidence")):
        says = np.array([getattr(transcript, name) or 0.0 for transcript in calibrated(networks)])
        scores = measured.beyond_words["whole_utterances", kind]
        np.testing.assert_allclose(scores.score, says, atol=1e-6)
        assert scores.correct.sum() == right
        figures = record["whole_utterances"][kind]
        assert figures["mean"] == pytest.approx(says.mean())
        assert figures["brier"] == pytest.approx(np.mean((says - scores.correct) ** 2))
        above = np.sign(says[scores.correct][:, None] - says[~scores.correct])
        assert figures["auc"] == pytest.approx((above.mean() + 1) / 2, abs=1e-3)


def test_calibration_keeps_the_order_and_the_mean(networks: Lattices, scorer: WordScorer) -> None:
    evaluation = held_out_scores(scorer, networks, keep_choice=True).evaluation
    calibration = fit_calibration(evaluation, "platt")
    for part, population in (("gaps", "gaps"), ("utterances", "whole_utterances")):
        scores = evaluation.beyond_words[population, "confidence"]
        alone = wt.calibrate.Platt().fit(scores.score, scores.correct).predict(scores.score)
        np.testing.assert_allclose(calibration.of_part(part, scores.score), alone)
        assert alone.mean() == pytest.approx(scores.correct.mean(), abs=0.02)


def test_gaps_are_judged_by_a_model_that_never_saw_the_speaker(networks: Lattices, scorer: WordScorer) -> None:
    folds = [WordScorer(made_gap_model(networks, k + 1, training={"folds": 3, "fold": k})) for k in range(3)]
    judged = OutOfFoldScorer(scorer, folds).arc_confidences(networks)["confidence"]
    paths = scorer.choice.paths(networks, judged.confidence)
    assert judged.of_gaps is not None
    assert judged.of_utterances is not None
    gaps, correct = judged.of_gaps(paths), judged.of_utterances(paths)
    assert gaps is not None
    assert correct is not None
    offsets = paths.without_silence(networks).offsets + np.arange(len(networks) + 1)
    for index, speaker in enumerate(networks.notes["speaker"]):
        own, alone = folds[crc32(speaker.encode()) % 3], networks[index : index + 1]
        begin, end = paths.offsets[index : index + 2]
        path = replace(paths, offsets=np.array([0, end - begin]), arcs=paths.arcs[begin:end])
        scores = own.arc_scores(alone)
        expected = own.missing(alone, scores, path)
        assert expected is not None
        np.testing.assert_allclose(gaps[offsets[index] : offsets[index + 1]], expected, atol=1e-6)
        assert correct[index] == pytest.approx(own.correct(alone, scores, path)[0], abs=1e-6)

"""The formula of generic models for lattices: against brute force, and that it is asked about lattices only."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import wordtrust as wt
from tests.confidence.test_features import random_batch
from tests.confidence.test_scale_free import with_posteriors
from tests.helpers.made_models import SAMPLE, made_model, sample_networks
from tests.helpers.strategies import lattices
from wordtrust.base.errors import InputError, OptionError
from wordtrust.confidence.config import weight_shapes
from wordtrust.confidence.features import Arcs, matrix
from wordtrust.confidence.lattice_formula import COLUMNS, LatticeFormula
from wordtrust.confidence.model_file import load_model, save_model
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.lattices.lattice import Lattice, Lattices
from wordtrust.networks.build_store import LABEL
from wordtrust.training.lattice_formula import fit_lattice_formula, logistic_regression

SAMPLES = sample_networks()
NETWORKS = replace(SAMPLES, transition=np.zeros(len(SAMPLES.source), np.float32))  # as of other recognizers
ARCS = Arcs(NETWORKS, np.zeros(len(NETWORKS.source)), np.zeros(len(NETWORKS.source)))
FORMULA = LatticeFormula(COLUMNS, (0.9, 6.0, -0.2, -0.1), 0.5)


def entropy_at(networks: Lattices, instant: float) -> float:
    """Of one utterance, written out."""
    assert networks.posterior is not None
    there = (networks.start_time <= instant + 1e-9) & (networks.end_time > instant + 1e-9)
    return float(sum(-p * log(p) for p in networks.posterior[there].tolist() if p > 0))


@settings(max_examples=30)
@given(lattices())
def test_entropies_are_those_of_what_crosses_an_instant(lattice: Lattice) -> None:
    networks = with_posteriors(lattice)
    nothing = np.zeros(len(networks.source))
    middle, edges = matrix(Arcs(networks, nothing, nothing), ("slot_entropy", "edge_entropy")).T
    for arc, (start, end) in enumerate(zip(networks.start_time, networks.end_time, strict=True)):
        if end - start < 0.02:  # as short as the edges that are looked at
            continue
        assert middle[arc] == pytest.approx(entropy_at(networks, (start + end) / 2), abs=1e-4)
        beside = (entropy_at(networks, start - 0.005) + entropy_at(networks, end + 0.005)) / 2
        assert edges[arc] == pytest.approx(beside, abs=1e-4)


def test_entropies_do_not_depend_on_the_batch() -> None:
    networks = random_batch(7)
    parts = [FORMULA.log_odds(networks[number : number + 1]) for number in range(len(networks))]
    np.testing.assert_array_equal(FORMULA.log_odds(networks), np.concatenate(parts))


def test_arcs_of_a_word_share_its_confidence_as_its_posterior() -> None:
    posterior, word = matrix(ARCS, ("posterior", "word_log_posterior")).T.astype(np.float64)
    entropies = (matrix(ARCS, ("slot_entropy", "edge_entropy")) - 0.7) / 0.7
    for arc in range(0, len(posterior), 37):
        whole = min(max(exp(word[arc]), 1e-6), 1 - 1e-6)
        odds = 0.9 * log(whole / (1 - whole)) / 6 + 6.0 * log(whole) / 6
        odds += -0.2 * entropies[arc, 0] - 0.1 * entropies[arc, 1] + 0.5
        expected = min(posterior[arc] / whole, 1.0) / (1 + exp(-odds))
        got = 1 / (1 + exp(-FORMULA.log_odds(NETWORKS)[arc]))
        assert got == pytest.approx(max(expected, 1e-6), rel=1e-2, abs=1e-4)


def test_lattices_are_scored_by_the_formula_and_lists_by_the_network() -> None:
    model = load_model("generic")
    assert model.lattices is not None
    other = replace(model, weights={**model.weights, "output.bias": model.weights["output.bias"] + 3})
    lists = WordScorer(model, allow_mismatch=True).networks(
        wt.read(str(SAMPLE / "corpus/moonshine-tiny/eval.jsonl.gz"))[:3]
    )
    for networks, is_same in ((NETWORKS, True), (lists, False), (SAMPLES, False)):
        assert LatticeFormula.is_for(networks) == is_same
        whole, changed = (WordScorer(one, allow_mismatch=True).confidence(networks) for one in (model, other))
        assert (np.abs(whole - changed)[networks.word > 0].max() < 1e-6) == is_same


def test_a_formula_is_kept_with_the_model(tmp_path: Path) -> None:
    save_model(replace(made_model(NETWORKS), lattices=FORMULA), tmp_path / "model")
    read = load_model(tmp_path / "model")
    assert read.lattices == FORMULA
    expected = 1 / (1 + np.exp(-FORMULA.log_odds(NETWORKS)))
    words = NETWORKS.word > 0
    np.testing.assert_allclose(WordScorer(read).confidence(NETWORKS)[words], expected[words], rtol=1e-5)


@pytest.mark.parametrize(
    "change",
    [{"columns": ["nonsense"] * 4}, {"weights": [1.0]}, {"weights": [1, 2, 3, "4"]}, {"weights": [1, 2, 3, 1e9]},
     {"bias": None}, {"columns": 3}],
    ids=str,
)  # fmt: skip
def test_formulas_that_cannot_be_are_told(change: dict[str, object]) -> None:
    with pytest.raises((ValueError, InputError, OptionError)):
        LatticeFormula.from_json(FORMULA.to_json() | change)


def test_a_formula_needs_independent_confidences() -> None:
    model = made_model(NETWORKS)
    config = replace(model.config, head="normalised")
    weights = {name: np.zeros(shape, np.float32) for name, shape in weight_shapes(config).items()}
    with pytest.raises(InputError, match="independent"):
        WordScorer(replace(model, config=config, weights=weights, lattices=FORMULA))


def test_fitted_weights_have_no_slope_left() -> None:
    rng = np.random.default_rng(0)
    inputs, weight = rng.normal(size=(400, 2)), rng.random(400)
    right = (rng.random(400) < 1 / (1 + np.exp(-(2 * inputs[:, 0] - inputs[:, 1] + 0.5)))).astype(np.float64)
    *weights, bias = logistic_regression(inputs, right, weight, (1e-6, 3.0, 1e-6))
    off = weight * (right - 1 / (1 + np.exp(-(inputs @ np.array(weights) + bias))))
    np.testing.assert_allclose([*(inputs.T @ off), off.sum()], [0, 3.0 * weights[1], 0], atol=1e-4)
    assert 1.5 < weights[0] < 2.5


def test_a_formula_learns_from_all_recognizers_and_goes_with_a_calibration() -> None:
    fitted = fit_lattice_formula([[NETWORKS], [NETWORKS]])
    once = fit_lattice_formula([[NETWORKS]])
    assert fitted.weights == pytest.approx(once.weights, rel=1e-6)  # each counts alike, however many there are
    words = np.flatnonzero(NETWORKS.word > 0)
    right = NETWORKS.extra[LABEL][words] > 0
    confidence = 1 / (1 + np.exp(-fitted.log_odds(NETWORKS)[words]))
    assert confidence[right].mean() > confidence[~right].mean() + 0.2

    def curve(chance: np.ndarray) -> np.ndarray:
        return np.asarray(chance**2)

    moved = fitted.calibrated([[NETWORKS]], curve)
    best = np.flatnonzero(NETWORKS.picked & (NETWORKS.word > 0))  # type: ignore[operator]
    shown = curve(1 / (1 + np.exp(-moved.log_odds(NETWORKS)[best])))
    assert shown.mean() == pytest.approx((NETWORKS.extra[LABEL][best] > 0).mean(), abs=0.06)


def test_words_that_are_all_right_teach_nothing() -> None:
    right = np.where(NETWORKS.word > 0, 1, -1).astype(np.float32)
    with pytest.raises(OptionError, match="wrong"):
        fit_lattice_formula([[replace(NETWORKS, extra={**NETWORKS.extra, LABEL: right})]])

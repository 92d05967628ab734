"""Baselines that see what the model sees of an arc: scikit-learn as the oracle, and files that do not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.made_models import made_model, sample_networks
from wordtrust.base.errors import InputError
from wordtrust.base.tensors import read_tensors, write_tensors
from wordtrust.networks.build_store import ORACLE_LABEL
from wordtrust.study import same_inputs as tested
from wordtrust.study.same_inputs import STRENGTH, SameInputs, fit_same_inputs, model_inputs
from wordtrust.training import trees as training

NETWORKS = sample_networks()
MODEL = made_model(NETWORKS)
SPOKEN = NETWORKS.word > 0
RIGHT = NETWORKS.extra[ORACLE_LABEL][SPOKEN] > 0


def test_both_are_those_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    monkeypatch.setattr(training, "LEAST_WORDS", 100)
    monkeypatch.setattr(training, "TREES", 5)
    judged = fit_same_inputs(MODEL, NETWORKS).judge(MODEL, NETWORKS)
    assert list(judged) == ["full_logistic", "trees"]
    inputs = model_inputs(MODEL, NETWORKS, in_training=True)[SPOKEN]  # the table has no words: nothing to leave out
    rows, count = inputs.astype(np.float64), np.count_nonzero(RIGHT)
    # Platt's targets: every row is right with one weight and wrong with the rest.
    target = np.where(RIGHT, (count + 1) / (count + 2), 1 / (len(RIGHT) - count + 2))
    theirs = linear.LogisticRegression(C=1 / STRENGTH, tol=1e-8, max_iter=10_000).fit(
        np.concatenate([rows, rows]), np.repeat([1, 0], len(RIGHT)), np.concatenate([target, 1 - target])
    )
    found = judged["full_logistic"].confidence
    np.testing.assert_allclose(found[SPOKEN], theirs.predict_proba(rows)[:, 1], atol=1e-3)
    boosting = training.fit_boosting(inputs, RIGHT.astype(np.int8))
    np.testing.assert_allclose(judged["trees"].confidence[SPOKEN], boosting.predict_proba(inputs)[:, 1], atol=1e-5)
    assert NETWORKS.posterior is not None
    np.testing.assert_array_equal(found[~SPOKEN], NETWORKS.posterior[~SPOKEN])


def test_they_survive_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = fit_same_inputs(MODEL, NETWORKS)
    assert few.trees is None  # of so few words
    monkeypatch.setattr(training, "LEAST_WORDS", 100)
    monkeypatch.setattr(training, "TREES", 3)
    for made in (few, fit_same_inputs(MODEL, NETWORKS)):
        made.save(tmp_path / tested.NAME)
        again = SameInputs.load(tmp_path / tested.NAME, MODEL).judge(MODEL, NETWORKS)
        for name, judged in made.judge(MODEL, NETWORKS).items():
            np.testing.assert_array_equal(again[name].confidence, judged.confidence)


def test_files_that_do_not_fit_are_told(tmp_path: Path) -> None:
    path = tmp_path / tested.NAME
    fit_same_inputs(MODEL, NETWORKS).save(path)
    other = replace(MODEL, config=replace(MODEL.config, columns=("posterior",)))
    with pytest.raises(InputError, match="do not fit 1 columns"):
        SameInputs.load(path, other)
    arrays, about = read_tensors(path)
    for wrong_arrays, wrong_about in (
        ({}, about),
        (arrays, {}),
        ({"weights": arrays["weights"] * np.nan}, about),
        (arrays, about | {"trees": {}}),
        (arrays, about | {"trees": 3}),
    ):
        write_tensors(path, wrong_arrays, wrong_about)
        with pytest.raises(InputError, match="Fit them again"):
            SameInputs.load(path, MODEL)
    with pytest.raises(InputError, match="no utterances"):
        fit_same_inputs(MODEL, [])

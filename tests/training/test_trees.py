"""Trees out of scikit-learn: the log-odds are scikit-learn's own, and nobody is scored by trees that saw them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.helpers.made_models import made_model, sample_networks
from tests.helpers.model_data import training_data
from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.folds import in_fold, speaker_id
from wordtrust.confidence.lattice_rnn import LatticeRNNScorer
from wordtrust.confidence.model_card import TrainingRecord
from wordtrust.confidence.model_file import Model
from wordtrust.confidence.trees import network_inputs
from wordtrust.lattices.lattice import Floats
from wordtrust.training import stacked_trees as stacked
from wordtrust.training import trees as training
from wordtrust.training.options import TrainOptions

pytest.importorskip("sklearn", reason="needs the extra `train`")
pytest.importorskip("torch", reason="needs the extra `train`")


def words(seed: int, rows: int = 3_000, columns: int = 5, missing: float = 0.0) -> tuple[Floats, NDArray[np.int8]]:
    """Inputs, some of them whole numbers, and labels that follow from them now and then."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(rows, columns)).astype(np.float32)
    inputs[:, 0] = rng.integers(0, 4, rows)
    inputs[rng.random(inputs.shape) < missing] = np.nan
    chance = 1 / (1 + np.exp(-np.nan_to_num(inputs[:, 0] - inputs[:, 1] * inputs[:, 2], nan=1.0)))
    return inputs, (rng.random(rows) < chance).astype(np.int8)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_log_odds_are_those_of_scikit_learn(missing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "TREES", 40)
    inputs, right = words(1, missing=missing)
    boosting = training.fit_boosting(inputs, right)
    trees = training.tables_of(boosting, 0.0, 1.0, False)
    more, _ = words(2, missing=missing)
    rows = np.concatenate([inputs, more, np.full((1, 5), np.nan, np.float32)])
    on_thresholds = np.repeat(rows[:50], 2, axis=0)
    on_thresholds[:, 1] = trees.threshold[0, 0]
    for tried in (rows, on_thresholds):
        np.testing.assert_allclose(trees.log_odds(tried), boosting.decision_function(tried), atol=2e-5)
        chance = 1 / (1 + np.exp(-trees.log_odds(tried)))
        np.testing.assert_allclose(chance, boosting.predict_proba(tried)[:, 1], atol=1e-5)


def test_the_same_words_give_the_same_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "TREES", 5)
    monkeypatch.setattr(training, "MOST_WORDS", 2_000)
    first, second = (training.fit_trees(*words(3), **WEIGHTS).arrays() for _ in range(2))
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name])


WEIGHTS: dict[str, Any] = {"share_weight": 0.25, "chance_weight": 1.0, "with_network": False}


def test_plain_trees_are_of_the_words_of_speakers_that_are_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from wordtrust.training.trainer import chosen_utterances

    data, seen = training_data(), list[int]()
    assert training.plain_trees(data) is None  # too few words
    monkeypatch.setattr(training, "LEAST_WORDS", 1)
    monkeypatch.setattr(training, "LEAST_IN_LEAF", 1)
    monkeypatch.setattr(training, "fit_trees", lambda _, right, **__: seen.append(len(right)))
    train = data.train
    is_word = (train.word >= 0) & (train.label >= 0)
    training.plain_trees(data)
    for fold in range(2):
        training.plain_trees(data, chosen_utterances(train, TrainOptions(folds=2, fold=fold)))
    left_out = np.repeat(in_fold(train.speaker, 2, 0), np.diff(train.arc_offsets))
    assert seen == [is_word.sum(), (is_word & ~left_out).sum(), (is_word & left_out).sum()]
    monkeypatch.setattr(training, "is_available", lambda: False)
    training.plain_trees(data)
    assert len(seen) == 3


NETWORKS = sample_networks()


def fold_models() -> tuple[Model, list[Model]]:
    record = [TrainingRecord({"folds": 2, "fold": fold}) for fold in range(2)]
    made = [replace(one, card=replace(one.card, training=record[fold])) for fold, one in enumerate(_models())]
    return made_model(NETWORKS, 7), made


def _models() -> list[Model]:
    return [made_model(NETWORKS, seed) for seed in range(2)]


def test_every_word_is_seen_as_the_network_that_did_not_know_the_speaker_sees_it() -> None:
    model, folds = fold_models()
    half = len(NETWORKS) // 2
    rows = stacked.word_rows(model, folds, NETWORKS[:half], NETWORKS[half:])
    names = [speaker_id(name) for name in NETWORKS.notes["speaker"]]
    columns, expected, speakers = len(model.config.columns), [], []
    for arc, (word, label) in enumerate(zip(NETWORKS.word, NETWORKS.extra["label"], strict=True)):
        speaker = names[int(np.searchsorted(NETWORKS.arc_offsets, arc, "right")) - 1]
        if word and label >= 0:
            expected.append((arc, folds[speaker % 2], int(label)))
            speakers.append(speaker)
    assert rows.speaker.tolist() == speakers
    assert rows.right.tolist() == [label for _, _, label in expected]
    said = {
        id(fold): LatticeRNNScorer(fold.config, fold.weights, fold.table, fold.statistics).outputs(NETWORKS)
        for fold in folds
    }
    logits = np.array([said[id(fold)][arc, -1] for arc, fold, _ in expected], np.float32)
    np.testing.assert_allclose(rows.inputs[:, columns:], network_inputs(np.ones(len(logits)), logits), atol=1e-4)


def test_trees_of_a_fold_do_not_know_its_speakers(monkeypatch: pytest.MonkeyPatch) -> None:
    model, folds = fold_models()
    seen = list[int]()
    monkeypatch.setattr(stacked, "is_enough", lambda right: len(right) > 0)
    monkeypatch.setattr(stacked, "fit_trees", lambda _, right, **__: seen.append(len(right)))
    half = len(NETWORKS) // 2
    assert len(stacked.stacked_trees(model, folds, NETWORKS[:half], NETWORKS[half:])) == 3
    speaker = stacked.word_rows(model, folds, NETWORKS[:half], NETWORKS[half:]).speaker
    assert seen == [len(speaker), (speaker % 2 == 1).sum(), (speaker % 2 == 0).sum()]


def test_what_trees_cannot_be_trained_on_is_told() -> None:
    model, folds = fold_models()
    assert stacked.stacked_trees(model, folds, NETWORKS[:2], NETWORKS[2:4]) == [None] * 3
    with pytest.raises(InputError, match="all speakers"):
        stacked.word_rows(model, _models(), NETWORKS, NETWORKS[:0])
    with pytest.raises(InputError, match="no labels"):
        stacked.word_rows(model, folds, replace(NETWORKS, extra={}), NETWORKS[:0])
    other = replace(folds[0], config=replace(folds[0].config, columns=("posterior",)))
    with pytest.raises(InputError, match="other features"):
        stacked.word_rows(model, [other, folds[1]], NETWORKS, NETWORKS[:0])
    with pytest.raises(InputError, match="no networks"):
        stacked.word_rows(model, folds, [], [])


def test_generic_trees_see_every_recognizer_and_some_words_without_each_group() -> None:
    data = training_data()
    own = "one_best", "has_tokens", "token_entropy"
    data = replace(data, statistics=replace(data.statistics, columns=own))
    columns = ("posterior_logit", *own)
    inputs, right = training._generic_rows(data, columns, 0.5, np.random.default_rng(0))
    assert len(inputs) == len(right) == np.count_nonzero((data.train.word >= 0) & (data.train.label >= 0))
    assert not inputs[:, 0].any()  # this recognizer does not have it
    kept = training._generic_rows(data, columns, 0.0, np.random.default_rng(0))[0]
    hidden = (inputs[:, 2:] == 0).all(axis=1)
    assert 0.4 < hidden.mean() < 0.6
    np.testing.assert_array_equal(inputs[~hidden], kept[~hidden])
    with pytest.raises(OptionError, match="too few for trees"):
        training.generic_trees([data], columns)

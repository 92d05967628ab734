"""What model.json says of models of every kind is read into a `ModelCard` and written back with the same keys."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

import wordtrust as wt
from wordtrust.base.errors import InputError
from wordtrust.confidence import shipped
from wordtrust.confidence.choice import Choice
from wordtrust.confidence.model_card import Adaptation, CalibrationData, ModelCard, PaperRecord, TrainingRecord
from wordtrust.confidence.model_file import load_model
from wordtrust.lattices.paths import CRITERIA
from wordtrust.lattices.weights import Scales

FILE_KEYS = {
    "kind", "version", "wordtrust", "feature_version", "checksum", "config", "shared_words", "trees", "lattices",
}  # fmt: skip
CALIBRATOR = {"calibrator": "platt", "format": 1, "params": {"domain": "probability"},
              "fitted": {"slope": 1.5, "offset": -0.25}}  # fmt: skip
PARTS = ("arcs", "words", "posterior_arcs", "posterior_words")
TRAINED = """{
 "recognizer": "kaldi", "tolerance": 0.1,
 "scales": {"acoustic": 0.5, "transition": 0.5, "word_penalty": -0.5, "length_exponent": 0.0},
 "features": "full", "absent": ["logprob", "rank"], "labels": "store", "equate": "numbers,spelling",
 "silence_loss": false,
 "training": {"cell": "lstm", "state": 128, "start": "", "folds": 8, "fold": 3, "epochs_run": 20, "best_epoch": 14},
 "metrics": {"dev_eer": 0.1023, "dev_nce": 0.6309},
 "search": [{"state": 80, "dev_eer": 0.11}, {"state": 128, "dev_eer": 0.1}],
 "choice": {"criterion": "gain", "threshold": 0.2}, "choice_errors_on_dev": {"mean": 12, "gain 0.2": 10}
}"""
CALIBRATED = f"""{{
 "recognizer": "whisper", "tolerance": 0.1, "choice": {{"criterion": "mean", "threshold": 0.5}},
 "choice_errors": {{"mean": 10, "gain 0.2": 12}},
 "calibration": {json.dumps(dict.fromkeys(PARTS, CALIBRATOR))},
 "calibrated_on": {{"utterances": 5171, "words": 46126, "speakers": [658428, 2554089]}},
 "error_estimator": {{"format": 1, "insertion_share": 0.1}},
 "accept": [{{"precision": 0.98, "threshold": 0.93, "accepted": 0.7, "level": 0.95, "speakers": 1354}}]
}}"""
GENERIC = """{
 "recognizer": null, "generic": true, "training": {"seed": 1}, "trained_together": ["a", "b"],
 "choice": {"criterion": "mean-silence", "threshold": 0.5},
 "calibrated_on": {"utterances": 8370, "recognizers": 9, "speakers": [5649091]},
 "unseen": {"whisper-base": {"eer": 0.1457, "nce": 0.444}}
}"""
ADAPTED = """{
 "recognizer": "mine", "generic": true, "tolerance": 0.1,
 "scales": {"acoustic": 1.0, "transition": 1.0, "word_penalty": 0.0, "length_exponent": 0.2},
 "adapted": {"utterances": 108, "from": null, "columns": ["posterior", "frames"]}
}"""
PAPER = """{
 "recognizer": "sphinx", "labels": "one-best",
 "paper": {"differences": ["other vectors"], "L": {"arcs": 1.8, "words": 2.5}}
}"""
LATER = """{"recognizer": "x", "mood": {"of": ["a", "later", "version"]}}"""
EXPECTED = {
    TRAINED: ModelCard(
        "kaldi",
        tolerance=0.1,
        scales=Scales(0.5, 0.5, -0.5),
        features="full",
        absent=("logprob", "rank"),
        labels="store",
        equate="numbers,spelling",
        silence_loss=False,
        training=TrainingRecord(json.loads(TRAINED)["training"]),
        metrics={"dev_eer": 0.1023, "dev_nce": 0.6309},
        search=({"state": 80, "dev_eer": 0.11}, {"state": 128, "dev_eer": 0.1}),
        choice=Choice("gain", 0.2),
        choice_errors_on_dev={"mean": 12, "gain 0.2": 10},
    ),
    CALIBRATED: ModelCard(
        "whisper",
        tolerance=0.1,
        choice=Choice(),
        choice_errors={"mean": 10, "gain 0.2": 12},
        calibration=dict.fromkeys(PARTS, CALIBRATOR),
        calibrated_on=CalibrationData(5171, 46126, speakers=(658428, 2554089)),
        error_estimator={"format": 1, "insertion_share": 0.1},
        accept=({"precision": 0.98, "threshold": 0.93, "accepted": 0.7, "level": 0.95, "speakers": 1354},),
    ),
    GENERIC: ModelCard(
        is_generic=True,
        training=TrainingRecord({"seed": 1}),
        trained_together=("a", "b"),
        choice=Choice("mean-silence"),
        calibrated_on=CalibrationData(8370, recognizers=9, speakers=(5649091,)),
        unseen={"whisper-base": {"eer": 0.1457, "nce": 0.444}},
    ),
    ADAPTED: ModelCard(
        "mine",
        is_generic=True,
        tolerance=0.1,
        scales=Scales(length_exponent=0.2),
        adapted=Adaptation(108, None, ("posterior", "frames")),
    ),
    PAPER: ModelCard("sphinx", labels="one-best", paper=PaperRecord(("other vectors",), {"arcs": 1.8, "words": 2.5})),
    LATER: ModelCard("x", extra={"mood": {"of": ["a", "later", "version"]}}),
}


@pytest.mark.parametrize("text", EXPECTED)
def test_every_kind_of_card_is_read_and_written_with_the_same_keys(text: str) -> None:
    card = ModelCard.from_json(json.loads(text))
    assert card == EXPECTED[text]
    assert json.loads(json.dumps(card.to_json())) == json.loads(text)


def test_every_field_is_in_one_of_the_cards_above() -> None:
    used = {field.name for card in EXPECTED.values() for field in fields(card)
            if getattr(card, field.name) != getattr(ModelCard(), field.name)}  # fmt: skip
    assert {field.name for field in fields(ModelCard)} - used == {"usual_features", "shipped"}  # see shipped models


@pytest.mark.parametrize("name", shipped.names(shipped.MODEL))
def test_every_shipped_model_is_read_and_written_with_the_same_keys(name: str) -> None:
    on_disk = json.loads((shipped.FOLDER / name / "model.json").read_text("utf-8"))
    expected = {key: value for key, value in on_disk.items() if key not in FILE_KEYS and value != {}}
    card = load_model(shipped.FOLDER / name).card
    assert json.loads(json.dumps(card.to_json())) == expected
    assert card.shipped is not None
    assert (card.shipped.name, card.extra) == (name, {})
    assert (card.recognizer, card.is_generic) == ((None, True) if name == "generic" else (name, False))
    scorer = wt.load(name)
    assert scorer.calibration is not None
    assert scorer.choice.criterion in ("gain", "mean-silence")
    assert (scorer.scales is None, card.usual_features is None) == (card.is_generic, card.is_generic)


def test_nothing_is_known_of_a_model_that_says_nothing() -> None:
    assert ModelCard.from_json({}) == ModelCard()
    assert ModelCard().to_json() == {"recognizer": None}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("absent", "rank"), ("labels", 5), ("training", []), ("metrics", 3), ("search", [3]), ("adapted", 3),
        ("adapted", {"utterances": "many", "from": None, "columns": []}), ("calibrated_on", {"utterances": None}),
        ("calibrated_on", {"utterances": 1, "speakers": ["bob"]}), ("paper", {"differences": []}), ("card", {}),
        ("choice_errors", []), ("unseen", []), ("trained_together", {}),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_with_its_key(key: str, value: Any) -> None:
    with pytest.raises(InputError, match=key):
        ModelCard.from_json({key: value})


@pytest.mark.parametrize(
    ("options", "expected"),
    [({"folds": 8, "fold": 3}, (8, 3)), ({}, None), ({"folds": 0, "fold": 0}, None), ({"folds": "8"}, None)],
)
def test_the_fold_that_was_left_out(options: dict[str, Any], expected: tuple[int, int] | None) -> None:
    assert TrainingRecord(options).left_out_fold == expected


def test_choices_know_every_criterion() -> None:
    assert {choice.criterion for choice in Choice.all()} == set(CRITERIA)
    assert [str(choice) for choice in Choice.all()[:3]] == ["mean", "mean-silence", "gain 0.05"]

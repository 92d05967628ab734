"""What a model has for a language model: kept whole, refused when damaged, and used only where it fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.confidence.test_trees import random_trees
from tests.helpers.made_models import made_model, sample_networks
from tests.helpers.output_words import drawn_output
from tests.language_models.test_arpa import NGRAMS, arpa_text
from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.tensors import read_tensors, write_tensors
from wordtrust.confidence.choice import Choice
from wordtrust.confidence.estimate import known_of
from wordtrust.confidence.estimation.accepted import AcceptedPrecision
from wordtrust.confidence.estimation.error_estimator import ErrorEstimator
from wordtrust.confidence.lm_part import FILE, FittedLanguageModel, LanguageModelPart
from wordtrust.confidence.model_file import save_model
from wordtrust.confidence.word_scorer import WordScorer, load
from wordtrust.language_models.evidence import COLUMNS, load_evidence

NETWORKS = sample_networks()
MODEL = made_model(NETWORKS)
ACCEPTED = AcceptedPrecision(0.95, 0.7, 0.8, 0.95, 60)
SEEN = len(MODEL.config.columns) + len(COLUMNS)


@pytest.fixture
def arpa(tmp_path: Path) -> Path:
    path = tmp_path / "small.arpa"
    path.write_text(arpa_text())
    return path


def part_of(arpa: Path) -> LanguageModelPart:
    trees = random_trees(1, 5, 3, SEEN, evidence=COLUMNS, share_weight=0.5, with_network=False)
    trees = replace(trees, feature=np.full_like(trees.feature, SEEN - 1))  # they look at the last column, lm_share
    calibrated = replace(MODEL, trees=trees, card=replace(MODEL.card, choice=Choice("gain", 0.4)))
    return LanguageModelPart.of(FittedLanguageModel.of(load_evidence(arpa)), calibrated)


@pytest.fixture
def folder(arpa: Path, tmp_path: Path) -> Path:
    save_model(MODEL, tmp_path / "model")
    part_of(arpa).save(tmp_path / "model")
    return tmp_path / "model"


def test_what_is_written_is_read(folder: Path, arpa: Path) -> None:
    written, found = part_of(arpa), LanguageModelPart.load(folder, MODEL)
    assert found is not None
    assert found.language_model == written.language_model
    assert found.card == written.card
    assert found.trees.to_json() == written.trees.to_json()
    np.testing.assert_allclose(found.trees.leaf, written.trees.leaf, atol=2e-3)  # in half precision


def test_a_model_without_one_has_none(tmp_path: Path) -> None:
    assert LanguageModelPart.load(tmp_path, MODEL) is None


def test_trees_see_what_the_language_model_says(folder: Path, arpa: Path) -> None:
    reading, plain = load(folder, lm=arpa), load(folder)
    assert (reading.choice, plain.choice) == (Choice("gain", 0.4), Choice())
    networks = reading.networks(NETWORKS)
    assert set(COLUMNS) <= networks.extra.keys()
    one = reading.confidence(networks)
    assert (one != plain.confidence(networks)).any()
    likelier = {**networks.extra, "lm_share": networks.extra["lm_share"] + 5}
    assert (reading.confidence(replace(networks, extra=likelier)) != one).any()
    other = {**networks.extra, "lm_logprob": networks.extra["lm_logprob"] + 5}
    np.testing.assert_array_equal(reading.confidence(replace(networks, extra=other)), one)


def test_networks_that_nobody_has_read_are_refused(folder: Path, arpa: Path) -> None:
    model = load(folder, lm=arpa).model
    with pytest.raises(InputError, match="have no lm_logprob"):
        WordScorer(model).confidence(NETWORKS)


def test_other_language_models_are_refused(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.arpa"
    path.write_text(arpa_text(NGRAMS | {("<unk>",): (-4.5, 0.0)}))
    with pytest.raises(OptionError, match=r"fitted with the language model small.arpa; other.arpa says other"):
        load(folder, lm=path)
    tried = load(folder, lm=path, allow_mismatch=True)
    assert tried.model.trees is not None
    assert (tried.language_model, tried.model.card.accept) == ("other.arpa", ())
    assert "fitted with the language model small.arpa" in str(tried.language_model_warning())
    path.write_text(arpa_text(NGRAMS | {("<unk>",): (-2.55, 0.0)}))  # the same, rounded
    same = load(folder, lm=path)
    assert (same.language_model, same.language_model_warning()) == ("small.arpa", None)  # as it is known here
    assert load(folder).language_model is None


def test_promises_are_for_the_language_model_that_they_were_made_with(folder: Path, arpa: Path) -> None:
    part = LanguageModelPart.load(folder, MODEL)
    assert part is not None
    estimator = ErrorEstimator.fit(drawn_output(np.random.default_rng(1), 60)).to_dict()
    card = replace(part.card, accept=(ACCEPTED.to_dict(),), error_estimator=estimator)
    replace(part, card=card).save(folder)
    assert known_of(folder, "small.arpa").accept == known_of(load(folder, lm=arpa)).accept == (ACCEPTED,)
    assert known_of(folder).accept == known_of(folder, "other.arpa").accept == ()
    own, other = known_of(folder, "small.arpa").estimator, known_of(folder, "other.arpa").estimator
    assert own is not None
    assert other is not None
    assert own.of_speakers is not None
    assert (other.insertion_share, other.of_speakers) == (own.insertion_share, None)
    arpa.write_text(arpa_text(NGRAMS | {("<unk>",): (-4.5, 0.0)}))
    another = load(folder, lm=arpa, allow_mismatch=True)
    assert another.language_model == "another small.arpa"
    assert known_of(another).accept == ()


def test_another_number_of_sentences_is_refused(folder: Path, arpa: Path) -> None:
    with pytest.raises(OptionError, match="the 8 best sentences, not with 4"):
        load(folder, lm=load_evidence(arpa, k=4))


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "song"},
        {"version": 2},
        {"language_model": []},
        {"language_model": {"name": "x", "paths": 8, "weight": 0.5, "fingerprint": ["a"]}},
        {"trees": {"share_weight": 0.5, "chance_weight": 1, "with_network": False}},  # look at what is not there
        {"trees": {"share_weight": 99, "chance_weight": 1, "with_network": False, "evidence": list(COLUMNS)}},
        {"card": {"choice": {"criterion": "luck", "threshold": 0.5}}},
        {"card": None},
    ],
)
def test_damaged_files_are_told(folder: Path, change: dict[str, Any]) -> None:
    arrays, about = read_tensors(folder / FILE)
    write_tensors(folder / FILE, arrays, about | change)
    with pytest.raises(InputError, match=FILE):
        LanguageModelPart.load(folder, MODEL)

"""What a study chooses is chosen on scores by models that did not see the speaker: worked out again, plainly."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.made_models import made_model
from tests.helpers.study_data import write_data
from wordtrust.combination.combination_file import FittedCombination
from wordtrust.combination.subset_comparison import all_subsets
from wordtrust.combination.system_output import SystemOutput, SystemOutputs, references_of
from wordtrust.confidence.calibrate_model import fit_calibration
from wordtrust.confidence.calibration.model_calibration import ModelCalibration
from wordtrust.confidence.choice import Choice
from wordtrust.confidence.model_file import save_model
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.evaluation.evaluation import (
    ArcConfidence,
    ArcScorer,
    evaluate_networks,
    path_errors,
    posterior_confidence,
)
from wordtrust.formats import stream
from wordtrust.lattices.lattice import Floats, Lattices, concatenate
from wordtrust.networks.build_store import SPEAKER
from wordtrust.study import StudyOptions, run_study
from wordtrust.training.study_training import FOLDS, StudyTraining, model_folders

pytestmark = pytest.mark.slow

CHANCES = {"alpha": 0.35, "beta": 0.45, "gamma": 0.25}
SPLITS = {"train": 9, "dev": 5, "eval": 1}  # speakers
Confidence = Callable[[Lattices], Floats]


def untrained(training: StudyTraining, _: Any) -> None:
    """Instead of training: models with random weights, so those of folds are as different as can be."""
    for name, pack in training.packs.items():
        networks = concatenate(stream(str(pack.parent / name / "train")))
        for number, folder in enumerate(model_folders(name, training.out)):
            fold = {"training": {"folds": FOLDS, "fold": number - 1}} if number else {}
            model = made_model(networks, number, **fold)
            save_model(replace(model, weights={key: 4 * each for key, each in model.weights.items()}), folder)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study as far as its models."""
    pytest.importorskip("torch", reason="needs the extra `train`")
    folder = tmp_path_factory.mktemp("study")
    write_data(folder / "data", CHANCES, SPLITS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StudyTraining, "run", untrained)
        run_study(folder / "data", folder / "out", StudyOptions(until="models", jobs=1))
    return folder / "out"


def networks_of(out: Path, name: str) -> Lattices:
    """All that models were chosen on."""
    return concatenate(stream(tuple(str(out / "work" / name / split) for split in ("train", "dev"))))


def scorers(out: Path, name: str) -> list[WordScorer]:
    """The model of all speakers, then those of the folds."""
    return [wt.load(folder) for folder in model_folders(name, out / "work" / "trained")]


def by_strangers(folds: Sequence[WordScorer]) -> Confidence:
    """Utterance by utterance, the model that was trained without the speaker."""

    def confidence(networks: Lattices) -> Floats:
        numbers = [crc32(speaker.encode()) % len(folds) for speaker in networks.notes[SPEAKER]]
        parts = [folds[fold].confidence(networks[place : place + 1]) for place, fold in enumerate(numbers)]
        return np.concatenate(parts)

    return confidence


def ways(out: Path, name: str) -> tuple[Confidence, Confidence]:
    """As it has to be, and as it must not be: by the model that was trained on everybody."""
    trained, *folds = scorers(out, name)
    assert len(folds) == FOLDS
    return by_strangers(folds), trained.confidence


def judge(way: Confidence) -> ArcScorer:
    return lambda networks: posterior_confidence(networks) | {"confidence": ArcConfidence(way(networks))}


@pytest.mark.parametrize("name", CHANCES)
def test_words_are_chosen_and_calibrated_on_speakers_that_models_do_not_know(out: Path, name: str) -> None:
    about, networks = json.loads((out / "models" / name / "model.json").read_text("utf-8")), networks_of(out, name)
    choice, grid = Choice(**about["choice"]), np.linspace(0.02, 0.98, 25)
    kept = ModelCalibration.from_dict(about["calibration"])
    right, wrong = ways(out, name)
    curves = [
        fit_calibration(evaluate_networks([networks], judge(way), choice.paths), "platt") for way in (right, wrong)
    ]
    for part in ("arcs", "words"):
        expected, seen = (each.of(part, grid) for each in curves)
        assert kept.of(part, grid) == pytest.approx(expected, abs=1e-4)
        assert np.abs(expected - seen).max() > 0.01
    errors = [
        [path_errors(networks, each.paths(networks, confidence)) for each in Choice.all()]
        for confidence in (right(networks), wrong(networks))
    ]
    assert list(about["choice_errors"].values()) == errors[0]
    assert errors[0] != errors[1]
    assert choice == Choice.all()[int(np.argmin(errors[0]))]


def together(out: Path, way: int) -> SystemOutputs:
    """The outputs of the final models, scored as they have to be (0) or must not be (1)."""
    outputs, references = {}, {}
    for name in CHANCES:
        final, networks = wt.load(out / "models" / name), networks_of(out, name)
        confidence = ways(out, name)[way](networks)
        found = SystemOutput.of(networks, confidence, final.choice.paths(networks, confidence))
        assert final.calibration is not None
        outputs[name] = found.with_calibrated(final.calibration.parts["words"])
        references = references_of(networks)
    return SystemOutputs.of(outputs, references)


def test_the_combination_is_fitted_on_speakers_that_models_do_not_know(out: Path) -> None:
    kept, (right, wrong) = FittedCombination.load(out / "models" / "joint"), (together(out, way) for way in range(2))
    expected, seen = (FittedCombination.fit(each, all_subsets(3)) for each in (right, wrong))
    assert kept.order == expected.order
    assert kept.order != tuple(CHANCES)
    assert kept.rover == expected.rover
    for members, weights in expected.informed.weights.items():
        assert kept.informed.weights[members] == pytest.approx(weights, abs=1e-4)
        assert np.abs(weights - seen.informed.weights[members]).max() > 0.01
    assert kept.joint is not None
    assert kept.joint.names == kept.order
    errors = {name: int(each.sum()) for name, each in zip(right.names, right.errors, strict=True)}
    assert errors != {name: int(each.sum()) for name, each in zip(wrong.names, wrong.errors, strict=True)}
    for numbers, settings in kept.joint.settings.items():
        assert settings.best_member == errors[kept.order[numbers[0]]]

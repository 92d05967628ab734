"""From a trained model to one that holds everything that was chosen: what scoring a blind split takes, and no more.

All of it is chosen on scores of train and dev by models that did not see the speaker (`calibration.Folds`).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base.files import atomic_folder
from ..base.folds import speaker_number
from ..confidence.adapt import adapt
from ..confidence.choice import Choice, choose
from ..confidence.model_calibration import Folds, fit_calibration, held_out
from ..confidence.model_card import CalibrationData
from ..confidence.model_file import (
    MODEL_JSON,
    SCALES,
    load_model,
    read_log,
    refuse_to_overwrite,
    save_model,
    update_card,
)
from ..confidence.out_of_domain import learned
from ..confidence.word_scorer import WordScorer, load
from ..evaluation.evaluate import Evaluation, evaluate, path_errors
from ..formats import stream
from .baselines import NAME as BASELINES
from .baselines import fit_baselines

CALIBRATOR, FOR_FEW = "kernel", "platt"
FEW = 2000  # words: of fewer, a curve of many bends follows chance


def _calibration(found: Evaluation) -> dict[str, Any]:
    words = len(found.scores["output", "confidence"].score)
    return fit_calibration(found, CALIBRATOR if words >= FEW else FOR_FEW).to_dict()


@dataclass(frozen=True, slots=True)
class Trained:
    """A recognizer's model as training left it, those of its folds, and the networks that they were trained on."""

    model: Path
    folds: tuple[Path, ...]
    train: str  # stores
    dev: str

    def load_folds(self) -> tuple[WordScorer, ...]:
        """The models that know no speaker of theirs."""
        return tuple(load(folder) for folder in self.folds)


def finish_model(trained: Trained, scales: Path, out: Path) -> None:
    """Write the folder of the final model: calibrated, with its way to choose words, its scales and its baselines."""
    refuse_to_overwrite(out)
    with atomic_folder(out) as draft:
        shutil.copytree(trained.model, draft, dirs_exist_ok=True)
        _calibrate(draft, trained)
        shutil.copyfile(scales, draft / SCALES)
        baselines = fit_baselines(lambda: stream(trained.train), lambda: stream(trained.dev))
        baselines.save(draft / BASELINES)


def finish_generic(model: Path, stores: Sequence[str], out: Path) -> None:
    """Write the model for recognizers that nobody has seen: adapted to each of these in turn, calibrated on all.

    The stores are those of dev: it was trained on the others.
    """
    found = load_model(model)
    parts, errors = [], np.zeros(len(Choice.all()), np.int64)
    for store in stores:
        scorer = WordScorer(adapt(found, stream(store)), allow_mismatch=True)
        _, tried = choose(scorer.confidence, stream(store), path_errors)
        errors += list(tried.values())
        parts.append((scorer, store))
    choice = Choice.all()[int(errors.argmin())]
    judged = [evaluate(stream(store), Folds(scorer).judge, choice.paths) for scorer, store in parts]
    total = sum(judged[1:], judged[0])
    speakers = tuple(sorted(speaker_number(name) for name in total.errors["one_best"].speakers))
    card = replace(
        found.card,
        choice=choice,
        calibration=_calibration(total),
        calibrated_on=CalibrationData(total.utterances, recognizers=len(stores), speakers=speakers),
    )
    save_model(replace(found, card=card), out, read_log(model))


def _calibrate(model: Path, trained: Trained) -> None:
    """Choose how words are read off, and fit the calibration for just that."""
    stores, scorer = (trained.train, trained.dev), load(model)
    folds = Folds(scorer, trained.load_folds())
    scorer.choice, errors = choose(folds.confidence, stream(stores), path_errors)
    found = held_out(map(scorer.networks, stream(stores)), folds, scorer.choice.paths)
    words = found.scores["output", "confidence"]
    speakers = tuple(sorted(speaker_number(name) for name in words.speakers))
    card = replace(
        scorer.model.card,
        choice=scorer.choice,
        choice_errors=errors,
        calibration=_calibration(found),
        usual_features=learned(scorer.model, map(scorer.networks, stream(stores)), found.utterances),
        calibrated_on=CalibrationData(found.utterances, len(words), speakers=speakers),
    )
    update_card(model, card)


def usable(models: Path, names: Sequence[str]) -> list[str]:
    """Those of the recognizers that have a final model among these."""
    return [name for name in names if (models / name / MODEL_JSON).is_file() and (models / name / SCALES).is_file()]

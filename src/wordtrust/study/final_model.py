"""From a trained model to one that holds everything that was chosen: what scoring a blind split takes, and no more.

All of it is chosen on scores of train and dev by models that did not see the speaker (`OutOfFoldScorer`).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ..base.files import atomic_folder
from ..confidence.calibrate_model import calibrate_generic, calibrate_model
from ..confidence.model_file import (
    MODEL_JSON,
    SCALES,
    load_model,
    read_log,
    refuse_to_overwrite,
    save_model,
    update_card,
)
from ..confidence.word_scorer import WordScorer, load
from ..formats import stream
from ..training.stacked_trees import stacked_trees
from .baselines import NAME as BASELINES
from .baselines import fit_baselines
from .same_inputs import NAME as SAME_INPUTS
from .same_inputs import fit_same_inputs


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A recognizer's model as training left it, those of its folds, and the networks that they were trained on."""

    model: Path
    folds: tuple[Path, ...]
    train: str  # stores
    dev: str

    def load_folds(self) -> tuple[WordScorer, ...]:
        """The models that know no speaker of theirs."""
        return tuple(load(folder) for folder in self.folds)


def write_with_trees(trained: TrainedModel, folders: Sequence[Path]) -> None:
    """Write the same models, that of all speakers first, with trees beside the network unless words are few."""
    sources = (trained.model, *trained.folds)
    models = [load_model(source) for source in sources]
    trees = stacked_trees(models[0], models[1:], trained.train, trained.dev)
    for model, own, source, folder in zip(models, trees, sources, folders, strict=True):
        save_model(replace(model, trees=None if None in trees else own), folder, read_log(source))


def write_final_model(trained: TrainedModel, scales: Path, baselines: tuple[str, str], out: Path) -> None:
    """Write the folder of the final model: calibrated, with its way to choose words, its scales and its baselines.

    `baselines` are the stores of train and dev that these are fitted on.
    """
    refuse_to_overwrite(out)
    with atomic_folder(out) as draft:
        shutil.copytree(trained.model, draft, dirs_exist_ok=True)
        stores, folds = (trained.train, trained.dev), trained.load_folds()
        calibrated = calibrate_model(load(draft), stores, fold_scorers=folds, calibrator=None)
        update_card(draft, calibrated.model.card)
        shutil.copyfile(scales, draft / SCALES)
        fit_baselines(*(partial(stream, store) for store in baselines)).save(draft / BASELINES)
        fit_same_inputs(calibrated.model, baselines[0]).save(draft / SAME_INPUTS)


def write_generic_model(model: Path, stores: Sequence[str], out: Path) -> None:
    """Write the model for recognizers that nobody has seen: adapted to each of these in turn, calibrated on all.

    The stores are those of dev: it was trained on the others.
    """
    calibrate_generic(load_model(model), stores).save(out, trained=model)


def available_models(models: Path, names: Sequence[str]) -> list[str]:
    """Those of the recognizers that have a final model among these."""
    return [name for name in names if (models / name / MODEL_JSON).is_file() and (models / name / SCALES).is_file()]

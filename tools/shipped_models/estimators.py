"""Fits how errors are estimated anew, for models that are shipped already: networks, trees and thresholds stay.

What a model knows about whole outputs (`wordtrust estimate`) is fitted on words of train and dev that were scored by
models which did not see the speaker. For what it has for a language model, trees of the folds are fitted anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wordtrust.base.errors import OptionError
from wordtrust.confidence.calibrate_model import held_out_scores
from wordtrust.confidence.calibration.model_calibration import ModelCalibration
from wordtrust.confidence.choice import Choice
from wordtrust.confidence.estimation.held_out import known_of_outputs
from wordtrust.confidence.lm_part import LanguageModelPart
from wordtrust.confidence.model_card import ModelCard
from wordtrust.confidence.model_file import Model, load_model, update_card
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.formats.batches import read_batches
from wordtrust.language_models.evidence import COLUMNS, LanguageEvidence
from wordtrust.lattices.lattice import Lattices
from wordtrust.study.language_model import with_share_weight
from wordtrust.study.layout import DEV, TRAIN, StudyFolder
from wordtrust.training.stacked_trees import stacked_trees
from wordtrust.training.study_training import model_folders


def refit_estimator(study: StudyFolder, shipped: Path, evidence: LanguageEvidence | None = None) -> None:
    """Fit the estimator of one shipped model anew, and that of what it has for a language model, if one is given."""
    name, model = shipped.name, load_model(shipped)
    stores = tuple(str(study.store(name, split)) for split in (TRAIN, DEV))
    with_trees = study.with_trees if study.with_trees.is_dir() else study.trained
    models = [load_model(folder) for folder in model_folders(name, with_trees)]
    estimator = _fitted(models, stores, model.card)
    update_card(shipped, replace(model.card, error_estimator=estimator), small=True)
    part = LanguageModelPart.load(shipped, model)
    if evidence is None or part is None:
        return
    train, dev = ([evidence(batch) for batch in read_batches(store)] for store in stores)
    models = _with_lm_trees([load_model(folder) for folder in model_folders(name, study.trained)], part, train, dev)
    estimator = _fitted(models, [*train, *dev], part.applied(model).card)
    replace(part, card=replace(part.card, error_estimator=estimator)).save(shipped)


def _with_lm_trees(
    models: Sequence[Model], part: LanguageModelPart, train: Sequence[Lattices], dev: Sequence[Lattices]
) -> list[Model]:
    """The model and those of its folds, with trees made as those of the part were."""
    fitted = []
    for model, trees in zip(models, stacked_trees(models[0], models[1:], train, dev, evidence=COLUMNS), strict=True):
        if trees is None:
            raise OptionError("these are too few words for trees")
        fitted.append(with_share_weight(replace(model, trees=trees), part.trees.share_weight))
    return fitted


def _fitted(models: Sequence[Model], networks: Any, card: ModelCard) -> dict[str, Any] | None:
    """What is known about the outputs of the first, with words chosen and calibrated as the card says."""
    scorer, *folds = [WordScorer(model).with_choice(card.choice or Choice()) for model in models]
    scored = held_out_scores(scorer, networks, fold_scorers=folds, keep_choice=True)
    calibration = ModelCalibration.from_dict(card.calibration or {})
    known = known_of_outputs(scored.evaluation, calibration.parts["words"].name, calibration.parts.get("gaps"))
    return None if known.estimator is None else known.estimator.to_dict()

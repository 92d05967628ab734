"""What a study makes of a language model: trees that see what it says, beside the networks that know nothing of it.

The networks of train and dev are read by it. Trees are fitted as those without it are (`training.stacked_trees`),
each model of a fold with trees of its own; how much they move the shares of paths is chosen on dev, and calibration
and choice of words on train and dev, all of it out of fold. A recognizer that gains nothing on dev gets none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ..base.errors import OptionError
from ..base.files import atomic, atomic_folder
from ..confidence.calibrate_model import OutOfFoldScorer, calibrate_model
from ..confidence.choice import Choice
from ..confidence.lm_part import FILE, FittedLanguageModel, LanguageModelPart
from ..confidence.model_file import Model, load_model
from ..confidence.word_scorer import WordScorer
from ..evaluation.evaluation import evaluate_networks
from ..formats import stream
from ..language_models.evidence import COLUMNS, LanguageEvidence, load_evidence
from ..networks.build_store import BuildOptions, build_store
from ..training.stacked_trees import stacked_trees
from .final_model import TrainedModel
from .layout import StudyFolder
from .steps import Steps, key_of

SHARE_WEIGHTS = (0.25, 0.5, 0.75)  # that are tried; without a language model it is .25


@dataclass(frozen=True)
class StudyLanguageModel:
    """A language model that reads the networks of a study."""

    name: str  # file, folder or hub name
    folder: StudyFolder
    steps: Steps

    @cached_property
    def evidence(self) -> LanguageEvidence:
        """Loaded when it is needed first."""
        return load_evidence(self.name)

    @cached_property
    def fitted(self) -> FittedLanguageModel:
        """How it is known again."""
        return FittedLanguageModel.of(self.evidence)

    @property
    def key(self) -> str:
        """For steps that depend on it."""
        return key_of(self.fitted)

    def read(self, name: str, split: str, networks_key: str) -> Path:
        """The networks of a split with what it says of them."""
        source, store = self.folder.store(name, split), self.folder.lm_store(name, split)
        key = key_of(networks_key, self.key)

        def work() -> None:
            build_store(stream(str(source)), store, BuildOptions(evidence=self.evidence), jobs=1, key=[key])

        self.steps.run(f"{name}: {split} read by the language model", key, [store], work)
        return store

    def fit(self, trained: TrainedModel, plain: TrainedModel) -> LanguageModelPart | None:
        """What a model has for this language model; None where it brings nothing.

        `trained` are the models without trees, and networks that it has read; `plain` those with trees.
        """
        whole, *folds = [load_model(folder) for folder in (trained.model, *trained.folds)]
        trees = stacked_trees(whole, folds, trained.train, trained.dev, evidence=COLUMNS)
        if None in trees:
            return None
        models = [replace(model, trees=own) for model, own in zip([whole, *folds], trees, strict=True)]
        tried = {weight: [with_share_weight(model, weight) for model in models] for weight in SHARE_WEIGHTS}
        gained = {weight: one_best_nce(weighed, trained.dev) for weight, weighed in tried.items()}
        best = max(gained, key=lambda weight: gained[weight])
        without = one_best_nce([load_model(folder) for folder in (plain.model, *plain.folds)], trained.dev)
        self.steps.notify(
            f"{trained.model.name}: NCE of the words of the 1-best of dev {without:.3f}, with the language model "
            + ", ".join(f"{nce:.3f} ({weight:g})" for weight, nce in gained.items())
        )
        if gained[best] <= without:
            return None
        scorer, *fold_scorers = map(WordScorer, tried[best])
        stores = (trained.train, trained.dev)
        made = calibrate_model(scorer, stores, fold_scorers=fold_scorers, calibrator=None)
        return LanguageModelPart.of(self.fitted, made.model)

    def fit_into(self, folder: Path, trained: TrainedModel, plain: TrainedModel) -> None:
        """Fit it, and write it into a folder, which stays empty where it brings nothing."""
        part = self.fit(trained, plain)
        with atomic_folder(folder) as draft:
            if part is None:
                self.steps.notify(f"{folder.name}: the language model brings nothing, so it is left out")
            else:
                part.save(draft)


def install(fitted: Path, model: Path) -> None:
    """Put what was fitted into the folder of the final model; where that is nothing, nothing stays there."""
    if (fitted / FILE).is_file():
        with atomic(model / FILE) as file:
            file.write((fitted / FILE).read_bytes())
    else:
        (model / FILE).unlink(missing_ok=True)


def with_share_weight(model: Model, weight: float) -> Model:
    """The model with trees that move the shares of paths by so much."""
    if model.trees is None:
        raise OptionError("there are no trees beside the network")
    return replace(model, trees=replace(model.trees, share_weight=weight))


def one_best_nce(models: Sequence[Model], dev: str) -> float:
    """Of the words of the 1-best, by models that did not know the speaker; not calibrated."""
    scorer, *fold_scorers = map(WordScorer, models)
    folds = OutOfFoldScorer(scorer, fold_scorers)
    evaluation = evaluate_networks(folds.networks(dev), folds.arc_confidences, Choice().paths)
    return float(evaluation.scores["one_best", "confidence"].metrics().nce or 0.0)

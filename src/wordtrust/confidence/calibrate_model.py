"""Calibrate a model on utterances that it was not trained on, and choose by which criterion it decodes words.

    calibrated = wt.calibrate_model(wt.load("model"), "dev.networks")
    calibrated.after.nce, calibrated.after.ece
    calibrated.save(Path("model.calibrated"))

The utterances are those of a held-out store, or the training data themselves if models that were trained without a
fold of speakers each score them (`OutOfFoldScorer`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path

import numpy as np

from ..base.errors import InputError, OptionError
from ..base.folds import in_fold, speaker_id
from ..evaluation.evaluation import (
    GAPS,
    UTTERANCES,
    ArcConfidence,
    Evaluation,
    evaluate_networks,
    path_errors,
    posterior_confidence,
)
from ..evaluation.metrics import ScoreMetrics, Scores
from ..formats.batches import BatchSource, read_batches
from ..lattices.lattice import Flags, Floats, Lattices
from ..lattices.paths import Paths
from ..lattices.weights import Reals
from ..networks.build_store import SPEAKER
from .adapt import adapt
from .calibration import Calibrator, make
from .calibration.amount import require_enough_words
from .calibration.model_calibration import ModelCalibration
from .choice import Choice, choose, choose_for_unseen
from .estimation.held_out import KnownOfOutputs, known_of_outputs
from .lattice_rnn import ArcScores
from .model_card import CalibrationData, ModelCard
from .model_file import Model, read_log, save_model
from .out_of_domain import fit_usual_features
from .word_scorer import WordScorer

FEW_WORDS = 2000  # a kernel calibrator follows chance with fewer; two parameters are enough then
SCORES_OF_PARTS = {  # the population and the kind of score that each part of a calibration is fitted on
    "arcs": ("arcs", "confidence"),
    "words": ("output", "confidence"),
    "posterior_arcs": ("arcs", "posterior"),
    "posterior_words": ("one_best", "posterior"),
}
FOR_RARE = "platt"  # words are missing in one gap of a hundred: two numbers keep the order, and do not follow chance
BEYOND_WORDS = {"gaps": GAPS, "utterances": UTTERANCES}  # parts, where there are both kinds of labels


class OutOfFoldScorer:
    """A model and those trained without a fold of speakers each: everybody is scored by one that never saw them.

    A fold without a model would be scored by one that was trained on it, so all of them are needed.
    """

    def __init__(self, scorer: WordScorer, fold_scorers: Sequence[WordScorer] = ()) -> None:
        self.scorer = scorer
        self._folds = [(fold_scorer, *_left_out_fold(fold_scorer)) for fold_scorer in fold_scorers]
        folds = sorted((n_folds, fold) for _, n_folds, fold in self._folds)
        if folds and folds != [(folds[0][0], fold) for fold in range(folds[0][0])]:
            given = ", ".join(f"{fold} of {n_folds}" for n_folds, fold in folds)
            raise OptionError(f"--fold-model needs a model for each fold, once; these are {given}")

    def networks(self, source: BatchSource) -> Iterator[Lattices]:
        """The networks of lattices, built as those that the model was trained on."""
        return map(self.scorer.networks, read_batches(source))

    def confidence(self, networks: Lattices) -> Floats:
        """[arcs] by the model that did not see the speaker; without folds, by the model itself."""
        return _joined_confidence(networks, self._parts(networks))

    def arc_confidences(self, networks: Lattices) -> dict[str, ArcConfidence]:
        """For `evaluate`: posteriors and confidences, neither calibrated."""
        return posterior_confidence(networks) | {"confidence": self.scores(networks)}

    def scores(self, networks: Lattices) -> ArcConfidence:
        """Confidences, and those of gaps and utterances, none of them calibrated."""
        parts = self._parts(networks)
        return ArcConfidence(
            _joined_confidence(networks, parts),
            of_gaps=partial(_joined_missing, networks, parts),
            of_utterances=partial(_joined_correct, networks, parts),
        )

    def _parts(self, networks: Lattices) -> list[_FoldScores]:
        """For each fold of the speakers of these networks, the scores of the model that did not see it."""
        if not self._folds:
            everybody = np.ones(len(networks), np.bool_)
            return [_FoldScores(self.scorer, everybody, self.scorer.arc_scores(networks))]
        speaker = np.array([speaker_id(name) for name in networks.notes[SPEAKER]], np.uint32)
        left_out = [(scorer, in_fold(speaker, n_folds, fold)) for scorer, n_folds, fold in self._folds]
        return [_FoldScores(scorer, own, scorer.arc_scores(networks)) for scorer, own in left_out if own.any()]


@dataclass(frozen=True, slots=True, eq=False)
class _FoldScores:
    """What one model says about all utterances, of which some are its own."""

    scorer: WordScorer
    own: Flags  # [utterances]
    scores: ArcScores


def _joined_confidence(networks: Lattices, parts: Sequence[_FoldScores]) -> Floats:
    confidence, sizes = np.zeros(len(networks.source), np.float32), np.diff(networks.arc_offsets)
    for part in parts:
        confidence = np.where(np.repeat(part.own, sizes), part.scores.confidence, confidence)
    return confidence


def _joined_missing(networks: Lattices, parts: Sequence[_FoldScores], paths: Paths) -> Reals | None:
    """[gaps] None if a model does not tell."""
    gaps = np.diff(paths.without_silence(networks).offsets) + 1
    joined = np.zeros(gaps.sum())
    for part in parts:
        missing = part.scorer.missing(networks, part.scores, paths, calibrated=False)
        if missing is None:
            return None
        joined = np.where(np.repeat(part.own, gaps), missing, joined)
    return joined


def _joined_correct(networks: Lattices, parts: Sequence[_FoldScores], paths: Paths) -> Reals:
    correct = np.zeros(len(networks))
    for part in parts:
        of_all = part.scorer.correct(networks, part.scores, paths, calibrated=False)
        correct = np.where(part.own, of_all, correct)
    return correct


def _left_out_fold(scorer: WordScorer) -> tuple[int, int]:
    fold = scorer.model.card.training.left_out_fold
    if fold is None:
        raise InputError(
            "this model was trained on all speakers",
            remedy="Models for --fold-model are trained with --folds K --fold 0 to K - 1",
        )
    return fold


@dataclass(frozen=True)
class HeldOutScores:
    """What a calibration is fitted on: words scored by models that did not see their speakers."""

    choice: Choice
    choice_errors: dict[str, int]  # of every choice that was tried; empty if none was
    evaluation: Evaluation

    @property
    def words(self) -> Scores:
        """The words of the output, with confidences that are not calibrated."""
        return self.evaluation.scores["output", "confidence"]


@dataclass(frozen=True)
class CalibratedModel:
    """A calibrated model, and the scores that its calibration was fitted on."""

    model: Model
    calibration: ModelCalibration
    held_out: HeldOutScores

    @property
    def utterances(self) -> int:
        """How many it was calibrated on."""
        return self.held_out.evaluation.utterances

    @cached_property
    def before(self) -> ScoreMetrics:
        """The metrics of the words it was calibrated on, before calibration."""
        return self.held_out.words.metrics()

    @cached_property
    def after(self) -> ScoreMetrics:
        """The same after calibration."""
        words = self.held_out.words
        return replace(words, score=self.calibration.of("words", words.score)).metrics()

    def save(self, folder: Path, trained: Path | None = None) -> None:
        """Write the model folder, with the training log of the model that was calibrated (`trained`)."""
        save_model(self.model, folder, [] if trained is None else read_log(trained))


def calibrate_model(
    scorer: WordScorer,
    networks: BatchSource,
    *,
    fold_scorers: Sequence[WordScorer] = (),
    calibrator: str | None = "kernel",
    keep_choice: bool = False,
) -> CalibratedModel:
    """Calibrate a model on networks with references, and choose how it decodes words.

    Files, folders, globs and batches of networks will do; those of the training too, if there are `fold_scorers`:
    models that were trained without a fold of speakers each. `calibrator` is one of `wt.calibrate.names()`; None
    takes the kernel, or Platt's where words are few. `keep_choice` leaves the decoding criterion as the model has it.
    """
    networks = _rereadable(networks)
    held_out = held_out_scores(scorer, networks, fold_scorers=fold_scorers, keep_choice=keep_choice)
    calibration = fit_calibration(held_out.evaluation, calibrator)
    batches = map(scorer.networks, read_batches(networks))
    usual = fit_usual_features(scorer.model, batches, held_out.evaluation.utterances)
    made = with_calibration(scorer.model, calibration, held_out.choice, held_out.evaluation)
    errors = scorer.model.card.choice_errors if keep_choice else held_out.choice_errors
    known = known_of_outputs(held_out.evaluation, calibration.parts["words"].name, calibration.parts.get("gaps"))
    card = replace(_with_known(made.card, known), choice_errors=errors, usual_features=usual)
    return CalibratedModel(replace(made, card=card), calibration, held_out)


def calibrate_generic(
    model: Model, networks: Sequence[BatchSource], calibrator: str | None = None
) -> CalibratedModel:
    """Calibrate a generic model on networks of several recognizers, adapted to each of them in turn.

    Words are chosen so that none of these recognizers loses by it (`choose_for_unseen`). Where the model has a
    formula for lattices, its network is calibrated without it, and the formula so that it goes with that.
    """
    sources = list(map(_rereadable, networks))
    of_words: dict[str, Calibrator] = {}
    if model.lattices is not None:
        of_words = _words_calibrated(_generic_parts(replace(model, lattices=None), sources), calibrator)
        by_words = ModelCalibration(of_words)
        batches = (read_batches(source) for source in sources)
        model = replace(model, lattices=model.lattices.calibrated(batches, partial(by_words.of, "words")))
    parts = _generic_parts(model, sources)
    choice, errors = choose_for_unseen(map(_scored, parts), path_errors)
    held_out = replace(_held_out(parts, choice), choice_errors=errors)
    calibration = ModelCalibration({**fit_calibration(held_out.evaluation, calibrator).parts, **of_words})
    made = with_calibration(model, calibration, held_out.choice, held_out.evaluation, recognizers=len(sources))
    known = known_of_outputs(held_out.evaluation, calibration.parts["words"].name, calibration.parts.get("gaps"))
    # Of recognizers that nobody has seen, nothing can be promised.
    made = replace(made, card=replace(_with_known(made.card, known.without_promises()), choice_errors=errors))
    return CalibratedModel(made, calibration, held_out)


def _generic_parts(model: Model, sources: Sequence[BatchSource]) -> list[tuple[OutOfFoldScorer, BatchSource]]:
    """A generic model, adapted to each of these recognizers in turn, with its networks."""
    scorers = [WordScorer(adapt(model, read_batches(source)), allow_mismatch=True) for source in sources]
    return list(zip(map(OutOfFoldScorer, scorers), sources, strict=True))


def _words_calibrated(
    parts: Sequence[tuple[OutOfFoldScorer, BatchSource]], calibrator: str | None
) -> dict[str, Calibrator]:
    """What confidences of arcs and words are calibrated by, chosen as for recognizers that nobody has seen."""
    choice, _ = choose_for_unseen(map(_scored, parts), path_errors)
    fitted = fit_calibration(_held_out(parts, choice).evaluation, calibrator).parts
    return {part: fitted[part] for part in ("arcs", "words")}


def with_best_choice(model: Model, networks: BatchSource) -> Model:
    """The model with the decoding criterion that makes the fewest errors on these networks of a development set."""
    scorer = WordScorer(model)
    choice, errors = choose(((batch, scorer.confidence(batch)) for batch in read_batches(networks)), path_errors)
    return replace(model, card=replace(model.card, choice=choice, choice_errors_on_dev=errors))


def held_out_scores(
    scorer: WordScorer,
    networks: BatchSource,
    *,
    fold_scorers: Sequence[WordScorer] = (),
    keep_choice: bool = False,
) -> HeldOutScores:
    """The scores that `calibrate_model` fits a calibration on, for comparing calibrators."""
    part = OutOfFoldScorer(scorer, fold_scorers), _rereadable(networks)
    return _held_out([part], scorer.choice if keep_choice else None)


def _held_out(parts: Sequence[tuple[OutOfFoldScorer, BatchSource]], choice: Choice | None = None) -> HeldOutScores:
    """Scores of several models on networks of their own, with one choice for all of them."""
    errors: dict[str, int] = {}
    if choice is None:
        choice, errors = choose(chain.from_iterable(map(_scored, parts)), path_errors)
    evaluations = [
        evaluate_networks(folds.networks(source), folds.arc_confidences, choice.paths) for folds, source in parts
    ]
    total = sum(evaluations[1:], evaluations[0])
    if not total.utterances:
        raise InputError("there are no utterances to calibrate the model on")
    return HeldOutScores(choice, errors, total)


def _scored(part: tuple[OutOfFoldScorer, BatchSource]) -> Iterator[tuple[Lattices, Floats]]:
    folds, source = part
    return ((batch, folds.confidence(batch)) for batch in folds.networks(source))


def fit_calibration(evaluation: Evaluation, calibrator: str | None = "kernel") -> ModelCalibration:
    """Fit a calibrator of this name for every part; None takes the kernel, or Platt's where words are few."""
    words = evaluation.scores["output", "confidence"]
    require_enough_words(len(words), len(words.speakers))
    if calibrator is None:
        calibrator = "kernel" if len(words) >= FEW_WORDS else "platt"
    fitted = {part: _fitted(evaluation.scores[scores], calibrator) for part, scores in SCORES_OF_PARTS.items()}
    for part, population in BEYOND_WORDS.items():
        scores = evaluation.beyond_words.get((population, "confidence"))
        if scores is not None and 0 < np.count_nonzero(scores.correct) < len(scores):
            fitted[part] = _fitted(scores, FOR_RARE)
    return ModelCalibration(fitted)


def _fitted(scores: Scores, name: str) -> Calibrator:
    return make(name).fit(np.clip(scores.score, 0.0, 1.0), scores.correct, groups=scores.speaker)


def with_calibration(
    model: Model,
    calibration: ModelCalibration,
    choice: Choice,
    fitted_on: Evaluation,
    *,
    recognizers: int | None = None,
) -> Model:
    """The model with a calibration and a choice, and a note of the utterances that they were fitted on."""
    n_words = None if recognizers else len(fitted_on.scores["output", "confidence"])
    speakers = sorted(map(speaker_id, fitted_on.errors["one_best"].speakers))
    data = CalibrationData(fitted_on.utterances, n_words, recognizers, tuple(speakers))
    return replace(
        model, card=replace(model.card, choice=choice, calibration=calibration.to_dict(), calibrated_on=data)
    )


def _with_known(card: ModelCard, known: KnownOfOutputs) -> ModelCard:
    estimator = None if known.estimator is None else known.estimator.to_dict()
    return replace(card, error_estimator=estimator, accept=tuple(entry.to_dict() for entry in known.accept))


def _rereadable(networks: BatchSource) -> BatchSource:
    return list(networks) if isinstance(networks, Iterator) else networks

"""Evaluate a model, or the posteriors of networks, or the confidences that came with words.

wt.evaluate("eval.networks")                                         # posteriors
wt.evaluate("eval.networks", "whisper-base").to_dict()               # a shipped model, a folder or a loaded scorer
wt.evaluate("calls.ctm", references="calls.stm").words.metrics()     # words with confidences: no model needed
wt.evaluate("calls.ctm", "calibrator.json", references="calls.stm")  # and as a calibrator changes these
wt.evaluate("eval.networks", "calibrator.json")                      # the same of posteriors
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OptionError
from ..base.problems import Problems
from ..evaluation.evaluation import (
    ArcConfidence,
    Choose,
    Evaluation,
    Inspect,
    as_written,
    evaluate_networks,
    evaluate_words,
    posterior_confidence,
)
from ..formats.batches import BatchSource, read_batches
from ..formats.format import ReadOptions
from ..formats.references import Reference, read_references
from ..formats.references.glm import Glm, read_glm
from ..lattices.lattice import Floats, Lattices
from ..lattices.paths import Paths, one_best
from ..networks.equivalents import Equate
from ..networks.segments import Comparison
from .calibration import Calibrator
from .calibrator_file import is_calibrator, load_calibrator
from .choice import Choice
from .word_scorer import WordScorer, load


def evaluate(
    networks: BatchSource,
    model: WordScorer | Calibrator | str | Path | None = None,
    *,
    references: Mapping[str, Reference] | str | Path | None = None,
    criterion: str | None = None,
    rules: str | None = None,
    glm: Glm | str | Path | None = None,
    equate: Equate | str | None = None,
    allow_mismatch: bool = False,
    problems: Problems | None = None,
    inspect: Inspect | None = None,
    heard: set[str] | None = None,
) -> Evaluation:
    """Measure the words and confidences of networks made with references (`wordtrust build --ref`).

    Without a model, posteriors are the confidences; a calibrator in its place (or its file) changes those of the
    1-best. With `references`, `networks` are words that came with confidences, and these are measured, and as a
    calibrator changes them;
    without confidences, the words alone are. `rules` says how words are
    compared with STM and TRN: "sclite" (as for CTM) or "wordtrust"; `glm` are NIST's rules that are applied first;
    `equate` says which spellings of plain references count as the same word ("all", "none", "numbers,spelling",
    ...). Files, folders, globs and batches will do. `criterion` (mean, mean-silence, gain) says how the best-
    confidence words are chosen, instead of as the model says. `inspect` sees every batch with its confidences and
    the chosen words; `heard` gets the names of the references that there are words for.
    """
    mapping = read_glm(glm) if isinstance(glm, str | Path) else glm
    for_scoring = references is not None
    batches = read_batches(networks, problems, ReadOptions(for_scoring=for_scoring, keep_silent=for_scoring))
    if references is not None:
        calibrator = _calibrator(model)
        if criterion is not None:
            raise OptionError("words that come with confidences are evaluated without a criterion")
        known = references if isinstance(references, Mapping) else read_references(Path(references), glm=mapping)
        evaluation = evaluate_words(
            batches,
            known,
            problems,
            inspect,
            Comparison(rules, mapping, equate=None if equate is None else Equate.parse(equate)),
            heard,
        )
        if calibrator is not None and evaluation.scores:
            evaluation = evaluation.calibrated(calibrator.predict)
    elif (calibrator := _calibrator_of_networks(model)) is not None:
        if criterion is not None:
            raise OptionError("a calibrator chooses no words: leave the criterion out")
        choose = _inspected(lambda batch, _: one_best(batch), inspect)
        evaluation = evaluate_networks(batches, partial(_calibrated_posteriors, calibrator), choose)
    elif model is None:
        paths = _inspected(Choice(criterion or "mean").paths, inspect)
        evaluation = evaluate_networks(batches, posterior_confidence, paths)
    else:
        scorer = _scorer(model, allow_mismatch=allow_mismatch)
        if scorer.wants_adapting:
            scorer, batches = scorer.adapted_ahead(batches)
        choice = Choice(criterion, scorer.choice.threshold) if criterion else scorer.choice
        evaluation = evaluate_networks(batches, partial(arc_confidences, scorer), _inspected(choice.paths, inspect))
    if not evaluation.utterances:
        raise OptionError("no utterances found")
    return evaluation


def _calibrator(model: WordScorer | Calibrator | str | Path | None) -> Calibrator | None:
    """What changes the confidences of words that came with some."""
    if isinstance(model, str | Path) and is_calibrator(Path(model)):
        return load_calibrator(Path(model))
    if isinstance(model, str | Path | WordScorer):
        raise OptionError(
            "words that come with confidences are evaluated without a model; a calibrator (wordtrust calibrate "
            "--scores) may change them"
        )
    return model


def _calibrator_of_networks(model: WordScorer | Calibrator | str | Path | None) -> Calibrator | None:
    """What changes posteriors, if it is no model that takes their place."""
    if isinstance(model, str | Path):
        return load_calibrator(Path(model)) if is_calibrator(Path(model)) else None
    return model if isinstance(model, Calibrator) else None


def _calibrated_posteriors(calibrator: Calibrator, networks: Lattices) -> dict[str, ArcConfidence]:
    """Posteriors as they are, and as a calibrator of words changes them."""
    kinds = posterior_confidence(networks)
    posterior = kinds["posterior"].confidence

    def of_words(confidence: NDArray[np.floating]) -> NDArray[np.floating]:
        return calibrator.predict(as_written(np.asarray(confidence, np.float64)))

    return kinds | {"calibrated": ArcConfidence(posterior, of_words, of_words)}


def _scorer(model: WordScorer | Calibrator | str | Path, *, allow_mismatch: bool) -> WordScorer:
    if isinstance(model, WordScorer):
        return model
    assert isinstance(model, str | Path)
    return load(model, allow_mismatch=allow_mismatch)


def _inspected(choose: Choose, inspect: Inspect | None) -> Choose:
    def choose_and_inspect(networks: Lattices, confidence: Floats) -> Paths:
        paths = choose(networks, confidence)
        if inspect:
            inspect(networks, confidence, paths)
        return paths

    return choose_and_inspect


def arc_confidences(scorer: WordScorer, networks: Lattices) -> dict[str, ArcConfidence]:
    """For `evaluate`: posteriors and confidences, and both calibrated where the model is."""
    kinds = posterior_confidence(networks)
    built = scorer.networks(networks)
    scores, calibration = scorer.arc_scores(built), scorer.calibration
    confidence = scores.confidence
    raw = ArcConfidence(
        confidence,
        of_gaps=partial(scorer.missing, built, scores, calibrated=False),
        of_utterances=partial(scorer.correct, built, scores, calibrated=False),
    )
    if calibration is None:
        return kinds | {"confidence": raw}
    posterior = kinds["posterior"].confidence
    return kinds | {
        "calibrated_posterior": ArcConfidence(
            posterior,
            lambda scores: calibration.of("posterior_arcs", scores),
            lambda scores: calibration.of("posterior_words", scores),
        ),
        "confidence": raw,
        "calibrated": ArcConfidence(
            confidence,
            lambda scores: calibration.of_arcs(networks, scores),
            lambda scores: calibration.of("words", scores),
            of_gaps=partial(scorer.missing, built, scores),
            of_utterances=partial(scorer.correct, built, scores),
        ),
    }

"""The paper's system, as literally as our networks allow (Jeon, Jordan and Krishnamoorthy, ICASSP 2020).

One-best labels, the `paper` features, one sigmoid for each arc, the size with the best dev EER, words by the largest
mean of the arcs' own confidences, the kernel calibrator as the paper has it (no prior curve; right and wrong words of
the training data, scored by the model that was trained on them, L from dev), and the choice of whole outputs by their
mean confidence, raw or calibrated. A second calibration is fitted out of fold: every speaker scored by a model that
was trained without them. What we do otherwise is told in the model's `paper` entry (`DIFFERENCES`).

    paper_pack(train, dev, pack, vectors=glove, lexicon=cmudict)     training data
    train_paper({name: pack}, out)              out/NAME and out/NAME-fold-K (training.paper_training)
    write_paper_model(out/NAME, folds, train, dev, to)    calibrated, for `wt.load(to)`; there may be no folds
    evaluate_paper(scorer, batches, other)      tables 1 and 2 (an `Evaluation`), by both calibrations
    compare_subsets(paper_system_outputs(...))  table 3, with the standard deviation over subsets
    paper_examples.chosen_subsets(...)          table 4
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from ..base.errors import InputError
from ..combination.system_output import SystemOutput, SystemOutputs, concatenate_outputs
from ..confidence.calibrate_model import OutOfFoldScorer, with_calibration
from ..confidence.calibration import KernelCalibrator
from ..confidence.calibration.model_calibration import PARTS, ModelCalibration
from ..confidence.choice import Choice
from ..confidence.model_card import PaperRecord
from ..confidence.model_file import read_log, save_model
from ..confidence.word_scorer import WordScorer, load
from ..confidence.word_table import WordTable
from ..evaluation.evaluation import ArcConfidence, Evaluation, evaluate_networks, posterior_confidence
from ..evaluation.metrics import Scores
from ..formats.references import Reference
from ..lattices.lattice import Floats, Lattices
from ..training.paper_training import SIZES

Source = Callable[[], Iterable[Lattices]]  # reads a corpus, once more each time
WIDTHS = (0.6, 0.9, 1.3, 1.8, 2.5, 3.5, 5.0, 7.0, 10.0, 14.0, 20.0)  # L; the paper has 1.8
WORDS = Choice("mean")
OUT_OF_FOLD = "calibrated_out_of_fold"
_FITTED_ON = {  # the words of each part: like the paper, one-best labels and the arcs' own confidences
    "arcs": ("arcs_paper", "confidence"),
    "words": ("output", "confidence"),
    "posterior_arcs": ("arcs_paper", "posterior"),
    "posterior_words": ("one_best", "posterior"),
}
DIFFERENCES = (
    "word vectors are those of the file that was given (in our study GloVe of 100 numbers, reduced to 25 by their "
    "principal components); the paper has GloVe of Twitter with 25",
    "states of arcs that meet are averaged; sizes tried are " + " x ".join(f"{n} {v}" for n, v in SIZES.items()),
    "posteriors are made at scales that were tuned on dev, scores are pushed before nodes merge, and no word is lost "
    "in merging, however short",
    "silence neither counts nor contributes to the mean confidence, which the paper leaves open",
    "phones are those of the pronouncing dictionary that was given; of words outside it they are estimated",
    "training is ours: AdamW, a tenth of inputs and states dropped, averaged weights, stopped by the EER on dev",
)


def paper_pack(
    train: Source, dev: Source, path: Path, *, vectors: Path | None = None, lexicon: Path | None = None
) -> WordTable:
    """Write the training data of the paper's system, out of networks with references; gives its table of words."""
    from ..training.dataset import write_pack
    from ..training.prepare import PrepareOptions, prepare

    options = PrepareOptions(features="paper", labels="one-best", vectors=vectors, lexicon=lexicon)
    data = prepare(train, dev, options)
    write_pack(path, data)
    return data.table


def write_paper_model(model: Path, folds: Sequence[Path], train: Source, dev: Source, out: Path) -> None:
    """Calibrate a trained model the paper's way and write it to `out`: L from dev, all else from train.

    Without models of folds, on the training data as the model itself scores them: what the paper has.
    """
    scorer = load(model)
    out_of_fold = OutOfFoldScorer(scorer, [load(folder) for folder in folds])
    fitted_on = evaluate_networks(train(), _raw_judge(out_of_fold.confidence), WORDS.paths)
    held_out = evaluate_networks(dev(), _raw_judge(scorer.confidence), WORDS.paths)
    parts = {part: _kernel(fitted_on.scores[source], held_out.scores[source]) for part, source in _FITTED_ON.items()}
    calibrated = with_calibration(scorer.model, ModelCalibration(parts), WORDS, fitted_on)
    paper = PaperRecord(DIFFERENCES, {part: parts[part].L_ for part in PARTS})
    save_model(replace(calibrated, card=replace(calibrated.card, paper=paper)), out, read_log(model))


def _kernel(seen: Scores, held: Scores) -> KernelCalibrator:
    """Densities and priors of the words seen, with the L that makes held-out words most likely."""
    tried = [
        KernelCalibrator(width, prior=0).fit(np.clip(seen.score, 0, 1), seen.correct, groups=seen.speaker)
        for width in WIDTHS
    ]

    def quality(curve: KernelCalibrator) -> float:
        found = replace(held, score=curve.predict(np.clip(held.score, 0, 1))).metrics().nce
        return -np.inf if found is None else found

    return max(tried, key=quality)


def _raw_judge(confidence: Callable[[Lattices], Floats]) -> Callable[[Lattices], dict[str, ArcConfidence]]:
    """Posteriors, and confidences that are shown as they are: a word's is that of its arc alone."""

    def judge(networks: Lattices) -> dict[str, ArcConfidence]:
        found = confidence(networks)
        return posterior_confidence(networks) | {"confidence": ArcConfidence(found, shown=found)}

    return judge


def evaluate_paper(
    scorer: WordScorer, batches: Iterable[Lattices], out_of_fold: WordScorer | None = None
) -> Evaluation:
    """Tables 1 and 2: kinds `posterior`, `confidence`, `calibrated`; words by the largest mean raw confidence.

    `out_of_fold` is the same model, calibrated out of fold: the kind `calibrated_out_of_fold`.
    """
    curves = {"calibrated": _calibration(scorer)}
    if out_of_fold is not None:
        curves[OUT_OF_FOLD] = _calibration(out_of_fold)

    def judge(networks: Lattices) -> dict[str, ArcConfidence]:
        networks = scorer.networks(networks)
        found = _raw_judge(scorer.confidence)(networks)
        raw = found["confidence"].confidence
        return found | {
            kind: ArcConfidence(raw, partial(curve.of, "arcs"), partial(curve.of, "words"), shown=raw)
            for kind, curve in curves.items()
        }

    return evaluate_networks(batches, judge, WORDS.paths)


def _calibration(scorer: WordScorer) -> ModelCalibration:
    if scorer.calibration is None:
        raise InputError("the model of the paper's system is not calibrated", remedy="Finish it: write_paper_model")
    return scorer.calibration


def paper_outputs(scorer: WordScorer, batches: Iterable[Lattices]) -> SystemOutput:
    """The words by mean confidence, with the confidences of their arcs, raw and calibrated."""
    found = concatenate_outputs(_outputs(scorer, scorer.networks(batch)) for batch in batches)
    return found if scorer.calibration is None else found.with_calibrated(scorer.calibration.parts["words"])


def calibrated_by(systems: SystemOutputs, scorers: Mapping[str, WordScorer]) -> SystemOutputs:
    """The same outputs with the calibrations of these models, by the name of the recognizer."""
    outputs = [
        output.with_calibrated(_calibration(scorers[name]).parts["words"])
        for name, output in zip(systems.names, systems.outputs, strict=True)
    ]
    return replace(systems, outputs=tuple(outputs))


def _outputs(scorer: WordScorer, networks: Lattices) -> SystemOutput:
    confidence = scorer.confidence(networks)
    paths = WORDS.paths(networks, confidence)
    arcs = paths.arcs_in(networks)
    own = confidence[arcs[networks.word[arcs] > 0]].astype(np.float64)
    return replace(SystemOutput.of(networks, confidence, paths), confidence=np.minimum(own, 1.0))


def paper_system_outputs(
    scorers: Mapping[str, WordScorer], stores: Mapping[str, Source], references: Mapping[str, Reference]
) -> SystemOutputs:
    """The outputs of several recognizers side by side: what `combine` makes table 3 of."""
    outputs = {name: paper_outputs(scorer, stores[name]()) for name, scorer in scorers.items()}
    return SystemOutputs.of(outputs, references, missing="leave out")

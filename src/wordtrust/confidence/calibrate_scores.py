"""Calibrate words that came with confidences, of recognizers that give nothing else: no lattice, no model.

wt.calibrate_scores("calls.ctm", "calls.stm").save(Path("calls.json"))
wt.evaluate("more.ctm", "calls.json", references="more.stm")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..base.problems import Problems
from ..evaluation.evaluation import Evaluation, as_written, with_confidences
from ..evaluation.metrics import Scores
from ..formats.batches import BatchSource
from ..formats.references import Reference
from ..formats.references.glm import Glm
from ..lattices.lattice import Lattices
from ..lattices.paths import one_best
from ..transcripts.transcript import Transcripts, transcripts
from .calibration import Calibrator, make
from .calibration.amount import require_enough_words
from .calibrator_file import read_calibrator, save_calibrator
from .estimation.held_out import KnownOfOutputs, known_of_outputs
from .evaluate_model import evaluate


@dataclass(frozen=True)
class CalibratedScores:
    """A calibrator, the words that it was fitted on, and what is known about outputs that it calibrates."""

    calibrator: Calibrator
    words: Scores
    known: KnownOfOutputs

    def save(self, path: Path) -> None:
        """Write the calibrator as a file of its own, for words that come with confidences."""
        save_calibrator(path, self.calibrator, self.known)


def calibrate_scores(
    words: BatchSource,
    references: Mapping[str, Reference] | str | Path,
    *,
    calibrator: str = "kernel",
    rules: str | None = None,
    glm: Glm | str | Path | None = None,
    problems: Problems | None = None,
) -> CalibratedScores:
    """Fit a calibrator (one of `wt.calibrate.names()`) on words that came with confidences: files or batches.

    `rules` and `glm` say how words are compared with references, as for `evaluate`.

    Utterances without a reference or without confidences raise an error, or go to `problems` when that skips them.
    """
    unfitted = make(calibrator)
    evaluation = evaluate(words, references=references, rules=rules, glm=glm, problems=problems)
    return fit_scores(evaluation, unfitted)


def fit_scores(evaluation: Evaluation, calibrator: Calibrator) -> CalibratedScores:
    """Fit a calibrator on words whose confidences are probabilities; L and the like are chosen over speakers."""
    words = evaluation.words
    require_enough_words(len(words), len(words.speakers))
    fitted = calibrator.fit(words.score, words.correct, groups=words.speaker)
    return CalibratedScores(fitted, words, known_of_outputs(evaluation, calibrator.name))


class CalibratedWords:
    """Words that came with confidences, calibrated: the scorer of outputs that have no lattice."""

    def __init__(self, calibrator: Calibrator, known: KnownOfOutputs | None = None) -> None:
        self._calibrator, self.known = calibrator, known or KnownOfOutputs()

    @classmethod
    def load(cls, path: Path) -> CalibratedWords:
        """Of a file that `save_calibrator` wrote; anything else is an `InputError`."""
        return cls(*read_calibrator(path))

    @property
    def calibrator(self) -> Calibrator:
        """From the confidences of a recognizer to those that are shown."""
        return self._calibrator

    def __call__(self, lattices: Lattices, *, alternatives: int = 0) -> Transcripts:
        """What the recognizer printed, with calibrated confidences."""
        kept = with_confidences(lattices, Problems())
        assert kept.posterior is not None
        return transcripts(
            kept, kept.posterior, one_best(kept), alternatives=alternatives,
            show=lambda confidence: self._calibrator.predict(as_written(confidence)),
        )  # fmt: skip

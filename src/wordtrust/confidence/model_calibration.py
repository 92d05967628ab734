"""The calibration of a model: one curve for arcs, one for the words that are shown, and the same for posteriors.

Fitted on words of utterances that the model was not trained on: a held-out store, or the training data themselves,
each speaker scored by a model that was trained without them (`Folds`). What is fitted is kept in model.json.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import json_checks
from ..base.errors import InputError, OptionError
from ..base.files import atomic_text
from ..base.folds import in_fold, speaker_number
from ..evaluation.evaluate import ArcConfidence, Choose, Evaluation, evaluate, posterior_confidence
from ..evaluation.given_confidences import with_confidences
from ..evaluation.metrics import Scores
from ..lattices.assemble import Problems
from ..lattices.lattice import Floats, Lattices
from ..lattices.paths import one_best
from ..networks.build_store import SPEAKER
from ..networks.word_confidence import capped
from ..transcripts.transcript import Transcript, transcripts
from .calibration import Calibrator, calibrator_from_dict, make
from .word_scorer import WordScorer

PARTS = ("arcs", "words", "posterior_arcs", "posterior_words")
_SOURCES = {  # which scores of an evaluation each part is fitted on
    "arcs": ("arcs", "confidence"),
    "words": ("output", "confidence"),
    "posterior_arcs": ("arcs", "posterior"),
    "posterior_words": ("one_best", "posterior"),
}


@dataclass(frozen=True)
class Calibration:
    """The calibrators of a model, by part."""

    parts: Mapping[str, Calibrator]

    def of(self, part: str, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """Calibrated probabilities."""
        return np.asarray(self.parts[part].predict(np.clip(scores.astype(np.float64), 0.0, 1.0)))

    def of_arcs(self, networks: Lattices, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """Calibrated probabilities of the words of networks; no more than one of those that rival can be right."""
        words = networks.word > 0
        found = np.zeros(len(words))
        found[words] = self.of("arcs", scores)
        return capped(networks, found)[words]

    def to_dict(self) -> dict[str, Any]:
        """For model.json."""
        return {name: calibrator.to_dict() for name, calibrator in self.parts.items()}

    @classmethod
    def from_dict(cls, found: Any) -> Calibration:
        """What `to_dict` wrote; anything else is an `InputError`."""
        if not isinstance(found, Mapping) or set(found) != set(PARTS):
            raise InputError(f"a calibration has the parts {', '.join(PARTS)}", remedy="Calibrate the model again")
        return cls({name: calibrator_from_dict(found[name]) for name in PARTS})


class Folds:
    """A model and those trained without a fold of speakers each: everybody is scored by one that never saw them.

    A fold without a model would be scored by one that was trained on it, so all of them are needed.
    """

    def __init__(self, scorer: WordScorer, folds: Sequence[WordScorer] = ()) -> None:
        self._scorer = scorer
        self._folds = [(each, *_fold_of(each)) for each in folds]
        known = sorted((count, fold) for _, count, fold in self._folds)
        if known and known != [(known[0][0], fold) for fold in range(known[0][0])]:
            told = ", ".join(f"{fold} of {count}" for count, fold in known)
            raise OptionError(f"--fold-model needs a model for each fold, once; these are {told}")

    def confidence(self, networks: Lattices) -> Floats:
        """[arcs] by the model that did not see the speaker; without folds, by the model itself."""
        if not self._folds:
            return self._scorer.confidence(networks)
        speaker = np.array([speaker_number(name) for name in networks.notes[SPEAKER]], np.uint32)
        found, sizes = np.zeros(len(networks.source), np.float32), np.diff(networks.arc_offsets)
        for scorer, folds, fold in self._folds:
            theirs = np.repeat(in_fold(speaker, folds, fold), sizes)
            if theirs.any():
                found = np.where(theirs, scorer.confidence(networks), found)
        return found

    def judge(self, networks: Lattices) -> dict[str, ArcConfidence]:
        """For `evaluate`: posteriors and confidences, neither calibrated."""
        return posterior_confidence(networks) | {"confidence": ArcConfidence(self.confidence(networks))}


def _fold_of(scorer: WordScorer) -> tuple[int, int]:
    fold = scorer.model.card.training.left_out_fold
    if fold is None:
        raise InputError(
            "this model was trained on all speakers",
            remedy="Models for --fold-model are trained with --folds K --fold 0 to K - 1",
        )
    return fold


def held_out(batches: Iterable[Lattices], folds: Folds, choose: Choose) -> Evaluation:
    """The scores that calibrators are fitted on, with their labels and speakers."""
    return evaluate(batches, folds.judge, choose)


def fit_calibration(found: Evaluation, name: str = "kernel") -> Calibration:
    """Fit a calibrator of this name for every part."""
    return Calibration({part: _fitted(found.scores[source], name) for part, source in _SOURCES.items()})


def _fitted(scores: Scores, name: str) -> Calibrator:
    return make(name).fit(np.clip(scores.score, 0.0, 1.0), scores.correct, groups=scores.speaker)


def calibrated_judge(scorer: WordScorer, networks: Lattices) -> dict[str, ArcConfidence]:
    """For `evaluate`: posteriors and confidences, and both calibrated where the model is."""
    found = posterior_confidence(networks)
    confidence = scorer.confidence(scorer.networks(networks))
    curve = scorer.calibration
    if curve is None:
        return found | {"confidence": ArcConfidence(confidence)}
    posterior, trust = found["posterior"].confidence, scorer.trust(networks)
    return found | {
        "calibrated_posterior": ArcConfidence(
            posterior,
            lambda scores: curve.of("posterior_arcs", scores),
            lambda scores: curve.of("posterior_words", scores),
        ),
        "confidence": ArcConfidence(confidence),
        "calibrated": ArcConfidence(
            confidence,
            lambda scores: trust * curve.of_arcs(networks, scores),
            lambda scores: trust * curve.of("words", scores),
        ),
    }


class CalibratedWords:
    """Words that came with confidences, calibrated: the scorer of outputs that have no lattice."""

    def __init__(self, calibrator: Calibrator) -> None:
        self._calibrator = calibrator

    def __call__(self, lattices: Lattices, *, alternatives: int = 0) -> list[Transcript]:
        """What the recognizer printed, with calibrated confidences."""
        kept = with_confidences(lattices, Problems())
        assert kept.posterior is not None
        return transcripts(
            kept, kept.posterior, one_best(kept), alternatives=alternatives, show=self._calibrator.predict
        )


CALIBRATOR = "wordtrust calibrator"  # the kind that a file of a calibrator alone says it is


def save_calibrator(path: Path, calibrator: Calibrator) -> None:
    """A calibrator as a file of its own, for words that come with confidences."""
    with atomic_text(path) as file:
        file.write(json.dumps({"kind": CALIBRATOR, "words": calibrator.to_dict()}, indent=1) + "\n")


def load_calibrator(path: Path) -> Calibrator:
    """Read one; anything else is an `InputError`."""
    remedy = "Make it with: wordtrust calibrate --scores FILE --ref REF --out CALIBRATOR.json"
    try:
        found = json_checks.record(json_checks.parse(path.read_bytes()), "the calibrator")
        if found.get("kind") != CALIBRATOR:
            raise InputError(f"does not say that it is a {CALIBRATOR}", remedy=remedy)
        return calibrator_from_dict(found.get("words"))
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", file=str(path), remedy=remedy) from None
    except InputError as error:
        raise InputError(f"no calibrator: {error.found}", file=str(path), remedy=remedy) from None

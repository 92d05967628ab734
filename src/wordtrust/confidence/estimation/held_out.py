"""What is known about the outputs of a model or calibrator, beyond the confidence of each word.

Made when it is calibrated, from words of speakers that neither it nor its calibration has seen; kept in model.json,
or in the file of the calibrator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ...base.json_checks import objects_of
from ...evaluation.evaluation import CONFIDENCE, GAPS, Evaluation
from ...evaluation.output_words import OutputWords
from ..calibration import Calibrator
from ..model_card import ModelCard
from .accepted import AcceptedPrecision, accepted_precisions, held_out_calibration
from .error_estimator import ErrorEstimator


@dataclass(frozen=True)
class KnownOfOutputs:
    """How many errors outputs have, and from which confidence on words can be accepted."""

    estimator: ErrorEstimator | None = None  # None: it was calibrated before there was one
    accept: tuple[AcceptedPrecision, ...] = ()  # by rising precision

    def to_dict(self) -> dict[str, Any]:
        """For JSON, beside the calibration."""
        made: dict[str, Any] = {} if self.estimator is None else {"error_estimator": self.estimator.to_dict()}
        return made | ({"accept": [entry.to_dict() for entry in self.accept]} if self.accept else {})

    def without_promises(self) -> Self:
        """The same, for outputs that are not like those it was made from."""
        return type(self)(None if self.estimator is None else self.estimator.without_intervals())

    @classmethod
    def of_model(cls, card: ModelCard) -> Self:
        """What the card of a model says."""
        estimator = None if card.error_estimator is None else ErrorEstimator.from_dict(card.error_estimator)
        return cls(estimator, tuple(map(AcceptedPrecision.from_dict, card.accept)))

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote, among other things; anything bad is an `InputError`."""
        estimator = ErrorEstimator.from_dict(record["error_estimator"]) if "error_estimator" in record else None
        entries = objects_of(record, "accept") if "accept" in record else []
        return cls(estimator, tuple(map(AcceptedPrecision.from_dict, entries)))


def known_of_outputs(evaluation: Evaluation, calibrator: str, gaps: Calibrator | None = None) -> KnownOfOutputs:
    """From words whose confidences are not calibrated yet; `calibrator` is the name of the one they will have.

    `gaps` is the calibrator of the chance that words are missing, if there is one.
    """
    output = evaluation.output
    of_gaps = evaluation.beyond_words.get((GAPS, CONFIDENCE))
    if output is not None and gaps is not None and of_gaps is not None:
        output = output.with_gaps(gaps.predict(np.clip(of_gaps.score.astype(np.float64), 0.0, 1.0)))
    if output is None or not len(output.confidence):
        return KnownOfOutputs(ErrorEstimator())
    held_out = held_out_calibration(output, calibrator)
    accept = () if held_out is None else accepted_precisions(held_out)
    return KnownOfOutputs(_estimator(output, held_out), accept)


def estimator_of(output: OutputWords, calibrator: str) -> ErrorEstimator:
    """How errors of outputs like these are estimated; their words are not calibrated yet, their gaps are."""
    return _estimator(output, held_out_calibration(output, calibrator))


def _estimator(output: OutputWords, held_out: OutputWords | None) -> ErrorEstimator:
    if held_out is None:  # one speaker: nothing can be said about others
        return ErrorEstimator.fit(output).without_intervals()
    return ErrorEstimator.fit(held_out)

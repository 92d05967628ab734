"""Which words of a model can be accepted unseen: thresholds with a guarantee for new speakers, kept in its card.

They are found once, when the model is calibrated, on words that neither the model nor the calibration has seen:
scores are out of fold, and each is calibrated without its own fold of speakers (`held_out_calibration`). The model
that is kept was trained and calibrated on all of them, a few more; the guarantee is for models made like those of the
folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ...base.arrays import Reals
from ...base.errors import InputError, OptionError
from ...base.folds import balanced_folds
from ...base.json_checks import number, record
from ...base.number_format import percentage
from ...evaluation.metrics import guaranteed_threshold
from ...evaluation.metrics.resample import LEVEL
from ...evaluation.output_words import OutputWords
from ..calibration import make

PRECISIONS = (0.9, 0.95, 0.97, 0.98, 0.99)
_FOLDS = 5


@dataclass(frozen=True, slots=True)
class AcceptedPrecision:
    """Of the words with at least the confidence `threshold`, a share of at least `precision` is right."""

    precision: float
    threshold: float
    accepted: float  # share of the words, on the held-out speakers
    level: float  # how sure that is for new speakers
    speakers: int  # that it was shown on

    @property
    def promise(self) -> str:
        """In words."""
        return (
            f"at least {percentage(self.precision)} of the accepted words are right for new speakers, which is "
            f"{percentage(self.level)} sure"
        )

    def told(self, asked: float) -> str:
        """The promise, and why it is a larger one than somebody asked for."""
        if self.precision <= asked + 1e-9:
            return self.promise
        return (
            f"{self.promise} ({percentage(asked)} was asked for; this is the next that the model has a threshold for)"
        )

    @property
    def about(self) -> dict[str, Any]:
        """What files of transcripts say about it."""
        return {**self.to_dict(), "promise": self.promise}

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, value: Any) -> Self:
        """What `to_dict` wrote; anything else is an `InputError`."""
        form = record(value, "accept")
        shares = {name: number(form, name, "accept") for name in ("precision", "threshold", "accepted", "level")}
        if not all(0 <= share <= 1 for share in shares.values()):
            raise InputError("accept holds a share that is not from 0 to 1", remedy="Calibrate the model again")
        return cls(
            shares["precision"], shares["threshold"], shares["accepted"], shares["level"],
            int(number(form, "speakers", "accept")),
        )  # fmt: skip


def held_out_calibration(words: OutputWords, calibrator: str) -> OutputWords | None:
    """The words with confidences that were calibrated without their speakers; None if there is but one speaker."""
    assert words.correct is not None
    scores, speaker = words.scores, words.scores.speaker
    fold = balanced_folds(len(scores), speaker, _FOLDS)
    if not len(fold) or fold.max() < 1:
        return None
    confidence: Reals = np.zeros(len(fold))
    for each in range(int(fold.max()) + 1):
        seen, new = fold != each, fold == each
        fitted = make(calibrator).fit(words.confidence[seen], words.correct[seen], groups=speaker[seen])
        confidence[new] = fitted.predict(words.confidence[new])
    return words.with_confidence(confidence)


def accepted_precisions(held_out: OutputWords) -> tuple[AcceptedPrecision, ...]:
    """Thresholds for all precisions that these speakers can prove, each by itself."""
    scores, found = held_out.scores, []
    for precision in PRECISIONS:
        point = guaranteed_threshold(scores, precision, LEVEL)
        if point.threshold is not None and point.accepted is not None:
            found.append(AcceptedPrecision(precision, point.threshold, point.accepted, LEVEL, point.speakers))
    return tuple(found)


def accepting(known: Sequence[AcceptedPrecision], precision: float, model: str) -> AcceptedPrecision:
    """The threshold that promises at least this precision; an `OptionError` that says what to do if none does."""
    if not 0 < precision < 1:
        raise OptionError(f"{percentage(precision)} of the words cannot be asked for; say 98% or 0.98")
    enough = [entry for entry in known if entry.precision >= precision - 1e-9]
    if enough:
        return min(enough, key=lambda entry: entry.precision)
    if not known:
        raise OptionError(
            f"{model}: the model does not say from which confidence on words can be accepted; calibrate it on "
            "speakers of its own (wordtrust calibrate), or find a threshold: wordtrust threshold MODEL STORE"
        )
    most = max(entry.precision for entry in known)
    raise OptionError(
        f"{model}: {percentage(precision)} cannot be promised for this model, at most {percentage(most)} can: "
        f"--accept {percentage(most)}; a threshold of your own: wordtrust threshold MODEL STORE"
    )

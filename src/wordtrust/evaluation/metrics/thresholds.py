"""Thresholds on confidences: what is accepted without review, and what reviewing the rest would find.

`operating_point` finds the threshold that reaches a precision on the data at hand. On new data that precision is
missed about half of the time: `guarantee` finds one that holds for new speakers. `precision_table` shows what several
thresholds accept, with intervals over speakers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.errors import OptionError
from ..eer_nce import Values
from .accepted_words import AcceptedWords
from .resample import LEVEL, REPLICATES, speaker_draws
from .scores import REVIEWED, Scores, caught

PRECISION = 0.98
THRESHOLDS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)  # of the table
_SLACK = 1e-9  # a precision like 0.55 has no exact binary form


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Words with a score of at least `threshold` are accepted, the others rejected."""

    threshold: float
    precision: float  # share of the accepted words that are right
    accepted: float  # share of the words
    correct_accepted: float  # share of the right words
    errors_rejected: float | None  # share of the wrong words; None where no word is wrong


def operating_point(scores: Scores, precision: float = PRECISION) -> OperatingPoint | None:
    """The lowest threshold at which at least this share of the accepted words is right; None if there is none.

    Precision need not rise with the threshold; of all that reach the target, the one that accepts most is given.
    """
    if not 0 < precision <= 1:
        raise OptionError(f"the precision is {precision}, it must be over 0 and at most 1")
    value, right, wrong = scores.tally()
    right_above, wrong_above = (np.cumsum(counts[::-1])[::-1] for counts in (right, wrong))
    words_above = right_above + wrong_above
    reached = np.flatnonzero(right_above >= (precision - _SLACK) * words_above)
    if not len(reached):
        return None
    at = reached[0]
    return OperatingPoint(
        threshold=float(value[at]),
        precision=float(right_above[at] / words_above[at]),
        accepted=float(words_above[at] / words_above[0]),
        correct_accepted=float(right_above[at] / right_above[0]),
        errors_rejected=float(1 - wrong_above[at] / wrong_above[0]) if wrong_above[0] else None,
    )


def errors_caught(scores: Scores, reviewed: float = REVIEWED) -> float | None:
    """The share of the errors found by reviewing this share of the words, lowest scores first.

    Words of equal score are reviewed in random order, on average. None where no word is wrong.
    """
    if not 0 <= reviewed <= 1:
        raise OptionError(f"the share to review is {reviewed}, it must be from 0 to 1")
    _, right, wrong = scores.tally()
    return float(caught(right, wrong, reviewed)) if wrong.any() else None


def review_curve(scores: Scores, points: int = 101) -> tuple[Values, Values] | None:
    """Shares of the words reviewed, evenly from 0 to 1, and of the errors caught; None where no word is wrong."""
    _, right, wrong = scores.tally()
    if not wrong.any():
        return None
    reviewed = np.concatenate([[0], np.cumsum(right + wrong)]) / len(scores)
    caught_errors = np.concatenate([[0], np.cumsum(wrong)]) / wrong.sum()
    shares = np.linspace(0, 1, points)
    return shares, np.interp(shares, reviewed, caught_errors)


@dataclass(frozen=True, slots=True)
class AcceptedShare:
    """What a threshold accepts; intervals are of draws of speakers, None where there are fewer than two."""

    threshold: float
    accepted: float  # share of the words
    accepted_interval: tuple[float, float] | None
    precision: float | None  # share of the accepted words that are right; None where no word is accepted
    precision_interval: tuple[float, float] | None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        named = {name: getattr(self, name) for name in self.__slots__}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in named.items()}


def precision_table(
    scores: Scores, thresholds: Sequence[float] = THRESHOLDS, level: float = LEVEL, *, seed: int = 0
) -> list[AcceptedShare]:
    """What each threshold accepts, and how much of it is right, with intervals by a bootstrap over speakers."""
    if not len(scores):
        return []
    table = AcceptedWords.of(scores, np.sort(np.asarray(thresholds, np.float64))[::-1])
    parts = [np.ones((1, len(table.words)), np.int32)]
    if len(table.words) > 1:
        parts += speaker_draws(len(table.words), REPLICATES, np.random.default_rng(seed))
    drawn = [_shares(table, weights.astype(np.float64)) for weights in parts]
    accepted, precision = (np.concatenate(each) for each in zip(*drawn, strict=True))
    return [
        AcceptedShare(
            float(threshold), float(accepted[0, index]), _middle(accepted[1:, index], level),
            None if np.isnan(precision[0, index]) else float(precision[0, index]),
            _middle(precision[1:, index], level),
        )
        for index, threshold in reversed(list(enumerate(table.threshold.tolist())))
    ]  # fmt: skip


def _shares(table: AcceptedWords, weights: Values) -> tuple[Values, Values]:
    """[draws, thresholds] share of the words that is accepted, and of these that is right; NaN if none is."""
    accepted, wrong, words = weights @ table.accepted, weights @ table.wrong, weights @ table.words
    with np.errstate(invalid="ignore", divide="ignore"):
        return accepted / words[:, np.newaxis], np.where(accepted > 0, 1 - wrong / accepted, np.nan)


def _middle(drawn: Values, level: float) -> tuple[float, float] | None:
    values = drawn[~np.isnan(drawn)]
    if len(values) < max(1, len(drawn) / 2):
        return None
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)

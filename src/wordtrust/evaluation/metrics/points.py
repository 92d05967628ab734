"""Operating points: what people do with confidences, and what they get for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...base.errors import OptionError
from ..eer_nce import Values
from .kernels import REVIEWED, caught
from .scores import Scores

_SLACK = 1e-9  # a precision like 0.55 has no exact binary form


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Words with a score of at least `threshold` are accepted, the others rejected."""

    threshold: float
    precision: float  # share of the accepted words that are right
    accepted: float  # share of the words
    correct_accepted: float  # share of the right words
    errors_rejected: float | None  # share of the wrong words; None where no word is wrong


def operating_point(scores: Scores, precision: float = 0.98) -> OperatingPoint | None:
    """The lowest threshold at which at least this share of the accepted words is right; None if there is none.

    Precision need not rise with the threshold; of all that reach the target, the one that accepts most is given.
    """
    if not 0 < precision <= 1:
        raise OptionError(f"the precision is {precision}, it must be over 0 and at most 1")
    value, right, wrong = scores.tally()
    right_above, wrong_above = (np.cumsum(counts[::-1])[::-1] for counts in (right, wrong))
    words_above = right_above + wrong_above
    good = np.flatnonzero(right_above >= (precision - _SLACK) * words_above)
    if not len(good):
        return None
    at = good[0]
    return OperatingPoint(
        threshold=float(value[at]),
        precision=float(right_above[at] / words_above[at]),
        accepted=float(words_above[at] / words_above[0]),
        correct_accepted=float(right_above[at] / right_above[0]),
        errors_rejected=float(1 - wrong_above[at] / wrong_above[0]) if wrong_above[0] else None,
    )


def errors_caught(scores: Scores, reviewed: float = REVIEWED) -> float | None:
    """The share of the errors that reviewing this share of the words, least trusted first, would find.

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
    found = np.concatenate([[0], np.cumsum(wrong)]) / wrong.sum()
    shares = np.linspace(0, 1, points)
    return shares, np.interp(shares, reviewed, found)

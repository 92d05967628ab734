"""Which confidence is high enough to accept words without review."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .evaluation import Evaluation
from .metrics import GuaranteedThreshold, OperatingPoint, Scores, errors_caught, guaranteed_threshold, operating_point
from .metrics.resample import LEVEL
from .metrics.thresholds import PRECISION

REVIEW_SHARES = (0.05, 0.1, 0.2, 0.3)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds that reach a precision, and what reviewing words finds."""

    words: int
    on_these_words: OperatingPoint | None  # None if no threshold reaches the precision
    on_new_speakers: GuaranteedThreshold
    errors_caught: dict[float, float | None]  # by share of the words reviewed, those with the lowest scores first

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "on_these_words": None if self.on_these_words is None else asdict(self.on_these_words),
            "on_new_speakers": self.on_new_speakers.to_dict(),
            "errors_caught": {f"{share:g}": caught for share, caught in self.errors_caught.items()},
        }


def threshold(
    words: Evaluation | Scores, precision: float = PRECISION, level: float = LEVEL, *, method: str = "betting"
) -> Thresholds:
    """The lowest thresholds at which at least `precision` of the accepted words are right.

    One is for these words, one holds for new speakers with the confidence `level`. `method` is "betting", valid for
    any number of speakers, or "bootstrap", approximate but sharper for few. The words must not be those that the
    model was trained or calibrated on.

        wt.threshold(wt.evaluate("eval.networks", "model"), precision=0.98).on_new_speakers.threshold
    """
    scores = words.words if isinstance(words, Evaluation) else words
    return Thresholds(
        len(scores),
        operating_point(scores, precision),
        guaranteed_threshold(scores, precision, level, method=method),
        {share: errors_caught(scores, share) for share in REVIEW_SHARES},
    )

"""Which confidence is high enough to accept words without review."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .evaluation import Evaluation
from .metrics import (
    AcceptedShare,
    GuaranteedThreshold,
    OperatingPoint,
    Scores,
    errors_caught,
    guaranteed_threshold,
    largest_promise,
    operating_point,
    precision_table,
    speakers_needed,
)
from .metrics.resample import LEVEL
from .metrics.thresholds import PRECISION

REVIEW_SHARES = (0.05, 0.1, 0.2, 0.3)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds that reach a precision, what each of several accepts, and what reviewing words finds."""

    words: int
    on_these_words: OperatingPoint | None  # None if no threshold reaches the precision
    on_new_speakers: GuaranteedThreshold
    by_bootstrap: GuaranteedThreshold  # approximate: trusts that these speakers represent all
    promised: GuaranteedThreshold | None  # the largest precision that can be guaranteed; None if none can
    speakers_needed: int | None  # about, for the wanted precision; None if no number of speakers like these shows it
    table: tuple[AcceptedShare, ...]  # by threshold
    errors_caught: dict[float, float | None]  # by share of the words reviewed, those with the lowest scores first

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "on_these_words": None if self.on_these_words is None else asdict(self.on_these_words),
            "on_new_speakers": self.on_new_speakers.to_dict(),
            "by_bootstrap": self.by_bootstrap.to_dict(),
            "promised": None if self.promised is None else self.promised.to_dict(),
            "speakers_needed": self.speakers_needed,
            "table": [row.to_dict() for row in self.table],
            "errors_caught": {f"{share:g}": caught for share, caught in self.errors_caught.items()},
        }


def threshold(
    words: Evaluation | Scores, precision: float = PRECISION, level: float = LEVEL, *, method: str = "betting"
) -> Thresholds:
    """The lowest thresholds at which at least `precision` of the accepted words are right.

    One is for these words, one holds for new speakers with the confidence `level`. `method` is "betting", valid for
    any number of speakers, or "bootstrap", approximate but sharper for few; the latter's answer is always there too
    (`by_bootstrap`). Where nothing can be guaranteed, `promised` is what can, and `speakers_needed` about how many it
    takes. The words must not be those that the model was trained or calibrated on.

        wt.threshold(wt.evaluate("eval.networks", "model"), precision=0.98).on_new_speakers.threshold
    """
    scores = words.words if isinstance(words, Evaluation) else words
    by_bootstrap = guaranteed_threshold(scores, precision, level, method="bootstrap")
    is_bootstrap = method == "bootstrap"
    return Thresholds(
        words=len(scores),
        on_these_words=operating_point(scores, precision),
        on_new_speakers=by_bootstrap
        if is_bootstrap
        else guaranteed_threshold(scores, precision, level, method=method),
        by_bootstrap=by_bootstrap,
        promised=largest_promise(scores, level),
        speakers_needed=speakers_needed(scores, precision, level),
        table=tuple(precision_table(scores, level=level)),
        errors_caught={share: errors_caught(scores, share) for share in REVIEW_SHARES},
    )

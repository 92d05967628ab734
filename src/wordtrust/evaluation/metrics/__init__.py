"""Measures of words and of their confidences.

    from wordtrust import metrics
    scores = metrics.Scores.of(confidence, correct, speakers)       # one of each for every word
    scores.metrics().nce                                            # also eer, auc, ece, brier, ...
    metrics.intervals(scores)["nce"]                                # resampling speakers
    metrics.compare(scores, other_scores)["eer"].p                  # a paired test

    errors = metrics.SpeakerErrors.of(align_all(references, hypotheses), speakers)
    errors.total.wer

`ErrorCounts`, `SpeakerErrors` and `Scores` are frozen and add up over shards, so that no rate is ever an average of
rates. What cannot be computed is None, never NaN: `ScoreMetrics.undefined` says why.
"""

from .errors import ErrorCounts, SpeakerErrors
from .guarantee import GuaranteedThreshold, guaranteed_threshold, largest_promise, speakers_needed
from .resample import Difference, Interval, compare, intervals
from .scores import ScoreMetrics, Scores
from .thresholds import (
    AcceptedShare,
    OperatingPoint,
    errors_caught,
    operating_point,
    precision_table,
    review_curve,
)

__all__ = [
    "AcceptedShare", "Difference", "ErrorCounts", "GuaranteedThreshold", "Interval", "OperatingPoint", "ScoreMetrics",
    "Scores", "SpeakerErrors", "compare", "errors_caught", "guaranteed_threshold", "intervals", "largest_promise",
    "operating_point", "precision_table", "review_curve", "speakers_needed",
]  # fmt: skip

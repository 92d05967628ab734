"""What is accepted of each speaker at each threshold: the table that all guarantees are computed from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..eer_nce import Counts, Values
from .scores import Scores

_THRESHOLDS = 200
_CELLS = 1 << 24  # speakers times thresholds, to bound memory


@dataclass(frozen=True, slots=True, eq=False)
class AcceptedWords:
    """Words with at least the score of a threshold, by speaker and threshold."""

    threshold: Values  # [thresholds] falling
    accepted: Counts  # [speakers, thresholds]
    wrong: Counts  # of the accepted
    words: Counts  # [speakers] at least 1

    @classmethod
    def of(cls, scores: Scores, thresholds: Values | None = None) -> AcceptedWords:
        """Count words at these falling thresholds, or at quantiles of the scores; who said nothing is left out."""
        words = np.bincount(scores.speaker, minlength=len(scores.speakers))
        index = np.cumsum(words > 0) - 1
        speaker, speakers = index[scores.speaker], int(np.count_nonzero(words))
        if thresholds is None:
            thresholds = _quantiles(scores, max(10, min(_THRESHOLDS, _CELLS // max(1, speakers))))
        size = len(thresholds)
        # The first threshold, counted from the highest, that accepts the word; `size` if none does.
        first = size - np.searchsorted(thresholds[::-1], scores.score, side="right")
        cell = speaker * (size + 1) + first
        accepted, wrong = (
            np.bincount(cells, minlength=speakers * (size + 1)).reshape(speakers, size + 1)[:, :size].cumsum(axis=1)
            for cells in (cell, cell[~scores.correct])
        )
        return cls(thresholds, accepted, wrong, words[words > 0])

    def part(self, columns: slice | Counts) -> AcceptedWords:
        """Some of the thresholds."""
        return AcceptedWords(self.threshold[columns], self.accepted[:, columns], self.wrong[:, columns], self.words)

    def summary(self) -> tuple[float, float, float]:
        """At the first threshold: share of words accepted, precision, precision with speakers counting alike."""
        accepted, wrong = self.accepted[:, 0], self.wrong[:, 0]
        share, wrong_share = (accepted / self.words).sum(), (wrong / self.words).sum()
        return (
            float(accepted.sum() / self.words.sum()),
            float(1 - wrong.sum() / accepted.sum()),
            float(1 - wrong_share / share),
        )


def _quantiles(scores: Scores, size: int) -> Values:
    """Scores that accept even shares of the words, falling; the last accepts all."""
    value, right, wrong = scores.tally()
    if not len(value):
        return np.zeros(0)
    above = np.cumsum((right + wrong)[::-1])
    ranks = np.unique(np.searchsorted(above, np.arange(1, size + 1) / size * above[-1]))
    falling: Values = value[::-1][np.minimum(ranks, len(value) - 1)]
    return falling

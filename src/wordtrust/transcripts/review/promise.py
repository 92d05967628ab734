"""How sure it is that few enough errors are left in a transcript that a person has checked in part.

Confidences say how many errors to expect in what nobody has checked: E, the sum of 1 - confidence, and of the words
expected to be missing in gaps. A recording may be worse or better than its confidences say, by a factor that
is not known. It has a gamma distribution with the mean 1 before anybody has listened. Where a reviewer has listened,
e errors were expected and k found, which is evidence about the factor. What is checked first is what was doubtful,
and says less about the rest, so it counts by a weight, and never more than a limit, however much of it there is.

    w = weight / (1 + weight e / limit)
    factor ~ Gamma(shape = strength + w k, rate = strength + w e)
    errors left ~ Poisson(factor E),  so  P(errors left <= n)  is that of a negative binomial distribution

The three numbers were chosen on held-out speakers of several recognizers and conditions (docs/review.md). The page
has the same arithmetic in script/promise.js.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

TARGET, SURE = 0.02, 0.95
STRENGTH, WEIGHT, LIMIT = 3.0, 0.5, 10.0
_NOTHING = 1e-12


class Evidence(NamedTuple):
    """What a reviewer has found in words and gaps that are checked."""

    expected: float = 0.0  # of them that were wrong, or lacked words, by their confidences
    found: float = 0.0  # that were

    def __add__(self, other: object) -> Evidence:
        """Both together."""
        if not isinstance(other, Evidence):
            return NotImplemented
        return Evidence(self.expected + other.expected, self.found + other.found)


@dataclass(frozen=True, slots=True)
class Belief:
    """The factor by which a recording is worse than its confidences say: a gamma distribution."""

    shape: float = STRENGTH
    rate: float = STRENGTH

    @classmethod
    def after(cls, evidence: Evidence) -> Belief:
        """What to believe after this evidence."""
        weight = WEIGHT / (1.0 + WEIGHT * evidence.expected / LIMIT)
        return cls(STRENGTH + weight * evidence.found, STRENGTH + weight * evidence.expected)

    @property
    def factor(self) -> float:
        """Its mean."""
        return self.shape / self.rate

    def quantile(self, deviate: float) -> float:
        """The factor at so many standard deviations of a normal distribution (Wilson and Hilferty's)."""
        ninth = 1.0 / (9.0 * self.shape)
        return float(self.factor * max(0.0, 1.0 - ninth + deviate * math.sqrt(ninth)) ** 3)

    def promise(self, expected_left: float, most: int) -> float:
        """The probability that at most so many errors are left where confidences expect this many."""
        if most < 0:
            return 0.0
        if expected_left <= _NOTHING:
            return 1.0
        chance = expected_left / (self.rate + expected_left)  # of the negative binomial distribution
        logs = np.empty(most + 1)
        logs[0] = self.shape * -math.log1p(expected_left / self.rate)
        counts = np.arange(most)
        logs[1:] = np.log((self.shape + counts) / (counts + 1.0) * chance)
        np.cumsum(logs, out=logs)
        largest = logs.max()
        return min(1.0, float(math.exp(largest) * np.exp(logs - largest).sum()))


def most_errors(target: float, words: int) -> int:
    """How many errors a transcript of so many words may have."""
    return math.floor(target * words + 1e-9)

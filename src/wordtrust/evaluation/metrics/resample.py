"""Intervals and paired tests by resampling speakers.

Words of one speaker are alike, so it is speakers that are drawn with replacement, never words (utterances stand in
where no speaker is known: their names are the speakers'). A speaker drawn twice counts twice. All draws come from a
seed: the same input gives the same result.

An interval is the middle `level` of the values over all draws. The test draws the same speakers for both sides; p is
twice the share of draws whose difference is 0 or on the side where fewer are, at most 1, with one such draw added so
that it is never 0. Draws in which a measure is undefined
(no wrong word among them) are left out; where more than half are, or there are fewer than two speakers, the interval
and p are None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np

from ..eer_nce import Values
from .errors import Weights
from .speakers import Names, joined

REPLICATES = 1000
LEVEL = 0.95
_AT_ONCE = 1 << 22  # numbers drawn at a time, to bound memory


class Measured(Protocol):
    """What can be resampled: `SpeakerErrors` and `Scores`."""

    @property
    def speakers(self) -> Names:
        """The names of all speakers, in order."""

    def among(self, speakers: Names) -> Self:
        """The same, as part of a larger set of speakers."""

    def values(self, weights: Weights) -> dict[str, Values]:
        """Every measure for each row of weights; NaN is undefined."""

    def check_pair(self, other: Self) -> None:
        """Raise an error if the two cannot be compared."""


M = TypeVar("M", bound=Measured)


@dataclass(frozen=True, slots=True)
class Interval:
    """A measure and how far it may be off."""

    value: float | None
    low: float | None
    high: float | None
    level: float
    replicates: int  # draws in which the measure was defined
    speakers: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The first measure less the second, how far that may be off, and how likely chance alone would explain it."""

    value: float | None
    low: float | None
    high: float | None
    p: float | None
    level: float
    replicates: int
    speakers: int


def intervals(
    measured: Measured, *, replicates: int = REPLICATES, level: float = LEVEL, seed: int = 0
) -> dict[str, Interval]:
    """An interval for every measure of these errors or scores."""
    size = len(measured.speakers)
    found = {}
    for name, drawn in _draw(measured.values, size, replicates, seed).items():
        low, high, defined = _middle(drawn[1:], level, size)
        found[name] = Interval(_known(drawn[0]), low, high, level, defined, size)
    return found


def compare(
    first: M, second: M, *, replicates: int = REPLICATES, level: float = LEVEL, seed: int = 0
) -> dict[str, Difference]:
    """Test whether two systems differ, measured on the same utterances, for every measure."""
    first.check_pair(second)
    names = joined(first.speakers, second.speakers)
    mine, theirs = first.among(names), second.among(names)

    def differences(weights: Weights) -> dict[str, Values]:
        others = theirs.values(weights)
        return {name: values - others[name] for name, values in mine.values(weights).items()}

    found = {}
    for name, drawn in _draw(differences, len(names), replicates, seed).items():
        low, high, defined = _middle(drawn[1:], level, len(names))
        p = None if low is None or np.isnan(drawn[0]) else _two_sided(drawn[1:])
        found[name] = Difference(_known(drawn[0]), low, high, p, level, defined, len(names))
    return found


def _draw(
    measure: Callable[[Weights], dict[str, Values]], speakers: int, replicates: int, seed: int
) -> dict[str, Values]:
    """Every measure as observed (first) and for each draw of speakers."""
    parts = [measure(np.ones((1, speakers), np.int32))]
    if speakers > 1:
        parts += [measure(weights) for weights in _weights(speakers, replicates, seed)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _weights(speakers: int, replicates: int, seed: int) -> Iterator[Weights]:
    """How often each speaker is drawn, when as many are drawn as there are; some replicates at a time."""
    generator = np.random.default_rng(seed)
    at_once = max(1, _AT_ONCE // speakers)
    for done in range(0, replicates, at_once):
        rows = min(at_once, replicates - done)
        drawn = generator.integers(0, speakers, (rows, speakers)) + np.arange(rows)[:, np.newaxis] * speakers
        yield np.bincount(drawn.ravel(), minlength=rows * speakers).reshape(rows, speakers).astype(np.int32)


def _middle(drawn: Values, level: float, speakers: int) -> tuple[float | None, float | None, int]:
    """The middle part of the values, and how many there are."""
    values = drawn[~np.isnan(drawn)]
    if speakers < 2 or len(values) < max(1, len(drawn) / 2):
        return None, None, len(values)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high), len(values)


def _two_sided(drawn: Values) -> float:
    values = drawn[~np.isnan(drawn)]
    fewer = min(np.count_nonzero(values <= 0), np.count_nonzero(values >= 0))
    return float(min(1.0, 2 * (fewer + 1) / (len(values) + 1)))


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)

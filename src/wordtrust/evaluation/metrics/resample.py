"""Confidence intervals and paired tests by a bootstrap over speakers.

The words of one speaker are alike, so speakers are drawn with replacement, never words (an utterance whose speaker is
unknown is a speaker of its own). A speaker drawn twice counts twice. All draws come from a seed: the same input gives
the same result.

An interval is the middle `level` of the values over all draws. The paired test draws the same speakers for both
sides; p is twice the share of draws whose difference is 0 or on the rarer side, at most 1, with one such draw added
so that it is never 0. Draws in which a measure is undefined (no wrong word among them) are left out; where more than
half are, or there are fewer than two speakers, the interval and p are None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...lattices.lattice import Ints
from ..eer_nce import Values

Names = tuple[str, ...]
Weights = NDArray[np.int32]  # [replicates, speakers] how often each speaker is drawn

REPLICATES = 1000
LEVEL = 0.95
_MAX_NUMBERS = 1 << 22  # drawn at a time, to bound memory


def numbered(names: Sequence[str]) -> tuple[Names, Ints]:
    """The distinct names, sorted, and the index of each given name among them."""
    distinct = tuple(sorted(set(names)))
    return distinct, indices(names, distinct)


def joined(first: Iterable[str], second: Iterable[str]) -> Names:
    """All names of both, sorted."""
    return tuple(sorted({*first, *second}))


def indices(names: Iterable[str], among: Names) -> Ints:
    """The index of each name among these."""
    index = {name: i for i, name in enumerate(among)}
    return np.array([index[name] for name in names], np.int32)


def speaker_draws(
    speakers: int, replicates: int, random: np.random.Generator, *, rows: int | None = None
) -> Iterator[Weights]:
    """How often each speaker is drawn, when as many are drawn as there are; `rows` replicates at a time."""
    rows = rows or max(1, _MAX_NUMBERS // speakers)
    for done in range(0, replicates, rows):
        size = min(rows, replicates - done)
        drawn = random.integers(0, speakers, (size, speakers)) + np.arange(size)[:, np.newaxis] * speakers
        yield np.bincount(drawn.ravel(), minlength=size * speakers).reshape(size, speakers).astype(np.int32)


class Measured(Protocol):
    """What can be resampled: `SpeakerErrors` and `Scores`."""

    @property
    def speakers(self) -> Names:
        """The names of all speakers, sorted."""

    def among(self, speakers: Names) -> Self:
        """The same, as part of a larger set of speakers."""

    def values(self, weights: Weights) -> dict[str, Values]:
        """Every measure for each row of `weights`, which says how often each speaker counts; NaN is undefined."""

    def check_pair(self, other: Self) -> None:
        """Raise an error unless the two can be paired."""


M = TypeVar("M", bound=Measured)


@dataclass(frozen=True, slots=True)
class Interval:
    """A measure and its confidence interval."""

    value: float | None
    low: float | None
    high: float | None
    level: float
    replicates: int  # draws in which the measure was defined
    speakers: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The first measure minus the second, its confidence interval, and the p-value of no difference."""

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
    """A confidence interval for every measure of these errors or scores."""
    size = len(measured.speakers)
    results = {}
    for name, values in _replicate(measured.values, size, replicates, seed).items():
        low, high, defined = _middle(values[1:], level, size)
        results[name] = Interval(_defined(values[0]), low, high, level, defined, size)
    return results


def compare(
    first: M, second: M, *, replicates: int = REPLICATES, level: float = LEVEL, seed: int = 0
) -> dict[str, Difference]:
    """Test whether two systems differ, measured on the same utterances, for every measure."""
    first.check_pair(second)
    names = joined(first.speakers, second.speakers)
    left, right = first.among(names), second.among(names)

    def differences(weights: Weights) -> dict[str, Values]:
        subtracted = right.values(weights)
        return {name: values - subtracted[name] for name, values in left.values(weights).items()}

    results = {}
    for name, values in _replicate(differences, len(names), replicates, seed).items():
        low, high, defined = _middle(values[1:], level, len(names))
        p = None if low is None or np.isnan(values[0]) else _two_sided(values[1:])
        results[name] = Difference(_defined(values[0]), low, high, p, level, defined, len(names))
    return results


def _replicate(
    measure: Callable[[Weights], dict[str, Values]], speakers: int, replicates: int, seed: int
) -> dict[str, Values]:
    """Every measure as observed (first) and for each draw of speakers."""
    parts = [measure(np.ones((1, speakers), np.int32))]
    if speakers > 1:
        parts += map(measure, speaker_draws(speakers, replicates, np.random.default_rng(seed)))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _middle(drawn: Values, level: float, speakers: int) -> tuple[float | None, float | None, int]:
    """The middle part of the defined values, and how many there are."""
    values = drawn[~np.isnan(drawn)]
    if speakers < 2 or len(values) < max(1, len(drawn) / 2):
        return None, None, len(values)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high), len(values)


def _two_sided(drawn: Values) -> float:
    values = drawn[~np.isnan(drawn)]
    fewer = min(np.count_nonzero(values <= 0), np.count_nonzero(values >= 0))
    return float(min(1.0, 2 * (fewer + 1) / (len(values) + 1)))


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)

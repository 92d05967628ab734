"""Has anything changed? One set of outputs against an earlier one, without references: this month's calls.

Every measure is a ratio of sums over speakers (or recordings, where speakers are not known). The test deals out
speakers: if nothing changed, it does not matter which of them are new and which are old, so they are dealt out anew
many times; p is how often the difference is as large as the one that was seen. Intervals draw the speakers of both
sides with replacement. Several measures are tested at once: `p_adjusted` is Holm's, and there is drift if one of
them is below 1 - level. Then a false alarm has a chance of at most 1 - level where nothing changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from .estimate import Estimates
from .estimation.speaker_intervals import check_level

LEVEL = 0.95
UNSURE = 0.5  # words below are more likely wrong than right
_DRAWS = 1999
_BINS = 50  # of confidences, for their distribution
_MAX_NUMBERS = 1 << 22  # drawn at a time, to bound memory
_MEASURES = {  # by name, what is summed up in the numerator and in the denominator
    "wer": ("errors", "reference_words"),
    "missing": ("deletions", "reference_words"),
    "confidence": ("confidence", "words"),
    "unsure": ("unsure", "words"),
    "unknown": ("unknown", "words"),
    "words_per_utterance": ("words", "utterances"),
    "words_per_second": ("words", "seconds"),
}


@dataclass(frozen=True, slots=True)
class Shift:
    """A measure of both sides, and whether it changed."""

    new: float
    old: float
    interval: tuple[float, float]  # of the difference
    p: float
    p_adjusted: float  # for testing several measures

    @property
    def difference(self) -> float:
        """The new value less the old one."""
        return self.new - self.old

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        named = {name: getattr(self, name) for name in ("new", "old", "difference", "p", "p_adjusted")}
        return named | {"interval": list(self.interval)}


@dataclass(frozen=True, slots=True)
class Drift:
    """What changed between two sets of outputs."""

    new_speakers: int
    old_speakers: int
    level: float
    measures: Mapping[str, Shift]
    distance: float  # between the distributions of confidences: the largest difference of shares below any confidence
    distance_p: float
    distance_p_adjusted: float

    @property
    def changed(self) -> tuple[str, ...]:
        """The measures that changed; `distribution` is that of confidences."""
        named = {name: shift.p_adjusted for name, shift in self.measures.items()}
        named["distribution"] = self.distance_p_adjusted
        return tuple(name for name, p in named.items() if p <= 1 - self.level + 1e-12)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        distribution = {"distance": self.distance, "p": self.distance_p, "p_adjusted": self.distance_p_adjusted}
        return {
            "level": self.level,
            "new_speakers": self.new_speakers,
            "old_speakers": self.old_speakers,
            "drift": bool(self.changed),
            "changed": list(self.changed),
            "measures": {name: shift.to_dict() for name, shift in self.measures.items()},
            "distribution": distribution,
        }


def drift(
    new: Estimates, old: Estimates, *, level: float = LEVEL, vocabulary: Collection[str] | None = None, seed: int = 0
) -> Drift | None:
    """What changed; None where one side has fewer than two speakers. `vocabulary` says which words are known."""
    check_level(level)
    sides = [_Sums.of(each, vocabulary) for each in (new, old)]
    sizes = [side.speakers for side in sides]
    if min(sizes) < 2:
        return None
    sums = {name: np.concatenate([side.sums[name] for side in sides]) for name in sides[0].sums}
    histogram = np.concatenate([side.histogram for side in sides])
    is_new = np.arange(sum(sizes)) < sizes[0]
    names = [name for name, (_, below) in _MEASURES.items() if name in sides[0].known and sums[below].sum() > 0]
    seen, dealt = _permuted(sums, histogram, names, is_new, seed)
    chances = (1 + np.count_nonzero(np.abs(dealt) >= np.abs(seen) - 1e-12, axis=0)) / (_DRAWS + 1)
    adjusted = holm(chances)
    drawn = _redrawn(sums, names, sizes, seed)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    measures = {
        name: Shift(
            _ratio(sums, name, is_new), _ratio(sums, name, ~is_new), (float(low[index]), float(high[index])),
            float(chances[index]), float(adjusted[index]),
        )
        for index, name in enumerate(names)
    }  # fmt: skip
    return Drift(sizes[0], sizes[1], level, measures, float(seen[-1]), float(chances[-1]), float(adjusted[-1]))


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """What is summed up, for each speaker of one side."""

    sums: Mapping[str, Reals]
    histogram: Reals  # [speakers, bins] of confidences
    known: frozenset[str]  # measures

    @property
    def speakers(self) -> int:
        return len(self.histogram)

    @classmethod
    def of(cls, estimates: Estimates, vocabulary: Collection[str] | None) -> _Sums:
        output, expected = estimates.output, estimates.expected
        names = sorted(set(output.speakers))
        index = {name: number for number, name in enumerate(names)}
        group = np.array([index[name] for name in output.speakers], np.int64)
        unknown = [
            sum(norm not in vocabulary for norm in each.norms) if vocabulary else 0 for each in estimates.spoken
        ]
        by_utterance = {
            "errors": expected.errors,
            "deletions": expected.deletions,
            "reference_words": expected.reference_words,
            "words": output.sizes,
            "utterances": np.ones(len(output)),
            "seconds": np.array([each.duration for each in estimates.spoken]),
            "confidence": output.sums(output.confidence),
            "unsure": output.sums(output.confidence < UNSURE),
            "unknown": np.array(unknown, np.float64),
        }
        sums = {name: np.bincount(group, each, len(names)).astype(np.float64) for name, each in by_utterance.items()}
        cell = np.minimum((output.confidence * _BINS).astype(np.int64), _BINS - 1)
        cell += np.repeat(group, np.diff(output.offsets)) * _BINS
        histogram = np.bincount(cell, minlength=len(names) * _BINS).reshape(len(names), _BINS).astype(np.float64)
        known = set(_MEASURES) - (set() if vocabulary else {"unknown"})
        if not estimates.estimator.knows_deletions(output):
            known -= {"missing"}
        return cls(sums, histogram, frozenset(known))


def _ratio(sums: Mapping[str, Reals], name: str, side: NDArray[np.bool_]) -> float:
    above, below = (float(sums[part][side].sum()) for part in _MEASURES[name])
    return above / below if below else 0.0


def _differences(sums: Mapping[str, Reals], names: list[str], first: Reals, second: Reals) -> Reals:
    """[draws, measures] of the rows of weights of one side and of the other."""
    columns = []
    for name in names:
        above, below = (sums[part] for part in _MEASURES[name])
        rates = [(side @ above) / np.maximum(side @ below, 1e-300) for side in (first, second)]
        columns.append(rates[0] - rates[1])
    return np.stack(columns, axis=1)


def _distances(histogram: Reals, first: Reals, second: Reals) -> Reals:
    """[draws] the largest difference between the distributions of both sides."""
    shares = []
    for side in (first, second):
        below = np.cumsum(side @ histogram, axis=1)
        shares.append(below / np.maximum(below[:, -1:], 1e-300))
    return np.asarray(np.abs(shares[0] - shares[1]).max(axis=1))


def _permuted(
    sums: Mapping[str, Reals], histogram: Reals, names: list[str], is_new: NDArray[np.bool_], seed: int
) -> tuple[Reals, Reals]:
    """The differences that were seen, and [draws, measures + 1] those of speakers dealt out anew."""
    generator, dealt = np.random.default_rng(seed), list[Reals]()
    rows = max(1, _MAX_NUMBERS // len(is_new))

    def measured(first: Reals) -> Reals:
        both = _differences(sums, names, first, 1 - first), _distances(histogram, first, 1 - first)
        return np.concatenate([both[0], both[1][:, np.newaxis]], axis=1)

    seen = measured(is_new[np.newaxis].astype(np.float64))[0]
    for done in range(0, _DRAWS, rows):
        chosen = np.tile(is_new.astype(np.float64), (min(rows, _DRAWS - done), 1))
        dealt.append(measured(generator.permuted(chosen, axis=1)))
    return seen, np.concatenate(dealt)


def _redrawn(sums: Mapping[str, Reals], names: list[str], sizes: list[int], seed: int) -> Reals:
    """[draws, measures] the differences of speakers that are drawn anew on both sides."""
    generator, drawn = np.random.default_rng([seed, 1]), list[Reals]()
    rows = max(1, _MAX_NUMBERS // sum(sizes))
    for done in range(0, _DRAWS, rows):
        count = min(rows, _DRAWS - done)
        parts = [generator.multinomial(size, np.full(size, 1 / size), count).astype(np.float64) for size in sizes]
        first = np.concatenate([parts[0], np.zeros_like(parts[1])], axis=1)
        second = np.concatenate([np.zeros_like(parts[0]), parts[1]], axis=1)
        drawn.append(_differences(sums, names, first, second))
    return np.concatenate(drawn)


def holm(chances: Reals) -> Reals:
    """p-values of several tests, such that one of them is below p by chance with a probability of at most p."""
    order = np.argsort(chances, kind="stable")
    steps = np.maximum.accumulate(chances[order] * np.arange(len(chances), 0, -1))
    adjusted = np.empty_like(chances)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted

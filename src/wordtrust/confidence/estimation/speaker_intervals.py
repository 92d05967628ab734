"""Intervals that hold for new speakers, from how far estimates were off for speakers whose references are known.

Residuals are (truth - estimate) / scale, one for each speaker, or several for each speaker's utterances.

- One new speaker, or one new utterance of a new speaker: split conformal prediction. If the new speaker is
  exchangeable with those of the residuals (drawn like them: same recognizer, kind of speech and amount of it), the
  interval holds with at least the stated probability, whatever the distribution is. For utterances every speaker's
  residuals weigh 1 together, as in hierarchical conformal prediction (Lee, Barber and Willett, "Distribution-free
  inference with hierarchical data", 2023). A level of 90%, 5% on either side, takes 19 speakers at least.
  Quantiles are those of outputs whose estimated rate is like the new one's (Mondrian conformal prediction): an
  estimate of 2% cannot be far too high, one of 20% often is, and those of all together hold for neither.
- A corpus of several new speakers: as many speakers are drawn from those of the residuals, which are themselves
  weighed at random (a Bayesian bootstrap, or Polya urn): that they are a sample too counts. What the drawn ones are
  off by together, in units of their scales together, is what the new ones may be off by. Of 30 and more this is
  worked out instead, unless a few of the known ones are off so far that more are needed for that. It holds
  approximately, better the more speakers there are on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...base.errors import InputError, OptionError
from ...base.json_checks import list_of, number, objects_of

LEVEL = 0.9
_MOST_KEPT = 2000  # residuals of speakers; of more, as many are drawn
_QUANTILES = 1000  # that residuals of utterances are thinned to
_QUANTILES_OF_PART = 200  # and those of outputs with a like rate
_MOST_PARTS = 8
_SPEAKERS_OF_PART = 60  # at least
_DRAWS = 1000
_MANY = 30  # speakers whose sum is worked out instead of drawn
_MOST_SKEWED = 0.1  # sums whose quantiles three moments tell: how far skewness moves them, in standard deviations
_FARTHEST = 1e6


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """How far estimates were off, in units of a scale; sorted, with weights that sum to 1."""

    speakers: int
    value: Reals  # rising
    weight: Reals | None = None  # None: all alike
    scale: Reals | None = None  # of speakers: what their residuals are to be multiplied by
    edges: Reals | None = None  # rising: estimated rates at which the next part begins; None: all are alike
    parts: tuple[Residuals, ...] = ()  # those of each part, one more than edges

    @classmethod
    def of(
        cls,
        values: Reals,
        speaker: NDArray[np.int64] | None = None,
        *,
        scale: Reals | None = None,
        rate: Reals | None = None,
    ) -> Self | None:
        """Of speakers (or their occasions), with their scales; or of utterances; None if there are none.

        `speaker` says whose each is, where somebody has several; `rate` what was estimated.
        """
        made = cls._of_all(values, speaker, scale)
        if made is None or rate is None or speaker is None:
            return made
        edges = _edges(rate, made.speakers)
        part = np.searchsorted(edges, rate, side="right")
        parts = [cls._of_all(values[part == each], speaker[part == each], None) for each in range(len(edges) + 1)]
        kept = tuple(each._thinned(_QUANTILES_OF_PART) for each in parts if each is not None)
        return replace(made, edges=edges, parts=kept) if len(kept) == len(parts) > 1 else made

    @classmethod
    def _of_all(cls, values: Reals, speaker: NDArray[np.int64] | None, scale: Reals | None) -> Self | None:
        if not len(values):
            return None
        order = np.argsort(values, kind="stable")
        if speaker is None or scale is not None:
            if len(order) > _MOST_KEPT:  # which are left does not depend on what they are
                order = order[np.sort(np.random.default_rng(0).permutation(len(order))[:_MOST_KEPT])]
            speakers = len(order if speaker is None else np.unique(speaker[order]))
            return cls(speakers, values[order], scale=None if scale is None else scale[order])
        _, index, sizes = np.unique(speaker, return_inverse=True, return_counts=True)
        return cls(len(sizes), values[order], (1 / sizes[index] / len(sizes))[order])._thinned(_QUANTILES)

    def quantile(self, share: float) -> float | None:
        """The smallest residual with at least this share at or below it, a new speaker's counting as the largest.

        None if there are too few speakers for that.
        """
        wanted = share * (self.speakers + 1) / self.speakers
        if wanted > 1 + 1e-12:
            return None
        below = np.cumsum(self._weights())
        return float(self.value[min(int(np.searchsorted(below, wanted - 1e-12)), len(self.value) - 1)])

    def interval(self, level: float = LEVEL) -> tuple[float, float] | None:
        """Where the residual of a new speaker lies with this probability; None if there are too few speakers."""
        tail = (1 - check_level(level)) / 2
        high = self.quantile(1 - tail)
        mirrored = Residuals(self.speakers, -self.value[::-1], None if self.weight is None else self.weight[::-1])
        low = mirrored.quantile(1 - tail)
        return None if low is None or high is None else (-low, high)

    def intervals(self, rate: Reals, level: float = LEVEL) -> Reals | None:
        """[rates, 2] the same for what is estimated to have these rates."""
        ends = _ends_of_parts(self, level)
        if ends is None:
            return None
        if self.edges is None:
            return np.tile(ends[0], (len(rate), 1))
        return np.asarray(ends[np.searchsorted(self.edges, rate, side="right")])

    def of_groups(self, scale: Reals, group: NDArray[np.int64], groups: int, level: float) -> Reals:
        """[groups, 2] how far off all new speakers of each group are together, given the scale of each speaker."""
        tail, sizes = (1 - check_level(level)) / 2, np.bincount(group, minlength=groups)
        ends = {size: self._together(size, tail) for size in np.unique(sizes).tolist()}
        together = np.sqrt(np.bincount(group, scale**2, minlength=groups))
        return np.array([ends[size] for size in sizes.tolist()]).reshape(-1, 2) * together[:, np.newaxis]

    def _together(self, speakers: int, tail: float) -> tuple[float, float]:
        """How far off so many drawn speakers are together, in units of their scales together: both ends."""
        own = np.ones(len(self.value)) if self.scale is None else self.scale
        off, squared = own * self.value, own**2
        if speakers >= _MANY and abs(skewness := _skewness(off)) / (6 * np.sqrt(speakers)) <= _MOST_SKEWED:
            return _sum_of_many(off, squared, skewness, speakers, tail)
        generator = np.random.default_rng(0)
        urns = np.cumsum(generator.standard_exponential((_DRAWS, len(off))), axis=1)
        places = generator.random((_DRAWS, speakers)) * urns[:, -1:]
        drawn = np.stack([np.searchsorted(urn, each) for urn, each in zip(urns, places, strict=True)])
        sums = off[drawn].sum(axis=1) / np.sqrt(np.maximum(squared[drawn].sum(axis=1), 1e-300))
        low, high = np.quantile(sums, [tail, 1 - tail])
        return float(low), float(high)

    def _weights(self) -> Reals:
        return np.full(len(self.value), 1 / len(self.value)) if self.weight is None else self.weight

    def _thinned(self, most: int) -> Self:
        """At most as many as a file should hold: quantiles, the ends kept."""
        if len(self.value) <= most:
            return self
        below = np.cumsum(self._weights())
        shares = (np.arange(most) + 0.5) / most
        kept = self.value[np.minimum(np.searchsorted(below, shares), len(self.value) - 1)]
        kept[[0, -1]] = self.value[[0, -1]]
        return type(self)(self.speakers, kept)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, to three decimals."""
        made: dict[str, Any] = {
            "speakers": self.speakers,
            "values": [round(value, 3) for value in self.value.tolist()],
        }
        for name, numbers in (("weights", self.weight), ("scales", self.scale)):
            if numbers is not None:
                made[name] = [float(f"{each:.3g}") for each in numbers.tolist()]
        if self.edges is not None:
            made["edges"] = [float(f"{edge:.6g}") for edge in self.edges.tolist()]
            made["parts"] = [part.to_dict() for part in self.parts]
        return made

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote; anything else is an `InputError`."""
        value, speakers = _numbers(form, "values"), int(number(form, "speakers"))
        weight, scale = (_numbers(form, name) if name in form else None for name in ("weights", "scales"))
        is_sorted = bool(len(value)) and bool((np.diff(value) >= 0).all()) and float(np.abs(value).max()) <= _FARTHEST
        fits = all(
            each is None or (len(each) == len(value) and bool((each > 0).all()) and float(each.sum()) < _FARTHEST)
            for each in (weight, scale)
        )
        if not is_sorted or not fits or speakers < 1:
            raise InputError("these are no residuals of speakers", remedy="Calibrate the model again")
        weight, parts = None if weight is None else weight / weight.sum(), _parts_of(form) if "edges" in form else ()
        return cls(speakers, value, weight, scale, *parts)


@lru_cache(maxsize=16)  # utterances, speakers, files and the corpus ask for the same
def _ends_of_parts(residuals: Residuals, level: float) -> Reals | None:
    """[parts, 2] the interval of each part; of all where there are no parts, or one has too few speakers."""
    alone = residuals.interval(level)
    if alone is None:
        return None
    return np.array([part.interval(level) or alone for part in residuals.parts] or [alone])


def _edges(rate: Reals, speakers: int) -> Reals:
    """Of parts of equal size, as many as the speakers are enough for."""
    parts = min(_MOST_PARTS, speakers // _SPEAKERS_OF_PART)
    return np.unique(np.quantile(rate, np.arange(1, parts) / parts)) if parts > 1 else np.zeros(0)


def _sum_of_many(off: Reals, squared: Reals, skewness: float, speakers: int, tail: float) -> tuple[float, float]:
    """The same for many, by the first three moments of what is drawn (Cornish and Fisher).

    That the known speakers are a sample too makes the variance larger by the share that new ones are of them.
    """
    mean, deviation = float(off.mean()), float(off.std())
    spread = deviation * np.sqrt(speakers * (1 + speakers / (len(off) + 1)))
    ends = []
    for share in (tail, 1 - tail):
        normal = NormalDist().inv_cdf(share)
        ends.append(speakers * mean + spread * (normal + (normal**2 - 1) * skewness / (6 * np.sqrt(speakers))))
    size = np.sqrt(max(float(squared.mean()) * speakers, 1e-300))
    return float(ends[0] / size), float(ends[1] / size)


def _skewness(off: Reals) -> float:
    deviation = float(off.std())
    return 0.0 if deviation <= 0 else float(((off - off.mean()) ** 3).mean()) / deviation**3


def check_level(level: float) -> float:
    """Refuse a level that is none."""
    if not 0 < level < 1:
        raise OptionError(f"the level is {level}, it must be between 0 and 1: nothing finite proves certainty")
    return level


def _parts_of(form: Mapping[str, Any]) -> tuple[Reals, tuple[Residuals, ...]]:
    edges, parts = _numbers(form, "edges"), objects_of(form, "parts")
    if len(parts) != len(edges) + 1 or len(parts) > _MOST_PARTS or not bool((np.diff(edges) > 0).all()):
        raise InputError("these are no residuals by estimated rate", remedy="Calibrate the model again")
    if any("edges" in part for part in parts):
        raise InputError("a part of residuals has parts itself", remedy="Calibrate the model again")
    return edges, tuple(map(Residuals.from_dict, parts))


def _numbers(form: Mapping[str, Any], name: str) -> Reals:
    values = list_of(form, name)
    if len(values) > 2 * _MOST_KEPT:
        raise InputError(f"{name} has {len(values):,} entries", remedy="Calibrate the model again")
    if set(map(type, values)) <= {float} and np.isfinite(values).all():  # as `to_dict` writes them
        return np.array(values, np.float64)
    return np.array([number({name: value}, name) for value in values], np.float64)

"""The numbers behind the plots: curves of a population, with few enough points to draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evaluation.metrics import Scores
from .chart import Reals

BINS = 10
_BETWEEN = 400  # points within runs of equal scores, over all words
_FEW = 20  # words: a precision of fewer is mostly noise
_EDGE = 1e-5  # rates nearer to 0 and 1 are not drawn
_Z = 1.96  # standard deviations of a 95% interval


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """How many right and wrong words lie below a threshold that rises through all scores.

    Words of equal score come one after another in random order, on average, so a run of them is a straight line.
    """

    right: Reals
    wrong: Reals

    @classmethod
    def of(cls, scores: Scores) -> Sweep | None:
        """None if no word is right, or none is wrong: then there is nothing to tell apart."""
        _, right, wrong = scores.tally()
        if not right.any() or not wrong.any():
            return None
        rising = [np.concatenate([[0.0], np.cumsum(counts, dtype=np.float64)]) for counts in (right, wrong)]
        below = rising[0] + rising[1]
        points = np.union1d(below, np.linspace(0, below[-1], _BETWEEN + 1))
        return cls(np.interp(points, below, rising[0]), np.interp(points, below, rising[1]))

    def rates(self) -> tuple[Reals, Reals]:
        """False alarms (wrong words accepted) and misses (right words rejected)."""
        return 1 - self.wrong / self.wrong[-1], self.right / self.right[-1]

    def finding_wrong(self) -> tuple[Reals, Reals]:
        """Recall and precision of calling everything below the threshold wrong."""
        enough = self._below() >= self._few()
        wrong = self.wrong[enough]
        return wrong / self.wrong[-1], wrong / (self.right[enough] + wrong)

    def accepting(self) -> tuple[Reals, Reals]:
        """Recall and precision of accepting everything from the threshold on."""
        right, wrong = (counts[-1] - counts for counts in (self.right, self.wrong))
        accepted = right + wrong >= self._few()
        return right[accepted] / right[0], right[accepted] / (right + wrong)[accepted]

    def _below(self) -> Reals:
        return self.right + self.wrong

    def _few(self) -> float:
        return min(_FEW, float(self._below()[-1]) / 20)

    def review(self) -> tuple[Reals, Reals]:
        """Shares of the words below the threshold, and of the errors among them."""
        below = self._below()
        return below / below[-1], self.wrong / self.wrong[-1]


def thin(x: Reals, y: Reals, tolerance: float = 5e-4) -> tuple[Reals, Reals]:
    """The curve with fewer points (Douglas and Peucker), nowhere further off than this share of its extent."""
    spans = [float(np.ptp(values)) or 1.0 for values in (x, y)]
    points = np.stack([x / spans[0], y / spans[1]], axis=1)
    grid = np.round(points / (tolerance / 2))
    moved = np.ones(len(points), np.bool_)
    moved[1:-1] = (grid[1:-1] != grid[:-2]).any(axis=1)
    near = np.flatnonzero(moved)
    chosen = near[_corners(points[near], tolerance / 2)]
    return x[chosen], y[chosen]


def _corners(points: Reals, tolerance: float) -> NDArray[np.bool_]:
    """Which points to keep so that no other is further than `tolerance` from the line through them."""
    keep = np.zeros(len(points), np.bool_)
    keep[[0, -1]] = True
    parts = [(0, len(points) - 1)]
    while parts:
        first, last = parts.pop()
        if last - first < 2:
            continue
        along, inner = points[last] - points[first], points[first + 1 : last] - points[first]
        length = float(along @ along)
        where = np.clip(inner @ along / length, 0, 1)[:, np.newaxis] if length else 0.0
        off = np.square(inner - where * along).sum(axis=1)
        worst = int(off.argmax())
        if off[worst] > tolerance**2:
            keep[first + 1 + worst] = True
            parts += [(first, first + 1 + worst), (first + 1 + worst, last)]
    return keep


@dataclass(frozen=True, slots=True, eq=False)
class Bin:
    """Words of similar confidence; the interval is for other speakers of the same kind."""

    low: float
    high: float
    words: int
    right: int
    claimed: float  # mean confidence
    interval: tuple[float, float] | None  # of the share that is right

    @property
    def share(self) -> float:
        """The share that is right."""
        return self.right / self.words

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Bin:
        """The bin of which `asdict` made the record."""
        interval = record["interval"]
        return cls(**{**record, "interval": None if interval is None else (interval[0], interval[1])})


def reliability(scores: Scores, bins: int = BINS) -> list[Bin]:
    """Words in bins of equal width, those that hold any."""
    index, speakers = _bin_index(scores, bins), len(scores.speakers)
    cell = scores.speaker * np.int64(bins) + index
    weights = (None, scores.correct.astype(np.float64), scores.score.astype(np.float64))
    words, right, claimed = (
        np.bincount(cell, weight, bins * speakers).astype(np.float64).reshape(speakers, bins) for weight in weights
    )
    sizes = words.sum(axis=0)
    return [
        Bin(
            b / bins, (b + 1) / bins, int(sizes[b]), int(right[:, b].sum()), float(claimed[:, b].sum() / sizes[b]),
            _interval(words[:, b], right[:, b]),
        )
        for b in np.flatnonzero(sizes).tolist()
    ]  # fmt: skip


def _bin_index(scores: Scores, bins: int) -> NDArray[np.int64]:
    return np.minimum((scores.score * bins).astype(np.int64), bins - 1)


def _interval(words: Reals, right: Reals) -> tuple[float, float] | None:
    """Wilson's interval for the effective number of words: those of one speaker are alike. None with one speaker."""
    having = words > 0
    speakers = int(having.sum())
    if speakers < 2:
        return None
    size, share = float(words.sum()), float(right.sum() / words.sum())
    independent = share * (1 - share) / size
    clustered = float(np.square(right - share * words).sum()) / size**2 * speakers / (speakers - 1)
    effective = size / max(1.0, clustered / independent) if independent else size
    middle = share + _Z**2 / (2 * effective)
    half = _Z * float(np.sqrt(share * (1 - share) / effective + _Z**2 / (4 * effective**2)))
    scale = 1 + _Z**2 / effective
    return (middle - half) / scale, (middle + half) / scale


def histograms(scores: Scores, bins: int = 2 * BINS) -> tuple[Reals, Reals]:
    """How many right and wrong words lie in each bin of equal width."""
    index = _bin_index(scores, bins)
    right, wrong = (np.bincount(index[chosen], minlength=bins) for chosen in (scores.correct, ~scores.correct))
    return right.astype(np.float64), wrong.astype(np.float64)


_INVERSE = np.array([2.515517, 0.802853, 0.010328]), np.array([1.0, 1.432788, 0.189269, 0.001308])


def deviate(rate: Reals) -> Reals:
    """The normal deviate of a rate, to 4.5e-4 (Abramowitz and Stegun, 26.2.23): enough to draw."""
    inside = np.clip(rate, _EDGE, 1 - _EDGE)
    tail = np.sqrt(-2 * np.log(np.minimum(inside, 1 - inside)))
    above, below = (np.polynomial.polynomial.polyval(tail, terms) for terms in _INVERSE)
    deviates: Reals = np.where(inside < 0.5, -1.0, 1.0) * (tail - above / below)
    return deviates

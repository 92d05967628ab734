"""The kernel calibrator of Jeon, Jordan and Krishnamoorthy (ICASSP 2020), at a fixed cost for each score.

It needs sums of kernels over any number of scores, S(u) = Σ_i k(u_i - u) with k(x) = e^x / (1 + e^x)^2, and keeps
them as short polynomials.

k has no pole within π of the real line, and for |Im x| < π/2 its real part is positive. So, whatever the scores are,

- k(u_i - u), as a function of u_i in a cell of length 1, is a polynomial through 12 Chebyshev points to a relative
  1e-12: all scores of a cell count as weights of these 12 points;
- log S has a derivative of at most 1 / cos(a) in the strip |Im u| < a < π/2: within a cell of length 1 it is a
  polynomial through 12 Chebyshev points to about 2e-8 (ellipse of Bernstein with a = 1.4).

Farther than 18 from a score, k is e^-|x| to a relative 3e-8, so far scores are one running sum in the log domain,
where nothing underflows, and outside the table log S is a straight line of slope 1. Cells are then joined into longer
pieces where one polynomial of the same degree still fits. What was joined is compared at the 12 points of every cell;
both sides are polynomials of degree 11 there, so between the points they differ at most 2.5 times (Lebesgue's
constant) as much as at them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...base.errors import InputError, OptionError
from ...base.jit import compiled
from ...base.json_checks import list_of
from ...lattices.lattice import Flags
from .base import CLIP_LOGIT, MOST, Calibrator, Groups, Ranges, Reals, number_between
from .kernel_choice import LARGEST_L, SMALLEST_L, choose
from .parametric import WEIGHT, fit_platt

POINTS = 12  # Chebyshev points of a cell, coefficients of a piece
REACH = 18  # cells to either side in which k is not yet an exponential
LONGEST = 32  # cells that one piece may join
TOLERANCE = 1e-6  # of log S from joining cells, so 5e-7 of a probability
_LEBESGUE = 2.5  # of interpolation in 12 Chebyshev points
UNIT = 1e-7  # coefficients are whole multiples of it, short in files: another 6e-7 of log S at most

_MOST_CELLS = int(2 * MOST * LARGEST_L) + 2 * REACH + 2 * LONGEST
_LARGEST_PRIOR = 1e12
_LARGEST = 4 * _MOST_CELLS / UNIT  # no sum of kernels is farther from 1, in logs

Whole = NDArray[np.int64]


class KernelCalibrator(Calibrator):
    """P(right | y) = (S_right + m platt(y)) / (S_right + S_wrong + m), with S(y) = Σ_i L k(L (y_i - y)) over logits.

    `L` says how finely scores are told apart, `prior` is m: how many words' worth of a Platt fit there is at every
    logit, which counts where words are few. None chooses both by the likelihood of held-out words, folds by `groups`.
    `prior=0` is the paper's form, the sum itself, to 1e-6. The result need not rise with the score.

    Scores of exactly 0 and 1 have no logit. Each of the two has its own share of right words, pulled, with the weight
    of one word, to the probability at the nearest other score.
    """

    name = "kernel"
    learnt: ClassVar[Ranges] = {
        "L": (SMALLEST_L, LARGEST_L), "prior": (0, _LARGEST_PRIOR), "slope": WEIGHT, "offset": WEIGHT,
        "at_zero": (0, 1), "at_one": (0, 1),
    }  # fmt: skip

    def __init__(self, L: float | None = None, prior: float | None = None, domain: str = "probability") -> None:  # noqa: N803
        super().__init__(domain)
        self.L = L
        self.prior = prior

    def _check_params(self) -> None:
        super()._check_params()
        for name in ("L", "prior"):
            value, (low, high) = getattr(self, name), self.learnt[name]
            if value is not None and not _within(value, low, high):
                raise OptionError(f"{name} is {value!r}; it must be a number from {low:g} to {high:g}, or None")

    def _fit(self, scores: Reals, correct: Flags, groups: Groups) -> None:
        logits = self._logits(scores)
        finite = np.isfinite(logits)
        inside, right = (logits, correct) if finite.all() else (logits[finite], correct[finite])
        if groups is not None and len(inside) < len(logits):
            groups = np.asarray(groups)[finite]
        chosen = choose(inside, right, groups, self.L, self.prior)
        self.L_, self.prior_ = map(float, chosen)
        self.slope_, self.offset_ = fit_platt(inside, right) if len(inside) else (0.0, _log_odds(correct))
        self.sums_ = LogSums.of(self.L_ * inside, right) if len(inside) else None
        low, high = (inside.min(), inside.max()) if len(inside) else (0.0, 0.0)
        at_low, at_high = self._apply(np.array([low, high]), 0.0, 1.0).tolist()
        self.at_zero_ = _share(correct[logits == -np.inf], at_low)
        self.at_one_ = _share(correct[logits == np.inf], at_high)

    def _predict(self, scores: Reals) -> Reals:
        return self._apply(self._logits(scores), self.at_zero_, self.at_one_)

    def _apply(self, logits: Reals, at_zero: float, at_one: float) -> Reals:
        probability = np.empty(len(logits))
        sums = self.sums_ or _NOTHING
        _probabilities(
            logits, self.L_, sums.first, sums.piece, sums.start, sums.sizes, sums.powers, sums.right is not None,
            sums.wrong is not None, self.slope_, self.offset_, self.prior_ / self.L_, at_zero, at_one, probability,
        )  # fmt: skip
        return probability

    def _to_dict(self) -> dict[str, Any]:
        record = super()._to_dict()
        if self.sums_ is not None:
            record |= {"first": self.sums_.first, "sizes": self.sums_.sizes.tolist()}
            for name, table in (("right", self.sums_.right), ("wrong", self.sums_.wrong)):
                record |= {} if table is None else {name: np.rint(table / UNIT).astype(np.int64).tolist()}
        return record

    def _from_dict(self, fitted: Mapping[str, Any]) -> None:
        super()._from_dict(fitted)
        self.sums_ = _read_sums(fitted) if "sizes" in fitted else None


def _within(value: object, low: float, high: float) -> bool:
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return is_number and low <= value <= high  # type: ignore[operator]


def _log_odds(correct: Flags) -> float:
    return float(np.log((np.count_nonzero(correct) + 1) / (np.count_nonzero(~correct) + 1)))


def _share(correct: Flags, otherwise: float) -> float:
    return float((np.count_nonzero(correct) + otherwise) / (len(correct) + 1))


@compiled
def _probabilities(
    logits: Reals, scale: float, first: int, piece: Whole, start: Whole, sizes: Whole, powers: Reals, any_right: bool,
    any_wrong: bool, slope: float, offset: float, prior: float, at_zero: float, at_one: float, probability: Reals,
) -> None:  # fmt: skip
    """The calibrated probability of each logit; `prior` is m / L, as the factor L is left out of the sums."""
    begin, end = float(first), float(first + len(piece))
    for word in range(len(logits)):
        if np.isinf(logits[word]):
            probability[word] = at_one if logits[word] > 0 else at_zero
            continue
        u = scale * logits[word]
        inside = min(max(u, begin), end)
        p = piece[min(int(inside - begin), len(piece) - 1)]
        x = 2 * (inside - start[p]) / sizes[p] - 1
        right, wrong = powers[p, POINTS - 1, 0], powers[p, POINTS - 1, 1]
        for j in range(POINTS - 2, -1, -1):
            right = right * x + powers[p, j, 0]
            wrong = wrong * x + powers[p, j, 1]
        away = abs(u - inside)  # outside the table both fall with slope 1
        z = slope * min(max(logits[word], -CLIP_LOGIT), CLIP_LOGIT) + offset
        platt = 1 / (1 + np.exp(-z))
        if not any_right and not any_wrong:
            probability[word] = platt
            continue
        top = max(right if any_right else wrong, wrong if any_wrong else right)
        sure = np.exp(right - top) if any_right else 0.0
        unsure = np.exp(wrong - top) if any_wrong else 0.0
        if prior > 0:
            pull = prior * np.exp(min(away - top, 600.0))
            sure += pull * platt
            unsure += pull * (1 - platt)
        probability[word] = sure / (sure + unsure)


def _read_sums(fitted: Mapping[str, Any]) -> LogSums:
    remedy = "The file is damaged: fit it again"
    sizes = list_of(fitted, "sizes")
    if not 0 < len(sizes) <= _MOST_CELLS or not all(type(size) is int and 0 < size <= LONGEST for size in sizes):
        raise InputError("the sizes of a kernel calibrator's pieces are not such sizes", remedy=remedy)
    first = number_between(fitted, "first", -_MOST_CELLS, _MOST_CELLS)
    if sum(sizes) > _MOST_CELLS or first != int(first):
        raise InputError("the pieces of a kernel calibrator lie outside of all scores", remedy=remedy)
    right, wrong = (_read_table(fitted, name, len(sizes)) if name in fitted else None for name in ("right", "wrong"))
    if right is None and wrong is None:
        raise InputError("a kernel calibrator has no table", remedy=remedy)
    return LogSums(int(first), np.array(sizes, np.int64), right, wrong)


def _read_table(fitted: Mapping[str, Any], name: str, pieces: int) -> Reals:
    rows = list_of(fitted, name)
    if len(rows) != pieces or not all(isinstance(row, list) and len(row) == POINTS for row in rows):
        raise InputError(f"{name} is not a table of {pieces} rows and {POINTS} columns", remedy="Fit it again")
    read = [[number_between({name: value}, name, -_LARGEST, _LARGEST) for value in row] for row in rows]
    return np.array(read) * UNIT


@dataclass(frozen=True, eq=False)
class LogSums:
    """log S of the right and of the wrong words, as pieces of Chebyshev polynomials."""

    first: int  # where the first piece begins
    sizes: Whole  # [pieces] their lengths
    right: Reals | None  # [pieces, POINTS] Chebyshev coefficients; None if no word is right
    wrong: Reals | None

    @classmethod
    def of(cls, places: Reals, correct: Flags) -> LogSums:
        """The sums over words at these places on the line of u; at least one word."""
        low, high = int(np.floor(places.min())), int(np.floor(places.max()))
        sums = np.zeros((2, high - low + 1, POINTS))
        _add_up(places, correct, low, sums)
        begin, count = low - REACH, len(sums[0]) + 2 * REACH
        count += -count % LONGEST
        logs = [_log_sums(chebyshev, low, begin, count) if chebyshev[:, 0].any() else None for chebyshev in sums]
        sizes, coefficients = _joined(np.stack([log for log in logs if log is not None]))
        pieces = iter(coefficients)
        wrong, right = (None if log is None else next(pieces) for log in logs)
        return cls(begin, sizes, right, wrong)

    @cached_property
    def start(self) -> Whole:
        """[pieces] where each begins."""
        return self.first + np.cumsum(self.sizes) - self.sizes

    @cached_property
    def piece(self) -> Whole:
        """[cells] the piece that each cell belongs to: finding the piece of a score takes one step."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def powers(self) -> Reals:
        """[pieces, POINTS, 2] coefficients of 1, x, x^2, ... for right and wrong words; 0 where there are none."""
        none = np.zeros((len(self.sizes), POINTS))
        both = [none if table is None else table @ _to_powers() for table in (self.right, self.wrong)]
        return np.ascontiguousarray(np.stack(both, axis=2))


@cache
def _points() -> Reals:
    return np.cos(np.pi * (np.arange(POINTS) + 0.5) / POINTS)


def _chebyshev(x: Reals) -> Reals:
    """[len(x), POINTS] the Chebyshev polynomials at x."""
    return np.asarray(np.polynomial.chebyshev.chebvander(x, POINTS - 1), np.float64)


@cache
def _to_powers() -> Reals:
    return np.stack([np.pad(np.polynomial.chebyshev.cheb2poly(row), (0, POINTS))[:POINTS] for row in np.eye(POINTS)])


@compiled
def _add_up(places: Reals, correct: Flags, low: int, sums: Reals) -> None:
    """Add the Chebyshev polynomials of every place, in its cell, to sums[correct, cell]."""
    for word in range(len(places)):
        cell = np.floor(places[word])
        x = 2 * (places[word] - cell) - 1
        row = sums[1 if correct[word] else 0, int(cell) - low]
        previous, current = 1.0, x
        row[0] += previous
        for j in range(1, POINTS):
            row[j] += current
            previous, current = current, 2 * x * current - previous


def _log_sums(chebyshev: Reals, low: int, begin: int, count: int) -> Reals:
    """[count, POINTS] log S at the points of `count` cells from `begin` on; scores are in cells from `low` on."""
    x = _points()
    to_points = _chebyshev(x).T * (np.where(np.arange(POINTS), 2, 1) / POINTS)[:, np.newaxis]
    weights = np.zeros((count + 2 * REACH, POINTS))  # the cells from begin - REACH on
    offset = low - (begin - REACH)
    weights[offset : offset + len(chebyshev)] = chebyshev @ to_points
    near = np.zeros((count + 4 * REACH, POINTS))  # the cells from begin - 2 REACH on
    occupied = np.flatnonzero(chebyshev[:, 0])  # in the gaps between far scores there is nothing to add
    for away in range(-REACH, REACH + 1):
        distance = away + (x[:, np.newaxis] - x) / 2
        shape = np.exp(-np.abs(distance))
        near[offset + occupied + REACH - away] += weights[offset + occupied] @ (shape / np.square(1 + shape))
    with np.errstate(divide="ignore"):
        near_log = np.log(np.maximum(near[2 * REACH : 2 * REACH + count], 0))
    from_left, from_right = (_running(weights, begin - REACH, sign) for sign in (1, -1))
    nothing = np.full(1, -np.inf)
    left = np.concatenate([nothing, from_left[: count - 1]])[:, np.newaxis]
    right = np.concatenate([from_right[2 * REACH + 1 :], nothing])[:, np.newaxis]
    u = begin + np.arange(count)[:, np.newaxis] + (x + 1) / 2
    return np.asarray(np.logaddexp(near_log, np.logaddexp(left - u, right + u)))


def _running(weights: Reals, begin: int, sign: int) -> Reals:
    """For every cell, log Σ e^(sign u_i) over the scores up to it: from the left, or from the right for -1."""
    middle = begin + np.arange(len(weights)) + 0.5
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(weights @ np.exp(sign * _points() / 2), 0)) + sign * middle
    return np.asarray(np.logaddexp.accumulate(logs[::sign])[::sign])


def _joined(values: Reals) -> tuple[Whole, Reals]:
    """Lengths of pieces, and [classes, pieces, POINTS] their coefficients, from [classes, cells, POINTS] log S."""
    cells = values.shape[1]
    free = np.ones(cells, np.bool_)
    starts, sizes, pieces = [], [], []
    size = LONGEST
    while size:
        fit, polynomials = _fitting(size)
        left = np.flatnonzero(free[::size])
        grouped = values.reshape(len(values), cells // size, size * POINTS)[:, left]
        coefficients = grouped @ fit
        worst = np.abs(grouped - coefficients @ polynomials).max(axis=(0, 2), initial=0)
        good = (worst <= TOLERANCE / _LEBESGUE) | (size == 1)
        free.reshape(-1, size)[left[good]] = False
        starts.append(left[good] * size)
        sizes.append(np.full(np.count_nonzero(good), size))
        pieces.append(coefficients[:, good])
        size //= 2
    order = np.argsort(np.concatenate(starts))
    return np.concatenate(sizes)[order], np.rint(np.concatenate(pieces, axis=1)[:, order] / UNIT) * UNIT


@cache
def _fitting(size: int) -> tuple[Reals, Reals]:
    """What turns values at the points of `size` cells into coefficients (least squares), and these into values."""
    x = (np.arange(size)[:, np.newaxis] + (_points() + 1) / 2).ravel() * (2 / size) - 1
    polynomials = _chebyshev(x)
    return np.ascontiguousarray(np.linalg.pinv(polynomials).T), np.ascontiguousarray(polynomials.T)


_NOTHING = LogSums(0, np.ones(1, np.int64), None, None)  # where all scores are 0 or 1

"""Sums of kernels over any number of scores, as short polynomials: S(u) = Σ_i k(u_i - u), k(x) = e^x / (1 + e^x)^2.

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

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from ...base.jit import compiled
from ...lattices.lattice import Flags
from .base import Reals

POINTS = 12  # Chebyshev points of a cell, coefficients of a piece
REACH = 18  # cells to either side in which k is not yet an exponential
LONGEST = 32  # cells that one piece may join
TOLERANCE = 1e-6  # of log S from joining cells, so 5e-7 of a probability
_LEBESGUE = 2.5  # of interpolation in 12 Chebyshev points
UNIT = 1e-7  # coefficients are whole multiples of it, short in files: another 6e-7 of log S at most

Whole = NDArray[np.int64]


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
        sizes, coefficients = _joined(np.stack([each for each in logs if each is not None]))
        found = iter(coefficients)
        wrong, right = (None if each is None else next(found) for each in logs)
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
        both = [none if each is None else each @ _to_powers() for each in (self.right, self.wrong)]
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
        before, here = 1.0, x
        row[0] += before
        for j in range(1, POINTS):
            row[j] += here
            before, here = here, 2 * x * here - before


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
    starts, sizes, found = [], [], []
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
        found.append(coefficients[:, good])
        size //= 2
    order = np.argsort(np.concatenate(starts))
    return np.concatenate(sizes)[order], np.rint(np.concatenate(found, axis=1)[:, order] / UNIT) * UNIT


@cache
def _fitting(size: int) -> tuple[Reals, Reals]:
    """What turns values at the points of `size` cells into coefficients (least squares), and these into values."""
    x = (np.arange(size)[:, np.newaxis] + (_points() + 1) / 2).ravel() * (2 / size) - 1
    polynomials = _chebyshev(x)
    return np.ascontiguousarray(np.linalg.pinv(polynomials).T), np.ascontiguousarray(polynomials.T)

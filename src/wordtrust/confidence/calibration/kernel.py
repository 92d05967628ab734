"""The kernel calibrator of Jeon, Jordan and Krishnamoorthy (DESIGN, section 6), at a fixed cost for each score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...base.errors import InputError, OptionError
from ...base.jit import compiled
from ...base.json_checks import list_of
from ...lattices.lattice import Flags
from .base import CLIP_LOGIT, MOST, Calibrator, Groups, Reals, number_between
from .choose import LARGEST_L, SMALLEST_L, choose
from .parametric import fit_platt, slope_and_offset
from .sums import LONGEST, POINTS, REACH, UNIT, LogSums, Whole

_MOST_CELLS = int(2 * MOST * LARGEST_L) + 2 * REACH + 2 * LONGEST
_LARGEST_PRIOR = 1e12
_LARGEST = 4 * _MOST_CELLS / UNIT  # no sum of kernels is farther from 1, in logs


class KernelCalibrator(Calibrator):
    """P(right | y) = (S_right + m platt(y)) / (S_right + S_wrong + m), with S(y) = Σ_i L k(L (y_i - y)) over logits.

    `L` says how finely scores are told apart, `prior` is m: how many words' worth of a Platt fit there is at every
    logit, which counts where words are few. None chooses both by the likelihood of held-out words, folds by `groups`.
    `prior=0` is the paper's form, the sum itself, to 1e-6. The result need not rise with the score.

    Scores of exactly 0 and 1 have no logit. Each of the two has its own share of right words, pulled, with the weight
    of one word, to the probability at the nearest other score.
    """

    name = "kernel"

    def __init__(self, L: float | None = None, prior: float | None = None, domain: str = "probability") -> None:  # noqa: N803
        self.L = L
        self.prior = prior
        self.domain = domain

    def _check_params(self) -> None:
        super()._check_params()
        if self.L is not None and not _within(self.L, SMALLEST_L, LARGEST_L):
            raise OptionError(f"L is {self.L!r}; it must be a number from {SMALLEST_L} to {LARGEST_L:g}, or None")
        if self.prior is not None and not _within(self.prior, 0, _LARGEST_PRIOR):
            raise OptionError(f"prior is {self.prior!r}; it must be a number from 0 to {_LARGEST_PRIOR:g}, or None")

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
        found = np.empty(len(logits))
        sums = self.sums_ or _NOTHING
        _probabilities(
            logits, self.L_, sums.first, sums.piece, sums.start, sums.sizes, sums.powers, sums.right is not None,
            sums.wrong is not None, self.slope_, self.offset_, self.prior_ / self.L_, at_zero, at_one, found,
        )  # fmt: skip
        return found

    def _to_dict(self) -> dict[str, Any]:
        names = ("L", "prior", "slope", "offset", "at_zero", "at_one")
        found: dict[str, Any] = {name: getattr(self, f"{name}_") for name in names}
        if self.sums_ is not None:
            found |= {"first": self.sums_.first, "sizes": self.sums_.sizes.tolist()}
            for name, table in (("right", self.sums_.right), ("wrong", self.sums_.wrong)):
                found |= {} if table is None else {name: np.rint(table / UNIT).astype(np.int64).tolist()}
        return found

    def _from_dict(self, fitted: Mapping[str, Any]) -> None:
        self.L_ = number_between(fitted, "L", SMALLEST_L, LARGEST_L)
        self.prior_ = number_between(fitted, "prior", 0, _LARGEST_PRIOR)
        self.slope_, self.offset_ = slope_and_offset(fitted)
        self.at_zero_, self.at_one_ = (number_between(fitted, each, 0, 1) for each in ("at_zero", "at_one"))
        self.sums_ = _read_sums(fitted) if "sizes" in fitted else None


_NOTHING = LogSums(0, np.ones(1, np.int64), None, None)  # where all scores are 0 or 1


def _within(value: object, low: float, high: float) -> bool:
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return is_number and low <= value <= high  # type: ignore[operator]


def _log_odds(correct: Flags) -> float:
    right = int(np.count_nonzero(correct))
    return float(np.log((right + 1) / (len(correct) - right + 1)))


def _share(correct: Flags, otherwise: float) -> float:
    return float((np.count_nonzero(correct) + otherwise) / (len(correct) + 1))


@compiled
def _probabilities(
    logits: Reals, scale: float, first: int, piece: Whole, start: Whole, sizes: Whole, powers: Reals, any_right: bool,
    any_wrong: bool, slope: float, offset: float, prior: float, at_zero: float, at_one: float, found: Reals,
) -> None:  # fmt: skip
    """The calibrated probability of each logit; `prior` is m / L, as the factor L is left out of the sums."""
    begin, end = float(first), float(first + len(piece))
    for word in range(len(logits)):
        if np.isinf(logits[word]):
            found[word] = at_one if logits[word] > 0 else at_zero
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
            found[word] = platt
            continue
        top = max(right if any_right else wrong, wrong if any_wrong else right)
        sure = np.exp(right - top) if any_right else 0.0
        unsure = np.exp(wrong - top) if any_wrong else 0.0
        if prior > 0:
            pull = prior * np.exp(min(away - top, 600.0))
            sure += pull * platt
            unsure += pull * (1 - platt)
        found[word] = sure / (sure + unsure)


def _read_sums(fitted: Mapping[str, Any]) -> LogSums:
    remedy = "The file is damaged: fit it again"
    sizes = list_of(fitted, "sizes")
    if not 0 < len(sizes) <= _MOST_CELLS or not all(type(size) is int and 0 < size <= LONGEST for size in sizes):
        raise InputError("the sizes of a kernel calibrator's pieces are not such sizes", remedy=remedy)
    first = number_between(fitted, "first", -_MOST_CELLS, _MOST_CELLS)
    if sum(sizes) > _MOST_CELLS or first != int(first):
        raise InputError("the pieces of a kernel calibrator lie outside of all scores", remedy=remedy)
    tables = [_read_table(fitted, name, len(sizes)) for name in ("right", "wrong") if name in fitted]
    if not tables:
        raise InputError("a kernel calibrator has no table", remedy=remedy)
    found = iter(tables)
    right, wrong = (next(found) if name in fitted else None for name in ("right", "wrong"))
    return LogSums(int(first), np.array(sizes, np.int64), right, wrong)


def _read_table(fitted: Mapping[str, Any], name: str, pieces: int) -> Reals:
    rows = list_of(fitted, name)
    if len(rows) != pieces or not all(isinstance(row, list) and len(row) == POINTS for row in rows):
        raise InputError(f"{name} is not a table of {pieces} rows and {POINTS} columns", remedy="Fit it again")
    read = [[number_between({name: value}, name, -_LARGEST, _LARGEST) for value in row] for row in rows]
    return np.array(read) * UNIT

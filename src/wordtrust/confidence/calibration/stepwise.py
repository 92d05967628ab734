"""Calibrators made of the shares of right words among words of similar score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.errors import InputError, OptionError
from ...base.jit import compiled
from ...base.json_checks import list_of
from ...lattices.lattice import Flags
from .base import MOST, Calibrator, Groups, Reals, number_between

Counts = NDArray[np.int64]

_LONGEST = 100_000  # numbers that a list in a file may have
_DECIMALS = 9  # of steps, which may be hundreds


class Isotonic(Calibrator):
    """The rising curve that fits best (pool adjacent violators), straight lines between its steps.

    One made-up wrong word at the highest score and one right at the lowest keep it away from 0 and 1, where a single
    error would cost infinitely much.
    """

    name = "isotonic"

    def _fit(self, scores: Reals, correct: Flags, groups: Groups) -> None:  # noqa: ARG002
        value, right, words = _tally(np.clip(scores, -MOST, MOST), correct)
        right[0] += 1
        words[0] += 1
        words[-1] += 1
        first = np.empty(len(value), np.int64)
        first = first[: _pool(right, words, first)]
        rate = np.add.reduceat(right, first) / np.add.reduceat(words, first)
        last = np.append(first[1:], len(value)) - 1
        ends = np.stack([value[first], value[last]], axis=1).ravel()  # a step is flat from first to last score
        is_new = np.append(True, ends[1:] > ends[:-1])
        self.scores_, self.probabilities_ = ends[is_new], np.repeat(np.round(rate, _DECIMALS), 2)[is_new]

    def _predict(self, scores: Reals) -> Reals:
        return np.asarray(np.interp(np.clip(scores, -MOST, MOST), self.scores_, self.probabilities_))

    def _to_dict(self) -> dict[str, Any]:
        return {"scores": self.scores_.tolist(), "probabilities": self.probabilities_.tolist()}

    def _from_dict(self, fitted: Mapping[str, Any]) -> None:
        scores, probabilities = _rising(fitted, "scores"), _probabilities(fitted)
        if len(scores) != len(probabilities) or np.any(np.diff(probabilities) < 0):
            raise InputError("the steps of an isotonic calibrator do not rise or do not fit", remedy="Fit it again")
        self.scores_, self.probabilities_ = scores, probabilities


class Histogram(Calibrator):
    """The share of right words in bins of equal count, smoothed: (right + 1) / (words + 2).

    Words of equal score are never in different bins, so there can be fewer bins than asked for.
    """

    name = "histogram"

    def __init__(self, bins: int = 20, domain: str = "probability") -> None:
        super().__init__(domain)
        self.bins = bins

    def _check_params(self) -> None:
        super()._check_params()
        is_whole = isinstance(self.bins, int | np.integer) and not isinstance(self.bins, bool)
        if not is_whole or not 1 <= self.bins <= _LONGEST:
            raise OptionError(f"bins is {self.bins!r}; it must be a whole number from 1 to {_LONGEST:,}")

    def _fit(self, scores: Reals, correct: Flags, groups: Groups) -> None:  # noqa: ARG002
        value, right, words = _tally(np.clip(scores, -MOST, MOST), correct)
        rank = np.cumsum(words) - words / 2
        bin_of = (rank * self.bins / words.sum()).astype(np.int64)
        first = np.flatnonzero(np.append(True, bin_of[1:] > bin_of[:-1]))
        below, above = value[first[1:] - 1], value[first[1:]]
        middle = (below + above) / 2
        self.edges_ = np.where(middle > below, middle, above)  # neighbouring floats have no middle
        self.probabilities_ = (np.add.reduceat(right, first) + 1) / (np.add.reduceat(words, first) + 2)

    def _predict(self, scores: Reals) -> Reals:
        return np.asarray(self.probabilities_[np.searchsorted(self.edges_, scores, side="right")])

    def _to_dict(self) -> dict[str, Any]:
        return {"edges": self.edges_.tolist(), "probabilities": self.probabilities_.tolist()}

    def _from_dict(self, fitted: Mapping[str, Any]) -> None:
        edges, probabilities = _rising(fitted, "edges"), _probabilities(fitted)
        if len(edges) + 1 != len(probabilities):
            raise InputError("the bins of a histogram do not fit their edges", remedy="Fit it again")
        self.edges_, self.probabilities_ = edges, probabilities


def _tally(scores: Reals, correct: Flags) -> tuple[Reals, Counts, Counts]:
    """The distinct scores, rising, with how many right words and how many words have each."""
    order = np.argsort(scores)
    ranked = scores[order]
    first = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
    right = np.add.reduceat(correct[order].astype(np.int64), first)
    return ranked[first], right, np.diff(np.append(first, len(ranked)))


@compiled
def _pool(right: Counts, words: Counts, first: Counts) -> int:
    """Pool adjacent violators: where each block of the best rising fit begins, and how many blocks there are."""
    block_right, block_words = np.empty(len(right), np.int64), np.empty(len(right), np.int64)
    blocks = 0
    for k in range(len(right)):
        first[blocks], block_right[blocks], block_words[blocks] = k, right[k], words[k]
        blocks += 1
        # Exact, in whole numbers; as floats, products of counts above 2 ** 53 would be off.
        while blocks > 1 and (
            block_right[blocks - 2] * block_words[blocks - 1] >= block_right[blocks - 1] * block_words[blocks - 2]
        ):
            blocks -= 1
            block_right[blocks - 1] += block_right[blocks]
            block_words[blocks - 1] += block_words[blocks]
    return blocks


def _numbers(fitted: Mapping[str, Any], name: str) -> Reals:
    values = list_of(fitted, name)
    if len(values) > _LONGEST:
        raise InputError(f"{name} has {len(values):,} numbers, more than {_LONGEST:,}", remedy="Fit it again")
    return np.array([number_between({name: value}, name, -MOST, MOST) for value in values])


def _rising(fitted: Mapping[str, Any], name: str) -> Reals:
    values = _numbers(fitted, name)
    if np.any(np.diff(values) < 0):
        raise InputError(f"{name} do not rise", remedy="Fit it again")
    return values


def _probabilities(fitted: Mapping[str, Any]) -> Reals:
    values = _numbers(fitted, "probabilities")
    if not len(values) or not 0 <= values.min() <= values.max() <= 1:
        raise InputError("probabilities are missing, or not from 0 to 1", remedy="Fit it again")
    return values

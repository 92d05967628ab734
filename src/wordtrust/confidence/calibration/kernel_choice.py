"""Choosing L and the prior of the kernel calibrator by the likelihood of held-out words.

For the choice alone, at most 200,000 words (drawn at random) are put into at most 600 bins. The kernel between bins
is one matrix for each L, which serves all folds and priors: the whole choice takes well under a second. What differs
by less than half a nat, over all words, is as good as equal: then the smaller L and the larger prior win, which is
the smoother curve and the shorter table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...base.folds import balanced_folds
from ...lattices.lattice import Flags
from .base import CLIP, Groups, Reals, clipped, sigmoid
from .parametric import fit_platt

PAPER_L = 1.8
FALLBACK_PRIOR = 10.0
PRIORS = tuple(float(f"{10 ** (step / 2):.3g}") for step in range(-2, 13))  # 0.1 to a million words a logit
WIDTHS = tuple(1.5 * 2 ** (step / 2) for step in range(13))  # L times the standard deviation of the logits: 1.5 to 96
SMALLEST_L, LARGEST_L = 0.01, 100.0
FOLDS = 10
_LEAST = 20  # words to choose anything on
_MOST = 200_000
_HALF_BINS = 300
_NATS = 0.5


@dataclass(frozen=True, eq=False)
class _Binned:
    """Words in bins: where each bin lies, how many right and wrong words of each fold, and Platt without the fold."""

    middle: Reals  # [bins]
    right: Reals  # [folds, bins]
    wrong: Reals  # [folds, bins]
    platt: Reals  # [folds, bins]


def choose(
    logits: Reals,
    correct: Flags,
    groups: Groups,
    given_l: float | None,
    given_prior: float | None,
) -> tuple[float, float]:
    """L and the prior: as given, or the best; the paper's L and a firm prior where there is too little data."""
    if given_l is not None and given_prior is not None:
        return given_l, given_prior
    fallback = given_l or PAPER_L, FALLBACK_PRIOR if given_prior is None else given_prior
    if len(logits) < _LEAST or correct.all() or not correct.any():
        return fallback
    if len(logits) > _MOST:
        drawn = np.sort(np.random.default_rng(0).choice(len(logits), _MOST, replace=False))
        logits, correct, groups = logits[drawn], correct[drawn], None if groups is None else np.asarray(groups)[drawn]
    fold = balanced_folds(len(logits), groups, FOLDS)
    if not fold.any():
        return fallback
    binned = _bin(logits, correct, fold)
    std = max(float(np.std(clipped(logits))), 0.01)
    widths = [given_l] if given_l is not None else [_bounded(width / std) for width in WIDTHS]
    priors = [given_prior] if given_prior is not None else PRIORS
    quality = np.stack([_likelihoods(binned, width, priors) for width in widths])
    good = quality >= quality.max() - _NATS
    row = int(np.argmax(good.any(axis=1)))  # the first, so the smallest L
    column = int(np.flatnonzero(good[row])[-1])
    return float(widths[row]), float(priors[column])


def _bounded(value: float) -> float:
    return float(f"{min(max(value, SMALLEST_L), LARGEST_L):.4g}")


def _bin(logits: Reals, correct: Flags, fold: np.ndarray[tuple[int], np.dtype[np.int64]]) -> _Binned:
    """Bins of equal count and of equal length, laid over each other: fine where words are many, and in the tails."""
    by_count = np.quantile(logits, np.linspace(0, 1, _HALF_BINS + 1)[1:-1])
    by_length = np.linspace(logits.min(), logits.max(), _HALF_BINS + 1)[1:-1]
    edges = np.sort(np.concatenate([by_count, by_length]))
    _, number = np.unique(np.searchsorted(edges, logits), return_inverse=True)
    bins, folds = int(number.max()) + 1, int(fold.max()) + 1
    middle = np.bincount(number, logits) / np.bincount(number)
    key = fold * bins + number
    right, wrong = (
        np.bincount(key[chosen], minlength=folds * bins).reshape(folds, bins).astype(np.float64)
        for chosen in (correct, ~correct)
    )
    lines = [fit_platt(logits[fold != left_out], correct[fold != left_out]) for left_out in range(folds)]
    platt = np.stack([sigmoid(slope * clipped(middle) + offset) for slope, offset in lines])
    return _Binned(middle, right, wrong, platt)


def _likelihoods(binned: _Binned, width: float, priors: tuple[float, ...] | list[float]) -> Reals:
    """The log-likelihood of all held-out words for each prior."""
    tail = np.exp(-np.abs(width * (binned.middle[:, np.newaxis] - binned.middle)))
    kernel = width * tail / np.square(1 + tail)
    right, wrong = ((counts.sum(axis=0) - counts) @ kernel for counts in (binned.right, binned.wrong))
    likelihoods = []
    for prior in priors:
        weight = max(prior, 1e-300)  # where no word is near and the prior is 0
        probability = np.clip((right + weight * binned.platt) / (right + wrong + weight), CLIP, 1 - CLIP)
        likelihoods.append(np.sum(binned.right * np.log(probability) + binned.wrong * np.log1p(-probability)))
    return np.array(likelihoods)

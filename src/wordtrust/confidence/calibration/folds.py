"""Folds for held-out data: all words of a speaker are in one fold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .base import Groups

Whole = NDArray[np.int64]


def fold_numbers(words: int, groups: Groups, folds: int, seed: int = 0) -> Whole:
    """The fold of each word, from 0 on; fewer folds where there are fewer groups.

    Groups go to the fold with the fewest words so far, the largest first. Without groups words are dealt out at
    random, which is too kind to whatever is measured if words of one speaker are alike.
    """
    if groups is None:
        return np.asarray(np.random.default_rng(seed).permutation(words) % folds, np.int64)
    _, group, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    load = np.zeros(min(folds, len(sizes)), np.int64)
    fold = np.zeros(len(sizes), np.int64)
    for each in np.argsort(-sizes, kind="stable"):
        fold[each] = np.argmin(load)
        load[fold[each]] += sizes[each]
    return np.asarray(fold[group])

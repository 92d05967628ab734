"""Folds of speakers, for training and for held-out data: all words of a speaker are in one fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray


def speaker_id(name: str) -> int:
    """A number that is the same for the same speaker everywhere; it decides the fold."""
    return crc32(name.encode("utf-8", "replace"))


def in_fold(speaker: NDArray[np.uint32], folds: int, fold: int) -> NDArray[np.bool_]:
    """[utterances] whether the speaker, given by id, belongs to a fold."""
    inside: NDArray[np.bool_] = speaker % np.uint32(folds) == fold
    return inside


def balanced_folds(
    words: int, groups: Sequence[str] | NDArray[Any] | None, folds: int, seed: int = 0
) -> NDArray[np.int64]:
    """The fold of each word, from 0 on; fewer folds where there are fewer groups.

    Groups go to the fold with the fewest words so far, the largest first. Without groups words are dealt out at
    random, which is too kind to whatever is measured if words of one speaker are alike.
    """
    if groups is None:
        return np.asarray(np.random.default_rng(seed).permutation(words) % folds, np.int64)
    _, group, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    load = np.zeros(min(folds, len(sizes)), np.int64)
    fold = np.zeros(len(sizes), np.int64)
    for group_id in np.argsort(-sizes, kind="stable"):
        fold[group_id] = np.argmin(load)
        load[fold[group_id]] += sizes[group_id]
    return np.asarray(fold[group])

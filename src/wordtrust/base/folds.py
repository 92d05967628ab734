"""Folds of speakers: the same speaker is in the same fold everywhere."""

from __future__ import annotations

from zlib import crc32

import numpy as np
from numpy.typing import NDArray


def speaker_number(name: str) -> int:
    """The same number for the same speaker, everywhere: what folds are made by."""
    return crc32(name.encode("utf-8", "replace"))


def in_fold(speaker: NDArray[np.uint32], folds: int, fold: int) -> NDArray[np.bool_]:
    """[utterances] whose speakers belong to one of several folds."""
    found: NDArray[np.bool_] = speaker % np.uint32(folds) == fold
    return found

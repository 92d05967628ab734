"""EER and NCE of a development set in numpy alone; a test holds them equal to those of `wordtrust.metrics`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CLIP = 1e-7


def measure(confidence: NDArray[np.floating], correct: NDArray[np.bool_]) -> dict[str, float]:
    """`eer` and `nce`; what is undefined, because all words are right or all wrong, is left out."""
    right = int(np.count_nonzero(correct))
    wrong = len(correct) - right
    if not right or not wrong:
        return {}
    clipped = np.clip(confidence.astype(np.float64), CLIP, 1 - CLIP)
    bits = -np.log2(np.where(correct, clipped, 1 - clipped)).sum()
    share = right / len(correct)
    most = -(right * np.log2(share) + wrong * np.log2(1 - share))
    return {"eer": _eer(confidence, correct, right, wrong), "nce": float((most - bits) / most)}


def _eer(confidence: NDArray[np.floating], correct: NDArray[np.bool_], right: int, wrong: int) -> float:
    """Where the share of right words rejected meets that of wrong ones accepted, as the threshold rises."""
    _, place = np.unique(confidence, return_inverse=True)
    rejected = np.concatenate([[0], np.cumsum(np.bincount(place, correct))]) / right
    accepted = 1 - np.concatenate([[0], np.cumsum(np.bincount(place, ~correct))]) / wrong
    ahead = accepted - rejected
    cross = int(np.argmax(ahead <= 0))
    part = ahead[cross - 1] / (ahead[cross - 1] - ahead[cross])
    return float(rejected[cross - 1] + part * (rejected[cross] - rejected[cross - 1]))

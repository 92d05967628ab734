"""EER and NCE, defined once and in numpy: training measures its development set where there is no numba.

`metrics` compiles `equal_error_rate`, because it draws speakers thousands of times; training calls it once an epoch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

CLIP = 1e-7  # NIST's: no probability is nearer to 0 or 1

Values = NDArray[np.float64]
Counts = NDArray[np.int64]


def equal_error_rate(right: Counts, wrong: Counts) -> float:
    """Where the miss rate (right words rejected) meets the false alarm rate (wrong words accepted).

    Takes how many right and wrong words have each distinct score, in rising order. As the threshold passes a score,
    both rates move along a straight line: that is the linear interpolation. NaN if no word is right, or none wrong.
    """
    all_right, all_wrong = right.sum(), wrong.sum()
    if all_right == 0 or all_wrong == 0:
        return np.nan
    rejected, accepted = 0, all_wrong  # of the right and of the wrong words
    for k in range(len(right)):
        ahead = accepted * all_right - rejected * all_wrong  # false alarms less misses, over a common denominator
        after = ahead - wrong[k] * all_right - right[k] * all_wrong
        if after <= 0:
            return float((rejected + right[k] * (ahead / (ahead - after))) / all_right)
        rejected += right[k]
        accepted -= wrong[k]
    return np.nan


def bits_lost(probability: NDArray[np.floating[Any]], correct: NDArray[np.bool_]) -> Values:
    """[words] the cross entropy of each word's probability with its label, in bits."""
    clipped = np.clip(probability.astype(np.float64), CLIP, 1 - CLIP)
    bits: Values = -np.log2(np.where(correct, clipped, 1 - clipped))
    return bits


def normalised_cross_entropy(words: Any, right: Any, bits: Any) -> Any:
    """NIST's NCE from counts of words and the sum of `bits_lost`; numbers, or arrays of them."""
    share = right / words
    # H_max: what the words cost when each is given the share of right words as its probability.
    most = -(right * np.log2(share) + (words - right) * np.log2(1 - share))
    return (most - bits) / most


def eer_and_nce(confidence: NDArray[np.floating[Any]], correct: NDArray[np.bool_]) -> tuple[float, float] | None:
    """Both measures of words with these confidences; None where no word is right, or none wrong."""
    n_right = int(np.count_nonzero(correct))
    if n_right in (0, len(correct)):
        return None
    scores, rank = np.unique(confidence, return_inverse=True)
    right, wrong = (np.bincount(rank[chosen], minlength=len(scores)) for chosen in (correct, ~correct))
    nce = normalised_cross_entropy(len(correct), n_right, bits_lost(confidence, correct).sum())
    return equal_error_rate(right, wrong), float(nce)

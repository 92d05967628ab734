"""What the head for missing words sees of a gap between two words (`networks.gaps`), besides the states of the words.

Fixed, as they do not depend on the model: how long the gap is; whether it is the first or the last; how long the word
before and the word after are; the posteriors of the rivals, which would say another word there. Of the model: the
shares of all paths that rivals have, and those of them that fit between the two words; how many words all words near
the gap make, beyond these two; and for both of them their share, and the chance that they are right.

All are brought to a range of about -2 to 2 by fixed scales. Sums are summed in the order of the arcs. Needs numpy
alone: training from a packed file has no more, and has the same equations once more in torch (`training.gap_head`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .config import GAP_INPUTS

FIXED = ("seconds", "first", "last", "seconds_before", "seconds_after", "rival_posterior")
OF_MODEL = ("rival_share", "inside_share", "excess", "share_before", "share_after", "chance_before", "chance_after")
assert len(FIXED + OF_MODEL) == GAP_INPUTS
LEAST_MASS, LEAST_DOUBT, LEAST_SECONDS = 1e-4, 1e-3, 0.02  # added before a logarithm is taken
LONGEST = 2.0  # seconds of a word
MOST_WORDS = 3.0  # that are too many or too few

Reals = NDArray[np.float64]
Floats = NDArray[np.float32]
Ints = NDArray[np.integer]


class Scale(NamedTuple):
    """(value + shift) / size"""

    shift: float
    size: float


MASS, DOUBT, SECONDS, WORD = Scale(5.0, 3.0), Scale(3.0, 2.0), Scale(3.0, 1.5), Scale(-0.3, 0.3)


class NearSums(NamedTuple):
    """[gaps] the sums of some values over the words near each gap."""

    rival: Reals
    inside: Reals
    whole: Reals


def fixed_inputs(
    seconds: NDArray[np.floating], before: Ints, after: Ints, length: NDArray[np.floating], rival_posterior: Reals
) -> Floats:
    """[gaps, FIXED] of gaps that last `seconds`; `before` and `after` are arcs or -1, `length` is that of arcs."""
    lengths = [_of_words(length, words, 0.0) for words in (before, after)]
    columns = [
        _scaled(np.log(np.maximum(seconds, 0.0) + LEAST_SECONDS), SECONDS),
        before < 0,
        after < 0,
        *(_scaled(np.clip(word, 0.0, LONGEST), WORD) for word in lengths),
        _scaled(np.log(rival_posterior + LEAST_MASS), MASS),
    ]
    return np.stack(columns, axis=1).astype(np.float32)


def model_inputs(before: Ints, after: Ints, near_share: NearSums, share: Reals, chance: Reals) -> Floats:
    """[gaps, OF_MODEL] from each arc's share of all paths and the chance that its word is right."""
    rival, inside, whole = near_share
    excess = whole - (before >= 0) - (after >= 0)
    doubts = [1.0 - _of_words(values, words, 1.0) for values in (share, chance) for words in (before, after)]
    columns = [
        *(_scaled(np.log(mass + LEAST_MASS), MASS) for mass in (rival, inside)),
        np.clip(excess, -MOST_WORDS, MOST_WORDS),
        *(_scaled(np.log(np.clip(doubt, 0.0, 1.0) + LEAST_DOUBT), DOUBT) for doubt in doubts),
    ]
    return np.stack(columns, axis=1).astype(np.float32)


def _of_words(values: NDArray[np.floating], words: Ints, nothing: float) -> Reals:
    """[gaps] the values of words, `nothing` where there is none."""
    return np.asarray(np.where(words >= 0, values[words], nothing), np.float64)


def _scaled(values: Reals, scale: Scale) -> Reals:
    return (values + scale.shift) / scale.size

"""From the scores of tokens to those of words, for texts that a recognizer is given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .base import ForcedScores

Reals = NDArray[np.float64]


def word_scores(counts: Sequence[int], logprobs: Reals, margins: Reals) -> ForcedScores:
    """The scores of words with so many tokens each.

    `logprobs` and `margins` are those of the tokens and of the end; where they are fewer, the rest was not scored.
    """
    tokens = np.array(counts, np.int64)
    known = np.full((2, int(tokens.sum()) + 1), np.nan)
    known[:, : len(logprobs)] = logprobs, margins
    scores = np.full((3, len(tokens)), np.nan)
    spelled = tokens > 0
    starts = (np.cumsum(tokens) - tokens)[spelled]
    if len(starts):
        of_tokens = known[:, :-1]
        scores[0, spelled] = np.add.reduceat(of_tokens[0], starts)
        scores[1:, spelled] = np.minimum.reduceat(of_tokens, starts, axis=1)
    return ForcedScores(scores[0], scores[1], tokens, scores[2], float(known[0, -1]))


def unscored(text: Sequence[str]) -> ForcedScores:
    """Of a text on audio that says nothing about it."""
    return word_scores([0] * len(text), np.zeros(0), np.zeros(0))

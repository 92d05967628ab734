"""By what a language model is known again: what it says of a few sentences.

A file and the folder that it was unpacked into say the same, and so, nearly, do the roundings of one model; another
model says something else. What was fitted to the scores of one means nothing with those of another.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .language_model import LanguageModel, Sentence

SENTENCES: tuple[Sentence, ...] = tuple(
    tuple(text.split())
    for text in (
        "the old bridge was closed for repairs until the end of the summer",
        "the old bridge was clothed for repairs until the end of the summer",
        "she asked him twice whether he had seen her brother at the station",
        "well it depends on how many people want to come along",
    )
)
# Natural log: what the words of one model may differ by in the mean, rounded one way and another. SmolLM2 rounded
# once more, to 6 bits, differs by .2 and keeps nine tenths of what it brings; an n-gram model differs by 6.
NEAR = 0.6


def fingerprint(model: LanguageModel) -> tuple[float, ...]:
    """The log-probability of every word of the sentences, and of their ends."""
    return tuple(round(value, 3) for value in model.word_logprobs([SENTENCES]).tolist())


def is_same(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two fingerprints are of one model."""
    return len(one) == len(other) and float(np.abs(np.subtract(one, other)).mean()) <= NEAR

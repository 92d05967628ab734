"""What is unusual about an utterance for a model: words it never heard, scores unlike those it knows, speed.

A warning has a name and a figure, is about one utterance whatever comes with it, and never changes a confidence:
unusual is not wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.arrays import csr_offsets, csr_rows, row_offsets
from ..formats.transcript.records import SpeechWarning, Word
from ..lattices.lattice import Lattices
from .model_file import Model
from .out_of_domain import UsualFeatures

LEAST_P_VALUE = 0.01  # of the scores: so few known utterances look as unusual
MOST_UNKNOWN, LEAST_UNKNOWN = 0.5, 2  # share of the words that were never heard, and how many at least
LETTERS_A_SECOND = (4.0, 25.0)  # slower and faster speech is unusual
_LEAST_WORDS = 3  # to tell how fast somebody speaks


def model_warnings(
    model: Model, usual: UsualFeatures | None, networks: Lattices, words: Sequence[Sequence[Word]]
) -> list[tuple[SpeechWarning, ...]]:
    """What is unusual about each utterance, given the words that were chosen for it."""
    p_values = np.ones(len(networks)) if usual is None else usual.p_values(model, networks)
    return [
        (*_unknown_words(unknown, len(chosen)), *_scores(float(p_value)), *_speed(rate, len(chosen)))
        for chosen, unknown, p_value, rate in zip(
            words, _count_unknown(model, words), p_values.tolist(), _rates(words), strict=True
        )
    ]


def _count_unknown(model: Model, words: Sequence[Sequence[Word]]) -> list[int]:
    """How many words of each utterance were never heard in training; none where that is not known."""
    if model.is_generic or not model.table.words:
        return [0] * len(words)
    rows = model.table.rows([word.norm for chosen in words for word in chosen])
    total = csr_offsets(model.table.mass_of(rows) <= 0)
    counts: list[int] = np.diff(total[row_offsets(words)]).tolist()
    return counts


def _unknown_words(unknown: int, words: int) -> list[SpeechWarning]:
    if unknown < max(LEAST_UNKNOWN, MOST_UNKNOWN * words):
        return []
    message = f"{unknown} of {words} words were never heard in training"
    return [SpeechWarning("words", round(unknown / words, 3), message)]


def _scores(p_value: float) -> list[SpeechWarning]:
    if p_value >= LEAST_P_VALUE:
        return []
    shown = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
    message = f"the recognizer's scores are unlike those of training ({shown}), so its confidences may be off"
    return [SpeechWarning("scores", round(p_value, 4), message)]


def _speed(rate: float, words: int) -> list[SpeechWarning]:
    if words < _LEAST_WORDS or not np.isfinite(rate) or LETTERS_A_SECOND[0] <= rate <= LETTERS_A_SECOND[1]:
        return []
    slow = "slow" if rate < LETTERS_A_SECOND[0] else "fast"
    return [SpeechWarning("speed", round(rate, 1), f"very {slow} speech: {rate:.0f} letters a second")]


def _rates(words: Sequence[Sequence[Word]]) -> list[float]:
    """The letters a second of each utterance, pauses aside; NaN or infinite where they take no time."""
    spoken = [word for chosen in words for word in chosen]
    utterance = csr_rows(row_offsets(words))
    taken = np.maximum([word.end - word.start for word in spoken], 0.0)
    seconds, letters = (
        np.bincount(utterance, values, len(words)) for values in (taken, [len(word.norm) for word in spoken])
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        rates: list[float] = (letters / seconds).tolist()
    return rates

"""What is unusual about an utterance for a model: words it never heard, scores unlike those it knows, speed.

A warning has a name and a figure, is about one utterance whatever comes with it, and never changes a confidence:
unusual is not wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from ..base.arrays import csr_offsets, csr_rows, row_offsets
from ..formats.transcript.records import SpeechWarning, Word
from ..lattices.lattice import Floats, Lattices, Offsets
from ..lattices.weights import Reals
from .model_file import Model
from .out_of_domain import UsualFeatures

LEAST_P_VALUE = 0.01  # of the scores: so few known utterances look as unusual
MOST_UNKNOWN, LEAST_UNKNOWN = 0.5, 2  # share of the words that were never heard, and how many at least
LETTERS_A_SECOND = (4.0, 25.0)  # slower and faster speech is unusual
_LEAST_WORDS = 3  # to tell how fast somebody speaks


def model_warnings(
    model: Model, usual: UsualFeatures | None, networks: Lattices, words: Sequence[Sequence[Word]],
    features: Floats | None = None,
) -> list[tuple[SpeechWarning, ...]]:  # fmt: skip
    """What is unusual about each utterance, given the words that were chosen for it.

    `features` are those of the arcs, as the model sees them, if they are known.
    """
    spoken, offsets = [word for chosen in words for word in chosen], row_offsets(words)
    found: list[tuple[SpeechWarning, ...]] = [()] * len(words)
    for utterance, warning in chain(
        _unknown_words(_count_unknown(model, spoken, offsets), np.diff(offsets)),
        () if usual is None else _unlike_scores(usual.p_values(model, networks, features)),
        _odd_speed(_letters_a_second(spoken, offsets), np.diff(offsets)),
    ):
        found[utterance] = (*found[utterance], warning)
    return found


def _count_unknown(model: Model, spoken: Sequence[Word], offsets: Offsets) -> Offsets:
    """[utterances] how many words were never heard in training; none where that is not known."""
    if model.is_generic or not model.table.words:
        return np.zeros(len(offsets) - 1, np.int64)
    rows = model.table.rows([word.norm for word in spoken])
    return np.diff(csr_offsets(model.table.mass_of(rows) <= 0)[offsets])


def _unknown_words(unknown: Offsets, words: Offsets) -> Iterator[tuple[int, SpeechWarning]]:
    for utterance in np.flatnonzero(unknown >= np.maximum(LEAST_UNKNOWN, MOST_UNKNOWN * words)).tolist():
        n_unknown, n_words = int(unknown[utterance]), int(words[utterance])
        message = f"{n_unknown} of {n_words} words were never heard in training"
        yield utterance, SpeechWarning("words", round(n_unknown / n_words, 3), message)


def _unlike_scores(p_values: Reals) -> Iterator[tuple[int, SpeechWarning]]:
    for utterance in np.flatnonzero(p_values < LEAST_P_VALUE).tolist():
        p_value = float(p_values[utterance])
        shown = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
        message = f"the recognizer's scores are unlike those of training ({shown}), so its confidences may be off"
        yield utterance, SpeechWarning("scores", round(p_value, 4), message)


def _odd_speed(rates: Reals, words: Offsets) -> Iterator[tuple[int, SpeechWarning]]:
    slowest, fastest = LETTERS_A_SECOND
    is_odd = np.isfinite(rates) & ((rates < slowest) | (rates > fastest))
    for utterance in np.flatnonzero(is_odd & (words >= _LEAST_WORDS)).tolist():
        rate = float(rates[utterance])
        message = f"very {'slow' if rate < slowest else 'fast'} speech: {rate:.0f} letters a second"
        yield utterance, SpeechWarning("speed", round(rate, 1), message)


def _letters_a_second(spoken: Sequence[Word], offsets: Offsets) -> Reals:
    """[utterances] pauses aside; NaN or infinite where the words take no time."""
    utterance = csr_rows(offsets)
    taken = np.maximum([word.end - word.start for word in spoken], 0.0)
    seconds, letters = (
        np.bincount(utterance, values, len(offsets) - 1) for values in (taken, [len(word.norm) for word in spoken])
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(letters / seconds)

"""Scores of given texts under a CTC model: the forward algorithm over the labels of the text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from ..base import ForcedScores
from ..forced import word_scores
from .alphabet import Alphabet, Labels
from .search import Reals, align, label_evidence, prefix_chain


def score_text(frames: Reals, alphabet: Alphabet, words: Sequence[str]) -> ForcedScores:
    """The scores of a text on frames of log-probabilities; each label given those before it, over all paths."""
    spelled = alphabet.labels(words)
    labels = np.array(list(chain.from_iterable(spelled)), np.int64)
    scores = prefix_chain(frames, alphabet.blank, labels)
    margins = _margins(frames, alphabet.blank, labels, fits=scores.total > -np.inf)
    return word_scores([len(word) for word in spelled], np.append(scores.labels, scores.end), np.append(margins, 0.0))


def _margins(frames: Reals, blank: int, labels: Labels, *, fits: bool) -> Reals:
    """How much less probable each label is than the most probable one in its frame."""
    if not fits:
        return np.full(len(labels), -np.inf)
    first, end = align(frames, blank, labels)
    margins: Reals = np.minimum(label_evidence(frames, labels, first, end).margins, 0.0)
    return margins

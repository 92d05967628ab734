"""From label sequences of a CTC model to an N-best record: labels to words, with scores and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import Record
from .search import Labels, Reals, Score, align, prefix_beam_search, score

_WORD_START = "\u2581"  # how SentencePiece marks the first piece of a word


@dataclass(frozen=True)
class Alphabet:
    """What the labels of a model mean."""

    tokens: Sequence[str]  # of every label
    blank: int
    spoken: Labels  # the labels that may be said: letters, pieces, the delimiter; no special ones
    delimiter: int | None = None  # the label between words

    def words(self, labels: Labels) -> list[tuple[str, int, int]]:
        """The words of a sequence: each with its first label and the one after its last.

        A delimiter belongs to the word before it, which it ends; those in front to the first word.
        """
        found: list[tuple[str, int, int]] = []
        ended = True
        for place, label in enumerate(labels.tolist()):
            token = self.tokens[label]
            if label == self.delimiter:
                ended = True
                if found:
                    found[-1] = (*found[-1][:2], place + 1)
                continue
            if ended or token.startswith(_WORD_START):
                found.append(("", place if found else 0, place))
            word, first, _ = found[-1]
            found[-1] = (word + token.removeprefix(_WORD_START), first, place + 1)
            ended = False
        return [each for each in found if each[0]]


@dataclass(slots=True)
class _Hypothesis:
    labels: Labels
    score: Score
    words: list[tuple[str, int, int]]
    total: float  # of all sequences with these words


def nbest(
    frames: Reals, alphabet: Alphabet, *, beam: int, cut: float, hypotheses: int, seconds: float, step: float
) -> Record:
    """The N-best record of `seconds` of audio, of which each row of `frames` (log-probabilities) covers `step`."""
    sequences = prefix_beam_search(frames, alphabet.blank, alphabet.spoken, beam=beam, cut=cut)
    best = _merged(frames, alphabet, sequences)[:hypotheses]
    listed = [_listed(frames, alphabet, each, seconds, step) for each in best]
    return {"nbest": listed, "duration": seconds, "empty_logprob": float(frames[:, alphabet.blank].sum())}


def _merged(frames: Reals, alphabet: Alphabet, sequences: Sequence[Labels]) -> list[_Hypothesis]:
    """Hypotheses that differ in words, the likeliest first; sequences with the same words add up."""
    found: dict[tuple[str, ...], _Hypothesis] = {}
    for labels in sequences:
        each = _Hypothesis(labels, score(frames, alphabet.blank, labels), alphabet.words(labels), 0.0)
        each.total = each.score.total
        key = tuple(word for word, _, _ in each.words)
        other = found.get(key)
        if other is not None:
            total = float(np.logaddexp(each.total, other.total))
            each = max(each, other, key=lambda one: one.score.total)
            each.total = total
        found[key] = each
    return sorted(found.values(), key=lambda each: -each.total)


def _listed(frames: Reals, alphabet: Alphabet, found: _Hypothesis, seconds: float, step: float) -> dict[str, Any]:
    """A hypothesis as the record has it."""
    first, end = align(frames, alphabet.blank, found.labels)
    said = [label != alphabet.delimiter for label in found.labels.tolist()]
    words = []
    for word, begin, stop in found.words:
        letters = [place for place in range(begin, stop) if said[place]]
        words.append(
            {
                "word": word,
                "start": round(min(float(first[letters[0]]) * step, seconds), 4),
                "end": round(min(float(end[letters[-1]]) * step, seconds), 4),
                "logprob": float(found.score.labels[begin:stop].sum()),
                "tokens": stop - begin,
            }
        )
    return {
        "score": found.total,
        "avg_logprob": found.total / (len(found.labels) + 1),
        "text": " ".join(word for word, _, _ in found.words),
        "words": words,
        "token_logprobs": found.score.labels.tolist(),
        "eot_logprob": found.score.end,
    }

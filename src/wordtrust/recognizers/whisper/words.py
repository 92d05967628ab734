"""Tokens of Whisper to words, and hypotheses to the record of an N-best list that models of confidence know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Hypothesis(NamedTuple):
    """One hypothesis as the decoder left it."""

    tokens: Sequence[int]
    pieces: Sequence[str]  # the tokens as the vocabulary spells them: a word begins with "Ġ"
    logprobs: NDArray[np.float64]  # [tokens + 1] the last one is of the end of text
    times: NDArray[np.float64]  # [tokens + 1] seconds: where each token begins, and where the last one ends

    @property
    def score(self) -> float:
        """Total log-probability."""
        return float(self.logprobs.sum())

    @property
    def average(self) -> float:
        """What Whisper itself chooses by."""
        return self.score / len(self.logprobs)


def to_record(hypotheses: Sequence[Hypothesis], decode: Callable[[Sequence[int]], str]) -> dict[str, Any]:
    """The N-best list, the best total first; `decode` turns tokens into text."""
    ordered = sorted(hypotheses, key=lambda each: -each.score)
    best = max(range(len(ordered)), key=lambda number: ordered[number].average)
    return {"best_avg": best, "nbest": [_listed(each, decode) for each in ordered]}


def _listed(said: Hypothesis, decode: Callable[[Sequence[int]], str]) -> dict[str, Any]:
    return {
        "score": round(said.score, 4),
        "avg_logprob": round(said.average, 5),
        "text": decode(said.tokens).strip(),
        "eot_logprob": round(float(said.logprobs[-1]), 4),
        "token_ids": list(said.tokens),
        "token_logprobs": [round(each, 4) for each in said.logprobs[:-1].tolist()],
        "words": _words(said, decode),
    }


def _words(said: Hypothesis, decode: Callable[[Sequence[int]], str]) -> list[dict[str, Any]]:
    """A space begins a word, and punctuation stays with the word it follows."""
    begins = [place for place, piece in enumerate(said.pieces) if place == 0 or piece.startswith("Ġ")]
    words = []
    for begin, end in zip(begins, [*begins[1:], len(said.tokens)], strict=True):
        words.append(
            {
                "word": decode(said.tokens[begin:end]).strip(),
                "start": round(float(said.times[begin]), 2),
                "end": round(float(said.times[end]), 2),
                "logprob": round(float(said.logprobs[begin:end].sum()), 4),
                "tokens": end - begin,
            }
        )
    return words

"""From Whisper's tokens to words with times, and to an N-best list.

A token begins where the decoder's alignment heads attended to when it was predicted, found by dynamic time warping as
in Whisper itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.jit import compiled
from ..nbest import HypothesisWord, NBestHypothesis, RecognizerNBest, TokenEvidence

FRAME_SECONDS = 0.02  # of the encoder
MEDIAN = 7  # frames that attention is smoothed over

Floats = NDArray[np.float32]


class TimedHypothesis(NamedTuple):
    """One hypothesis with the log-probability and the time of every token."""

    tokens: Sequence[int]
    pieces: Sequence[str]  # the tokens as the vocabulary spells them: a word begins with "Ġ"
    logprobs: NDArray[np.float64]  # [tokens + 1] the last one is of the end of text
    evidence: TokenEvidence  # [tokens + 1] likewise
    times: NDArray[np.float64]  # [tokens + 1] seconds: where each token begins, and where the last one ends

    @property
    def score(self) -> float:
        """Total log-probability."""
        return float(self.logprobs.sum())

    @property
    def average(self) -> float:
        """Mean log-probability per token, by which Whisper itself chooses."""
        return self.score / len(self.logprobs)


def nbest(
    hypotheses: Sequence[TimedHypothesis], decode: Callable[[Sequence[int]], str], no_speech_prob: float
) -> RecognizerNBest:
    """The N-best list, the best total first; `decode` turns tokens into text."""
    ordered = sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)
    best = max(range(len(ordered)), key=lambda index: ordered[index].average)
    members = [_hypothesis(hypothesis, decode) for hypothesis in ordered]
    return RecognizerNBest(members, best_avg=best, no_speech_prob=round(no_speech_prob, 4))


def _hypothesis(hypothesis: TimedHypothesis, decode: Callable[[Sequence[int]], str]) -> NBestHypothesis:
    return NBestHypothesis(
        score=round(hypothesis.score, 4),
        text=decode(hypothesis.tokens).strip(),
        words=_words(hypothesis, decode),
        avg_logprob=round(hypothesis.average, 5),
        eot_logprob=round(float(hypothesis.logprobs[-1]), 4),
        token_ids=list(hypothesis.tokens),
        token_logprobs=[round(logprob, 4) for logprob in hypothesis.logprobs[:-1].tolist()],
        **hypothesis.evidence.of(slice(-1)).to_fields(),
    )


def _words(hypothesis: TimedHypothesis, decode: Callable[[Sequence[int]], str]) -> list[HypothesisWord]:
    """A space begins a word, and punctuation stays with the word it follows."""
    begins = [index for index, piece in enumerate(hypothesis.pieces) if index == 0 or piece.startswith("Ġ")]
    return [
        HypothesisWord(
            word=decode(hypothesis.tokens[begin:end]).strip(),
            start=round(float(hypothesis.times[begin]), 2),
            end=round(float(hypothesis.times[end]), 2),
            logprob=round(float(hypothesis.logprobs[begin:end].sum()), 4),
            tokens=end - begin,
        )
        for begin, end in zip(begins, [*begins[1:], len(hypothesis.tokens)], strict=True)
    ]


def token_starts(attention: Floats, frames: int, prompt: int) -> NDArray[np.float64]:
    """Seconds at which each token begins, and at which the last one ends: [tokens + 1].

    `attention` has the scores [heads, prompt + tokens + end, frames]; the first `frames` hold audio, not padding.
    """
    frames = max(1, min(frames, attention.shape[-1]))
    weights = attention[..., :frames]
    weights = np.exp(weights - weights.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    deviation = np.maximum(weights.std(1, keepdims=True), np.finfo(np.float32).tiny)
    smooth = median_filter((weights - weights.mean(1, keepdims=True)) / deviation)
    # The row of a token is that of the position before it, which had to find it; the last token's own row is where
    # the end was found.
    costs = -smooth.mean(0)[prompt - 1 : -1].astype(np.float64)
    return first_frames(np.ascontiguousarray(costs)).astype(np.float64) * FRAME_SECONDS


@compiled
def median_filter(values: Floats) -> Floats:
    """The median over MEDIAN neighbouring frames, mirrored at the edges: [heads, rows, frames]."""
    heads, rows, frames = values.shape
    medians = np.empty_like(values)
    window = np.empty(MEDIAN, np.float32)
    last = frames - 1
    for head in range(heads):
        for row in range(rows):
            for frame in range(frames):
                for shift in range(MEDIAN):
                    near = abs(frame + shift - MEDIAN // 2)
                    value = values[head, row, min(max(last - abs(last - near), 0), last)]
                    index = shift
                    while index > 0 and window[index - 1] > value:
                        window[index] = window[index - 1]
                        index -= 1
                    window[index] = value
                medians[head, row, frame] = window[MEDIAN // 2]
    return medians


@compiled
def first_frames(costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """The frame at which the cheapest monotone path (dynamic time warping) enters each row of [rows, frames]."""
    rows, frames = costs.shape
    total = np.full((rows + 1, frames + 1), np.inf)
    total[0, 0] = 0.0
    for row in range(rows):
        for frame in range(frames):
            best = min(total[row, frame], total[row, frame + 1], total[row + 1, frame])
            total[row + 1, frame + 1] = costs[row, frame] + best
    starts = np.zeros(rows, np.int64)
    row, frame = rows, frames
    while row > 0:
        starts[row - 1] = frame - 1
        both, up, left = total[row - 1, frame - 1], total[row - 1, frame], total[row, frame - 1]
        if both < up and both < left:
            row, frame = row - 1, frame - 1
        elif up < both and up < left:
            row -= 1
        else:
            frame -= 1
    return starts

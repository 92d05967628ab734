"""One pass over the decoder of Whisper for all hypotheses at once: how probable each token was, and what it heard.

CTranslate2's beam search gives the total score of a hypothesis only. Its `align` gives token probabilities, but under
another distribution than the search used (nothing suppressed, no end of text), and does the work of every hypothesis
on its own copy of the audio. Here the audio's keys and values are made once, beginnings that hypotheses share are
looked at once, and the scores add up to the search's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .weights import Weights

Floats = NDArray[np.float32]

ROWS = 64  # of logits at a time: a long hypothesis must not need a gigabyte
_EPSILON = 1e-5  # of layer norms


class Vocabulary(NamedTuple):
    """The tokens that decoding treats in a special way."""

    prompt: Sequence[int]  # what every hypothesis begins with
    end: int  # of text
    suppressed: Sequence[int]  # never said
    suppressed_first: Sequence[int]  # never said first


class Heard(NamedTuple):
    """What the decoder says of one hypothesis."""

    logprobs: NDArray[np.float64]  # [tokens + 1] the last one is of the end of text
    attention: Floats  # [heads, prompt + tokens + end, frames] scores, before a softmax, of the heads asked for


class _Beginnings(NamedTuple):
    """All beginnings of some hypotheses, each once: they share most of them, and so most of the work."""

    token: NDArray[np.int64]  # [beginnings] its last one
    place: NDArray[np.int64]  # [beginnings] of that token
    rows: NDArray[np.int64]  # [hypotheses, places] the beginning that ends there; 0 after the hypothesis's end
    first: NDArray[np.int64]  # [beginnings] where in `rows`, taken flat, each is found


class Decoder:
    """The decoder of a Whisper model."""

    def __init__(self, weights: Weights, vocabulary: Vocabulary, heads: Sequence[tuple[int, int]]) -> None:
        self.weights = weights
        self.vocabulary = vocabulary
        self.heads = heads  # (layer, head) whose attention is wanted

    def hear(self, encoded: Floats, hypotheses: Sequence[Sequence[int]]) -> list[Heard]:
        """Force every hypothesis (token numbers) on the encoded audio [frames, width]."""
        prompt, end = self.vocabulary.prompt, self.vocabulary.end
        shared = _beginnings([[*prompt, *tokens, end] for tokens in hypotheses])
        states, attention = self._run(encoded, shared)
        found = []
        logprobs = self._logprobs(states, shared, hypotheses)
        for tokens, rows, each in zip(hypotheses, shared.rows, logprobs, strict=True):
            found.append(Heard(each, attention[:, rows[: len(prompt) + len(tokens) + 1]]))
        return found

    def _run(self, encoded: Floats, shared: _Beginnings) -> tuple[Floats, Floats]:
        """The last states [beginnings, width], and the attention [heads asked for, beginnings, frames]."""
        weights = self.weights
        states = weights["decoder/embeddings/weight"][shared.token]
        states += weights["decoder/position_encodings/encodings"][shared.place]
        attention: dict[tuple[int, int], Floats] = {}
        for layer in range(weights.sizes.decoder_layers):
            name = f"decoder/layer_{layer}"
            states += self._listen_to_itself(states, shared, f"{name}/self_attention")
            heard, scores = self._listen(encoded, states, f"{name}/attention")
            attention |= {each: scores[each[1]] for each in self.heads if each[0] == layer}
            states += heard
            hidden = self._linear(self._normed(states, f"{name}/ffn/layer_norm"), f"{name}/ffn/linear_0")
            states += self._linear(_gelu(hidden), f"{name}/ffn/linear_1")
        return self._normed(states, "decoder/layer_norm"), np.stack([attention[each] for each in self.heads])

    def _listen_to_itself(self, states: Floats, shared: _Beginnings, name: str) -> Floats:
        """What each beginning takes from the shorter ones of its hypothesis."""
        hypotheses, length = shared.rows.shape
        made = self._linear(self._normed(states, f"{name}/layer_norm"), f"{name}/linear_0")[shared.rows]
        query, key, value = made.reshape(hypotheses, length, 3, self.weights.sizes.heads, -1).transpose(2, 0, 3, 1, 4)
        scores = query @ key.swapaxes(-1, -2) * _scale(query)
        scores += np.triu(np.full((length, length), -np.inf, np.float32), 1)  # nobody sees what comes later
        mixed = (_softmax(scores) @ value).swapaxes(1, 2).reshape(hypotheses * length, -1)
        return self._linear(mixed[shared.first], f"{name}/linear_1")

    def _listen(self, encoded: Floats, states: Floats, name: str) -> tuple[Floats, Floats]:
        """What each beginning takes from the audio, and the scores [heads, beginnings, frames] it does so by."""
        heads = self.weights.sizes.heads
        query = self._linear(self._normed(states, f"{name}/layer_norm"), f"{name}/linear_0")
        query = query.reshape(len(states), heads, -1).swapaxes(0, 1)
        both = self._linear(encoded, f"{name}/linear_1").reshape(len(encoded), 2, heads, -1)
        key, value = both.transpose(1, 2, 0, 3)
        scores = query @ key.swapaxes(-1, -2) * _scale(query)
        mixed = (_softmax(scores) @ value).swapaxes(0, 1).reshape(states.shape)
        return self._linear(mixed, f"{name}/linear_2"), scores

    def _logprobs(
        self, states: Floats, shared: _Beginnings, hypotheses: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float64]]:
        """Of each token of each hypothesis, and of its end, after what comes before."""
        last = len(self.vocabulary.prompt) - 1
        said = [[*tokens, self.vocabulary.end] for tokens in hypotheses]
        rows = np.concatenate([row[last : last + len(each)] for row, each in zip(shared.rows, said, strict=True)])
        found = self._of_tokens(states, rows, np.concatenate(said), first_row=last)
        return np.split(found, np.cumsum([len(each) for each in said])[:-1])

    def _of_tokens(
        self, states: Floats, rows: NDArray[np.int64], tokens: NDArray[np.int64], first_row: int
    ) -> NDArray[np.float64]:
        """The log-probability of each token after the beginning that is a row of `states`."""
        found = np.empty(len(rows))
        embeddings = self.weights["decoder/embeddings/weight"]
        for begin in range(0, len(states), ROWS):
            logits = states[begin : begin + ROWS] @ embeddings.T
            logits[:, list(self.vocabulary.suppressed)] = -np.inf
            if begin <= first_row < begin + ROWS:
                logits[first_row - begin, list(self.vocabulary.suppressed_first)] = -np.inf
            top = logits.max(1)
            totals = top + np.log(np.exp(logits - top[:, None]).sum(1))
            here = (rows >= begin) & (rows < begin + ROWS)
            found[here] = logits[rows[here] - begin, tokens[here]] - totals[rows[here] - begin]
        return found

    def _normed(self, states: Floats, name: str) -> Floats:
        centred = states - states.mean(-1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(-1, keepdims=True) + np.float32(_EPSILON))
        made: Floats = centred / spread * self.weights[f"{name}/gamma"] + self.weights[f"{name}/beta"]
        return made

    def _linear(self, states: Floats, name: str) -> Floats:
        weight = self.weights[f"{name}/weight"]
        made = states.reshape(-1, states.shape[-1]) @ weight.T + self.weights[f"{name}/bias"]
        return made.reshape(*states.shape[:-1], -1)


def _beginnings(hypotheses: Sequence[Sequence[int]]) -> _Beginnings:
    rows = np.zeros((len(hypotheses), max(map(len, hypotheses))), np.int64)
    known: dict[tuple[int, int], int] = {}  # by the beginning before, and the token that makes it longer
    first: list[int] = []
    for number, tokens in enumerate(hypotheses):
        before = -1
        for place, token in enumerate(tokens):
            rows[number, place] = before = known.setdefault((before, token), len(known))
            if before == len(first):
                first.append(number * rows.shape[1] + place)
    where = np.array(first, np.int64)
    return _Beginnings(np.array([token for _, token in known], np.int64), where % rows.shape[1], rows, where)


def _scale(query: Floats) -> np.float32:
    return np.float32(query.shape[-1] ** -0.5)


def _softmax(scores: Floats) -> Floats:
    made: Floats = np.exp(scores - scores.max(-1, keepdims=True))
    made /= made.sum(-1, keepdims=True)
    return made


def _gelu(values: Floats) -> Floats:
    """x times the normal distribution's integral up to x, by Abramowitz and Stegun 7.1.26 (right to 2e-7)."""
    size = np.abs(values) * np.float32(0.5**0.5)
    part = 1 / (1 + np.float32(0.3275911) * size)
    series = np.full_like(part, 1.061405429)
    for each in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * part + np.float32(each)
    tail = series * part * np.exp(-size * size) / 2  # of the distribution beyond |x|
    made: Floats = values * np.where(values < 0, tail, 1 - tail)
    return made

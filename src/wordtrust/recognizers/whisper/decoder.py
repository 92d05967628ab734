"""One pass over Whisper's decoder for all hypotheses at once: the probability of every token, and the attention.

CTranslate2's beam search returns only the total score of a hypothesis. Its `align` returns token probabilities, but
under another distribution than the search used (nothing suppressed, no end of text), and repeats the work on the
audio for every hypothesis. Here the keys and values of the audio are computed once, prefixes that hypotheses share
are computed once, and the scores add up to those of the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..nbest import TokenEvidence
from ..prefix_tree import Ints, PrefixTree, prefix_tree
from .model_files import WhisperWeights

Floats = NDArray[np.float32]

ROWS = 64  # of logits at a time: a long hypothesis must not need a gigabyte
_EPSILON = 1e-5  # of layer norms


class SpecialTokens(NamedTuple):
    """The tokens that decoding treats in a special way."""

    prompt: Sequence[int]  # what every hypothesis begins with
    end: int  # of text
    suppressed: Sequence[int]  # never written
    suppressed_first: Sequence[int]  # never written first


class ForcedHypothesis(NamedTuple):
    """The decoder's view of one given hypothesis."""

    logprobs: NDArray[np.float64]  # [tokens + 1] the last one is of the end of text
    evidence: TokenEvidence  # likewise [tokens + 1]
    attention: Floats  # [heads, prompt + tokens + end, frames] scores of the alignment heads, before a softmax


class WhisperDecoder:
    """The decoder of a Whisper model."""

    def __init__(self, weights: WhisperWeights, special: SpecialTokens, heads: Sequence[tuple[int, int]]) -> None:
        self.weights = weights
        self.special = special
        self.heads = heads  # (layer, head) whose attention is wanted

    @property
    def longest_text(self) -> int:
        """Tokens that fit into its positions, beside the prompt and the end."""
        return len(self.weights["decoder/position_encodings/encodings"]) - len(self.special.prompt) - 1

    def force(self, encoded: Floats, hypotheses: Sequence[Sequence[int]]) -> list[ForcedHypothesis]:
        """Score given hypotheses (token ids) on the encoded audio [frames, width]."""
        prompt, end = self.special.prompt, self.special.end
        tree = prefix_tree([[*prompt, *tokens, end] for tokens in hypotheses])
        states, attention = self._run(encoded, tree)
        scores = self._token_scores(states, tree, hypotheses)
        return [
            ForcedHypothesis(*of_tokens, attention[:, rows[: len(prompt) + len(tokens) + 1]])
            for tokens, rows, of_tokens in zip(hypotheses, tree.rows, scores, strict=True)
        ]

    def _run(self, encoded: Floats, tree: PrefixTree) -> tuple[Floats, Floats]:
        """The last states [prefixes, width], and the attention [alignment heads, prefixes, frames]."""
        weights = self.weights
        states = weights["decoder/embeddings/weight"][tree.token]
        states += weights["decoder/position_encodings/encodings"][tree.position]
        attention: dict[tuple[int, int], Floats] = {}
        for layer in range(weights.sizes.decoder_layers):
            name = f"decoder/layer_{layer}"
            states += self._self_attention(states, tree, f"{name}/self_attention")
            attended, scores = self._cross_attention(encoded, states, f"{name}/attention")
            attention |= {head: scores[head[1]] for head in self.heads if head[0] == layer}
            states += attended
            hidden = self._linear(self._norm(states, f"{name}/ffn/layer_norm"), f"{name}/ffn/linear_0")
            states += self._linear(_gelu(hidden), f"{name}/ffn/linear_1")
        return self._norm(states, "decoder/layer_norm"), np.stack([attention[head] for head in self.heads])

    def _self_attention(self, states: Floats, tree: PrefixTree, name: str) -> Floats:
        """Attention of each prefix over the shorter ones of its hypothesis."""
        hypotheses, length = tree.rows.shape
        projected = self._linear(self._norm(states, f"{name}/layer_norm"), f"{name}/linear_0")[tree.rows]
        parts = projected.reshape(hypotheses, length, 3, self.weights.sizes.heads, -1).transpose(2, 0, 3, 1, 4)
        query, key, value = parts
        scores = query @ key.swapaxes(-1, -2) * _scale(query)
        scores += np.triu(np.full((length, length), -np.inf, np.float32), 1)  # no position sees a later one
        mixed = (_softmax(scores) @ value).swapaxes(1, 2).reshape(hypotheses * length, -1)
        return self._linear(mixed[tree.first], f"{name}/linear_1")

    def _cross_attention(self, encoded: Floats, states: Floats, name: str) -> tuple[Floats, Floats]:
        """Attention of each prefix over the audio, and its scores [heads, prefixes, frames]."""
        heads = self.weights.sizes.heads
        query = self._linear(self._norm(states, f"{name}/layer_norm"), f"{name}/linear_0")
        query = query.reshape(len(states), heads, -1).swapaxes(0, 1)
        both = self._linear(encoded, f"{name}/linear_1").reshape(len(encoded), 2, heads, -1)
        key, value = both.transpose(1, 2, 0, 3)
        scores = query @ key.swapaxes(-1, -2) * _scale(query)
        mixed = (_softmax(scores) @ value).swapaxes(0, 1).reshape(states.shape)
        return self._linear(mixed, f"{name}/linear_2"), scores

    def _token_scores(
        self, states: Floats, tree: PrefixTree, hypotheses: Sequence[Sequence[int]]
    ) -> list[tuple[NDArray[np.float64], TokenEvidence]]:
        """Log-probability and evidence of each token of each hypothesis, and of its end, given what comes before."""
        last = len(self.special.prompt) - 1
        texts = [[*tokens, self.special.end] for tokens in hypotheses]
        rows = np.concatenate([row[last : last + len(text)] for row, text in zip(tree.rows, texts, strict=True)])
        # What hypotheses have in common is looked at once.
        pairs, index = np.unique(np.stack([rows, np.concatenate(texts)]), axis=1, return_inverse=True)
        logprobs, evidence = self._pair_scores(states, pairs[0], pairs[1], first_row=last)
        cuts = np.cumsum([len(text) for text in texts])[:-1]
        return [(logprobs[of_text], evidence.of(of_text)) for of_text in np.split(index.ravel(), cuts)]

    def _pair_scores(
        self, states: Floats, rows: Ints, tokens: Ints, first_row: int
    ) -> tuple[NDArray[np.float64], TokenEvidence]:
        """Log-probability and evidence of each token after the prefix that is a row of `states`; rows must rise."""
        logprobs, margins, entropies = (np.empty(len(rows)) for _ in range(3))
        ranks = np.empty(len(rows), np.int64)
        embeddings = self.weights["decoder/embeddings/weight"]
        for begin in range(0, len(states), ROWS):
            logits = states[begin : begin + ROWS] @ embeddings.T
            logits[:, list(self.special.suppressed)] = -np.inf
            if begin <= first_row < begin + ROWS:
                logits[first_row - begin, list(self.special.suppressed_first)] = -np.inf
            here = slice(*np.searchsorted(rows, [begin, begin + ROWS]))
            own, chosen = rows[here] - begin, tokens[here]
            totals, entropy = _totals_and_entropies(logits)
            taken = logits[own, chosen]
            logprobs[here], entropies[here] = taken - totals[own], entropy[own]
            ranks[here] = _ranks(logits, own, taken)
            margins[here] = taken - _best_others(logits, own, chosen)
        return logprobs, TokenEvidence(entropies, ranks, margins)

    def _norm(self, states: Floats, name: str) -> Floats:
        centred = states - states.mean(-1, keepdims=True)
        deviation = np.sqrt(np.square(centred).mean(-1, keepdims=True) + np.float32(_EPSILON))
        normed: Floats = centred / deviation * self.weights[f"{name}/gamma"] + self.weights[f"{name}/beta"]
        return normed

    def _linear(self, states: Floats, name: str) -> Floats:
        weight = self.weights[f"{name}/weight"]
        product = states.reshape(-1, states.shape[-1]) @ weight.T + self.weights[f"{name}/bias"]
        return product.reshape(*states.shape[:-1], -1)


def _totals_and_entropies(logits: Floats) -> tuple[Floats, Floats]:
    """[rows] the log of the sum of what each row of scores stands for, and its entropy in nats."""
    top = logits.max(1)
    centred = logits - top[:, None]
    shares = np.exp(centred)
    sums = shares.sum(1)
    logs = np.log(sums)
    # A score of minus infinity has no share, and must not make one of nothing.
    information = np.einsum("ij,ij->i", shares, np.maximum(centred, np.finfo(np.float32).min, out=centred))
    return top + logs, logs - information / sums


def _ranks(logits: Floats, rows: Ints, taken: Floats) -> Ints:
    """How many of its row's scores are larger than each taken one."""
    ranks: Ints = np.array([np.count_nonzero(logits[row] > score) for row, score in zip(rows, taken, strict=True)])
    return ranks


def _best_others(logits: Floats, rows: Ints, tokens: Ints) -> Floats:
    """The largest of its row's scores beside that of each token."""
    best = logits.argmax(1)
    everything = np.arange(len(logits))
    top = logits[everything, best]
    logits[everything, best] = -np.inf
    second = logits.max(1)
    logits[everything, best] = top
    others: Floats = np.where(tokens == best[rows], second[rows], top[rows])
    return others


def _scale(query: Floats) -> np.float32:
    return np.float32(query.shape[-1] ** -0.5)


def _softmax(scores: Floats) -> Floats:
    weights: Floats = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights


def _gelu(values: Floats) -> Floats:
    """x times the standard normal distribution function at x, by Abramowitz and Stegun 7.1.26 (exact to 2e-7)."""
    size = np.abs(values) * np.float32(0.5**0.5)
    part = 1 / (1 + np.float32(0.3275911) * size)
    series = np.full_like(part, 1.061405429)
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * part + np.float32(coefficient)
    tail = series * part * np.exp(-size * size) / 2  # of the distribution beyond |x|
    activated: Floats = values * np.where(values < 0, tail, 1 - tail)
    return activated

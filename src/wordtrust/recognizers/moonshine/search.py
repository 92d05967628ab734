"""Moonshine's beam search: the most probable texts of an utterance by total log-probability.

`MoonshineModel` runs the two graphs in onnxruntime; `beam_search` works with anything that returns next tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from onnxruntime import InferenceSession, OrtValue, SessionOptions

from ...audio import Samples
from ...base.errors import InputError
from ..kept_encodings import KeptEncodings
from ..nbest import TokenEvidence
from .graphs import END, OnnxGraph, decoder_graph, encoder_graph
from .model_files import REMEDY, Floats, MoonshineSizes, read_model
from .words import fit_of_frames

BEGIN = 1  # the token that begins every text

# (layer, head) of Moonshine tiny's cross-attention that follow the speech best. For other models no such list exists:
# all heads of the upper half of the layers are nearly as good (on tiny 40 ms from Kaldi's word ends instead of 30).
ALIGNMENT_HEADS = ((3, 0), (3, 5), (3, 6), (3, 7), (4, 1), (4, 3), (4, 7), (5, 1), (5, 3), (5, 4), (5, 6), (5, 7))
_TINY_SIZES = (288, 8, 6)  # hidden, heads, layers

MASKED = np.float32(-1e9)  # added to the attention scores of rows that a row must not see

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


class NextTokens(NamedTuple):
    """What may follow each of several unfinished texts."""

    tokens: Ints  # [rows, best] the most probable next tokens, the best first
    logprobs: Floats  # [rows, best]
    end: Floats  # [rows] log-probability that the text ends here
    entropy: Floats  # [rows] of all next tokens, in nats


class StepDecoder(Protocol):
    """A decoder in the middle of an utterance."""

    def step(self, tokens: Ints, parents: Ints) -> NextTokens:
        """Append each token to the row of the previous step that `parents` names, and see what may follow."""


class MoonshineModel:
    """A loaded model: `encode` an utterance, then `step` through it."""

    def __init__(self, encoder: OnnxGraph, decoder: OnnxGraph, sizes: MoonshineSizes, threads: int) -> None:
        self.sizes = sizes
        self._arrays = encoder.arrays, decoder.arrays  # onnxruntime may use them in place: keep them alive
        self._encoder, self._decoder = _session(encoder, threads), _session(decoder, threads)
        self._encoder_outputs = [output.name for output in self._encoder.get_outputs()]
        empty = OrtValue.ortvalue_from_numpy(np.zeros((sizes.heads, 0, sizes.head), np.float32))
        names = [value.name for value in self._decoder.get_inputs() if value.name.startswith("past_")]
        self._empty_cache = dict.fromkeys(names, empty)
        self.encodings = KeptEncodings(self._encode)

    def encode(self, samples: Samples) -> UtteranceDecoder:
        """Run the encoder over an utterance; returns a decoder at the beginning of the text."""
        return UtteranceDecoder(self._decoder, self.encodings.of(samples), self._empty_cache)

    def _encode(self, samples: Samples) -> dict[str, OrtValue]:
        signal = OrtValue.ortvalue_from_numpy(np.ascontiguousarray(samples[None], np.float32))
        encoded = self._encoder.run_with_ort_values(self._encoder_outputs, {"samples": signal})
        return dict(zip(self._encoder_outputs, encoded, strict=True))


class UtteranceDecoder:
    """One utterance being decoded: the key-value cache of all hypotheses, and what they attended to."""

    def __init__(
        self, session: InferenceSession, encoded: Mapping[str, OrtValue], cache: Mapping[str, OrtValue]
    ) -> None:
        self._session = session
        self._encoded = encoded
        self._cache = self._empty_cache = cache
        self._outputs = [output.name for output in session.get_outputs()]
        self._positions: Ints = np.zeros((1, 0), np.int64)  # [rows, length] of the cache that each row sees
        self.fits: list[Floats] = []  # of every step: how well each frame fits what comes next, [rows, frames]

    def step(self, tokens: Ints, parents: Ints) -> NextTokens:
        """Append each token to the row of the previous step that `parents` names, and see what may follow."""
        kept, mask = self._extend_cache(parents)
        ends = np.column_stack([np.arange(len(tokens)), np.full(len(tokens), END)])
        outputs = self.run(tokens=tokens, positions=np.array([len(self.fits)]), kept=kept, mask=mask, wanted=ends)
        self.fits.append(fit_of_frames(outputs["attention"]))
        return NextTokens(*(outputs[name] for name in ("best", "logprobs", "logprobs_wanted", "entropy")))

    def restart(self) -> UtteranceDecoder:
        """A decoder of the same utterance at the beginning of the text."""
        return UtteranceDecoder(self._session, self._encoded, self._empty_cache)

    def run(self, **arrays: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The decoder's outputs for new rows, which join the cache; see `decoder_graph`."""
        inputs = {name: OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
        values = self._session.run_with_ort_values(self._outputs, {**inputs, **self._encoded, **self._cache})
        outputs = dict(zip(self._outputs, values, strict=True))
        cached = [name for name in self._outputs if name.startswith(("keys.", "values."))]
        self._cache = {f"past_{name}": outputs.pop(name) for name in cached}
        results = {name: output.numpy() for name, output in outputs.items()}
        if not np.isfinite(results["logprobs"]).all():
            raise InputError("the model computes no finite scores: weights or samples are damaged", remedy=REMEDY)
        return results

    def _extend_cache(self, parents: Ints) -> tuple[Ints, Floats]:
        """Which positions of the cache are still needed, and which of them and of the new ones each row sees."""
        rows = len(parents)
        kept, positions = np.unique(self._positions[parents], return_inverse=True)
        self._positions = np.column_stack([positions.reshape(rows, -1), len(kept) + np.arange(rows)])
        mask = np.full((rows, len(kept) + rows), MASKED)
        np.put_along_axis(mask, self._positions, np.float32(0), axis=1)
        return kept, mask


def load_model(folder: Path, *, n_text_tokens: int, best: int, threads: int) -> MoonshineModel:
    """The model of a folder. Only the first `n_text_tokens` are ever written; a step returns the `best` next ones."""
    encoder, decoder, sizes = read_model(folder)
    if not best <= n_text_tokens <= sizes.tokens:
        message = f"the tokenizer has {n_text_tokens} tokens to write with, and the decoder knows {sizes.tokens}"
        raise InputError(message, file=str(folder), remedy=REMEDY)
    weights = {**decoder.weights, "logits": decoder.weights["logits"][:, :n_text_tokens]}
    graphs = (
        encoder_graph(encoder.weights, weights, sizes),
        decoder_graph(weights, sizes, _alignment_heads(sizes), best),
    )
    return MoonshineModel(*graphs, sizes, threads)


def _alignment_heads(sizes: MoonshineSizes) -> Sequence[tuple[int, int]]:
    """The (layer, head) pairs that word times are taken from."""
    if (sizes.hidden, sizes.heads, sizes.decoder_layers) == _TINY_SIZES:
        return ALIGNMENT_HEADS
    layers = range(sizes.decoder_layers // 2, sizes.decoder_layers)
    return [(layer, head) for layer in layers for head in range(sizes.heads)]


def _session(graph: OnnxGraph, threads: int) -> InferenceSession:
    options: Any = SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3  # errors only: its warnings are about itself
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # others need the cores as well
    values = [OrtValue.ortvalue_from_numpy(array) for array in graph.arrays.values()]
    options.add_external_initializers(list(graph.arrays), values)
    return InferenceSession(graph.model, options, providers=["CPUExecutionProvider"])


@dataclass(frozen=True, eq=False, slots=True)
class TokenHypothesis:
    """A finished text."""

    tokens: Ints  # without begin and end
    logprobs: Reals  # [tokens]
    end: float  # log-probability of ending there
    rows: Ints  # [tokens + 1] the row of each step that predicted the token, or the end

    @property
    def score(self) -> float:
        """Total log-probability."""
        return float(self.logprobs.sum()) + self.end


@dataclass(frozen=True, eq=False, slots=True)
class SearchResult:
    """Hypotheses, the most probable first, and the log-probability of the empty text."""

    hypotheses: list[TokenHypothesis]
    empty_logprob: float
    steps: list[NextTokens]  # what followed the rows of every step

    def evidence(self, hypothesis: TokenHypothesis) -> TokenEvidence:
        """How sure the model was of each token of a hypothesis of this search."""
        chosen = list(zip(self.steps, hypothesis.rows[:-1].tolist(), strict=False))
        entropies = np.array([step.entropy[row] for step, row in chosen], np.float64)
        best = np.array([step.tokens[row] for step, row in chosen]).reshape(len(chosen), -1)
        logprobs = np.array([step.logprobs[row, :2] for step, row in chosen], np.float64).reshape(len(chosen), -1)
        ranks = np.argmax(best == hypothesis.tokens[:, None], axis=1)
        others = np.where(ranks == 0, logprobs[:, -1], logprobs[:, 0])
        return TokenEvidence(entropies, ranks, hypothesis.logprobs - others)


@dataclass(eq=False, slots=True)
class _Beam:
    """Unfinished texts, one per row."""

    tokens: Ints  # [rows, length]
    logprobs: Reals
    rows: Ints
    score: Reals  # [rows]

    def extend(self, parents: Ints, tokens: Ints, logprobs: Reals) -> _Beam:
        """Some of these texts with one more token each."""
        return _Beam(
            np.column_stack([self.tokens[parents], tokens]),
            np.column_stack([self.logprobs[parents], logprobs]),
            np.column_stack([self.rows[parents], parents]),
            self.score[parents] + logprobs,
        )

    def finish(self, row: int, end: float) -> TokenHypothesis:
        """The text of a row as it is now."""
        return TokenHypothesis(self.tokens[row], self.logprobs[row], end, np.append(self.rows[row], row))


def beam_search(decoder: StepDecoder, *, beam: int, max_tokens: int) -> SearchResult:
    """The `beam` most probable texts that a beam of this width finds, each with at least one token.

    Every text in the beam may end at every step, and takes no place in it from those that go on. A text that can no
    longer be among the best leaves the beam; the search is over when none is left, or after `max_tokens` tokens.
    """
    live = _Beam(np.zeros((1, 0), np.int64), np.zeros((1, 0)), np.zeros((1, 0), np.int64), np.zeros(1))
    following = decoder.step(np.array([BEGIN]), np.array([0]))
    empty = float(following.end[0])
    ended: list[TokenHypothesis] = []
    steps = [following]
    for _ in range(max_tokens):
        live = _grow(live, following, beam, ended[-1].score if len(ended) == beam else -np.inf)
        if not len(live.score):
            break
        following = decoder.step(live.tokens[:, -1], live.rows[:, -1])
        steps.append(following)
        ended += [live.finish(row, float(end)) for row, end in enumerate(following.end)]
        ended = sorted(ended, key=lambda hypothesis: -hypothesis.score)[:beam]
    return SearchResult(ended, empty, steps)


def _grow(live: _Beam, following: NextTokens, beam: int, worst: float) -> _Beam:
    """The best texts with one more token, other than the end. One as bad as `worst` could only get worse."""
    total = np.where(following.tokens == END, -np.inf, live.score[:, None] + following.logprobs)
    order = np.argsort(-total, axis=None, kind="stable")[:beam]
    parents, columns = np.divmod(order[total.ravel()[order] > worst], total.shape[1])
    logprobs = following.logprobs[parents, columns].astype(np.float64)
    return live.extend(parents, following.tokens[parents, columns], logprobs)

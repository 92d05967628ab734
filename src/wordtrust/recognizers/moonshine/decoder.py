"""Moonshine's two graphs at work: hearing an utterance, and decoding it step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnxruntime import InferenceSession, OrtValue, SessionOptions

from ...audio import Samples
from ...base.errors import InputError
from .files import REMEDY
from .graph import Made, decoder_graph, encoder_graph
from .search import Floats, Ints, Next
from .sizes import Sizes, sizes_of
from .times import fit_of_frames
from .weights import read_part

# Layer and head of Moonshine tiny's cross-attention that follow the speech best. Of other models none are known: all
# heads of the upper half of the layers are nearly as good (on tiny 40 ms from Kaldi's word ends, and not 30).
TINY = ((3, 0), (3, 5), (3, 6), (3, 7), (4, 1), (4, 3), (4, 7), (5, 1), (5, 3), (5, 4), (5, 6), (5, 7))
_TINY_SIZES = (288, 8, 6)  # hidden, heads, layers

_FORBIDDEN = np.float32(-1e9)  # added to the attention to what a hypothesis must not see


class Graphs:
    """A loaded model: `hear` an utterance, then `step` through it."""

    def __init__(self, encoder: Made, decoder: Made, sizes: Sizes, threads: int) -> None:
        self.sizes = sizes
        self._arrays = encoder.arrays, decoder.arrays  # onnxruntime may use them where they are
        self._encoder, self._decoder = _session(encoder, threads), _session(decoder, threads)
        self._heard = [each.name for each in self._encoder.get_outputs()]
        nothing = OrtValue.ortvalue_from_numpy(np.zeros((sizes.heads, 0, sizes.head), np.float32))
        memory = [each.name for each in self._decoder.get_inputs() if each.name.startswith("past_")]
        self._no_memory = dict.fromkeys(memory, nothing)

    def hear(self, samples: Samples) -> Decoding:
        """Run the encoder over an utterance; decoding begins where nothing is written yet."""
        sound = OrtValue.ortvalue_from_numpy(np.ascontiguousarray(samples[None], np.float32))
        heard = self._encoder.run_with_ort_values(self._heard, {"samples": sound})
        return Decoding(self._decoder, dict(zip(self._heard, heard, strict=True)), self._no_memory)


class Decoding:
    """One utterance being decoded: the memory of all hypotheses, and where they looked."""

    def __init__(
        self, session: InferenceSession, heard: Mapping[str, OrtValue], memory: Mapping[str, OrtValue]
    ) -> None:
        self._session = session
        self._heard = heard
        self._memory = memory
        self._outputs = [each.name for each in session.get_outputs()]
        self._places: Ints = np.zeros((1, 0), np.int64)  # [rows, length] of the memory that each row sees
        self.fits: list[Floats] = []  # of every step: how well each frame fits what comes next, [rows, frames]

    def step(self, tokens: Ints, parents: Ints) -> Next:
        """Put each token behind the row of the step before that `parents` names, and see what may follow."""
        kept, mask = self._continue(parents)
        position = np.array([len(self.fits)], np.int64)
        given = {"tokens": tokens, "position": position, "kept": kept, "mask": mask}
        inputs = {name: OrtValue.ortvalue_from_numpy(np.ascontiguousarray(each)) for name, each in given.items()}
        values = self._session.run_with_ort_values(self._outputs, {**inputs, **self._heard, **self._memory})
        found = dict(zip(self._outputs, values, strict=True))
        self._memory = {
            f"past_{name}": found[name] for name in self._outputs if name.startswith(("keys.", "values."))
        }
        self.fits.append(fit_of_frames(found["attention"].numpy()))
        if not np.isfinite(found["logprobs"].numpy()).all():
            raise InputError("the model computes no finite scores: weights or samples are damaged", remedy=REMEDY)
        return Next(found["best"].numpy(), found["logprobs"].numpy(), found["end"].numpy())

    def _continue(self, parents: Ints) -> tuple[Ints, Floats]:
        """Which places of the memory are still needed, and which of them and of the new ones each row sees."""
        rows = len(parents)
        kept, places = np.unique(self._places[parents], return_inverse=True)
        self._places = np.column_stack([places.reshape(rows, -1), len(kept) + np.arange(rows)])
        mask = np.full((rows, len(kept) + rows), _FORBIDDEN)
        np.put_along_axis(mask, self._places, np.float32(0), axis=1)
        return kept, mask


def load_graphs(folder: Path, *, spoken: int, best: int, threads: int) -> Graphs:
    """The model of a folder; tokens from `spoken` on are never written, the `best` next ones are looked at."""
    encoder, decoder = (read_part(_file(folder, name)) for name in ("encoder_model", "decoder_model_merged"))
    weights = decoder.weights
    if "logits" not in weights and "embed_tokens.weight" in weights:  # tied: the same weights at both ends
        weights["logits"] = weights["embed_tokens.weight"].T
    sizes = sizes_of(encoder, decoder, folder)
    if not best <= spoken <= sizes.tokens:
        found = f"the tokenizer has {spoken} tokens to write with, and the decoder knows {sizes.tokens}"
        raise InputError(found, file=str(folder), remedy=REMEDY)
    weights["logits"] = weights["logits"][:, :spoken]
    heads = _following(sizes)
    made = encoder_graph(encoder.weights, weights, sizes), decoder_graph(weights, sizes, heads, best)
    return Graphs(*made, sizes, threads)


def _file(folder: Path, name: str) -> Path:
    for suffix in (".ort", ".onnx"):
        if (path := folder / (name + suffix)).is_file():
            return path
    raise InputError(f"has neither {name}.ort nor {name}.onnx", file=str(folder), remedy=REMEDY)


def _following(sizes: Sizes) -> Sequence[tuple[int, int]]:
    """The heads that times are taken from."""
    if (sizes.hidden, sizes.heads, sizes.decoder_layers) == _TINY_SIZES:
        return TINY
    layers = range(sizes.decoder_layers // 2, sizes.decoder_layers)
    return [(layer, head) for layer in layers for head in range(sizes.heads)]


def _session(made: Made, threads: int) -> InferenceSession:
    options: Any = SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3  # errors only: its warnings are about itself
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # others need the cores as well
    values = [OrtValue.ortvalue_from_numpy(each) for each in made.arrays.values()]
    options.add_external_initializers(list(made.arrays), values)
    return InferenceSession(made.model, options, providers=["CPUExecutionProvider"])

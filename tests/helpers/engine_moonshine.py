"""Moonshine tiny run the usual way: the published int8 graphs, one copy of the utterance and its memory a hypothesis.

It shares no code with the package. Tests compare scores with it, `benchmarks/moonshine.py` times it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnxruntime import InferenceSession, SessionOptions

from wordtrust.recognizers.moonshine.graphs import END
from wordtrust.recognizers.moonshine.search import Ints, NextTokens

Floats = NDArray[np.float32]


class Engine:
    """The published graphs."""

    def __init__(self, folder: Path) -> None:
        options: Any = SessionOptions()
        options.intra_op_num_threads = 1
        paths = (str(folder / f"{name}.ort") for name in ("encoder_model", "decoder_model_merged"))
        self.encoder, self.decoder = (
            InferenceSession(path, options, providers=["CPUExecutionProvider"]) for path in paths
        )
        self.outputs = [each.name for each in self.decoder.get_outputs()]
        self.memory = [each for each in self.decoder.get_inputs() if each.name.startswith("past_")]

    def hear(self, samples: Floats, best: int = 11) -> EngineDecoding:
        """Run the encoder."""
        mask = np.ones((1, len(samples)), np.int64)
        frames = self.encoder.run(None, {"input_values": samples[None], "attention_mask": mask})[0]
        return EngineDecoding(self, frames, mask, best)


class EngineDecoding:
    """An utterance being decoded: `step` as the package's decoders have it."""

    def __init__(self, engine: Engine, frames: Floats, heard: NDArray[np.int64], best: int) -> None:
        self.engine, self.frames, self.heard, self.best = engine, frames, heard, best
        self.memory = {
            each.name: np.zeros((1, each.shape[1], 0, each.shape[3]), np.float32) for each in engine.memory
        }
        self.length = 0

    def step(self, tokens: Ints, parents: Ints) -> NextTokens:
        """Each token behind the row of the step before that `parents` names."""
        logprobs = self.logprobs(tokens, parents)
        best = np.argpartition(-logprobs, self.best, axis=1)[:, : self.best]
        order = np.argsort(-np.take_along_axis(logprobs, best, axis=1), axis=1, kind="stable")
        best = np.take_along_axis(best, order, axis=1)
        entropy = -(np.exp(logprobs) * logprobs).sum(axis=1)
        return NextTokens(best, np.take_along_axis(logprobs, best, axis=1), logprobs[:, END], entropy)

    def logprobs(self, tokens: Ints, parents: Ints) -> Floats:
        """[rows, tokens] log-probabilities of what follows."""
        rows = len(tokens)
        inputs = {
            "input_ids": tokens[:, None],
            "encoder_hidden_states": np.repeat(self.frames, rows, axis=0),
            "encoder_attention_mask": np.repeat(self.heard, rows, axis=0),
            "use_cache_branch": np.array([self.length > 0]),
        }
        past = {name: values[parents] for name, values in self.memory.items()}
        found = dict(zip(self.engine.outputs, self.engine.decoder.run(None, inputs | past), strict=True))
        new = {name: found[name.replace("past_key_values", "present")] for name in past}
        heard = {name: values for name, values in past.items() if ".encoder." in name}
        self.memory = new | heard if self.length else new  # what was heard comes back empty after the first step
        self.length += 1
        scores: Floats = found["logits"][:, -1, :32_000]
        top = scores.max(axis=1, keepdims=True)
        logprobs: Floats = scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
        return logprobs

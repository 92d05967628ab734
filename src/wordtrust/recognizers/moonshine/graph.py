"""Moonshine's encoder and decoder as ONNX graphs in float, made from its weights.

The encoder hears one utterance and gives what every layer of the decoder attends to. The decoder takes one step for
several hypotheses of that utterance at once. Its memory is a tree: hypotheses with a common beginning share the keys
and values of it, and a mask says which of them each hypothesis sees. So nothing is ever copied from one hypothesis to
another, and the memory has as many places as the hypotheses have different tokens, far fewer than all their tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

from .search import END
from .sizes import STRIDES, Sizes
from .weights import Floats

OPSET = 20
IR_VERSION = 9  # what onnxruntime has read since 1.17
POSITIONS = 1280  # frames of the 30 s that an utterance may have, and far more than its tokens
EPSILON = 1e-5
_SMALL = 1024  # bytes of an array that is written into the graph itself


class Made(NamedTuple):
    """A graph, and the arrays that belong to it, which are not copied into it."""

    model: bytes
    arrays: dict[str, NDArray[Any]]


class _Graph:
    """A graph in the making: every call adds a node and gives the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[TensorProto] = []
        self.arrays: dict[str, NDArray[Any]] = {}
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def __call__(self, op: str, *inputs: str, **attributes: Any) -> str:
        return self.several(op, 1, *inputs, **attributes)[0]

    def several(self, op: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        """A node with several outputs."""
        names = [f"{op}_{len(self.nodes)}_{number}" for number in range(count)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names

    def constant(self, values: NDArray[Any]) -> str:
        """An array that belongs to the graph."""
        name, array = f"constant_{len(self.constants)}", np.asarray(values, order="C")
        if array.nbytes <= _SMALL:
            self.constants.append(numpy_helper.from_array(array, name))
        else:
            self.arrays[name] = array
            self.constants.append(_elsewhere(name, array))
        return name

    def integers(self, *values: int) -> str:
        """A short list of integers, such as a shape."""
        return self.constant(np.array(values, np.int64))

    def input(self, name: str, kind: int, shape: Sequence[int | str]) -> str:
        """What has to be given when the graph is run."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: str, kind: int = TensorProto.FLOAT) -> None:
        """What comes out."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, kind, None))

    def finished(self, name: str) -> Made:
        """The graph as onnxruntime takes it."""
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants)
        model: ModelProto = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
        )
        return Made(cast(bytes, model.SerializeToString()), self.arrays)


def _elsewhere(name: str, array: NDArray[Any]) -> TensorProto:
    """The mention of an array that onnxruntime is given beside the graph."""
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    tensor = TensorProto(name=name, data_type=kind, dims=array.shape, data_location=TensorProto.EXTERNAL)
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "beside"
    return tensor


class _Layers:
    """Parts that encoder and decoder have in common."""

    def __init__(self, weights: Mapping[str, Floats], sizes: Sizes) -> None:
        self.graph = _Graph()
        self.weights = weights
        self.sizes = sizes

    def product(self, value: str, *names: str) -> str:
        """Times the weights of these names side by side."""
        parts = [self.weights[name] for name in names]
        return self.graph("MatMul", value, self.graph.constant(np.hstack(parts) if len(parts) > 1 else parts[0]))

    def biased(self, value: str, name: str) -> str:
        """Times weights, plus their bias."""
        return self.graph("Add", self.product(value, name), self.graph.constant(self.weights[f"{name}.bias"]))

    def norm(self, value: str, name: str) -> str:
        """Layer normalisation, which has no bias here."""
        weight = self.graph.constant(self.weights[f"{name}.weight"])
        return self.graph("LayerNormalization", value, weight, axis=-1, epsilon=EPSILON)

    def heads(self, value: str) -> str:
        """[rows, heads x head] as [heads, rows, head]."""
        parted = self.graph("Reshape", value, self.graph.integers(0, -1, self.sizes.head))
        return self.graph("Transpose", parted, perm=[1, 0, 2])

    def joined(self, value: str) -> str:
        """And back again."""
        rows = self.graph("Transpose", value, perm=[1, 0, 2])
        return self.graph("Reshape", rows, self.graph.integers(0, self.sizes.hidden))

    def turned(self, value: str, rotation: tuple[str, str, str]) -> str:
        """Rotary embedding: neighbouring numbers are turned by an angle that grows with the position."""
        cosine, sine, swap = rotation
        swapped = self.graph("Gather", value, swap, axis=-1)
        return self.graph("Add", self.graph("Mul", value, cosine), self.graph("Mul", swapped, sine))

    def self_attention_parts(self, value: str, layer: int, rotation: tuple[str, str, str]) -> list[str]:
        """Queries (scaled), keys and values of a layer, each [heads, rows, head]."""
        prefix = f"layers.{layer}.self_attn"
        parts = self.heads(self.product(value, *(f"{prefix}.{name}_proj" for name in "qkv")))
        heads = self.sizes.heads
        turning, values = self.graph.several("Split", 2, parts, self.graph.integers(2 * heads, heads), axis=0)
        both = self.turned(turning, rotation)
        queries, keys = self.graph.several("Split", 2, both, self.graph.integers(heads, heads), axis=0)
        return [self.scaled(queries), keys, values]

    def scaled(self, queries: str) -> str:
        """Queries over the root of their length."""
        return self.graph("Mul", queries, self.graph.constant(np.array(self.sizes.head**-0.5, np.float32)))

    def rotation(self, positions: str) -> tuple[str, str, str]:
        """Cosines and sines for positions, and which number each one is turned with."""
        cosine, sine, swap = rotation_table(self.weights["rotary"], self.sizes.head)
        rows = [self.graph("Gather", self.graph.constant(table), positions, axis=0) for table in (cosine, sine)]
        return rows[0], rows[1], self.graph.constant(swap)

    def attended(self, queries: str, keys: str, values: str, mask: str = "") -> tuple[str, str]:
        """What queries find in values by keys, [rows, hidden], and where they look, [heads, rows, places]."""
        scores = self.graph("MatMul", queries, keys)
        weights = self.graph("Softmax", self.graph("Add", scores, mask) if mask else scores, axis=-1)
        return self.joined(self.graph("MatMul", weights, values)), weights

    def flipped(self, keys: str) -> str:
        """Keys as columns."""
        return self.graph("Transpose", keys, perm=[0, 2, 1])


def rotation_table(frequencies: Floats, head: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Cosines and signed sines [positions, head], and the partner of each number; those past the frequencies stay."""
    turning = 2 * frequencies.size
    angles = np.outer(np.arange(POSITIONS), np.repeat(frequencies.ravel(), 2).astype(np.float64))
    cosine, sine = np.ones((POSITIONS, head), np.float32), np.zeros((POSITIONS, head), np.float32)
    cosine[:, :turning] = np.cos(angles)
    sine[:, :turning] = np.sin(angles) * np.tile([-1.0, 1.0], frequencies.size)
    swap = np.arange(head)
    swap[:turning] ^= 1
    return cosine, sine, swap


def encoder_graph(encoder: Mapping[str, Floats], decoder: Mapping[str, Floats], sizes: Sizes) -> Made:
    """Samples [1, n] to what each layer of the decoder attends to.

    That is keys [heads, head, frames] and values [heads, frames, head].
    """
    layers = _Layers(encoder, sizes)
    graph = layers.graph
    value = _frames(layers, graph.input("samples", TensorProto.FLOAT, [1, "samples"]))
    frames = graph("Gather", graph("Shape", value), graph.integers(0))
    ends = [graph.constant(np.array(number, np.int64)) for number in (0, 1)]
    rotation = layers.rotation(graph("Range", ends[0], graph("Squeeze", frames), ends[1]))
    for layer in range(sizes.encoder_layers):
        heard = layers.norm(value, f"layers.{layer}.input_layernorm")
        queries, keys, values = layers.self_attention_parts(heard, layer, rotation)
        found, _ = layers.attended(queries, layers.flipped(keys), values)
        value = graph("Add", value, layers.product(found, f"layers.{layer}.self_attn.o_proj"))
        inner = layers.biased(
            layers.norm(value, f"layers.{layer}.post_attention_layernorm"), f"layers.{layer}.mlp.fc1"
        )
        value = graph("Add", value, layers.biased(graph("Gelu", inner), f"layers.{layer}.mlp.fc2"))
    value = layers.norm(value, "layer_norm")
    layers.weights = decoder
    for layer in range(sizes.decoder_layers):
        prefix = f"layers.{layer}.encoder_attn"
        keys = layers.heads(layers.product(value, f"{prefix}.k_proj"))
        graph.output(f"heard_keys.{layer}", layers.flipped(keys))
        graph.output(f"heard_values.{layer}", layers.heads(layers.product(value, f"{prefix}.v_proj")))
    return graph.finished("encoder")


def _frames(layers: _Layers, samples: str) -> str:
    """Samples to frames [frames, hidden] by three convolutions."""
    graph, weights = layers.graph, layers.weights
    sound = graph("Unsqueeze", samples, graph.integers(1))
    value = graph("Tanh", graph("Conv", sound, graph.constant(weights["conv1.weight"]), strides=[STRIDES[0]]))
    value = _group_norm(layers, value)
    for number in (2, 3):
        both = [graph.constant(weights[f"conv{number}.{name}"]) for name in ("weight", "bias")]
        value = graph("Gelu", graph("Conv", value, *both, strides=[STRIDES[number - 1]]))
    return graph("Transpose", graph("Squeeze", value, graph.integers(0)), perm=[1, 0])


def _group_norm(layers: _Layers, value: str) -> str:
    """Normalisation over the whole utterance, then a scale and a bias a channel."""
    graph, weights = layers.graph, layers.weights
    flat = graph("Reshape", value, graph.integers(1, 1, -1))
    ones = [graph.constant(np.full(1, number, np.float32)) for number in (1, 0)]
    normal = graph("InstanceNormalization", flat, *ones, epsilon=EPSILON)
    normal = graph("Reshape", normal, graph("Shape", value))
    scaled = graph("Mul", normal, graph.constant(weights["groupnorm.weight"].reshape(-1, 1)))
    return graph("Add", scaled, graph.constant(weights["groupnorm.bias"].reshape(-1, 1)))


def decoder_graph(weights: Mapping[str, Floats], sizes: Sizes, heads: Sequence[tuple[int, int]], best: int) -> Made:
    """One step of several hypotheses: their last tokens to the log-probabilities of the `best` next ones.

    `kept` says which places of the memory are still needed (the others are dropped), `mask` [rows, kept + rows] is 0
    where a hypothesis sees a place of the memory and very low elsewhere; the new tokens are the last places.
    `attention` [heads, rows, frames] is where the named heads (layer, head) look.
    """
    layers = _Layers(weights, sizes)
    graph = layers.graph
    tokens = graph.input("tokens", TensorProto.INT64, ["rows"])
    rotation = layers.rotation(graph.input("position", TensorProto.INT64, [1]))
    graph.input("kept", TensorProto.INT64, ["kept"])
    graph.input("mask", TensorProto.FLOAT, ["rows", "seen"])
    value = graph("Gather", graph.constant(weights["embed_tokens.weight"]), tokens, axis=0)
    looks = []
    for layer in range(sizes.decoder_layers):
        value = _remember(layers, value, layer, rotation)
        value, attention = _listen(layers, value, layer)
        wanted = [head for place, head in heads if place == layer]
        if wanted:
            looks.append(graph("Gather", attention, graph.integers(*wanted), axis=0))
        value = _think(layers, value, layer)
    graph.output("attention", graph("Concat", *looks, axis=0) if len(looks) > 1 else looks[0])
    _next_tokens(layers, layers.norm(value, "norm"), best)
    return graph.finished("decoder")


def _remember(layers: _Layers, value: str, layer: int, rotation: tuple[str, str, str]) -> str:
    """Self-attention over the memory and the new tokens, which join it."""
    graph, sizes = layers.graph, layers.sizes
    known = layers.norm(value, f"layers.{layer}.input_layernorm")
    queries, *new = layers.self_attention_parts(known, layer, rotation)
    whole = []
    for name, part in zip(("keys", "values"), new, strict=True):
        past = graph.input(f"past_{name}.{layer}", TensorProto.FLOAT, [sizes.heads, "past", sizes.head])
        whole.append(graph("Concat", graph("Gather", past, "kept", axis=1), part, axis=1))
        graph.output(f"{name}.{layer}", whole[-1])
    found, _ = layers.attended(queries, layers.flipped(whole[0]), whole[1], "mask")
    return graph("Add", value, layers.product(found, f"layers.{layer}.self_attn.o_proj"))


def _listen(layers: _Layers, value: str, layer: int) -> tuple[str, str]:
    """Attention over what the encoder heard, and where it looks."""
    graph, sizes = layers.graph, layers.sizes
    keys = graph.input(f"heard_keys.{layer}", TensorProto.FLOAT, [sizes.heads, sizes.head, "frames"])
    values = graph.input(f"heard_values.{layer}", TensorProto.FLOAT, [sizes.heads, "frames", sizes.head])
    asked = layers.norm(value, f"layers.{layer}.post_attention_layernorm")
    queries = layers.scaled(layers.heads(layers.product(asked, f"layers.{layer}.encoder_attn.q_proj")))
    found, weights = layers.attended(queries, keys, values)
    return graph("Add", value, layers.product(found, f"layers.{layer}.encoder_attn.o_proj")), weights


def _think(layers: _Layers, value: str, layer: int) -> str:
    """The gated layer that follows attention: half of its numbers, each times the other half's."""
    graph = layers.graph
    wide = layers.biased(layers.norm(value, f"layers.{layer}.final_layernorm"), f"layers.{layer}.mlp.fc1")
    half = layers.weights[f"layers.{layer}.mlp.fc2"].shape[0]
    inner, gate = graph.several("Split", 2, wide, graph.integers(half, half), axis=-1)
    gated = graph("Mul", inner, graph("Mul", gate, graph("Sigmoid", gate)))
    return graph("Add", value, layers.biased(gated, f"layers.{layer}.mlp.fc2"))


def _next_tokens(layers: _Layers, value: str, best: int) -> None:
    """Log-probabilities over all tokens; the best of them come out, and that of the end of the text."""
    graph = layers.graph
    scores = graph("LogSoftmax", layers.product(value, "logits"), axis=-1)
    logprobs, tokens = graph.several("TopK", 2, scores, graph.integers(best), axis=-1)
    graph.output("logprobs", logprobs)
    graph.output("best", tokens, TensorProto.INT64)
    graph.output("end", graph("Gather", scores, graph.constant(np.array(END)), axis=-1))

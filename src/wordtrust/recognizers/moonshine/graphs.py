"""Moonshine's encoder and decoder as ONNX graphs in float, built from its weights.

The encoder hears one utterance and returns what every layer of the decoder attends to. The decoder takes one step for
several hypotheses of that utterance at once. Its key-value cache is a tree: hypotheses with a common prefix share the
keys and values of it, and a mask says which of them each hypothesis sees. So nothing is copied from one hypothesis to
another, and the cache has as many positions as the hypotheses have different tokens, far fewer than all their tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

from .model_files import STRIDES, Floats, MoonshineSizes

END = 2  # the token that ends a text

_OPSET = 20
_IR_VERSION = 9  # what onnxruntime has read since 1.17
POSITIONS = 1280  # frames of the 30 s that an utterance may have, and far more than its tokens
_EPSILON = 1e-5
_INLINE = 1024  # bytes of an array that is written into the graph itself


class OnnxGraph(NamedTuple):
    """A serialised graph, and the arrays that belong to it, which are not copied into it."""

    model: bytes
    arrays: dict[str, NDArray[Any]]


class _GraphBuilder:
    """A graph under construction: every call adds a node and returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[TensorProto] = []
        self.arrays: dict[str, NDArray[Any]] = {}
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def __call__(self, op: str, *inputs: str, **attributes: Any) -> str:
        return self.several(op, 1, *inputs, **attributes)[0]

    def several(self, op: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        """Add a node with several outputs."""
        names = [f"{op}_{len(self.nodes)}_{index}" for index in range(count)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names

    def constant(self, values: NDArray[Any]) -> str:
        """Add an array that belongs to the graph."""
        name, array = f"constant_{len(self.constants)}", np.asarray(values, order="C")
        if array.nbytes <= _INLINE:
            self.constants.append(numpy_helper.from_array(array, name))
        else:
            self.arrays[name] = array
            self.constants.append(_external_tensor(name, array))
        return name

    def integers(self, *values: int) -> str:
        """Add a short list of integers, such as a shape."""
        return self.constant(np.array(values, np.int64))

    def input(self, name: str, kind: int, shape: Sequence[int | str]) -> str:
        """Declare an input of the graph."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: str, kind: int = TensorProto.FLOAT) -> None:
        """Declare an output of the graph."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, kind, None))

    def build(self, name: str) -> OnnxGraph:
        """The graph as onnxruntime takes it."""
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants)
        model: ModelProto = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION
        )
        return OnnxGraph(cast(bytes, model.SerializeToString()), self.arrays)


def _external_tensor(name: str, array: NDArray[Any]) -> TensorProto:
    """A reference to an array that onnxruntime is given beside the graph."""
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    tensor = TensorProto(name=name, data_type=kind, dims=array.shape, data_location=TensorProto.EXTERNAL)
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "beside"
    return tensor


class _GraphLayers:
    """Building blocks that encoder and decoder have in common."""

    def __init__(self, weights: Mapping[str, Floats], sizes: MoonshineSizes) -> None:
        self.graph = _GraphBuilder()
        self.weights = weights
        self.sizes = sizes

    def product(self, value: str, *names: str) -> str:
        """A product with the weights of these names side by side."""
        parts = [self.weights[name] for name in names]
        return self.graph("MatMul", value, self.graph.constant(np.hstack(parts) if len(parts) > 1 else parts[0]))

    def linear(self, value: str, name: str) -> str:
        """A product with weights, plus their bias."""
        return self.graph("Add", self.product(value, name), self.graph.constant(self.weights[f"{name}.bias"]))

    def norm(self, value: str, name: str) -> str:
        """Layer normalisation, which has no bias here."""
        weight = self.graph.constant(self.weights[f"{name}.weight"])
        return self.graph("LayerNormalization", value, weight, axis=-1, epsilon=_EPSILON)

    def split_heads(self, value: str) -> str:
        """[rows, heads x head] to [heads, rows, head]."""
        parted = self.graph("Reshape", value, self.graph.integers(0, -1, self.sizes.head))
        return self.graph("Transpose", parted, perm=[1, 0, 2])

    def join_heads(self, value: str) -> str:
        """[heads, rows, head] to [rows, heads x head]."""
        rows = self.graph("Transpose", value, perm=[1, 0, 2])
        return self.graph("Reshape", rows, self.graph.integers(0, self.sizes.hidden))

    def rotate(self, value: str, rotation: tuple[str, str, str]) -> str:
        """Rotary position embedding: pairs of neighbouring values are turned by an angle that grows with position."""
        cosine, sine, swap = rotation
        swapped = self.graph("Gather", value, swap, axis=-1)
        return self.graph("Add", self.graph("Mul", value, cosine), self.graph("Mul", swapped, sine))

    def self_attention_parts(self, value: str, layer: int, rotation: tuple[str, str, str]) -> list[str]:
        """Queries (scaled), keys and values of a layer, each [heads, rows, head]."""
        prefix = f"layers.{layer}.self_attn"
        parts = self.split_heads(self.product(value, *(f"{prefix}.{name}_proj" for name in "qkv")))
        heads = self.sizes.heads
        rotating, values = self.graph.several("Split", 2, parts, self.graph.integers(2 * heads, heads), axis=0)
        rotated = self.rotate(rotating, rotation)
        queries, keys = self.graph.several("Split", 2, rotated, self.graph.integers(heads, heads), axis=0)
        return [self.scale(queries), keys, values]

    def scale(self, queries: str) -> str:
        """Queries divided by the square root of their length."""
        return self.graph("Mul", queries, self.graph.constant(np.array(self.sizes.head**-0.5, np.float32)))

    def rotation(self, positions: str) -> tuple[str, str, str]:
        """Cosines and sines for positions, and the partner of each value."""
        cosine, sine, swap = _rotation_table(self.weights["rotary"], self.sizes.head)
        rows = [self.graph("Gather", self.graph.constant(table), positions, axis=0) for table in (cosine, sine)]
        return rows[0], rows[1], self.graph.constant(swap)

    def attention(self, queries: str, keys: str, values: str, mask: str = "") -> tuple[str, str]:
        """The attended values [rows, hidden], and the attention weights [heads, rows, positions]."""
        scores = self.graph("MatMul", queries, keys)
        weights = self.graph("Softmax", self.graph("Add", scores, mask) if mask else scores, axis=-1)
        return self.join_heads(self.graph("MatMul", weights, values)), weights

    def transpose(self, keys: str) -> str:
        """Keys as columns."""
        return self.graph("Transpose", keys, perm=[0, 2, 1])


def _rotation_table(frequencies: Floats, head: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Cosines and signed sines [positions, head], and the partner of each value; those past the frequencies stay."""
    rotating = 2 * frequencies.size
    angles = np.outer(np.arange(POSITIONS), np.repeat(frequencies.ravel(), 2).astype(np.float64))
    cosine, sine = np.ones((POSITIONS, head), np.float32), np.zeros((POSITIONS, head), np.float32)
    cosine[:, :rotating] = np.cos(angles)
    sine[:, :rotating] = np.sin(angles) * np.tile([-1.0, 1.0], frequencies.size)
    swap = np.arange(head)
    swap[:rotating] ^= 1
    return cosine, sine, swap


def encoder_graph(encoder: Mapping[str, Floats], decoder: Mapping[str, Floats], sizes: MoonshineSizes) -> OnnxGraph:
    """Samples [1, n] to what each layer of the decoder attends to.

    That is keys [heads, head, frames] and values [heads, frames, head].
    """
    layers = _GraphLayers(encoder, sizes)
    graph = layers.graph
    value = _frames(layers, graph.input("samples", TensorProto.FLOAT, [1, "samples"]))
    frames = graph("Gather", graph("Shape", value), graph.integers(0))
    ends = [graph.constant(np.array(number, np.int64)) for number in (0, 1)]
    rotation = layers.rotation(graph("Range", ends[0], graph("Squeeze", frames), ends[1]))
    for layer in range(sizes.encoder_layers):
        normed = layers.norm(value, f"layers.{layer}.input_layernorm")
        queries, keys, values = layers.self_attention_parts(normed, layer, rotation)
        attended, _ = layers.attention(queries, layers.transpose(keys), values)
        value = graph("Add", value, layers.product(attended, f"layers.{layer}.self_attn.o_proj"))
        normed = layers.norm(value, f"layers.{layer}.post_attention_layernorm")
        inner = layers.linear(normed, f"layers.{layer}.mlp.fc1")
        value = graph("Add", value, layers.linear(graph("Gelu", inner), f"layers.{layer}.mlp.fc2"))
    value = layers.norm(value, "layer_norm")
    layers.weights = decoder
    for layer in range(sizes.decoder_layers):
        prefix = f"layers.{layer}.encoder_attn"
        keys = layers.split_heads(layers.product(value, f"{prefix}.k_proj"))
        graph.output(f"encoder_keys.{layer}", layers.transpose(keys))
        graph.output(f"encoder_values.{layer}", layers.split_heads(layers.product(value, f"{prefix}.v_proj")))
    return graph.build("encoder")


def _frames(layers: _GraphLayers, samples: str) -> str:
    """Samples to frames [frames, hidden] by three convolutions."""
    graph, weights = layers.graph, layers.weights
    signal = graph("Unsqueeze", samples, graph.integers(1))
    value = graph("Tanh", graph("Conv", signal, graph.constant(weights["conv1.weight"]), strides=[STRIDES[0]]))
    value = _group_norm(layers, value)
    for conv in (2, 3):
        weight, bias = (graph.constant(weights[f"conv{conv}.{name}"]) for name in ("weight", "bias"))
        value = graph("Gelu", graph("Conv", value, weight, bias, strides=[STRIDES[conv - 1]]))
    return graph("Transpose", graph("Squeeze", value, graph.integers(0)), perm=[1, 0])


def _group_norm(layers: _GraphLayers, value: str) -> str:
    """Normalisation over the whole utterance, then a scale and a bias per channel."""
    graph, weights = layers.graph, layers.weights
    flat = graph("Reshape", value, graph.integers(1, 1, -1))
    identity = [graph.constant(np.full(1, number, np.float32)) for number in (1, 0)]
    normed = graph("InstanceNormalization", flat, *identity, epsilon=_EPSILON)
    normed = graph("Reshape", normed, graph("Shape", value))
    scaled = graph("Mul", normed, graph.constant(weights["groupnorm.weight"].reshape(-1, 1)))
    return graph("Add", scaled, graph.constant(weights["groupnorm.bias"].reshape(-1, 1)))


def decoder_graph(
    weights: Mapping[str, Floats], sizes: MoonshineSizes, heads: Sequence[tuple[int, int]], best: int
) -> OnnxGraph:
    """Some texts, a row for each: their last tokens to the log-probabilities of the `best` next ones.

    `positions` are those of the tokens in their texts: of each row, or one for all. `kept` lists the rows of the
    cache that are still needed (the others are dropped), `mask` [rows, kept + rows] is 0 where a row sees one of
    these or of the new ones, which come last, and very low elsewhere. So a step of a search is one row for each
    hypothesis, and whole texts are a row for each token. `attention` [heads, rows, frames] is the cross-attention of
    the given (layer, head) pairs; `wanted` [n, 2] are rows and tokens whose log-probabilities are `logprobs_wanted`.
    """
    layers = _GraphLayers(weights, sizes)
    graph = layers.graph
    tokens = graph.input("tokens", TensorProto.INT64, ["rows"])
    rotation = layers.rotation(graph.input("positions", TensorProto.INT64, ["positions"]))
    graph.input("kept", TensorProto.INT64, ["kept"])
    graph.input("mask", TensorProto.FLOAT, ["rows", "seen"])
    value = graph("Gather", graph.constant(weights["embed_tokens.weight"]), tokens, axis=0)
    attentions = []
    for layer in range(sizes.decoder_layers):
        value = _self_attention(layers, value, layer, rotation)
        value, attention = _cross_attention(layers, value, layer)
        wanted = [head for of_layer, head in heads if of_layer == layer]
        if wanted:
            attentions.append(graph("Gather", attention, graph.integers(*wanted), axis=0))
        value = _feed_forward(layers, value, layer)
    graph.output("attention", graph("Concat", *attentions, axis=0) if len(attentions) > 1 else attentions[0])
    _next_tokens(layers, layers.norm(value, "norm"), best)
    return graph.build("decoder")


def _self_attention(layers: _GraphLayers, value: str, layer: int, rotation: tuple[str, str, str]) -> str:
    """Self-attention over the cache and the new tokens, which join it."""
    graph, sizes = layers.graph, layers.sizes
    normed = layers.norm(value, f"layers.{layer}.input_layernorm")
    queries, *new = layers.self_attention_parts(normed, layer, rotation)
    cache = []
    for name, part in zip(("keys", "values"), new, strict=True):
        past = graph.input(f"past_{name}.{layer}", TensorProto.FLOAT, [sizes.heads, "past", sizes.head])
        cache.append(graph("Concat", graph("Gather", past, "kept", axis=1), part, axis=1))
        graph.output(f"{name}.{layer}", cache[-1])
    attended, _ = layers.attention(queries, layers.transpose(cache[0]), cache[1], "mask")
    return graph("Add", value, layers.product(attended, f"layers.{layer}.self_attn.o_proj"))


def _cross_attention(layers: _GraphLayers, value: str, layer: int) -> tuple[str, str]:
    """Attention over the encoder's output, and its weights."""
    graph, sizes = layers.graph, layers.sizes
    keys = graph.input(f"encoder_keys.{layer}", TensorProto.FLOAT, [sizes.heads, sizes.head, "frames"])
    values = graph.input(f"encoder_values.{layer}", TensorProto.FLOAT, [sizes.heads, "frames", sizes.head])
    normed = layers.norm(value, f"layers.{layer}.post_attention_layernorm")
    queries = layers.scale(layers.split_heads(layers.product(normed, f"layers.{layer}.encoder_attn.q_proj")))
    attended, weights = layers.attention(queries, keys, values)
    return graph("Add", value, layers.product(attended, f"layers.{layer}.encoder_attn.o_proj")), weights


def _feed_forward(layers: _GraphLayers, value: str, layer: int) -> str:
    """The gated feed-forward layer (SwiGLU)."""
    graph = layers.graph
    wide = layers.linear(layers.norm(value, f"layers.{layer}.final_layernorm"), f"layers.{layer}.mlp.fc1")
    half = layers.weights[f"layers.{layer}.mlp.fc2"].shape[0]
    inner, gate = graph.several("Split", 2, wide, graph.integers(half, half), axis=-1)
    gated = graph("Mul", inner, graph("Mul", gate, graph("Sigmoid", gate)))
    return graph("Add", value, layers.linear(gated, f"layers.{layer}.mlp.fc2"))


def _next_tokens(layers: _GraphLayers, value: str, best: int) -> None:
    """The best next tokens with their log-probabilities, those of wanted ones, and the entropy of all."""
    graph = layers.graph
    wanted = graph.input("wanted", TensorProto.INT64, ["wanted", 2])
    scores = graph("LogSoftmax", layers.product(value, "logits"), axis=-1)
    logprobs, tokens = graph.several("TopK", 2, scores, graph.integers(best), axis=-1)
    information = graph("Mul", graph("Exp", scores), scores)
    graph.output("entropy", graph("Neg", graph("ReduceSum", information, graph.integers(-1), keepdims=0)))
    graph.output("logprobs", logprobs)
    graph.output("best", tokens, TensorProto.INT64)
    graph.output("logprobs_wanted", graph("GatherND", scores, wanted))

"""Small Moonshine models with random weights, in the form of files that others publish, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper, save

from wordtrust.recognizers.moonshine.model_files import Weights

LAYERS = (1, 2)  # of encoder and decoder
HEADS, HEAD, ANGLES = 2, 8, 3
HIDDEN = HEADS * HEAD
TOKENS, SPOKEN = 45, 40


def encoder_weights(seed: int = 0) -> Weights:
    """Weights of an encoder by module, products [in, out]."""
    made = _Maker(seed)
    for number, shape in enumerate([(HIDDEN, 1, 127), (2 * HIDDEN, HIDDEN, 7), (HIDDEN, 2 * HIDDEN, 3)], 1):
        made.add(f"conv{number}.weight", *shape)
        if number > 1:
            made.add(f"conv{number}.bias", shape[0])
    for name in ("groupnorm.weight", "groupnorm.bias"):
        made.add(name, HIDDEN, 1)
    for layer in range(LAYERS[0]):
        made.layer(layer, ["self_attn"], gates=1)
    made.add("layer_norm.weight", HIDDEN)
    return made.weights


def decoder_weights(seed: int = 1) -> Weights:
    """Weights of a decoder by module."""
    made = _Maker(seed)
    for layer in range(LAYERS[1]):
        made.layer(layer, ["self_attn", "encoder_attn"], gates=2)
        made.add(f"layers.{layer}.final_layernorm.weight", HIDDEN)
    made.add("norm.weight", HIDDEN)
    made.add("embed_tokens.weight", TOKENS, HIDDEN)
    made.add("logits", HIDDEN, TOKENS)
    return made.weights


class _Maker:
    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        rotary = (100.0 ** -np.linspace(0, 1, ANGLES)).astype(np.float32).reshape(1, ANGLES, 1)
        self.weights: Weights = {"rotary": rotary}

    def add(self, name: str, *shape: int) -> None:
        size = (
            1.0
            if "norm" in name or "embed" in name
            else 1.5 / np.sqrt(np.prod(shape[1:]) if "conv" in name else HIDDEN)
        )
        self.weights[name] = self.random.normal(0, size, shape).astype(np.float32)

    def layer(self, layer: int, attentions: list[str], gates: int) -> None:
        for name in ("input", "post_attention"):
            self.add(f"layers.{layer}.{name}_layernorm.weight", HIDDEN)
        for name in (f"{kind}.{letter}_proj" for kind in attentions for letter in "qkvo"):
            self.add(f"layers.{layer}.{name}", HIDDEN, HIDDEN)
        for name, rows, columns in (("fc1", HIDDEN, gates * 2 * HIDDEN), ("fc2", 2 * HIDDEN, HIDDEN)):
            self.add(f"layers.{layer}.mlp.{name}", rows, columns)
            self.add(f"layers.{layer}.mlp.{name}.bias", columns)


def write_model(
    folder: Path, encoder: Weights | None = None, decoder: Weights | None = None, *, int8: bool = False
) -> Path:
    """A folder with the three files of a model."""
    folder.mkdir(exist_ok=True)
    write_part(folder / "encoder_model.onnx", encoder or encoder_weights(), int8=int8)
    write_part(folder / "decoder_model_merged.onnx", decoder or decoder_weights(), heads=(HEADS, HEAD), int8=int8)
    (folder / "tokenizer.bin").write_bytes(tokenizer_bytes())
    return folder


def tokenizer_bytes() -> bytes:
    """Tokens that spell every letter with and without a space before it, and some that are never written."""
    letters = [f"{space}{letter}" for letter in "abcdefghijklmnopqr" for space in ("", "▁")]
    tokens = ["<unk>", "<s>", "</s>", *letters, "."]
    spare = [f"<<ST_{number}>>" for number in range(TOKENS - len(tokens))]
    return b"".join(bytes([len(each)]) + each for each in (token.encode() for token in tokens + spare))


def write_part(path: Path, weights: Weights, *, heads: tuple[int, int] | None = None, int8: bool = False) -> None:
    """Encoder or decoder. Its graph has the names of a real one, but could not be run."""
    nodes: list[Any] = []
    constants: list[TensorProto] = []
    for place, (name, values) in enumerate(weights.items()):
        parts = name.split(".")
        if name in ("rotary", "logits") or parts[0] == "groupnorm" or parts[-1] in ("fc1", "fc2") or "proj" in name:
            key = f"onnx::Constant_{place}"
            nodes.append(_user(name, key, quantised=int8 and values.ndim == 2))
        else:
            key = f"model.decoder.{name}_merged_0" if heads else name
        quantised = int8 and values.ndim == 2 and parts[0] != "groupnorm"
        constants += _quantised(key, values) if quantised else [numpy_helper.from_array(values, key)]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "length"])]
    if heads:
        shape: list[int | str] = ["batch", heads[0], "past", heads[1]]
        inputs.append(helper.make_tensor_value_info("past_key_values.0.decoder.key", TensorProto.FLOAT, shape))
    save(helper.make_model(helper.make_graph(nodes, "made", inputs, [], constants)), str(path))


def _user(name: str, key: str, *, quantised: bool) -> Any:
    """The node that uses a constant, known by its output."""
    if name == "rotary":
        return helper.make_node("Expand", [key, "shape"], ["/rotary_emb/Expand_output_0"])
    if name.startswith("groupnorm"):
        op = "Mul" if name.endswith("weight") else "Add"
        return helper.make_node(op, ["x", key], [f"/groupnorm/{op}_output_0"])
    output = (
        name if name == "logits" else f"/model/{name.replace('.', '/').replace('layers/', 'layers.')}/MatMul_output_0"
    )
    if quantised:
        return helper.make_node("MatMulInteger", ["x", f"{key}_quantized"], [f"{output}_output_quantized"])
    return helper.make_node("MatMul", ["x", key], [output])


def _quantised(key: str, values: NDArray[np.float32]) -> list[TensorProto]:
    scale = np.float32(np.abs(values).max() / 127)
    whole = (np.round(values / scale) + 128).clip(0, 255).astype(np.uint8)
    parts: dict[str, NDArray[Any]] = {
        "quantized": whole,
        "scale": np.array(scale),
        "zero_point": np.array(128, np.uint8),
    }
    return [numpy_helper.from_array(part, f"{key}_{name}") for name, part in parts.items()]

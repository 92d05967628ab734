"""A made-up Whisper decoder: written as CTranslate2 writes it, and run by torch, one hypothesis at a time."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

Arrays = dict[str, NDArray[Any]]

WIDTH, HEADS, LAYERS, VOCABULARY, FRAMES = 12, 3, 2, 40, 30
_NUMBERS = {"<f4": 0, "<i1": 1, "<i2": 2, "<i4": 3, "<f2": 4}


def made_weights(seed: int = 0) -> Arrays:
    """Random weights, large enough that every part changes the outcome."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> NDArray[Any]:
        return rng.normal(0, 0.4, shape).astype(np.float32)

    found = {
        "decoder/embeddings/weight": normal(VOCABULARY, WIDTH),
        "decoder/position_encodings/encodings": normal(64, WIDTH),
        "decoder/num_heads": np.array(HEADS, np.int16),
        "encoder/conv1/weight": normal(WIDTH, 80, 3),
        "encoder/layer_0/ffn/linear_0/weight": normal(2, 2),
        **_norm("decoder/layer_norm", normal),
    }
    for layer in range(LAYERS):
        name = f"decoder/layer_{layer}"
        for part in ("self_attention", "attention", "ffn"):
            found |= _norm(f"{name}/{part}/layer_norm", normal)
        for part, (rows, columns) in {
            "self_attention/linear_0": (3 * WIDTH, WIDTH),
            "self_attention/linear_1": (WIDTH, WIDTH),
            "attention/linear_0": (WIDTH, WIDTH),
            "attention/linear_1": (2 * WIDTH, WIDTH),
            "attention/linear_2": (WIDTH, WIDTH),
            "ffn/linear_0": (4 * WIDTH, WIDTH),
            "ffn/linear_1": (WIDTH, 4 * WIDTH),
        }.items():
            found[f"{name}/{part}/weight"] = normal(rows, columns)
            found[f"{name}/{part}/bias"] = normal(rows)
    return found


def _norm(name: str, normal: Any) -> Arrays:
    return {f"{name}/gamma": 1 + normal(WIDTH), f"{name}/beta": normal(WIDTH)}


def file_bytes(weights: Arrays, *, version: int = 6, kind: str = "WhisperSpec") -> bytes:
    """A model.bin."""
    parts = [struct.pack("<I", version), _string(kind), struct.pack("<II", 3, len(weights))]
    for name, values in weights.items():
        data = values.tobytes()
        shape = struct.pack(f"<B{values.ndim}I", values.ndim, *values.shape)
        number = _NUMBERS[values.dtype.str if values.dtype.itemsize > 1 else "<i1"]
        parts += [_string(name), shape, struct.pack("<BI", number, len(data)), data]
    return b"".join([*parts, struct.pack("<I", 0)])


def _string(text: str) -> bytes:
    return struct.pack("<H", len(text) + 1) + text.encode() + b"\0"


def write(folder: Path, weights: Arrays) -> Path:
    (folder / "model.bin").write_bytes(file_bytes(weights))
    return folder


def by_torch(
    weights: Arrays, encoded: NDArray[Any], tokens: list[int]
) -> tuple[torch.Tensor, dict[tuple[int, int], Any]]:
    """Logits [tokens, vocabulary] after each token, and the cross-attention scores by (layer, head)."""
    made = {name: torch.tensor(values.astype(np.float64)) for name, values in weights.items()}
    audio, scores = torch.tensor(encoded.astype(np.float64)), {}

    def norm(states: torch.Tensor, name: str) -> torch.Tensor:
        return functional.layer_norm(states, (WIDTH,), made[f"{name}/gamma"], made[f"{name}/beta"], 1e-5)

    def linear(states: torch.Tensor, name: str) -> torch.Tensor:
        return functional.linear(states, made[f"{name}/weight"], made[f"{name}/bias"])

    states = made["decoder/embeddings/weight"][tokens] + made["decoder/position_encodings/encodings"][: len(tokens)]
    later = torch.triu(torch.ones(len(tokens), len(tokens), dtype=torch.bool), 1)
    for layer in range(LAYERS):
        name = f"decoder/layer_{layer}"
        query, key, value = linear(
            norm(states, f"{name}/self_attention/layer_norm"), f"{name}/self_attention/linear_0"
        ).chunk(3, -1)
        mixed = []
        for head in range(HEADS):
            part = slice(head * WIDTH // HEADS, (head + 1) * WIDTH // HEADS)
            looked = (query[:, part] @ key[:, part].T / (WIDTH // HEADS) ** 0.5).masked_fill(later, -torch.inf)
            mixed.append(looked.softmax(-1) @ value[:, part])
        states = states + linear(torch.cat(mixed, -1), f"{name}/self_attention/linear_1")
        query = linear(norm(states, f"{name}/attention/layer_norm"), f"{name}/attention/linear_0")
        key, value = linear(audio, f"{name}/attention/linear_1").chunk(2, -1)
        mixed = []
        for head in range(HEADS):
            part = slice(head * WIDTH // HEADS, (head + 1) * WIDTH // HEADS)
            looked = query[:, part] @ key[:, part].T / (WIDTH // HEADS) ** 0.5
            scores[layer, head] = looked.numpy()
            mixed.append(looked.softmax(-1) @ value[:, part])
        states = states + linear(torch.cat(mixed, -1), f"{name}/attention/linear_2")
        hidden = functional.gelu(linear(norm(states, f"{name}/ffn/layer_norm"), f"{name}/ffn/linear_0"))
        states = states + linear(hidden, f"{name}/ffn/linear_1")
    return norm(states, "decoder/layer_norm") @ made["decoder/embeddings/weight"].T, scores

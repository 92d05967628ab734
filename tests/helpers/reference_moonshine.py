"""Moonshine in plain numpy, a whole text at a time, straight from its description; shares no code with the package.

Tests compare it with the graphs.
"""

from __future__ import annotations

from math import erf

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = dict[str, NDArray[np.float32]]


def softmax(values: Array) -> Array:
    """Over the last axis."""
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    found: Array = powers / powers.sum(axis=-1, keepdims=True)
    return found


def gelu(values: Array) -> Array:
    """x times the normal distribution at x."""
    found: Array = values * 0.5 * (1 + np.vectorize(erf)(values / np.sqrt(2)))
    return found


def norm(values: Array, weight: NDArray[np.float32]) -> Array:
    """Layer normalisation."""
    middle = values - values.mean(axis=-1, keepdims=True)
    found: Array = middle / np.sqrt((middle**2).mean(axis=-1, keepdims=True) + 1e-5) * weight
    return found


def convolve(values: Array, weight: NDArray[np.float32], stride: int) -> Array:
    """[in, n] to [out, m]."""
    kernel = weight.shape[2]
    starts = range(0, values.shape[1] - kernel + 1, stride)
    return np.stack([np.einsum("ik,oik->o", values[:, at : at + kernel], weight) for at in starts], axis=1)


def turn(values: Array, frequencies: NDArray[np.float32]) -> Array:
    """Rotary embedding of [length, head]: pairs of neighbours as complex numbers."""
    found = values.copy()
    angles = np.outer(np.arange(len(values)), frequencies.ravel().astype(np.float64))
    count = 2 * angles.shape[1]
    pairs = (values[:, :count:2] + 1j * values[:, 1:count:2]) * np.exp(1j * angles)
    found[:, :count:2], found[:, 1:count:2] = pairs.real, pairs.imag
    return found


def attend(asking: Array, known: Array, weights: Weights, prefix: str, heads: int, kind: str) -> tuple[Array, Array]:
    """Attention of `asking` over `known`: what is found, and the weights [heads, asking, known].

    `kind`: own (whole, with positions), past (own, not ahead) or cross (without positions).
    """
    parts = []
    for letter, source in zip("qkv", (asking, known, known), strict=True):
        parts.append(np.split(source @ weights[f"{prefix}.{letter}_proj"].astype(np.float64), heads, axis=1))
    found, looks = [], []
    for query, key, value in zip(*parts, strict=True):
        if kind != "cross":
            query, key = turn(query, weights["rotary"]), turn(key, weights["rotary"])  # noqa: PLW2901
        scores = query @ key.T / np.sqrt(query.shape[1])
        if kind == "past":
            scores[np.triu_indices(len(scores), 1)] = -np.inf
        looks.append(softmax(scores))
        found.append(looks[-1] @ value)
    return np.hstack(found) @ weights[f"{prefix}.o_proj"], np.stack(looks)


def encode(samples: NDArray[np.float32], weights: Weights, heads: int) -> Array:
    """Samples to frames [frames, hidden]."""
    value = np.tanh(convolve(samples.astype(np.float64)[None], weights["conv1.weight"], 64))
    value = (value - value.mean()) / np.sqrt(value.var() + 1e-5)
    value = value * weights["groupnorm.weight"] + weights["groupnorm.bias"]
    for number, stride in ((2, 3), (3, 2)):
        value = gelu(
            convolve(value, weights[f"conv{number}.weight"], stride) + weights[f"conv{number}.bias"][:, None]
        )
    value = value.T
    layer = 0
    while f"layers.{layer}.mlp.fc1" in weights:
        at = f"layers.{layer}"
        heard = norm(value, weights[f"{at}.input_layernorm.weight"])
        value = value + attend(heard, heard, weights, f"{at}.self_attn", heads, "own")[0]
        inner = norm(value, weights[f"{at}.post_attention_layernorm.weight"]) @ weights[f"{at}.mlp.fc1"]
        inner = gelu(inner + weights[f"{at}.mlp.fc1.bias"])
        value = value + inner @ weights[f"{at}.mlp.fc2"] + weights[f"{at}.mlp.fc2.bias"]
        layer += 1
    return norm(value, weights["layer_norm.weight"])


def decode(tokens: list[int], frames: Array, weights: Weights, heads: int, spoken: int) -> tuple[Array, list[Array]]:
    """Log-probabilities of what follows each token [tokens, spoken], and layers' looks [heads, tokens, frames]."""
    value = weights["embed_tokens.weight"][tokens].astype(np.float64)
    looks: list[Array] = []
    layer = 0
    while f"layers.{layer}.mlp.fc1" in weights:
        at = f"layers.{layer}"
        known = norm(value, weights[f"{at}.input_layernorm.weight"])
        value = value + attend(known, known, weights, f"{at}.self_attn", heads, "past")[0]
        asked = norm(value, weights[f"{at}.post_attention_layernorm.weight"])
        found, look = attend(asked, frames, weights, f"{at}.encoder_attn", heads, "cross")
        value, looks = value + found, [*looks, look]
        wide = norm(value, weights[f"{at}.final_layernorm.weight"]) @ weights[f"{at}.mlp.fc1"]
        inner, gate = np.split(wide + weights[f"{at}.mlp.fc1.bias"], 2, axis=1)
        inner = inner * gate / (1 + np.exp(-gate))
        value = value + inner @ weights[f"{at}.mlp.fc2"] + weights[f"{at}.mlp.fc2.bias"]
        layer += 1
    scores = (norm(value, weights["norm.weight"]) @ weights["logits"])[:, :spoken]
    return np.log(softmax(scores)), looks

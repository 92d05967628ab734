"""How large a Moonshine model is, as its weights say, and whether they fit together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import InputError
from .files import REMEDY
from .weights import Floats, Part

KERNELS = (127, 7, 3)  # frames that the three convolutions see
STRIDES = (64, 3, 2)  # and frames from one of theirs to the next
FRAME = 64 * 3 * 2  # samples, 24 ms
_LAYER = re.compile(r"layers\.(\d+)\.")

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The shape of a model."""

    hidden: int
    heads: int
    head: int  # numbers in a head
    encoder_layers: int
    decoder_layers: int
    encoder_inner: int  # width of the layers between attention
    decoder_inner: int
    tokens: int


def sizes_of(encoder: Part, decoder: Part, folder: Path) -> Sizes:
    """What the weights of both say; an InputError if any is missing or does not fit the others."""
    try:
        return _sizes(encoder, decoder)
    except ValueError as error:
        raise InputError(str(error), file=str(folder), remedy=REMEDY) from None


def _sizes(encoder: Part, decoder: Part) -> Sizes:
    heads, head = decoder.heads or (0, 0)
    if heads < 1 or head < 1:
        raise ValueError("the decoder has no input that says how many heads it has")
    first = "layers.0.mlp.fc2"
    sizes = Sizes(
        hidden=heads * head,
        heads=heads,
        head=head,
        encoder_layers=_layers(encoder.weights),
        decoder_layers=_layers(decoder.weights),
        encoder_inner=len(encoder.weights.get(first, ())),
        decoder_inner=len(decoder.weights.get(first, ())),
        tokens=len(decoder.weights.get("embed_tokens.weight", ())),
    )
    _require("encoder", encoder.weights, _encoder_shapes(sizes), head)
    _require("decoder", decoder.weights, _decoder_shapes(sizes), head)
    return sizes


def _layers(weights: Mapping[str, Floats]) -> int:
    """How many there are; one that is missing in between is found missing later."""
    return 1 + max((int(match[1]) for name in weights if (match := _LAYER.match(name))), default=0)


def _encoder_shapes(sizes: Sizes) -> Shapes:
    hidden, inner = sizes.hidden, sizes.encoder_inner
    shapes: Shapes = {"groupnorm.weight": (hidden, 1), "groupnorm.bias": (hidden, 1), "layer_norm.weight": (hidden,)}
    channels = (1, hidden, 2 * hidden, hidden)
    for number in (1, 2, 3):
        shapes[f"conv{number}.weight"] = (channels[number], channels[number - 1], KERNELS[number - 1])
        if number > 1:
            shapes[f"conv{number}.bias"] = (channels[number],)
    for layer in range(sizes.encoder_layers):
        shapes |= _layer_shapes(f"layers.{layer}", hidden, inner, inner, ["self_attn"])
    return shapes


def _decoder_shapes(sizes: Sizes) -> Shapes:
    hidden, inner = sizes.hidden, sizes.decoder_inner
    shapes: Shapes = {"norm.weight": (hidden,)}
    shapes |= {"embed_tokens.weight": (sizes.tokens, hidden), "logits": (hidden, sizes.tokens)}
    for layer in range(sizes.decoder_layers):
        shapes |= _layer_shapes(f"layers.{layer}", hidden, 2 * inner, inner, ["self_attn", "encoder_attn"])
        shapes[f"layers.{layer}.final_layernorm.weight"] = (hidden,)
    return shapes


def _layer_shapes(prefix: str, hidden: int, wide: int, inner: int, attentions: list[str]) -> Shapes:
    norms = {f"{prefix}.{name}_layernorm.weight": (hidden,) for name in ("input", "post_attention")}
    squares = {f"{prefix}.{kind}.{letter}_proj": (hidden, hidden) for kind in attentions for letter in "qkvo"}
    return {
        **norms,
        **squares,
        f"{prefix}.mlp.fc1": (hidden, wide),
        f"{prefix}.mlp.fc1.bias": (wide,),
        f"{prefix}.mlp.fc2": (inner, hidden),
        f"{prefix}.mlp.fc2.bias": (hidden,),
    }


def _require(part: str, weights: Mapping[str, Floats], shapes: Shapes, head: int) -> None:
    for name, shape in shapes.items():
        if name not in weights:
            raise ValueError(f"the {part} has no weights {name}")
        if weights[name].shape != shape:
            raise ValueError(f"the weights {name} of the {part} are {weights[name].shape} and not {shape}")
    angles = weights["rotary"].size if "rotary" in weights else 0
    if not 0 < 2 * angles <= head:
        raise ValueError(f"the {part} has {angles} angles to turn heads of {head} numbers with")

"""The weights of a Moonshine model in float, by the names of its modules.

The published graphs compute in int8 and quantise activations over the whole batch, so that the score of a hypothesis
changes with its neighbours in the beam. Only weights are taken from them; `moonshine_graph` makes graphs in float.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.errors import InputError
from .files import REMEDY, Array, Contents, Node, read_graph

Floats = NDArray[np.float32]
Weights = dict[str, Floats]

# Weights that kept the names of their modules, whatever tools have put before and behind these.
_NAMED = re.compile(
    r"(?:^|\.)(layers\.\d+\.(?:\w+_layernorm\.weight|mlp\.fc[12]\.bias)|conv[123]\.(?:weight|bias)"
    r"|(?:layer_)?norm\.weight|embed_tokens\.weight)(?:_|$)"
)
# Those that lost it: the constant that goes into the operation with this output.
_PRODUCT = re.compile(r"(?:^|/)(layers\.\d+)/(self_attn|encoder_attn|mlp)/([qkvo]_proj|fc[12])/(?:MatMul|Add)_output")
_GROUP_NORM = re.compile(r"(?:^|/)groupnorm/(Mul|Add)_output_0$")
_ROTARY = re.compile(r"(?:^|/)rotary_emb/Expand_output_0$")
_PRODUCTS = ("MatMul", "MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul")
_QUANTISATION = ("_scale", "_zero_point")
_HEADS = "past_key_values.0.decoder.key"  # an input, [batch, heads, length, numbers in a head]


class Part(NamedTuple):
    """Encoder or decoder."""

    weights: Weights  # products are [in, out]
    heads: tuple[int, int] | None  # how many, and how many numbers in each; only a decoder says it


def read_part(path: Path) -> Part:
    """All that is needed of a file."""
    contents = read_graph(path)
    try:
        found = _weights(contents)
    except ValueError as error:
        raise InputError(str(error), file=str(path), remedy=REMEDY) from None
    shape = contents.inputs.get(_HEADS, ())
    return Part(found, (shape[1], shape[3]) if len(shape) == 4 else None)


def _weights(contents: Contents) -> Weights:
    places = {name: key for key in contents.constants if (name := _name(key))}
    for node in contents.nodes:
        name, key = _name_by_output(node), _own_constant(node, contents.constants)
        if name and key:
            places[name] = key
    found = {name: _float(contents.constants, key) for name, key in places.items()}
    for name, values in found.items():
        if not np.isfinite(values).all():
            raise ValueError(f"the weights {name} are not all finite numbers")
    return found


def _name(key: str) -> str:
    match = None if key.endswith(_QUANTISATION) else _NAMED.search(key)
    return match[1] if match else ""


def _name_by_output(node: Node) -> str:
    output = node.outputs[0] if node.outputs else ""
    if node.op in _PRODUCTS:
        match = _PRODUCT.search(output)
        return ".".join(match.groups()) if match else "logits" * output.startswith("logits")
    if match := _GROUP_NORM.search(output):
        return {"Mul": "groupnorm.weight", "Add": "groupnorm.bias"}[match[1]]
    return "rotary" * bool(_ROTARY.search(output))


def _own_constant(node: Node, constants: Mapping[str, Array]) -> str:
    """The weight of a node: the second input of a product, the only constant elsewhere."""
    inputs = node.inputs[1:2] if node.op in _PRODUCTS else node.inputs
    return next((key for key in inputs if key in constants), "")


def _float(constants: Mapping[str, Array], key: str) -> Floats:
    """A weight in float; beside one in int8 there are its scale and its zero point."""
    values = constants[key]
    if values.dtype.kind == "f":
        return np.ascontiguousarray(values, np.float32)
    scale, zero = (constants.get(key.removesuffix("_quantized") + end) for end in _QUANTISATION)
    if scale is None or zero is None:
        raise ValueError(f"{key} is in int8, but has no scale and zero point")
    found: Floats = values.astype(np.float32)
    found -= zero.astype(np.float32)
    found *= scale.astype(np.float32)
    return found

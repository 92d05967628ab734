"""Reading the files that Moonshine's makers publish: weights in float by the names of modules, and their sizes.

The published graphs (onnxruntime's .ort format, or ONNX) compute in int8 and quantise activations over the whole
batch, so that the score of a hypothesis changes with its neighbours in the beam. So they are never run: their weights
are read, converted to float, checked against each other, and go into the graphs that `graphs` builds.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.errors import InputError

REMEDY = "Give a folder with the files of Moonshine tiny or base as its makers publish them"
KERNELS = (127, 7, 3)  # widths of the encoder's three convolutions
STRIDES = (64, 3, 2)  # and their strides

_MAX_BYTES = 2**31  # of a file; those of Moonshine base have a tenth of it
_MAX_DEPTH = 3  # of graphs within graphs: the two branches of an If are one level
_SCHEMA = "ort_flatbuffers_py"
_ORT_TYPES = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8", 10: "<f2", 11: "<f8"}

# Weights that kept the names of their modules, whatever export tools have put before and after these.
_NAMED = re.compile(
    r"(?:^|\.)(layers\.\d+\.(?:\w+_layernorm\.weight|mlp\.fc[12]\.bias)|conv[123]\.(?:weight|bias)"
    r"|(?:layer_)?norm\.weight|embed_tokens\.weight)(?:_|$)"
)
# Those that lost them: the constant that goes into the operation with this output.
_PRODUCT = re.compile(r"(?:^|/)(layers\.\d+)/(self_attn|encoder_attn|mlp)/([qkvo]_proj|fc[12])/(?:MatMul|Add)_output")
_GROUP_NORM = re.compile(r"(?:^|/)groupnorm/(Mul|Add)_output_0$")
_ROTARY = re.compile(r"(?:^|/)rotary_emb/Expand_output_0$")
_PRODUCTS = ("MatMul", "MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul")
_QUANTISATION = ("_scale", "_zero_point")
_PAST_KEYS = "past_key_values.0.decoder.key"  # an input, [batch, heads, length, values per head]
_LAYER = re.compile(r"layers\.(\d+)\.")

Array = NDArray[Any]
Floats = NDArray[np.float32]
Weights = dict[str, Floats]
Shapes = dict[str, tuple[int, ...]]


class ModelPart(NamedTuple):
    """The encoder or the decoder."""

    weights: Weights  # matrices are [in, out]
    heads: tuple[int, int] | None  # how many, and values in each; only a decoder says it


@dataclass(frozen=True, slots=True)
class MoonshineSizes:
    """The dimensions of a model."""

    hidden: int
    heads: int
    head: int  # values in a head
    encoder_layers: int
    decoder_layers: int
    encoder_inner: int  # width of the feed-forward layers
    decoder_inner: int
    tokens: int


class _GraphNode(NamedTuple):
    """An operation of a graph."""

    op: str
    inputs: list[str]
    outputs: list[str]


class _GraphContents(NamedTuple):
    """The contents of a graph file, branches of the graph included."""

    nodes: list[_GraphNode]
    constants: Mapping[str, Array]
    inputs: Mapping[str, tuple[int, ...]]  # their shapes; 0 where a size is free


def read_model(folder: Path) -> tuple[ModelPart, ModelPart, MoonshineSizes]:
    """Encoder and decoder of a folder, and their sizes; InputError if weights are missing or do not fit together."""
    encoder, decoder = (read_part(_graph_file(folder, name)) for name in ("encoder_model", "decoder_model_merged"))
    weights = decoder.weights
    if "logits" not in weights and "embed_tokens.weight" in weights:  # tied: the same weights at both ends
        weights["logits"] = weights["embed_tokens.weight"].T
    try:
        return encoder, decoder, _sizes(encoder, decoder)
    except ValueError as error:
        raise InputError(str(error), file=str(folder), remedy=REMEDY) from None


def _graph_file(folder: Path, name: str) -> Path:
    for suffix in (".ort", ".onnx"):
        if (path := folder / (name + suffix)).is_file():
            return path
    raise InputError(f"has neither {name}.ort nor {name}.onnx", file=str(folder), remedy=REMEDY)


def read_part(path: Path) -> ModelPart:
    """The weights in a graph file, in float."""
    contents = _read_graph(path)
    try:
        weights = _named_weights(contents)
    except ValueError as error:
        raise InputError(str(error), file=str(path), remedy=REMEDY) from None
    shape = contents.inputs.get(_PAST_KEYS, ())
    return ModelPart(weights, (shape[1], shape[3]) if len(shape) == 4 else None)


def _read_graph(path: Path) -> _GraphContents:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError("far too large")
        return _read_ort(path.read_bytes()) if path.suffix == ".ort" else _read_onnx(path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path), remedy=REMEDY) from None
    except Exception as error:  # readers of damaged files fail in every possible way
        message = f"not a graph that can be read ({error})"
        raise InputError(message, file=str(path), remedy=REMEDY) from None


def _read_onnx(path: Path) -> _GraphContents:
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(path))
    graphs = list(_onnx_graphs(model.graph))
    nodes = [_GraphNode(node.op_type, list(node.input), list(node.output)) for graph in graphs for node in graph.node]
    constants = {tensor.name: numpy_helper.to_array(tensor) for graph in graphs for tensor in graph.initializer}
    for node in chain.from_iterable(graph.node for graph in graphs):
        if node.op_type == "Constant" and node.attribute[0].HasField("t"):
            constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    dims = {value.name: value.type.tensor_type.shape.dim for value in model.graph.input}
    shapes = {name: tuple(int(size.dim_value) for size in sizes) for name, sizes in dims.items()}
    return _GraphContents(nodes, constants, shapes)


def _onnx_graphs(graph: Any, depth: int = 0) -> Iterator[Any]:
    yield graph
    if depth < _MAX_DEPTH:
        for attribute in chain.from_iterable(node.attribute for node in graph.node):
            if attribute.HasField("g"):
                yield from _onnx_graphs(attribute.g, depth + 1)


def _read_ort(content: bytes) -> _GraphContents:
    session = _schema("InferenceSession")
    if not session.InferenceSessionBufferHasIdentifier(content, 0):
        raise ValueError("it does not begin like an ORT file")
    top = session.GetRootAsInferenceSession(content, 0).Model().Graph()
    graphs = list(_ort_graphs(top))
    nodes = [_ort_node(node) for graph in graphs for node in _items(graph, "Nodes")]
    tensors = [tensor for graph in graphs for tensor in _items(graph, "Initializers")]
    constants = {tensor.Name().decode(): _ort_array(tensor) for tensor in tensors if tensor.DataType() in _ORT_TYPES}
    return _GraphContents(nodes, constants, dict(_ort_input_shapes(top)))


def _schema(name: str) -> Any:
    """A class of onnxruntime's reader of its own files.

    It is loaded from beside `onnxruntime.tools`: importing that would change sys.path, and load torch where it is
    installed.
    """
    package = find_spec("onnxruntime")
    if _SCHEMA not in sys.modules and package is not None and package.submodule_search_locations:
        folder = Path(package.submodule_search_locations[0], "tools", "ort_format_model", _SCHEMA)
        spec = spec_from_file_location(_SCHEMA, folder / "__init__.py", submodule_search_locations=[str(folder)])
        if spec is not None and spec.loader is not None:
            sys.modules[_SCHEMA] = module_from_spec(spec)
            spec.loader.exec_module(sys.modules[_SCHEMA])
    return getattr(import_module(f"{_SCHEMA}.fbs.{name}"), name)


def _items(table: Any, field: str) -> list[Any]:
    """The elements of a vector of a flatbuffers table."""
    return [getattr(table, field)(index) for index in range(getattr(table, f"{field}Length")())]


def _ort_graphs(graph: Any, depth: int = 0) -> Iterator[Any]:
    yield graph
    if depth < _MAX_DEPTH:
        for node in _items(graph, "Nodes"):
            for attribute in _items(node, "Attributes"):
                if attribute.G() is not None:
                    yield from _ort_graphs(attribute.G(), depth + 1)


def _ort_node(node: Any) -> _GraphNode:
    inputs, outputs = ([name.decode() for name in _items(node, field)] for field in ("Inputs", "Outputs"))
    return _GraphNode(node.OpType().decode(), inputs, outputs)


def _ort_array(tensor: Any) -> Array:
    content = tensor.RawDataAsNumpy() if tensor.RawDataLength() else np.zeros(0, np.uint8)
    array: Array = content.view(_ORT_TYPES[tensor.DataType()]).reshape(_items(tensor, "Dims"))
    return array


def _ort_input_shapes(graph: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    names = set(_items(graph, "Inputs"))
    for argument in _items(graph, "NodeArgs"):
        if argument.Name() in names:
            value, tensor = argument.Type().Value(), _schema("TensorTypeAndShape")()
            tensor.Init(value.Bytes, value.Pos)
            dims = _items(tensor.Shape(), "Dim")
            yield argument.Name().decode(), tuple(int(dim.Value().DimValue()) for dim in dims)


def _named_weights(contents: _GraphContents) -> Weights:
    keys = {name: key for key in contents.constants if (name := _module_name(key))}
    for node in contents.nodes:
        name, key = _module_name_by_output(node), _own_constant(node, contents.constants)
        if name and key:
            keys[name] = key
    weights = {name: _to_float(contents.constants, key) for name, key in keys.items()}
    for name, values in weights.items():
        if not np.isfinite(values).all():
            raise ValueError(f"the weights {name} are not all finite numbers")
    return weights


def _module_name(key: str) -> str:
    match = None if key.endswith(_QUANTISATION) else _NAMED.search(key)
    return match[1] if match else ""


def _module_name_by_output(node: _GraphNode) -> str:
    output = node.outputs[0] if node.outputs else ""
    if node.op in _PRODUCTS:
        match = _PRODUCT.search(output)
        return ".".join(match.groups()) if match else "logits" * output.startswith("logits")
    if match := _GROUP_NORM.search(output):
        return {"Mul": "groupnorm.weight", "Add": "groupnorm.bias"}[match[1]]
    return "rotary" * bool(_ROTARY.search(output))


def _own_constant(node: _GraphNode, constants: Mapping[str, Array]) -> str:
    """The weight of a node: the second input of a product, the only constant elsewhere."""
    inputs = node.inputs[1:2] if node.op in _PRODUCTS else node.inputs
    return next((key for key in inputs if key in constants), "")


def _to_float(constants: Mapping[str, Array], key: str) -> Floats:
    """A weight in float; one in int8 has its scale and zero point beside it."""
    values = constants[key]
    if values.dtype.kind == "f":
        return np.ascontiguousarray(values, np.float32)
    scale, zero = (constants.get(key.removesuffix("_quantized") + end) for end in _QUANTISATION)
    if scale is None or zero is None:
        raise ValueError(f"{key} is in int8, but has no scale and zero point")
    weight: Floats = values.astype(np.float32)
    weight -= zero.astype(np.float32)
    weight *= scale.astype(np.float32)
    return weight


def _sizes(encoder: ModelPart, decoder: ModelPart) -> MoonshineSizes:
    heads, head = decoder.heads or (0, 0)
    if heads < 1 or head < 1:
        raise ValueError("the decoder has no input that says how many heads it has")
    first = "layers.0.mlp.fc2"
    sizes = MoonshineSizes(
        hidden=heads * head,
        heads=heads,
        head=head,
        encoder_layers=_count_layers(encoder.weights),
        decoder_layers=_count_layers(decoder.weights),
        encoder_inner=len(encoder.weights.get(first, ())),
        decoder_inner=len(decoder.weights.get(first, ())),
        tokens=len(decoder.weights.get("embed_tokens.weight", ())),
    )
    _check_shapes("encoder", encoder.weights, _encoder_shapes(sizes), head)
    _check_shapes("decoder", decoder.weights, _decoder_shapes(sizes), head)
    return sizes


def _count_layers(weights: Mapping[str, Floats]) -> int:
    """The number of layers; one that is missing in between is found missing later."""
    return 1 + max((int(match[1]) for name in weights if (match := _LAYER.match(name))), default=0)


def _encoder_shapes(sizes: MoonshineSizes) -> Shapes:
    hidden, inner = sizes.hidden, sizes.encoder_inner
    shapes: Shapes = {"groupnorm.weight": (hidden, 1), "groupnorm.bias": (hidden, 1), "layer_norm.weight": (hidden,)}
    channels = (1, hidden, 2 * hidden, hidden)
    for conv in (1, 2, 3):
        shapes[f"conv{conv}.weight"] = (channels[conv], channels[conv - 1], KERNELS[conv - 1])
        if conv > 1:
            shapes[f"conv{conv}.bias"] = (channels[conv],)
    for layer in range(sizes.encoder_layers):
        shapes |= _layer_shapes(f"layers.{layer}", hidden, inner, inner, ["self_attn"])
    return shapes


def _decoder_shapes(sizes: MoonshineSizes) -> Shapes:
    hidden, inner = sizes.hidden, sizes.decoder_inner
    shapes: Shapes = {"norm.weight": (hidden,)}
    shapes |= {"embed_tokens.weight": (sizes.tokens, hidden), "logits": (hidden, sizes.tokens)}
    for layer in range(sizes.decoder_layers):
        shapes |= _layer_shapes(f"layers.{layer}", hidden, 2 * inner, inner, ["self_attn", "encoder_attn"])
        shapes[f"layers.{layer}.final_layernorm.weight"] = (hidden,)
    return shapes


def _layer_shapes(prefix: str, hidden: int, wide: int, inner: int, attentions: list[str]) -> Shapes:
    norms = {f"{prefix}.{name}_layernorm.weight": (hidden,) for name in ("input", "post_attention")}
    projections = {f"{prefix}.{kind}.{letter}_proj": (hidden, hidden) for kind in attentions for letter in "qkvo"}
    return {
        **norms,
        **projections,
        f"{prefix}.mlp.fc1": (hidden, wide),
        f"{prefix}.mlp.fc1.bias": (wide,),
        f"{prefix}.mlp.fc2": (inner, hidden),
        f"{prefix}.mlp.fc2.bias": (hidden,),
    }


def _check_shapes(part: str, weights: Mapping[str, Floats], shapes: Shapes, head: int) -> None:
    for name, shape in shapes.items():
        if name not in weights:
            raise ValueError(f"the {part} has no weights {name}")
        if weights[name].shape != shape:
            raise ValueError(f"the weights {name} of the {part} are {weights[name].shape} and not {shape}")
    angles = weights["rotary"].size if "rotary" in weights else 0
    if not 0 < 2 * angles <= head:
        raise ValueError(f"the {part} has {angles} angles to turn heads of {head} numbers with")

"""What is in a graph file: onnxruntime's own .ort, or ONNX. Only read, never run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.errors import InputError

REMEDY = "Give a folder with the files of Moonshine tiny or base as its makers publish them"
_MOST_BYTES = 2**31  # of a file; those of Moonshine base have a tenth of it
_NESTED = 3  # graphs within graphs: the two branches of a choice are one level
_SCHEMA = "ort_flatbuffers_py"
_ORT_TYPES = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8", 10: "<f2", 11: "<f8"}

Array = NDArray[Any]


class Node(NamedTuple):
    """An operation of a graph."""

    op: str
    inputs: list[str]
    outputs: list[str]


class Contents(NamedTuple):
    """What a file has, branches of its graph included."""

    nodes: list[Node]
    constants: Mapping[str, Array]
    inputs: Mapping[str, tuple[int, ...]]  # their shapes; 0 where a size is free


def read_graph(path: Path) -> Contents:
    """The contents of a file; whatever is wrong with it is an InputError."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError("far too large")
        return _read_ort(path.read_bytes()) if path.suffix == ".ort" else _read_onnx(path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path), remedy=REMEDY) from None
    except Exception as error:  # readers of damaged files stumble in every possible way
        found = f"not a graph that can be read ({error})"
        raise InputError(found, file=str(path), remedy=REMEDY) from None


def _read_onnx(path: Path) -> Contents:
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(path))
    graphs = list(_onnx_graphs(model.graph))
    nodes = [Node(each.op_type, list(each.input), list(each.output)) for graph in graphs for each in graph.node]
    constants = {each.name: numpy_helper.to_array(each) for graph in graphs for each in graph.initializer}
    for node in chain.from_iterable(graph.node for graph in graphs):
        if node.op_type == "Constant" and node.attribute[0].HasField("t"):
            constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    sizes = {each.name: each.type.tensor_type.shape.dim for each in model.graph.input}
    return Contents(
        nodes, constants, {name: tuple(int(size.dim_value) for size in each) for name, each in sizes.items()}
    )


def _onnx_graphs(graph: Any, depth: int = 0) -> Iterator[Any]:
    yield graph
    if depth < _NESTED:
        for attribute in chain.from_iterable(node.attribute for node in graph.node):
            if attribute.HasField("g"):
                yield from _onnx_graphs(attribute.g, depth + 1)


def _read_ort(content: bytes) -> Contents:
    session = _schema("InferenceSession")
    if not session.InferenceSessionBufferHasIdentifier(content, 0):
        raise ValueError("it does not begin like an ORT file")
    top = session.GetRootAsInferenceSession(content, 0).Model().Graph()
    graphs = list(_ort_graphs(top))
    nodes = [_ort_node(graph.Nodes(place)) for graph in graphs for place in range(graph.NodesLength())]
    tensors = [graph.Initializers(place) for graph in graphs for place in range(graph.InitializersLength())]
    constants = {each.Name().decode(): _ort_array(each) for each in tensors if each.DataType() in _ORT_TYPES}
    return Contents(nodes, constants, dict(_ort_shapes(top)))


def _schema(name: str) -> Any:
    """A class of onnxruntime's reader of its own files.

    It is found beside `onnxruntime.tools`: importing that would change sys.path, and load torch where there is one.
    """
    package = find_spec("onnxruntime")
    if _SCHEMA not in sys.modules and package is not None and package.submodule_search_locations:
        folder = Path(package.submodule_search_locations[0], "tools", "ort_format_model", _SCHEMA)
        spec = spec_from_file_location(_SCHEMA, folder / "__init__.py", submodule_search_locations=[str(folder)])
        if spec is not None and spec.loader is not None:
            sys.modules[_SCHEMA] = module_from_spec(spec)
            spec.loader.exec_module(sys.modules[_SCHEMA])
    return getattr(import_module(f"{_SCHEMA}.fbs.{name}"), name)


def _ort_graphs(graph: Any, depth: int = 0) -> Iterator[Any]:
    yield graph
    if depth < _NESTED:
        for node in (graph.Nodes(place) for place in range(graph.NodesLength())):
            for attribute in (node.Attributes(place) for place in range(node.AttributesLength())):
                if attribute.G() is not None:
                    yield from _ort_graphs(attribute.G(), depth + 1)


def _ort_node(node: Any) -> Node:
    inputs = [node.Inputs(place).decode() for place in range(node.InputsLength())]
    outputs = [node.Outputs(place).decode() for place in range(node.OutputsLength())]
    return Node(node.OpType().decode(), inputs, outputs)


def _ort_array(tensor: Any) -> Array:
    shape = [tensor.Dims(place) for place in range(tensor.DimsLength())]
    content = tensor.RawDataAsNumpy() if tensor.RawDataLength() else np.zeros(0, np.uint8)
    array: Array = content.view(_ORT_TYPES[tensor.DataType()]).reshape(shape)
    return array


def _ort_shapes(graph: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    inputs = {graph.Inputs(place) for place in range(graph.InputsLength())}
    for given in (graph.NodeArgs(place) for place in range(graph.NodeArgsLength())):
        if given.Name() in inputs:
            value, tensor = given.Type().Value(), _schema("TensorTypeAndShape")()
            tensor.Init(value.Bytes, value.Pos)
            sizes = [tensor.Shape().Dim(place).Value() for place in range(tensor.Shape().DimLength())]
            yield given.Name().decode(), tuple(int(size.DimValue()) for size in sizes)

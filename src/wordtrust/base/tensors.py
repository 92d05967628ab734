"""Arrays and metadata in one safetensors file, which can hold nothing that runs.

Model folders, packed training data and scored sentences are such files. Needs numpy and safetensors only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from . import json_checks
from .errors import InputError
from .files import atomic

Arrays = Mapping[str, NDArray[Any]]
_METADATA = "about"  # the name of the JSON text among the file's metadata


def write_tensors(path: Path, arrays: Arrays, metadata: Mapping[str, Any]) -> None:
    """Write the file, whole or not at all."""
    ready = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with atomic(path) as file:
        file.write(save(ready, {_METADATA: json.dumps(metadata)}))


def read_tensors(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """All arrays by name, and the metadata."""
    try:
        if path.exists() and not path.is_file():
            raise OSError("this is no file, but a folder, pipe or device")
        with safe_open(path, "np") as file:
            metadata = json_checks.parse((file.metadata() or {}).get(_METADATA, "{}"), allow_nan=True)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a mapping
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror or error}", file=str(path)) from None
    except InputError as error:
        raise error.at(file=str(path)) from None
    except (SafetensorError, ValueError, RecursionError, KeyError, TypeError) as error:
        raise InputError(f"no whole safetensors file: {error}", file=str(path), remedy="Make it again") from None
    if not isinstance(metadata, dict):
        raise InputError("its metadata is no object", file=str(path), remedy="Make it again")
    return arrays, metadata


def typed(arrays: Arrays, name: str, kind: type[np.generic]) -> NDArray[Any]:
    """An array as this kind of number; a `KeyError` or `ValueError` where there is none, or none of such numbers."""
    values, wanted = arrays[name], np.dtype(kind)
    if (values.dtype.kind == "f") != (wanted.kind == "f"):
        raise ValueError(f"{name} has numbers of the type {values.dtype}, not {wanted}")
    with np.errstate(over="ignore"):  # who needs finite numbers looks for them after this
        return values.astype(wanted, copy=False)

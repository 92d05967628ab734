"""The file of a joint model: one safetensors file, which can hold nothing that runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.errors import InputError
from ...confidence.tensors import read_tensors, write_tensors
from .model import JointModel, Members, Settings
from .trust import Trust
from .weigh import PER_SYSTEM, SHARED, Layers, Matrix, Weigher, columns_of

KIND = "wordtrust joint model"
VERSION = 2
MOST_SYSTEMS = 64
_LARGEST = 1e6  # a weight; products of such stay numbers
_KINDS = ("word", "silence")
_TRUST = "trust"
Arrays = Mapping[str, NDArray[Any]]


def save_joint(model: JointModel, path: Path) -> None:
    """Write the model, whole or not at all."""
    arrays: dict[str, NDArray[Any]] = {}
    for number, weigher in enumerate(model.weighers):
        arrays |= _weights(weigher, f"{number}")
    for number, trust in enumerate(model.trusts):
        arrays |= _weights(trust.weigher, f"{_TRUST}.{number}") | _named(trust.right, f"{_TRUST}.{number}.right")
    about = {
        "kind": KIND, "version": VERSION, "inputs": [PER_SYSTEM, SHARED], "systems": list(model.names),
        "folds": len(model.weighers), "trusts": len(model.trusts), "threshold": model.threshold,
        "about": dict(model.about),
        "subsets": [_written(members, settings) for members, settings in model.settings.items()],
    }  # fmt: skip
    write_tensors(path, arrays, about)


def _weights(weigher: Weigher, name: str) -> dict[str, NDArray[Any]]:
    return {key: each for kind in _KINDS for key, each in _named(getattr(weigher, kind), f"{name}.{kind}").items()}


def _named(layers: Layers, name: str) -> dict[str, NDArray[Any]]:
    return {f"{name}.{each.name}": getattr(layers, each.name) for each in fields(layers)}


def _written(members: Members, settings: Settings) -> dict[str, Any]:
    return {
        "members": list(members), "alone": settings.alone, "errors": settings.errors,
        "best_member": settings.best_member, "deviation": settings.deviation,
    }  # fmt: skip


def load_joint(path: Path) -> JointModel:
    """Read a model; what does not fit together is an `InputError`."""
    arrays, about = read_tensors(path)
    remedy = "Fit it again with: wordtrust combine --fit NAME=STORE ... --out JOINT"
    if (about.get("kind"), about.get("version")) != (KIND, VERSION):
        raise InputError(f"no {KIND} of version {VERSION}", file=str(path), remedy=remedy)
    try:
        return _model(arrays, about)
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise InputError(f"damaged: {error}", file=str(path), remedy=remedy) from None


def _model(arrays: Arrays, about: Mapping[str, Any]) -> JointModel:
    names = tuple(map(str, about["systems"]))
    if about["inputs"] != [list(PER_SYSTEM), list(SHARED)]:
        raise ValueError("it was fitted for other inputs")
    if not 2 <= len(names) <= MOST_SYSTEMS or len(set(names)) < len(names):
        raise ValueError("its recognizers have no names of their own")
    folds, trusts, threshold = int(about["folds"]), int(about["trusts"]), float(about["threshold"])
    if not 1 <= folds <= MOST_SYSTEMS or not 0 <= trusts <= MOST_SYSTEMS or not 0 <= threshold <= 1:
        raise ValueError(f"it has {folds} folds and a threshold of {threshold}")
    weighers = tuple(_weigher(arrays, f"{number}", len(names)) for number in range(folds))
    trusted = tuple(_trust(arrays, f"{_TRUST}.{number}", len(names)) for number in range(trusts))
    settings = dict(_settings(about["subsets"], len(names)))
    return JointModel(names, weighers, trusted, threshold, settings, dict(about["about"]))


def _weigher(arrays: Arrays, name: str, systems: int) -> Weigher:
    return Weigher(systems, *(_layers(arrays, f"{name}.{kind}", columns_of(systems)) for kind in _KINDS))


def _trust(arrays: Arrays, name: str, systems: int) -> Trust:
    return Trust(_weigher(arrays, name, systems), _layers(arrays, f"{name}.right", columns_of(systems)))


def _layers(arrays: Arrays, name: str, columns: int) -> Layers:
    hidden = _finite(arrays[f"{name}.hidden"], 2).shape[1]
    shapes = {"skip": (columns,), "hidden": (columns, hidden), "bias": (hidden,), "out": (hidden,)}
    found = {part: _finite(arrays[f"{name}.{part}"], len(shape)) for part, shape in shapes.items()}
    if any(found[part].shape != shape for part, shape in shapes.items()):
        raise ValueError(f"the weights of {name} are not those of its recognizers")
    return Layers(**found)


def _finite(array: NDArray[Any], dimensions: int) -> Matrix:
    values: Matrix = array.astype(np.float32)
    if values.ndim != dimensions or not (np.abs(values) <= _LARGEST).all():
        raise ValueError("a weight is no number, or too large")
    return values


def _settings(subsets: Sequence[Mapping[str, Any]], systems: int) -> Iterator[tuple[Members, Settings]]:
    for each in subsets:
        members, deviation = tuple(map(int, each["members"])), float(each["deviation"])
        if not members or list(members) != sorted(set(members)) or not 0 <= members[0] <= members[-1] < systems:
            raise ValueError(f"a subset has the members {members}")
        if not isinstance(each["alone"], bool) or not deviation >= 0:
            raise ValueError(f"the settings of the subset {members} do not fit")
        yield members, Settings(each["alone"], int(each["errors"]), int(each["best_member"]), deviation)

"""The file of a joint model: one safetensors file, which can hold nothing that runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..model.tensors import read_tensors, write_tensors
from .model import JointModel, Members, Settings
from .weigh import PER_SYSTEM, SHARED, Layers, Matrix, Weigher, rows_of

KIND = "wordtrust joint model"
VERSION = 1
MOST_SYSTEMS = 64
_LARGEST = 1e6  # a weight; products of such stay numbers
_KINDS = ("word", "silence")
Arrays = Mapping[str, NDArray[Any]]


def save_joint(model: JointModel, path: Path) -> None:
    """Write the model, whole or not at all."""
    arrays: dict[str, NDArray[Any]] = {}
    for number, weigher in enumerate(model.weighers):
        for kind in _KINDS:
            layers: Layers = getattr(weigher, kind)
            arrays |= {f"{number}.{kind}.{each.name}": getattr(layers, each.name) for each in fields(layers)}
    own = [part for settings in model.settings.values() for part in _own_weights(settings)]
    arrays["own"] = np.concatenate([np.zeros(0, np.float32), *own])
    about = {
        "kind": KIND, "version": VERSION, "inputs": [PER_SYSTEM, SHARED], "systems": list(model.names),
        "halves": len(model.weighers), "about": dict(model.about),
        "subsets": [_written(members, settings) for members, settings in model.settings.items()],
    }  # fmt: skip
    write_tensors(path, arrays, about)


def _own_weights(settings: Settings) -> list[Matrix]:
    """All weights of a subset's own, end to end: corrections, then trust."""
    trust = [] if settings.trust is None else [settings.trust]
    return [*(each.ravel() for each in settings.corrections), *trust]


def _written(members: Members, settings: Settings) -> dict[str, Any]:
    return {
        "members": list(members), "threshold": settings.threshold, "alone": settings.alone,
        "corrected": bool(settings.corrections), "trusted": settings.trust is not None,
        "errors": settings.errors, "best_member": settings.best_member,
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
    halves = int(about["halves"])
    if not 1 <= halves <= MOST_SYSTEMS:
        raise ValueError(f"it has {halves} halves")
    weighers = tuple(_weigher(arrays, number, len(names)) for number in range(halves))
    settings = dict(_settings(_finite(arrays["own"], 1), about["subsets"], len(names), halves))
    return JointModel(names, weighers, settings, dict(about["about"]))


def _weigher(arrays: Arrays, number: int, systems: int) -> Weigher:
    columns = systems * len(PER_SYSTEM) + len(SHARED)
    made = []
    for kind in _KINDS:
        hidden = _finite(arrays[f"{number}.{kind}.hidden"], 2)
        shapes = {"skip": (columns,), "hidden": (columns, hidden.shape[1]), "bias": (hidden.shape[1],),
                  "out": (hidden.shape[1],)}  # fmt: skip
        found = {name: _finite(arrays[f"{number}.{kind}.{name}"], len(shape)) for name, shape in shapes.items()}
        if any(found[name].shape != shape for name, shape in shapes.items()):
            raise ValueError(f"its weights are not those of {systems} recognizers")
        made.append(Layers(**found))
    return Weigher(systems, *made)


def _finite(array: NDArray[Any], dimensions: int) -> Matrix:
    values: Matrix = array.astype(np.float32)
    if values.ndim != dimensions or not (np.abs(values) <= _LARGEST).all():
        raise ValueError("a weight is no number, or too large")
    return values


def _settings(
    own: Matrix, subsets: Sequence[Mapping[str, Any]], systems: int, halves: int
) -> Iterator[tuple[Members, Settings]]:
    """Members and settings of every subset, in the order in which their weights stand in `own`."""
    place = 0
    for each in subsets:
        members, alone, threshold = _checked(each, systems)
        columns, parts = len(rows_of(members, systems)), []
        for size in [2 * columns] * (halves if each["corrected"] else 0) + [columns] * bool(each["trusted"]):
            parts.append(own[place : place + size])
            place += size
        trust = parts.pop() if each["trusted"] else None
        if place > len(own):
            break
        corrections = tuple(part.reshape(2, columns) for part in parts)
        yield members, Settings(threshold, alone, corrections, trust, int(each["errors"]), int(each["best_member"]))
    if place != len(own):
        raise ValueError("its weights are not those of its subsets")


def _checked(subset: Mapping[str, Any], systems: int) -> tuple[Members, int | None, float]:
    """Members, the member whose own output is taken, and the threshold."""
    members = tuple(map(int, subset["members"]))
    if not members or list(members) != sorted(set(members)) or not 0 <= members[0] <= members[-1] < systems:
        raise ValueError(f"a subset has the members {members}")
    alone, threshold = None if subset["alone"] is None else int(subset["alone"]), float(subset["threshold"])
    if (alone is not None and alone not in members) or not 0 <= threshold <= 1:
        raise ValueError(f"the settings of the subset {members} do not fit")
    return members, alone, threshold

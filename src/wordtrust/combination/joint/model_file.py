"""The file of a joint model: one safetensors file, which cannot hold anything that runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.errors import InputError
from ...base.json_checks import record
from ...base.tensors import read_tensors, write_tensors
from ...confidence.calibration import calibrator_from_dict
from ...confidence.estimation.held_out import KnownOfOutputs
from ...confidence.joint_outputs import OUTPUTS
from . import gap_evidence
from .arc_models import PER_SYSTEM, SHARED, ConfidenceModel, Layers, Matrix, PotentialModel, columns_of
from .gap_model import GapModel, gap_columns_of
from .model import JointModel, Members, SubsetSettings

KIND = "wordtrust joint model"
VERSION = 2
MAX_SYSTEMS = 64
_MAX_WEIGHT = 1e6  # products of such weights stay finite
_CONFIDENCE, _GAPS = "trust", "gaps"  # the names of confidence models and gap models in the file
Arrays = Mapping[str, NDArray[Any]]


def save_joint(model: JointModel, path: Path) -> None:
    """Write the model, completely or not at all."""
    arrays: dict[str, NDArray[Any]] = {}
    for fold, potentials in enumerate(model.potential_models):
        arrays |= _potential_arrays(potentials, f"{fold}")
    for fold, confidence in enumerate(model.confidence_models):
        name = f"{_CONFIDENCE}.{fold}"
        arrays |= _potential_arrays(confidence.paths, name) | _layer_arrays(confidence.right, f"{name}.right")
    card: dict[str, Any] = {
        "kind": KIND, "version": VERSION, "inputs": [PER_SYSTEM, SHARED], "systems": list(model.names),
        "folds": len(model.potential_models), "trusts": len(model.confidence_models), "threshold": model.threshold,
        "about": dict(model.card),
        "subsets": [{"members": list(members), **asdict(settings)} for members, settings in model.settings.items()],
    }  # fmt: skip
    if model.whole_utterances is not None:
        card["whole_utterances"] = model.whole_utterances.to_dict()
    if model.spelling:
        card["spelling"] = list(model.spelling)
    if model.gap_models:
        card |= {"gap_folds": len(model.gap_models), "gap_inputs": [gap_evidence.PER_SYSTEM, gap_evidence.SHARED]}
    for fold, of_gaps in enumerate(model.gap_models):
        arrays |= _layer_arrays(of_gaps.layers, f"{_GAPS}.{fold}")
    calibrators = {"gaps": model.gaps, "words": model.words}
    card |= {name: calibrator.to_dict() for name, calibrator in calibrators.items() if calibrator is not None}
    if known := model.known.to_dict():
        card[OUTPUTS] = known
    write_tensors(path, arrays, card)


def _potential_arrays(model: PotentialModel, name: str) -> dict[str, NDArray[Any]]:
    return _layer_arrays(model.word, f"{name}.word") | _layer_arrays(model.silence, f"{name}.silence")


def _layer_arrays(layers: Layers, name: str) -> dict[str, NDArray[Any]]:
    return {f"{name}.{field.name}": getattr(layers, field.name) for field in fields(layers)}


def load_joint(path: Path) -> JointModel:
    """Read a model; anything inconsistent is an `InputError`."""
    arrays, card = read_tensors(path)
    remedy = "Fit it again with: wordtrust combine --fit NAME=STORE ... --out JOINT"
    if (card.get("kind"), card.get("version")) != (KIND, VERSION):
        raise InputError(f"no {KIND} of version {VERSION}", file=str(path), remedy=remedy)
    try:
        return _model(arrays, card)
    except InputError as error:
        raise error.at(file=str(path)) from None
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise InputError(f"damaged: {error}", file=str(path), remedy=remedy) from None


def _model(arrays: Arrays, card: Mapping[str, Any]) -> JointModel:
    names = tuple(map(str, card["systems"]))
    if card["inputs"] != [list(PER_SYSTEM), list(SHARED)]:
        raise ValueError("it was fitted for other inputs")
    if not 2 <= len(names) <= MAX_SYSTEMS or len(set(names)) < len(names):
        raise ValueError("its recognizers have no names of their own")
    folds, confidence_folds, threshold = int(card["folds"]), int(card["trusts"]), float(card["threshold"])
    if not 1 <= folds <= MAX_SYSTEMS or not 0 <= confidence_folds <= MAX_SYSTEMS or not 0 <= threshold <= 1:
        raise ValueError(f"it has {folds} folds and a threshold of {threshold}")
    potentials = tuple(_potentials(arrays, f"{fold}", len(names)) for fold in range(folds))
    confidences = tuple(_confidences(arrays, f"{_CONFIDENCE}.{fold}", len(names)) for fold in range(confidence_folds))
    settings = dict(_settings(card["subsets"], len(names)))
    calibrator = calibrator_from_dict(card["whole_utterances"]) if "whole_utterances" in card else None
    spelling = tuple(map(float, card.get("spelling", ())))
    if spelling and (len(spelling) != len(names) or not all(0 < votes <= _MAX_WEIGHT for votes in spelling)):
        raise ValueError("its votes on spellings are not those of its recognizers")
    gap_models = _gap_models(arrays, card, len(names))
    if gap_models and len(gap_models) != len(confidences):
        raise ValueError(f"it has {len(gap_models)} models of gaps for {len(confidences)} folds")
    gaps, words = (calibrator_from_dict(card[name]) if name in card else None for name in ("gaps", "words"))
    known = KnownOfOutputs.from_dict(record(card.get(OUTPUTS, {}), "what is known of its outputs"))
    return JointModel(
        names, potentials, confidences, threshold, settings, dict(card["about"]), calibrator, spelling, gap_models,
        gaps, words, known,
    )  # fmt: skip


def _gap_models(arrays: Arrays, card: Mapping[str, Any], systems: int) -> tuple[GapModel, ...]:
    if "gap_folds" not in card:
        return ()
    if card.get("gap_inputs") != [list(gap_evidence.PER_SYSTEM), list(gap_evidence.SHARED)]:
        raise ValueError("its models of gaps were fitted for other inputs")
    folds, columns = int(card["gap_folds"]), gap_columns_of(systems)
    if not 1 <= folds <= MAX_SYSTEMS:
        raise ValueError(f"it has models of gaps for {folds} folds")
    return tuple(GapModel(systems, _layers(arrays, f"{_GAPS}.{fold}", columns)) for fold in range(folds))


def _potentials(arrays: Arrays, name: str, systems: int) -> PotentialModel:
    word, silence = (_layers(arrays, f"{name}.{kind}", columns_of(systems)) for kind in ("word", "silence"))
    return PotentialModel(systems, word, silence)


def _confidences(arrays: Arrays, name: str, systems: int) -> ConfidenceModel:
    right = _layers(arrays, f"{name}.right", columns_of(systems))
    return ConfidenceModel(_potentials(arrays, name, systems), right)


def _layers(arrays: Arrays, name: str, columns: int) -> Layers:
    hidden = _checked(arrays[f"{name}.hidden"], 2).shape[1]
    shapes = {"skip": (columns,), "hidden": (columns, hidden), "bias": (hidden,), "out": (hidden,)}
    weights = {part: _checked(arrays[f"{name}.{part}"], len(shape)) for part, shape in shapes.items()}
    if any(weights[part].shape != shape for part, shape in shapes.items()):
        raise ValueError(f"the weights of {name} are not those of its recognizers")
    return Layers(**weights)


def _checked(array: NDArray[Any], dimensions: int) -> Matrix:
    values: Matrix = array.astype(np.float32)
    if values.ndim != dimensions or not (np.abs(values) <= _MAX_WEIGHT).all():
        raise ValueError("a weight is no number, or too large")
    return values


def _settings(subsets: Sequence[Mapping[str, Any]], systems: int) -> Iterator[tuple[Members, SubsetSettings]]:
    for row in subsets:
        members, deviation = tuple(map(int, row["members"])), float(row["deviation"])
        if not members or list(members) != sorted(set(members)) or not 0 <= members[0] <= members[-1] < systems:
            raise ValueError(f"a subset has the members {members}")
        if not isinstance(row["alone"], bool) or not deviation >= 0:
            raise ValueError(f"the settings of the subset {members} do not fit")
        yield members, SubsetSettings(row["alone"], int(row["errors"]), int(row["best_member"]), deviation)

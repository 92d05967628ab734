"""The model folder: weights in `model.safetensors`, all else in `model.json`. Loading one can never run code.

`model.json` has the sizes, the features and their version, which recognizer and which networks the model was trained
for, how it was trained and what it reached, and the checksum of the weights.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import file_digest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import json_checks
from ..base.errors import InputError, OptionError
from ..base.files import atomic_folder, atomic_text
from ..base.locks import locked
from ..base.tensors import read_tensors, typed, write_tensors
from ..base.version import __version__
from ..networks.tuned_scales import TunedScales
from . import features, shipped
from .config import GENERIC, Config, weight_shapes
from .features import Statistics
from .lattice_formula import LatticeFormula
from .model_card import ModelCard
from .tensors import statistics_arrays, statistics_from, table_arrays, table_from, with_heard_only
from .trees import Trees
from .word_table import WordTable

KIND = "wordtrust model"
VERSION = 1
WEIGHTS, MODEL_JSON, LOG = "model.safetensors", shipped.MODEL, "train.jsonl"
_FILE_KEYS = (
    "kind", "version", "wordtrust", "feature_version", "checksum", "config", "shared_words", "trees", "lattices",
)  # fmt: skip
SCALES = "scales.json"  # of the networks it was trained on, in models that a study made
WORDS = "words.safetensors"  # beside model folders that share words and vectors
SHARED_ARRAYS = ("words.text", "words.vectors", "words.step")
_DAMAGED = "The model is damaged or from another version: get it again, or train it again"
_LARGEST_JSON = 1 << 24
LARGEST_WEIGHT = 1e6  # products stay numbers; trained weights are a few units at most


@dataclass(frozen=True)
class Model:
    """A trained lattice RNN, with all that scoring and calibrating it takes."""

    config: Config
    weights: Mapping[str, NDArray[np.float32]]
    table: WordTable
    statistics: Statistics
    card: ModelCard
    trees: Trees | None = None  # beside the network
    lattices: LatticeFormula | None = None  # in place of both, for lattices of recognizers it has never seen

    @property
    def recognizer(self) -> str | None:
        """The recognizer it was trained for, where it has a name."""
        return self.card.recognizer

    @property
    def is_generic(self) -> bool:
        """Whether it is for recognizers it was not trained on: it may lack columns, and wants to be adapted."""
        return self.card.is_generic

    @property
    def has_fixed_statistics(self) -> bool:
        """Whether its features mean the same for every recognizer, so that there is nothing to adapt."""
        return self.card.features == GENERIC


def save_model(
    model: Model,
    folder: Path,
    log: list[dict[str, Any]] | None = None,
    *,
    small: bool = False,
    shared_words: str | None = None,
) -> None:
    """Write the folder, whole or not at all; it replaces a model that was there, and nothing else.

    `small`: weights in half precision. `shared_words`: words and vectors are in a file beside the folder (see
    `WORDS`) that has this checksum.
    """
    refuse_to_overwrite(folder)
    with atomic_folder(folder) as draft:
        _write(model, draft, log or [], small, shared_words)


def refuse_to_overwrite(folder: Path, *, overwrite: bool = True) -> None:
    """Raise an `OptionError` where something is that is no model, or a model that must not be lost.

    Better before training than after it.
    """
    if (folder / MODEL_JSON).is_file() and not overwrite:
        raise OptionError(f"{folder}: there is a model already; name another folder, or replace it with --overwrite")
    if folder.exists() and not (folder / MODEL_JSON).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise OptionError(f"{folder}: exists and is no model; name another folder")


def _write(model: Model, folder: Path, log: list[dict[str, Any]], small: bool, shared_words: str | None) -> None:
    arrays: dict[str, NDArray[Any]] = {f"weight.{name}": weight for name, weight in model.weights.items()}
    arrays |= table_arrays(model.table) | (model.trees.arrays() if model.trees else {})
    if small:
        arrays = with_heard_only({name: in_half(values) for name, values in arrays.items()})
    if shared_words:
        arrays = {name: values for name, values in arrays.items() if name not in SHARED_ARRAYS}
    write_tensors(folder / WEIGHTS, arrays | statistics_arrays(model.statistics), {})
    record = {
        "kind": KIND,
        "version": VERSION,
        "wordtrust": __version__,
        "feature_version": features.VERSION,
        "checksum": checksum(folder / WEIGHTS),
        "config": model.config.to_dict(),
        **({"trees": model.trees.to_json()} if model.trees else {}),
        **({"lattices": model.lattices.to_json()} if model.lattices else {}),
        **({"shared_words": shared_words} if shared_words else {}),
        **model.card.to_json(),
    }
    text = json.dumps(record, indent=None if small else 1, ensure_ascii=False)
    (folder / MODEL_JSON).write_text(text + "\n", "utf-8")
    if not small:
        (folder / LOG).write_text("".join(json.dumps(line) + "\n" for line in log), "utf-8")


def in_half(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers in half precision, where they fit."""
    if values.dtype.kind != "f" or np.abs(values).max(initial=0.0) > np.finfo(np.float16).max:
        return values
    return values.astype(np.float16)


def update_card(folder: Path, card: ModelCard, *, small: bool = False) -> None:
    """Write the card of a model anew, the weights as they are."""
    _read_json(folder / MODEL_JSON)  # raises an error if it is no model
    with locked(folder), atomic_text(folder / MODEL_JSON) as file:
        record = _read_json(folder / MODEL_JSON)
        kept = {name: record[name] for name in _FILE_KEYS if name in record}
        file.write(json.dumps({**kept, **card.to_json()}, indent=None if small else 1, ensure_ascii=False) + "\n")


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of train.jsonl, as far as they can be read: it only serves to draw a curve."""
    try:
        lines = [json.loads(line) for line in (folder / LOG).read_text("utf-8").splitlines()]
    except (OSError, ValueError, RecursionError):
        return []
    return [line for line in lines if isinstance(line, dict)]


def load_model(model: str | Path, *, allow_mismatch: bool = False) -> Model:
    """Read a model folder, or a shipped model by its name; what does not fit together is an `InputError`.

    `allow_mismatch` also takes a model whose features were made by another version.
    """
    folder = _folder_of(model)
    record = _read_json(folder / MODEL_JSON)
    if record.get("feature_version") != features.VERSION and not allow_mismatch:
        raise InputError(
            f"the model has features of version {record.get('feature_version')}, this wordtrust makes version "
            f"{features.VERSION}",
            file=str(folder),
            remedy="Train it again, use the wordtrust that made it, or allow the mismatch (--allow-mismatch)",
        )
    arrays = _read_arrays(folder, record)
    try:
        return _assemble(record, arrays)
    except InputError as error:
        raise InputError(error.found, file=str(folder), remedy=error.remedy or _DAMAGED) from None
    except (OptionError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"not a whole model: {error}", file=str(folder), remedy=_DAMAGED) from None


def _folder_of(model: str | Path) -> Path:
    """The folder of a model; an `InputError` for the file of a calibrator, which has none."""
    from .calibrator_file import is_calibrator  # training reads models and needs nothing that this one brings along

    if is_calibrator(Path(model)):
        raise InputError(
            "this is a calibrator of confidences that words have; here a model is needed, which gives them some",
            file=str(model),
            remedy="Name a model. A calibrator is taken by score, estimate, evaluate, threshold, combine and "
            "transcribe, and made anew by calibrate --scores",
        )
    return shipped.folder_of(model)


def load_card(model: str | Path) -> ModelCard:
    """What is known about a model folder or shipped model, without its weights."""
    folder = _folder_of(model)
    record = _read_json(folder / MODEL_JSON)
    try:
        return ModelCard.from_json({name: value for name, value in record.items() if name not in _FILE_KEYS})
    except InputError as error:
        raise InputError(error.found, file=str(folder), remedy=error.remedy or _DAMAGED) from None


def load_scales(path: Path) -> TunedScales:
    """Read what `wordtrust tune` wrote, or the scales of a model, given by its folder or name."""
    if not shipped.is_model(path):
        return TunedScales.load(path)
    folder = shipped.folder_of(path)
    if (folder / SCALES).is_file():
        return TunedScales.load(folder / SCALES)
    scales = load_model(folder).card.scales
    if scales is None:
        raise OptionError(f"{path}: has no scales of its own; build networks without --scales")
    return TunedScales(scales, scales, scales, {})


def _read_arrays(folder: Path, record: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    file = folder / WEIGHTS
    arrays, _ = read_tensors(file)
    if checksum(file) != record.get("checksum"):
        raise InputError("its checksum is not the one in model.json", file=str(file), remedy=_DAMAGED)
    if "shared_words" in record:
        arrays |= shared_words(folder.resolve().parent / WORDS, record["shared_words"])
    return arrays


def _assemble(record: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Model:
    config = Config.from_dict(record["config"])
    features.check_columns(config.columns)
    weights = {name: _weight(arrays, name, shape) for name, shape in weight_shapes(config).items()}
    table = table_from(arrays)
    if config.embedding != "table":
        table = replace(table, vectors=None)
    if config.embedding == "table" and (table.vectors is None or table.vectors.shape[1] != config.dimension):
        raise ValueError("the word vectors do not fit")
    card = ModelCard.from_json({name: value for name, value in record.items() if name not in _FILE_KEYS})
    trees = Trees.from_arrays(record["trees"], arrays, len(config.columns)) if "trees" in record else None
    lattices = LatticeFormula.from_json(record["lattices"]) if "lattices" in record else None
    return Model(config, weights, table, statistics_from(arrays, config.columns), card, trees, lattices)


def shared_words(file: Path, expected: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a file of words that several models share, if it is the one with this checksum."""
    if not file.is_file():
        remedy = "Models that come with wordtrust share it: copy it as well, to beside the folder of the model"
        raise InputError("not there, but the model needs it", file=str(file), remedy=remedy)
    arrays, _ = read_tensors(file)
    if checksum(file) != expected or not set(arrays) <= set(SHARED_ARRAYS):
        raise InputError("these are not the words that the model was made with", file=str(file), remedy=_DAMAGED)
    step = arrays.pop("words.step", None)
    if step is not None and "words.vectors" in arrays:
        arrays["words.vectors"] = arrays["words.vectors"].astype(np.float32) * step
    return arrays


def in_bytes(vectors: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    """Vectors with a byte for each number, and the step between two bytes for each dimension."""
    step = np.maximum(np.abs(vectors).max(axis=0, initial=0.0), 1e-30) / 127
    return {"words.vectors": np.rint(vectors / step).astype(np.int8), "words.step": step.astype(np.float32)}


def _read_json(file: Path) -> dict[str, Any]:
    try:
        record = json_checks.load(file, most=_LARGEST_JSON, allow_nan=True)
    except OSError as error:
        if (file.parent / "store.json").is_file():
            raise InputError("a store, not a model", file=str(file.parent), remedy="The MODEL comes first") from None
        names = ", ".join(shipped.names(shipped.MODEL))
        remedy = "A model is a folder that `wordtrust train` made"
        remedy += f", or the name of one that comes with wordtrust: {names}" if names else ""
        raise InputError(f"no model: {error.strerror}", file=str(file.parent), remedy=remedy) from None
    except InputError as error:
        raise InputError(error.found, file=str(file), remedy=_DAMAGED) from None
    if not isinstance(record, dict) or record.get("kind") != KIND:
        raise InputError(f"does not say that it is a {KIND}", file=str(file), remedy=_DAMAGED)
    if record.get("version") != VERSION:
        found = f"the model has version {record.get('version')!r}, this wordtrust reads version {VERSION}"
        raise InputError(found, file=str(file), remedy="Use a newer wordtrust, or train it again")
    return record


def _weight(arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    weight = typed(arrays, f"weight.{name}", np.float32)
    if weight.shape != shape:
        raise ValueError(f"the weights {name} have the shape {weight.shape} instead of {shape}")
    if not (np.abs(weight) <= LARGEST_WEIGHT).all():
        raise ValueError(f"the weights {name} are not all numbers up to {LARGEST_WEIGHT:g}")
    return weight


def checksum(file: Path) -> str:
    """The SHA-256 of a file."""
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()

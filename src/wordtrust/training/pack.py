"""Training data as one compact file, for machines that have nothing but numpy, torch and safetensors."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import InputError, OptionError
from ..confidence.features import check_columns
from ..confidence.model_card import ModelCard
from ..confidence.tensors import (
    read_tensors,
    statistics_arrays,
    statistics_from,
    table_arrays,
    table_from,
    typed,
    write_tensors,
)
from .dataset import Dataset, TrainingData

KIND = "wordtrust training data"
VERSION = 2
_DTYPES: dict[str, type[np.generic]] = {
    "node_offsets": np.int64, "arc_offsets": np.int64, "source": np.int32, "target": np.int32, "level": np.int32,
    "level_back": np.int32, "features": np.float16, "posterior": np.float32, "label": np.int8, "path": np.int8,
    "word": np.int32, "speaker": np.uint32, "taught": np.float16,
}  # fmt: skip
_SMALL = {"source", "target", "level", "level_back"}  # two bytes do, unless an utterance is huge


def write_pack(path: Path, data: TrainingData) -> None:
    """Write training data."""
    arrays = table_arrays(data.table) | statistics_arrays(data.statistics)
    for part, dataset in (("train", data.train), ("dev", data.dev)):
        for each in fields(Dataset):
            array = getattr(dataset, each.name)
            if array is None:
                continue
            if each.name in _SMALL and array.max(initial=0) < 1 << 16:
                array = array.astype(np.uint16)
            arrays[f"{part}.{each.name}"] = array
    columns, card = list(data.statistics.columns), data.card.to_json()
    write_tensors(path, arrays, {"kind": KIND, "version": VERSION, "columns": columns, "about": card})


def read_pack(path: Path) -> TrainingData:
    """Read training data; what does not fit together is an `InputError`."""
    try:
        arrays, found = read_tensors(path)
    except InputError as error:
        remedy = "Training takes a store that `wordtrust build --ref` made, or a file of `wordtrust train --pack`"
        raise InputError(f"no packed training data: {error.found}", file=str(path), remedy=remedy) from None
    if found.get("kind") != KIND or found.get("version") != VERSION:
        remedy = "Make it with: wordtrust train STORE --dev STORE --pack FILE"
        raise InputError(f"no {KIND} of version {VERSION}", file=str(path), remedy=remedy)
    try:
        columns = check_columns(list(map(str, found["columns"])))
        table = table_from(arrays)
        train, dev = (_dataset(arrays, part, len(columns), len(table.words)) for part in ("train", "dev"))
        card = ModelCard.from_json(dict(found["about"]))
        return TrainingData(train, dev, table, statistics_from(arrays, columns), card)
    except InputError as error:
        raise InputError(f"damaged: {error.found}", file=str(path), remedy="Pack it again") from None
    except (OptionError, KeyError, ValueError, TypeError) as error:
        raise InputError(f"damaged: {error}", file=str(path), remedy="Pack it again") from None


def _dataset(arrays: dict[str, Any], part: str, columns: int, words: int) -> Dataset:
    made: dict[str, Any] = {name: typed(arrays, f"{part}.{name}", kind) for name, kind in _DTYPES.items()
                            if name != "taught" or f"{part}.taught" in arrays}  # fmt: skip
    dataset = Dataset(**made)
    dataset.check(columns, words)
    return dataset

"""One model trained on the networks of several recognizers, and what each of them takes from it.

Every recognizer's features are normalised by its own statistics; columns that it does not have are 0, and a column
for each recognizer says whose network it is. That column is a bias, so the part of the model that belongs to one
recognizer is a model like any other: its columns, its statistics, its words, and the bias. Some batches are not told
whose they are; without any bias, the rest is a model for recognizers that nobody has seen.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import concatenate_offsets
from ..base.errors import OptionError
from ..confidence.config import GENERIC, IDENTITY, Config
from ..confidence.features import FULL, Statistics
from ..confidence.model_card import ModelCard, TrainingRecord
from ..confidence.model_file import Model, save_model
from ..confidence.word_table import WordTable
from .checkpoint import alone_in
from .dataset import Dataset, TrainingData
from .loop import Step, Tell, Trainer
from .machine import Machine
from .options import TrainOptions

Weights = Mapping[str, NDArray[np.float32]]


def join(parts: Mapping[str, TrainingData]) -> TrainingData:
    """The data of several recognizers as those of one."""
    if GENERIC in parts or not parts:
        raise OptionError(f"models that are trained together have names, and none is {GENERIC!r}")
    given = {column for part in parts.values() for column in part.statistics.columns}
    columns = tuple(column for column in FULL if column in given)
    columns += tuple(IDENTITY + name for name in parts)
    table, rows = _joined_tables([part.table for part in parts.values()])
    sets = {}
    for which in ("train", "dev"):
        made = [
            _widened(getattr(part, which), part.statistics.columns, columns, columns.index(IDENTITY + name), row)
            for (name, part), row in zip(parts.items(), rows, strict=True)
        ]
        sets[which] = _concatenated(made)
    flat = Statistics(columns, np.zeros(len(columns), np.float32), np.ones(len(columns), np.float32))
    return TrainingData(sets["train"], sets["dev"], table, flat, ModelCard(trained_together=tuple(parts)))


def _joined_tables(tables: list[WordTable]) -> tuple[WordTable, list[NDArray[np.int32]]]:
    """All words once, and the row of each table's words; only words and vectors matter for training."""
    if len({table.vectors is None for table in tables}) > 1:
        raise OptionError("some of the data have word vectors of a file and some have not: prepare them alike")
    place: dict[str, int] = {}
    rows = [np.array([place.setdefault(word, len(place)) for word in table.words], np.int32) for table in tables]
    vectors = None
    if tables[0].vectors is not None:
        vectors = np.zeros((len(place), tables[0].vectors.shape[1]), np.float32)
        for table, row in zip(tables, rows, strict=True):
            assert table.vectors is not None
            vectors[row] = table.vectors
    return WordTable(tuple(place), vectors=vectors), rows


def _widened(
    data: Dataset, own: tuple[str, ...], columns: tuple[str, ...], identity: int, rows: NDArray[np.int32]
) -> Dataset:
    features = np.zeros((len(data.source), len(columns)), np.float16)
    features[:, [columns.index(column) for column in own]] = data.features
    features[:, identity] = 1.0
    return replace(data, features=features, word=np.where(data.word >= 0, rows[data.word], -1).astype(np.int32))


def _concatenated(parts: list[Dataset]) -> Dataset:
    made: dict[str, Any] = {}
    for each in fields(Dataset):
        arrays = [getattr(part, each.name) for part in parts]
        if any(array is None for array in arrays):  # only what other models think may be missing
            made[each.name] = None
        elif each.name.endswith("offsets"):
            made[each.name] = concatenate_offsets(arrays)
        else:
            made[each.name] = np.concatenate(arrays)
    return Dataset(**made)


def part_of(config: Config, weights: Weights, name: str | None, columns: tuple[str, ...]) -> tuple[Config, Weights]:
    """The model of one recognizer out of one that was trained on several; of None, that of nobody."""
    taken = [config.columns.index(column) for column in columns]
    vectors = list(range(len(config.columns), config.inputs))
    found = dict(weights)
    for way in ("forwards.", "backwards."):
        inputs, bias = weights[way + "input.weight"], weights[way + "input.bias"]
        found[way + "input.weight"] = np.ascontiguousarray(inputs[:, taken + vectors])
        if name is not None:
            found[way + "input.bias"] = bias + inputs[:, config.columns.index(IDENTITY + name)]
    return replace(config, columns=columns), found


def train_together(
    parts: Mapping[str, TrainingData],
    options: TrainOptions,
    out: Path,
    machine: Machine,
    *,
    tell: Tell,
    step: Step = lambda *_: None,
) -> None:
    """Train on all of them and write out/NAME for each, and out/generic; goes on from a checkpoint."""
    draft = out / ".training"
    with alone_in(draft) if machine.is_first else nullcontext():
        trainer = Trainer(join(parts), options, machine, draft)
        weights = trainer.run(tell, step)
    training = asdict(options) | {"epochs_run": trainer.state.epoch, "best_epoch": trainer.state.best_epoch}
    if machine.is_first:
        for name, part in parts.items():
            config, own = part_of(trainer.config, weights, name, part.statistics.columns)
            card = replace(part.card, training=TrainingRecord(training), trained_together=tuple(parts))
            save_model(Model(config, own, part.table, part.statistics, card), out / name, trainer.state.log)
        save_model(_generic(trainer.config, weights, parts, training), out / GENERIC, trainer.state.log)
        shutil.rmtree(draft, ignore_errors=True)
    machine.wait_for_all()


def _generic(config: Config, weights: Weights, parts: Mapping[str, TrainingData], training: dict[str, Any]) -> Model:
    """The part of nobody, with the mean of all statistics and the largest table of words."""
    columns = tuple(column for column in config.columns if not column.startswith(IDENTITY))
    shared, own = part_of(config, weights, None, columns)
    mean, std = (
        np.array([_mean_over(parts, column, name) for column in columns], np.float32) for name in ("mean", "std")
    )
    table = max((part.table for part in parts.values()), key=lambda each: len(each.words))
    card = ModelCard(is_generic=True, training=TrainingRecord(training), trained_together=tuple(parts))
    return Model(shared, own, table, Statistics(columns, mean, std), card)


def _mean_over(parts: Mapping[str, TrainingData], column: str, name: str) -> float:
    values = [
        float(getattr(part.statistics, name)[part.statistics.columns.index(column)])
        for part in parts.values()
        if column in part.statistics.columns
    ]
    return sum(values) / len(values)

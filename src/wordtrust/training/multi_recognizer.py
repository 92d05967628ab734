"""One network trained on several recognizers, the models taken out of it, and teachers for it to learn from.

Every recognizer's features are normalised by its own statistics; columns that it does not have are 0, and a column
for each recognizer says whose network it is. That column is a bias, so the part of the network that belongs to one
recognizer is a model like any other: its columns, its statistics, its words, and the bias. Some batches lack these
columns; without any bias, the rest is the generic model, for recognizers that training has not seen.

Teachers are such models trained earlier, each without a fold of speakers. The target of a student is a mixture of the
labels and of the mean soft labels of its teachers. Mean shares of all paths are the shares of a mixture of the
teachers' paths, so learning them is learning that mixture. Each speaker has soft labels by the teachers that were
trained without them: others would only repeat the labels. Gaps, where words are missing, have soft labels likewise.
A student without a fold of speakers is taught by teachers that never heard this fold either (nested folds): what
teachers have learned of its speakers would come back with their soft labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ..base.arrays import csr_items
from ..base.errors import OptionError
from ..base.folds import in_fold
from ..confidence.config import GENERIC, IDENTITY, Config
from ..confidence.features import ALL, Statistics
from ..confidence.model_card import ModelCard, TrainingRecord
from ..confidence.model_file import Model, load_model, save_model
from ..confidence.word_table import WordTable
from .batches import WordInputs, batch_arcs, make_batch
from .dataset import Dataset, TrainingData
from .lattice_rnn import LatticeRNN
from .options import TrainOptions
from .pipeline import training_in
from .trainer import CHECKPOINT, Progress, Trainer
from .worker import Worker

TRAINING = ".training"  # where checkpoints are kept until all models are there
TEACHER_ARCS = 20_000  # in a batch of a teacher

Weights = Mapping[str, NDArray[np.float32]]
Recognizers = Mapping[str, TrainingData]  # by name


def train_multi_recognizer(
    recognizers: Recognizers, options: TrainOptions, out: Path, worker: Worker, progress: Progress | None = None
) -> None:
    """Train on all of them and write out/NAME for each, and out/generic; goes on from a checkpoint."""
    folder = out / TRAINING
    with training_in(folder, worker):
        trainer = Trainer(join_recognizers(recognizers), options, worker, folder)
        weights = trainer.run(progress or Progress())
        if not worker.is_first:
            return
        for name, data in recognizers.items():
            config, own = recognizer_network(trainer.config, weights, name, data.statistics.columns)
            card = replace(data.card, training=trainer.record, trained_together=tuple(recognizers))
            save_model(Model(config, own, data.table, data.statistics, card), out / name, trainer.state.log)
        generic = _generic_model(trainer.config, weights, recognizers, trainer.record)
        save_model(generic, out / GENERIC, trainer.state.log)


def is_unfinished(out: Path) -> bool:
    """Whether a killed training left a checkpoint, and maybe some of its models."""
    return (out / TRAINING / CHECKPOINT).is_file()


def join_recognizers(recognizers: Recognizers) -> TrainingData:
    """The data of several recognizers as those of one."""
    if GENERIC in recognizers or not recognizers:
        raise OptionError(f"models that are trained together have names, and none is {GENERIC!r}")
    given = {column for data in recognizers.values() for column in data.statistics.columns}
    columns = (*(column for column in ALL if column in given), *(IDENTITY + name for name in recognizers))
    table, table_rows = _joined_tables([data.table for data in recognizers.values()])
    train, dev = (
        Dataset.concatenated([
            _widened(getattr(data, split), data.statistics.columns, columns, columns.index(IDENTITY + name), rows)
            for (name, data), rows in zip(recognizers.items(), table_rows, strict=True)
        ])
        for split in ("train", "dev")
    )  # fmt: skip
    flat = Statistics(columns, np.zeros(len(columns), np.float32), np.ones(len(columns), np.float32))
    return TrainingData(train, dev, table, flat, ModelCard(trained_together=tuple(recognizers)))


def _joined_tables(tables: list[WordTable]) -> tuple[WordTable, list[NDArray[np.int32]]]:
    """All words once, and the row of each table's words; only words and vectors matter for training."""
    if len({table.vectors is None for table in tables}) > 1:
        raise OptionError("some of the data have word vectors of a file and some have not: prepare them alike")
    row_of: dict[str, int] = {}
    rows = [np.array([row_of.setdefault(word, len(row_of)) for word in table.words], np.int32) for table in tables]
    vectors = None
    if tables[0].vectors is not None:
        vectors = np.zeros((len(row_of), tables[0].vectors.shape[1]), np.float32)
        for table, table_rows in zip(tables, rows, strict=True):
            assert table.vectors is not None
            vectors[table_rows] = table.vectors
    return WordTable(tuple(row_of), vectors=vectors), rows


def _widened(
    data: Dataset, own: tuple[str, ...], columns: tuple[str, ...], identity: int, rows: NDArray[np.int32]
) -> Dataset:
    """With the columns of all recognizers and the rows of the joined table."""
    features = np.zeros((len(data.source), len(columns)), np.float16)
    features[:, [columns.index(column) for column in own]] = data.features
    features[:, identity] = 1.0
    return replace(data, features=features, word=np.where(data.word >= 0, rows[data.word], -1).astype(np.int32))


def recognizer_network(
    config: Config, weights: Weights, name: str | None, columns: tuple[str, ...]
) -> tuple[Config, Weights]:
    """The part of a network of several recognizers that belongs to one; of None, the generic part."""
    taken = [config.columns.index(column) for column in columns]
    vectors = list(range(len(config.columns), config.inputs))
    own = dict(weights)
    for direction in ("forwards.", "backwards."):
        inputs, bias = weights[direction + "input.weight"], weights[direction + "input.bias"]
        own[direction + "input.weight"] = np.ascontiguousarray(inputs[:, taken + vectors])
        if name is not None:
            own[direction + "input.bias"] = bias + inputs[:, config.columns.index(IDENTITY + name)]
    return replace(config, columns=columns), own


def _generic_model(config: Config, weights: Weights, recognizers: Recognizers, record: TrainingRecord) -> Model:
    """The generic part, with the mean of all statistics and the largest table of words."""
    columns = tuple(column for column in config.columns if not column.startswith(IDENTITY))
    shared, own = recognizer_network(config, weights, None, columns)
    statistics = [data.statistics for data in recognizers.values()]
    mean, std = (
        np.array([_mean_over(statistics, column, name) for column in columns], np.float32) for name in ("mean", "std")
    )
    table = max((data.table for data in recognizers.values()), key=lambda table: len(table.words))
    equated = {data.card.equate for data in recognizers.values()}
    equate = equated.pop() if len(equated) == 1 else ""
    sets = {data.card.features for data in recognizers.values()}
    card = ModelCard(
        is_generic=True,
        equate=equate,
        features=sets.pop() if len(sets) == 1 else None,
        training=record,
        trained_together=tuple(recognizers),
    )
    return Model(shared, own, table, Statistics(columns, mean, std), card)


def _mean_over(statistics: Sequence[Statistics], column: str, name: str) -> float:
    values = [float(getattr(one, name)[one.columns.index(column)]) for one in statistics if column in one.columns]
    return sum(values) / len(values)


class Teacher(NamedTuple):
    """A network, and the fold or two of speakers that it never saw."""

    network: LatticeRNN
    folds: int
    fold: int
    other_fold: int = -1

    def unseen(self, speaker: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """[utterances] by speakers that it was not trained on."""
        return in_fold(speaker, self.folds, self.fold) | in_fold(speaker, self.folds, self.other_fold)

    @classmethod
    def of(cls, model: Model) -> Teacher:
        """Of a model that was trained without a fold of speakers."""
        fold = model.card.training.left_out_fold
        if fold is None or model.config.head != "normalised":
            raise OptionError("a teacher has normalised confidences and was trained without a fold of speakers")
        network = LatticeRNN(model.config)
        network.load_state_dict({name: torch.from_numpy(weight.copy()) for name, weight in model.weights.items()})
        return cls(network, *fold, int(model.card.training.options.get("other_fold", -1)))


def load_teachers(name: str, folders: Sequence[Path]) -> list[Teacher]:
    """The models of one recognizer in folders that `train_multi_recognizer` wrote."""
    return [Teacher.of(load_model(folder / name)) for folder in folders]


def with_teacher_targets(data: TrainingData, teachers: Sequence[Teacher], worker: Worker) -> TrainingData:
    """The data with mean soft labels, for each speaker by the teachers that never saw them."""
    train, total = data.train, _SoftLabels.none_yet(data.train)
    count = np.zeros(len(train), np.int64)
    for teacher in teachers:
        unseen = np.flatnonzero(teacher.unseen(train.speaker))
        _add_soft_labels(data, teacher.network, unseen, total, worker)
        count[unseen] += 1
    if not count.all():
        raise OptionError(
            f"{np.count_nonzero(count == 0):,} utterances have no teacher that never heard their speaker"
        )
    gaps = train.gaps
    if gaps is not None and all(teacher.network.gap is not None for teacher in teachers):
        gaps = replace(gaps, teacher_targets=_mean(total.gaps, count, gaps.offsets))
    targets = _mean(total.arcs, count, train.arc_offsets)
    return replace(data, train=replace(train, teacher_targets=targets, gaps=gaps))


class _SoftLabels(NamedTuple):
    """Sums over teachers."""

    arcs: NDArray[np.float64]  # [arcs, 2]
    gaps: NDArray[np.float64]  # [gaps]

    @classmethod
    def none_yet(cls, data: Dataset) -> _SoftLabels:
        return cls(np.zeros((len(data.source), 2)), np.zeros(0 if data.gaps is None else len(data.gaps.missing)))


def _mean(total: NDArray[np.float64], count: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.float16]:
    """Of sums over `count` teachers, one number an utterance."""
    counts = np.repeat(count, np.diff(offsets)).reshape(-1, *[1] * (total.ndim - 1))
    return np.clip(total / counts, 0, 1).astype(np.float16)


@torch.no_grad()
def _add_soft_labels(
    data: TrainingData, network: LatticeRNN, chosen: NDArray[np.int64], total: _SoftLabels, worker: Worker
) -> None:
    network = network.to(worker.device).eval()
    words = WordInputs(data.table, network.config)
    for utterances in data.train.batches(TEACHER_ARCS, chosen):
        batch = make_batch(data.train, utterances, words, network.config.merge, worker.device)
        measures = network.measures(batch, network(batch))
        total.arcs[batch_arcs(data.train, utterances)] += measures.soft_labels.cpu().numpy()
        if measures.gaps is not None and data.train.gaps is not None:
            gaps = csr_items(data.train.gaps.offsets, utterances)
            total.gaps[gaps] += torch.sigmoid(measures.gaps.double()).cpu().numpy()

"""From training data to a model folder: one training, or a search over sizes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from ..base.files import resumable_key, resume_folder
from ..base.locks import claimed, companion
from ..confidence.model_file import (
    MODEL_JSON,
    Model,
    load_model,
    read_log,
    refuse_to_overwrite,
    save_model,
)
from .dataset import TrainingData
from .options import TrainOptions
from .trainer import CHECKPOINT, EpochRecord, Progress, Trainer, chosen_utterances, only_training_in
from .trees import plain_trees
from .worker import Worker, training_worker

Finish = Callable[[Model], Model]  # what is done with a model before it is written

GRID = {"state": (80, 128, 200), "hidden": (20, 40), "merge": ("mean", "posterior")}


def train(
    data: TrainingData,
    options: TrainOptions,
    out: Path,
    *,
    device: str = "auto",
    threads: int | None = None,
    search: bool = False,
    progress: Progress | None = None,
    dev: Sequence[str] = (),
) -> Model | None:
    """Write a model folder and give the model; None in a process that only helps another (torchrun).

    How words are decoded is chosen by the fewest errors on `dev`, stores of networks, before the model is written.
    """

    def chosen_on_dev(model: Model) -> Model:
        from ..confidence.calibrate_model import with_best_choice  # here, as it needs numba

        return with_best_choice(model, dev)

    with training_worker(device, threads) as worker, _claim(out) if worker.is_first else nullcontext():
        work = search_sizes if search else train_model
        finish = chosen_on_dev if dev else None
        model = work(data, options, out, worker, progress if worker.is_first else None, finish=finish)
        return model if worker.is_first else None


@contextmanager
def _claim(out: Path) -> Iterator[None]:
    out.parent.mkdir(parents=True, exist_ok=True)
    with claimed(out):
        yield


def training_folder(out: Path) -> Path:
    """Where checkpoints of a training are kept until the model is there."""
    return companion(Path(os.path.realpath(out)), ".training")


def has_checkpoint(out: Path) -> bool:
    """Whether an earlier, killed training of this model left one."""
    return (training_folder(out) / CHECKPOINT).is_file()


@contextmanager
def training_in(folder: Path, worker: Worker) -> Iterator[None]:
    """Keep checkpoints in this folder, alone; afterwards it goes, and every process waits until all is written."""
    with only_training_in(folder) if worker.is_first else nullcontext():
        yield
        if worker.is_first:
            shutil.rmtree(folder, ignore_errors=True)
    worker.wait_for_all()


def train_model(
    data: TrainingData,
    options: TrainOptions,
    out: Path,
    worker: Worker,
    progress: Progress | None = None,
    *,
    finish: Finish | None = None,
) -> Model:
    """Train and write the model; goes on from a checkpoint that an earlier, killed run left.

    What `finish` adds is in the model when it appears.
    """
    refuse_to_overwrite(out)
    with training_in(training_folder(out), worker):
        trainer = Trainer(data, options, worker, training_folder(out))
        weights = trainer.run(progress or Progress())
        card = replace(data.card, training=trainer.record, metrics=trainer.best_metrics)
        table = data.table if trainer.config.embedding == "table" else replace(data.table, vectors=None)
        model = Model(trainer.config, weights, table, data.statistics, card)
        if worker.is_first:
            trees = plain_trees(data, chosen_utterances(data.train, options)) if options.trees else None
            model = replace(model, trees=trees)
            model = finish(model) if finish else model
            save_model(model, out, trainer.state.log)
    return model


def search_sizes(
    data: TrainingData,
    options: TrainOptions,
    out: Path,
    worker: Worker,
    progress: Progress | None = None,
    grid: Mapping[str, Sequence[Any]] = GRID,
    *,
    finish: Finish | None = None,
) -> Model:
    """Try the grid of the paper and keep the model with the best EER on dev; a killed search goes on."""
    refuse_to_overwrite(out)
    if worker.is_first:
        data_key = data.dev.checksum(data.train.checksum())
        resume_folder(training_folder(out) / "trials", resumable_key((options, grid, data_key)))
    trials: list[tuple[dict[str, Any], Path]] = []
    for values in product(*grid.values()):
        sizes = dict(zip(grid, values, strict=True))
        folder = training_folder(out) / "trials" / "-".join(map(str, values))
        trials.append((sizes, folder))
        if not (folder / MODEL_JSON).is_file():
            train_model(data, replace(options, **sizes), folder, worker, _for_trial(progress, sizes))
    models = [load_model(folder) for _, folder in trials]
    metrics = [model.card.metrics for model in models]
    best = min(range(len(trials)), key=lambda trial: metrics[trial].get("dev_eer", 1.0))
    tried = tuple({**sizes, **measured} for (sizes, _), measured in zip(trials, metrics, strict=True))
    model = replace(models[best], card=replace(models[best].card, search=tried))
    worker.wait_for_all()  # until nobody needs the trials any more
    if worker.is_first:
        model = finish(model) if finish else model
        save_model(model, out, read_log(trials[best][1]))
        shutil.rmtree(training_folder(out), ignore_errors=True)
    return model


def _for_trial(progress: Progress | None, sizes: Mapping[str, Any]) -> Progress | None:
    """The same progress, whose epochs name the sizes that are tried."""
    if progress is None:
        return None

    def on_epoch(record: EpochRecord) -> None:
        progress.on_epoch(replace(record, trial=sizes))

    return replace(progress, on_epoch=on_epoch)

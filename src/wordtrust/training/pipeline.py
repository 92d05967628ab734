"""From training data to a model folder: one training, or a search over sizes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from ..confidence.model_file import (
    MODEL_JSON,
    Model,
    load_model,
    read_log,
    refuse_to_overwrite,
    save_model,
    update_card,
)
from .dataset import TrainingData
from .options import TrainOptions
from .trainer import CHECKPOINT, EpochRecord, Progress, Trainer, only_training_in
from .worker import Worker, training_worker

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
) -> Model | None:
    """Write a model folder and give the model; None in a process that only helps another (torchrun)."""
    with training_worker(device, threads) as worker:
        work = search_sizes if search else train_model
        model = work(data, options, out, worker, progress if worker.is_first else None)
        return model if worker.is_first else None


def choose_on_dev(model: Model, folder: Path, dev: Sequence[str]) -> Model:
    """Choose how words are decoded, by the fewest errors on these networks, and note it in the model folder."""
    from ..confidence.calibrate_model import with_best_choice  # here, as it needs numba

    model = with_best_choice(model, dev)
    update_card(folder, model.card)
    return model


def training_folder(out: Path) -> Path:
    """Where checkpoints of a training are kept until the model is there."""
    return out.resolve().with_name(f".{out.resolve().name}.training")


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
    data: TrainingData, options: TrainOptions, out: Path, worker: Worker, progress: Progress | None = None
) -> Model:
    """Train and write the model; goes on from a checkpoint that an earlier, killed run left."""
    refuse_to_overwrite(out)
    with training_in(training_folder(out), worker):
        trainer = Trainer(data, options, worker, training_folder(out))
        weights = trainer.run(progress or Progress())
        card = replace(data.card, training=trainer.record, metrics=trainer.best_metrics)
        table = data.table if trainer.config.embedding == "table" else replace(data.table, vectors=None)
        model = Model(trainer.config, weights, table, data.statistics, card)
        if worker.is_first:
            save_model(model, out, trainer.state.log)
    return model


def search_sizes(
    data: TrainingData,
    options: TrainOptions,
    out: Path,
    worker: Worker,
    progress: Progress | None = None,
    grid: Mapping[str, Sequence[Any]] = GRID,
) -> Model:
    """Try the grid of the paper and keep the model with the best EER on dev; a killed search goes on."""
    refuse_to_overwrite(out)
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

"""A training from data to a model folder, alone or several side by side."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

from ..confidence.model_card import TrainingRecord
from ..confidence.model_file import MODEL_JSON, Model, load_model, read_log, refuse_to_overwrite, save_model
from .checkpoint import alone_in
from .dataset import TrainingData
from .loop import Step, Tell, Trainer
from .machine import Machine
from .options import TrainOptions

GRID = {"state": (80, 128, 200), "hidden": (20, 40), "merge": ("mean", "posterior")}


def draft_of(out: Path) -> Path:
    """Where checkpoints of a training are kept until the model is there."""
    return out.resolve().with_name(f".{out.resolve().name}.training")


def train_model(
    data: TrainingData,
    options: TrainOptions,
    out: Path,
    machine: Machine,
    *,
    tell: Tell,
    step: Step = lambda *_: None,
) -> Model:
    """Train and write the model; goes on from a checkpoint that an earlier, killed run left."""
    refuse_to_overwrite(out)
    draft = draft_of(out)
    with alone_in(draft) if machine.is_first else nullcontext():
        trainer = Trainer(data, options, machine, draft)
        weights = trainer.run(tell, step)
    best = next((line for line in trainer.state.log if line["epoch"] == trainer.state.best_epoch), {})
    metrics = {name: value for name, value in best.items() if name.startswith("dev_")}
    training = asdict(options) | {"epochs_run": trainer.state.epoch, "best_epoch": trainer.state.best_epoch}
    card = replace(data.card, training=TrainingRecord(training), metrics=metrics)
    table = data.table if trainer.config.embedding == "table" else replace(data.table, vectors=None)
    model = Model(trainer.config, weights, table, data.statistics, card)
    if machine.is_first:
        save_model(model, out, trainer.state.log)
        shutil.rmtree(draft, ignore_errors=True)
    machine.wait_for_all()
    return model


def _telling(tell: Tell, chosen: dict[str, Any]) -> Tell:
    return lambda line: tell(chosen | line)


def search(
    data: TrainingData,
    options: TrainOptions,
    out: Path,
    machine: Machine,
    *,
    tell: Tell,
    step: Step = lambda *_: None,
    grid: Mapping[str, Sequence[Any]] = GRID,
) -> Model:
    """Try the grid of the paper and keep the model with the best EER on dev; a killed search goes on."""
    refuse_to_overwrite(out)
    trials, found = draft_of(out) / "trials", []
    for number, values in enumerate(product(*grid.values())):
        chosen: dict[str, Any] = dict(zip(grid, values, strict=True))
        folder = trials / "-".join(str(value) for value in values)
        if not (folder / MODEL_JSON).is_file():
            train_model(data, replace(options, **chosen), folder, machine, tell=_telling(tell, chosen), step=step)
        model = load_model(folder)
        found.append((model.card.metrics.get("dev_eer", 1.0), number, chosen, model, read_log(folder)))
    best, log = min(found, key=lambda each: each[:2])[3:]
    tried = [{**each[2], **each[3].card.metrics} for each in found]
    model = replace(best, card=replace(best.card, search=tuple(tried)))
    machine.wait_for_all()  # until nobody needs the trials any more
    if machine.is_first:
        save_model(model, out, log)
        shutil.rmtree(draft_of(out), ignore_errors=True)
    return model

"""Models of all recognizers of a study, each with those trained without a fold of speakers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ..model.options import TrainOptions
from .layout import FOLDS, model_folders

__all__ = ["FOLDS", "TOGETHER", "model_folders", "train_all"]

# What was best on dev for nine recognizers together (docs/results.md).
TOGETHER = TrainOptions(hidden=40, average=0.998, drop=0.15, epochs=30, patience=6, batch_arcs=9000)


def train_all(
    packs: Mapping[str, Path],
    out: Path,
    *,
    folds: int = FOLDS,
    options: TrainOptions | None = None,
    teachers: int = 1,
    device: str = "auto",
    threads: int | None = None,
    side_by_side: int = 1,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Train what is not there yet (see `model.plan`); models that another machine made are found in their place."""
    from ..model.plan import Plan, train_everything

    train_everything(Plan(packs, out, folds, teachers, options or TOGETHER, device, threads, side_by_side), tell)

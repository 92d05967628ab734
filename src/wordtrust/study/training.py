"""Models of all recognizers of a study, each with those trained without a fold of speakers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ..training.availability import has_gpu
from ..training.options import TOGETHER, TrainOptions
from ..training.plan import FOLDS, Plan, train_everything


def train_all(
    packs: Mapping[str, Path],
    out: Path,
    *,
    folds: int = FOLDS,
    options: TrainOptions | None = None,
    teachers: int = 1,
    device: str = "auto",
    threads: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Train what is not there yet (see `model.plan`); models that another machine made are found in their place."""
    at_once = folds + 1 if has_gpu(device) else 1
    train_everything(Plan(packs, out, folds, teachers, options or TOGETHER, device, threads, at_once), tell)

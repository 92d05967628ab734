"""The trainings of the paper's system: every size of its grid, the best by dev EER, and that size without each fold.

    python -m wordtrust.training *.pack --paper --side-by-side 9 --out paper

writes paper/NAME and paper/NAME-fold-K for every packed file, each recognizer in a process of its own, and skips what
is there. Needs numpy, torch and safetensors only; `wordtrust study DATA --out STUDY --paper --until packs` makes the
files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..confidence.model_file import MODEL_JSON, load_model
from .options import TrainOptions
from .study_training import FOLDS, model_folders

if TYPE_CHECKING:
    from .trainer import Progress

PAPER = TrainOptions(
    head="independent", merge="mean", skip=False, stop="eer", epochs=20, patience=5, gap=0, evidence_drop=0.0,
    trees=False,
)  # fmt: skip
SIZES: Mapping[str, Sequence[int]] = {"state": (80, 128, 200), "hidden": (20, 40)}


def train_paper(
    packs: Mapping[str, Path],
    out: Path,
    *,
    folds: int = FOLDS,
    options: TrainOptions = PAPER,
    sizes: Mapping[str, Sequence[int]] | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: Callable[[Path], Progress] | None = None,
) -> None:
    """Train what is not there yet: the size with the best dev EER, and models of that size without each fold."""
    from .dataset import read_pack
    from .pipeline import search_sizes, train_model
    from .worker import training_worker

    def progress_of(folder: Path) -> Progress | None:
        return progress(folder) if progress else None

    out.mkdir(parents=True, exist_ok=True)
    with training_worker(device, threads) as worker:
        for name, pack in packs.items():
            whole, *without_fold = model_folders(name, out, folds)
            if all((folder / MODEL_JSON).is_file() for folder in (whole, *without_fold)):
                continue
            data = read_pack(pack)
            if not (whole / MODEL_JSON).is_file():
                search_sizes(data, options, whole, worker, progress_of(whole), sizes or SIZES)
            best = load_model(whole).config
            for fold, folder in enumerate(without_fold):
                if not (folder / MODEL_JSON).is_file():
                    chosen = replace(options, state=best.state, hidden=best.hidden, folds=folds, fold=fold)
                    train_model(data, chosen, folder, worker, progress_of(folder))

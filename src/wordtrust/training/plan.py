"""All trainings that a study needs, in order: teachers, then students, for every recognizer and fold of speakers.

Each is a process of its own (`python -m wordtrust.training ... --together`), so that several share a GPU, and what is
done is not done again. Needs numpy, torch and safetensors only.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from pathlib import Path

from ..base.errors import InputError, OptionError
from ..confidence.config import GENERIC
from ..confidence.model_file import MODEL_JSON, checksum
from .options import TrainOptions

_STDERR = 2  # progress goes there: stdout is for results
TRUNKS = ".together"  # where models trained together are kept until all are there
FOLDS = 4  # of speakers
KEY = "key"  # what they are trained from and how


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be trained."""

    packs: Mapping[str, Path]  # by recognizer
    out: Path
    folds: int = FOLDS
    teachers: int = 1  # models for each fold whose mean the others learn from as well; 0: none
    options: TrainOptions = field(default_factory=TrainOptions)
    device: str = "auto"
    threads: int | None = None
    side_by_side: int = 1

    @property
    def is_done(self) -> bool:
        """Whether all models are there."""
        folders = [folder for name in self.packs for folder in model_folders(name, self.out, self.folds)]
        return all((folder / MODEL_JSON).is_file() for folder in [*folders, self.out / GENERIC])

    @property
    def key(self) -> str:
        """What would have to be the same for a killed run to go on."""
        digest = sha256(repr((self.folds, self.teachers, self.options, sorted(self.packs))).encode())
        for name in sorted(self.packs):
            digest.update(checksum(self.packs[name]).encode())
        return digest.hexdigest()


def model_folders(name: str, out: Path, folds: int = FOLDS) -> list[Path]:
    """Where the model of a recognizer is, then those without a fold of speakers each."""
    return [out / name, *(out / f"{name}-fold-{fold}" for fold in range(folds))]


def train_everything(plan: Plan, tell: Callable[[str], None]) -> None:
    """Make out/NAME and out/NAME-fold-K for every recognizer, and out/generic."""
    if plan.is_done:
        return
    trunks = plan.out / TRUNKS
    _begin(trunks, plan.key)
    teachers = {
        trunks / f"teacher-{seed}-fold-{fold}": _arguments(plan, fold, 1000 + seed)
        for seed in range(plan.teachers)
        for fold in range(plan.folds)
    }
    _run(plan, teachers, tell)
    taught = ["--teachers", *map(str, teachers)] if teachers else []
    students = {trunks / "all": [*_arguments(plan, None, plan.options.seed), *taught]}
    for fold in range(plan.folds):
        students[trunks / f"fold-{fold}"] = [*_arguments(plan, fold, plan.options.seed), *taught]
    _run(plan, students, tell)
    for name in plan.packs:
        for trunk, folder in zip(students, model_folders(name, plan.out, plan.folds), strict=True):
            _move(trunk / name, folder)
    _move(trunks / "all" / GENERIC, plan.out / GENERIC)
    shutil.rmtree(trunks)


def _begin(trunks: Path, key: str) -> None:
    """Go on with what a killed run left, if it was the same."""
    file = trunks / KEY
    if file.is_file() and file.read_text("utf-8") != key:
        raise OptionError(
            f"{trunks}: an earlier run with other data or options was not finished; give its options again, or "
            "delete that folder"
        )
    trunks.mkdir(parents=True, exist_ok=True)
    file.write_text(key, "utf-8")


def _move(source: Path, target: Path) -> None:
    if source.exists() and not target.exists():
        source.rename(target)


def _arguments(plan: Plan, fold: int | None, seed: int) -> list[str]:
    """The options of one training as the command line takes them."""
    given = [] if fold is None else ["--folds", str(plan.folds), "--fold", str(fold)]
    for each in fields(TrainOptions):
        value, name = getattr(plan.options, each.name), each.name.replace("_", "-")
        if each.name in ("seed", "folds", "fold") or value == each.default:
            continue
        given += [f"--{name}" if value else f"--no-{name}"] if isinstance(value, bool) else [f"--{name}", str(value)]
    given += ["--threads", str(plan.threads)] if plan.threads else []
    return [*given, "--seed", str(seed), "--device", plan.device]


def _run(plan: Plan, jobs: Mapping[Path, Sequence[str]], tell: Callable[[str], None]) -> None:
    """Those of the trainings that are not done yet; the first that fails ends it."""
    packs = [str(pack) for pack in plan.packs.values()]
    commands = {
        folder: [sys.executable, "-m", "wordtrust.training", *packs, "--together", "--out", str(folder), *more]
        for folder, more in jobs.items()
        if not (folder / GENERIC / MODEL_JSON).is_file()
    }
    for folder, code in side_by_side(commands, plan.side_by_side, tell, _STDERR):
        if code:
            raise InputError(f"training {folder.name} did not end well", remedy="What it said stands above")


def side_by_side(
    commands: Mapping[Path, Sequence[str]],
    at_once: int,
    tell: Callable[[str], None] = lambda _: None,
    output: int | None = None,
) -> Iterator[tuple[Path, int]]:
    """Run commands, so many at a time; gives each that ends with its exit code (below 0 where it was killed).

    What they say goes to the file number `output`, or to stdout. Who stops listening ends the others.
    """
    if at_once < 1:
        raise OptionError(f"at least one training runs at a time, not {at_once} (--side-by-side)")
    running: dict[Path, subprocess.Popen[bytes]] = {}
    waiting = dict(commands)
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                folder = next(iter(waiting))
                tell(f"training {folder.name}, {len(waiting) + len(running)} to go")
                running[folder] = subprocess.Popen(waiting.pop(folder), stdout=output)  # noqa: S603  # ourselves
            time.sleep(0.1)
            for folder in [each for each, process in running.items() if process.poll() is not None]:
                yield folder, running.pop(folder).returncode
    finally:
        for process in running.values():  # interrupted: what they have is in their checkpoints
            process.kill()

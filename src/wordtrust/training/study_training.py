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
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path

from ..base.errors import InputError, OptionError
from ..base.files import resume_folder
from ..base.locks import claimed
from ..base.processes import helper_environment
from ..confidence.config import GENERIC
from ..confidence.model_file import MODEL_JSON, checksum
from .options import MULTI_RECOGNIZER, TrainOptions

_STDERR = 2  # progress goes there: stdout is for results
DRAFTS = ".together"  # where models are kept until all are there
FOLDS = 4  # of speakers

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class StudyTraining:
    """The models to train: out/NAME and out/NAME-fold-K for every recognizer, and out/generic."""

    packs: Mapping[str, Path]  # by recognizer
    out: Path
    folds: int = FOLDS
    teachers: int = 1  # models for each fold whose mean soft labels the others learn from; 0: none
    options: TrainOptions = MULTI_RECOGNIZER
    device: str = "auto"
    threads: int | None = None
    side_by_side: int = 1
    with_fold_models: bool = True  # False: only the models of all speakers, to compare ways of training

    def run(self, notify: Notify) -> None:
        """Train what is not there yet; models that another machine made are found in their place."""
        self.out.mkdir(parents=True, exist_ok=True)
        with claimed(self.out / DRAFTS):
            if not self.is_done:
                self._train_all(notify)
            shutil.rmtree(self.out / DRAFTS, ignore_errors=True)

    def _train_all(self, notify: Notify) -> None:
        drafts = self.out / DRAFTS
        resume_folder(drafts, self.key)
        teachers = {
            drafts / f"teacher-{seed}-fold-{fold}": self._arguments(fold, 1000 + 100 * self.options.seed + seed)
            for seed in range(self.teachers)
            for fold in range(self.folds)
        }
        self._train(teachers, notify)
        more = ["--teachers", *map(str, teachers)] if teachers else []
        students = {drafts / "all": [*self._arguments(None, self.options.seed), *more]}
        for fold in range(self._student_folds):
            students[drafts / f"fold-{fold}"] = [*self._arguments(fold, self.options.seed), *more]
        self._train(students, notify)
        for name in self.packs:
            for student, folder in zip(students, model_folders(name, self.out, self._student_folds), strict=True):
                _move(student / name, folder)
        _move(drafts / "all" / GENERIC, self.out / GENERIC)

    @property
    def _student_folds(self) -> int:
        return self.folds if self.with_fold_models else 0

    @property
    def is_done(self) -> bool:
        """Whether all models are there."""
        folders = [folder for name in self.packs for folder in model_folders(name, self.out, self._student_folds)]
        return all((folder / MODEL_JSON).is_file() for folder in [*folders, self.out / GENERIC])

    @property
    def key(self) -> str:
        """What would have to be the same for a killed run to go on."""
        digest = sha256(repr((self.folds, self.teachers, self.options, sorted(self.packs))).encode())
        for name in sorted(self.packs):
            digest.update(checksum(self.packs[name]).encode())
        return digest.hexdigest()

    def _arguments(self, fold: int | None, seed: int) -> list[str]:
        """The options of one training as the command line takes them."""
        arguments = [] if fold is None else ["--folds", str(self.folds), "--fold", str(fold)]
        for option in fields(TrainOptions):
            value, flag = getattr(self.options, option.name), option.name.replace("_", "-")
            if option.name in ("seed", "folds", "fold") or value == option.default:
                continue
            if isinstance(value, bool):
                arguments.append(f"--{flag}" if value else f"--no-{flag}")
            else:
                arguments += [f"--{flag}", str(value)]
        arguments += ["--threads", str(self.threads)] if self.threads else []
        return [*arguments, "--seed", str(seed), "--device", self.device]

    def _train(self, jobs: Mapping[Path, Sequence[str]], notify: Notify) -> None:
        """Those of the trainings that are not done yet; the first that fails ends it."""
        packs = [str(pack) for pack in self.packs.values()]
        commands = {
            folder: [sys.executable, "-m", "wordtrust.training", *packs, "--together", "--out", str(folder), *more]
            for folder, more in jobs.items()
            if not (folder / GENERIC / MODEL_JSON).is_file()
        }
        for folder, code in run_side_by_side(commands, self.side_by_side, notify, _STDERR):
            if code:
                raise InputError(f"training {folder.name} did not end well", remedy="What it said stands above")


def model_folders(name: str, out: Path, folds: int = FOLDS) -> list[Path]:
    """Where the model of a recognizer is, then those without a fold of speakers each."""
    return [out / name, *(out / f"{name}-fold-{fold}" for fold in range(folds))]


def _move(source: Path, target: Path) -> None:
    if source.exists() and not target.exists():
        source.rename(target)


def run_side_by_side(
    commands: Mapping[Path, Sequence[str]],
    at_once: int,
    notify: Notify = lambda _: None,
    output: int | None = None,
) -> Iterator[tuple[Path, int]]:
    """Run commands, so many at a time; gives each that ends with its exit code (below 0 where it was killed).

    What they print goes to the file descriptor `output`, or to stdout. Who stops listening ends the others.
    """
    if at_once < 1:
        raise OptionError(f"at least one training runs at a time, not {at_once} (--side-by-side)")
    running: dict[Path, subprocess.Popen[bytes]] = {}
    waiting = dict(commands)
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                folder = next(iter(waiting))
                notify(f"training {folder.name}, {len(waiting) + len(running)} to go")
                running[folder] = subprocess.Popen(  # noqa: S603  # ourselves
                    waiting.pop(folder), stdout=output, env=helper_environment()
                )
            time.sleep(0.1)
            for folder in [folder for folder, process in running.items() if process.poll() is not None]:
                yield folder, running.pop(folder).returncode
    finally:
        for process in running.values():  # interrupted: what they have is in their checkpoints
            process.kill()

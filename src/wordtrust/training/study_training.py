"""All trainings that a study needs, in order: teachers, then students, for every recognizer and fold of speakers.

The student of all speakers has teachers without a fold of them each. A student without a fold must know
nothing of its speakers, so its teachers were trained without this fold and another one, whose speakers they teach.

Each is a process of its own (`python -m wordtrust.training ... --together`), so that several share a GPU, and what is
done is not done again. Needs numpy, torch and safetensors only.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

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
LEAST_FOLDS = 3  # or a teacher without two of them has nobody to learn from

Notify = Callable[[str], None]


class _Teacher(NamedTuple):
    """A training whose soft labels others learn from."""

    seed: int
    fold: int  # that it is trained without
    other_fold: int | None  # likewise; None: it teaches the student of all speakers

    @property
    def name(self) -> str:
        """Of its folder."""
        folds = f"fold-{self.fold}" if self.other_fold is None else f"folds-{self.fold}-{self.other_fold}"
        return f"teacher-{self.seed}-{folds}"

    def teaches(self, fold: int | None) -> bool:
        """Whether a student without this fold, or that of all speakers, is its student."""
        return self.other_fold is None if fold is None else self.other_fold is not None and fold in self[1:]


def teacher_seed(seed: int, teacher: int) -> int:
    """A seed that no student has."""
    return 1000 + 100 * seed + teacher


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
    teacher_epochs: int | None = None  # at most; None: as many as those of the others

    def __post_init__(self) -> None:
        if self.teachers and self.with_fold_models and self.folds < LEAST_FOLDS:
            raise OptionError(f"teachers of models of folds need {LEAST_FOLDS} folds or more, not {self.folds}")

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
        teachers = self._teachers
        self._train({drafts / teacher.name: self._teacher_arguments(teacher) for teacher in teachers}, notify)
        students = {drafts / "all": self._student_arguments(None)}
        students |= {drafts / f"fold-{fold}": self._student_arguments(fold) for fold in range(self._student_folds)}
        self._train(students, notify)
        for name in self.packs:
            for student, folder in zip(students, model_folders(name, self.out, self._student_folds), strict=True):
                _move(student / name, folder)
        _move(drafts / "all" / GENERIC, self.out / GENERIC)

    @property
    def _teachers(self) -> list[_Teacher]:
        """Those of the student of all speakers, then those of students without a fold."""
        pairs = [*((fold, None) for fold in range(self.folds)), *combinations(range(self._student_folds), 2)]
        return [_Teacher(seed, *pair) for pair in pairs for seed in range(self.teachers)]

    def _teacher_arguments(self, teacher: _Teacher) -> list[str]:
        options = replace(self.options, seed=teacher_seed(self.options.seed, teacher.seed))
        if self.teacher_epochs is not None:
            options = replace(options, epochs=self.teacher_epochs)
        if teacher.other_fold is not None:
            options = replace(options, other_fold=teacher.other_fold)
        return self._arguments(teacher.fold, options)

    def _student_arguments(self, fold: int | None) -> list[str]:
        own = [str(self.out / DRAFTS / teacher.name) for teacher in self._teachers if teacher.teaches(fold)]
        return [*self._arguments(fold, self.options), *(["--teachers", *own] if own else [])]

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
        how = (self.folds, self.teachers, self.teacher_epochs, self.options, sorted(self.packs))
        digest = sha256(repr(how).encode())
        for name in sorted(self.packs):
            digest.update(checksum(self.packs[name]).encode())
        return digest.hexdigest()

    def _arguments(self, fold: int | None, options: TrainOptions) -> list[str]:
        """The options of one training as the command line takes them."""
        arguments = [] if fold is None else ["--folds", str(self.folds), "--fold", str(fold)]
        for option in fields(TrainOptions):
            value, flag = getattr(options, option.name), option.name.replace("_", "-")
            if option.name in ("seed", "folds", "fold") or value == option.default:
                continue
            if isinstance(value, bool):
                arguments.append(f"--{flag}" if value else f"--no-{flag}")
            else:
                arguments += [f"--{flag}", str(value)]
        arguments += ["--threads", str(self.threads)] if self.threads else []
        return [*arguments, "--seed", str(options.seed), "--device", self.device]

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

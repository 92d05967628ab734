"""All trainings of a study: which models they make, and how killed or failed ones end."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

from tests.training.test_multi_recognizer import OPTIONS, two_recognizers
from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.processes import PARENT
from wordtrust.confidence.model_file import load_model
from wordtrust.training.__main__ import main
from wordtrust.training.dataset import write_pack
from wordtrust.training.study_training import StudyTraining


class Here:
    """A training in this process instead of one of its own, which takes seconds to start."""

    def __init__(self, command: list[str], stdout: int | None, env: dict[str, str]) -> None:
        assert stdout == 2  # what trainings say is no output here
        assert env[PARENT] == str(os.getpid())
        assert command[:3] == [sys.executable, "-m", "wordtrust.training"]
        self.returncode = main(command[3:])

    def poll(self) -> int:
        return self.returncode


@pytest.mark.slow
def test_all_models_of_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", Here)
    packs = {name: tmp_path / f"{name}.pack" for name in ("a", "b")}
    for name, data in two_recognizers().items():
        write_pack(packs[name], data)
    training = StudyTraining(
        packs, tmp_path / "out", folds=3, teachers=1, options=replace(OPTIONS, epochs=2), side_by_side=2,
        teacher_epochs=1,
    )  # fmt: skip
    notices: list[str] = []
    training.run(notices.append)
    folders = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert folders == [f"{name}{fold}" for name in "ab" for fold in ("", "-fold-0", "-fold-1", "-fold-2")] + [
        "generic"
    ]
    options = load_model(tmp_path / "out" / "b-fold-1").card.training.options
    assert (options["fold"], options["other_fold"], options["epochs"]) == (1, -1, 2)
    assert len(notices) == 10  # a teacher without each fold and without each two, four students
    training.run(notices.append)  # nothing is left to do
    assert len(notices) == 10


def test_teachers_of_a_fold_model_know_none_of_the_speakers_that_it_leaves_out(tmp_path: Path) -> None:
    training = StudyTraining({"a": tmp_path / "a.pack"}, tmp_path, folds=4, teachers=2, teacher_epochs=3)
    started: dict[str, list[str]] = {}

    def note(_: StudyTraining, jobs: dict[Path, list[str]], __: object) -> None:
        started.update({folder.name: arguments for folder, arguments in jobs.items()})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StudyTraining, "_train", note)
        patch.setattr("wordtrust.training.study_training.resume_folder", lambda *_: None)
        patch.setattr(StudyTraining, "key", "")
        training.run(lambda _: None)

    def values(name: str, flag: str) -> list[str]:
        """What stands behind a flag, up to the next one."""
        arguments = started[name]
        if flag not in arguments:
            return []
        rest = arguments[arguments.index(flag) + 1 :]
        return rest[: next((i for i, value in enumerate(rest) if value.startswith("--")), len(rest))]

    def unheard(name: str) -> set[str]:
        return {*values(name, "--fold"), *values(name, "--other-fold")}

    assert len(started) == 2 * (4 + 6) + 5
    for student in ("all", "fold-0", "fold-1", "fold-2", "fold-3"):
        teachers = [Path(folder).name for folder in values(student, "--teachers")]
        assert len(teachers) == (8 if student == "all" else 6)
        assert all(unheard(student) < unheard(teacher) for teacher in teachers)
        assert set.union(*map(unheard, teachers)) == set("0123")  # somebody teaches every speaker
        assert {tuple(values(teacher, "--epochs")) for teacher in teachers} == {("3",)}
        assert values(student, "--epochs") == ["30"]


def test_teachers_of_fold_models_need_three_folds(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="3 folds or more, not 2"):
        StudyTraining({}, tmp_path, folds=2, teachers=1)


@pytest.mark.slow
def test_ways_of_training_are_compared_by_models_of_all_speakers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", Here)
    write_pack(tmp_path / "a.pack", two_recognizers()["a"])
    options = "--study 1 --no-fold-models --folds 2 --eighths 4 --seed 1 --epochs 1 --state 4 --hidden 4 --device cpu"
    assert main([str(tmp_path / "a.pack"), "--out", str(tmp_path / "out"), *options.split()]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a", "generic"]
    assert load_model(tmp_path / "out" / "a").card.training.options["eighths"] == 4


@pytest.mark.slow
def test_a_study_that_was_killed_goes_on_with_the_same_options_only(tmp_path: Path) -> None:
    packs = {"a": tmp_path / "a.pack"}
    write_pack(packs["a"], two_recognizers()["a"])
    training = StudyTraining(packs, tmp_path / "out", folds=2, teachers=0, options=replace(OPTIONS, epochs=1))

    def stop(line: str) -> None:
        if "fold-1" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        training.run(stop)
    with pytest.raises(OptionError, match="other data or options"):
        replace(training, options=replace(training.options, state=5)).run(lambda _: None)
    notices: list[str] = []
    training.run(notices.append)
    assert len(notices) == 1  # the others were done
    assert (tmp_path / "out" / "generic" / "model.json").is_file()


@pytest.mark.slow
def test_the_first_training_that_fails_ends_a_study(tmp_path: Path) -> None:
    (tmp_path / "a.pack").write_bytes(b"no pack")
    training = StudyTraining({"a": tmp_path / "a.pack"}, tmp_path / "out", folds=3, teachers=1)
    notices: list[str] = []
    with pytest.raises(InputError, match="teacher-0-fold-0 did not end well"):
        training.run(notices.append)
    assert len(notices) == 1

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
        packs, tmp_path / "out", folds=2, teachers=1, options=replace(OPTIONS, epochs=1), side_by_side=2
    )
    notices: list[str] = []
    training.run(notices.append)
    folders = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert folders == ["a", "a-fold-0", "a-fold-1", "b", "b-fold-0", "b-fold-1", "generic"]
    assert load_model(tmp_path / "out" / "b-fold-1").card.training.options["fold"] == 1
    assert len(notices) == 5  # two teachers, three students
    training.run(notices.append)  # nothing is left to do
    assert len(notices) == 5


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
    training = StudyTraining({"a": tmp_path / "a.pack"}, tmp_path / "out", folds=2, teachers=1)
    notices: list[str] = []
    with pytest.raises(InputError, match="teacher-0-fold-0 did not end well"):
        training.run(notices.append)
    assert len(notices) == 1

"""`python -m wordtrust.training`: what it starts for several files and seeds, and which options it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.model_data import training_data
from wordtrust.base.processes import PARENT
from wordtrust.confidence.model_file import load_model, save_model
from wordtrust.training.__main__ import main
from wordtrust.training.dataset import write_pack
from wordtrust.training.options import MULTI_RECOGNIZER
from wordtrust.training.study_training import StudyTraining

pytestmark = pytest.mark.slow


class Started:
    """Processes that were to be started; each ends when it has been asked about twice."""

    def __init__(self, codes: list[int]) -> None:
        self.codes, self.running, self.most = codes, 0, 0
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str], stdout: int | None, env: dict[str, str]) -> Process:
        assert stdout is None  # what trainings say is the output here
        assert env[PARENT] == str(os.getpid())  # they end with this process
        self.commands.append(command)
        self.running += 1
        self.most = max(self.most, self.running)
        return Process(self, self.codes[len(self.commands) - 1])


class Process:
    """One of them."""

    def __init__(self, started: Started, code: int) -> None:
        self.started, self.code, self.asked = started, code, 0
        self.returncode: int | None = None

    def poll(self) -> int | None:
        self.asked += 1
        if self.asked == 2:
            self.returncode = self.code
            self.started.running -= 1
        return self.returncode


def started(monkeypatch: pytest.MonkeyPatch, *codes: int) -> Started:
    processes = Started(list(codes))
    monkeypatch.setattr(subprocess, "Popen", processes)
    monkeypatch.setattr("time.sleep", lambda _: None)
    return processes


def test_every_file_with_every_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = started(monkeypatch, 0, 0, 0, 0)
    options = "--seeds 0,7 --side-by-side=3 --epochs 2 --out models --no-skip --seed 5".split()
    assert main(["./a.pack", "more//b.pack", "--rate", "0.1", *options]) == 0
    assert processes.most == 3
    begin = [sys.executable, "-m", "wordtrust.training"]
    rest = ["--rate", "0.1", "--epochs", "2", "--no-skip"]
    jobs = [("a.pack", "a-0", "0"), ("a.pack", "a-7", "7"), ("more/b.pack", "b-0", "0"), ("more/b.pack", "b-7", "7")]
    assert processes.commands == [
        [*begin, str(Path(pack)), "--out", str(Path("models") / name), "--seed", seed, *rest]
        for pack, name, seed in jobs
    ]


def test_models_of_one_seed_are_named_by_their_files(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = started(monkeypatch, 0, 0)
    assert main(["a.pack", "b.pack", "--out", "models", "--seed", "3"]) == 0
    assert [command[4:8] for command in processes.commands] == [
        ["--out", str(Path("models") / name), "--seed", "3"] for name in ("a", "b")
    ]
    assert processes.most == 1


def test_the_papers_models_go_to_one_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = started(monkeypatch, 0, 0)
    assert main(["a.pack", "b.pack", "--paper", "--out", "paper", "--side-by-side", "2"]) == 0
    assert [command[3:] for command in processes.commands] == [
        [pack, "--out", "paper", "--seed", "0", "--paper"] for pack in ("a.pack", "b.pack")
    ]


def test_an_option_of_a_study_counts_even_if_it_is_the_default_of_a_single_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[StudyTraining] = []
    monkeypatch.setattr(StudyTraining, "run", lambda training, _: asked.append(training))
    for more in ("", "--epochs 60 --path-weight 2", "--epochs 12 --folds 3"):
        assert main(["a.pack", "--study", "2", "--out", "m", *more.split()]) == 0
    assert asked[0].options == MULTI_RECOGNIZER
    assert asked[1].options == replace(MULTI_RECOGNIZER, epochs=60, path_weight=2.0)
    assert (asked[2].options.epochs, asked[2].folds) == (12, 3)


@pytest.mark.parametrize("codes", [(1, 0, 0), (0, 0, -9), (0, -11, 0), (2, 1, -9)])
def test_one_that_fails_or_is_killed_makes_all_fail(monkeypatch: pytest.MonkeyPatch, codes: tuple[int, ...]) -> None:
    processes = started(monkeypatch, *codes)
    assert main(["a.pack", "b.pack", "c.pack", "--out", "models", "--side-by-side", "2"]) == 1
    assert len(processes.commands) == 3  # the others are trained all the same


def test_what_cannot_be_started_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    processes = started(monkeypatch)
    assert main(["a.pack", "--seeds", "0,one", "--out", "m"]) == 1
    assert "seeds are whole numbers joined by commas, not '0,one'" in capsys.readouterr().err
    assert main(["a.pack", "other/a.pack", "--out", "m"]) == 1
    assert "two packed files have the same name" in capsys.readouterr().err
    assert main(["a.pack", "b.pack", "--out", "m", "--side-by-side", "0"]) == 1
    assert "--side-by-side" in capsys.readouterr().err
    assert not processes.commands


def test_a_model_is_only_replaced_when_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="needs the extra `train`")
    write_pack(tmp_path / "data.pack", training_data())
    command = [str(tmp_path / "data.pack"), "--out", str(tmp_path / "m"), *"--epochs 1 --state 4 --hidden 4".split()]
    assert main(command) == 0
    assert main(command) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0


def test_a_training_of_several_that_was_killed_while_it_wrote_its_models_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch", reason="needs the extra `train`")
    for name in ("a", "b"):
        write_pack(tmp_path / f"{name}.pack", training_data(ord(name)))
    out = tmp_path / "m"
    packs = [str(tmp_path / "a.pack"), str(tmp_path / "b.pack")]
    command = [*packs, "--together", "--out", str(out), *"--epochs 1 --state 4 --hidden 4 --device cpu".split()]

    def stop(model: Any, folder: Path, log: Any) -> None:
        if folder.name == "b":
            raise KeyboardInterrupt
        save_model(model, folder, log)

    with monkeypatch.context() as patch:
        patch.setattr("wordtrust.training.multi_recognizer.save_model", stop)
        with pytest.raises(KeyboardInterrupt):
            main(command)
    assert (out / "a" / "model.json").is_file()
    assert main(command) == 0
    assert sorted(path.name for path in out.iterdir()) == ["a", "b", "generic"]
    assert main(command) == 1  # all are there now


def test_several_trainings_run_side_by_side(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra `train`")
    write_pack(tmp_path / "b.pack", training_data(ord("b")))
    options = "--seeds 0,1 --side-by-side 2 --epochs 1 --state 4 --hidden 4 --device cpu --out"
    assert main([str(tmp_path / "b.pack"), *options.split(), str(tmp_path / "models")]) == 0
    made = sorted(path.name for path in (tmp_path / "models").iterdir())
    assert made == ["b-0", "b-1"]
    assert load_model(tmp_path / "models" / "b-1").card.training.options["seed"] == 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--teachers", "t"], "--teachers does not go"),
        (["--together", "--seeds", "1,2"], "--seeds does not go"),
        (["--study", "1", "--search"], "--search does not go"),
        (["--paper", "--search"], "--paper does not go"),
        (["--study", "-1"], "not -1"),
        (["--cell", "gru"], "gru was dropped"),
        (["--merge", "max"], "max was dropped"),
        (["--merge", "median"], "mean, posterior, not 'median'"),
        (["--study", "1", "--side-by-side", "0"], "not 0"),
        (["--train-on-dev"], "--train-on-dev does not go"),
        (["--together", "--other-fold", "1"], "--other-fold does not go"),
        (["--study", "0", "--teacher-epochs", "3"], "--teacher-epochs does not go"),
        (["--study", "1", "--folds", "2"], "3 folds or more"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    tmp_path: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pack(tmp_path / "a.pack", training_data())
    assert main([str(tmp_path / "a.pack"), "--out", str(tmp_path / "out"), *more]) == 1
    assert message in capsys.readouterr().err

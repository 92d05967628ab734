"""The first command after an installation compiles for all that come later."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from wordtrust.cli import first_run

SAMPLE = Path(str(files("wordtrust"))) / "sample"

# Runs the verbs of the helpers, then those of a new user, and prints kernels that only the latter needed.
NOT_FORESEEN = """
import gc, sys
from pathlib import Path
from numba.core.dispatcher import Dispatcher
from wordtrust.cli import cli, first_run

sample, folder = map(Path, sys.argv[1:])

def kernels():
    functions = [made for made in gc.get_objects() if isinstance(made, Dispatcher)]
    return {(kernel.py_func.__module__, kernel.py_func.__name__, str(args)) for kernel in functions
            for args in kernel.signatures if kernel.py_func.__module__.startswith("wordtrust.")}

first_run.run_verbs(2)
foreseen = kernels()
corpus = sample / "corpus"
nbest, ref = str(corpus / "whisper-tiny.en" / "dev.jsonl.gz"), ["--ref", str(corpus / "refs.tsv")]
store, networks = str(folder / "x.store"), str(folder / "networks")
for command in (
    ["info", f"{sample / 'lattices'}/*.slf.gz", "--ref", str(sample / "ref.tsv")],
    ["convert", nbest, store],
    ["convert", store, str(folder / "x.ctm")],
    ["tune", store, *ref, "--out", str(folder / "scales.json")],
    ["build", store, *ref, "--scales", "whisper-tiny.en", "--out", networks],
    ["evaluate", networks],
    ["evaluate", "whisper-tiny.en", networks],
    ["score", "generic", nbest, "--out", str(folder / "x.html")],
    ["score", "whisper-tiny.en", nbest, "--out", str(folder / "scored.jsonl")],
    ["check", str(folder / "scored.jsonl"), "--heard", str(folder / "x.ctm"), "--json"],
):
    cli.main(command, standalone_mode=False)
print("not foreseen:", sorted(kernels() - foreseen))
"""


@pytest.mark.slow
def test_what_helpers_run_needs_all_kernels_that_verbs_need(tmp_path: Path) -> None:
    command = [sys.executable, "-c", NOT_FORESEEN, str(SAMPLE), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "not foreseen: []"


@pytest.mark.slow
def test_later_commands_compile_nothing_and_say_nothing(tmp_path: Path) -> None:
    """With an empty cache, in which helpers leave some or, in the time there is, all of it."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "wordtrust", "info", str(SAMPLE / "lattices" / "*.slf.gz")]
    said = []
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        said.append(done.stderr.count("compiling for this machine"))
    assert said == [1, 0]


def test_a_marker_tells_that_all_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_run, "_marker", lambda: tmp_path / "marker")
    assert not first_run.is_compiled()
    (tmp_path / "marker").touch()
    assert first_run.is_compiled()
    first_run.start(["graph"])  # nothing to do
    assert not first_run._compilations
    first_run.finish()


def test_helpers_that_are_gone_are_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What such a one had begun is taken up by others."""
    monkeypatch.setattr(first_run, "helper_environment", lambda: {**os.environ, "PYTHONPATH": str(tmp_path)})
    monkeypatch.setattr(sys, "executable", "/bin/false")
    compilation = first_run._Compilation(["graph"])
    try:
        assert compilation.wait(30)
        begun, done = compilation._folder / "begun", compilation._folder / "done"
        for mark in (begun, done, done.with_suffix(".done")):
            mark.touch()
        compilation._forget_begun()
        assert not begun.exists()
        assert done.exists()
    finally:
        compilation.stop()
    assert not compilation._folder.exists()


def test_a_script_does_not_wait_for_what_it_does_not_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is there to be told; every container would wait anew."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    compilation = first_run._Compilation(["graph"])
    monkeypatch.setattr(compilation, "wait", lambda _: pytest.fail("waited"))
    monkeypatch.setattr(first_run, "_compilations", [compilation])
    first_run.finish()  # the standard error of a test is no terminal
    assert not compilation._folder.exists()


def test_what_is_not_done_in_time_is_left_for_later(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    compilation = first_run._Compilation(["graph"])
    monkeypatch.setattr(compilation, "wait", lambda _: False)
    monkeypatch.setattr(first_run, "_compilations", [compilation])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    first_run.finish()
    assert "the rest is left for later" in capsys.readouterr().err

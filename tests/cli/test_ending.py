"""How commands end that are interrupted, or that cannot write: one line, an exit code, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.command_line import wordtrust
from tests.helpers.plugin_recognizer import install
from wordtrust.base.journal import journal_path
from wordtrust.base.processes import PARENT

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LATTICES = ROOT / "src" / "wordtrust" / "sample" / "lattices"


def own_process(*words: object) -> list[str]:
    return [sys.executable, "-m", "wordtrust", *map(str, words)]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(happened: object, seconds: float = 60) -> None:
    assert callable(happened)
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(line) for line in found.split()]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A long `wordtrust recognize` in two processes."""
    soundfile = pytest.importorskip("soundfile", reason="needs the extra `audio`")
    install(tmp_path / "site", monkeypatch)
    paths = [str(tmp_path / "site"), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    (tmp_path / "audio").mkdir()
    for number in range(10):
        soundfile.write(tmp_path / "audio" / f"{number:02}.wav", np.zeros(8000), 8000)
    options = ["--recognizer", "ears=slow", "--jobs", "2", "--out", tmp_path / "out"]
    return ["recognize", tmp_path / "audio", *options]


def begin(command: list[object], tmp_path: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """The command when it has kept its first pieces, and its helpers."""
    process = subprocess.Popen(own_process(*command), stderr=subprocess.PIPE, text=True)
    journal = journal_path(tmp_path / "out")
    wait_for(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 2)
    return process, children(process.pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_cleans_up_and_the_same_command_goes_on(
    tmp_path: Path, command: list[object], number: signal.Signals
) -> None:
    process, helpers = begin(command, tmp_path)
    assert len(helpers) >= 2
    process.send_signal(number)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert told.splitlines()[-1] == "wordtrust: interrupted; the same command resumes it"
    wait_for(lambda: not any(map(is_running, helpers)), 10)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.heard", "audio", "site"]
    if number == signal.SIGTERM:  # what is left is the same
        assert "of them done before" in wordtrust(*command).stdout
        assert sorted(path.name for path in tmp_path.iterdir()) == ["audio", "out", "site"]


def test_helpers_do_not_outlive_a_killed_process_and_the_next_one_goes_on(
    tmp_path: Path, command: list[object]
) -> None:
    process, helpers = begin(command, tmp_path)
    process.kill()
    process.communicate()
    wait_for(lambda: not any(map(is_running, helpers)), 10)
    assert "of them done before" in wordtrust(*command).stdout


def test_the_second_of_two_commands_with_one_output_is_refused(tmp_path: Path, command: list[object]) -> None:
    process, _ = begin(command, tmp_path)
    second = wordtrust(*command, code=1)
    said = (
        f"wordtrust: {tmp_path / 'out'}: another wordtrust process is writing it; wait for it, or name another output"
    )
    assert second.stderr.strip() == said
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_helper_ends_with_the_process_that_it_works_for(tmp_path: Path) -> None:
    helper = "import time; from wordtrust.base.processes import exit_with_parent; exit_with_parent(); time.sleep(60)"
    script = f"""
import subprocess, sys
from wordtrust.base.processes import helper_environment
print(subprocess.Popen([sys.executable, "-c", {helper!r}], env=helper_environment()).pid, flush=True)
sys.stdin.read()
"""
    environment = {name: value for name, value in os.environ.items() if name != PARENT}
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    time.sleep(0.5)
    assert is_running(pid)
    parent.kill()
    parent.communicate()
    wait_for(lambda: not is_running(pid), 10)


@pytest.mark.parametrize("words", [("formats",), ("--help",)])
def test_a_full_standard_output_is_said_in_a_line(words: tuple[object, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(own_process(*words), stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "wordtrust: the output cannot be written: No space left on device"
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_names_that_are_too_long_are_said_in_a_line(tmp_path: Path) -> None:
    long = "x" * 300
    for words in (
        ("score", long, LATTICES, "--out", tmp_path / "w.ctm"),
        ("score", "generic", LATTICES, "--out", tmp_path / f"{long}.ctm"),
        ("score", "generic", long, "--out", tmp_path / "w.ctm"),
        ("build", LATTICES, "--out", tmp_path / long),
        ("convert", LATTICES, tmp_path / f"{long}.ctm"),
    ):
        done = wordtrust(*words, code=1)
        assert "File name too long" in done.stderr.splitlines()[-1] or "no such" in done.stderr.lower(), done.stderr
        assert "should not have happened" not in done.stderr
    assert list(tmp_path.iterdir()) == []

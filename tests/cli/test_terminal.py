"""What ids and file names with escape sequences do to a terminal: nothing."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.base.test_visible_text import ACTS, ATTACK
from tests.helpers.command_line import run

LATTICE = {
    "wordtrust": 1,
    "utt": ATTACK,
    "time": [0, 1],
    "source": [0],
    "target": [1],
    "word": ["a"],
    "acoustic": [-1],
}


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    path = tmp_path / "x\x1b[31m\x9b2J.jsonl"
    path.write_text(json.dumps(LATTICE) + "\n")
    return path


@pytest.mark.parametrize("verb", [["info"], ["info", "--json"], ["info", "--skip-bad"]])
def test_output_and_messages(verb: list[str], hostile: Path) -> None:
    done = run(*verb, hostile)
    assert done.exit_code == 0, done.output
    assert not ACTS.search(done.output)
    assert not ACTS.search(done.stderr)


@pytest.mark.parametrize("end", [".ctm", ".ark", ".slf", ".vtt", ".jsonl", ".txt", ".srt"])
def test_text_files(end: str, hostile: Path, tmp_path: Path) -> None:
    out = tmp_path / f"out{end}"
    done = (
        run("score", "generic", hostile, "--out", out)
        if end in (".vtt", ".txt", ".srt")
        else run("convert", hostile, out)
    )
    assert done.exit_code == 0, done.output
    assert not acts(out)


def acts(path: Path) -> bool:
    text = path.read_text("utf-8").replace("\t", " ")
    return (
        re.search("[\x00-\x09\x0b-\x1f]" if path.suffix == ".slf" else "[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
        is not None
    )


def test_errors_on_a_real_terminal(hostile: Path, tmp_path: Path) -> None:
    """A person watches, so there are bars and colours: rich's own sequences, and none of the file's."""
    bad = tmp_path / "y\x1b]0;PWNED\x07.jsonl"
    bad.write_text(json.dumps({**LATTICE, "source": [1], "target": [0]}) + "\n")
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "wordtrust", "info", "--skip-bad", str(bad), str(hostile)]
    done = subprocess.run(command, stdout=slave, stderr=slave, stdin=slave, timeout=120, check=False)
    os.close(slave)
    shown = os.read(master, 1 << 20).decode("utf-8", "replace")
    os.close(master)
    assert done.returncode == 0, shown
    assert "skipped" in shown
    assert "PWNED" in shown
    assert "\x1b]0;" not in shown
    assert "\x07" not in shown
    assert "\x9b" not in shown


def test_options_that_are_wrong(hostile: Path) -> None:
    command = [sys.executable, "-m", "wordtrust", "info", str(hostile), f"--\x1b[31m{ATTACK}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert not ACTS.search(done.stderr)

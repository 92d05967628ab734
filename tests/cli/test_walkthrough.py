"""`wordtrust demo` as a newcomer meets it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import pytest

from wordtrust.base.installation import install_command
from wordtrust.cli import cli
from wordtrust.cli import walkthrough as demo


def rates(shown: str, name: str) -> list[float]:
    """The numbers in the row of a table."""
    (row,) = re.findall(rf"^ +{re.escape(name)} +([-0-9. ]+)$", shown, re.MULTILINE)
    return [float(each) for each in row.split()]


def check_figures(shown: str) -> None:
    """Confidence makes words no worse, its NCE is better, and two recognizers are better than one."""
    for name in demo.RECOGNIZERS:
        one_best, output, oracle, own, calibrated, ours = rates(shown, name)
        assert oracle < output <= one_best
        assert own < calibrated < ours
    alone = [rates(shown, f"{name} alone")[0] for name in list(demo.RECOGNIZERS)[:2]]
    assert rates(shown, "one joint network")[0] < min(alone)


@pytest.mark.slow
def test_demo(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "wordtrust", "demo", "--out", str(tmp_path / "demo")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, "COLUMNS": "140"})
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    shown = done.stdout
    assert "REAL speech" in shown
    assert "SYNTHETIC" in shown
    assert "docs/results.md" in shown
    assert "It was the best of times." in shown
    check_figures(shown)
    made = {path.name for path in (tmp_path / "demo").iterdir()}
    assert made >= {"transcript.html", "report.html", "lattice.svg", "words.jsonl", "both.ctm"}
    assert "worst" in (tmp_path / "demo" / "transcript.html").read_text("utf-8")


@pytest.mark.slow
def test_demo_without_audio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After `pip install wordtrust` alone: what needs no audio runs, and what is missing is said."""

    def find(name: str) -> ModuleSpec | None:
        return None if name in ("soundfile", "moonshine_voice", "jinja2") else find_spec(name)

    monkeypatch.setattr(demo, "find_spec", find)
    demo.run(tmp_path, cli)
    shown = capsys.readouterr().out
    assert "needs moonshine_voice, soundfile" in shown
    assert install_command("audio") in shown
    check_figures(shown)
    assert {"lattice.svg", "words.jsonl"} <= {path.name for path in tmp_path.iterdir()}
    assert not list(tmp_path.glob("*.html"))

"""The command line as a user meets it: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import SAMPLES
from wordtrust import read
from wordtrust.demo import PICTURE

SAMPLE = Path(__file__).parents[1] / "src" / "wordtrust" / "sample" / "lattices"


def wordtrust(*words: str | Path, code: int = 0, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command and check its exit code."""
    command = [sys.executable, "-m", "wordtrust", *map(str, words)]
    wide = {**os.environ, "COLUMNS": "140"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, env=wide)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_info_counts() -> None:
    found = json.loads(wordtrust("info", SAMPLE, "--json").stdout)
    lattices = read(f"{SAMPLE}/*.slf.gz")
    assert found["utterances"] == 39
    slf = [counts for file, counts in found["files"].items() if file.endswith(".slf.gz")]
    assert sum(counts["arcs"] for counts in slf) == len(lattices.source)
    assert sum(counts["nodes"] for counts in slf) == len(lattices.time)
    assert sum(counts["words"] for counts in slf) == sum(len(lattice.text.split()) for lattice in lattices)
    assert sum(counts["duration"] for counts in slf) == pytest.approx(sum(x.duration for x in lattices), abs=0.05)


def test_info_for_people() -> None:
    shown = wordtrust("info", SAMPLE / f"{PICTURE}.slf.gz", SAMPLE / f"{PICTURE}.lat").stdout
    assert "htk" in shown
    assert "sphinx" in shown
    assert "acoustic scores: all utterances" in shown
    assert "posterior scores: 1 of 2 utterances" in shown


@pytest.mark.parametrize("out", ["x.store", "x.slf", "x.ark", "x.ark.gz", "x.ctm", "x.jsonl", "x.dot"])
def test_convert_writes_what_the_ending_says(out: str, tmp_path: Path) -> None:
    done = wordtrust("convert", f"{SAMPLE}/*.slf.gz", tmp_path / out)
    assert "36 utterances" in done.stdout
    if not out.endswith(".dot"):
        again = json.loads(wordtrust("info", tmp_path / out, "--json").stdout)
        words = json.loads(wordtrust("info", f"{SAMPLE}/*.slf.gz", "--json").stdout)["words"]
        assert again["utterances"] == 36
        assert again["words"] == words or ".ark" in out  # Kaldi text has no posteriors, which PocketSphinx goes by


def test_convert_one_utterance_to_a_picture(tmp_path: Path) -> None:
    wordtrust("convert", SAMPLE, tmp_path / "x.svg", code=1)
    wordtrust("convert", f"{SAMPLE}/*.slf.gz", tmp_path / "x.svg", "--utt", PICTURE)
    assert (tmp_path / "x.svg").read_text().startswith("<svg")
    missing = wordtrust("convert", SAMPLE, tmp_path / "y.svg", "--utt", "nobody", code=1)
    assert "no utterance nobody in the input" in missing.stderr
    assert not (tmp_path / "y.svg").exists()


def test_bad_input_fails_or_is_skipped(tmp_path: Path) -> None:
    bad = tmp_path / "bad.slf"
    bad.write_text("VERSION=1.0\nN=2 L=1\nI=0 t=0\nI=1 t=1\nJ=0 S=0 E=7 W=a a=-1\n")
    good = SAMPLES / "htk"
    failed = wordtrust("convert", bad, good, tmp_path / "out.jsonl", code=1)
    assert "bad.slf" in failed.stderr
    assert not (tmp_path / "out.jsonl").exists()
    done = wordtrust("convert", bad, good, tmp_path / "out.jsonl", "--skip-bad")
    assert "skipped:" in done.stderr
    assert "left out 1 bad" in done.stderr
    assert (tmp_path / "out.jsonl").exists()


def test_no_input_and_bad_options_are_explained(tmp_path: Path) -> None:
    assert "no such file" in wordtrust("info", tmp_path / "nothing", code=1).stderr
    assert "frame length" in wordtrust("info", SAMPLE, "--frame-length", "0", code=1).stderr
    assert "cannot read the format" in wordtrust("info", SAMPLE, "--format", "nope", code=1).stderr
    assert "Usage" in wordtrust("info", code=2).stderr


@pytest.mark.parametrize("verb", ["info", "convert", "demo", "formats"])
def test_help_has_an_explanation(verb: str) -> None:
    assert len(wordtrust(verb, "--help").stdout) > 100
    assert verb in wordtrust("--help").stdout


def test_formats_are_listed() -> None:
    shown = wordtrust("formats").stdout
    assert all(name in shown for name in ("kaldi-text", "htk", "whisper", "store", "assemblyai"))


def test_demo(tmp_path: Path) -> None:
    done = wordtrust("demo", "--out", tmp_path / "demo")
    assert "SYNTHETIC" in done.stdout
    assert {path.name for path in (tmp_path / "demo").iterdir()} >= {
        "sample.store", "sample.ctm", "sample.networks", "lattice.svg"
    }  # fmt: skip
    assert "best mean confidence" in done.stdout

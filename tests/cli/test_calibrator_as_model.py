"""The file of a calibrator works wherever a model does, for words that came with confidences."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.command_line import refused, run
from wordtrust.base.errors import InputError, OptionError
from wordtrust.confidence.calibrator_file import load_calibrator


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Words that are surer than they should be, of ten speakers, with references and a calibrator."""
    generator, lines, said = np.random.default_rng(0), list[str](), ["utt\tspeaker\ttext"]
    for call in range(60):
        confidence = generator.uniform(0.3, 1.0, 12).round(3)
        right = generator.random(12) < confidence**2
        lines += [f"c{call} 1 {at}.0 0.5 {'yes' if right[at] else 'no'} {confidence[at]}\n" for at in range(12)]
        said.append(f"c{call}\ts{call % 10}\t{' '.join(['yes'] * 12)}")
    (tmp_path / "calls.ctm").write_text("".join(lines))
    (tmp_path / "refs.tsv").write_text("\n".join(said) + "\n")
    monkeypatch.chdir(tmp_path)
    run("calibrate", "--scores", "calls.ctm", "--ref", "refs.tsv", "--calibrator", "platt", "--out", "calls.json")
    return tmp_path


def test_evaluate_measures_words_as_they_came_and_calibrated(calls: Path) -> None:
    given = ("--scores", "calls.ctm", "--ref", "refs.tsv")
    record = json.loads(run("evaluate", "calls.json", *given, "--json").stdout)
    plain = wt.evaluate("calls.ctm", references="refs.tsv")
    expected = replace(plain.words, score=load_calibrator(Path("calls.json")).predict(plain.words.score)).metrics()
    assert record["one_best"]["calibrated"]["nce"] == pytest.approx(expected.nce, abs=1e-6)
    assert record["one_best"]["confidence"]["nce"] == pytest.approx(plain.words.metrics().nce)
    assert record["one_best"]["calibrated"]["ece"] < record["one_best"]["confidence"]["ece"] / 2
    both = wt.evaluate("calls.ctm", "calls.json", references="refs.tsv")
    assert both.words.metrics().nce == pytest.approx(expected.nce, abs=1e-6)
    assert json.loads(run("threshold", "calls.json", *given, "--json").stdout)["table"]
    run("evaluate", "calls.json", *given, "--report", "page.html")
    assert "calibrated" in (calls / "page.html").read_text("utf-8")


@pytest.mark.usefixtures("calls")
def test_transcripts_name_the_calibrator_and_estimates_find_it() -> None:
    rates = set()
    for ending in ("json", "jsonl", "parquet"):
        run("score", "calls.json", "calls.ctm", "--out", f"words.{ending}")
        rates.add(json.loads(run("estimate", f"words.{ending}", "--json").stdout)["corpus"]["wer"])
    rates.add(round(wt.estimate("words.jsonl").corpus.wer, 6))
    rates.add(json.loads(run("estimate", "calls.json", "calls.ctm", "--json").stdout)["corpus"]["wer"])
    assert max(rates) - min(rates) < 1e-3  # confidences are rounded in files
    run("convert", "words.jsonl", "again.json")
    assert json.loads(Path("again.json").read_text())["models"] == ["calls.json"]
    Path("calls.json").rename("elsewhere.json")
    assert "calls.json, which is not here" in refused("estimate", "words.jsonl")


@pytest.mark.usefixtures("calls")
def test_where_a_calibrator_is_of_no_use_that_is_told() -> None:
    with pytest.raises(InputError, match="this is a calibrator"):
        wt.load("calls.json")
    assert "is a calibrator" in refused("evaluate", "calls.json", "calls.ctm")
    with pytest.raises(OptionError, match="without a model"):
        wt.evaluate("calls.ctm", "moonshine-tiny", references="refs.tsv")
    with pytest.raises(OptionError, match="give their references"):
        wt.evaluate("calls.ctm", load_calibrator(Path("calls.json")))

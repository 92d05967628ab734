"""Shares of warnings by group, of audio and of words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import soundfile
from click.testing import CliRunner
from experiments.warning_rates import main, table_of

import wordtrust as wt

CORPUS = Path(wt.__file__).parent / "sample" / "corpus"


def test_shares_are_of_the_group() -> None:
    table = table_of([("a", ["noise", "noise"]), ("a", []), ("b", ["speed"]), ("b", ["speed", "noise"])])
    assert table.columns == ("", "utterances", "noise", "speed")
    assert table.rows == (("a", "2", "0.500", "0.000"), ("b", "2", "0.500", "1.000"))


def test_noise_by_its_ratio_and_words_of_a_recognizer(tmp_path: Path) -> None:
    noise = 0.1 * np.random.default_rng(1).normal(size=16_000)
    for name in ("one", "two"):
        soundfile.write(tmp_path / f"{name}.wav", noise, 16_000)
    refs = tmp_path / "refs.tsv"
    rows = ("one\tnoise\twhite noise at 3.0 dB\tx", "two\troom\techo\tx")
    refs.write_text("\n".join(["utt\tcondition\tdetail\ttext", *rows]) + "\n", "utf-8")
    done = CliRunner().invoke(main, ["sound", str(refs), "--by", "condition"], catch_exceptions=False)
    assert "| noise, under 8 dB | 1 | 1.000 |" in done.output
    assert "| room | 1 | 1.000 |" in done.output
    heard = str(CORPUS / "moonshine-tiny" / "dev.jsonl.gz")
    done = CliRunner().invoke(main, ["words", "moonshine-tiny", heard], catch_exceptions=False)
    assert "dev.jsonl.gz | 4" in done.output

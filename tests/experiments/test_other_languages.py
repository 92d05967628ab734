"""Rates of what is called not English."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from experiments.language_texts import CHOSEN_ON, TEXTS
from experiments.other_languages import Sentences, main


def test_rates_are_of_the_group(tmp_path: Path) -> None:
    word = {"word": "The", "start": 0.1, "end": 0.2}
    heard = {"nbest": [{"score": -9.0, "avg_logprob": -5.0, "words": [word]}], "best_avg": 0, "empty_logprob": -9.0}
    rows = [{"group": "de", "seconds": seconds, "speech": 1.0, "record": heard} for seconds in (6.0, 1.0, 2.5, 2.5)]
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = CliRunner().invoke(main, ["rates", str(tmp_path / "records.jsonl")], catch_exceptions=False)
    assert "| de | 4 | 0.750 | 0.250 |" in done.output
    assert set(CHOSEN_ON) < set(TEXTS)


@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="needs espeak-ng")
def test_sentences_of_a_language_have_references(tmp_path: Path) -> None:
    row, samples = Sentences("de")(("+f2", 1))
    assert (row.utt, row.speaker, row.text) == ("de-f2-1", "espeak+f2", TEXTS["de"][1])
    assert row.duration == pytest.approx(len(samples) / 16_000)
    assert row.detail.endswith("dB")

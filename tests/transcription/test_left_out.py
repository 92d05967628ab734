"""Stretches of a recording that have no words in its transcript."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.html_page import page_data
from tests.helpers.plugin_recognizer import install
from tests.helpers.speech import recording
from wordtrust.cli import cli
from wordtrust.transcription.left_out import DAMAGED, NO_SPEECH, NO_WORDS, SHORTEST, HeardSegment, left_out
from wordtrust.transcripts.words import LeftOut


def test_pauses_hallucinations_and_damage() -> None:
    heard = [HeardSegment(3.0, 5.0, True), HeardSegment(6.0, 9.0, False, "a loop"), HeardSegment(20.0, 21.0, False)]
    assert left_out(heard, [(12.0, 15.0)], 22.5) == (
        LeftOut(0.0, 3.0, NO_SPEECH), LeftOut(6.0, 9.0, "a loop"), LeftOut(9.0, 12.0, NO_SPEECH),
        LeftOut(12.0, 15.0, DAMAGED), LeftOut(15.0, 20.0, NO_SPEECH), LeftOut(20.0, 21.0, NO_WORDS),
    )  # fmt: skip
    assert left_out([], [], 5.0) == (LeftOut(0.0, 5.0, NO_SPEECH),)
    assert left_out([HeardSegment(1.0, 4.0, True)], [], None) == ()


times = st.lists(st.integers(0, 300), min_size=2, max_size=10, unique=True).map(sorted)


@given(times, times, st.integers(0, 100))
def test_every_second_has_words_or_a_reason(cuts: list[int], damage: list[int], after: int) -> None:
    heard = [HeardSegment(a / 10, b / 10, a % 3 > 0) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    damaged = [(a / 10, b / 10) for a, b in zip(damage[::2], damage[1::2], strict=False)]
    end = max(cuts[-1], damage[-1]) + after
    stretches = left_out(heard, damaged, end / 10)
    covered = [(each.start, each.end) for each in stretches] + [(each.start, each.end) for each in heard]
    silent = 0
    for tenth in range(end):
        inside = any(start <= tenth / 10 + 0.05 <= stop for start, stop in covered)
        silent = 0 if inside else silent + 1
        assert silent <= 10 * SHORTEST  # seconds are not exact: 2.8 - 0.8 is less than 2
    assert list(stretches) == sorted(stretches, key=lambda each: each.start)


def test_files_say_what_was_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", monkeypatch)
    monkeypatch.chdir(tmp_path)
    speech = recording()
    soundfile.write("talk.wav", np.concatenate([speech, np.zeros(4 * 16000, np.float32)]), 16000)
    words = ["transcribe", "talk.wav", "--recognizer", "ears", "--out", "talk.json", "--out", "talk.html"]
    done = CliRunner(catch_exceptions=False).invoke(cli, words)
    assert done.stderr.splitlines()[-2].startswith("talk.json: ")  # named as it was given
    [stretch] = json.loads(Path("talk.json").read_text())["left_out"]
    assert stretch["reason"] == NO_SPEECH
    assert stretch["end"] == pytest.approx(len(speech) / 16000 + 4, abs=0.001)
    assert page_data(Path("talk.html").read_text())["left_out"] == [stretch]

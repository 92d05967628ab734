"""Warnings of utterances: what files keep of them, and a line for each kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.html_page import page_data
from wordtrust.base.errors import InputError
from wordtrust.formats.transcript.records import SpeechWarning, record_of
from wordtrust.transcripts.reader import read_transcripts
from wordtrust.transcripts.transcript import Transcript, Transcripts
from wordtrust.transcripts.utterance import distinct_warnings
from wordtrust.transcripts.warning_summary import LEAST_SHARE, WarningSummary
from wordtrust.transcripts.words import Word

NOISE = SpeechWarning("noise", 4.2, "noise: speech is <4> dB above it")
SPEED = SpeechWarning("speed", 31.0, "very fast speech")
WORDS = (Word("so", "so", 3.0, 3.5, 0.9),)


def test_json_and_pages_keep_them(tmp_path: Path) -> None:
    talk = Transcripts([Transcript("talk", WORDS, (NOISE, SPEED)), Transcript("talk", WORDS)])
    for name in ("talk.json", "talk.jsonl"):
        talk.save(tmp_path / name)
        assert list(read_transcripts(tmp_path / name)) == list(talk)
    segments = json.loads((tmp_path / "talk.json").read_text("utf-8"))["segments"]
    assert segments[0]["warnings"] == [NOISE.to_dict(), SPEED.to_dict()]
    assert "warnings" not in segments[1]
    read_transcripts(tmp_path / "talk.json").save(tmp_path / "talk.html")
    page = page_data((tmp_path / "talk.html").read_text("utf-8"))
    assert page["records"][0]["warnings"] == [NOISE.to_dict(), SPEED.to_dict()]


@pytest.mark.parametrize("bad", ["x", [1], [{}], [{"name": "n", "figure": "x", "message": ""}]])
def test_damage_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match="warnings"):
        record_of({"utt": "u", "words": [], "warnings": bad}, "u")


@given(st.lists(st.lists(st.sampled_from([NOISE, SPEED]), unique=True, max_size=2), max_size=60), st.integers(1, 9))
def test_batches_make_no_difference_and_shares_are_counted(drawn: list[list[SpeechWarning]], size: int) -> None:
    said = [Transcript(f"u{index}", WORDS, tuple(found)) for index, found in enumerate(drawn)]
    parts = WarningSummary()
    for first in range(0, len(said), size):
        parts.add([*said[first : first + size], Transcript("silent", (), (NOISE,))])
    assert parts.lines() == WarningSummary(said).lines()
    frequent = [one for one in (NOISE, SPEED) if (count := sum(one in found for found in drawn)) and
                count >= LEAST_SHARE * len(drawn)]  # fmt: skip
    assert len(parts.lines()) == len(frequent)


def test_lines() -> None:
    alone = [Transcript("u", WORDS, (NOISE,))]
    assert WarningSummary(alone).lines() == ["noise: speech is <4> dB above it"]
    both = [*alone, Transcript("v", WORDS, (SPEED, NOISE)), Transcript("w", WORDS)]
    assert Transcripts(both).warnings == [
        "noise: 2 of 3 utterances, such as u at 0:03: noise: speech is <4> dB above it",
        "speed: 1 of 3 utterances, such as v at 0:03: very fast speech",
    ]
    other = SpeechWarning("noise", 9.0, "of another")
    assert distinct_warnings((NOISE,), (other, SPEED)) == (NOISE, SPEED)

"""Channels and speakers of speech services, from their JSON through every format that we write."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import wordtrust as wt
from tests.helpers.command_line import run
from tests.helpers.html_page import page_data
from wordtrust.transcripts.reader import read_transcripts


def word(text: str, start: float, who: int) -> dict[str, object]:
    return {"word": text, "start": start, "end": start + 0.5, "confidence": 0.95, "speaker": who}


def channel(*words: dict[str, object]) -> dict[str, object]:
    return {"alternatives": [{"transcript": " ".join(str(each["word"]) for each in words), "words": list(words)}]}


AGENT = [word("Hello,", 0.0, 0), word("harbour.", 0.6, 0), word("Four.", 4.0, 0)]
CALLER = [word("Which", 2.0, 0), word("pier?", 2.6, 0)]


@pytest.fixture
def call(tmp_path: Path) -> Path:
    """What Deepgram answers for a call with a channel for each side."""
    channels = [channel(*({**each, "speaker": None} for each in said)) for said in (AGENT, CALLER)]
    path = tmp_path / "call.json"
    path.write_text(json.dumps({"metadata": {"request_id": "1", "sha256": "2"}, "results": {"channels": channels}}))
    return path


def converted(call: Path, ending: str, *options: str) -> Path:
    out = call.parent / f"out.{ending}"
    run("convert", call, out, *options)
    return out


@pytest.mark.parametrize("ending", ["json", "jsonl", "parquet"])
def test_our_own_files_name_channels(call: Path, ending: str) -> None:
    read = read_transcripts(converted(call, ending))
    joined: dict[tuple[str, str | None], list[str]] = {}
    for segment in read:
        joined.setdefault((segment.utt, segment.channel), []).append(segment.text)
    assert {key: " ".join(texts) for key, texts in joined.items()} == {
        ("call-0", "0"): "Hello, harbour. Four.", ("call-1", "1"): "Which pier?",
    }  # fmt: skip
    again = call.parent / f"again.{ending}"
    read.save(again)
    assert [(each.utt, each.channel) for each in read_transcripts(again)] == [
        (each.utt, each.channel) for each in read
    ]
    if ending == "parquet":
        assert pq.read_table(again).column("channel").to_pylist() == ["0"] * 3 + ["1"] * 2


def test_ctm_has_the_file_and_the_channel(call: Path) -> None:
    ours = converted(call, "json")
    for source in (call, ours):
        out = call.parent / "out.ctm"
        run("convert", source, out, "--overwrite")
        assert [line.split()[:2] for line in out.read_text().splitlines()] == [["call", "0"]] * 3 + [
            ["call", "1"]
        ] * 2
    assert [lattice.utt for lattice in wt.read(out)] == ["call-0", "call-1"]


def test_subtitles_are_a_dialogue(call: Path) -> None:
    blocks = converted(call, "srt").read_text().split("\n\n")
    assert [block.split("\n", 2)[2] for block in blocks[:-1]] == [
        "Channel 0: Hello, harbour.", "Channel 1: Which pier?", "Channel 0: Four.",
    ]  # fmt: skip
    voices = [line for line in converted(call, "vtt", "--plain").read_text().splitlines() if line.startswith("<v")]
    assert voices == ["<v Channel 0>Hello, harbour.", "<v Channel 1>Which pier?", "<v Channel 0>Four."]


def test_text_and_page(call: Path) -> None:
    text = converted(call, "txt").read_text()
    assert text.startswith("Channel 0: Hello, harbour.")
    assert "Channel 1: Which pier?" in text
    records = page_data(converted(call, "html").read_text())["records"]
    assert {record["utt"]: record["channel"] for record in records} == {"call-0": "0", "call-1": "1"}


def test_speakers_come_before_channels(call: Path) -> None:
    document = json.loads(call.read_text())
    document["results"]["channels"] = [channel(*AGENT), channel(*({**each, "speaker": 1} for each in CALLER))]
    call.write_text(json.dumps(document))
    assert converted(call, "srt").read_text().split("\n")[2] == "0: Hello, harbour."


def test_one_channel_needs_no_name(call: Path) -> None:
    document = json.loads(call.read_text())
    document["results"]["channels"] = document["results"]["channels"][:1]
    call.write_text(json.dumps(document))
    assert converted(call, "txt").read_text().startswith("Hello, harbour.")
    assert read_transcripts(converted(call, "json"))[0].channel is None


def test_speakers_are_kept_beside_alternatives(call: Path) -> None:
    said = [AGENT[0], AGENT[1], {**CALLER[0], "speaker": 1}, {**CALLER[1], "speaker": 1}]
    heard = channel(*said)
    heard["alternatives"] = [*heard["alternatives"], *channel(word("Hollow", 0.0, 0), *said[1:])["alternatives"]]  # type: ignore[misc]
    call.write_text(json.dumps({"metadata": {"request_id": "1", "sha256": "2"}, "results": {"channels": [heard]}}))
    read = read_transcripts(call)
    assert [(each.speaker, each.text) for each in read] == [("0", "Hello, harbour."), ("1", "Which pier?")]
    assert [other.word for other in read[0].words[0].alternatives] == ["Hollow"]

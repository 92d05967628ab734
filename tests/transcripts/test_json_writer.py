"""One JSON document about a recording."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.transcripts import transcripts as made
from wordtrust import __version__
from wordtrust.transcripts.transcript import Transcript
from wordtrust.transcripts.words import Alternative, Word
from wordtrust.transcripts.writer import TranscriptWriter

FIRST = Transcript(
    "talk", (Word("Sit", "sit", 0.5, 0.8, 0.4, (Alternative("sat", 0.3),)), Word("x", "x", 0.8, 1.0, 0.9))
)
SECOND = Transcript("talk", (Word("there.", "there", 2.0, 2.5, 0.8),))
ABOUT = {"recognizer": {"name": "moonshine-tiny", "version": "0.0.65"}, "model": "mine"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples of a property."""
    return tmp_path_factory.mktemp("json")


def test_a_recording(tmp_path: Path) -> None:
    about: dict[str, object] = dict(ABOUT)
    with TranscriptWriter(tmp_path / "a.json", about=about) as out:
        out.add([FIRST])
        about["file"] = Path("talk.wav")
        about["duration"] = 3.5  # known at the end only
        out.add([SECOND, Transcript("talk", ())])
    found = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert list(found) == [
        "recognizer",
        "model",
        "file",
        "duration",
        "wordtrust",
        "utt",
        "text",
        "confidence",
        "mean_confidence",
        "segments",
    ]
    segments = found.pop("segments")
    assert found == {
        **ABOUT, "file": "talk.wav", "duration": 3.5, "wordtrust": __version__, "utt": "talk",
        "text": "Sit x\nthere.", "confidence": 0.7, "mean_confidence": 0.7,
    }  # fmt: skip
    assert [(each.get("start"), each.get("end")) for each in segments] == [(0.5, 1.0), (2.0, 2.5), (None, None)]
    assert "start" not in segments[2]
    assert segments[0] == {**FIRST.to_dict(), "start": 0.5, "end": 1.0}


def test_several_recordings_and_none(tmp_path: Path) -> None:
    with TranscriptWriter(tmp_path / "a.json") as out:
        out.add([FIRST, Transcript("other", SECOND.words)])
    found = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert "utt" not in found
    assert [each["utt"] for each in found["segments"]] == ["talk", "other"]
    with TranscriptWriter(tmp_path / "b.json"):
        pass
    empty = json.loads((tmp_path / "b.json").read_text("utf-8"))
    nothing = {"confidence": None, "mean_confidence": None}
    assert empty == {"wordtrust": __version__, "text": "", **nothing, "segments": []}


@settings(max_examples=50)
@given(st.lists(made(max_words=8), max_size=3), st.text(max_size=5))
def test_all_of_it_comes_back(folder: Path, segments: list[Transcript], name: str) -> None:
    for ending in ("json", "json.gz"):
        with TranscriptWriter(folder / f"a.{ending}", recordings=True, about={name: [name]}) as out:
            out.add(segments)
    text = (folder / "a.json").read_bytes()
    assert gzip.decompress((folder / "a.json.gz").read_bytes()) == text
    assert len(text.decode("utf-8").splitlines()) == text.count(b"\n")  # no line ends inside words
    found = json.loads(text)
    whole = json.dumps([each.to_dict() for each in segments], ensure_ascii=False).encode("utf-8", "replace")
    plain = [{key: value for key, value in each.items() if key not in ("start", "end")} for each in found["segments"]]
    assert plain == json.loads(whole)
    for each, segment in zip(segments, found["segments"], strict=True):
        times = {"start": round(each.words[0].start, 3), "end": round(each.words[-1].end, 3)} if each.words else {}
        assert {key: segment[key] for key in ("start", "end") if key in segment} == times

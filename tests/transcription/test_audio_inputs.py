"""What `wordtrust transcribe` takes: films, folders, stdin; files of which most is lost."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.command_line import wordtrust
from tests.helpers.media import write_media
from tests.helpers.plugin_recognizer import install
from tests.helpers.speech import recording
from wordtrust.base.errors import InputError


@pytest.fixture(autouse=True)
def ears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", monkeypatch)


def transcribe(*words: object, code: int = 0) -> str:
    return wordtrust("transcribe", *words, "--recognizer", "ears", code=code).stderr


def test_a_folder_of_films_and_recordings(tmp_path: Path) -> None:
    folder = tmp_path / "calls"
    (folder / "old").mkdir(parents=True)
    (folder / "notes.txt").write_text("not audio")
    write_media(folder / "film.mkv", recording(), np.zeros_like(recording()))
    write_media(folder / "old" / "phone.M4A".lower(), recording())
    said = transcribe(folder, "--out", tmp_path / "{name}.json")
    assert "film.mkv: there are 2 sound tracks" in said
    for name in ("film", "phone"):
        assert json.loads((tmp_path / f"{name}.json").read_text())["segments"]
    (tmp_path / "empty").mkdir()
    assert "there are no audio files in this folder" in transcribe(tmp_path / "empty", code=1)
    with pytest.raises(InputError, match="no audio files"):
        wt.transcribe(tmp_path / "empty", "ears")


def test_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = write_media(tmp_path / "talk.m4a", recording()), tmp_path / "w.json"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(path.read_bytes())))
    transcribe("-", "--out", out)
    document = json.loads(out.read_text())
    assert (document["utt"], document["file"]) == ("stdin", "-")
    assert document["segments"]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"not audio")))
    said = transcribe("-", code=1)
    assert said.count("\n") == 1
    assert said.startswith("wordtrust: -: no audio that can be read")


def test_a_file_of_which_most_is_lost_is_no_success(tmp_path: Path) -> None:
    path = write_media(tmp_path / "cut.m4a", recording(), options={"movflags": "faststart"})
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 45 // 100])
    said = transcribe(path, "--out", tmp_path / "w.json", code=1)
    assert "cut.m4a: most of it could not be read: " in said.splitlines()[-1]
    document = json.loads((tmp_path / "w.json").read_text())
    assert document["segments"]  # what could be read is there
    assert document["left_out"][-1]["reason"] == "the file is damaged here"
    assert "skipped: " in transcribe(path, "--skip-bad", "--out", tmp_path / "w.json", "--overwrite")

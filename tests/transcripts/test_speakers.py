"""Who said it, in every format that can hold it, whatever the name is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordtrust as wt
from tests.helpers.html_page import page_data
from tests.helpers.transcripts import hostile
from wordtrust.base.visible_text import visible
from wordtrust.formats.transcript.records import Word
from wordtrust.transcripts.reader import read_transcripts
from wordtrust.transcripts.transcript import Transcript, Transcripts

SAID = [
    Transcript(
        "talk", (Word("The", "the", 0.0, 0.5, 0.9), Word("ferry.", "ferry", 0.5, 1.0, 0.3)), speaker="Ann Lee"
    ),
    Transcript("talk", (Word("Which", "which", 1.0, 1.5, 0.9),), speaker="Bo"),
    Transcript("talk", (Word("pier?", "pier", 1.5, 2.0, 0.9),), speaker="Bo"),
    Transcript("talk", (Word("Four.", "four", 2.0, 2.5, 0.9),)),
]


def saved(folder: Path, ending: str, found: list[Transcript]) -> Path:
    path = folder / f"talk.{ending}"
    Transcripts(found).save(path)
    return path


@pytest.mark.parametrize("ending", ["json", "jsonl", "parquet"])
def test_our_own_files_keep_speakers(ending: str, tmp_path: Path) -> None:
    path = saved(tmp_path, ending, SAID)
    assert [(each.speaker, each.text) for each in read_transcripts(path)] == [
        ("Ann Lee", "The ferry."), ("Bo", "Which"), ("Bo", "pier?"), (None, "Four."),
    ]  # fmt: skip


def test_text_names_speakers_where_they_begin(tmp_path: Path) -> None:
    assert saved(tmp_path, "txt", SAID).read_text() == "Ann Lee: The ferry.\nBo: Which\npier?\nFour.\n"


def test_subtitles_name_speakers(tmp_path: Path) -> None:
    vtt = saved(tmp_path, "vtt", SAID).read_text()
    assert "\n<v Ann Lee><c.high>The</c> <c.low>ferry.</c>\n" in vtt
    assert "\n<c.high>Four.</c>\n" in vtt
    assert "\nBo: Which\n" in saved(tmp_path, "srt", SAID).read_text()


@pytest.mark.parametrize("ending", ["srt", "vtt"])
def test_subtitles_are_read_with_the_speakers_that_were_written(ending: str, tmp_path: Path) -> None:
    (lattice,) = wt.read(saved(tmp_path, ending, SAID[:3]))
    assert " ".join(surface for surface in lattice.surfaces if surface) == "The ferry. Which pier?"


def test_the_page_names_speakers(tmp_path: Path) -> None:
    assert page_data(saved(tmp_path, "html", SAID).read_text())["records"][0]["speaker"] == "Ann Lee"


@settings(max_examples=40, deadline=None)
@given(st.lists(hostile, min_size=1, max_size=3))
def test_no_name_of_a_speaker_breaks_a_file(folder: Path, names: list[str]) -> None:
    found = [replace(SAID[0], speaker=name or None) for name in names]
    (lattice,) = wt.read(saved(folder, "vtt", found))
    assert [word for word in lattice.words if word] == ["the", "ferry"] * len(names)
    assert saved(folder, "srt", found).read_text().count("-->") == len(names)
    page = saved(folder, "html", found).read_text()
    assert page.count("<script") == 2
    expected = [name.encode("utf-8", "replace").decode() if name else None for name in names]
    for ending in ("json", "jsonl", "parquet"):
        read = [each.speaker for each in read_transcripts(saved(folder, ending, found))]
        assert [visible(each or "") for each in read] == [visible(each or "") for each in expected]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("speakers")

"""Transcripts as people use them in a notebook: like lists, saved by name, as data frames, given to wordtrust."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import wordtrust as wt
from tests.helpers.html_page import HtmlPage
from tests.transcripts.test_reader import ENDINGS, TALK
from wordtrust.transcripts.transcript import Transcript, Transcripts
from wordtrust.transcripts.words import Word


def test_a_transcript_is_a_sequence_of_words() -> None:
    first = TALK[0]
    assert len(first) == 3
    assert [word.word for word in first] == ["In", "Middle-", "earth."]
    assert (first[0].word, first[-1].word, len(first[1:])) == ("In", "earth.", 2)
    assert not Transcript("silent", ())


def test_lists_of_transcripts_stay_lists_of_transcripts() -> None:
    assert isinstance(TALK[:2], Transcripts)
    assert isinstance(TALK + TALK, Transcripts)
    assert TALK[:2].about == TALK.about
    assert list(TALK) == TALK
    assert TALK.text == "In Middle-earth.\n42\nEnd."
    assert TALK.confidence == pytest.approx(sum(word.confidence for word in TALK.words) / 6)
    shown = repr(TALK + TALK)
    assert shown.startswith("<Transcripts: 6, with 12 words, mean confidence 0.73\n  In [?Middle-]earth.\n")
    assert shown.endswith("\n  ...>")
    assert "and 1 more" in Transcripts([TALK[0]] * 101)._repr_html_()
    assert Transcripts()._repr_html_() == "(no transcripts)"


def test_notebook_view_of_segments_has_one_legend_names_where_they_change_and_times() -> None:
    def segment(name: str, start: float, *words: str) -> Transcript:
        return Transcript(
            name, tuple(Word(word, word, start + n, start + n + 1, 0.75) for n, word in enumerate(words))
        )

    segments = [segment("talk", 0, "a", "b"), segment("talk", 61, "c"), segment("<b>", 3700, "d"), segment("e", 0)]
    page = HtmlPage(Transcripts(segments)._repr_html_())
    assert page.texts == [
        "4 transcripts, 4 words, mean confidence 0.75 (", "under 50%", ", ", "under 90%", ")",
        "talk, 0:00 to 0:02", "a", " ", "b", "1:01 to 1:02", "c", "<b>, 1:01:40 to 1:01:41", "d", "e", "(no words)",
    ]  # fmt: skip


def test_on_the_terminal_each_has_a_line() -> None:
    silent = Transcripts([*TALK, Transcript("silent", ())])
    assert silent.to_rich().plain.splitlines() == [each.to_rich().plain for each in TALK]
    assert silent.to_rich().spans


def test_what_has_no_words_has_no_confidence(tmp_path: Path) -> None:
    """As docs/json.md says: null."""
    Transcripts([Transcript("silent", ())]).save(tmp_path / "a.json")
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["confidence"] is document["segments"][0]["confidence"] is None


@pytest.mark.parametrize("ending", ENDINGS)
def test_saved_by_name(ending: str, tmp_path: Path) -> None:
    TALK.save(str(tmp_path / f"talk.{ending}"))
    TALK[0].save(tmp_path / f"one.{ending}")
    assert (tmp_path / f"talk.{ending}").stat().st_size > (tmp_path / f"one.{ending}").stat().st_size > 10
    with pytest.raises(wt.OptionError, match=r"should end in \.txt"):
        TALK.save(tmp_path / "talk.docx")


def test_without_pandas_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    for each in (TALK, TALK[0]):
        with pytest.raises(wt.OptionError, match=r'pip install pandas .*\.save\("words\.parquet"\)'):
            each.to_pandas()


def test_a_data_frame_has_a_row_for_each_word() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = TALK.to_pandas()
    assert frame["word"].tolist() == [word.word for word in TALK.words]
    assert frame["index"].tolist() == [0, 1, 2, 0, 1, 0]
    assert frame["confidence"].tolist() == [word.confidence for word in TALK.words]
    assert len(TALK[0].to_pandas()) == 3


def test_transcripts_are_evaluated_as_their_file_is(tmp_path: Path) -> None:
    (tmp_path / "ref.tsv").write_text("utt\tspeaker\ttext\ntalk\ts\tIn middle earth forty three end\n")
    TALK.save(tmp_path / "talk.parquet")
    by_file = wt.evaluate(tmp_path / "talk.parquet", references=tmp_path / "ref.tsv").to_dict()
    assert by_file["wer"]["one_best"] == pytest.approx(1 / 6)
    for given in (TALK, list(TALK), [TALK]):
        assert wt.evaluate(given, references=tmp_path / "ref.tsv").to_dict() == by_file


def test_what_is_a_transcript_is_not_written_as_a_lattice(tmp_path: Path) -> None:
    wrong: list[Any] = [TALK, TALK[0], [TALK[0]]]
    for given in wrong:
        with pytest.raises(TypeError, match=r"these are transcripts: they are written with \.save"):
            wt.write(given, tmp_path / "a.jsonl")


@pytest.mark.parametrize("given", [None, 7, {"nbest": []}, [None], b"a.json"])
def test_what_is_no_path_is_told(given: Any) -> None:
    for read in (wt.read, wt.read_transcripts):
        with pytest.raises(TypeError, match=r"the name of a file.*wt\.from_nbest"):
            read(given)
    with pytest.raises(TypeError):
        wt.evaluate(given, references={})

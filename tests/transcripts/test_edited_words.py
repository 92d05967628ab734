"""Words that a person checked or wrote: every file of ours keeps them, and everything that reads words has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordtrust as wt
from tests.helpers.command_line import run
from tests.helpers.transcripts import hostile
from wordtrust.base.errors import InputError
from wordtrust.formats.transcript.records import OriginalWord, Word, record_of
from wordtrust.transcripts.reader import read_transcripts
from wordtrust.transcripts.transcript import Transcript, Transcripts
from wordtrust.transcripts.words import Alternative

EDITED = Transcript(
    "talk",
    (
        Word("In", "in", 0.0, 0.5, 0.5, (Alternative("An", 0.2),)),
        Word("Middle-earth,", "middle earth", 0.5, 1.0, 1.0, (), checked=True, original=OriginalWord("middle", 0.25)),
        Word("now", "now", 1.0, 1.5, 1.0, (), checked=True, original=OriginalWord("", None)),
        Word("then.", "then", 1.5, 2.0, 1.0, (), checked=True),
    ),
)


@pytest.mark.parametrize("ending", ["json", "jsonl", "parquet"])
def test_our_files_keep_what_a_person_did(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"talk.{ending}"
    Transcripts([EDITED]).save(path)
    assert list(read_transcripts(path)) == [EDITED]
    (lattice,) = wt.read(path)
    assert [word for word in lattice.words if word] == ["in", "middle", "earth", "now", "then"]


def test_json_says_it_where_it_is_so() -> None:
    words = EDITED.to_dict()["words"]
    assert [word.get("checked") for word in words] == [None, True, True, True]
    assert [word.get("original") for word in words] == [
        None, {"word": "middle", "confidence": 0.25}, {"word": "", "confidence": None}, None,
    ]  # fmt: skip


def test_whoever_writes_words_need_not_normalise_them() -> None:
    item = {"word": "Café-Bar!", "norm": "?", "start": 0, "end": 1, "confidence": 1, "original": {"word": "x"}}
    (word,) = record_of({"words": [item]}, "talk").words
    assert (word.norm, word.original) == ("cafe bar", OriginalWord("x", None))


@pytest.mark.parametrize(
    "bad",
    [
        {"checked": 1}, {"checked": "yes"}, {"original": "x"}, {"original": {}},
        {"original": {"word": "x", "confidence": 2}}, {"original": {"word": 3}},
    ],
)  # fmt: skip
def test_damage_is_refused(bad: dict[str, Any]) -> None:
    item = {"word": "x", "start": 0, "end": 1, "confidence": 1} | bad
    with pytest.raises(InputError, match=r"checked|original"):
        record_of({"words": [item]}, "talk")


def test_damaged_columns_are_refused(tmp_path: Path) -> None:
    Transcripts([EDITED]).save(tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    at = table.schema.get_field_index("original")
    long = [{"word": "x" * 10_000, "confidence": 0.5}, None, None, None]
    for column in (pa.array(["x"] * 4), pa.array(long)):
        pq.write_table(table.set_column(at, "original", column), tmp_path / "b.parquet")
        with pytest.raises(InputError, match="original"):
            read_transcripts(tmp_path / "b.parquet")


@settings(max_examples=40)
@given(st.lists(st.tuples(hostile, hostile, st.booleans(), st.none() | st.floats(0, 1)), min_size=1, max_size=4))
def test_any_edit_comes_back(folder: Path, edits: list[tuple[str, str, bool, float | None]]) -> None:
    made = tuple(
        Word(text, "x", k, k + 1, 1.0, (), checked=checked, original=OriginalWord(was, sure))
        for k, (text, was, checked, sure) in enumerate(edits)
    )
    Transcripts([Transcript("talk", made)]).save(folder / "a.jsonl")
    (read,) = read_transcripts(folder / "a.jsonl")
    for word, expected in zip(read.words, made, strict=True):
        assert word.original is not None
        assert expected.original is not None
        assert word.checked == expected.checked
        assert word.original.word == expected.original.word.encode("utf-8", "replace").decode()
        assert word.word == expected.word.encode("utf-8", "replace").decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("edits")


def test_commands_read_edited_words(tmp_path: Path) -> None:
    Transcripts([EDITED]).save(tmp_path / "talk.json")
    (tmp_path / "ref.tsv").write_text("utt\ttext\ntalk\tin middle earth now then\n")
    done = run("evaluate", "--scores", tmp_path / "talk.json", "--ref", tmp_path / "ref.tsv", "--json")
    assert json.loads(done.stdout)["wer"]["one_best"] == 0
    assert json.loads(done.stdout)["words"] == 5
    run("convert", tmp_path / "talk.json", "--out", tmp_path / "talk.srt")
    assert "Middle-earth" in (tmp_path / "talk.srt").read_text()

"""Files of transcripts: each kind read back by something else, and nothing left after an error."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordtrust as wt
from tests.helpers.html_page import page_data
from tests.helpers.reading import timed_words
from tests.helpers.strategies import lattices
from tests.helpers.transcripts import NASTY
from tests.helpers.transcripts import transcripts as made
from wordtrust.base.errors import OptionError
from wordtrust.formats.transcript.records import SpeechWarning
from wordtrust.lattices.lattice import Lattice
from wordtrust.lattices.paths import one_best
from wordtrust.lattices.text import UNKNOWN
from wordtrust.transcripts import parquet_writer
from wordtrust.transcripts.transcript import Transcript, transcripts
from wordtrust.transcripts.words import Alternative, Word
from wordtrust.transcripts.writer import TranscriptWriter

HARBOUR = Transcript(
    "harbour 1",
    (
        Word("the", "the", 0.5, 0.8, 0.98),
        Word("Harbour-", "harbour", 0.8, 1.25, 0.7, (Alternative("harder", 0.2),), joins_next=True),
        Word("<bell>", "bell", 1.25, 1.6, 0.3),
        Word("rang", "rang", 3.2, 3.6005, 0.9),
    ),
)
SILENT = Transcript("silent", ())
NOISY = replace(HARBOUR, warnings=(SpeechWarning("noise", 3.5, "noise nearly as loud as the <speech>"),))
many = st.lists(made(max_words=8), max_size=3)


def written(found: list[Transcript], path: Path) -> bytes:
    with TranscriptWriter(path) as out:
        for each in found:
            out.add([each])
    return path.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples of a property."""
    return tmp_path_factory.mktemp("transcripts")


@settings(max_examples=50)
@given(many)
def test_jsonl_is_a_line_for_each_utterance(folder: Path, found: list[Transcript]) -> None:
    text = written(found, folder / "a.jsonl").decode("utf-8")
    whole = json.dumps([each.to_dict() for each in found], ensure_ascii=False).encode("utf-8", "replace")
    assert [json.loads(line) for line in text.splitlines()] == json.loads(whole)
    assert gzip.decompress(written(found, folder / "a.jsonl.gz")).decode("utf-8") == text


def test_ctm(tmp_path: Path) -> None:
    text = written([HARBOUR, SILENT], tmp_path / "a.ctm").decode()
    assert text == (
        "harbour_1 1 0.500 0.300 the 0.980000\n"
        "harbour_1 1 0.800 0.450 Harbour- 0.700000\n"
        "harbour_1 1 1.250 0.350 bell 0.300000\n"  # <bell> would be a noise
        "harbour_1 1 3.200 0.400 rang 0.900000\n"
        ";; silent has no words\n"
    )
    assert gzip.decompress(written([HARBOUR, SILENT], tmp_path / "a.ctm.gz")).decode() == text


@settings(max_examples=50)
@given(lattices(score_sets=(("posterior",),)), st.sampled_from(["u", "a b", ";;c", *NASTY]))
def test_our_reader_takes_ctm_back(folder: Path, lattice: Lattice, utt: str) -> None:
    batch = lattice.batch()
    assert batch.posterior is not None
    words = transcripts(batch, batch.posterior, one_best(batch))[0].words
    text = written([Transcript(utt, words)], folder / "a.ctm")
    if not words:
        assert text.startswith(b";; ")
        return
    again = wt.read(folder / "a.ctm", format="ctm")[0]
    assert [word for word in again.words if word] == [word.norm for word in words]
    assert again.posterior is not None
    sure = again.posterior[~again.silence].tolist()
    assert sure == pytest.approx([word.confidence for word in words], abs=1e-6)


def test_our_reader_takes_times_back(tmp_path: Path) -> None:
    written([HARBOUR], tmp_path / "a.ctm")
    found = timed_words(wt.read(tmp_path / "a.ctm")[0])
    expected = [("the", 0.5, 0.8), ("Harbour-", 0.8, 1.25), ("bell", 1.25, 1.6), ("rang", 3.2, 3.6)]
    assert [word for word, _, _ in found] == [word for word, _, _ in expected]
    assert [times for _, *times in found] == [pytest.approx(times, abs=1e-3) for _, *times in expected]


def test_ctm_of_what_it_has_a_meaning_for(tmp_path: Path) -> None:
    tokens = ("<ALT>", ";;", "[noise]", "<unk>", "C++")
    words = [Word(token, norm, k, k + 1, 0.5) for k, (token, norm) in enumerate(zip(tokens, "abcde", strict=True))]
    words += [Word("<b>", "<b>", 5, 6, 0.5), Word("<UNK>", UNKNOWN, 6, 7, 0.5)]
    lines = written([Transcript("u", tuple(words))], tmp_path / "a.ctm").decode().splitlines()
    assert [line.split()[4] for line in lines] == ["a", "b", "c", "d", "C++", "<unk>", "<UNK>"]


def test_two_utterances_of_one_name_cannot_be_told_apart_in_ctm(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="would be called 'a_b'"):
        written([Transcript("a b", ()), Transcript("a_b", ())], tmp_path / "a.ctm")
    assert not list(tmp_path.iterdir())


def test_segments_of_a_recording_share_a_name_in_ctm(tmp_path: Path) -> None:
    first, second = (Transcript("a b", (Word("w", "w", start, start + 1, 0.5),)) for start in (1.0, 4.0))
    with TranscriptWriter(tmp_path / "a.ctm", recordings=True) as out:
        out.add([SILENT, first, Transcript("a b", ())])
        out.add([second, SILENT, HARBOUR])
    lines = (tmp_path / "a.ctm").read_text().splitlines()
    assert lines[:2] == ["a_b 1 1.000 1.000 w 0.500000", "a_b 1 4.000 1.000 w 0.500000"]
    assert [line.split()[0] for line in lines[2:]] == ["harbour_1"] * 4 + [";;"]
    assert lines[-1] == ";; silent has no words"
    assert len(wt.read(tmp_path / "a.ctm")) == 2
    (tmp_path / "a.ctm").unlink()
    with (
        pytest.raises(OptionError, match="two recordings would be called 'a_b'"),
        TranscriptWriter(tmp_path / "a.ctm", recordings=True) as out,
    ):
        out.add([second, first])
    assert not list(tmp_path.iterdir())


def test_channels_of_a_file_have_a_field_in_ctm(tmp_path: Path) -> None:
    said = [Transcript(name, (Word("w", "w", 1.0, 2.0, 0.5),)) for name in ("call-1", "call-2", "talk")]
    channels = {"call-1": ("call", "1"), "call-2": ("call", "2"), "call-3": ("call", "3")}
    with TranscriptWriter(tmp_path / "a.ctm", recordings=True, channels=channels) as out:
        out.add([*said, Transcript("call-3", ())])
    assert (tmp_path / "a.ctm").read_text().splitlines() == [
        "call 1 1.000 1.000 w 0.500000",
        "call 2 1.000 1.000 w 0.500000",
        "talk 1 1.000 1.000 w 0.500000",
        ";; call-3 has no words",
    ]
    assert [each.utt for each in wt.read(tmp_path / "a.ctm")] == ["call-1", "call-2", "talk"]


@settings(max_examples=50)
@given(many)
def test_parquet_is_a_row_for_each_word(folder: Path, found: list[Transcript]) -> None:
    written(found, folder / "a.parquet")
    rows = pq.read_table(folder / "a.parquet").to_pylist()
    assert rows == [
        {
            "utt": whole(each.utt), "index": index, "word": whole(word.word), "norm": whole(word.norm),
            "start": word.start, "end": word.end, "confidence": word.confidence,
            "alternatives": [{"word": whole(each.word), "confidence": each.confidence} for each in word.alternatives],
            "joins_next": word.joins_next, "missing_before": None, "missing_end": None, "utterance_confidence": None,
            "accepted": word.accepted, "warnings": [], "speaker": None, "heard": None, "made_up": None,
            "review_expected": None, "review_found": None, "channel": None, "checked": False, "original": None,
        }
        for each in found
        for index, word in enumerate(each.words)
    ]  # fmt: skip


def whole(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "?", text)


def test_parquet_is_written_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_writer, "GROUP_WORDS", 10)
    written([HARBOUR] * 8, tmp_path / "a.parquet")
    info = pq.ParquetFile(tmp_path / "a.parquet").metadata
    assert [info.row_group(k).num_rows for k in range(info.num_row_groups)] == [12, 12, 8]
    assert info.row_group(0).column(0).compression == "ZSTD"


def test_warnings_are_in_every_format_that_has_a_place_for_them(tmp_path: Path) -> None:
    told = "warning: noise nearly as loud as the <speech> (noise 3.5)"
    ctm = written([NOISY], tmp_path / "a.ctm").decode()
    assert ctm == f";; harbour_1 1 0.500 {told}\n" + written([HARBOUR], tmp_path / "b.ctm").decode()
    escaped = told.replace("<", "&lt;").replace(">", "&gt;")
    assert f"\nNOTE {escaped}\n\n" in written([NOISY], tmp_path / "a.vtt").decode()
    page = page_data(written([NOISY], tmp_path / "a.html").decode())
    assert page["records"][0]["warnings"][0]["message"] == "noise nearly as loud as the <speech>"
    assert "Warning: noise nearly as loud as the &lt;speech&gt;" in NOISY._repr_html_()
    written([NOISY, HARBOUR], tmp_path / "a.parquet")
    assert [each.warnings for each in wt.read_transcripts(tmp_path / "a.parquet")] == [NOISY.warnings, ()]
    assert written([NOISY], tmp_path / "a.srt") == written([HARBOUR], tmp_path / "b.srt")


@pytest.mark.parametrize("ending", ["jsonl", "json", "ctm", "vtt", "srt", "html", "parquet", "jsonl.gz", "ctm.gz"])
def test_nothing_is_left_after_an_error(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_bytes(b"old")
    with pytest.raises(AttributeError), TranscriptWriter(path) as out:
        out.add([HARBOUR, None])  # type: ignore[list-item]
    assert path.read_bytes() == b"old"
    with TranscriptWriter(path) as out:
        out.add([SILENT])
        assert path.read_bytes() == b"old"
    assert path.read_bytes() != b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", ["jsonl", "ctm", "vtt", "srt", "parquet"])
def test_no_utterances_make_a_valid_file(tmp_path: Path, ending: str) -> None:
    text = written([], tmp_path / f"a.{ending}")
    if ending == "parquet":
        assert pq.read_table(tmp_path / "a.parquet").num_rows == 0
    else:
        assert text.startswith(b"WEBVTT") if ending == "vtt" else not text


@pytest.mark.parametrize("name", ["words.text", "words", "words.vtt.gz", "words.html.gz", "words.parquet.gz"])
def test_other_endings(tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionError, match=r"end in \.txt, \.jsonl, \.json, \.ctm, \.stm, .* \.html or \.parquet"):
        TranscriptWriter(tmp_path / name)


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with (
        pytest.raises(OptionError, match="cannot be written: No such file"),
        TranscriptWriter(tmp_path / "no" / "a.ctm"),
    ):
        pass
    (tmp_path / "a.ctm").mkdir()
    with pytest.raises(OptionError, match="it is a folder"), TranscriptWriter(tmp_path / "a.ctm"):
        pass


def test_text_has_a_line_for_each_segment_and_paragraphs_at_long_pauses(tmp_path: Path) -> None:
    def said(utt: str, text: str, start: float) -> Transcript:
        return Transcript(utt, (Word(text, text, start, start + 1, 0.3),))

    found = [
        said("a", "one", 0),
        said("a", "two", 2),
        said("a", "three", 7),
        Transcript("a", ()),
        said("b", "x\ny", 0),
    ]
    assert written(found, tmp_path / "a.txt").decode() == "one\ntwo\n\nthree\nx y\n"
    assert written([HARBOUR, SILENT, HARBOUR], tmp_path / "a.TXT").decode() == (
        "the Harbour-<bell> rang\n\nthe Harbour-<bell> rang\n"
    )

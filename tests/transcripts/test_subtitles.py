"""Subtitles of recordings: read again by plain readers of SubRip and WebVTT, whatever the words hold."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.transcripts import transcripts as made
from wordtrust.base.errors import OptionError
from wordtrust.lattices.text import visible
from wordtrust.transcripts.transcript import Transcript
from wordtrust.transcripts.words import Word, level, spelled
from wordtrust.transcripts.writer import TranscriptWriter

FIRST = Transcript(
    "talk",
    (
        Word("The", "the", 0.5, 0.8, 0.98),
        Word("Harbour-", "harbour", 0.8, 1.25, 0.7, joins_next=True),
        Word("<bell>", "bell", 1.25, 1.6, 0.3),
    ),
)
SECOND = Transcript("talk", (Word("rang.", "rang", 3_723.2, 3_723.6005, 0.9),))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples of a property."""
    return tmp_path_factory.mktemp("subtitles")


def written(segments: list[Transcript], path: Path) -> str:
    with TranscriptWriter(path, recordings=True) as out:
        for each in segments:
            out.add([each])
    return path.read_bytes().decode("utf-8")


def one_recording(segments: list[Transcript]) -> list[Transcript]:
    """Segments of one recording, one after the other."""
    found, at = [], 0.0
    for each in segments:
        words = tuple(replace(word, start=word.start + at, end=word.end + at) for word in each.words)
        at = words[-1].end + 0.1 if words else at
        found.append(Transcript("talk", words))
    return found


many = st.lists(made(max_words=9), max_size=4).map(one_recording)
STAMP = re.compile(r"(\d{2,}):([0-5]\d):([0-5]\d)([.,])(\d{3})")
TAG = re.compile(r'<font color="#[0-9a-f]{6}">|</font>|<u>|</u>')


def seconds(stamp: str, point: str) -> float:
    match = STAMP.fullmatch(stamp)
    assert match, stamp
    hours, minutes, rest, found, thousandths = match.groups()
    assert found == point
    return int(hours) * 3600 + int(minutes) * 60 + int(rest) + int(thousandths) / 1000


def parsed_srt(text: str) -> list[tuple[float, float, str]]:
    """Cues of a SubRip file, as players read them: a number, a line with times, text up to an empty line."""
    found = []
    assert not re.search("[\x00\r\ufeff]", text)
    for number, block in enumerate(text.split("\n\n")[:-1], start=1):
        counted, times, payload = block.split("\n")
        assert counted == str(number)
        start, end = (seconds(each, ",") for each in times.split(" --> "))
        assert start < end
        found.append((start, end, payload))
    assert text.endswith("\n\n") or not text
    return found


def test_srt(tmp_path: Path) -> None:
    assert written([FIRST, SECOND], tmp_path / "a.srt") == (
        "1\n00:00:00,500 --> 00:00:01,600\n"
        'The <font color="#ffe082">Harbour-</font><font color="#ff8a80"><u>\u2039bell\u203a</u></font>\n\n'
        "2\n01:02:03,200 --> 01:02:03,600\nrang.\n\n"
    )


def test_srt_has_no_empty_cues(tmp_path: Path) -> None:
    words = (Word("\n\n", "x", 0, 1, 1), Word(" ", "x", 5, 6, 0.1), Word("a\n\nb", "x", 9, 10, 1))
    assert parsed_srt(written([Transcript("u", words)], tmp_path / "a.srt")) == [(9, 10, "a b")]


def test_srt_is_about_one_recording(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="'other' comes after 'talk'"):
        written([FIRST, SECOND, Transcript("other", ())], tmp_path / "a.srt")
    assert not list(tmp_path.iterdir())


@settings(max_examples=60)
@given(many)
def test_srt_holds_any_words(folder: Path, segments: list[Transcript]) -> None:
    cues = parsed_srt(written(segments, folder / "a.srt"))
    starts = [start for start, _, _ in cues]
    assert starts == sorted(starts)
    texts = [TAG.sub("", payload) for _, _, payload in cues]
    assert not [text for text in texts if set(text) & set("<>{}\\")]  # nothing that a player would act on
    assert not [text for text in texts if not text.strip()]
    look_alike = str.maketrans("<>{}\\", "\u2039\u203a()/")
    said = "".join(text for each in segments for text, _ in spelled(each.words)).translate(look_alike)
    assert "".join("".join(texts).split()) == "".join(visible(part) for part in said.split())


@settings(max_examples=60)
@given(many)
def test_srt_marks_doubtful_words(folder: Path, segments: list[Transcript]) -> None:
    text = written(segments, folder / "a.srt")
    pairs = [
        (word, shown) for each in segments for word, (shown, _) in zip(each.words, spelled(each.words), strict=True)
    ]
    levels = [level(word.confidence) for word, shown in pairs if shown.split()]
    assert text.count("<u>") == levels.count("low")
    assert text.count("<font ") == levels.count("low") + levels.count("medium")
    assert (
        re.sub(r'<font color="#ff8a80"><u>[^<\n]+</u></font>|<font color="#ffe082">[^<\n]+</font>', "", text).count(
            "<"
        )
        == 0
    )


def test_vtt_names_a_recording_once(tmp_path: Path) -> None:
    text = written([FIRST, SECOND, replace(SECOND, utt="b")], tmp_path / "a.vtt")
    blocks = text.removesuffix("\n\n").split("\n\n")[2:]
    assert [block.split("\n")[0] for block in blocks] == [
        "NOTE talk", "00:00:00.500 --> 00:00:01.600", "01:02:03.200 --> 01:02:03.600",
        "NOTE b", "01:02:03.200 --> 01:02:03.600",
    ]  # fmt: skip


@settings(max_examples=60)
@given(many)
def test_vtt_of_a_recording_has_its_words_in_the_order_of_time(folder: Path, segments: list[Transcript]) -> None:
    _, _, *blocks = written(segments, folder / "a.vtt").removesuffix("\n\n").split("\n\n")
    assert blocks[:1] == (["NOTE talk"] if segments else [])
    cues = [block.split("\n") for block in blocks[1:]]
    times = [[seconds(each, ".") for each in cue[0].split(" --> ")] for cue in cues]
    assert times == sorted(times)
    spans = [span for cue in cues for span in re.findall(r"<c\.(\w+)>[^<>]*</c>", cue[1])]
    assert spans == [level(word.confidence) for each in segments for word in each.words]
    assert all(len(cue) == 2 for cue in cues)


def test_both_are_cut_alike(tmp_path: Path) -> None:
    words = tuple(Word("w", "w", k * 0.4, k * 0.4 + 0.4, 1.0) for k in range(30))
    srt = written([Transcript("u", words)], tmp_path / "a.srt")
    vtt = written([Transcript("u", words)], tmp_path / "a.vtt")
    assert re.findall(".* --> .*", srt.replace(",", ".")) == re.findall(".* --> .*", vtt)
    assert [len(text.split()) for _, _, text in parsed_srt(srt)] == [6, 6, 6, 6, 6]  # rather than 7, 7, 7, 7, 2

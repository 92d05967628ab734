"""Subtitles of recordings: read again by plain readers of SubRip and WebVTT, whatever the words hold."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.transcripts import transcripts as made
from wordtrust.base.errors import OptionError
from wordtrust.base.visible_text import visible
from wordtrust.transcripts.transcript import Transcript, Transcripts
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
HARBOUR = Transcript("harbour 1", (*FIRST.words, Word("rang", "rang", 3.2, 3.6005, 0.9)))
SILENT = Transcript("silent", ())
SECOND = Transcript("talk", (Word("rang.", "rang", 3_723.2, 3_723.6005, 0.9),))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples of a property."""
    return tmp_path_factory.mktemp("subtitles")


def written(segments: list[Transcript], path: Path, *, recordings: bool = True) -> str:
    with TranscriptWriter(path, recordings=recordings) as out:
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
        counted, times, *lines = block.split("\n")
        assert counted == str(number)
        assert 1 <= len(lines) <= 2
        payload = "\n".join(lines)
        start, end = (seconds(each, ",") for each in times.split(" --> "))
        assert start < end
        found.append((start, end, payload))
    assert text.endswith("\n\n") or not text
    return found


SPAN = re.compile(r"<c\.(low|medium|high)>([^<>\n\r]*)</c>")


def parsed_vtt(text: str) -> list[tuple[str, list[tuple[float, float, list[tuple[str, str]]]]]]:
    """A strict reading of the parts of WebVTT that we write: utterances, their cues, their (class, text) spans."""
    assert text.endswith("\n\n")
    assert not re.search("[\x00\r\ufeff]", text)
    header, *blocks = text.removesuffix("\n\n").split("\n\n")
    assert header == "WEBVTT"
    style, *blocks = blocks
    assert style.startswith("STYLE\n")
    assert "-->" not in style
    utterances: list[tuple[str, list[Any]]] = []
    for block in blocks:
        if block.startswith("NOTE "):
            assert "-->" not in block
            assert "\n" not in block
            utterances.append((block.removeprefix("NOTE "), []))
            continue
        timing, *lines = block.split("\n")
        assert 1 <= len(lines) <= 2
        payload = " ".join(lines)
        start, end = (seconds(stamp, ".") for stamp in timing.split(" --> "))
        assert start < end
        assert "-->" not in payload
        assert payload.strip()
        assert not SPAN.sub("", payload).strip(" ")
        assert not re.search(r"&(?!amp;|lt;|gt;)", payload)
        assert not utterances[-1][1] or start >= utterances[-1][1][-1][0]
        utterances[-1][1].append((start, end, SPAN.findall(payload)))
    return utterances


def test_srt(tmp_path: Path) -> None:
    assert written([FIRST, SECOND], tmp_path / "a.srt") == (
        "1\n00:00:00,500 --> 00:00:01,600\n"
        'The <font color="#ffe082">Harbour-</font><font color="#ff8a80"><u>\u2039bell\u203a</u></font>\n\n'
        "2\n01:02:03,200 --> 01:02:04,200\nrang.\n\n"
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
        "NOTE talk", "00:00:00.500 --> 00:00:01.600", "01:02:03.200 --> 01:02:04.200",
        "NOTE b", "01:02:03.200 --> 01:02:04.200",
    ]  # fmt: skip


def test_vtt(tmp_path: Path) -> None:
    text = written([HARBOUR, SILENT], tmp_path / "a.vtt", recordings=False)
    assert text.split("\n\n", 2)[2] == (
        "NOTE harbour 1\n\n"
        "00:00:00.500 --> 00:00:01.600\n"
        "<c.high>The</c> <c.medium>Harbour-</c><c.low>&lt;bell&gt;</c>\n\n"
        "00:00:03.200 --> 00:00:04.200\n<c.high>rang</c>\n\n"  # after a pause
        "NOTE silent\n\n"
    )
    assert len(parsed_vtt(text)) == 2


def test_cues_last_seven_seconds_at_most_and_never_cut_a_token(tmp_path: Path) -> None:
    words = [Word("w", "w", k * 0.5, k * 0.5 + 0.5, 1.0, joins_next=k == 13) for k in range(17)]
    slow = [Word("w", "w", 8.5 + 4 * k, 12.5 + 4 * k, 1.0) for k in range(3)]
    [(_, cues)] = parsed_vtt(written([Transcript("u", (*words, *slow))], tmp_path / "a.vtt"))
    assert sum(len(spans) for _, _, spans in cues) == 20
    assert all(end - start <= 7 for start, end, _ in cues)
    assert 7.0 not in [start for start, _, _ in cues]  # within a token
    assert len(cues) == 4


TEXT = (
    "Good evening, and welcome to the harbour office. Tonight the ferry leaves from pier four, not from pier two, as "
    "the board in the hall still says; please mind the step. Nobody knows why the bell rang twice at noon, but it "
    "did. Yes. The tide turns at nine."
)


def spoken(text: str, rate: float = 0.33) -> tuple[Word, ...]:
    return tuple(Word(word, word, k * rate, (k + 1) * rate, 0.95) for k, word in enumerate(text.split()))


def test_cues_follow_the_habits(tmp_path: Path) -> None:
    cues = parsed_srt(written([Transcript("u", spoken(TEXT))], tmp_path / "a.srt"))
    lines = [line for _, _, payload in cues for line in payload.split("\n")]
    assert max(map(len, lines)) <= 42
    assert all(1 <= end - start <= 7 for start, end, _ in cues)
    texts = [payload.replace("\n", " ") for _, _, payload in cues]
    assert " ".join(texts) == TEXT
    assert [text[-1] for text in texts] == [".", ",", ".", ".", "."]  # never in the middle of a clause
    for _, _, payload in cues:
        if "\n" in payload:
            first, second = map(len, payload.split("\n"))
            assert abs(first - second) <= 20


def test_a_cue_stays_until_it_is_read_or_the_next_begins(tmp_path: Path) -> None:
    words = (*spoken("It was said far too fast for anybody to read.", 0.1), Word("Next.", "next", 1.5, 1.6, 1.0))
    one, other = (Transcript("u", words[:-1]), Transcript("u", words[-1:]))
    cues = parsed_srt(written([one, other], tmp_path / "a.srt"))
    assert [(start, end) for start, end, _ in cues] == [(0.0, 1.417), (1.5, 2.5)]
    assert parsed_srt(written([one], tmp_path / "a.srt"))[0][:2] == (0.0, 2.2)  # 44 letters, 20 a second


def test_a_word_longer_than_a_line_is_a_cue(tmp_path: Path) -> None:
    words = spoken(f"a {'x' * 60} b")
    assert [text for _, _, text in parsed_srt(written([Transcript("u", words)], tmp_path / "a.srt"))] == [
        "a", "x" * 60, "b",
    ]  # fmt: skip


def test_plain_subtitles_have_no_marks(tmp_path: Path) -> None:
    said = replace(FIRST, speaker="Ann")
    Transcripts([said]).save(tmp_path / "a.srt", plain=True)
    Transcripts([said]).save(tmp_path / "a.vtt", plain=True)
    assert (tmp_path / "a.srt").read_text() == (
        "1\n00:00:00,500 --> 00:00:01,600\nAnn: The Harbour-\u2039bell\u203a\n\n"
    )
    assert (tmp_path / "a.vtt").read_text() == (
        "WEBVTT\n\nNOTE talk\n\n00:00:00.500 --> 00:00:01.600\n<v Ann>The Harbour-&lt;bell&gt;\n\n"
    )


def test_vtt_times_after_an_hour_and_words_of_no_length(tmp_path: Path) -> None:
    late = Transcript("u", (Word("a", "a", 3_723.5, 3_723.5, 1.0), Word("b", "b", 360_000.0, 360_001.0, 1.0)))
    text = written([late], tmp_path / "a.vtt")
    assert "01:02:03.500 --> 01:02:04.500\n" in text
    assert "100:00:00.000 --> 100:00:01.000\n" in text


@settings(max_examples=60)
@given(many)
def test_vtt_holds_any_words(folder: Path, segments: list[Transcript]) -> None:
    utterances = parsed_vtt(written(segments, folder / "a.vtt"))
    assert [name for name, _ in utterances] == (["talk"] if segments else [])
    spans = [span for _, cues in utterances for _, _, spans in cues for span in spans if span[1].strip()]
    shown = [
        (word, visible(" ".join(written.split())))
        for segment in segments
        for word, (written, _) in zip(segment.words, spelled(segment.words), strict=True)
    ]
    assert [(kind, span.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")) for kind, span in spans] == [
        (level(word.confidence), text) for word, text in shown if text.strip()
    ]


def test_both_are_cut_alike(tmp_path: Path) -> None:
    words = tuple(Word("w", "w", k * 0.4, k * 0.4 + 0.4, 1.0) for k in range(30))
    srt = written([Transcript("u", words)], tmp_path / "a.srt")
    vtt = written([Transcript("u", words)], tmp_path / "a.vtt")
    assert re.findall(".* --> .*", srt.replace(",", ".")) == re.findall(".* --> .*", vtt)
    assert sum(len(text.split()) for _, _, text in parsed_srt(srt)) == 30

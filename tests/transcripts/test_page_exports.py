"""What the page exports is what Python's writers make of the .json that it exports."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.browser import Visit
from tests.helpers.transcripts import NASTY
from tests.helpers.transcripts import transcripts as made
from wordtrust.base.errors import OptionError
from wordtrust.base.visible_text import json_text
from wordtrust.formats.references import read_references
from wordtrust.formats.transcript.records import SpeechWarning
from wordtrust.transcripts.page.data import page_data
from wordtrust.transcripts.page.script import objects_script
from wordtrust.transcripts.reader import convert_transcripts, read_transcripts, transcript_sources
from wordtrust.transcripts.transcript import Transcript, Transcripts
from wordtrust.transcripts.words import Alternative, LeftOut, Word
from wordtrust.transcripts.writer import TranscriptWriter

if TYPE_CHECKING:
    from playwright.sync_api import Page

FORMATS = ("txt", "srt", "vtt", "ctm", "stm")
ALL = """(data) => {
  Transcript.load(data);
  const segment = Transcript.segments.find((each) => each.words.length);
  EditHistory.restore([], 0);
  if (segment) {
    EditHistory.make("check", Edits.checkSegment(segment.id));
    EditHistory.make("insert", Edits.insert(segment.id, null, "“Oh, (well) {x} it's-"));
    EditHistory.make("replace", Edits.replace(segment.words.at(-1).id, segment.words.at(-1).id, "<b>two words.</b>"));
  }
  const files = Object.entries(Exports.formats).map(([ending, [, write]]) => [ending, write()]);
  const whole = (text) => Array.isArray(text) ? text.map((each) => each.text).join("") : text;
  return Object.fromEntries(files.map(([ending, text]) => [ending, whole(text)]));
}"""


def by_python(exported: str, folder: Path) -> dict[str, str]:
    (folder / "talk.json").write_text(exported, "utf-8")
    texts = {}
    for ending in FORMATS:
        path = folder / f"again.{ending}"
        try:
            convert_transcripts(transcript_sources(folder / "talk.json"), path)
        except OptionError as error:
            texts[ending] = str(error)
        else:
            texts[ending] = path.read_bytes().decode()
    return texts


def check_same(files: dict[str, str], folder: Path) -> None:
    for ending, expected in by_python(files["json"], folder).items():
        if "be read as one" not in expected and "no segment is checked" not in expected:
            assert files[ending] == expected, ending


@pytest.fixture
def blank(visit: Visit, tmp_path: Path) -> Page:
    """A page with the objects of the script, which nobody has started."""
    (tmp_path / "blank.html").write_text(f"<meta charset=utf-8><script>{objects_script()}</script>", "utf-8")
    return visit(tmp_path / "blank.html")


def data_of(segments: list[Transcript], about: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json_text(page_data(segments, about, None)))  # type: ignore[no-any-return]


def moved(word: Word, seconds: float, missing: float | None) -> Word:
    return replace(word, start=word.start + seconds, end=word.end + seconds, missing_before=missing)


def test_any_transcript_is_exported_as_python_writes_it(blank: Page, tmp_path: Path) -> None:
    warning = st.builds(SpeechWarning, st.just("noise"), st.floats(0, 40), st.sampled_from(NASTY).filter(bool))
    gap = st.none() | st.floats(0, 1)

    @settings(max_examples=25, deadline=None)
    @given(st.lists(made(max_words=14), min_size=1, max_size=4), st.sampled_from([None, "", *NASTY]), gap, warning)
    def check(found: list[Transcript], speaker: str | None, missing: float | None, warned: SpeechWarning) -> None:
        segments = [
            replace(
                each, utt="talk-1", speaker=speaker or None, missing_end=missing, channel="1" if missing else None,
                warnings=(warned,) if number else (),
                words=tuple(moved(word, 100 * number, missing) for word in each.words),
            )
            for number, each in enumerate(found)
        ]  # fmt: skip
        check_same(blank.evaluate(ALL, data_of(segments, {"file": "talk.wav", "channel": "1"})), tmp_path)

    check()


def test_long_sentences_are_cut_into_the_same_cues(blank: Page, tmp_path: Path) -> None:
    said = (
        "So, the ferry (the old one) left at nine; nobody was there. Why? Because Middle-earth… “It rains!” he said, "
        "and then a very long sentence without any sign goes on and on until two lines are full of it and more"
    ).split()
    words, at = [], 0.0
    for number, text in enumerate(said * 3):
        at = round(at + (1.4 if number % 23 == 7 else 0.3 if number % 5 == 0 else 0), 3)
        end = round(at + 0.04 * len(text) + 0.05, 3)
        words.append(Word(text, text.strip(".,").lower(), at, end, (number % 10) / 10, joins_next=number % 17 == 3))
        at = end
    segments = [
        Transcript("talk", tuple(words[first : first + 40]), speaker="Ann" if first else None)
        for first in range(0, len(words), 40)
    ]
    check_same(blank.evaluate(ALL, data_of(segments, {"accept": {"threshold": 0.5, "promise": "most"}})), tmp_path)


def test_a_file_is_saved_and_read_back(visit: Visit, tmp_path: Path) -> None:
    first = Transcript("talk", tuple(Word(text, text, k, k + 1, 0.5) for k, text in enumerate(("a", "cat", "sat"))))
    other = Transcript("talk", (Word("no", "no", 9, 10, 0.4, (Alternative("now", 0.6),)),), correct=0.3)
    with TranscriptWriter(
        tmp_path / "talk.html", recordings=True, about={"models": ["m"]}, left_out=[LeftOut(4, 8, "no speech")]
    ) as out:
        out.add([first, other])
    page = visit(tmp_path / "talk.html")
    page.evaluate("""Editing.correct("s0.1", "s0.1", "hat.")""")
    page.evaluate("""Editing.checkSegment("s0")""")
    saved = {}
    for ending in ("json", "stm", "srt"):
        page.keyboard.press("x")
        with page.expect_download() as coming:
            page.get_by_role("button", name=f".{ending}").click()
        saved[ending] = tmp_path / coming.value.suggested_filename
        coming.value.save_as(saved[ending])
    read = read_transcripts(saved["json"])
    assert read.about["models"] == ["m"]
    assert read.left_out == (LeftOut(4, 8, "no speech"),)
    assert [each.text for each in read] == ["a hat. sat", "no"]
    assert [word.checked for word in read.words] == [True, True, True, False]
    assert read[1] == other
    reference = read_references(saved["stm"])["talk"]
    assert reference.words == ("a", "hat", "sat")
    assert [segment.is_scored for segment in reference.segments] == [True, False]
    assert "hat." in saved["srt"].read_text()


def test_references_need_somebody_who_checked_them(tmp_path: Path) -> None:
    talk = Transcripts([Transcript("talk", (Word("a", "a", 0, 1, 0.5),))])
    with pytest.raises(OptionError, match="no segment is checked"):
        talk.save(tmp_path / "talk.stm")
    assert not list(tmp_path.iterdir())

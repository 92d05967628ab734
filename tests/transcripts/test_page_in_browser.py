"""The page in a real browser: it shows the words and what is known about them, and asks nobody for anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.page import FRAME, WORDS, made_transcripts, main_thread

from tests.helpers.browser import Visit, without_browser
from tests.helpers.transcripts import NASTY
from wordtrust.base.visible_text import visible
from wordtrust.formats.transcript.records import SpeechWarning
from wordtrust.transcripts.transcript import Transcript
from wordtrust.transcripts.words import Alternative, LeftOut, Word
from wordtrust.transcripts.writer import TranscriptWriter, write_transcripts

if TYPE_CHECKING:
    from playwright.sync_api import Page


SIT = Word("Sit", "sit", 63.3, 63.68, 0.4, (Alternative("seat", 0.3), Alternative("<b>", 0.02)))
FIRST = Transcript("talk", (Word("I'll", "i'll", 63, 63.3, 0.95), SIT, Word("there.", "there", 63.68, 64, 0.6)))
SECOND = Transcript(
    "talk", (Word("Middle-", "middle", 70, 71, 0.99, joins_next=True), Word("earth", "earth", 71, 72, 1))
)


@pytest.fixture
def shown(visit: Visit, tmp_path: Path) -> Callable[..., Page]:
    """The page of transcripts, in the browser."""

    def open_page(*segments: Transcript, **known: Any) -> Page:
        with TranscriptWriter(tmp_path / "talk.html", recordings=True, **known) as out:
            out.add(segments)
        return visit(tmp_path / "talk.html")

    return open_page


def test_words_of_a_recording(shown: Callable[..., Page]) -> None:
    page = shown(FIRST, SECOND)
    words = page.locator("#words .w")
    assert words.all_inner_texts() == ["I'll", "Sit", "there.", "Middle-", "earth"]
    assert [word.get_attribute("class") for word in words.all()] == [
        "w high c10", "w low c4 on", "w medium c6 on", "w high c10", "w high c10",
    ]  # fmt: skip
    assert page.locator(".segment p").all_inner_texts() == ["I'll Sit there.", "Middle-earth"]
    assert page.locator("a.at").all_inner_texts() == ["1:03", "1:10"]
    words.nth(1).hover()
    assert page.locator("#card").inner_text().split("\n") == [
        "Sit", "40%", "1:03.3 to 1:03.6", "or it may be", "1 seat", "30%", "2 <b>", "2%",
        "✓ Checked", "Edit…", "Insert…", "Delete",
    ]  # fmt: skip
    tiles = page.locator(".tile").all_inner_texts()
    assert [text.split("\n") for text in tiles] == [
        ["5", "words", "in 2 segments"],
        ["40%", "doubtful", "2 under 90%"],
        ["1.1", "expected errors", "21.2% of the words; missing ones do not count"],  # .05 + .6 + .4 + .01
    ]
    page.locator("#limit").fill("50")
    assert page.locator("#words .on").all_inner_texts() == ["Sit"]
    assert page.locator("#marked").inner_text() == "1"


def test_the_strip_has_the_doubt_of_each_stretch(shown: Callable[..., Page]) -> None:
    page = shown(FIRST, SECOND)  # 72 s, 24 bars of 3 s
    assert page.locator(".strip svg").get_attribute("viewBox") == "0 0 24 20"
    bars = page.evaluate("Strip.bars(Transcript.words()).heights.map((height, index) => [index, height])")
    # All of the first segment is in bar 21, `Middle-` in bar 23; the highest is the one with 1.05 expected errors.
    assert [bar for bar in bars if bar[1] > 0.05] == [[21, 20], [23, pytest.approx(20 * 0.01 / 1.05)]]
    box = page.locator(".strip svg").bounding_box()
    assert box
    page.mouse.click(box["x"] + 0.99 * box["width"], box["y"] + 5)
    assert page.locator(".w.here").inner_text() == "earth"


def test_what_is_known_about_segments(shown: Callable[..., Page]) -> None:
    words = [replace(word, missing_before=gap) for word, gap in zip(FIRST.words, (0.01, 0.6, 0.2), strict=True)]
    loop = Word("so", "so", 70, 71, 0.3, (Alternative("", 0.5),), heard=0.2, made_up="loop")
    surer = Word("far", "far", 71, 72, 0.3, (Alternative("car", 0.5),))
    noise = SpeechWarning("noise", 3.5, "as loud as <speech>")
    page = shown(
        Transcript("talk", tuple(words), (noise,), 0.456, 0.3, "Ann <b>"), Transcript("talk", (loop, surer)),
        left_out=[LeftOut(65, 69.5, "no <speech>")], about={"accept": {"threshold": 0.8}},
    )  # fmt: skip
    assert page.locator(".segment p").all_inner_texts() == [
        "Ann <b>: I'll […] Sit there. […] all right with 45% (as loud as <speech>)", "4.5 s left out: no <speech>",
        "so far",
    ]  # fmt: skip
    assert page.locator("#words .missing").first.get_attribute("title") == "something may be missing here (60%)"
    assert "besides, some are missing in 1.1 places" in page.locator("#tiles").inner_text()
    assert page.locator("#under").inner_text() == "80%"
    page.locator(".w", has_text="so").hover()
    card = page.locator("#card").inner_text()
    assert "listeners heard" in card
    assert "(nothing)" in card
    assert "a loop?" in card
    page.locator(".w", has_text="far").click()
    assert "“car” is surer by itself, but not in the sequence" in page.locator("#card").inner_text()


def test_recordings_have_titles_when_there_are_several(shown: Callable[..., Page]) -> None:
    page = shown(FIRST, SECOND, Transcript("other", ()), about={"calibrated": False})
    assert page.locator("h2").all_inner_texts() == ["talk", "other"]
    assert page.locator(".recording", has_text="(no words)").count() == 1
    assert "not calibrated: wordtrust calibrate --scores" in page.locator("#tiles").inner_text()


def test_keys_lead_from_word_to_word(shown: Callable[..., Page]) -> None:
    page = shown(FIRST, SECOND)
    here = page.locator(".w.here")
    for key, word in (("n", "Sit"), ("n", "there."), ("n", "Sit"), ("p", "there."), ("ArrowRight", "Middle-")):
        page.keyboard.press(key)
        assert here.inner_text() == word
    assert page.locator("#spoken").inner_text() == "Middle-, 99%"
    page.keyboard.press("Escape")
    assert page.locator("#card").is_hidden()


@pytest.mark.parametrize(("width", "theme"), [(360, "dark"), (1200, "light")])
def test_nothing_is_wider_than_the_screen(visit: Visit, tmp_path: Path, width: int, theme: str) -> None:
    write_transcripts([FIRST, Transcript("talk", (Word("x" * 300, "x", 80, 81, 0.3),))], tmp_path / "a.html")
    page = visit(tmp_path / "a.html", width=width, color_scheme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(251, 250, 248)"
    assert light == (theme == "light")


def test_the_page_loads(visit: Visit, tmp_path: Path) -> None:
    words = [
        Word(text, text or "x", k, k + 0.5, 0.4 + (k % 2) / 2, (Alternative(text, 0.1),))
        for k, text in enumerate(NASTY)
    ]
    write_transcripts([Transcript("talk", tuple(words))], tmp_path / "talk.html")
    page = visit(tmp_path / "talk.html")
    assert "talk" in page.title()
    assert page.locator(".w").count() >= len(NASTY)
    assert page.locator(".w *").count() == 0
    assert page.locator("#words .w").evaluate_all("all => all.map((each) => each.textContent)") == [
        visible(text.replace("\ud800", "?") if text else "x") for text in NASTY
    ]  # fmt: skip
    page.keyboard.press("n")
    assert page.locator("#card").is_visible()


def test_without_a_browser_tests_skip_and_in_ci_they_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORDTRUST_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="needs chromium"):
        without_browser("needs chromium")
    monkeypatch.setenv("WORDTRUST_BROWSER", "required")
    with pytest.raises(pytest.fail.Exception, match="needs chromium"):
        without_browser("needs chromium")


@pytest.mark.slow
def test_20000_words_are_there_soon_and_scroll_smoothly(visit: Visit, tmp_path: Path) -> None:
    made_transcripts().save(tmp_path / "long.html")
    (tmp_path / "blank.html").write_text("")
    page = visit(tmp_path / "blank.html")
    worked = main_thread(page)  # seconds of the processor: the machine may have other work
    page.goto((tmp_path / "long.html").as_uri())
    assert page.locator("#words .w").count() == WORDS
    assert worked() < 2
    before = worked()
    for _ in range(10):
        page.evaluate("scrollBy({ top: 400, behavior: 'instant' })")
        page.evaluate(FRAME)
    assert (worked() - before) / 10 < 0.05

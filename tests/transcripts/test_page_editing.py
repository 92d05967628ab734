"""Corrections in the page, in a real browser: by keys and by mouse, kept after every step, taken back at will."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.browser import Visit
from wordtrust.transcripts.page.script import objects_script
from wordtrust.transcripts.transcript import Transcript
from wordtrust.transcripts.words import Alternative, Word
from wordtrust.transcripts.writer import TranscriptWriter

if TYPE_CHECKING:
    from playwright.sync_api import Page


def said(start: float, *texts: str, utt: str = "talk", speaker: str | None = None, sure: float = 0.6) -> Transcript:
    """Words of half a second, each with an alternative."""
    words = tuple(
        Word(text, text.lower().strip(".,"), start + k / 2, start + k / 2 + 0.5, sure, (Alternative("bat", 0.2),))
        for k, text in enumerate(texts)
    )
    return Transcript(utt, words, speaker=speaker)


TALK = (
    said(0, "The", "cat", "sat.", speaker="Ann"),
    said(3, "Cat", "and", "cats,", "cat.", speaker="Bo"),
    said(9, "No", "dog.", speaker="Ann"),
)


@pytest.fixture
def talk(visit: Visit, tmp_path: Path) -> Callable[..., Page]:
    """The page of a talk, written anew each time it is asked for."""

    def open_page(*segments: Transcript, **options: Any) -> Page:
        with TranscriptWriter(tmp_path / "talk.html", recordings=True, about={"file": "talk.wav"}) as out:
            out.add(segments or TALK)
        return visit(tmp_path / "talk.html", **options)

    return open_page


def texts(page: Page) -> list[str]:
    return page.evaluate("Transcript.segments.map((segment) => Texts.joined(segment.words))")  # type: ignore[no-any-return]


def word(page: Page, text: str, nth: int = 0) -> Any:
    return page.locator("#words .w", has_text=text).nth(nth)


def test_by_keys_alone(talk: Callable[..., Page]) -> None:
    page = talk()
    press = page.keyboard.press
    press("n")  # The
    press("ArrowRight")  # cat
    press("1")
    assert texts(page)[0] == "The bat sat."
    press("Enter")
    page.keyboard.type("hat <b>")
    press("Enter")
    assert texts(page)[0] == "The hat <b> sat."
    press("i")
    page.keyboard.type("then")
    press("Enter")
    assert texts(page)[0] == "The hat <b> then sat."
    press("Shift+ArrowLeft")
    press("Delete")
    assert texts(page)[0] == "The hat sat."
    press("c")
    assert page.locator(".w.checked").all_inner_texts() == ["hat", "sat."]
    for _ in range(5):
        press("u")
    assert texts(page)[0] == "The cat sat."
    assert page.locator("#undo").is_disabled()
    for _ in range(4):
        press("Control+Y")
    assert texts(page)[0] == "The hat sat."
    press("Shift+C")
    assert page.evaluate("Transcript.segments[0].words.every((word) => word.checked && word.confidence === 1)")


def test_by_mouse_alone(talk: Callable[..., Page]) -> None:
    page = talk()
    card, notice = page.locator("#card"), page.locator("#notice")
    word(page, "cat").click()
    card.get_by_role("button", name="bat").click()
    assert texts(page)[0] == "The bat sat."
    assert "Correct “cat” to “bat”" in notice.inner_text()
    notice.get_by_role("button", name="Undo").click()
    assert texts(page)[0] == "The cat sat."
    page.locator("#redo").click()
    word(page, "dog.").click()
    card.get_by_role("button", name="Insert…").click()
    page.locator("#card input").fill("here")
    card.get_by_role("button", name="OK").click()
    word(page, "No").click()
    card.get_by_role("button", name="Delete").click()
    assert texts(page) == ["The bat sat.", "Cat and cats, cat.", "dog. here"]
    page.locator(".segment").nth(1).hover()
    page.locator(".seal").nth(1).click()
    assert page.locator(".seal").nth(1).get_attribute("aria-pressed") == "true"
    first, last = word(page, "The").bounding_box(), word(page, "sat.").bounding_box()
    page.mouse.move(first["x"] + 2, first["y"] + 10)
    page.mouse.down()
    page.mouse.move(last["x"] + last["width"] - 2, last["y"] + 10, steps=4)
    page.mouse.up()
    card.get_by_role("button", name="Checked").click()
    assert page.evaluate("Transcript.segments[0].words.every((word) => word.checked)")


def test_the_same_correction_everywhere(talk: Callable[..., Page]) -> None:
    page = talk()
    word(page, "cat").click()
    page.keyboard.press("Enter")
    page.keyboard.type("hat")
    page.keyboard.press("Enter")
    page.locator("#notice").get_by_role("button", name="2 more “cat”").click()
    dialog = page.locator("dialog")
    assert dialog.locator("li span").all_text_contents() == ["Cat and cats, cat.", "Cat and cats, cat."]
    assert dialog.locator("mark").all_text_contents() == ["Cat", "cat"]
    dialog.locator("li input").nth(1).uncheck()
    dialog.get_by_role("button", name="Replace those that are ticked").click()
    assert texts(page)[1] == "Hat and cats, cat."
    page.keyboard.press("e")
    dialog.locator("label", has_text="Whole words").click()
    assert dialog.locator("mark").all_text_contents() == ["cat", "cat"]
    dialog.locator("input[type=text]").first.focus()
    page.keyboard.press("Enter")
    assert texts(page)[1] == "Hat and hats, hat."
    assert (
        page.evaluate("Transcript.segments[1].words.map((word) => [word.confidence, word.checked ?? false])")
        == [[0.6, False]] * 4
    )  # nobody has listened
    page.keyboard.press("Control+Z")
    page.keyboard.press("Control+Z")
    assert texts(page)[1] == "Cat and cats, cat."


def test_speakers(talk: Callable[..., Page]) -> None:
    page = talk()
    page.locator("button.speaker").first.click()
    page.locator("dialog input").first.fill("Cleo\u202e <i>")
    page.keyboard.press("Enter")
    word(page, "dog.").click()
    page.keyboard.press("s")
    page.locator("dialog .speaker-row", has_text="Bo (1 segment)").locator("input").fill("Bob")
    page.locator("dialog .speaker-row", has_text="Bo (1 segment)").get_by_role("button").click()
    assert page.locator("button.speaker").all_inner_texts() == ["Cleo <i>:", "Bob:", "Ann:"]
    page.locator("#undo").click()
    page.locator("#undo").click()
    assert page.locator("button.speaker").all_inner_texts() == ["Ann:", "Bo:", "Ann:"]


def test_steps_are_kept_and_can_be_taken_back_later(talk: Callable[..., Page]) -> None:
    page = talk()
    page.evaluate('Editing.correct("s0.1", "s0.1", "hat")')
    page.evaluate('Editing.remove("s1.0", "s1.1")')
    page.evaluate('Speakers.rename("Ann", "Eve")')
    page.evaluate("Editing.undo()")
    page.close()  # a closed tab
    again = talk()
    assert texts(again) == ["The hat sat.", "cats, cat.", "No dog."]
    again.keyboard.press("Shift+U")
    assert again.locator("button.speaker").all_inner_texts() == ["Eve:", "Bo:", "Eve:"]
    for _ in range(3):
        again.keyboard.press("u")
    assert texts(again) == ["The cat sat.", "Cat and cats, cat.", "No dog."]


def test_steps_are_made_again_on_another_page_of_the_recording(talk: Callable[..., Page]) -> None:
    page = talk()
    page.evaluate('Editing.correct("s0.1", "s0.1", "hat")')
    page.evaluate("EditHistory.make('Insert', Edits.insert('s1', 's1.1', 'the'))")
    page.evaluate('Editing.correct("s2.1", "s2.1", "dogs")')
    page.evaluate('Speakers.setOne("s1", "Cy")')
    # Other confidences, one word more, times a little off; of the last sentence nothing is left.
    moved = said(3.1, "Cat", "and", "cats,", "cat.", "too", speaker="Bo")
    again = talk(said(0, "Oh", "the", "cat", "sat.", sure=0.7), moved, said(20, "No", "end"))
    assert texts(again) == ["Oh the cat sat.", "Cat and the cats, cat. too", "No end"] or texts(again)[1:] == [
        "Cat and the cats, cat. too", "No end",
    ]  # fmt: skip
    assert again.locator("button.speaker").all_inner_texts() == ["Cy:"]
    assert "dogs" in again.locator("#notice").inner_text() or again.evaluate("Rebase.lost.length") >= 1


def test_any_steps_keep_times_in_order_and_can_be_taken_back(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "blank.html").write_text(f"<script>{objects_script()}</script>", "utf-8")
    page = visit(tmp_path / "blank.html")
    page.add_script_tag(path=Path(__file__).with_name("random_edits.js"))
    found = page.evaluate("[...Array(60)].map((_, number) => randomEdits(number * 7919 + 1))")
    assert [each["wrong"] for each in found if each["wrong"]] == []
    assert sum(each["steps"] for each in found) > 500

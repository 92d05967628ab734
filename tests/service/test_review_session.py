"""All that a reviewer does, in one go, on a page that is served with its sound."""

from __future__ import annotations

from pathlib import Path

import pytest
import soundfile

import wordtrust as wt
from tests.helpers.browser import Visit
from tests.helpers.media import steps
from tests.service.conftest import Serve
from tests.service.test_view_in_browser import paused_after_playing
from wordtrust.audio import RATE
from wordtrust.service.view import review_path, view_application
from wordtrust.service.viewed_audio import ViewedFile, audio_of
from wordtrust.transcripts.reader import read_transcripts
from wordtrust.transcripts.transcript import Transcript, Transcripts
from wordtrust.transcripts.words import Alternative, Word

HOSTILE = '"><script>alert(1)</script>'
SAID = (
    "the",
    "cat",
    HOSTILE,
    "</script>",
    "cat",
    "sat",
    "{{b}}",
    "on",
    "<b>it</b>",
    "and",
    "the",
    "cat",
    "ran",
    "off",
)


def heard() -> Transcripts:
    """A word every 0.4 s; cats are doubtful, all else is nearly sure."""
    words = [
        Word(
            text,
            text,
            0.4 * at,
            0.4 * at + 0.35,
            0.5,
            (Alternative("hat", 0.4), Alternative("<i>", 0.1)),
            missing_before=0.02,
        )
        if text == "cat"
        else Word(text, text, 0.4 * at, 0.4 * at + 0.35, 0.97, missing_before=0.02)
        for at, text in enumerate(SAID)
    ]
    halves = (words[:7], words[7:])
    return Transcripts(
        [Transcript("talk", tuple(half), missing_end=0.01) for half in halves], about={"models": ["m"]}
    )


@pytest.mark.slow
def test_a_review_from_the_first_look_to_the_export(tmp_path: Path, serve: Serve, visit: Visit) -> None:
    soundfile.write(tmp_path / "talk.wav", steps(6), RATE)
    heard().save(file := tmp_path / "talk.json")
    viewed = [ViewedFile(file, read_transcripts(file))]
    address = serve(view_application(viewed, audio_of(viewed[0], [str(tmp_path / "talk.wav")]), "secret"))
    page = visit(f"{address}/secret/")

    # Words are words, whatever they say.
    assert page.locator("#words .w").all_inner_texts() == list(SAID)
    assert page.locator("#words .w *").count() == 0

    # Jump to a doubtful word, hear it, choose what was said, everywhere; take it back and do it again.
    page.keyboard.press("n")
    assert page.locator(".w.here").inner_text() == "cat"
    paused_after_playing(page)
    page.keyboard.press("1")
    page.keyboard.press("e")
    assert page.locator(".matches li").count() == 2
    page.get_by_role("button", name="Replace").click()
    assert [text for text in page.locator("#words .w").all_inner_texts() if text in ("cat", "hat")] == ["hat"] * 3
    page.keyboard.press("u")
    page.keyboard.press("u")
    assert page.locator("#words .w").all_inner_texts() == list(SAID)
    page.keyboard.press("Shift+U")
    assert page.locator("#words .w").all_inner_texts().count("hat") == 1

    # Review until it is enough: the corrected word is evidence that the others are worse than they look.
    page.locator("#review-target").fill("15")
    assert "2 of 14 words" in page.locator("#review-state").inner_text()
    page.keyboard.press("Enter")
    stretch = page.locator(".w.stretch")
    assert "cat" in stretch.all_inner_texts()
    assert paused_after_playing(page) == pytest.approx(page.evaluate("Review.current.end"), abs=0.2)
    for _ in range(20):
        if page.locator("#review.enough").count():
            break
        page.keyboard.press("a")
    assert "You can stop here" in page.locator("#review-state").inner_text()
    assert page.evaluate("Review.state().evidence.found") == 1

    # A reload loses nothing, and neither does another visit: the server keeps it beside the transcript.
    told = page.locator("#review-state").inner_text()
    page.reload()
    assert page.locator("#review-state").inner_text() == told
    assert review_path(file).exists()

    # What is exported is read back, and the promise holds there too.
    page.locator("#export").click()
    with page.expect_download() as coming:
        page.get_by_role("button", name=".json").click()
    coming.value.save_as(tmp_path / "export.json")
    read = wt.read_transcripts(tmp_path / "export.json")
    assert [word.word for word in read.words] == [SAID[0], "hat", *SAID[2:]]
    assert read.words[1].checked
    assert read.words[1].original is not None
    assert read.words[1].original.word == "cat"
    assert wt.plan(tmp_path / "export.json", target=0.15).is_enough

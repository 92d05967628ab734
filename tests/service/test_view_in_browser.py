"""`wordtrust view` in a real browser: listening, waveforms, dialogues, several recognizers, networks, changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile

from tests.helpers.browser import Visit
from tests.helpers.media import steps, write_media
from tests.service.conftest import Serve
from wordtrust.audio import RATE
from wordtrust.service.view import review_path, view_application
from wordtrust.service.viewed_audio import ViewedFile, audio_of
from wordtrust.transcripts.reader import read_transcripts
from wordtrust.transcripts.transcript import Transcript, Transcripts
from wordtrust.transcripts.words import Alternative, Word

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

SAID = ("zero", "one", "two", "three", "four", "five")
DOUBTFUL = {2, 4}
Shown = Callable[..., "Page"]


def words(*texts: str, start: float = 0.0, doubtful: set[int] = DOUBTFUL) -> tuple[Word, ...]:
    """A word a second; the doubtful ones may be others."""
    return tuple(
        Word(text, text, start + at, start + at + 0.8, 0.4, (Alternative(f"{text}y", 0.3),))
        if at in doubtful
        else Word(text, text, start + at, start + at + 0.8, 0.99)
        for at, text in enumerate(texts)
    )


@pytest.fixture
def shown(tmp_path: Path, serve: Serve, visit: Visit) -> Shown:
    """The page of transcripts with a WAV of six seconds, as `wordtrust view` serves it."""

    def open_page(*files: Transcripts, audio: str = "talk.wav", **options: Any) -> Page:
        if audio.endswith(".wav"):
            soundfile.write(tmp_path / audio, steps(6), RATE)
        else:
            write_media(tmp_path / audio, steps(6))
        viewed = []
        for index, transcripts in enumerate(files):
            transcripts.save(path := tmp_path / f"{'abc'[index]}.json")
            viewed.append(ViewedFile(path, read_transcripts(path)))
        address = serve(view_application(viewed, audio_of(viewed[0], [str(tmp_path / audio)]), "secret"))
        return visit(f"{address}/secret/", **options)

    return open_page


TALK = Transcripts([Transcript("talk", words(*SAID))])


def wait(page: Page, condition: str) -> None:
    """Until it is so; the page's policy does not let the browser's driver wait for texts."""
    for _ in range(400):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(25)
    pytest.fail(f"not so after ten seconds: {condition}")


def hurry(page: Page) -> None:
    """Plays at twice the speed."""
    page.evaluate("Dom.by('player').defaultPlaybackRate = Dom.by('player').playbackRate = 2")


def paused_after_playing(page: Page) -> float:
    """Where the sound stopped by itself."""
    wait(page, "!Player.isPaused")
    wait(page, "Player.isPaused")
    time: float = page.evaluate("Player.time")
    return time


def test_n_plays_the_stretch_with_what_is_around_it_and_stops(shown: Shown) -> None:
    page = shown(TALK)
    page.evaluate("""() => { window.played = []; const audio = Dom.by("player");
        audio.addEventListener("playing", () => played.push(audio.currentTime)); }""")
    page.keyboard.press("n")
    assert page.locator(".w.here").inner_text() == "two"
    stopped = paused_after_playing(page)
    (begun,) = page.evaluate("played")
    assert begun == pytest.approx(1.5, abs=0.1)
    assert stopped == pytest.approx(3.3, abs=0.35)
    assert page.locator(".w.now").inner_text() == "three"  # the word whose time it is
    page.keyboard.press("]")
    page.keyboard.press("]")
    assert page.locator("#speed").inner_text() == "1.5×"
    page.keyboard.press("r")
    assert paused_after_playing(page) == pytest.approx(3.3, abs=0.35)
    page.keyboard.press(",")
    assert page.evaluate("Player.time") == pytest.approx(0.3, abs=0.3)
    page.locator("#slower").click()
    assert page.evaluate("Dom.by('player').playbackRate") == 1.25
    assert page.locator("#wave path").count() == 1
    assert page.locator("#wave .w").all_inner_texts() == ["one", "two", "three"]


def test_space_plays_on_and_words_follow(shown: Shown) -> None:
    page = shown(TALK, audio="talk.mp3")  # decoded to WAV by the server
    hurry(page)
    page.locator("#words .w").nth(3).click()
    wait(page, "!Player.isPaused && Player.time > 3.2")
    assert page.locator(".w.now").inner_text() == "three"
    page.keyboard.press(" ")
    assert page.evaluate("Player.isPaused")
    at = page.evaluate("Player.time")
    page.keyboard.press(" ")
    wait(page, "Player.isPaused === false && Player.time > " + str(at + 0.1))
    wait(page, "document.querySelector('.w.now')?.textContent === 'five'")


def test_a_click_into_the_waveform_plays_from_there(shown: Shown) -> None:
    page = shown(TALK)
    page.keyboard.press("n")
    box = page.locator("#wave svg").bounding_box()
    assert box
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 10)
    wait(page, "Player.time > 2.3")


def test_channels_are_a_dialogue(shown: Shown) -> None:
    call = Transcripts(
        [
            Transcript("call-0", words("hello", "harbour"), channel="0"),
            Transcript("call-0", words("four", start=4.0), channel="0"),
            Transcript("call-1", words("pier", start=2.0), channel="1"),
        ]
    )
    page = shown(call)
    assert [text.split("\n")[0] for text in page.locator(".segment p").all_inner_texts()] == [
        "Channel 0: hello harbour", "Channel 1: pier", "Channel 0: four",
    ]  # fmt: skip
    assert page.locator(".recording").count() == 1
    for word in ("hello", "harbour", "pier", "four"):
        page.keyboard.press("ArrowRight") if word != "hello" else page.locator("#words .w").first.click()
        assert page.locator(".w.here").inner_text() == word
    colours = page.locator("button.speaker").evaluate_all("all => all.map(each => getComputedStyle(each).color)")
    assert colours[0] == colours[2] != colours[1]


def test_several_recognizers_side_by_side(shown: Shown) -> None:
    other = Transcripts([Transcript("talk", words("zero", "won", "two", "tree", "four", "five", "six"))])
    other.about["recognizers"] = [{"name": "ears"}]
    page = shown(TALK, other)
    page.locator(".other").first.wait_for()
    assert page.locator(".other").all_inner_texts() == ["ears\n\nzero won two tree four five six"]
    assert page.locator(".differs").all_inner_texts() == ["won", "tree", "six"]
    page.locator("button.differs", has_text="won").click()  # taken over
    assert page.locator("#words .segment > p .w").all_inner_texts() == ["zero", "won", *SAID[2:]]
    assert page.locator(".differs").all_inner_texts() == ["tree", "six"]
    page.keyboard.press("v")
    assert page.locator(".other").count() == 0


def longest_common(one: list[str], other: list[str]) -> int:
    """The length of the longest list that is within both."""
    if not one or not other:
        return 0
    if one[-1] == other[-1]:
        return 1 + longest_common(one[:-1], other[:-1])
    return max(longest_common(one[:-1], other), longest_common(one, other[:-1]))


def test_what_differs_and_which_word_it_is_now(shown: Shown) -> None:
    page, rng = shown(TALK), np.random.default_rng(1)
    pairs = [[[*map(str, rng.integers(0, 4, rng.integers(0, 8)))] for _ in range(2)] for _ in range(60)]
    made = page.evaluate(
        "pairs => pairs.map(pair => Compare.runs(...pair.map(list => list.map(norm => ({ norm })))))",
        pairs,
    )
    for (one, other), runs in zip(pairs, made, strict=True):
        ours, theirs = ([word["norm"] for run in runs for word in run[side]] for side in ("ours", "theirs"))
        assert (ours, theirs) == (one, other)
        same = [run for run in runs if run["same"]]
        assert all(run["ours"] == run["theirs"] for run in same)
        assert sum(len(run["ours"]) for run in same) == longest_common(one, other)
        assert all(first["same"] != second["same"] for first, second in pairwise(runs))
    times = [-1.0, 0.0, 0.5, 1.0, 4.99, 5.0, 100.0]
    found = page.evaluate("times => times.map(time => Player.wordAt(Transcript.recordings[0], time)?.word)", times)
    assert found == [None, "zero", "zero", "one", "five", "five", "five"]  # a word has begun 20 ms before its time


def test_the_network_of_a_stretch(shown: Shown) -> None:
    page = shown(TALK)
    page.locator("#words .w").nth(2).click()
    page.keyboard.press("w")
    drawn = page.locator("dialog svg.network")
    assert drawn.locator("circle").count() == 7
    assert drawn.locator("text").all_text_contents()[2:4] == ["two 40%", "twoy 30%"]
    assert "two 40% or twoy 30%" in (drawn.get_attribute("aria-label") or "")
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")


def test_changes_are_kept_beside_the_transcript(shown: Shown, tmp_path: Path, browser: Any) -> None:
    page = shown(TALK)
    page.locator("#words .w").nth(2).click()
    with page.expect_response(lambda response: response.request.method == "PUT") as answered:
        page.keyboard.press("1")  # the alternative
    assert answered.value.status == 204
    state = json.loads(review_path(tmp_path / "a.json").read_text())
    assert state["count"] == 1
    context = browser.new_context()  # which has kept nothing itself
    again = context.new_page()
    again.goto(page.url)
    assert again.locator("#words .w").all_inner_texts() == ["zero", "one", "twoy", *SAID[3:]]
    context.close()


@pytest.mark.parametrize("width", [360, 1200])
def test_everything_has_its_place(shown: Shown, width: int) -> None:
    page = shown(TALK, TALK, width=width)
    page.keyboard.press("n")
    page.wait_for_selector("#wave path")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_alone_finds_audio_beside_it(tmp_path: Path, visit: Visit) -> None:
    soundfile.write(tmp_path / "my talk #1.wav", steps(6), RATE)
    talk = Transcripts(TALK, about={"file": str(tmp_path / "my talk #1.wav")})
    talk.save(tmp_path / "page.html")
    page = visit(tmp_path / "page.html")
    hurry(page)
    page.keyboard.press("n")
    assert paused_after_playing(page) == pytest.approx(3.3, abs=0.35)


def test_the_page_alone_takes_a_file_and_draws_it(tmp_path: Path, visit: Visit) -> None:
    soundfile.write(tmp_path / "elsewhere.wav", np.tile(steps(6)[:, None], (1, 2)), RATE)
    TALK.save(tmp_path / "page.html")
    page = visit(tmp_path / "page.html")
    page.set_input_files("#sound", tmp_path / "elsewhere.wav")
    hurry(page)
    page.keyboard.press("n")
    assert paused_after_playing(page) == pytest.approx(3.3, abs=0.35)
    page.wait_for_selector("#wave path")
    assert page.evaluate("Waveform.peaksOf(new Float32Array([0, 0.5, -0.25, 0, 1, 0]), 2, 0, 3, 3)") == [
        [0, 0.5], [-0.25, 0], [0, 1],
    ]  # fmt: skip

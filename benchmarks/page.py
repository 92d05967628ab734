"""The review page of 20,000 words, two hours of speech: seconds until it is there, and what steps and scrolling take.

Run with `python -m benchmarks page`. Processor seconds of the browser's main thread, so that other work on the
machine does not count. Needs Chromium and playwright; there is no baseline but the seconds themselves.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from wordtrust.transcripts.transcript import Transcript, Transcripts
from wordtrust.transcripts.words import Alternative, Word

if TYPE_CHECKING:
    from playwright.sync_api import Page

WORDS, TIMES = 20_000, 10
FRAME = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
STEPS = {
    "a correction": "((id) => Editing.correct(id, id, 'w' + Math.random()))(Transcript.segment('s99').words[2].id)",
    "undo": "Editing.undo()",
    "the next doubtful word": "Position.seek(1)",
    "the slider": "Marks.set(50 + 40 * Math.random()); Marks.update()",
    "scrolling half a window": "scrollBy({ top: innerHeight / 2, behavior: 'instant' })",
}


def made_transcripts(words: int = WORDS) -> Transcripts:
    """Segments of ten words, like a recognizer's: a third of the words with alternatives, one in ten doubtful."""
    drawn, segments = random.Random(1), []
    for first in range(0, words, 10):
        said = []
        for position in range(first, first + 10):
            sure = min(1.0, drawn.betavariate(9, 0.5))
            others = (Alternative("other", (1 - sure) / 2), Alternative("another", (1 - sure) / 4))
            text = "".join(drawn.choices("aeioustnrl", k=drawn.randint(2, 9)))
            times = position * 0.36, position * 0.36 + 0.3
            said.append(Word(text, text, *times, sure, others if drawn.random() < 1 / 3 else (), missing_before=0.02))
        segments.append(Transcript("talk", tuple(said), correct=0.5, missing_end=0.02))
    return Transcripts(segments)


def main_thread(page: Page) -> Callable[[], float]:
    """A clock of what the main thread of a page has worked so far."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))

    return worked


def run() -> None:
    """Print what loading takes, with a browser that has just started and then again, and what each step takes."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "talk.html"
        made_transcripts().save(path)
        browser = playwright.chromium.launch(executable_path=program)
        for when in ("first", "again"):
            page = browser.new_page(viewport={"width": 1200, "height": 800})
            worked = main_thread(page)
            page.goto(path.as_uri())
            page.evaluate(FRAME)
            print(f"{WORDS:,} words, {when}: {worked():.2f} s")  # since the page began
        for name, code in STEPS.items():
            page.evaluate(code)
            before = worked()
            for _ in range(TIMES):
                page.evaluate(code)
                page.evaluate(FRAME)
            print(f"{name}: {(worked() - before) / TIMES * 1000:.0f} ms")
        browser.close()

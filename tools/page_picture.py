"""docs/figures/page.png and review.png: the page of a recording made of the bundled clips, as Chromium shows it.

    python -m tools.page_picture

Needs the extras `audio` and `dev`, and Chromium on the PATH.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import numpy as np
import soundfile

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[1]
CLIPS = ROOT / "src" / "wordtrust" / "sample" / "corpus" / "audio"
FIGURES = ROOT / "docs" / "figures"
SIZE = (900, 860)


def recording(path: Path) -> None:
    """All bundled clips in one file, with a pause after each."""
    parts, rate = [], 16_000
    for clip in sorted(CLIPS.glob("*.flac")):
        samples, rate = soundfile.read(clip, dtype="float32")
        parts += [samples, np.zeros(rate, np.float32)]
    soundfile.write(path, np.concatenate(parts), rate)


def opened(browser: Browser, path: Path, scheme: Literal["light", "dark"]) -> Page:
    """The page in a window of its own, that knows nothing yet."""
    viewport = {"width": SIZE[0], "height": SIZE[1]}
    page = browser.new_context(viewport=viewport, color_scheme=scheme).new_page()  # type: ignore[arg-type]
    page.goto(path.as_uri())
    return page


def read_along(page: Page) -> None:
    """At a doubtful word, with what else it may be."""
    page.keyboard.press("n")
    page.keyboard.press("n")
    page.wait_for_timeout(500)
    page.screenshot(path=FIGURES / "page.png")


def corrected(page: Page) -> None:
    """A word was corrected, another is checked, and the next stretch is at hand."""
    page.keyboard.press("n")
    page.keyboard.press("1")
    page.keyboard.press("n")
    page.keyboard.press("c")
    page.keyboard.press("g")
    page.locator("#notice .close").click()
    page.wait_for_timeout(1500)
    page.screenshot(path=FIGURES / "review.png")


def main() -> None:
    """Make the recording, its page, and the pictures of it."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("Chromium is not installed")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        recording(Path(folder) / "kitchen.wav")
        transcribe = [sys.executable, "-m", "wordtrust", "transcribe", "kitchen.wav", "--out", "kitchen.html"]
        subprocess.run(transcribe, cwd=folder, check=True)
        browser = playwright.chromium.launch(executable_path=chromium)
        read_along(opened(browser, Path(folder) / "kitchen.html", "light"))
        corrected(opened(browser, Path(folder) / "kitchen.html", "dark"))
        browser.close()


if __name__ == "__main__":
    main()

"""A real browser for tests of pages: chromium, driven by playwright, one for all tests of a session.

Without a browser these tests skip and say so; where WORDTRUST_BROWSER is `required` (`.ci/run`) they fail instead.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Request

Visit = Callable[..., "Page"]
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_LOCAL = ("file:", "data:", "blob:", "about:")


def without_browser(reason: str) -> NoReturn:
    if os.environ.get("WORDTRUST_BROWSER") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        without_browser("needs chromium (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        without_browser("needs playwright (pip install -e .[dev])")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=program, args=["--autoplay-policy=no-user-gesture-required"]
        )
        yield running
        running.close()


class _Watch:
    """What a page must not do: errors on its console, exceptions, and requests to anywhere but its own place."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.own: tuple[str, ...] = _LOCAL

    def attach(self, page: Page) -> None:
        page.on("console", lambda said: self._note(f"console: {said.text}") if said.type == "error" else None)
        page.on("pageerror", lambda error: self._note(f"exception: {error}"))
        page.on("request", self._requested)

    def _requested(self, request: Request) -> None:
        if not request.url.startswith(self.own):
            self._note(f"request: {request.url}")

    def _note(self, problem: str) -> None:
        self.problems.append(problem)


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Opens a file or an address, in a browser that knows nothing yet; the same one for all pages of a test.

    Afterwards the test fails if a page wrote an error to the console, raised, or asked for anything from elsewhere.
    `visit(path, width=360, color_scheme="dark")` for small or dark screens; options count at the first visit.
    """
    contexts: list[BrowserContext] = []
    watch = _Watch()

    def opened(place: Path | str, *, width: int = 1200, height: int = 800, **options: Any) -> Page:
        if not contexts:
            viewport = {"width": width, "height": height}
            contexts.append(browser.new_context(viewport=viewport, accept_downloads=True, **options))  # type: ignore[arg-type]
            contexts[0].set_default_timeout(10_000)
        page = contexts[0].new_page()
        address = place.resolve().as_uri() if isinstance(place, Path) else place
        if isinstance(place, str) and place.startswith("http"):
            watch.own = (*_LOCAL, "/".join(place.split("/")[:3]) + "/")
        watch.attach(page)
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert watch.problems == []

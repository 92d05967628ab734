"""The page in a real browser: it loads without errors and asks nobody for anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.browser import Visit, without_browser
from tests.helpers.transcripts import NASTY
from wordtrust.transcripts.transcript import Transcript
from wordtrust.transcripts.words import Alternative, Word
from wordtrust.transcripts.writer import write_transcripts


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
    page.keyboard.press("n")
    assert page.locator("#card").is_visible()


def test_without_a_browser_tests_skip_and_in_ci_they_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORDTRUST_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="needs chromium"):
        without_browser("needs chromium")
    monkeypatch.setenv("WORDTRUST_BROWSER", "required")
    with pytest.raises(pytest.fail.Exception, match="needs chromium"):
        without_browser("needs chromium")

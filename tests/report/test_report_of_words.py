"""The report of words that came without confidences, and tables on narrow screens."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.helpers.command_line import run
from tests.helpers.html_page import HtmlPage

pytestmark = pytest.mark.slow

pytest.importorskip("jinja2", reason="needs the extra `report`")
STM = "call A speaker 0.0 9.0 one two three four\ncall B other 0.0 9.0 five six seven eight nine ten\n"
WORDS = {"A": ("one", "too", "three", "uh-oh"), "B": ("five", "six", "seven", "eight", "nine")}
SCRIPT = "document.title = [...document.querySelectorAll('.wide')].map(e => e.scrollWidth - e.clientWidth).join(' ')"


def ctm(confidence: str = "") -> str:
    """What was recognized, in two channels."""
    return "".join(
        f"call {channel} {n + 0.5} 0.4 {word} {confidence}\n"
        for channel, words in WORDS.items()
        for n, word in enumerate(words)
    )


def report(folder: Path, confidence: str = "") -> Path:
    """The page about that."""
    (folder / "ref.stm").write_text(STM)
    (folder / "words.ctm").write_text(ctm(confidence))
    run("evaluate", "--scores", folder / "words.ctm", "--ref", folder / "ref.stm", "--report", folder / "page.html")
    return folder / "page.html"


def test_words_without_confidences_have_numbers_a_summary_and_examples(tmp_path: Path) -> None:
    page = HtmlPage(report(tmp_path).read_text("utf-8"))
    text = page.text
    assert "30.00% word error rate 3 errors 10 words were said 2 utterances 70.0% of them correct 7 words" in text
    assert "0.0% inserted words 20.0% substituted, 10.0% deleted" in text
    assert "In 2 utterances of 2 speakers, 10 words were said. The recognizer's words have 3 errors" in text
    assert "The most errors" in text
    assert "wrong, said was: two" in text
    measures = text.partition("What the measures mean")[2]
    assert "WER" in measures
    for absent in ("NCE", "EER", "Brier", "mean confidence", "its confidence", "not at all sure", "misleading"):
        assert absent not in text, absent


def test_words_with_confidences_still_show_them(tmp_path: Path) -> None:
    text = HtmlPage(report(tmp_path, "0.75").read_text("utf-8")).text
    assert "NCE" in text.partition("What the measures mean")[2]
    assert "mean confidence 0.75" in text
    assert "not at all sure" in text


def test_a_table_of_confidences_fits_a_window_of_1000_pixels(tmp_path: Path) -> None:
    sample = Path(__file__).parents[2] / "src" / "wordtrust" / "sample" / "corpus"
    networks = ("--scales", "whisper-tiny.en", "--out", tmp_path / "x.networks")
    run("build", sample / "whisper-tiny.en" / "eval.jsonl.gz", "--ref", sample / "refs.tsv", *networks)
    run("evaluate", "whisper-tiny.en", tmp_path / "x.networks", "--report", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert re.search(r"td small \{[^}]*white-space: normal", page)  # intervals may take two lines
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no browser here to lay the page out")
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    (tmp_path / "page.html").write_text(page.replace("</body>", f"<script>{SCRIPT}</script></body>"), "utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,1200", "--dump-dom"]
    command = [browser, *options, f"--user-data-dir={tmp_path / 'profile'}", (tmp_path / "page.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    hidden = re.search(r"<title>([-0-9 ]+)</title>", shown)
    assert hidden is not None
    assert set(hidden[1].split()) == {"0"}

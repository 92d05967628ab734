"""The file of a page: what is in it before its script runs, and that words stay words."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.html_page import HtmlPage, page_data
from tests.helpers.transcripts import NASTY, hostile
from tests.helpers.transcripts import transcripts as made
from wordtrust.base.visible_text import json_text
from wordtrust.transcripts.transcript import Transcript
from wordtrust.transcripts.words import Alternative, Word
from wordtrust.transcripts.writer import TranscriptWriter, write_transcripts

SIT = Word("Sit", "sit", 63.3, 63.68, 0.4, (Alternative("seat", 0.3), Alternative("<b>", 0.02)))
FIRST = Transcript("talk", (Word("I'll", "i'll", 63, 63.3, 0.95), SIT, Word("there.", "there", 63.68, 64, 0.6)))
SECOND = Transcript(
    "talk", (Word("Middle-", "middle", 70, 71, 0.99, joins_next=True), Word("earth", "earth", 71, 72, 1))
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples of a property."""
    return tmp_path_factory.mktemp("pages")


def written(segments: list[Transcript], path: Path, about: dict[str, Any] | None = None) -> str:
    with TranscriptWriter(path, recordings=True, about=about) as out:
        for each in segments:
            out.add([each])
    return path.read_bytes().decode("utf-8")


def test_the_page_has_the_records_of_jsonl_files(tmp_path: Path) -> None:
    data = page_data(written([FIRST, SECOND], tmp_path / "a.html", {"file": "a.wav"}))
    assert data["records"] == [FIRST.to_dict(), SECOND.to_dict()]
    assert data["about"] == {"file": "a.wav"}
    assert data["limits"] == {"low": 0.5, "high": 0.9, "missing": 0.25, "marked": 0.9}
    assert data["left_out"] is None


def test_without_its_script_the_page_has_the_text(tmp_path: Path) -> None:
    text = written([replace(FIRST, speaker="Ann & Bo"), SECOND], tmp_path / "a.html")
    plain = text.partition("<noscript>")[2].partition("</noscript>")[0]
    assert re.findall('<p dir="auto">(.*?)</p>', plain) == [
        "Ann &amp; Bo: I&#x27;ll Sit there.", "Middle-earth",
    ]  # fmt: skip


def test_numbers_that_json_has_no_word_for(tmp_path: Path) -> None:
    about = {"figure": float("nan"), "interval": [1, float("inf")], "path": Path("a")}
    assert page_data(written([FIRST], tmp_path / "a.html", about))["about"] == {
        "figure": None, "interval": [1, None], "path": "a",
    }  # fmt: skip


@pytest.mark.parametrize(("limit", "shown"), [(0.87, ["under 50%", "under 87%"]), (0.4062, ["under 40.62%"])])
def test_the_legend_says_what_is_marked(tmp_path: Path, limit: float, shown: list[str]) -> None:
    about = {"accept": {"threshold": limit, "promise": "most are right"}}
    write_transcripts([FIRST.accepting(limit)], tmp_path / "a.html", about=about)
    legend = (tmp_path / "a.html").read_text("utf-8").partition('<p class="legend')[2].partition("</p>")[0]
    assert re.findall(r">(under [^<]*)<", legend) == shown


def test_what_is_known_is_told(tmp_path: Path) -> None:
    about = {
        "file": Path("a & b.wav"), "duration": 3725.0, "wordtrust": "1", "joint": False, "mixed": True, "model": None,
        "recognizers": [{"name": "x", "version": "1"}], "models": ["one", {"name": "two"}, None],
        "settings": {"beam": 10},
    }  # fmt: skip
    text = written([FIRST], tmp_path / "a.html", about)
    assert re.findall(r'<dt>(.*?)</dt><dd dir="auto">(.*?)</dd>', text) == [
        ("file", "a &amp; b.wav"), ("duration", "1:02:05"), ("mixed", "yes"), ("recognizer", "x 1"),
        ("models", "one, two"), ("settings", "beam 10"),
    ]  # fmt: skip


def test_the_title_names_recordings(tmp_path: Path) -> None:
    text = written([FIRST, SECOND, Transcript("other", ())], tmp_path / "a.html")
    assert "<title>talk, other</title>" in text
    assert "<title>Transcript</title>" in written([], tmp_path / "a.html")
    assert "<title>talk</title>" in written([], tmp_path / "a.html", {"file": "folder/talk.wav"})
    several = [Transcript(name, ()) for name in "abcde"]
    assert "<title>a, b, c and 2 more</title>" in written(several, tmp_path / "a.html")


def test_nothing_is_loaded_and_nothing_else_may_act(tmp_path: Path) -> None:
    text = written([FIRST], tmp_path / "a.html")
    page = HtmlPage(text)
    policy = next(values["content"] for _, values in page.elements if values.get("http-equiv"))
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        inside = re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert inside
        digest = base64.b64encode(sha256(inside[1].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert not {"link", "img", "iframe", "object", "embed"} & {tag for tag, _ in page.elements}
    assert not {name for _, values in page.elements for name in values} & {"src", "style", "onclick", "onload"}
    addresses = set(re.findall(r"https?:[^\"' ]*|@import|url\(", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of a kind of element


def check_words_are_words(folder: Path, segments: list[Transcript], name: str, value: str) -> None:
    """The page of these has the elements of a page of harmless words, and gives its script these."""
    plain = [
        Transcript(str(number), tuple(Word("x", "x", word.start, word.end, word.confidence) for word in each.words))
        for number, each in enumerate(segments)
    ]
    segments = [Transcript(f"{number}{each.utt}", each.words) for number, each in enumerate(segments)]
    text = written(segments, folder / "a.html", {"a" + name: "b" + value})
    page, expected = HtmlPage(text), HtmlPage(written(plain, folder / "b.html", {"a": "b"}))
    assert page.elements == expected.elements
    assert page.inside["script"] == expected.inside["script"]
    assert page_data(text)["records"] == [json.loads(json_text(each.to_dict())) for each in segments]


def test_nasty_words_are_words(tmp_path: Path) -> None:
    for nasty in NASTY:
        words = tuple(Word(nasty, nasty or "x", k, k + 1, 0.3, (Alternative(nasty, 0.2),)) for k in range(2))
        check_words_are_words(tmp_path, [Transcript(nasty, words)], nasty, nasty)


@settings(max_examples=60, deadline=None)
@given(st.lists(made(max_words=6), min_size=1, max_size=3), hostile, hostile)
def test_words_cannot_inject_anything(folder: Path, segments: list[Transcript], name: str, value: str) -> None:
    check_words_are_words(folder, segments, name, value)


def test_no_jinja2_is_needed(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['jinja2'] = None\n"
        "from wordtrust.transcripts.writer import TranscriptWriter\n"
        f"with TranscriptWriter({str(tmp_path / 'a.html')!r}): pass\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    assert (tmp_path / "a.html").stat().st_size


def test_a_check_is_told_in_words(tmp_path: Path) -> None:
    found = {"words": 1234, "interval": [48.88, 76.29], "found": 0.8944, "worst": [{"start": 80.588}]}
    facts = written([FIRST], tmp_path / "a.html", {"check": found}).partition("<main>")[0]
    assert "49 to 76 of 1,234 words wrong, 89% heard as they are written" in facts
    assert "80.588" not in facts
    for hostile_check in (
        {"interval": [1]},
        {"interval": "ab", "words": 1, "found": 1},
        {"interval": [1, float("inf")]},
    ):
        assert "words wrong" not in written([FIRST], tmp_path / "b.html", {"check": hostile_check})

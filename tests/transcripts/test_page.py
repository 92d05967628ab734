"""The page of a recording: what a browser would find in it, and that words stay words."""

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

from tests.helpers.html_page import HtmlPage
from tests.helpers.transcripts import NASTY, hostile
from tests.helpers.transcripts import transcripts as made
from wordtrust.base.visible_text import visible
from wordtrust.transcripts.transcript import Transcript
from wordtrust.transcripts.words import Alternative, Word, level, spelled
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


def test_words_of_a_recording(tmp_path: Path) -> None:
    text = written([FIRST, SECOND], tmp_path / "a.html")
    page = HtmlPage(text)
    assert [shown for _, shown in page.words] == ["I'll", "Sit", "there.", "Middle-", "earth"]
    assert [values["class"] for values, _ in page.words] == [
        "w high c10", "w low c4 on", "w medium c6 on", "w high c10", "w high c10",
    ]  # fmt: skip
    values = page.words[1][0]
    assert (values["data-c"], values["data-t"], values["data-e"]) == ("40.0000", "63.300", "63.680")
    assert json.loads(values["data-o"]) == [["seat", 30.0], ["<b>", 2.0]]
    assert "data-o" not in page.words[0][0]
    assert ">Middle-</span><span" in text  # joined
    assert re.findall(r'data-t="[0-9.]+">([0-9:]+)</a>', text) == ["1:03", "1:10"]


def test_counts(tmp_path: Path) -> None:
    text = re.sub(
        "<[^>]*>", " ", written([FIRST, SECOND], tmp_path / "a.html").split("<body>")[1].split("<script>")[0]
    )
    shown = " ".join(text.split())
    assert "5 words in 2 segments" in shown
    assert "40% doubtful 2 under 90%" in shown
    assert "1.1 expected errors 21.2% of the words" in shown  # .05 + .6 + .4 + .01


@pytest.mark.parametrize(("limit", "shown"), [(0.87, ["under 50%", "under 87%"]), (0.4062, ["under 40.62%"])])
def test_the_legend_says_what_is_marked(tmp_path: Path, limit: float, shown: list[str]) -> None:
    about = {"accept": {"threshold": limit, "promise": "most are right"}}
    write_transcripts([FIRST.accepting(limit)], tmp_path / "a.html", about=about)
    legend = (tmp_path / "a.html").read_text("utf-8").partition('<p class="legend')[2].partition("</p>")[0]
    assert re.findall(r">(under [^<]*)<", legend) == shown


def test_missing_words_and_whole_segments(tmp_path: Path) -> None:
    words = [replace(word, missing_before=gap) for word, gap in zip(FIRST.words, (0.01, 0.6, 0.2), strict=True)]
    text = written([replace(FIRST, words=tuple(words), correct=0.456, missing_end=0.3)], tmp_path / "a.html")
    marks = re.findall(r'<span class="missing" title="something may be missing here \((\d+)%\)">', text)
    assert marks == ["60", "30"]
    assert "all right with 45%</small>" in text
    assert '<span class="missing">[…]</span> something may be missing here' in text  # the legend
    assert "besides, some are missing in 1.1 places" in text
    plain = written([FIRST], tmp_path / "a.html")  # of a model that does not tell
    assert "be missing here" not in plain
    assert "all right with" not in plain
    assert "missing ones do not count" in plain


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


def test_recordings_have_titles_when_there_are_several(tmp_path: Path) -> None:
    text = written([FIRST, SECOND, Transcript("other", ())], tmp_path / "a.html")
    assert re.findall("<h2[^>]*>(.*?)</h2>", text) == ["talk", "other"]
    assert "<title>talk, other</title>" in text
    assert text.count("(no words)") == 1
    assert "<h2" not in written([FIRST, SECOND], tmp_path / "a.html")
    assert "<title>Transcript</title>" in written([], tmp_path / "a.html")
    assert "<title>talk</title>" in written([], tmp_path / "a.html", {"file": "folder/talk.wav"})
    several = [Transcript(name, ()) for name in "abcde"]
    assert "<title>a, b, c and 2 more</title>" in written(several, tmp_path / "a.html")


def test_the_strip_has_the_doubt_of_each_stretch(tmp_path: Path) -> None:
    text = written([FIRST, SECOND], tmp_path / "a.html")  # 72 s, 24 bars of 3 s
    assert 'viewBox="0 0 24 20"' in text
    bars = re.findall(r'<rect x="([\d.]+)" width="0.8" y="[\d.]+" height="([\d.]+)"/>', text)
    # All of the first segment is in bar 21, `Middle-` in bar 23; the highest is the one with 1.05 expected errors.
    assert [(float(x), float(height)) for x, height in bars] == [(21.1, 20), (23.1, pytest.approx(0.19, abs=0.005))]
    long = Transcript("talk", (Word("x", "x", 7199, 7200, 0.5),))
    assert 'viewBox="0 0 120 20"' in written([FIRST, long], tmp_path / "a.html")


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
    assert not re.search(r"https?:|@import|url\(", text)


def check_words_are_words(folder: Path, segments: list[Transcript], name: str, value: str) -> None:
    """The page of these has the elements of a page of harmless words, and shows these."""
    plain = [
        Transcript(str(number), tuple(Word("x", "x", word.start, word.end, word.confidence) for word in each.words))
        for number, each in enumerate(segments)
    ]
    segments = [Transcript(f"{number}{each.utt}", each.words) for number, each in enumerate(segments)]
    page = HtmlPage(written(segments, folder / "a.html", {"a" + name: "b" + value}))
    expected = HtmlPage(written(plain, folder / "b.html", {"a": "b"}))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in expected.elements]
    for (_, values), (_, others) in zip(page.elements, expected.elements, strict=True):
        assert values.keys() - {"data-o"} == others.keys()
        assert values.get("class") == others.get("class")
    assert page.inside["script"] == expected.inside["script"]
    names = [values["data-name"] for _, values in page.elements if "data-name" in values]
    assert names == [visible(each.utt) for each in segments]
    words = [word for each in segments for word in each.words]
    texts = [text for each in segments for text, _ in spelled(each.words)]
    for (values, shown), word, text in zip(page.words, words, texts, strict=True):
        assert shown == visible(text)
        assert level(word.confidence) in values["class"].split()
        assert [other for other, _ in json.loads(values.get("data-o", "[]"))] == [
            visible(other.word) for other in word.alternatives
        ]


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


def test_a_check_is_told_in_words_and_gaps_of_all_segments_count(tmp_path: Path) -> None:
    cut = replace(
        FIRST, words=tuple(replace(word, missing_before=0.5) for word in FIRST.words)
    )  # its end is not known
    last = replace(SECOND, words=tuple(replace(word, missing_before=0.1) for word in SECOND.words), missing_end=0.2)
    found = {"words": 1234, "interval": [48.88, 76.29], "found": 0.8944, "worst": [{"start": 80.588}]}
    text = written([cut, last], tmp_path / "a.html", {"check": found})
    assert "49 to 76 of 1,234 words wrong, 89% heard as they are written" in text
    assert "80.588" not in text
    assert "besides, some are missing in 1.9 places" in text
    for hostile_check in (
        {"interval": [1]},
        {"interval": "ab", "words": 1, "found": 1},
        {"interval": [1, float("inf")]},
    ):
        assert "words wrong" not in written([cut], tmp_path / "b.html", {"check": hostile_check})

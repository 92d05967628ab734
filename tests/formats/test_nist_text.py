"""NIST's notation: what is read out of texts, and what is compared for a word."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtrust.formats.references.nist_text import (
    MAX_DEPTH,
    SpelledWord,
    as_written,
    first_words,
    normalised,
    parse_text,
)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a b", ["a", "b"]),
        ("{ a / b c } d", [[["a"], ["b", "c"]], "d"]),
        ("{a/b}", [[["a"], ["b"]]]),
        ("x{ a / @ }y", ["x", [["a"], ["@"]], "y"]),
        ("{ a { b / c } / d }", [[["a", [["b"], ["c"]]], ["d"]]]),
        ("{breath} and/or", ["{breath}", "and/or"]),
        ("{ a / }", [[["a"]]]),
        ("{ }", []),
        ("(uh)", ["(uh)"]),
    ],
)
def test_parts(text: str, parts: list[object]) -> None:
    assert parse_text(text) == parts


@pytest.mark.parametrize(
    ("text", "told"), [("a { b", "{ without"), ("a } b", "} without"), ("{ " * (MAX_DEPTH + 1), "nested more than")]
)
def test_braces_that_do_not_fit(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        parse_text(text)


@pytest.mark.parametrize("text", ["(" + "a " * 200_000, "(" * 200_000, "( " * 100_000 + ")", "(a" * 100_000])
def test_parentheses_that_do_not_close_take_no_time(text: str) -> None:
    """A pattern that looks back at every space would take an hour."""
    started = time.perf_counter()
    parse_text(text)
    assert time.perf_counter() - started < 5


def test_the_plain_text_has_first_alternatives_and_no_optional_words() -> None:
    assert first_words(parse_text("x { a { b / c } / d } (uh) { @ / er } (you know) y")) == ["x", "a", "b", "y"]


@pytest.mark.parametrize(
    ("token", "word"),
    [
        ("Hello", SpelledWord("hello")),
        ("Middle-earth.", SpelledWord("middle-earth.")),
        ("(Uh)", SpelledWord("uh", optional=True)),
        ("th-", SpelledWord("th-", fragment=True)),
        ("-ink", SpelledWord("-ink", fragment=True)),
        ("(th-)", SpelledWord("th-", optional=True, fragment=True)),
        ("word;noun;x", SpelledWord("word")),
        (r"a\;s;tag", SpelledWord("a;s")),
        ("dog*", SpelledWord("dog")),
        ("*", SpelledWord("*")),
        ("%hesitation", SpelledWord("%hesitation")),
        ("[noise]", SpelledWord("[noise]")),
        ("{breath}", SpelledWord("breath")),
    ],
)
def test_words_as_sclite_compares_them(token: str, word: SpelledWord) -> None:
    assert as_written(token) == (word,)


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("Middle-earth.", [SpelledWord("middle"), SpelledWord("earth")]),
        ("(Uh)", [SpelledWord("uh", optional=True)]),
        ("%hesitation", [SpelledWord("%hesitation", optional=True)]),
        ("th-", [SpelledWord("th-", fragment=True)]),
        ("[noise]", []),
        ("@", [SpelledWord("@")]),
    ],
)
def test_words_as_wordtrust_compares_them(token: str, words: list[SpelledWord]) -> None:
    assert list(normalised(token)) == words


def test_several_optional_words() -> None:
    """Each is optional to wordtrust; sclite takes the parentheses for letters."""
    parts = parse_text("(you know it)")
    assert [word for part in parts if isinstance(part, str) for word in normalised(part)] == [
        SpelledWord(word, optional=True) for word in ("you", "know", "it")
    ]
    written = [as_written(part)[0].word for part in parts if isinstance(part, str)]
    assert written == ["(you", "know", "it)"]


@given(st.text(st.sampled_from("ab{}/()@-; %"), max_size=30))
def test_any_text_has_parts_or_a_reason(text: str) -> None:
    if text.count("{") != text.count("}"):
        with pytest.raises(ValueError, match=r"without|nested"):
            parse_text(text)
        return
    with contextlib.suppress(ValueError):  # } before {
        assert all(word and (as_written(word) or word[0] == ";") for word in first_words(parse_text(text)))

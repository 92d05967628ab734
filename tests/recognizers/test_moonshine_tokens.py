"""Moonshine's tokens, from both kinds of file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordtrust.base.errors import InputError
from wordtrust.recognizers.moonshine.adapter import weights_folder
from wordtrust.recognizers.moonshine.words import MoonshineTokenizer, read_tokenizer

SPELLED = [
    b"<unk>",
    b"<s>",
    b"</s>",
    b"\xc3",
    b"\xa9",
    "▁".encode(),
    "▁a".encode(),
    b"b",
    "▁é".encode(),
    b".",
    b"<<ST_0>>",
]
UNK, BEGIN, END, HIGH, LOW, SPACE, A, B, E_ACUTE, DOT, SPARE = range(11)


def _words(tokens: list[int]) -> list[tuple[str, int, int]]:
    return [(word.text, word.first, word.last) for word in MoonshineTokenizer(SPELLED).words(tokens)]


def test_words_and_their_tokens() -> None:
    assert _words([A, B, E_ACUTE, DOT]) == [("ab", 0, 2), ("é.", 2, 4)]
    assert _words([B, A]) == [("b", 0, 1), ("a", 1, 2)]
    assert _words([]) == []


def test_bytes_make_letters() -> None:
    assert _words([A, HIGH, LOW, B]) == [("aéb", 0, 4)]
    assert MoonshineTokenizer(SPELLED).text([HIGH]) == "\N{REPLACEMENT CHARACTER}"


def test_lone_spaces_go_with_a_neighbour() -> None:
    assert _words([SPACE, A, SPACE, SPACE, B]) == [("a", 0, 2), ("b", 2, 5)]
    assert _words([A, SPACE]) == [("a", 0, 2)]
    assert _words([SPACE, SPACE]) == []


def test_marks_spell_nothing() -> None:
    tokens = MoonshineTokenizer(SPELLED)
    assert tokens.text([BEGIN, A, UNK, END, SPARE]) == "a"
    assert tokens.n_text_tokens == SPARE
    assert len(tokens) == len(SPELLED)


@given(st.lists(st.integers(0, len(SPELLED) - 1), max_size=12))
@settings(max_examples=200, deadline=None)
def test_words_join_to_the_text_and_use_every_token(tokens: list[int]) -> None:
    words = _words(tokens)
    assert " ".join(text for text, _, _ in words) == MoonshineTokenizer(SPELLED).text(tokens)
    if words:
        assert [first for _, first, _ in words] == [0, *(last for _, _, last in words[:-1])]
        assert words[-1][2] == len(tokens)


def test_the_real_tokenizer() -> None:
    tokens = read_tokenizer(weights_folder())
    assert len(tokens) == 32_768
    assert tokens.n_text_tokens == 32_000
    known = [2296, 2996, 22047, 491, 4646, 292, 2122]  # from the developers' data
    assert tokens.text(known) == "She came surrounded by nightingales"
    assert [word.text for word in tokens.words(known)] == ["She", "came", "surrounded", "by", "nightingales"]


def test_both_kinds_of_file_say_the_same(tmp_path: Path) -> None:
    plain, described = tmp_path / "plain", tmp_path / "described"
    plain.mkdir()
    described.mkdir()
    long = "x" * 200
    pieces = ["<unk>", "<s>", "</s>", "<0xC3>", "<0xA9>", "▁a", long]
    content = [piece.encode() for piece in pieces]
    content[3:5] = [b"\xc3", b"\xa9"]
    lengths = [
        bytes([len(each)]) if len(each) < 128 else bytes([128 + len(each) % 128, len(each) // 128])
        for each in content
    ]
    (plain / "tokenizer.bin").write_bytes(b"".join(a + b for a, b in zip(lengths, content, strict=True)))
    vocabulary = {piece: number for number, piece in enumerate(pieces[3:], 3)}
    added = [{"id": number, "content": piece} for number, piece in enumerate(pieces[:3])]
    (described / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}, "added_tokens": added}))
    text = [5, 3, 4, 6]
    assert read_tokenizer(plain).text(text) == read_tokenizer(described).text(text) == f"aé{long}"
    assert len(read_tokenizer(plain)) == len(read_tokenizer(described)) == 7


@pytest.mark.parametrize("content", [b"\x05abc", b"\x80", b"\xff\xff"])
def test_a_list_that_is_cut_off(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokenizer.bin").write_bytes(content)
    with pytest.raises(InputError, match=r"tokenizer\.bin"):
        read_tokenizer(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"model": {"vocab": {"a": 1}}}',
        '{"model": {"vocab": 3}}',
        "[" * 5_000,
        '{"model": {"vocab": {"a": "x"}}}',
    ],
)
def test_a_description_that_says_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        read_tokenizer(tmp_path)

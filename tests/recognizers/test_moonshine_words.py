"""Moonshine's words: tokens from both kinds of file, and times by the best of all alignments."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wordtrust.base.errors import InputError
from wordtrust.recognizers.moonshine.adapter import weights_folder
from wordtrust.recognizers.moonshine.words import (
    EDGE,
    FIRST_FRAME,
    FRAME_SECONDS,
    PAUSE,
    MoonshineTokenizer,
    WordTokens,
    fit_of_frames,
    read_tokenizer,
    token_spans,
    word_times,
)

Reals = NDArray[np.float64]

SPELLING = [b"<unk>", b"<s>", b"</s>", b"\xc3", b"\xa9", "▁".encode(), "▁a".encode(), b"b", "▁é".encode(), b".",
            b"<<ST_0>>"]  # fmt: skip
UNK, BEGIN, END, HIGH, LOW, SPACE, A, B, E_ACUTE, DOT, SPARE = range(11)
TOKENIZER = MoonshineTokenizer(SPELLING)


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ([], []),
        ([A, B, E_ACUTE, DOT], [("ab", 0, 2), ("é.", 2, 4)]),
        ([B, A], [("b", 0, 1), ("a", 1, 2)]),
        ([A, HIGH, LOW, B], [("aéb", 0, 4)]),  # bytes make letters
        ([SPACE, A, SPACE, SPACE, B], [("a", 0, 2), ("b", 2, 5)]),  # lone spaces go with a neighbour
        ([A, SPACE], [("a", 0, 2)]),
        ([SPACE, SPACE], []),
    ],
)
def test_words_and_their_tokens(tokens: list[int], words: list[tuple[str, int, int]]) -> None:
    assert TOKENIZER.words(tokens) == words


def test_special_tokens_and_incomplete_letters() -> None:
    assert TOKENIZER.text([BEGIN, A, UNK, END, SPARE]) == "a"
    assert TOKENIZER.text([HIGH]) == "\N{REPLACEMENT CHARACTER}"
    assert (TOKENIZER.n_text_tokens, len(TOKENIZER)) == (SPARE, len(SPELLING))


@given(st.lists(st.integers(0, len(SPELLING) - 1), max_size=12))
@settings(max_examples=200)
def test_words_join_to_the_text_and_use_every_token(tokens: list[int]) -> None:
    words = TOKENIZER.words(tokens)
    assert " ".join(word.text for word in words) == TOKENIZER.text(tokens)
    if words:
        assert [word.first for word in words] == [0, *(word.last for word in words[:-1])]
        assert words[-1].last == len(tokens)


def test_the_real_tokenizer() -> None:
    tokenizer = read_tokenizer(weights_folder())
    assert (len(tokenizer), tokenizer.n_text_tokens) == (32_768, 32_000)
    tokens = [2296, 2996, 22047, 491, 4646, 292, 2122]  # from the developers' data
    assert tokenizer.text(tokens) == "She came surrounded by nightingales"
    assert [word.text for word in tokenizer.words(tokens)] == ["She", "came", "surrounded", "by", "nightingales"]


def test_words_are_spelled_as_the_model_learned_to() -> None:
    tokenizer = _real_tokenizer()
    words = [" She", " came", " surrounded", " by", " nightingales"]
    assert [token for word in words for token in tokenizer.encode(word)] == [2296, 2996, 22047, 491, 4646, 292, 2122]
    assert tokenizer.encode(" ") == tokenizer.encode("") == []
    assert tokenizer.text(tokenizer.encode("New\u00a0 York")) == "New York"
    assert tokenizer.text(tokenizer.encode(" Middle-") + tokenizer.encode("earth")) == "Middle-earth"
    assert all(token >= 259 for token in tokenizer.encode("don't 3.5% É"))  # letters, not bytes
    assert set(tokenizer.encode("\U0001f40d")) <= set(range(3, 259))  # bytes: no such letter


@given(st.lists(st.text(max_size=9) | st.sampled_from(["it's", "3.50", "WHO", "naïve", "x" * 150]), max_size=6))
@settings(max_examples=100)
def test_what_is_spelled_reads_as_it_was_written(words: list[str]) -> None:
    tokenizer = _real_tokenizer()
    tokens = [tokenizer.encode(f" {word}") for word in words]
    plain = [" ".join(word.encode("utf-8", "replace").decode().split()) for word in words]
    assert [tokenizer.text(of_word) for of_word in tokens] == plain
    together = [token for of_word in tokens for token in of_word]
    assert tokenizer.text(together) == " ".join(word for word in plain if word)
    assert all(2 < token < tokenizer.n_text_tokens for token in together)


def test_letters_that_cannot_be_spelled_are_unknown() -> None:
    assert TOKENIZER.encode(" abé") == [A, B, HIGH, LOW]
    assert TOKENIZER.encode(" az") == [A, UNK]
    assert TOKENIZER.encode(" é.b") == [E_ACUTE, DOT, B]
    assert TOKENIZER.encode("b") == [B]


@cache
def _real_tokenizer() -> MoonshineTokenizer:
    return read_tokenizer(weights_folder())


def test_both_kinds_of_file_agree(tmp_path: Path) -> None:
    long = "x" * 200
    pieces = ["<unk>", "<s>", "</s>", "<0xC3>", "<0xA9>", "▁a", long]
    spelling = [piece.encode() for piece in pieces]
    spelling[3:5] = [b"\xc3", b"\xa9"]
    lengths = [
        bytes([len(token)]) if len(token) < 128 else bytes([128 + len(token) % 128, len(token) // 128])
        for token in spelling
    ]
    ids = {piece: token_id for token_id, piece in enumerate(pieces[3:], 3)}
    added = [{"id": token_id, "content": piece} for token_id, piece in enumerate(pieces[:3])]
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": ids}, "added_tokens": added}))
    described = read_tokenizer(tmp_path)
    binary = b"".join(length + token for length, token in zip(lengths, spelling, strict=True))
    (tmp_path / "tokenizer.bin").write_bytes(binary)  # which comes first
    listed = read_tokenizer(tmp_path)
    assert described.text([5, 3, 4, 6]) == listed.text([5, 3, 4, 6]) == f"aé{long}"
    assert len(described) == len(listed) == 7


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("tokenizer.bin", content) for content in (b"\x05abc", b"\x80", b"\xff\xff")),
        *(
            ("tokenizer.json", content)
            for content in (
                b"", b"[]", b"{}", b'{"model": {"vocab": {"a": 1}}}', b'{"model": {"vocab": 3}}', b"[" * 5_000,
                b'{"model": {"vocab": {"a": "x"}}}',
            )
        ),
    ],
)  # fmt: skip
def test_damaged_tokenizers_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=name):
        read_tokenizer(tmp_path)


def _all_paths(tokens: int, frames: int, begins: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Every way to give frames to states in order: state 2t is the pause before token t, 2t + 1 the token itself."""
    allowed = []
    for path in product(range(2 * tokens + 1), repeat=frames):
        is_forward = all(left <= right for left, right in pairwise(path))
        has_all = {2 * token + 1 for token in range(tokens)} <= set(path)
        pauses = {state // 2 for state in path if state % 2 == 0}
        if is_forward and has_all and all(pause in (0, tokens - 1, tokens) or begins[pause] for pause in pauses):
            allowed.append(path)
    return allowed


def _value(path: tuple[int, ...], fit: Reals) -> float:
    edges = (0, 2 * len(fit) - 2, 2 * len(fit))
    pauses = {state: EDGE if state in edges else PAUSE for state in range(0, 2 * len(fit) + 1, 2)}
    return sum(pauses[state] if state % 2 == 0 else fit[state // 2, frame] for frame, state in enumerate(path))


def _value_of_spans(spans: Reals, fit: Reals) -> float:
    path = np.zeros(fit.shape[1], int)
    for token, (first, last) in enumerate(spans.astype(int)):
        path[first:last] = 2 * token + 1
        path[last:] = 2 * token + 2
    return _value(tuple(path.tolist()), fit)


@given(st.integers(0, 10_000), st.integers(2, 3), st.integers(3, 5))
@settings(max_examples=40)
def test_no_alignment_is_better(seed: int, tokens: int, frames: int) -> None:
    random = np.random.default_rng(seed)
    fit, begins = random.normal(0, 1, (tokens, frames)), random.random(tokens) < 0.5
    (spans,) = token_spans([fit.astype(np.float32)], [begins])
    best = max(_value(path, fit) for path in _all_paths(tokens, frames, begins))
    assert _value_of_spans(spans, fit) == pytest.approx(best, abs=1e-4)


@given(st.integers(0, 10_000), st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(1, 40))
@settings(max_examples=60)
def test_tokens_follow_each_other_and_texts_are_independent(seed: int, lengths: list[int], frames: int) -> None:
    """Also where there are more tokens than frames."""
    random = np.random.default_rng(seed)
    fits = [random.normal(0, 1, (length, frames)).astype(np.float32) for length in lengths]
    begins = [random.random(length) < 0.4 for length in lengths]
    for fit, begin, spans in zip(fits, begins, token_spans(fits, begins), strict=True):
        assert spans.shape == (len(fit), 2)
        assert (spans[:, 0] < spans[:, 1]).all()
        assert (spans[1:, 0] >= spans[:-1, 1]).all()
        assert 0 <= spans.min() <= spans.max() <= frames
        if max(lengths) <= frames:
            assert token_spans([fit], [begin])[0].tolist() == spans.tolist()


def test_clear_attention_gives_clear_times() -> None:
    fit = np.full((4, 100), -0.5, np.float32)
    for token, (first, last) in enumerate([(20, 30), (30, 45), (80, 90), (90, 92)]):
        fit[token, first:last] = 3.0
    (spans,) = token_spans([fit], [np.array([True, False, True, False])])
    assert spans.tolist() == [[20, 30], [30, 45], [80, 90], [90, 92]]
    times = word_times(spans, [WordTokens("ab", 0, 2), WordTokens("c", 2, 3)], 2.4)
    assert times.tolist() == [[0.5, 1.1], [1.94, 2.18]]  # 24 ms per frame, 16 ms after the beginning


def test_a_short_gap_belongs_to_the_word_before() -> None:
    spans = np.array([[1.0, 4.0], [20.0, 30.0]])
    times = word_times(spans, [WordTokens("a", 0, 1), WordTokens("b", 1, 2)], 0.508)
    starts = [frame * FRAME_SECONDS + FIRST_FRAME for frame in (1, 20)]
    assert times[0].tolist() == pytest.approx(starts, abs=0.0051)
    assert times[1, 1] == 0.5  # no word ends after the audio
    assert word_times(spans, [], 1.0).shape == (0, 2)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 3), st.integers(1, 12))
@settings(max_examples=30)
def test_the_fit_is_the_mean_median_z_score(seed: int, heads: int, rows: int, frames: int) -> None:
    attention = np.random.default_rng(seed).random((heads, rows, frames)).astype(np.float32)
    fit = fit_of_frames(attention)
    for row, frame in product(range(rows), range(frames)):
        scores = []
        for head in attention[:, row].astype(np.float64):
            around = [head[min(max(frame + shift, 0), frames - 1)] for shift in (-1, 0, 1)]
            scores.append((np.median(around) - head.mean()) / (head.std() + 1e-9))
        assert fit[row, frame] == pytest.approx(np.mean(scores), abs=1e-3)

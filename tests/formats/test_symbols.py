"""Symbol tables: every layout, and what is wrong with a bad one."""

from __future__ import annotations

import contextlib
import gzip
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.shared import SHARED, needs_shared
from wordtrust.base.errors import InputError
from wordtrust.formats.symbols import Symbols, SymbolTokens
from wordtrust.lattices.assemble import Tokens
from wordtrust.lattices.text import DEFAULT, Normalizer, join_surfaces

WORDS = st.text("azéßжй字あ1%", min_size=1)


def table(folder: Path, text: str | bytes, name: str = "words.txt") -> Symbols:
    path = folder / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return Symbols.load(path)


def _surface(tokens: Tokens, token: int) -> str:
    return join_surfaces(tokens.vocabulary[surface] for _, surface in tokens.pieces[token])


@given(
    st.dictionaries(st.integers(0, 2**31 - 1), WORDS, max_size=20),
    st.sampled_from([" ", "\t", "  \t "]),
    st.sampled_from(["\n", "\r\n", "\n\n", " \n"]),
    st.booleans(),
)
def test_any_layout(
    tmp_path_factory: pytest.TempPathFactory, words: dict[int, str], sep: str, end: str, packed: bool
) -> None:
    folder = tmp_path_factory.mktemp("table")
    text = end.join(f"{word}{sep}{number}" for number, word in words.items())
    symbols = table(folder, text, "words.txt.gz" if packed else "words.txt")
    assert len(symbols) == len(words)
    assert symbols.ids.tolist() == sorted(words)
    asked = [*words, 5, 2**31 - 2]
    assert symbols.words(np.array(asked)) == [words.get(number) for number in asked]
    tokens = SymbolTokens(symbols, Tokens())
    for _ in range(2):
        found = tokens(np.array(asked, np.int32))
        surfaces = [_surface(tokens.tokens, token) if token >= 0 else None for token in found.tolist()]
        assert surfaces == ["" if number == 0 else words.get(number) for number in asked]


def test_numbers_far_apart_and_below_zero(tmp_path: Path) -> None:
    symbols = table(tmp_path, "<eps> 0\nfar 2000000000\nminus -3\n")
    tokens = SymbolTokens(symbols, Tokens())
    found = tokens(np.array([0, 2_000_000_000, 1, -3, 2_000_000_000], np.int32))
    assert found.tolist() == [0, found[1], -1, found[3], found[1]]
    assert tokens.tokens.vocabulary.strings[1:] == ["minus", "far"]


def test_words_are_normalised_when_they_are_used(tmp_path: Path) -> None:
    symbols = table(tmp_path, "<eps> 0\na 1\nb 2\nc 3\n")
    tokens = SymbolTokens(symbols, Tokens())
    tokens(np.array([2, 2, 0], np.int32))
    assert tokens.tokens.vocabulary.strings == ["", "b"]


def test_files_share_what_is_known_of_a_table(tmp_path: Path) -> None:
    symbols = table(tmp_path, "<eps> 0\nA 1\n")
    assert Symbols.load(tmp_path / "words.txt") is symbols
    assert SymbolTokens.shared(symbols, DEFAULT) is SymbolTokens.shared(symbols, DEFAULT)
    assert SymbolTokens.shared(symbols, DEFAULT) is not SymbolTokens.shared(symbols, Normalizer(lower=False))
    (tmp_path / "words.txt").write_text("<eps> 0\nA 1\nB 2\n")
    assert Symbols.load(tmp_path / "words.txt").words(np.array([2])) == ["B"]


def test_a_normaliser_that_cannot_be_remembered(tmp_path: Path) -> None:
    class Mine:
        __hash__ = None  # type: ignore[assignment]

        def pieces(self, token: str) -> list[tuple[str, str]]:
            return [(token.upper(), token)]

    tokens = SymbolTokens.shared(table(tmp_path, "<eps> 0\na 1\n"), Mine())  # type: ignore[arg-type]
    tokens(np.array([1], np.int32))
    assert tokens.tokens.vocabulary.strings == ["", "A", "a"]


def test_a_byte_order_mark_is_no_word(tmp_path: Path) -> None:
    assert table(tmp_path, b"\xef\xbb\xbf<eps> 0\nb 1\n").words(np.array([0, 1])) == ["<eps>", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"<eps> 0\nhello\n", "line 2: no word and number: 'hello'"),
        (b"<eps> 0\nhello there 2\n", "line 2: no word and number: 'hello there 2'"),
        (b"<eps> 0\n\n1 one\n", "line 3: no word and number: '1 one'"),
        (b"a 1\nb 1.5\n", "line 2: no word and number: 'b 1.5'"),
        (b"a 99999999999\n", "line 1: no word and number"),
        (b"a 1\nb 2\nc 1\n", "two words have the number 1"),
        (b"a 1\nb\xff 2\n", "line 2: not UTF-8"),
        (b"\x1f\x8bgarbage", "cannot be read on"),
    ],
)
def test_bad_tables(tmp_path: Path, text: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        table(tmp_path, text)
    assert caught.value.file.endswith("words.txt")
    assert caught.value.remedy


def test_no_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the symbol table cannot be opened: No such file"):
        Symbols.load(tmp_path / "words.txt")
    with pytest.raises(InputError, match="the symbol table cannot be read"):
        Symbols.load(tmp_path)


@given(st.binary(max_size=100))
def test_only_our_errors_escape(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    with contextlib.suppress(InputError):
        table(tmp_path_factory.mktemp("table"), data)


@needs_shared
def test_a_large_table_loads_at_once() -> None:
    path = SHARED / "kaldi-small-2020" / "words.txt.gz"
    Symbols.load(path)
    from wordtrust.formats import symbols

    taken = []
    for _ in range(5):
        symbols._loaded.cache_clear()
        begin = time.process_time()
        loaded = Symbols.load(path)
        taken.append(time.process_time() - begin)
    assert len(loaded) == 152_216
    assert min(taken) < 0.1

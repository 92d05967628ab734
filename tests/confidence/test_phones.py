"""Phone counts: every layout of a lexicon, clear errors, and how good the estimate is."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from wordtrust.base.errors import InputError
from wordtrust.confidence.phones import estimate_phones, read_lexicon

KALDI = """<eps>
!SIL SIL
<UNK> SPN
[noise] NSN
DON'T D OW1 N T
A AH0
A EY1
Café\tK AE F EY
well-known W EH L N OW N
— AH
uh-SIL SIL
"""


def read(folder: Path, content: str | bytes, words: list[str] | None = None) -> dict[str, int]:
    path = folder / "lexicon.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_lexicon(path, words)


CMUDICT = """\
;;; # CMUdict  --  Major Version: 0.07
## Date: 1
# made up
!EXCLAMATION-POINT  EH2 K S K L AH0 M EY1 SH AH0 N P OY2 N T
HELLO  HH AH0 L OW1
HELLO(1)  HH EH0 L OW1 W
hello(2) HH
TOMATO(1)  T AH0 M
d'artagnan D AH0 R T AE1 NG Y AH0 N # foreign french
(paren  P AH
"""
LEXICONS: dict[str, tuple[str | bytes, dict[str, int]]] = {
    "Kaldi": (KALDI, {"don't": 4, "a": 1, "cafe": 4}),
    "probabilities": (
        "a 0.25 AH\na 1.0 EY IH\na 1 AH AH AH\nthe 1 DH AH\nof\t1e-05 AH V\nto 0.9 0.5 1.2 0.97 T UW\n",
        {"a": 2, "the": 2, "of": 2, "to": 2},
    ),
    "X-SAMPA, whose 9 and 2 are vowels, not probabilities": (
        "öffnen 9 f n @ n\nö 2\nein 0.5 aI n\n",
        {"offnen": 5, "o": 1, "ein": 2},
    ),
    "disambiguation symbols and silence, which are no phones": (
        "red 1.0 R_B EH_I D_E #1\nread R EH D #2\nice-9 AY S\nhot HH AA T SIL\nwow +NOISE+ W AW SIL_E\nSIL SIL\n",
        {"red": 3, "read": 3, "hot": 3, "wow": 2},
    ),
    "CMU dictionary": (CMUDICT, {"hello": 4, "tomato": 3, "d'artagnan": 9, "paren": 2}),
    "Sphinx": ("<s> SIL\n</s> SIL\n++BREATH++ +BREATH+\na AH\na(2) EY IH\ntv T IY V IY\n", {"a": 1, "tv": 4}),
    "packed with a byte order mark": (
        gzip.compress(b"\xef\xbb\xbfa AH\r\n\r\nthe DH AH\r\n", mtime=0),
        {"a": 1, "the": 2},
    ),
}


@pytest.mark.parametrize("layout", LEXICONS)
def test_every_layout(tmp_path: Path, layout: str) -> None:
    content, phones = LEXICONS[layout]
    assert read(tmp_path, content) == phones


def test_only_the_words_asked_for(tmp_path: Path) -> None:
    assert read(tmp_path, KALDI, ["don't", "zebra"]) == {"don't": 4}
    assert read(tmp_path, KALDI, ["zebra"]) == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no words with phones"),
        (b";;; nothing\n\n", "no words with phones"),
        (b"!SIL SIL\n", "no words with phones"),
        (b"a AH\nthe\n", "line 2: the word 'the' has no phones"),
        (b"a AH\nthe # a comment\n", "line 2: the word 'the' has no phones"),
        (b"<eps> 0\na 1\nabout 12\n", "line 3: '12' is a number, not a phone"),
        (b"the 0.5 -0.25 1.5\n", "line 1: '-0.25' is a number, not a phone"),
        (b"the 0.5 0.25\n", "line 1: '0.25' is a number, not a phone"),
        (b"a AH\nM\xfcll M Y L\n", "line 2: byte 0xfc at column 2 is not UTF-8. Convert the file"),
        (b"a AH\n\0\0\n", "line 2: this is not a text file"),
        ("a AH".encode("utf-16"), "line 1: this is not a text file"),
        (b"a " + b"AH " * 30_000, "line 1: the line has 90,002 bytes"),
        (gzip.compress(KALDI.encode() * 100, mtime=0)[:60], "cut off or damaged"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    assert message in str(caught.value)
    assert str(tmp_path / "lexicon.txt") in str(caught.value)


@given(st.binary(max_size=100) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_give_counts_or_an_input_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_bytes(data)
    try:
        counts = read_lexicon(path)
    except InputError:
        return
    assert min(counts.values()) >= 1


# Phones of General American, counted by hand: a schwa and an l at the end of "table", r-coloured vowels as one.
KNOWN = {
    "a": 1, "i": 1, "the": 2, "to": 2, "he": 2, "she": 2, "you": 2, "it's": 3, "don't": 4, "isn't": 5, "we've": 3,
    "i'll": 2, "they're": 3, "this": 3, "that": 3, "with": 3, "have": 3, "make": 3, "makes": 4, "liked": 4,
    "waited": 5, "boxes": 6, "table": 5, "little": 5, "night": 3, "would": 3, "though": 2, "thought": 3, "caught": 3,
    "eight": 2, "know": 2, "write": 3, "what": 3, "phone": 3, "watch": 3, "back": 3, "fish": 3, "singer": 4,
    "finger": 5, "king": 3, "thing": 3, "six": 4, "quick": 4, "school": 4, "science": 5, "nation": 5, "special": 6,
    "question": 7, "music": 6, "letter": 4, "summer": 4, "first": 4, "bird": 3, "word": 3, "work": 3, "doctor": 5,
    "speech": 4, "recognizer": 9, "confidence": 9, "people": 5, "beautiful": 8, "one": 3, "two": 2, "hundred": 7,
    "business": 6, "government": 8, "tv": 4, "bbc": 6, "m": 2, "hmm": 2, "fbi": 5, "uk": 4, "mr": 5, "mrs": 5,
}  # fmt: skip


def errors(known: Mapping[str, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far the estimate is off, and how far a mere count of letters would be."""
    true = np.array(list(known.values()))
    by_spelling = np.array([estimate_phones(word) for word in known])
    by_letters = np.array([max(round(0.85 * len(word)), 1) for word in known])
    return np.abs(by_spelling - true), np.abs(by_letters - true)


def test_the_estimate_on_known_words() -> None:
    ours, letters = errors(KNOWN)
    assert ours.mean() <= 0.2
    assert (ours <= 1).mean() >= 0.95
    assert ours.mean() < letters.mean() / 3


@pytest.mark.slow
def test_the_estimate_on_a_whole_dictionary() -> None:
    package = pytest.importorskip("pocketsphinx", reason="has a dictionary of 130,000 words inside")
    lexicon = read_lexicon(Path(package.__file__).parent / "model" / "en-us" / "cmudict-en-us.dict")
    assert len(lexicon) > 100_000
    ours, letters = errors(dict(list(lexicon.items())[::5]))  # a fifth tells as much
    assert ours.mean() <= 0.25
    assert (ours <= 1).mean() >= 0.97
    assert ours.mean() < letters.mean() / 2


@pytest.mark.parametrize(
    ("word", "phones"),
    [
        ("42", 7), ("2020", 12), ("2008", 11),
        ("7", 5), ("100", 8), ("1990", 13), ("1990s", 14), ("1900", 14), ("19th", 8), ("5%", 9), ("r&b", 7),
        ("мой", 3), ("한국어", 8), ("日本語", 6), ("かな", 4), ("がな", 4), ("मुंबई", 5), ("ภาษา", 4), ("café", 3),
    ],
)  # fmt: skip
def test_numbers_signs_and_other_scripts(word: str, phones: int) -> None:
    assert abs(estimate_phones(word) - phones) <= 1


def test_letters_have_the_phones_of_their_names() -> None:
    names = {letter: estimate_phones(letter) for letter in "abcdefghijklmnopqrstuvwxyz"}
    others = {letter: phones for letter, phones in names.items() if phones != 2}
    assert others == {"a": 1, "e": 1, "i": 1, "o": 1, "q": 3, "w": 7, "x": 3}


def test_the_rules_that_older_models_were_trained_with_stay() -> None:
    counts = {"u": 1, "y": 1, "w": 6, "fbi": 3, "mr": 4, "mrs": 6, "2020": 15, "1990": 13, "bbc": 6, "table": 5}
    assert {word: estimate_phones(word, rules=1) for word in counts} == counts


@given(st.text(st.characters(), max_size=20))
def test_any_word_has_a_phone(word: str) -> None:
    assert estimate_phones(word) >= 1


@pytest.mark.parametrize("piece", ["a", "é", "9", "e'", "er", "ng", "語", "\u0301"])
def test_a_word_of_any_length_costs_little(piece: str) -> None:
    assert 1 <= estimate_phones(piece * 1_000_000) <= 10_000

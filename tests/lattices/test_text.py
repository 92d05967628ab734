"""The normaliser: what it takes away, what it must keep apart, and how surfaces come together again."""

from __future__ import annotations

import csv
import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.shared import SHARED, needs_shared
from wordtrust.lattices.text import JOINER, UNKNOWN, Normalizer, is_mark, join_surfaces, spell_number

normalize = Normalizer()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The CAT sat.", "the cat sat"),
        ("Café naïve Zoë", "cafe naive zoe"),
        ("Middle-earth.", "middle earth"),
        ("U.S. e-mail", "u s e mail"),
        ("“Don’t” she said", "don't she said"),
        ("'tis the dogs' rock'n'roll", "tis the dogs rock'n'roll"),
        ("— … - !", ""),
        ("well,then", "well then"),
        ("İstanbul", "istanbul"),
        ("snake_case", "snake case"),
    ],
)
def test_style_is_taken_away(text: str, expected: str) -> None:
    assert normalize(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("colour", "color"), ("don't", "do not"), ("don't", "dont"), ("uh", "um"), ("5", "five"), ("5%", "5"),
        ("C++", "C"), ("C#", "C"), ("R&B", "RB"), ("мой", "мои"), ("Maße", "Masse"), ("x²", "x2"), ("3.5", "35"),
        ("U.S.", "us"), ("$5", "5"), ("<unk>", "unk"), ("कि", "की"), ("が", "か"), ("re-sign", "resign"),
    ],
)  # fmt: skip
def test_different_words_stay_different(one: str, other: str) -> None:
    assert normalize(one) != normalize(other)


@pytest.mark.parametrize("word", ["मुंबई", "ภาษาไทย", "한국어", "日本語", "العربية", "ελληνικά", "русский", "עברית"])
def test_letters_of_any_script_survive(word: str) -> None:
    assert normalize(word) == unicodedata.normalize("NFC", word)


@pytest.mark.parametrize(
    "token",
    ["", "<eps>", "<s>", "</s>", "!NULL", "!SIL", "<sil>", "[NOISE]", "++BREATH++", "[LAUGHTER]", "<noise>",
     "{cough}", "!SENT_START", "!SENT_END", "#0", "-pau-", "@reject@", "*DELETE*", "[BLANK_AUDIO]", "((noise))"],
)  # fmt: skip
def test_marks_are_no_words(token: str) -> None:
    assert is_mark(token)
    assert normalize.pieces(token) == []


@pytest.mark.parametrize("token", ["sil", "eps", "noise", "a", "<unk>", "[unk]", "#1", "++", "C++", "(uh)"])
def test_words_are_no_marks(token: str) -> None:
    assert not is_mark(token)


@pytest.mark.parametrize("token", ["<unk>", "<UNK>", "[unk]", "<oov>"])
def test_unknown_words_are_one_word(token: str) -> None:
    assert normalize.pieces(token) == [(UNKNOWN, token)]


def test_a_token_of_several_words_keeps_its_surface_in_pieces() -> None:
    assert normalize.pieces("(Middle-earth).") == [("middle", "(Middle-" + JOINER), ("earth", "earth).")]


def words_by_hand(text: str) -> list[str]:
    """The runs of characters that are in words, apostrophes between two of them included, one after the other."""
    is_in_word = [unicodedata.category(c)[0] in "LNM" or unicodedata.category(c) in ("Sc", "Sm", "So") or c in "%&@#"
                  for c in text]  # fmt: skip
    joined = [
        is_in_word[k] or (c == "'" and 0 < k < len(text) - 1 and is_in_word[k - 1] and is_in_word[k + 1])
        for k, c in enumerate(text)
    ]
    return "".join(c if inside else " " for c, inside in zip(text, joined, strict=True)).split(" ")


@given(st.text(st.sampled_from("aB1é'’-_.,+$%&@#й漢\u0301 \u00ad|~^`"), max_size=12))
def test_words_are_the_runs_of_word_characters(text: str) -> None:
    token = "".join(text.split())
    if not is_mark(token):
        plain = re.sub("[’`]", "'", token)
        raw = Normalizer(lower=False, accents=False)
        expected = [unicodedata.normalize("NFC", word) for word in words_by_hand(plain) if word]
        assert raw.words(token) == expected


def test_long_tokens_take_no_time() -> None:
    tokens = ["a-" * 5 + "b" * 9_980 + str(number) for number in range(400)]
    began = time.process_time()
    assert all(len(Normalizer().pieces(token)) == 6 for token in tokens)
    assert time.process_time() - began < 0.3  # with a step of Python for every letter it takes a second


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once


@given(st.text())
def test_surfaces_joined_give_the_token_again(text: str) -> None:
    for token in text.replace(JOINER, "").split():
        pieces = normalize.pieces(token)
        if pieces:
            assert join_surfaces(surface for _, surface in pieces) == token
        assert all(word and word == word.strip() and " " not in word for word, _ in pieces)


@given(st.text(alphabet=st.characters(categories=("L", "Nd", "Zs", "P"))))
def test_case_and_latin_accents_never_matter(text: str) -> None:
    assert normalize(text) == normalize(unicodedata.normalize("NFD", text))


def test_options_switch_steps_off() -> None:
    assert Normalizer(lower=False)("Ça VA") == "Ca VA"
    assert Normalizer(accents=False)("Ça va") == "ça va"


@pytest.mark.parametrize(
    ("digits", "expected"),
    [
        ("0", "zero"), ("7", "seven"), ("13", "thirteen"), ("20", "twenty"), ("42", "forty two"),
        ("100", "one hundred"), ("115", "one hundred fifteen"), ("2026", "two thousand twenty six"),
        ("1000000", "one million"),
        ("900000000001", "nine hundred billion one"), ("007", "zero zero seven"), ("1234567890123", None),
    ],
)  # fmt: skip
def test_digits_to_words(digits: str, expected: str | None) -> None:
    words = " ".join(spell_number(digits))
    assert words == (expected or "one two three four five six seven eight nine zero one two three")


def test_digits_to_words_is_an_option() -> None:
    spoken = Normalizer(digits=True)
    assert spoken("21 lamps, 1,234 watts") == "twenty one lamps one thousand two hundred thirty four watts"
    assert join_surfaces(surface for _, surface in spoken.pieces("1,234.")) == "1,234."
    assert spoken("1,234-5") == "one thousand two hundred thirty four five"
    assert normalize("21 lamps") == "21 lamps"


@needs_shared
def test_agrees_with_a_plain_normaliser_on_real_references() -> None:
    """Lower case, accents off, all but letters, digits and inner apostrophes to spaces: what DATA.md describes."""

    def plain(text: str) -> str:
        text = unicodedata.normalize("NFKD", text.lower())
        text = "".join(character for character in text if not unicodedata.combining(character))
        text = re.sub(r"[^\w\s']", " ", re.sub("[’‘`´ʼ]", "'", text))
        return " ".join(word.strip("'") for word in text.split() if word.strip("'"))

    with (SHARED / "refs.tsv").open(encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    assert len(texts) > 6000
    assert [text for text in texts if normalize(text) != plain(text)] == []

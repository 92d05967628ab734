"""Words: how text is normalised, what is not a word, and how surface forms are put together again.

One normaliser serves references and hypotheses alike. It takes away what recognizers of English differ in by style
(case, accents, punctuation, hyphens) and equates nothing else: no spelling variants, contractions or fillers. Where
accents or punctuation make another word (Vietnamese, Polish, German), words are compared as they are written. What
people see is the *surface* form, kept beside the normalised word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

# Tokens that are no words: silence, noise, sentence marks. Compared in lower case. A token in brackets of any
# kind ([LAUGHTER], <noise>, {breath}, ++BREATH++) is one as well; unknown words (next table) are not.
MARKS = frozenset({
    "", "#0", "@reject@", "*delete*", "-pau-", "(pau)", "!null", "!sil", "!enter", "!exit", "!noise",
    "!sent_start", "!sent_end",
})  # fmt: skip
# A word was said, the recognizer cannot say which: a word of its own, right for no reference.
UNKNOWN = "<unk>"
UNKNOWN_MARKS = frozenset({
    "<unk>", "[unk]", "(unk)", "{unk}", "<unknown>", "<oov>", "[oov]", "!unk", "!oov",
})  # fmt: skip

# Ends the surface of a piece whose token goes on in the next arc: `Middle-` and `earth.` join without a space.
JOINER = "\u2060"

_LONGEST_TOKEN = 20_000  # letters; what is longer stays as it is
_MOST_KINDS = 1 << 16  # characters of which it is known whether they are in words
_WORD = re.compile("w+(?:'w+)*")  # in `_Kinds`
_BRACKETED = re.compile(r"<.*>|\[.*\]|\{.*\}|\+\+.*\+\+|\(\(.*\)\)", re.DOTALL)
_APOSTROPHES = re.compile("[\u2018\u2019\u201b\u02bc\u02b9\uff07\u00b4`]")
_GROUPED = re.compile(r"(?<![0-9,.])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])")
_PLAIN = re.compile("[A-Za-z]+(?:'[A-Za-z]+)*")
_NUMBER = re.compile(r"[0-9]{1,3}(?:'[0-9]{3})+|[0-9]+")


def is_mark(token: str) -> bool:
    """Whether a recognizer's token stands for silence, noise or a sentence boundary, not for a word."""
    lower = token.strip().lower()
    if lower in UNKNOWN_MARKS:
        return False
    return lower in MARKS or _BRACKETED.fullmatch(lower) is not None


class _Kinds(dict[int, str]):
    """By character: "w" in a word, "'" for an apostrophe, " " for all else; worked out when first asked for.

    Letters, marks, digits, and the signs that make a different word (C++, 5%, R&B) are in words; `_` is not.
    """

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        in_word = category[0] in "LNM" or category in ("Sc", "Sm", "So") or character in "%&@#"
        kind = "w" if in_word else "'" if character == "'" else " "
        if len(self) < _MOST_KINDS:
            self[code] = kind
        return kind


_KINDS = _Kinds()


def _strip_accents(text: str) -> str:
    """Drop accents on Latin letters; marks of other scripts are letters in their own right (й is not и)."""
    if text.isascii():
        return text
    kept: list[str] = []
    on_latin = False
    for character in unicodedata.normalize("NFD", text):
        if unicodedata.combining(character):
            if on_latin:
                continue
        else:
            on_latin = "LATIN" in unicodedata.name(character, "")
        kept.append(character)
    return "".join(kept)


@dataclass(frozen=True, slots=True)
class Normalizer:
    """Turns a token or a text into normalised words. Options switch single steps off (or digits on).

    With `as_written`, a token that is no mark is one word, whatever is in it; with `lower=False`, in its own case.
    """

    lower: bool = True
    accents: bool = True
    digits: bool = False
    as_written: bool = False

    def words(self, text: str) -> list[str]:
        """The normalised words of `text`; none for marks and bare punctuation."""
        return [word for token in text.split() for word, _ in self.pieces(token)]

    def __call__(self, text: str) -> str:
        """Normalise a whole text."""
        return " ".join(self.words(text))

    def pieces(self, token: str) -> list[tuple[str, str]]:
        """The (normalised word, surface) pairs of one token; the surfaces joined give the token again."""
        # Most words of most vocabularies: nothing to work out.
        if (token.isascii() and token.isalpha()) or _PLAIN.fullmatch(token):
            return [(token.lower() if self.lower else token, token)]
        if len(token) > _LONGEST_TOKEN:  # no word, and its pieces would fill the memory
            return [(token, token)]
        token = token.strip()
        if token.lower() in UNKNOWN_MARKS:
            return [(UNKNOWN, token)]
        if is_mark(token):
            return []
        if self.as_written:
            return [(unicodedata.normalize("NFC", token.lower() if self.lower else token), token)]
        return [
            (word, surface)
            for raw, surface in _split(token, whole_number=self.digits)
            for word, surface in self._spell(self._letters(raw), surface)
        ]

    def _letters(self, raw: str) -> str:
        word = raw.lower() if self.lower else raw
        word = _strip_accents(word) if self.accents else word
        return unicodedata.normalize("NFC", word)

    def _spell(self, word: str, surface: str) -> list[tuple[str, str]]:
        if not (self.digits and _NUMBER.fullmatch(word)):
            return [(word, surface)]
        spoken = spell_number(word.replace("'", ""))
        return [(spoken[0], surface)] + [(part, "") for part in spoken[1:]]


def _split(token: str, *, whole_number: bool) -> list[tuple[str, str]]:
    """Cut a token into (word characters, surface with the punctuation around them)."""
    plain = _APOSTROPHES.sub("'", token)
    if whole_number:  # an apostrophe between digits keeps them together: 1,234 is one number
        plain = _GROUPED.sub(lambda match: match[0].replace(",", "'"), plain)
    spans = _word_spans(plain)
    # Punctuation belongs to the piece before it (`Middle-` `earth.`), leading punctuation to the first.
    cuts = [0, *(start for start, _ in spans[1:]), len(token)]
    joiners = [JOINER] * (len(spans) - 1) + [""]
    return [
        (plain[start:end], token[cuts[index] : cuts[index + 1]] + joiners[index])
        for index, (start, end) in enumerate(spans)
    ]


def _word_spans(text: str) -> list[tuple[int, int]]:
    """Where words begin and end; an apostrophe within a word belongs to it."""
    return [match.span() for match in _WORD.finditer(text.translate(_KINDS))]


def join_surfaces(surfaces: Iterable[str]) -> str:
    """Surface forms as running text: spaces between words, none inside a token that was cut into pieces."""
    return " ".join([surface for surface in surfaces if surface]).replace(JOINER + " ", "").replace(JOINER, "")


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
_GROUPS = ((10**9, "billion"), (10**6, "million"), (10**3, "thousand"), (10**2, "hundred"))


def spell_number(digits: str) -> list[str]:
    """English words of a whole number; one with a leading zero or over twelve digits is read digit by digit."""
    if len(digits) > 12 or (len(digits) > 1 and digits[0] == "0"):
        return [_ONES[int(digit)] for digit in digits]
    return _spell(int(digits))


def _spell(number: int) -> list[str]:
    for size, name in _GROUPS:
        if number >= size:
            rest = number % size
            return [*_spell(number // size), name, *(_spell(rest) if rest else [])]
    if number < 20:
        return [_ONES[number]]
    return [_TENS[number // 10], *([_ONES[number % 10]] if number % 10 else [])]


DEFAULT = Normalizer()
AS_WRITTEN = Normalizer(lower=False, as_written=True)  # as Kaldi's compute-wer compares words

"""How many phones a word has: from a pronunciation lexicon, or estimated from its spelling.

A lexicon has a word and its phones a line. Kaldi's lexicon.txt and lexiconp.txt, the CMU dictionary and Sphinx
dictionaries differ in little, and are read alike:

- `word(2)` and repeated words are variants; the most probable counts, the first one where nothing is said;
- numbers after the word (lexiconp.txt) are probabilities;
- `;;;` begins a comment, and so does a `#` among the phones (or it is a disambiguation symbol: no phone either);
- what stands for silence or noise is no word, and no phone.

The estimate is for words outside the lexicon. Its rules are those of English spelling, few and in the order of what
they are worth; other scripts count a phone a letter, or two for a character that stands for a syllable. A model goes
on counting as it was trained: the rules have a version (`RULES`) that its table of words keeps.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.errors import InputError
from ..lattices.text import DEFAULT, UNKNOWN, is_mark, spell_number

if TYPE_CHECKING:  # an estimate serves machines without numba, which these modules need
    from ..formats.inputs import Stream

_MAX_LINE = 1 << 16  # bytes
_EXAMPLE = "A lexicon has a word and its phones a line, such as `hello HH AH L OW`"
_VARIANT = re.compile(r"(?<=.)\([0-9]+\)$")
_PROBABILITY = re.compile(r"1|[0-9]*\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE]-[0-9]+")
_NUMBER = re.compile(r"[-+]?[0-9]*\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]{2,}")  # X-SAMPA has phones of one digit
_NOISE = re.compile(r"(?:sil|ssil|spn|nsn|lau|pau)(?:_[bies])?|\+.*\+|<.*>|\[.*\]", re.IGNORECASE)


def read_lexicon(path: Path, words: Collection[str] | None = None) -> dict[str, int]:
    """The number of phones of each normalised word in a lexicon, packed or not; of `words` alone where given.

    Entries that normalise to several words or to none are left out.
    """
    from ..formats.inputs import streams

    wanted = None if words is None else frozenset(words)
    best: dict[str, tuple[float, int]] = {}  # the probability and the phones of a word's best variant
    entries = 0
    for stream in streams([path]):
        for word, probability, phones in _entries(stream):
            entries += 1
            if (wanted is None or word in wanted) and (word not in best or probability > best[word][0]):
                best[word] = probability, phones
    if not entries:
        raise InputError("there are no words with phones in it", file=str(path), remedy=_EXAMPLE)
    return {word: phones for word, (_, phones) in best.items()}


def _entries(stream: Stream) -> Iterator[tuple[str, float, int]]:
    """The normalised word, the probability and the number of phones of each entry that is a word."""
    for number, line in _lines(stream):
        token, *cells = line.split()
        if token.startswith(";;;") or not token.strip("#"):
            continue
        word = _normalised(token)
        if word is None:
            continue
        probability, phones = _pronunciation(stream, number, token, cells)
        if phones:
            yield word, probability, phones


def _lines(stream: Stream) -> Iterator[tuple[int, str]]:
    for number, data in stream.lines():
        place = f"line {number}"
        if len(data) > _MAX_LINE or b"\0" in data:
            problem = "this is not a text file" if b"\0" in data else f"the line has {len(data):,} bytes"
            raise stream.error(problem, place=place, remedy=_EXAMPLE)
        try:
            line = data.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            problem = f"byte 0x{data[error.start]:02x} at column {error.start + 1} is not UTF-8"
            remedy = "Convert the file from its encoding: iconv -f latin1 -t utf-8 (Chinese: -f gb18030)"
            raise stream.error(problem, place=place, remedy=remedy) from None
        if line.strip():
            yield number, line


def _normalised(token: str) -> str | None:
    token = _VARIANT.sub("", token)
    words = [] if is_mark(token) else DEFAULT.words(token)
    return words[0] if len(words) == 1 and words[0] != UNKNOWN else None


def _pronunciation(stream: Stream, number: int, token: str, cells: list[str]) -> tuple[float, int]:
    """The probability (1 where nothing is said) and the number of phones, silence not counted."""
    end = next((index for index, cell in enumerate(cells) if cell.startswith("#")), len(cells))
    start = 0
    while start < min(end - 1, 4) and _PROBABILITY.fullmatch(cells[start]):  # lexiconp_silprob.txt has four
        start += 1
    phones = cells[start:end]
    bad = next((phone for phone in phones if _NUMBER.fullmatch(phone)), None)
    if bad is not None or not phones:
        problem = (
            f"the word {token[:60]!r} has no phones" if bad is None else f"{bad[:60]!r} is a number, not a phone"
        )
        raise stream.error(problem, place=f"line {number}", remedy=_EXAMPLE)
    probability = float(cells[0]) if start else 1.0
    return probability, sum(_NOISE.fullmatch(phone) is None for phone in phones)


# What letters give how many phones; the first that fits where the last one ended.
_SPELLING = (
    (r"(?<=')[vr]e\b", 1),  # we've
    (r"(?<=[bcdfgkpstvz])n(?='t\b)", 2),  # isn't
    (r"(?:ss|[tsc])i(?=on|an|al|ous|ent)", 1),  # nation, special
    (r"(?<=[aeiou][^aeiou])e(?=(?:ly|ments?|ful|less|ness)\b)", 0),  # lonely
    (r"(?<=[dt])e(?=d\b)|(?<=[sxzcg])e(?=s\b)|(?<=[cs]h)e(?=s\b)", 1),  # waited, boxes: spoken
    (r"(?<=[^aeioulr])l(?=e[sd]?\b)", 2),  # table
    (r"(?<=[^aeiou])e(?=[sd]?\b)(?<!\b[^aeiou]e)(?<!\b[^aeiou]{2}e)", 0),  # make, makes, liked; not: he, the
    (r"\b(?:kn|wr|gn|ps|wh|rh)", 1),  # know
    (r"eigh|ough|augh|igh|oul(?=d)", 1),  # night, would
    (r"tch|ch|ck|ph|sh|th|sc(?=[eiy])|dg(?=e)|mb\b|gn(?=s?\b|ed\b|ing\b)", 1),
    (r"cc(?![ei])|bb|dd|ff|gg|kk|ll|mm|nn|pp|rr|ss|tt|vv|zz", 1),
    (r"ng(?=(?:s|ings?|ed|ers?)?\b)", 1),  # sing, singer; not: finger, England
    (r"x|qu", 2),
    (r"\bu(?=[^aeiou][aeiou])|(?<=[bcfhmp])u(?=[^aeiour][aeiou])", 2),  # unit, music
    (r"(?<=[^aeiou])er(?=ed\b|ing\b|a[lt]|y\b)", 1),  # covered
    (r"eau|ee|ea|oo|ay|oy|ou|ow|au|aw|ey|ie|oa|ue\b|eu|ew|oe|[aeou]i(?!ng)", 1),
    (r"[eiu]r(?![aeiouyr])|(?<=[ts])or(?=s?\b)|(?<=\bw)or|(?<=l)ar\b", 1),  # her, actor, work, dollar
    (r"[a-z]", 1),
)
_SPELLED = re.compile("|".join(f"({pattern})" for pattern, _ in _SPELLING))
_PHONES = (0, *(phones for _, phones in _SPELLING))
_LETTER_NAMES = {**dict.fromkeys("aeio", 1), "q": 3, "x": 3, "w": 7, "'": 0}  # all others two, as in B-B-C
# Said letter by letter though they have vowels; of one letter: a name, too.
_INITIALS = frozenset(
    "u y abc ac ai aka amd aol api atm ba bbq ceo cfo cia cio cpu cto dna dui eeg ekg epa espn eu faa fbi fda gpa "
    "hbo hiv ibm ied imf iou ip ipo iq irs isp iv lapd lsu mba mri naacp nba ngo nyc nypd nyu oecd oj ok pga rca rna "
    "suv uae ucla ufo ui uk url usa usb usc usda uss ussr uv vip wto".split()
)
_ABBREVIATED = {"mr": 5, "mrs": 5, "ms": 3, "dr": 5, "st": 5, "jr": 5, "sr": 5, "vs": 5, "ft": 3, "lb": 4, "lbs": 5}
_LETTER_NAMES_1 = _LETTER_NAMES | {"w": 6}
RULES = 2  # 1: u and y were one phone, w six, FBI and Mr. as if they were words, and 2020 a number
_SIGNS = {"%": 6, "&": 3, "@": 2, "+": 4, "$": 5, "€": 4, "£": 5, "#": 3}
_PIECE = re.compile(r"([0-9]+)((?:st|nd|rd|th|s)\b)?|([a-z](?:[a-z']*[a-z])?)|(.)", re.DOTALL)
_LONGEST = 1000  # characters that are looked at: what has more is no word
_SYLLABLE = re.compile("CJK|HIRAGANA|KATAKANA|SYLLABLE")


def estimate_phones(word: str, rules: int = RULES) -> int:
    """About how many phones a word has, going by its spelling; at least one."""
    letters = unicodedata.normalize("NFD", word[:_LONGEST].lower())
    letters = "".join(letter for letter in letters if not unicodedata.combining(letter))
    total = 0
    for digits, ending, latin, other in _PIECE.findall(letters):
        if latin:
            total += _latin(latin, rules)
        elif digits:
            total += sum(_latin(said, rules) for said in _spoken(digits, rules)) + bool(ending)
        else:
            total += _character(other)
    return max(total, 1)


def _latin(word: str, rules: int) -> int:
    if rules > 1 and word in _ABBREVIATED:
        return _ABBREVIATED[word]
    names = _LETTER_NAMES if rules > 1 else _LETTER_NAMES_1
    # said letter by letter: TV; not: hmm
    is_spelled = not re.search("[aeiouy]", word) and not re.fullmatch("[hm]{2,}", word)
    if is_spelled or (rules > 1 and word in _INITIALS):
        return sum(names.get(letter, 2) for letter in word)
    return sum(_PHONES[match.lastindex or 0] for match in _SPELLED.finditer(word))


def _spoken(digits: str, rules: int) -> list[str]:
    years = "(?:1[1-9]|20(?=[1-9]))[0-9]{2}" if rules > 1 else "1[1-9][0-9]{2}"
    if re.fullmatch(years, digits):  # mostly a year: nineteen ninety
        return spell_number(digits[:2]) + (spell_number(digits[2:]) if digits[2:] != "00" else ["hundred"])
    return spell_number(digits)


def _character(character: str) -> int:
    if character in _SIGNS:
        return _SIGNS[character]
    if unicodedata.category(character)[0] not in "LNM":
        return 0
    return 2 if _SYLLABLE.search(unicodedata.name(character, "")) else 1

"""How written numbers are read aloud: every reading is a row of English words.

Zero in a row of digits is always `zero` here; that people say `oh` is known where words are compared (`readings`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from ...lattices.text import spell_number

Reading = tuple[str, ...]
Readings = tuple[Reading, ...]

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
LARGE = ("hundred", "thousand", "million", "billion", "trillion")

_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
_CURRENCIES = {
    "$": ("dollar", "dollars", "cents"), "£": ("pound", "pounds", "pence"), "€": ("euro", "euros", "cents"),
    "¥": ("yen", "yen", "sen"),
}  # fmt: skip
_UNITS = {  # of one, and of more
    "km": ("kilometer", "kilometers"), "cm": ("centimeter", "centimeters"), "mm": ("millimeter", "millimeters"),
    "kg": ("kilogram", "kilograms"), "lb": ("pound", "pounds"), "lbs": ("pound", "pounds"),
    "°": ("degree", "degrees"), "mph": ("miles per hour",), "am": ("a m", "am"), "pm": ("p m", "pm"), "x": ("times",),
    "%": ("percent", "per cent"), "¢": ("cent", "cents"),
}  # fmt: skip
_SAME_FOR_ONE = ("mph", "am", "pm", "x", "%")
_FRACTIONS = {"1/2": ("one half", "a half", "half"), "1/4": ("one quarter", "a quarter", "one fourth"),
              "3/4": ("three quarters", "three fourths"), "1/3": ("one third", "a third"),
              "2/3": ("two thirds",)}  # fmt: skip
_SIGNS = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3"}
_TOKEN = re.compile(r"([$£€¥]?)([0-9]{1,18})(st|nd|rd|th|s|[$£€¥]|km|cm|mm|kg|mph|lbs?|°|am|pm|x|%|¢)?")


def has_digit(word: str) -> bool:
    """Whether a word is written with digits, or with a sign that is read as a number."""
    return any("0" <= letter <= "9" or letter in _SIGNS for letter in word)


@lru_cache(maxsize=1 << 14)
def number_readings(token: str) -> Readings:
    """How one token with digits is read; none for what is no number. The usual reading comes first."""
    if token in _SIGNS:
        return _split(_FRACTIONS[_SIGNS[token]])
    match = _TOKEN.fullmatch(token)
    if not match:
        return ()
    sign, digits, ending = match[1], match[2], match[3] or ""
    if ending in _CURRENCIES and not sign:
        sign, ending = ending, ""
    if sign:
        return _money(digits, sign) if not ending else ()
    return _with_ending(digits, ending) if ending else _whole(digits)


def _with_ending(digits: str, ending: str) -> Readings:
    if ending in ("st", "nd", "rd", "th"):
        return _ordinals(digits)
    if ending == "s":
        return _unique(_plural(reading) for reading in _whole(digits))
    return _joined(_whole(digits), _split(_unit_names(ending, digits)))


@lru_cache(maxsize=1 << 14)
def phrase_readings(tokens: tuple[str, ...]) -> Readings:
    """How two or three tokens are read together, where that is not one after the other."""
    rows = [*_grouped(tokens), *_decimal(tokens), *_scaled_money(tokens), *_date(tokens)]
    if len(tokens) == 2 and tokens[1] == "00" and tokens[0].isdigit() and int(tokens[0][:3]) <= 24:
        rows += [(*reading, *rest) for reading in _whole(tokens[0]) for rest in ((), ("o'clock",), ("hundred",))]
    if len(tokens) == 2 and "/".join(tokens) in _FRACTIONS:
        rows += _split(_FRACTIONS["/".join(tokens)])
    return _unique(rows)


def _whole(digits: str) -> Readings:
    """A whole number: as a quantity, a year, a row of digits, or in pairs."""
    rows = [] if len(digits) > 1 and digits[0] == "0" else [*_hundreds(digits), *_quantities(digits)]
    return _unique([*rows, *_pairs(digits), tuple(spell_number(digit)[0] for digit in digits)])


def _quantities(digits: str) -> list[Reading]:
    """`one hundred five`, `one hundred and five`, `a hundred five`."""
    plain = _spell(int(digits))
    rows = [plain, _with_and(int(digits))]
    if len(plain) > 1 and plain[0] == "one" and plain[1] in LARGE:
        rows += [("a", *row[1:]) for row in rows]
    return rows


def _spell(number: int) -> Reading:
    groups = ((10**12, "trillion"), (10**9, "billion"))
    for size, name in groups:
        if number >= size:
            rest = number % size
            return (*_spell(number // size), name, *(_spell(rest) if rest else ()))
    return tuple(spell_number(str(number)))


def _with_and(number: int) -> Reading:
    """The British reading, with `and` before what is below a hundred."""
    rest = number % 100
    plain = _spell(number)
    return plain if not rest or number < 100 else (*_spell(number - rest), "and", *_spell(rest))


def _hundreds(digits: str) -> list[Reading]:
    """`nineteen eighty four` and `nineteen hundred`, before `one thousand nine hundred ...`, for years."""
    if len(digits) != 4 or digits[1] == "0" or digits[0] == "0":
        return []
    first, second = _spell(int(digits[:2])), int(digits[2:])
    if second == 0:
        return [(*first, "hundred")]
    return [*_pairs(digits), (*first, "hundred", *_spell(second)), (*first, "hundred", "and", *_spell(second))]


def _pairs(digits: str) -> list[Reading]:
    """`nineteen zero four`, `four twenty seven`: two digits at a time."""
    if len(digits) not in (3, 4) or digits[0] == "0" or digits.endswith("00"):
        return []
    first, second = digits[:-2], digits[-2:]
    last = ("zero", *_spell(int(second[1]))) if second[0] == "0" else _spell(int(second))
    return [(*_spell(int(first)), *last)]


def _ordinals(digits: str) -> Readings:
    if digits[0] == "0":
        return ()
    return _unique((*row[:-1], ordinal_word(row[-1])) for row in [*_quantities(digits), *_hundreds(digits)])


def ordinal_word(word: str) -> str:
    """`first` for `one`, `twentieth` for `twenty`."""
    return _ORDINALS.get(word) or (word[:-1] + "ieth" if word.endswith("y") else word + "th")


def _plural(reading: Reading) -> Reading:
    last = reading[-1]
    return (*reading[:-1], last[:-1] + "ies" if last.endswith("y") else last + ("es" if last == "six" else "s"))


def _money(digits: str, sign: str) -> Readings:
    return _joined(_whole(digits), ((_CURRENCIES[sign][0 if int(digits) == 1 else 1],),))


def _unit_names(unit: str, digits: str) -> tuple[str, ...]:
    names = _UNITS[unit]
    return names if unit in _SAME_FOR_ONE else names[:1] if digits == "1" else names[1:]


def _grouped(tokens: tuple[str, ...]) -> Readings:
    """`1,000`, which comes as `1` and `000`, also with a currency or an ending."""
    if not re.fullmatch(r"[$£€¥]?[1-9][0-9]{0,2}(?: [0-9]{3})* [0-9]{3}[a-z%$£€¥]{0,3}", " ".join(tokens)):
        return ()
    return number_readings("".join(tokens))


def _decimal(tokens: tuple[str, ...]) -> list[Reading]:
    """`3.5`, which comes as `3` and `5`; `$3.50`; `3.5%`."""
    match = re.fullmatch(r"([$£€¥]?)([0-9]{1,15}) ([0-9]{1,9})(%|°|km|kg|cm|mm|x)?", " ".join(tokens))
    if not match:
        return []
    sign, whole, part, ending = match[1], match[2], match[3], match[4]
    said = _quantities(whole) if whole == "0" or whole[0] != "0" else []
    digits = [tuple(spell_number(digit)[0] for digit in part)]
    if len(part) == 2 and part[0] != "0":
        digits.append(_spell(int(part)))
    rows = list(_joined(said, tuple(("point", *row) for row in digits)))
    if whole == "0":
        rows += [row[1:] for row in rows]
    if ending:
        return list(_joined(rows, _split(_unit_names(ending, ""))))
    return rows if not sign else _coins(said, part, sign) + list(_joined(rows, ((_CURRENCIES[sign][1],),)))


def _coins(said: list[Reading], part: str, sign: str) -> list[Reading]:
    """`three dollars fifty`, `three dollars and fifty cents`, `three fifty`."""
    if len(part) != 2 or part == "00":
        return []
    one, several, cents = _CURRENCIES[sign]
    coins, rows = _spell(int(part)), list[Reading]()
    for row in said:
        named = (*row, one if row in (("one",), ("a",)) else several)
        rows += [(*named, *coins), (*named, "and", *coins, cents), (*named, *coins, cents), (*row, *coins)]
    return rows


def _scaled_money(tokens: tuple[str, ...]) -> Readings:
    """`$5 million`, `$3.5 million`: the currency is said last."""
    if tokens[-1] not in LARGE or tokens[0][0] not in _CURRENCIES:
        return ()
    plain = (tokens[0][1:], *tokens[1:-1])
    rows = number_readings(plain[0]) if len(plain) == 1 else tuple(_decimal(plain))
    return _joined(rows, ((tokens[-1], _CURRENCIES[tokens[0][0]][1]),))


def _date(tokens: tuple[str, ...]) -> list[Reading]:
    """`May 5` and `5 May`, which are read with an ordinal; so is `May 5th`."""
    if len(tokens) != 2:
        return []
    month, day = (tokens[0], tokens[1]) if tokens[0] in MONTHS else (tokens[1], tokens[0])
    match = re.fullmatch(r"([1-9]|[12][0-9]|3[01])(st|nd|rd|th)?", day)
    if month not in MONTHS or not match:
        return []
    said = _ordinals(match[1])[0]
    if month == tokens[0]:
        return [(month, *said), (month, "the", *said)]
    return [(*said, month), ("the", *said, "of", month), (*said, "of", month), ("the", *said, month)]


def _split(texts: tuple[str, ...]) -> Readings:
    return tuple(tuple(text.split()) for text in texts)


def _joined(first: Readings | list[Reading], second: Readings) -> Readings:
    return tuple((*before, *after) for before in first for after in second)


def _unique(rows: Iterable[Reading]) -> Readings:
    return tuple(dict.fromkeys(rows))

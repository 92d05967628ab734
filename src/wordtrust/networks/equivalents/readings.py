"""How a word is read aloud: rows of words that are compared instead of it.

Two rows of words stand for the same if they have a reading in common. A reading is made of words in their American
spelling and without apostrophes, so far as these kinds are equated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from .equate import Equate
from .number_words import LARGE, MONTHS, has_digit, number_readings, phrase_readings
from .short_forms import is_read_as_written, long_forms
from .spelling import american

Reading = tuple[str, ...]

_PHRASE_WORDS = frozenset({*MONTHS, *LARGE})
_LONGEST = 40  # letters of a word that is looked at
_MOST_KNOWN = 1 << 18  # words whose readings are kept
_ZEROS = frozenset({"o", "oh", "nought", "naught"})
# Without the apostrophe, these are other words.
_OTHER_WORDS = frozenset(
    """
i'll i'd we'll we'd we're he'll he'd she'll she'd who're it'll can't let's it's he's she's who's
""".split()
)
_IRREGULAR = frozenset({"children's", "women's", "men's"})


class WordReadings:
    """The readings of words, so far as some kinds of spellings are equated; `for_kinds` gives the one there is."""

    def __init__(self, equate: Equate) -> None:
        self._equate = equate
        self._known: dict[str, tuple[Reading, ...]] = {}
        self._in_phrases: set[str] = set()

    def of(self, word: str) -> tuple[Reading, ...]:
        """All readings of one word, the usual one first; () for a word that is only read as it is written."""
        rows = self._known.get(word)
        return self._learn(word) if rows is None else rows

    def of_all(self, words: Sequence[str]) -> tuple[list[tuple[Reading, ...]], list[bool]]:
        """The readings of many words, and whether they may be part of what is read together (`of_phrase`)."""
        known, learn = self._known, self._learn
        rows = [known[word] if word in known else learn(word) for word in words]
        return rows, list(map(self._in_phrases.__contains__, words))

    def _learn(self, word: str) -> tuple[Reading, ...]:
        rows = self._work_out(word)
        rows = () if rows == ((word,),) else rows
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[word] = rows
        if "numbers" in self._equate and (word in _PHRASE_WORDS or has_digit(word)):
            self._in_phrases.add(word)
        return rows

    def class_of(self, word: str) -> Reading:
        """What single words that stand for the same have in common: a reading of one word if there is one."""
        rows = self.of(word) or ((word,),)
        return next((row for row in rows if len(row) == 1), rows[0])

    def of_phrase(self, words: tuple[str, ...]) -> tuple[Reading, ...]:
        """Readings of words together that are not those of one after the other: dates, decimals, amounts."""
        if "numbers" not in self._equate or not any(map(has_digit, words)):
            return ()
        return tuple(tuple(map(self._plain, row)) for row in phrase_readings(words))

    def may_be_in_phrase(self, word: str) -> bool:
        """Whether a word may be part of what is read together."""
        self.of(word)
        return word in self._in_phrases

    def _work_out(self, word: str) -> tuple[Reading, ...]:
        if len(word) > _LONGEST:
            return ()
        equate = self._equate
        if "numbers" in equate and has_digit(word) and (said := number_readings(word)):
            return said
        short_forms = long_forms(word) if "contractions" in equate else ()
        rows: list[Reading] = [] if short_forms and not is_read_as_written(word) else [(self._plain(word),)]
        rows += [tuple(map(self._plain, form)) for form in short_forms]
        if "numbers" in equate and word in _ZEROS:
            rows.append(("zero",))
        return tuple(dict.fromkeys(rows))

    def _plain(self, word: str) -> str:
        if "apostrophes" in self._equate and "'" in word and _may_lose_apostrophe(word):
            word = word.replace("'", "")
        return american(word) if "spelling" in self._equate else word


@cache
def for_kinds(equate: Equate) -> WordReadings:
    """The readings of words where these kinds are equated."""
    return WordReadings(equate)


def _may_lose_apostrophe(word: str) -> bool:
    return word not in _OTHER_WORDS and (not word.endswith("'s") or word in _IRREGULAR)

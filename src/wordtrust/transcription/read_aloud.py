"""Texts compared as they are read aloud: `6` is `six`, `colour` is `color`, `it's` is `it is`.

Chinese and Japanese are written without spaces: there a word of a file is many, and its letters are compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ..base.arrays import csr_rows, row_offsets
from ..lattices.lattice import Ints, Offsets, Times
from ..networks.equivalents import ALL
from ..networks.equivalents.readings import for_kinds
from .word_matching import NOWHERE, match_words

_WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


@dataclass(frozen=True, slots=True, eq=False)
class MatchedWords:
    """Which words of a text another one has too, where both are read aloud."""

    said: Ints  # [words that are said] numbers; the same word has the same one in both texts
    said_offsets: Offsets  # [words + 1] of the text
    heard: Ints  # those of the other text
    heard_offsets: Offsets
    partner_said: Offsets  # [words that are said] which of `heard`; -1: none

    @property
    def partner(self) -> Offsets:
        """[words] the word of the other text that each begins with; -1 where less than half of it is there."""
        return self._partners(1)

    @property
    def last_partner(self) -> Offsets:
        """[words] the one that each ends with."""
        return self._partners(-1)

    def _partners(self, step: int) -> Offsets:
        matched = np.flatnonzero(self.partner_said >= 0)[::-step]  # of several, the last one that is written stays
        owner, words = csr_rows(self.said_offsets), len(self.said_offsets) - 1
        partner = np.full(words, NOWHERE, np.int64)
        partner[owner[matched]] = csr_rows(self.heard_offsets)[self.partner_said[matched]]
        has = np.bincount(owner[matched], minlength=words)
        partner[2 * has < np.diff(self.said_offsets)] = NOWHERE
        return partner

    def times(self, start: Times, end: Times) -> tuple[Times, Times]:
        """[words] the times of what was matched, 0 of others; the times of the other text's words are given."""
        owner, sizes = csr_rows(self.heard_offsets), np.diff(self.heard_offsets)
        share = (end - start) / np.maximum(sizes, 1)
        begins = start[owner] + share[owner] * (np.arange(len(owner)) - self.heard_offsets[owner])
        matched, said_by = np.flatnonzero(self.partner_said >= 0), csr_rows(self.said_offsets)
        found = np.zeros((2, len(self.said_offsets) - 1))
        found[0, said_by[matched[::-1]]] = begins[self.partner_said[matched[::-1]]]
        found[1, said_by[matched]] = (begins + share[owner])[self.partner_said[matched]]
        return found[0], found[1]


def match_texts(words: Sequence[str], others: Sequence[str]) -> MatchedWords:
    """Match normalised words of two texts of the same speech."""
    said, heard = ([read_aloud(word) for word in text] for text in (words, others))
    numbers: dict[str, int] = {}
    of_said, of_heard = (
        np.array([numbers.setdefault(word, len(numbers)) for word in chain.from_iterable(text)], np.int32)
        for text in (said, heard)
    )
    partner = match_words(of_said, of_heard)
    return MatchedWords(of_said, row_offsets(said), of_heard, row_offsets(heard), partner)


def read_aloud(word: str) -> tuple[str, ...]:
    """How a word is said: numbers as they are usually read, short forms in full."""
    if _WITHOUT_SPACES.search(word):
        return tuple(word)
    readings = for_kinds(ALL).of(word)
    if not readings:
        return (word,)
    return readings[0] if any(map(str.isdigit, word)) else max(readings, key=len)

"""What the scorer has learned about words so far: their rows in a few arrays that only grow.

Phones, frequency and vector of a word never change, and words come again and again: each is looked up once.
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from ..lattices.lattice import Floats, Ints, Vocabulary
from .config import Config
from .word_table import WordTable, ngram_buckets

MOST_WORDS = 300_000  # then it begins anew
MOST_VOCABULARIES = 8
_SILENCE = 1  # its row; row 0 stands for words not met yet


class WordMemory:
    """Rows of words, safe to use from several threads."""

    def __init__(self, table: WordTable, config: Config, embedding: Floats | None) -> None:
        self._table, self._config, self._embedding = table, config, embedding
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._rows: dict[str, int] = {"": _SILENCE}
        self._numbers: dict[int, tuple[Vocabulary, Ints]] = {}  # by identity: the row of each number, or 0
        dimension = 0 if self._config.embedding == "none" else self._config.dimension
        self._known = np.zeros((1024, dimension + 2), np.float32)  # phones, mass, vector

    def of(self, vocabulary: Vocabulary, numbers: Ints) -> tuple[Ints, Floats]:
        """The row of each word, and the array: phones, how often it was heard in training, vector."""
        with self._lock:
            if len(self._rows) > MOST_WORDS:
                self._forget()
            place = self._places(vocabulary)
            rows = place[numbers]
            if not rows.all():
                new = np.unique(numbers[rows == 0])
                place[new] = self._learn(vocabulary.lookup(new.tolist()))
                rows = place[numbers]
            return rows, self._known

    def _places(self, vocabulary: Vocabulary) -> Ints:
        """Where the rows of a vocabulary's numbers are kept."""
        found = self._numbers.get(id(vocabulary))
        if found and len(found[1]) >= len(vocabulary):
            return found[1]
        place = np.zeros(len(vocabulary), np.int32)
        place[0] = _SILENCE
        if found:
            place[: len(found[1])] = found[1]
        elif len(self._numbers) >= MOST_VOCABULARIES:
            self._numbers.pop(next(iter(self._numbers)))
        self._numbers[id(vocabulary)] = vocabulary, place  # the vocabulary stays alive, so its identity is its own
        return place

    def _learn(self, words: tuple[str, ...]) -> Ints:
        new = [word for word in dict.fromkeys(words) if word not in self._rows]
        first = len(self._rows) + 1
        if first + len(new) > len(self._known):
            grown = np.zeros((2 * (first + len(new)), self._known.shape[1]), np.float32)
            grown[: len(self._known)] = self._known
            self._known = grown  # who has the old one has all rows that it asked for
        self._known[first : first + len(new)] = self._facts(new)
        self._rows.update(zip(new, range(first, first + len(new)), strict=True))
        return np.array([self._rows[word] for word in words], np.int32)

    def _facts(self, words: list[str]) -> Floats:
        rows = self._table.rows(words)
        facts = np.empty((len(words), self._known.shape[1]), np.float32)
        facts[:, 0] = self._table.phones_of(words, rows)
        facts[:, 1] = self._table.mass_of(rows)
        if self._embedding is not None and len(words):
            offsets, buckets = ngram_buckets(words, self._config.buckets)
            sums = np.add.reduceat(self._embedding[buckets], offsets[:-1])
            facts[:, 2:] = sums / np.diff(offsets)[:, None]
        elif self._config.embedding == "table":
            facts[:, 2:] = self._table.vectors_of(rows)
        return facts

"""What is known of words, as arrays for the kernels: hashes, letters, readings, classes.

A word is looked at once in a process; then its row in the table is found by its number in a vocabulary.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import csr_offsets, row_offsets
from ...base.jit import compiled
from ...lattices.lattice import Ints, Offsets
from ...lattices.vocabulary import Vocabulary
from .equate import Equate
from .readings import Reading, WordReadings, for_kinds

Hashes = NDArray[np.uint64]
Letters = NDArray[np.uint32]
Marks = NDArray[np.uint8]

# Of hashes and of places in hash tables. Nobody knows them: no file can have words that all share one. They are
# handed to kernels, because a kernel keeps the globals of the process that compiled it.
SECRET = np.array([secrets.randbits(64) | 1 for _ in range(2)], np.uint64)
OPEN, PHRASE = 1, 2  # kinds of words: with readings; in phrases with numbers. Numbers are both
_NO_HASH = np.uint64(0)
_MOST_WORDS = 1 << 18


@dataclass(frozen=True, slots=True)
class WordArrays:
    """Rows of words; row 0 is no word."""

    hash: Hashes
    kind: Marks
    word_class: Ints  # the same for words that count as the same
    letters_of: Offsets  # [words + 1] in `letters`
    letters: Letters
    readings: Offsets  # [words + 1] of each word, in `atoms_of`
    atoms_of: Offsets  # [readings + 1] of each reading, in `atoms`
    atoms: Hashes

    @classmethod
    def of(cls, strings: Sequence[str], known: WordReadings, classes: dict[Reading, int]) -> WordArrays:
        """Of these words; `classes` has those of others, and gets theirs."""
        rows, in_phrase = known.of_all(strings)
        counts = np.fromiter(map(len, rows), np.int64, len(rows))
        said = [reading for row in rows for reading in row]
        letters, letters_of = _letters(strings)
        own = (known.class_of(string) if row else (string,) for string, row in zip(strings, rows, strict=True))
        return cls(
            hash=_hashes(strings),
            kind=((counts > 0) * OPEN + np.array(in_phrase, np.uint8) * PHRASE).astype(np.uint8),
            word_class=np.fromiter((classes.setdefault(row, len(classes)) for row in own), np.int32, len(rows)),
            letters_of=letters_of,
            letters=letters,
            readings=csr_offsets(counts),
            atoms_of=row_offsets(said),
            atoms=_hashes([atom for reading in said for atom in reading]),
        )

    def __add__(self, other: WordArrays) -> WordArrays:
        joined = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("hash", "kind", "word_class", "letters", "atoms")
        }
        offsets = {
            name: np.concatenate([getattr(self, name), getattr(self, name)[-1] + getattr(other, name)[1:]])
            for name in ("letters_of", "readings", "atoms_of")
        }
        return WordArrays(**joined, **offsets)


@dataclass(slots=True)
class WordTable:
    """The words that have been looked at; it only grows, and begins anew when it is too large."""

    known: WordReadings
    _lock: Lock = field(default_factory=Lock)
    _row: dict[str, int] = field(default_factory=dict)
    _classes: dict[Reading, int] = field(default_factory=dict)
    _arrays: WordArrays | None = None
    _of_vocabulary: WeakKeyDictionary[Vocabulary, Ints] = field(default_factory=WeakKeyDictionary)

    def rows(self, vocabulary: Vocabulary, used: Offsets, others: Sequence[str]) -> tuple[Ints, Ints, WordArrays]:
        """The rows of words by their numbers (0 for those that are not used), and of words that have none."""
        with self._lock:
            if self._arrays is None or len(self._row) > _MOST_WORDS:
                self._begin()
            rows = self._of_vocabulary.get(vocabulary, np.zeros(0, np.int32))
            if len(rows) < len(vocabulary):
                rows = np.concatenate([rows, np.zeros(len(vocabulary) - len(rows), np.int32)])
            new = used[rows[used] == 0]
            if len(new):
                rows = rows.copy()
                rows[new] = self._learn(vocabulary.lookup(new.tolist()))
            self._of_vocabulary[vocabulary] = rows
            own = self._learn(others)
            assert self._arrays is not None
            return rows, own, self._arrays

    def _begin(self) -> None:
        self._row, self._classes = {"": 0}, {}
        self._of_vocabulary.clear()
        self._arrays = WordArrays.of([""], self.known, self._classes)

    def _learn(self, strings: Sequence[str]) -> Ints:
        new = [string for string in dict.fromkeys(strings) if string not in self._row]
        if new:
            assert self._arrays is not None
            self._arrays += WordArrays.of(new, self.known, self._classes)
            self._row.update(zip(new, range(len(self._row), len(self._row) + len(new)), strict=True))
        return np.array([self._row[string] for string in strings], np.int32)


@cache
def table_for(equate: Equate) -> WordTable:
    """The table where these kinds are equated."""
    return WordTable(for_kinds(equate))


def _letters(strings: Sequence[str]) -> tuple[Letters, Offsets]:
    text = "".join(strings)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32), row_offsets(strings)


def _hashes(strings: Sequence[str]) -> Hashes:
    letters, offsets = _letters(strings)
    hashes = np.zeros(len(strings), np.uint64)
    _hash_all(letters, offsets, SECRET, hashes)
    return hashes


@compiled
def _hash_all(letters: Letters, offsets: Offsets, secret: Hashes, hashes: Hashes) -> None:
    for row in range(len(hashes)):
        total = _NO_HASH
        for at in range(offsets[row], offsets[row + 1]):
            total = total * secret[0] + np.uint64(letters[at])
        hashes[row] = total

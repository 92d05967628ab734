"""What a model knows about words: their vectors, their phones, and how often they were heard in training.

It is part of a model, so that scoring needs neither the embedding file nor the lexicon that training had. A word that
is not in the table has no vector, its phones are estimated, and it was never heard. Models without vectors of a file
know words by their character n-grams, each of which falls into one of a fixed number of buckets with learned vectors.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OptionError
from ..lattices.lattice import Floats, Ints, Lattices
from ..lattices.vocabulary import Vocabulary
from .config import Config
from .features import Arcs
from .phones import RULES, estimate_phones

MOST_CACHED = 300_000  # words in a `WordCache`, which then begins anew
_MOST_VOCABULARIES = 8
_SILENCE = 1  # its row in a `WordCache`; row 0 stands for words not met yet
MAX_NGRAMS = 64  # of a word: the pieces of about 23 characters
_BLOCK = 50_000  # words hashed at a time
_FNV_START, _FNV_PRIME = np.uint32(2166136261), np.uint32(16777619)


@lru_cache(1_000_000)
def _estimated(word: str, rules: int) -> int:
    return estimate_phones(word, rules) if word else 0


@dataclass(frozen=True)
class WordTable:
    """Known words by row; a column is None where the model does without it."""

    words: tuple[str, ...] = ()
    phones: Ints | None = None  # [words] 0 where a lexicon was given that does not have the word
    mass: Floats | None = None  # [words] expected count in the training data: the sum of posteriors
    vectors: Floats | None = None  # [words, dimension] 0 where the embedding file does not have the word
    phone_rules: int = RULES  # by which the phones of other words are estimated

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    def rows(self, words: Sequence[str]) -> Ints:
        """The row of each word, -1 for one that is not known."""
        find = self._rows.get
        return np.array([find(word, -1) for word in words], np.int32)

    def phones_of(self, words: Sequence[str], rows: Ints) -> Ints:
        """The phones of each word, estimated where the lexicon does not tell."""
        if self.phones is None or not len(self.phones):
            counts = np.zeros(len(rows), np.int32)
        else:
            counts = np.where(rows >= 0, self.phones[rows], 0).astype(np.int32)
        for index in np.flatnonzero(counts == 0).tolist():
            counts[index] = _estimated(words[index], self.phone_rules)
        return counts

    def mass_of(self, rows: Ints) -> Floats:
        """How often each word was heard."""
        if self.mass is None or not len(self.mass):
            return np.zeros(len(rows), np.float32)
        return np.where(rows >= 0, self.mass[rows], np.float32(0))

    def vectors_of(self, rows: Ints) -> Floats:
        """The vector of each word, 0 where there is none."""
        assert self.vectors is not None
        vectors = np.zeros((len(rows), self.vectors.shape[1]), np.float32)
        vectors[rows >= 0] = self.vectors[rows[rows >= 0]]
        return vectors


@dataclass(frozen=True, slots=True)
class BatchWords:
    """The distinct words of a batch of networks, and which of them each arc says."""

    words: tuple[str, ...]
    index: NDArray[np.int64]  # [arcs] into words

    @classmethod
    def of(cls, networks: Lattices) -> BatchWords:
        """Of all arcs of a batch, silence being the word ""."""
        distinct, index = np.unique(networks.word, return_inverse=True)
        return cls(networks.vocabulary.lookup(distinct.tolist()), index)


def expected_counts(batches: Iterable[Lattices]) -> dict[str, float]:
    """The expected count of every word over all networks: the sum of the posteriors of its arcs."""
    total: dict[str, float] = {}
    for batch in batches:
        words = BatchWords.of(batch)
        for word, mass in zip(words.words, np.bincount(words.index, batch.posterior).tolist(), strict=True):
            total[word] = total.get(word, 0.0) + mass
    total.pop("", None)
    return total


def own_mass(networks: Lattices) -> NDArray[np.float64]:
    """[arcs] the mass of an arc's word in its own utterance: what training must not count twice."""
    assert networks.posterior is not None
    pair = networks.utterance_of_arc * (int(networks.word.max(initial=0)) + 1) + networks.word
    distinct, index = np.unique(pair, return_inverse=True)
    mass = np.bincount(index, networks.posterior.astype(np.float64), len(distinct))
    return np.asarray(mass[index], np.float64)


def known_arcs(networks: Lattices, table: WordTable, *, in_training: bool = False) -> tuple[Arcs, BatchWords, Ints]:
    """The arcs of networks with what the table knows of their words, the words, and the row of each word."""
    words = BatchWords.of(networks)
    rows = table.rows(words.words)
    mass = table.mass_of(rows)[words.index].astype(np.float64)
    if in_training:  # a word heard only here was never heard before
        mass -= own_mass(networks)
    phones = table.phones_of(words.words, rows)[words.index].astype(np.float64)
    return Arcs(networks, phones, mass), words, rows


class WordCache:
    """Phones, frequency and vector of every word met so far, looked up once; safe to use from several threads.

    Its rows are in arrays that only grow, until there are too many and it begins anew.
    """

    def __init__(self, table: WordTable, config: Config, embedding: Floats | None) -> None:
        self._table, self._config, self._embedding = table, config, embedding
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._rows: dict[str, int] = {"": _SILENCE}
        self._vocabularies: dict[int, tuple[Vocabulary, Ints]] = {}  # by identity: the row of each word, or 0
        dimension = 0 if self._config.embedding == "none" else self._config.dimension
        self._known = np.zeros((1024, dimension + 2), np.float32)  # phones, mass, vector

    def of(self, vocabulary: Vocabulary, word_ids: Ints) -> tuple[Ints, Floats]:
        """The row of each word, and the array: phones, how often it was heard in training, vector."""
        with self._lock:
            if len(self._rows) > MOST_CACHED:
                self._forget()
            row_of = self._rows_of(vocabulary)
            rows = row_of[word_ids]
            if not rows.all():
                new = np.unique(word_ids[rows == 0])
                row_of[new] = self._learn(vocabulary.lookup(new.tolist()))
                rows = row_of[word_ids]
            return rows, self._known

    def _rows_of(self, vocabulary: Vocabulary) -> Ints:
        """[words of the vocabulary] the row of each, 0 for those not met yet."""
        cached = self._vocabularies.get(id(vocabulary))
        if cached and len(cached[1]) >= len(vocabulary):
            return cached[1]
        row_of = np.zeros(len(vocabulary), np.int32)
        row_of[0] = _SILENCE
        if cached:
            row_of[: len(cached[1])] = cached[1]
        elif len(self._vocabularies) >= _MOST_VOCABULARIES:
            self._vocabularies.pop(next(iter(self._vocabularies)))
        self._vocabularies[id(vocabulary)] = vocabulary, row_of  # kept alive, so its identity is its own
        return row_of

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


def ngram_buckets(
    words: Sequence[str], buckets: int, lengths: Sequence[int] = (2, 3, 4)
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The buckets of each word's character n-grams and of the word as a whole: `numbers[offsets[i]:offsets[i + 1]]`.

    A word's buckets are sorted and distinct. N-grams see where a word begins and ends (`<word>`), as in fastText; a
    long word is cut where it has `MAX_NGRAMS`. The same on every machine: models rely on it.
    """
    if not 0 < buckets < 1 << 31:
        raise OptionError(f"n-grams need between 1 and {(1 << 31) - 1:,} buckets, not {buckets:,}")
    if not lengths or min(lengths) < 1:
        raise OptionError(f"n-grams have one character or more, not {tuple(lengths)}")
    counts, numbers = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
    for start in range(0, len(words), _BLOCK):
        block = words[start : start + _BLOCK]
        count, number = _hash_block(block, buckets, lengths)
        counts.append(count)
        numbers.append(number)
    return np.cumsum(np.concatenate(counts)), np.concatenate(numbers)


def _hash_block(
    words: Sequence[str], buckets: int, lengths: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """How many buckets each word has, and which."""
    longest = (MAX_NGRAMS - 1 + sum(lengths)) // len(lengths) - 1
    marked = [f"<{word[:longest]}>"[:longest] for word in words]
    sizes = np.array([len(word) for word in marked])
    owners = np.repeat(np.arange(len(words)), sizes)
    left = np.repeat(np.cumsum(sizes), sizes) - np.arange(len(owners))  # characters from here to the word's end
    characters = np.frombuffer("".join(marked).encode("utf-32-le", "surrogatepass"), np.uint32)
    whole = np.array([zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in words], np.int64)
    keys = [np.arange(len(words)) * buckets + whole % buckets]
    for length in set(lengths):
        starts = np.flatnonzero(left >= length)
        keys.append(owners[starts] * buckets + _hash(characters, starts, length) % buckets)
    sorted_keys = np.sort(np.concatenate(keys))  # np.unique hashes first, which takes ten times as long
    distinct = sorted_keys[np.diff(sorted_keys, prepend=-1) > 0]
    counts = np.bincount(distinct // buckets, minlength=len(words))
    return counts.astype(np.int64), (distinct % buckets).astype(np.int32)


def _hash(characters: NDArray[np.uint32], starts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """FNV-1a over code points; the last steps (MurmurHash3's) let the low bits depend on all the others."""
    value = np.full(len(starts), _FNV_START)
    for offset in range(length):
        value = (value ^ characters[starts + offset]) * _FNV_PRIME
    value = (value ^ (value >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    value = (value ^ (value >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (value ^ (value >> np.uint32(16))).astype(np.int64)

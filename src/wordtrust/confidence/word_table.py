"""What a model knows about words: their vectors, their phones, and how often they were heard in training.

It is part of a model, so that scoring needs neither the embedding file nor the lexicon that training had. A word that
is not in the table has no vector, its phones are estimated, and it was never heard. Models without vectors of a file
know words by their character n-grams, each of which falls into one of a fixed number of buckets with learned vectors.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OptionError
from ..lattices.lattice import Floats, Ints, Lattices, Vocabulary
from .features import Arcs
from .phones import estimate_phones

MAX_NGRAMS = 64  # of a word: the pieces of about 23 characters
_BLOCK = 50_000  # words hashed at a time
_FNV_START, _FNV_PRIME = np.uint32(2166136261), np.uint32(16777619)


@dataclass(frozen=True)
class WordTable:
    """Known words by row; a column is None where the model does without it."""

    words: tuple[str, ...] = ()
    phones: Ints | None = None  # [words] 0 where a lexicon was given that does not have the word
    mass: Floats | None = None  # [words] posterior mass in the training data
    vectors: Floats | None = None  # [words, dimension] 0 where the embedding file does not have the word

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    @cached_property
    def _estimates(self) -> dict[str, int]:
        return {}

    def rows(self, words: Sequence[str]) -> Ints:
        """The row of each word, -1 for one that is not known."""
        find = self._rows.get
        return np.array([find(word, -1) for word in words], np.int32)

    def phones_of(self, words: Sequence[str], rows: Ints) -> Ints:
        """The phones of each word, estimated where the lexicon does not tell."""
        if self.phones is None or not len(self.phones):
            found = np.zeros(len(rows), np.int32)
        else:
            found = np.where(rows >= 0, self.phones[rows], 0).astype(np.int32)
        for place in np.flatnonzero(found == 0).tolist():
            found[place] = self._estimate(words[place])
        return found

    def _estimate(self, word: str) -> int:
        if len(self._estimates) > 1_000_000:
            self._estimates.clear()
        known = self._estimates.get(word)
        if known is None:
            known = self._estimates[word] = estimate_phones(word) if word else 0
        return known

    def mass_of(self, rows: Ints) -> Floats:
        """How often each word was heard."""
        if self.mass is None or not len(self.mass):
            return np.zeros(len(rows), np.float32)
        return np.where(rows >= 0, self.mass[rows], np.float32(0))

    def vectors_of(self, rows: Ints) -> Floats:
        """The vector of each word, 0 where there is none."""
        assert self.vectors is not None
        found = np.zeros((len(rows), self.vectors.shape[1]), np.float32)
        found[rows >= 0] = self.vectors[rows[rows >= 0]]
        return found


@dataclass(frozen=True, slots=True)
class BatchWords:
    """The distinct words of a batch of networks, and which of them each arc says."""

    words: tuple[str, ...]
    index: NDArray[np.int64]  # [arcs] into words

    @classmethod
    def of(cls, networks: Lattices) -> BatchWords:
        """Of all arcs of a batch, silence being the word ""."""
        return cls.lookup(networks.vocabulary, networks.word)

    @classmethod
    def lookup(cls, vocabulary: Vocabulary, numbers: Ints) -> BatchWords:
        """Of words by their number."""
        distinct, index = np.unique(numbers, return_inverse=True)
        return cls(vocabulary.lookup(distinct.tolist()), index)


def heard(batches: Iterable[Lattices]) -> dict[str, float]:
    """The posterior mass of every word over all networks."""
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

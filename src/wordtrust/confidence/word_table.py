"""What a model knows about words: their vectors, their phones, and how often they were heard in training.

It is part of a model, so that scoring needs neither the embedding file nor the lexicon that training had. A word that
is not in the table has no vector, its phones are estimated, and it was never heard.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..lattices.lattice import Floats, Ints, Lattices, Offsets, Vocabulary
from .features import Arcs

MORE_WORDS = 60_000  # further ones from the top of an embedding file: they may be said one day


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
        from .phones import estimate_phones

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


def make_table(
    mass: dict[str, float], also: Collection[str], *, vectors: Path | None = None, lexicon: Path | None = None
) -> WordTable:
    """The table of the words heard in training and of `also` (those of the development set)."""
    from .phones import read_lexicon
    from .word_vectors import read_vectors

    used = set(mass) | (set(also) - {""})
    in_use = sorted(used)
    if vectors is None:
        words, rows = in_use, None
    else:
        found = read_vectors(vectors, used, extra=MORE_WORDS)
        where = {word: row for row, word in enumerate(found.words)}
        words = in_use + [word for word in found.words if word not in used]
        rows = np.zeros((len(words), found.dimension), np.float32)
        known = [place for place, word in enumerate(words) if word in where]
        rows[known] = _as_kept(found.values[[where[words[place]] for place in known]])
    counts = None if lexicon is None else read_lexicon(lexicon, set(words))
    return WordTable(
        words=tuple(words),
        phones=None if counts is None else np.array([counts.get(word, 0) for word in words], np.int32),
        mass=np.array([mass.get(word, 0.0) for word in words], np.float32),
        vectors=rows,
    )


def _as_kept(vectors: Floats) -> Floats:
    """Vectors rounded to what a model keeps of them, so that training sees what scoring will see."""
    half = np.finfo(np.float16)
    return np.clip(vectors, half.min, half.max).astype(np.float16).astype(np.float32)


def hashed(words: Sequence[str], buckets: int) -> tuple[Offsets, Ints]:
    """The buckets of the character n-grams of each word, and where those of each begin."""
    from .word_vectors import ngram_buckets

    return ngram_buckets(words, buckets)

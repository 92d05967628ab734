"""Models made small enough to come with the package: fewer words, half precision, nothing left over from training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from wordtrust.base.errors import OptionError
from wordtrust.base.tensors import write_tensors
from wordtrust.confidence.model_card import TrainingRecord
from wordtrust.confidence.model_file import Model, checksum, in_bytes, shared_words
from wordtrust.confidence.tensors import table_arrays, table_from
from wordtrust.confidence.word_table import WordTable
from wordtrust.lattices.lattice import Floats

# On dev, words of the 1-best and WER of kaldi-small-2020: 60,000 words NCE .497, 17.46%; 40,000 .496, 17.50%;
# 20,000 .490, 17.64%. Of whisper-tiny.en: .466, 11.47%; .464, 11.55%; .454, 11.67%.
MOST_WORDS = 60_000
LEAST_MASS = 2.0  # heard this often over all recognizers: rarer ones make room for words that people say often


def shrink(model: Model, words: int = MOST_WORDS) -> Model:
    """The model with so many words and no leftovers of training; save it with `small=True`."""
    return without_leftovers(replace(model, table=cut(model.table, useful_words([model.table], words))))


def without_leftovers(model: Model) -> Model:
    """The model without trials that only its training needed, nor the place of a model that it began with.

    The checksums of speakers stay: they tell whether a split was seen.
    """
    card, training = model.card, model.card.training
    if training.start:
        training = TrainingRecord({**training.options, "start": Path(training.start).name})
    return replace(model, card=replace(card, training=training, choice_errors={}, choice_errors_on_dev={}, search=()))


def useful_words(
    tables: Sequence[WordTable], most: int = MOST_WORDS, order: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Words that were heard often, the most frequent first; then known ones in this order; then others.

    Without an order, that of words that were never heard, which stand in tables as in the vectors' file.
    """
    heard: dict[str, float] = {}
    for table in tables:
        mass = np.zeros(len(table.words)) if table.mass is None else table.mass
        for word, amount in zip(table.words, mass.tolist(), strict=True):
            heard[word] = heard.get(word, 0.0) + amount
    often = sorted((word for word, mass in heard.items() if mass >= LEAST_MASS), key=lambda word: -heard[word])
    never = [word for word, mass in heard.items() if not mass]
    next_ones = never if order is None else [word for word in order if word in heard]
    return tuple(list(dict.fromkeys([*often, *next_ones, *heard]))[:most])


def cut(table: WordTable, words: Sequence[str]) -> WordTable:
    """The rows of these words, empty ones for those that the table does not have."""
    rows = table.rows(words)
    phones = None if table.phones is None else np.where(rows >= 0, table.phones[rows], 0).astype(np.int32)
    mass = None if table.mass is None else table.mass_of(rows)
    vectors = None if table.vectors is None else table.vectors_of(rows)
    return WordTable(tuple(words), phones, mass, vectors, table.phone_rules)


class SharedWords:
    """Words and vectors that several models have in one file."""

    def __init__(
        self, tables: Sequence[WordTable], most: int = MOST_WORDS, order: Sequence[str] | None = None
    ) -> None:
        self.words = useful_words(tables, most, order)
        self.vectors = _vectors(tables, self.words)

    def fits(self, table: WordTable) -> bool:
        """Whether a model's vectors are these: a model that learned its own keeps its own table."""
        if table.vectors is None or self.vectors is None:
            return True
        rows = table.rows(self.words)
        return bool(
            table.vectors.shape[1:] == self.vectors.shape[1:]
            and np.array_equal(table.vectors[rows[rows >= 0]], self.vectors[rows >= 0])
        )

    def apply(self, table: WordTable) -> WordTable:
        """The table with these words, and vectors also of those that it did not have."""
        return replace(cut(table, self.words), vectors=None if table.vectors is None else self.vectors)

    def write(self, file: Path) -> str:
        """Write the file; gives its checksum."""
        arrays = {"words.text": table_arrays(WordTable(self.words))["words.text"]}
        if self.vectors is not None:
            arrays |= in_bytes(self.vectors)
        write_tensors(file, arrays, {})
        return checksum(file)


def read_shared(file: Path) -> WordTable:
    """The words and vectors of such a file."""
    return table_from(shared_words(file, checksum(file)))


def with_shared(table: WordTable, shared: WordTable) -> WordTable:
    """A table with these words and vectors; an `OptionError` where its own vectors are others.

    Vectors in the file are rounded to bytes, so they are nearly those of the table.
    """
    if table.vectors is None:
        return cut(table, shared.words)
    rows = table.rows(shared.words)
    shared_rows = rows >= 0
    own = table.vectors[rows[shared_rows]]
    if shared.vectors is None or own.shape[1] != shared.vectors.shape[1]:
        raise OptionError("the model has word vectors of another kind than those that shipped models share")
    apart = np.abs(own - shared.vectors[shared_rows]).max(axis=0, initial=0.0)
    if (apart > np.abs(shared.vectors).max(axis=0, initial=0.0) / 100).any():
        raise OptionError("the model has other word vectors than those that shipped models share")
    return replace(cut(table, shared.words), vectors=shared.vectors)


def _vectors(tables: Sequence[WordTable], words: Sequence[str]) -> Floats | None:
    """From the first table that has each word."""
    vectors: Floats | None = None
    for table in tables:
        if table.vectors is None:
            continue
        if vectors is None:
            vectors = np.zeros((len(words), table.vectors.shape[1]), np.float32)
        if table.vectors.shape[1] == vectors.shape[1]:
            missing = ~vectors.any(axis=1)
            vectors[missing] = table.vectors_of(table.rows(words))[missing]
    return vectors

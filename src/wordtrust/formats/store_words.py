"""The words of a store: arrow dictionaries as vocabularies.

A row group has tens of thousands of different strings and few of them are ever looked at, so no Python string is
made before somebody asks for one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import InputError
from ..jit import compiled
from ..lattice import Ints, Offsets, Vocabulary

NO_TEXT = pa.array([], pa.string())


class VocabularyReader:
    """Turns arrow strings into numbers. Parts of a row group have the same dictionaries, so the same vocabulary."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._dictionaries: list[Any] = []

    def read(self, texts: Mapping[str, Any]) -> tuple[Vocabulary, list[Ints]]:
        """A vocabulary for all strings of these columns, and their numbers in it."""
        arrays = {name: encoded(array) for name, array in texts.items()}
        dictionaries = [array.dictionary for array in arrays.values()]
        pairs = zip(dictionaries, self._dictionaries or [NO_TEXT] * len(dictionaries), strict=True)
        if not all(mine.equals(theirs) for mine, theirs in pairs):
            for name, array in arrays.items():
                check_strings(array.dictionary, name)
            size = 1 + sum(map(len, dictionaries))
            self._vocabulary = Vocabulary.later(size, partial(_strings, dictionaries))
            self._dictionaries = dictionaries
        found, first = [], 1
        for name, array in arrays.items():
            found.append(numbers(array, name, first))
            first += len(array.dictionary)
        return self._vocabulary, found


def _strings(dictionaries: Sequence[Any]) -> list[str]:
    return ["", *(string for dictionary in dictionaries for string in dictionary.to_pylist())]


def encoded(array: Any) -> Any:
    """Strings with a dictionary."""
    return array if pa.types.is_dictionary(array.type) else array.dictionary_encode()


def check_strings(dictionary: Any, name: str) -> None:
    """Raise if a string is null, or no UTF-8 (as arrow's own error)."""
    if dictionary.null_count:
        raise InputError(f"the column {name!r} has nulls")
    dictionary.validate(full=True)


def numbers(array: Any, name: str, first: int) -> Ints:
    """Places in the dictionary, counted from `first`, and 0 for the empty string."""
    found = np.empty(len(array), np.int32)
    empty = array.dictionary.index("").as_py()
    if not _shift(array.indices.to_numpy(), len(array.dictionary), first, empty, found):
        raise InputError(f"the column {name!r} refers to strings that are not there")
    return found


@compiled
def _shift(indices: Ints, size: int, first: int, empty: int, found: Ints) -> bool:
    fits = True
    for place in range(len(indices)):  # without a branch, so that it runs in vector registers
        index = indices[place]
        fits &= (index >= 0) & (index < size)
        found[place] = (index + np.int32(first)) * (index != empty)
    return fits


@compiled
def default_surfaces(arc_offsets: Offsets, word: Ints, silence: Ints) -> Ints:
    """Surfaces that are the words themselves, and each lattice's own mark where there is none."""
    surface = np.empty(len(word), np.int32)
    for u in range(len(silence)):
        own, filled = word[arc_offsets[u] : arc_offsets[u + 1]], surface[arc_offsets[u] : arc_offsets[u + 1]]
        for arc in range(len(own)):
            filled[arc] = own[arc] + silence[u] * (own[arc] == 0)  # without a branch, as above
    return surface

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

from ...base.errors import InputError
from ...base.jit import compiled
from ...lattices.lattice import Flags, Ints, Offsets, Vocabulary

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
    """Places in the dictionary, counted from `first`, and 0 for the empty string. Nulls are left out."""
    dictionary = array.dictionary
    empty = 0 if len(dictionary) and dictionary[0].as_py() == "" else dictionary.index("").as_py()
    indices = np.frombuffer(array.indices.buffers()[1] or b"", np.int32)[array.offset : array.offset + len(array)]
    indices = indices if array.null_count == 0 else indices[present(array)]
    found = np.empty(len(indices), np.int32)
    if not _shift(indices, len(dictionary), np.int32(first), np.int32(empty), found):
        raise InputError(f"the column {name!r} refers to strings that are not there")
    return found


def present(array: Any) -> Flags:
    """False where an array has nulls; from the bits themselves, as arrow's own functions take long to load."""
    if array.null_count == 0:
        return np.ones(len(array), np.bool_)
    bits = np.frombuffer(array.buffers()[0], np.uint8)
    flags = np.unpackbits(bits, count=array.offset + len(array), bitorder="little")
    return flags[array.offset :].view(np.bool_)


@compiled
def _shift(indices: Ints, size: int, first: np.int32, empty: np.int32, found: Ints) -> bool:
    fits, last = True, np.int32(size - 1)
    for place in range(len(indices)):  # without a branch, so that it runs in vector registers
        index = indices[place]
        fits &= (index >= 0) & (index <= last)
        found[place] = index + first if index != empty else 0
    return fits


@compiled
def default_surfaces(arc_offsets: Offsets, word: Ints, silence: Ints) -> Ints:
    """Surfaces that are the words themselves, and each lattice's own mark where there is none."""
    surface = np.empty(len(word), np.int32)
    for u in range(len(silence)):
        own, filled = word[arc_offsets[u] : arc_offsets[u + 1]], surface[arc_offsets[u] : arc_offsets[u + 1]]
        mark = silence[u]
        for arc in range(len(own)):
            filled[arc] = own[arc] + mark * (own[arc] == 0)  # without a branch, as above
    return surface

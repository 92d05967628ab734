"""How alike words are written: a recognizer that does not know a word, or mishears it, writes something like it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import row_offsets
from ...base.jit import inner
from ...lattices.lattice import Offsets, Vocabulary

MOST_LETTERS = 24  # of a word that are compared
Codes = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class Letters:
    """The letters of all words of a vocabulary, end to end."""

    code: Codes
    offsets: Offsets  # [words + 1]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Letters:
        """Take the words apart."""
        words = [word[:MOST_LETTERS] for word in vocabulary.strings]
        text = "".join(words).encode("utf-32-le", "surrogatepass")
        return cls(np.frombuffer(text, np.uint32).copy(), row_offsets(words))

    @property
    def lengths(self) -> Offsets:
        """[words] how many letters each has."""
        lengths: Offsets = np.diff(self.offsets)
        return lengths


@inner
def likeness(code: Codes, offsets: Offsets, one: int, other: int, row: Offsets) -> float:
    """1 for the same word, 0 for words without a letter in common: 1 - edit distance / letters of the longer one.

    `row` has room for the letters of a word and one more.
    """
    first, second = offsets[one], offsets[other]
    rows, columns = offsets[one + 1] - first, offsets[other + 1] - second
    for column in range(columns + 1):
        row[column] = column
    for line in range(rows):
        corner = row[0]
        row[0] = line + 1
        for column in range(columns):
            above = row[column + 1]
            changed = corner + (code[first + line] != code[second + column])
            row[column + 1] = min(changed, row[column] + 1, above + 1)
            corner = above
    return float(1.0 - row[columns] / max(rows, columns, 1))

"""References as numbers of words, with the words of a lattice that stand for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..base.arrays import csr_items, csr_offsets, row_offsets
from ..lattices.lattice import Ints, Lattices, Offsets
from ..lattices.text import UNKNOWN
from .equivalents import NONE as STRICT
from .equivalents import Equate
from .equivalents.alternatives import Alternatives, find_alternatives


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceWords:
    """References as word numbers of a batch's vocabulary, -2 for words that are not in it, end to end."""

    words: Ints
    offsets: Offsets
    alternatives: Alternatives  # of words that the lattices have instead

    @classmethod
    def of(cls, references: Sequence[Sequence[str]], lattices: Lattices, equate: Equate = STRICT) -> ReferenceWords:
        """Look up the reference words of each utterance in the vocabulary of a batch, and what stands for them."""
        if len(references) != len(lattices):
            raise ValueError(f"{len(references)} references for {len(lattices)} utterances")
        find = lattices.vocabulary.find
        ids = np.array([find(word) if word != UNKNOWN else -1 for words in references for word in words], np.int32)
        words, offsets = np.where(ids > 0, ids, np.int32(-2)), row_offsets(references)
        return cls(words, offsets, find_alternatives(references, words, offsets, lattices, equate))

    @property
    def strict(self) -> ReferenceWords:
        """The same without alternatives."""
        return ReferenceWords(self.words, self.offsets, Alternatives.none(len(self.offsets) - 1))

    def rows(self, rows: Offsets) -> ReferenceWords:
        """The references of some utterances."""
        offsets = csr_offsets(np.diff(self.offsets)[rows])
        return ReferenceWords(self.words[csr_items(self.offsets, rows)], offsets, self.alternatives.rows(rows))

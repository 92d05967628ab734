"""Single words that count as the same, as numbers: for merging arcs and counting votes."""

from __future__ import annotations

import numpy as np

from ...lattices.lattice import Ints, Lattices, Offsets
from ...lattices.vocabulary import Vocabulary
from .equate import Equate
from .word_table import table_for


def word_classes(lattices: Lattices, equate: Equate) -> Ints | None:
    """For each word of the vocabulary the number of its class; None where no two words of a batch have the same."""
    if not equate:
        return None
    used = np.zeros(len(lattices.vocabulary), np.bool_)
    used[lattices.word] = True
    return classes_of(np.flatnonzero(used), lattices.vocabulary, equate)


def classes_of(words: Ints | Offsets, vocabulary: Vocabulary, equate: Equate) -> Ints | None:
    """The same for some words of a vocabulary; no word is in class 0, and others have no class but that."""
    words = words[words > 0].astype(np.int64)
    rows, _, table = table_for(equate).rows(vocabulary, words, ())
    own = table.word_class[rows[words]]
    if np.bincount(own).max(initial=0) <= 1:
        return None
    classes = np.zeros(len(vocabulary), np.int32)
    classes[words] = own + np.int32(1)
    return classes

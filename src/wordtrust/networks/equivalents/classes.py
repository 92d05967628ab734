"""Single words that count as the same, as numbers: for merging arcs and counting votes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...lattices.lattice import Ints, Lattices
from ...lattices.vocabulary import Vocabulary
from .equate import Equate
from .readings import Reading, for_kinds


def word_classes(lattices: Lattices, equate: Equate) -> Ints | None:
    """For each word of the vocabulary the number of its class; None where no two words of a batch have the same."""
    if not equate:
        return None
    used = np.zeros(len(lattices.vocabulary), np.bool_)
    used[lattices.word] = True
    used[0] = False
    return classes_of(np.flatnonzero(used).tolist(), lattices.vocabulary, equate)


def classes_of(words: Iterable[int], vocabulary: Vocabulary, equate: Equate) -> Ints | None:
    """The same for some words of a vocabulary; the number of a class is that of the first of its words."""
    known, first = for_kinds(equate), dict[Reading, int]()
    classes, found = np.arange(len(vocabulary), dtype=np.int32), False
    used = list(words)
    strings = vocabulary.lookup(used)
    present = set(used)
    for word, string, rows in zip(used, strings, known.of_all(strings)[0], strict=True):
        if not rows:
            continue
        reading = known.class_of(string)
        plain = vocabulary.find(reading[0]) if len(reading) == 1 and not known.of(reading[0]) else -1
        own = plain if plain in present else first.setdefault(reading, word)
        if own != word:
            classes[word], found = own, True
    return classes if found else None

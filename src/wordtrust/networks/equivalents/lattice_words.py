"""The words of a lattice, by how they are read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from ...lattices.lattice import Flags, Lattices
from .number_words import has_digit
from .readings import Reading, WordReadings

WordRow = tuple[int, ...]  # ids in the vocabulary of the batch


class LatticeWords:
    """What one lattice of a batch has."""

    def __init__(self, lattices: Lattices, index: int, known: WordReadings, is_open: Flags) -> None:
        self.vocabulary, self.known = lattices.vocabulary, known
        first, last = lattices.arc_offsets[index : index + 2].tolist()
        self._source, self._target, self._word = (
            values[first:last] for values in (lattices.source, lattices.target, lattices.word)
        )
        self.words = frozenset(self._word.tolist()) - {0}
        self._is_open = is_open

    def beginning(self, first: str) -> Iterator[tuple[WordRow, Reading]]:
        """The words that have a reading which begins with this word."""
        yield from self._openings.get(first, ())
        plain = self.vocabulary.find(first)
        if plain in self.words and not self.known.of(first):
            yield (plain,), (first,)

    @cached_property
    def _openings(self) -> dict[str, list[tuple[WordRow, Reading]]]:
        """Words and phrases with their readings, by the first word of a reading."""
        openings: dict[str, list[tuple[WordRow, Reading]]] = {}
        readings: list[tuple[WordRow, tuple[Reading, ...]]]
        words = sorted(set(self._word[self._is_open[self._word]].tolist()))
        strings = self.vocabulary.lookup(words)
        readings = [((word,), self.known.of(string)) for word, string in zip(words, strings, strict=True)]
        if any(map(has_digit, strings)):
            readings += [(row, self.known.of_phrase(self.vocabulary.lookup(row))) for row in self._phrases()]
        for row, said in ((row, said) for row, all_said in readings for said in all_said):
            openings.setdefault(said[0], []).append((row, said))
        return openings

    def _phrases(self) -> list[WordRow]:
        """Two or three words with numbers that follow each other, silence between them or not."""
        words = sorted(self.words)
        in_phrases = {word for word in words if self.known.may_be_in_phrase(self.vocabulary[word])}
        pairs = set()
        for arc, word in enumerate(self._word.tolist()):
            if word not in in_phrases:
                continue
            after = self._arcs_from(int(self._target[arc]))
            silent = [over for over in after if not self._word[over]]
            following = [*after, *(arc for over in silent for arc in self._arcs_from(int(self._target[over])))]
            pairs |= {(word, other) for other in self._word[following].tolist() if other in in_phrases}
        triples = {(*pair, other[1]) for pair in pairs for other in pairs if pair[1] == other[0]}
        return sorted(pairs | triples)

    def _arcs_from(self, node: int) -> range:
        return range(*np.searchsorted(self._source, [node, node + 1]).tolist())

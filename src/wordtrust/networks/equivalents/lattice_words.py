"""The words of a lattice, by how they are read."""

from __future__ import annotations

from collections.abc import Iterator

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
        self._openings: dict[str, list[tuple[WordRow, Reading]]] = {}  # by the first word of a reading
        opened = set(self._word[is_open[self._word]].tolist())
        strings = {word: self.vocabulary[word] for word in sorted(opened)}
        for word, string in strings.items():
            self._open((word,), known.of(string))
        if any(map(has_digit, strings.values())):
            for row in self._phrases():
                self._open(row, known.of_phrase(self.vocabulary.lookup(row)))

    def beginning(self, first: str) -> Iterator[tuple[WordRow, Reading]]:
        """The words that have a reading which begins with this word."""
        yield from self._openings.get(first, ())
        plain = self.vocabulary.find(first)
        if plain in self.words and not self.known.of(first):
            yield (plain,), (first,)

    def _open(self, row: WordRow, readings: tuple[Reading, ...]) -> None:
        for said in readings:
            self._openings.setdefault(said[0], []).append((row, said))

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

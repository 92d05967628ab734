"""The labels of a CTC model: the words that they spell, and how words are spelled in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]

_WORD_START = "\u2581"  # how SentencePiece marks the first piece of a word


@dataclass(frozen=True)
class Alphabet:
    """What the labels of a model mean."""

    tokens: Sequence[str]  # of every label
    blank: int
    spoken: Labels  # the labels that may be part of a text: letters, pieces, the delimiter; no special ones
    delimiter: int | None = None  # the label between words

    def words(self, labels: Labels) -> list[tuple[str, int, int]]:
        """The words of a sequence: each with its first label and the one after its last.

        A delimiter belongs to the word before it, which it ends; leading ones to the first word.
        """
        words: list[tuple[str, int, int]] = []
        has_ended = True
        for index, label in enumerate(labels.tolist()):
            token = self.tokens[label]
            if label == self.delimiter:
                has_ended = True
                if words:
                    words[-1] = (*words[-1][:2], index + 1)
                continue
            if has_ended or token.startswith(_WORD_START):
                words.append(("", index if words else 0, index))
            word, first, _ = words[-1]
            words[-1] = (word + token.removeprefix(_WORD_START), first, index + 1)
            has_ended = False
        return [word for word in words if word[0]]

    def labels(self, words: Sequence[str]) -> list[list[int]]:
        """The labels of each word, with the delimiter that ends it; none if it has nothing that can be spelled."""
        spelled = [self._spell(word) for word in words]
        last = max((index for index, labels in enumerate(spelled) if labels), default=0)
        ends = [] if self.delimiter is None else [self.delimiter]
        return [labels + ends if labels and index < last else labels for index, labels in enumerate(spelled)]

    def _spell(self, word: str) -> list[int]:
        """A word in the case of the alphabet, in tokens as long as possible; letters that it has not are left out."""
        marked = f"{_WORD_START}{word}" if self._has_word_starts else word
        spelled = [self._longest_tokens(written) for written in (marked, marked.upper(), marked.lower())]
        return max(spelled, key=lambda labels: sum(len(self.tokens[label]) for label in labels))

    def _longest_tokens(self, written: str) -> list[int]:
        labels, begin = [], 0
        while begin < len(written):
            sizes = range(min(self._longest, len(written) - begin), 0, -1)
            size = next((size for size in sizes if written[begin : begin + size] in self._label_of), 0)
            labels += [self._label_of[written[begin : begin + size]]] if size else []
            begin += size or 1
        return labels

    @cached_property
    def _label_of(self) -> dict[str, int]:
        return {self.tokens[label]: label for label in self.spoken.tolist() if label != self.delimiter}

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._label_of), default=0)

    @cached_property
    def _has_word_starts(self) -> bool:
        return any(token.startswith(_WORD_START) for token in self._label_of)

"""The strings of lattices by id."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray


class Vocabulary:
    """Strings by id, shared by all lattices of a batch, mostly of a reader. Id 0 is the empty string: no word.

    It only grows, so an id once given keeps its meaning.
    """

    __slots__ = ("__weakref__", "_ids", "_load", "_size", "_strings")

    def __init__(self, strings: Iterable[str] = ()) -> None:
        self._strings: list[str] = [""]
        self._ids: dict[str, int] = {"": 0}
        self._load: Callable[[], list[str]] | None = None
        self._size = 1
        for string in strings:
            self.id(string)

    @classmethod
    def later(cls, size: int, load: Callable[[], list[str]]) -> Vocabulary:
        """A vocabulary whose `size` strings, the first of them empty, are loaded when they are first needed."""
        vocabulary = cls()
        vocabulary._size, vocabulary._load = size, load
        return vocabulary

    @property
    def strings(self) -> list[str]:
        """All strings by id."""
        if self._load:
            self._strings, self._load = self._load(), None
            ids = range(len(self._strings) - 1, -1, -1)
            self._ids = dict(zip(reversed(self._strings), ids, strict=True))  # the first of equal ones counts
        return self._strings

    def id(self, string: str) -> int:
        """The id of `string`, a new one if it was not seen before."""
        strings = self.strings
        string_id = self._ids.get(string)
        if string_id is None:
            string_id = self._ids[string] = len(strings)
            strings.append(string)
        return string_id

    def find(self, string: str) -> int:
        """The id of `string`, -1 if it is not there."""
        if self._load:
            self.strings  # noqa: B018  # loads them
        return self._ids.get(string, -1)

    def __getitem__(self, string_id: int) -> str:
        return self.strings[string_id]

    def __len__(self) -> int:
        return self._size if self._load else len(self._strings)

    def lookup(self, ids: Iterable[int]) -> tuple[str, ...]:
        """The strings of many ids."""
        strings = self.strings
        return tuple(strings[string_id] for string_id in ids)


def renumbered(ids: NDArray[np.int32], old: Vocabulary, new: Vocabulary) -> NDArray[np.int32]:
    """The ids of the same strings in another vocabulary."""
    if old is new or not len(ids):
        return ids
    table = np.full(len(old), -1, np.int32)
    table[ids] = 0
    used = np.flatnonzero(table == 0).tolist()
    table[used] = [new.id(string) for string in old.lookup(used)]
    return table[ids]

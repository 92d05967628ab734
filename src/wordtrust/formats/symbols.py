"""Symbol tables (words.txt): what the numbers on arcs stand for, in Kaldi, OpenFst and k2.

One `word id` pair a line. A table has hundreds of thousands of words and a file of lattices uses few of them: the
lines are found by a compiled scan, and a word becomes a string, and a token, when an arc first asks for it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from ..base.jit import compiled
from ..lattices.assemble import Tokens
from ..lattices.lattice import Ints, Offsets
from ..lattices.text import Normalizer
from .inputs import unpacked

MAX_BYTES = 1 << 28  # of an unpacked table; the largest in use have some millions of words
_EXAMPLE = "A symbol table has one word and its number a line, such as `hello 42`"
_UNKNOWN, _UNUSED, _ASKED = -1, -2, -3


class Symbols:
    """A symbol table: numbers to words."""

    def __init__(self, data: bytes, ids: Offsets, starts: Offsets, ends: Offsets) -> None:
        self._data, self._starts, self._ends = data, starts, ends
        self.ids = ids  # ascending

    @classmethod
    def load(cls, path: str | Path) -> Symbols:
        """The table in a file, packed or not. Asking again for a file that has not changed costs nothing."""
        path = Path(path)
        try:
            facts = path.stat()
        except OSError as error:
            raise InputError(f"the symbol table cannot be opened: {error.strerror}", file=str(path)) from None
        return _loaded(path, facts.st_mtime_ns, facts.st_size)

    def __len__(self) -> int:
        return len(self.ids)

    def words(self, word_ids: NDArray[np.integer]) -> list[str | None]:
        """The word of each number, None where the table has none."""
        if not len(self.ids):
            return [None] * len(word_ids)
        rows = np.minimum(np.searchsorted(self.ids, word_ids), len(self.ids) - 1)
        is_known = self.ids[rows] == word_ids
        spans = zip(self._starts[rows].tolist(), self._ends[rows].tolist(), is_known.tolist(), strict=True)
        return [self._data[start:end].decode() if in_table else None for start, end, in_table in spans]


class SymbolTokens:
    """Symbol numbers to token numbers; what a number means is worked out when it first occurs."""

    def __init__(self, symbols: Symbols, tokens: Tokens) -> None:
        self.tokens = tokens
        self._symbols = symbols
        largest = int(symbols.ids[-1]) if len(symbols) else 0
        self._dense = largest < 4 * len(symbols) + 1_000_000
        self._by_id = np.full(largest + 2 if self._dense else 1, _UNUSED, np.int32)
        self._by_id[0] = 0
        self._sparse: dict[int, int] = {0: 0}
        self._lock = Lock()

    @classmethod
    def shared(cls, symbols: Symbols, normalizer: Normalizer) -> SymbolTokens:
        """One for all files with the same table and normaliser: a word that the last one had is known to the next."""
        try:
            return _shared(symbols, normalizer)
        except TypeError:  # a normaliser of the user's own, which cannot be remembered
            return cls(symbols, Tokens(normalizer))

    def __call__(self, labels: NDArray[np.integer]) -> Ints:
        """The token of every label: 0 for label 0, the epsilon of all tables; -1 where the table has none."""
        with self._lock:
            if not self._dense or (len(labels) and labels.min() < 0):
                return self._one_by_one(labels)
            tokens: Ints = self._by_id.take(labels, mode="clip")  # the last one is no word's
            new = tokens == _UNUSED
            if new.any():
                self._by_id[np.minimum(labels[new], len(self._by_id) - 1)] = _ASKED
                used = np.flatnonzero(self._by_id == _ASKED)
                self._by_id[used] = self._work_out(used)
                tokens = self._by_id.take(labels, mode="clip")
            return tokens

    def _one_by_one(self, labels: NDArray[np.integer]) -> Ints:
        used, inverse = np.unique(labels, return_inverse=True)
        new = np.array([label for label in used.tolist() if label not in self._sparse], np.int64)
        self._sparse.update(zip(new.tolist(), self._work_out(new), strict=True))
        return np.array([self._sparse[label] for label in used.tolist()], np.int32)[inverse]

    def _work_out(self, labels: NDArray[np.integer]) -> list[int]:
        new = self.tokens.new
        return [_UNKNOWN if word is None else new(word) for word in self._symbols.words(labels)]


@lru_cache(maxsize=4)
def _shared(symbols: Symbols, normalizer: Normalizer) -> SymbolTokens:
    return SymbolTokens(symbols, Tokens(normalizer))


@lru_cache(maxsize=4)
def _loaded(path: Path, changed: int, size: int) -> Symbols:  # noqa: ARG001  # they tell a changed file apart
    try:
        with path.open("rb") as raw:
            data = unpacked(raw, str(path), path).document(MAX_BYTES).removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise InputError(f"the symbol table cannot be read: {error.strerror}", file=str(path)) from None
    _check_encoding(data, path)
    table = np.empty((data.count(b"\n") + 1, 3), np.int64)
    count, bad_line = _scan(np.frombuffer(data + b"\n", np.uint8), table)
    if bad_line:
        line = data.split(b"\n")[bad_line - 1].strip().decode()
        raise InputError(
            f"no word and number: {line[:60]!r}", file=str(path), place=f"line {bad_line}", remedy=_EXAMPLE
        )
    table = table[:count][np.argsort(table[:count, 0], kind="stable")]
    symbols = Symbols(data, *np.ascontiguousarray(table.T))
    _check_unique(symbols, path)
    return symbols


def _check_encoding(data: bytes, path: Path) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"not UTF-8: {data[error.start : error.start + 8]!r}",
            file=str(path),
            place=f"line {line}",
            remedy="Convert the symbol table to UTF-8",
        ) from None


def _check_unique(symbols: Symbols, path: Path) -> None:
    twice = np.flatnonzero(np.diff(symbols.ids) == 0)
    if len(twice):
        raise InputError(
            f"two words have the number {symbols.ids[twice[0]]}",
            file=str(path),
            remedy="Numbers must be unique: make the table again",
        )


@compiled
def _scan(data: NDArray[np.uint8], table: Offsets) -> tuple[int, int]:
    """Fill `table` with (id, start, end) of each line's word; gives their number and the first bad line, or 0."""
    at, line, count = 0, 0, 0
    while at < len(data):
        line += 1
        fields, value, negative, digits, start, end = 0, 0, False, 0, 0, 0
        while data[at] != 10:
            if data[at] == 32 or data[at] == 9 or data[at] == 13:
                at += 1
                continue
            begin, value, digits = at, 0, 0
            negative = data[at] == 45
            at += negative
            while 48 <= data[at] <= 57 and digits < 11:
                value = value * 10 + int(data[at]) - 48
                digits += 1
                at += 1
            whole = digits > 0
            while not (data[at] == 32 or 9 <= data[at] <= 10 or data[at] == 13):
                whole = False
                at += 1
            fields += 1
            if fields == 1:
                start, end = begin, at
            elif not whole or value > 2**31 - 1:
                return count, line
        at += 1
        if fields == 2:
            table[count, 0] = -value if negative else value
            table[count, 1], table[count, 2] = start, end  # a whole row at once takes numba seconds to compile
            count += 1
        elif fields:
            return count, line
    return count, 0

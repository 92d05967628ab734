"""Word vectors of a GloVe or word2vec text file, or of another model, and the word table made with them.

A file is read once from front to back and reduced to the words in use.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from ..lattices.lattice import Floats
from ..lattices.text import DEFAULT
from .model_file import load_model
from .phones import read_lexicon
from .shipped import is_model
from .word_table import WordTable

if TYPE_CHECKING:
    from ..formats.inputs import Stream

MAX_DIMENSION = 10_000
_MAX_ROW = 1 << 20  # bytes
_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?\s*([0-9]{1,15})[ \t]+([0-9]{1,15})\s*")
_FASTTEXT = b"\xba\x16\x4f\x2f"
_EXAMPLE = "A file of vectors has a word and its numbers a line, such as `hello 0.12 -0.5 0.31`"
_CONVERT = (
    "Convert it to text, as in Python: from gensim.models import KeyedVectors; "
    "KeyedVectors.load_word2vec_format('vectors.bin', binary=True).save_word2vec_format('vectors.txt')"
)
MORE_WORDS = 60_000  # further ones from the top of an embedding file: they may be said one day


@dataclass(frozen=True, slots=True)
class Vectors:
    """The rows of a file of word vectors that are of use, in the order of the file."""

    words: tuple[str, ...]
    values: NDArray[np.float32]  # [words, dimension]


def read_vectors(path: Path, words: Collection[str], extra: int = 0) -> Vectors:
    """The vectors of `words` in a GloVe or word2vec text file, packed or not, and of `extra` words more.

    A word of the file counts as it is, or else in lower case; of several rows for a word the first one wins. The
    extra words are those nearest the top, where the frequent ones are: likely to be met later. What normalised text
    cannot hold (punctuation, several words in one) is passed over. A model that has vectors (its folder, or the name
    of a shipped one) gives those of all its words.
    """
    from ..formats.inputs import streams

    if is_model(path):
        return _of_model(path)
    vectors = None
    for stream in streams([path]):
        if vectors is not None:
            raise InputError("there are several files in it", file=str(path), remedy="Unpack it and name one of them")
        vectors = _read(stream, frozenset(words), extra)
    if vectors is None:
        raise InputError("there are no vectors in it", file=str(path), remedy=_EXAMPLE)
    return vectors


def _of_model(path: Path) -> Vectors:
    table = load_model(path).table
    if table.vectors is None:
        raise InputError("the model has no word vectors, but learned spellings", file=str(path))
    rows = np.flatnonzero(table.vectors.any(axis=1))  # words without a vector have zeros
    return Vectors(tuple(table.words[row] for row in rows.tolist()), table.vectors[rows])


def _read(stream: Stream, asked: frozenset[str], extra: int) -> Vectors:
    _refuse_binary(stream)
    dimension, promised, lines = _open(stream)
    kept: dict[str, NDArray[np.float32]] = {}
    count = n_found = 0
    for number, line in lines:
        count += 1
        text, numbers = _cells(stream, number, line, dimension)
        word = _use(text, asked, kept, extra > len(kept) - n_found)
        if word is not None:
            kept[word] = _numbers(stream, number, numbers)
            n_found += word in asked
    if count < promised:
        shortage = f"the first line promises {promised:,} rows, there are {count:,}"
        raise stream.error(shortage, remedy="The file is cut off: copy it again, or correct the first line")
    if asked and not n_found:
        raise stream.error(
            f"none of the {len(asked):,} words is among its {count:,} rows",
            remedy="Is it for another language, or are its words written in another way?",
        )
    values = np.stack(list(kept.values())) if kept else np.empty((0, dimension), np.float32)
    return Vectors(tuple(kept), values)


def _refuse_binary(stream: Stream) -> None:
    """Tell what is no text before its bytes are taken for words."""
    head = stream.head()
    header = _HEADER.match(head)
    if header and b"\n" in header[0]:
        first_row = head[header.end() :].split(b"\n", 1)[0]
        numbers = first_row.partition(b" ")[2]
        if re.search(rb"[^\t\r -~]", numbers):
            raise stream.error("this is a binary word2vec file, not text", remedy=_CONVERT)
    if head.startswith(_FASTTEXT):
        raise stream.error("this is a fastText model, not text", remedy="Use the .vec file that comes with it")
    if b"\0" in head:
        raise stream.error("this is not a text file", remedy=_EXAMPLE)


def _open(stream: Stream) -> tuple[int, int, Iterator[tuple[int, bytes]]]:
    """How many numbers a row has, how many rows are promised (0: nothing is said), and the numbered rows."""
    lines = ((number, line) for number, line in stream.lines() if not line.isspace() and line)
    number, first = next(lines, (0, b""))
    if not first:
        raise stream.error("there are no vectors in it", remedy=_EXAMPLE)
    _check_length(stream, number, first)
    first = first.removeprefix(b"\xef\xbb\xbf")
    header = _HEADER.fullmatch(first)
    dimension = int(header[2]) if header else _count_numbers(first.split())
    if not 0 < dimension <= MAX_DIMENSION:
        problem = f"a row has 1 to {MAX_DIMENSION:,} numbers, not {dimension:,}: {_shown(first)}"
        raise stream.error(problem, place=f"line {number}", remedy=_EXAMPLE)
    if header:
        return dimension, int(header[1]), lines
    return dimension, 0, chain([(number, first)], lines)


def _count_numbers(cells: list[bytes]) -> int:
    """How many cells at the end are numbers; the first is part of the word, whatever it looks like."""
    count = 0
    while count < len(cells) - 1 and _is_number(cells[-1 - count]):
        count += 1
    return count


def _is_number(cell: bytes) -> bool:
    return _parse([cell]) is not None


def _parse(cells: list[bytes]) -> NDArray[np.float32] | None:
    """Numbers in text, None where one is none; arrow takes half the time of Python's float."""
    import pyarrow as pa

    try:
        values: NDArray[np.float32] = pa.array(cells, pa.string()).cast(pa.float32()).to_numpy()
    except pa.ArrowInvalid:
        return None
    return values


def _cells(stream: Stream, number: int, line: bytes, dimension: int) -> tuple[bytes, list[bytes]]:
    """The word, which may have spaces inside (`. . .`), and the numbers of a row, still as text."""
    _check_length(stream, number, line)
    text, *numbers = line.rsplit(None, dimension)
    too_many = b" " in text and _is_number(text.split()[-1])
    if len(numbers) < dimension or too_many:
        cells = line.split()
        problem = f"{_count_numbers(cells)} numbers where {dimension} are expected: {_shown(line)}"
        raise stream.error(problem, place=f"line {number}", remedy=_EXAMPLE)
    return text, numbers


def _check_length(stream: Stream, number: int, line: bytes) -> None:
    if len(line) > _MAX_ROW:
        problem = f"the line has {len(line):,} bytes: {_shown(line)}"
        raise stream.error(problem, place=f"line {number}", remedy=_EXAMPLE)


def _shown(line: bytes) -> str:
    text = line[:60].decode("utf-8", "replace").strip()
    return repr(text + "..." if len(line) > 60 else text)


def _use(text: bytes, asked: frozenset[str], kept: Collection[str], room: bool) -> str | None:
    """The word under which a row is kept, None for one that is of no use."""
    try:
        word = text.decode()
    except UnicodeDecodeError:  # some files have words cut inside a character
        return None
    word = word if word in asked else word.lower()
    if word in kept or not (word in asked or room):
        return None
    return word if word in asked or DEFAULT.words(word) == [word] else None


def _numbers(stream: Stream, number: int, cells: list[bytes]) -> NDArray[np.float32]:
    values = _parse(cells)
    if values is None:
        bad = next(cell for cell in cells if not _is_number(cell))
        raise stream.error(f"not a number: {_shown(bad)}", place=f"line {number}", remedy=_EXAMPLE)
    finite = np.isfinite(values)
    if not finite.all():
        bad = cells[int(np.argmin(finite))]
        problem = f"not a finite number: {_shown(bad)}"
        raise stream.error(problem, place=f"line {number}", remedy="Remove the row or make the file again")
    return values


def make_rank_table(also: Collection[str], vectors: Path) -> WordTable:
    """A table that knows how rare words are by their place in a file of word vectors, whatever was heard in training.

    Such files begin with the most frequent words; the n-th counts as heard `MORE_WORDS` / n times (Zipf's law), one
    that is not there never.
    """
    read = read_vectors(vectors, also, extra=MORE_WORDS)
    others = sorted(set(also) - set(read.words) - {""})
    counts = MORE_WORDS / np.arange(1, len(read.words) + 1)
    return WordTable(words=(*read.words, *others), mass=np.r_[counts, np.zeros(len(others))].astype(np.float32))


def make_table(
    mass: dict[str, float], also: Collection[str], *, vectors: Path | None = None, lexicon: Path | None = None
) -> WordTable:
    """The table of the words heard in training and of `also` (those of the development set)."""
    used = set(mass) | (set(also) - {""})
    in_use = sorted(used)
    if vectors is None:
        words, rows = in_use, None
    else:
        read = read_vectors(vectors, used, extra=MORE_WORDS)
        row_in_file = {word: row for row, word in enumerate(read.words)}
        words = in_use + [word for word in read.words if word not in used]
        rows = np.zeros((len(words), read.values.shape[1]), np.float32)
        known = [row for row, word in enumerate(words) if word in row_in_file]
        rows[known] = _as_kept(read.values[[row_in_file[words[row]] for row in known]])
    counts = None if lexicon is None else read_lexicon(lexicon, set(words))
    return WordTable(
        words=tuple(words),
        phones=None if counts is None else np.array([counts.get(word, 0) for word in words], np.int32),
        mass=np.array([mass.get(word, 0.0) for word in words], np.float32),
        vectors=rows,
    )


def lexicon_coverage(table: WordTable) -> str | None:
    """How many words that were heard have their phones from the lexicon, in words; None where none was given."""
    if table.phones is None or table.mass is None:
        return None
    heard, listed = table.mass > 0, table.phones > 0
    share = float(table.mass[listed].sum() / max(float(table.mass.sum()), 1e-9))
    return (
        f"phones of {int((heard & listed).sum()):,} of {int(heard.sum()):,} words that were heard ({share:.1%} of "
        "what was said) are from the lexicon, those of others are estimated from their spelling"
    )


def _as_kept(vectors: Floats) -> Floats:
    """Vectors rounded to what a model keeps of them, so that training sees what scoring will see."""
    half = np.finfo(np.float16)
    return np.clip(vectors, half.min, half.max).astype(np.float16).astype(np.float32)

"""A row group of a store as arrays: arrow buffers are used as they are, and nothing in them is trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...base.arrays import csr_offsets
from ...base.errors import InputError
from ...base.jit import compiled
from ...lattices.evidence import OPTIONAL_NAMES
from ...lattices.lattice import ARC_SCORES, Flags, Ints, Lattices, Offsets, Origin, ReadingFacts, Times
from ...lattices.vocabulary import Vocabulary
from ...lattices.weights import LARGEST_SCALE, Scales
from . import layout

NO_TEXT = pa.array([], pa.string())
DAMAGED = "The store is damaged: copy or make it again"
FOREIGN = "Make stores with `wordtrust convert` or `wordtrust.write`"


def row_columns(schema: Any) -> list[str]:
    """The columns of utterances, with their types checked; those of others are left alone."""
    notes = [name for name in schema.names if name.startswith(layout.NOTE)]
    return _checked(schema, {**layout.ROWS, **dict.fromkeys(notes, pa.string())})


def arc_columns(schema: Any) -> list[str]:
    """The same for arcs. The name of the utterance is not read: it is there for people."""
    extra = [name for name in schema.names if name.startswith(layout.EXTRA)]
    for name in extra:
        if name.removeprefix(layout.EXTRA) in ("", *layout.RESERVED_NAMES):
            raise InputError(f"the column {name!r} has a name that means something else", remedy="Rename it")
    own = {name: kind for name, kind in layout.ARCS.items() if name != "utt"}
    return _checked(schema, {**own, **dict.fromkeys(extra, pa.float32())})


def _checked(schema: Any, kinds: Mapping[str, Any]) -> list[str]:
    for name, kind in kinds.items():
        if schema.names.count(name) != 1:
            raise InputError(f"there are {schema.names.count(name)} columns {name!r}, not 1", remedy=FOREIGN)
        column_type = schema.field(name).type
        if column_type != kind:
            raise InputError(f"the column {name!r} is {column_type}, not {kind}", remedy=FOREIGN)
    return list(kinds)


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group. Rows in a run without changes share scores, scales and origin: they can be one batch."""

    utts: tuple[str, ...]
    facts: ReadingFacts
    scales: NDArray[np.float64]  # [rows, scales] as in layout.SCALES
    origin: Ints  # [rows, 3] as in layout.ORIGIN: numbers of `texts`
    texts: tuple[list[str], ...]
    frame_length: NDArray[np.float64]  # NaN where there is none
    notes: Mapping[str, list[str | None]]
    node_offsets: Offsets
    arc_offsets: Offsets
    time: Times
    arcs: Mapping[str, Ints]  # source, target, word, surface
    optional: Mapping[str, tuple[NDArray[Any], Flags]]  # scores, picked and evidence, and which rows have them
    vocabulary: Vocabulary

    def changes(self) -> Flags:
        """[rows - 1] where a row differs from the one before it in what a batch has one of."""
        parts: list[NDArray[Any]] = [self.scales, self.origin, np.nan_to_num(self.frame_length)[:, None]]
        parts += [rows[:, None] for _, rows in self.optional.values()]
        parts += [np.array([text is None for text in texts])[:, None] for texts in self.notes.values()]
        changed = np.zeros(max(0, len(self.utts) - 1), np.bool_)
        for part in parts:
            changed |= np.any(part[1:] != part[:-1], axis=1)
        return changed

    def lattices(self, start: int, stop: int) -> Lattices:
        """The rows from `start` to `stop` as a batch, as they are: the graph is not checked here."""
        nodes, arcs = self.node_offsets[start : stop + 1], self.arc_offsets[start : stop + 1]
        own = slice(arcs[0], arcs[-1])
        there = {name: values[own] for name, (values, rows) in self.optional.items() if rows[start]}
        extra = {
            name.removeprefix(layout.EXTRA): there.pop(name) for name in list(there) if name.startswith(layout.EXTRA)
        }
        arrays: dict[str, Any] = {**{name: values[own] for name, values in self.arcs.items()}, **there}
        frame_length = float(self.frame_length[start])
        file, kind, times = (strings[index] for strings, index in zip(self.texts, self.origin[start], strict=True))
        return Lattices(
            utts=self.utts[start:stop],
            node_offsets=nodes - nodes[0],
            arc_offsets=arcs - arcs[0],
            time=self.time[nodes[0] : nodes[-1]],
            vocabulary=self.vocabulary,
            extra=extra,
            notes={
                name: tuple(map(str, texts[start:stop]))
                for name, texts in self.notes.items()
                if texts[start] is not None
            },
            scales=Scales(*self.scales[start].tolist()),
            origin=Origin(file, kind, times or "given", None if np.isnan(frame_length) else frame_length),
            facts=self.facts[start:stop],
            **arrays,
        )


class Decoder:
    """Decodes the row groups of a store."""

    def __init__(self) -> None:
        self._words = VocabularyReader()

    def decode(self, row_table: Any, arc_table: Any) -> RowGroup:
        """Two arrow tables as arrays; what does not fit together is an error."""
        rows, arcs = _TableColumns(row_table), _TableColumns(arc_table)
        arc_offsets, (node_offsets, time) = _arc_offsets(rows, arcs), _times(rows)
        words = {"word": arcs.filled("word"), "surface": arcs.column("surface"), "silence": rows.filled("silence")}
        vocabulary, (word, shown, silence) = self._words.read(words)
        surface = default_surfaces(arc_offsets, word, silence)
        surface[np.flatnonzero(present(words["surface"]))] = shown
        origin = [_texts(rows, name) for name in layout.ORIGIN]
        ends = {name: arcs.numbers(name) for name in ("source", "target")}
        optional = [name for name in arcs.names if name in (*ARC_SCORES, "picked") or name.startswith(layout.EXTRA)]
        return RowGroup(
            utts=tuple(rows.filled("utt").to_pylist()),
            facts=ReadingFacts(*(rows.numbers(name) for name in ("place", *layout.COUNTS))),
            scales=_scales(rows),
            origin=np.stack([text_ids for _, text_ids in origin], axis=1),
            texts=tuple(strings for strings, _ in origin),
            frame_length=_frame_length(rows),
            notes={
                name.removeprefix(layout.NOTE): rows.column(name).to_pylist()
                for name in rows.names
                if name.startswith(layout.NOTE)
            },
            node_offsets=node_offsets,
            arc_offsets=arc_offsets,
            time=time,
            arcs={**ends, "word": word, "surface": surface},
            optional={
                name: _score(arcs.column(name), name, arc_offsets)
                for name in optional
                if arcs.column(name).null_count < len(arcs)
            },
            vocabulary=vocabulary,
        )


class _TableColumns:
    """The columns of an arrow table, each one array."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.names: list[str] = table.column_names

    def __len__(self) -> int:
        return len(self._table)

    def column(self, name: str) -> Any:
        """A column, with nulls or not."""
        column = self._table.column(name)
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

    def filled(self, name: str) -> Any:
        """A column in which nulls are an error."""
        array = self.column(name)
        if array.null_count:
            raise InputError(f"the column {name!r} has nulls", remedy=DAMAGED)
        return array

    def numbers(self, name: str) -> NDArray[Any]:
        """A column of numbers without nulls."""
        return _values(self.filled(name))


def _values(array: Any) -> NDArray[Any]:
    """The numbers or truth values of an array, whatever stands where it is null."""
    if pa.types.is_boolean(array.type):
        bits = np.frombuffer(array.buffers()[1], np.uint8)
        return np.unpackbits(bits, count=array.offset + len(array), bitorder="little")[array.offset :].view(np.bool_)
    values = np.frombuffer(array.buffers()[1] or b"", array.type.to_pandas_dtype())
    return values[array.offset : array.offset + len(array)]


def _arc_offsets(rows: _TableColumns, arcs: _TableColumns) -> Offsets:
    counts = rows.numbers("arcs")
    offsets = csr_offsets(counts)
    if len(counts) and (counts.min() < 0 or offsets[-1] != len(arcs)):
        raise InputError(f"there are {len(arcs)} arcs, but {offsets[-1]} are announced", remedy=DAMAGED)
    return offsets


def _times(rows: _TableColumns) -> tuple[Offsets, Times]:
    array = rows.filled("time")
    offsets = array.offsets.to_numpy().astype(np.int64)
    values = array.values[offsets[0] : offsets[-1]]
    if values.null_count:
        raise InputError("the column 'time' has nulls", remedy=DAMAGED)
    return offsets - offsets[0], _values(values)


def _score(array: Any, name: str, arc_offsets: Offsets) -> tuple[NDArray[Any], Flags]:
    """A score, 0 where it is null, and which utterances have it: on all their arcs, or on none.

    Optional evidence is NaN where it is null, and all utterances have it in that form.
    """
    if array.null_count == 0:
        return _values(array), np.ones(len(arc_offsets) - 1, np.bool_)
    there = present(array)
    rows = there[np.minimum(arc_offsets[:-1], len(there) - 1)]
    if not np.array_equal(np.repeat(rows, np.diff(arc_offsets)), there):
        raise InputError(f"the column {name!r} is null on some arcs of an utterance", remedy=DAMAGED)
    if name.removeprefix(layout.EXTRA) in OPTIONAL_NAMES:
        return np.where(there, _values(array), np.float32(np.nan)), np.ones_like(rows)
    return np.where(there, _values(array), 0).astype(array.type.to_pandas_dtype()), rows


def _texts(rows: _TableColumns, name: str) -> tuple[list[str], Ints]:
    """The different strings of a column, and which of them each row has."""
    array = rows.filled(name)
    check_strings(array.dictionary, name)
    return ["", *array.dictionary.to_pylist()], dictionary_ids(array, name, 1)


def _scales(rows: _TableColumns) -> NDArray[np.float64]:
    scales = np.stack([rows.numbers(name) for name in layout.SCALES], axis=1)
    if not (np.abs(scales) <= LARGEST_SCALE).all():
        raise InputError(f"a scale is no number below {LARGEST_SCALE:g}", remedy=DAMAGED)
    return scales


def _frame_length(rows: _TableColumns) -> NDArray[np.float64]:
    array = rows.column("frame_length")
    seconds = np.where(present(array), _values(array), np.nan)
    if not (np.isnan(seconds) | ((seconds > 0) & (seconds < 10))).all():
        raise InputError("a frame length is not between 0 and 10 seconds", remedy=DAMAGED)
    return seconds


class VocabularyReader:
    """Turns arrow strings into numbers. Parts of a row group have the same dictionaries, so the same vocabulary."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._dictionaries: list[Any] = []

    def read(self, texts: Mapping[str, Any]) -> tuple[Vocabulary, list[Ints]]:
        """A vocabulary for all strings of these columns, and their numbers in it."""
        dictionaries = [array.dictionary for array in texts.values()]
        pairs = zip(dictionaries, self._dictionaries or [NO_TEXT] * len(dictionaries), strict=True)
        if not all(dictionary.equals(previous) for dictionary, previous in pairs):
            for name, array in texts.items():
                check_strings(array.dictionary, name)
            size = 1 + sum(map(len, dictionaries))
            self._vocabulary = Vocabulary.later(size, partial(_strings, dictionaries))
            self._dictionaries = dictionaries
        word_ids, first = [], 1
        for name, array in texts.items():
            word_ids.append(dictionary_ids(array, name, first))
            first += len(array.dictionary)
        return self._vocabulary, word_ids


def _strings(dictionaries: Sequence[Any]) -> list[str]:
    return ["", *(string for dictionary in dictionaries for string in dictionary.to_pylist())]


def check_strings(dictionary: Any, name: str) -> None:
    """Raise if a string is null, or no UTF-8 (as arrow's own error)."""
    if dictionary.null_count:
        raise InputError(f"the column {name!r} has nulls")
    dictionary.validate(full=True)


def dictionary_ids(array: Any, name: str, first: int) -> Ints:
    """Places in the dictionary, counted from `first`, and 0 for the empty string. Nulls are left out."""
    dictionary = array.dictionary
    empty = 0 if len(dictionary) and dictionary[0].as_py() == "" else dictionary.index("").as_py()
    indices = np.frombuffer(array.indices.buffers()[1] or b"", np.int32)[array.offset : array.offset + len(array)]
    indices = indices if array.null_count == 0 else indices[present(array)]
    ids = np.empty(len(indices), np.int32)
    if not _shift(indices, len(dictionary), np.int32(first), np.int32(empty), ids):
        raise InputError(f"the column {name!r} refers to strings that are not there")
    return ids


def present(array: Any) -> Flags:
    """False where an array has nulls; from the bits themselves, as arrow's own functions take long to load."""
    if array.null_count == 0:
        return np.ones(len(array), np.bool_)
    bits = np.frombuffer(array.buffers()[0], np.uint8)
    flags = np.unpackbits(bits, count=array.offset + len(array), bitorder="little")
    return flags[array.offset :].view(np.bool_)


@compiled
def _shift(indices: Ints, size: int, first: np.int32, empty: np.int32, ids: Ints) -> bool:
    fits, last = True, np.int32(size - 1)
    for row in range(len(indices)):  # without a branch, so that it runs in vector registers
        index = indices[row]
        fits &= (index >= 0) & (index <= last)
        ids[row] = index + first if index != empty else 0
    return fits


@compiled
def default_surfaces(arc_offsets: Offsets, word: Ints, silence: Ints) -> Ints:
    """Surfaces that are the words themselves, and each lattice's own mark where there is none."""
    surface = np.empty(len(word), np.int32)
    for u in range(len(silence)):
        own, filled = word[arc_offsets[u] : arc_offsets[u + 1]], surface[arc_offsets[u] : arc_offsets[u + 1]]
        mark = silence[u]
        for arc in range(len(own)):
            filled[arc] = own[arc] + mark * (own[arc] == 0)  # without a branch, as above
    return surface

"""Lattices as the two arrow tables of a store: `store_layout` says what is in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...base.arrays import csr_offsets
from ...base.jit import compiled
from ...lattices.lattice import ARC_SCORES, Flags, Ints, Lattices, Offsets, Vocabulary
from . import layout


def row_table(parts: list[Lattices], notes: Iterable[str]) -> pa.Table:
    """What an utterance has one of, and the times of its nodes."""
    nodes = np.concatenate([np.diff(part.node_offsets) for part in parts])
    offsets = csr_offsets(nodes).astype(np.int32)
    times = pa.array(np.concatenate([part.time for part in parts]))
    columns: dict[str, Any] = {
        "utt": pa.array([_clean(utt) for part in parts for utt in part.utts], pa.string()),
        "arcs": pa.array(np.concatenate([np.diff(part.arc_offsets) for part in parts]), pa.int32()),
        "time": pa.ListArray.from_arrays(pa.array(offsets), times, layout.ROWS["time"]),
        "silence": pa.array([mark for part in parts for mark in _silence(part)], layout.TEXT),
        "frame_length": _repeated(parts, [part.origin.frame_length for part in parts], pa.float64()),
    }
    for name in layout.ORIGIN:
        columns[name] = _repeated(parts, [_clean(getattr(part.origin, name)) for part in parts], layout.TEXT)
    for name in ("place", *layout.COUNTS):
        columns[name] = pa.array(np.concatenate([getattr(part.facts, name) for part in parts]))
    for name in layout.SCALES:
        own = name.removeprefix(layout.SCALE)
        columns[name] = _repeated(parts, [getattr(part.scales, own) for part in parts], pa.float64())
    for name in notes:
        said = [text for part in parts for text in part.notes.get(name, (None,) * len(part))]
        columns[layout.NOTE + name] = pa.array([text if text is None else _clean(text) for text in said], pa.string())
    schema = layout.row_schema(notes)
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _repeated(parts: list[Lattices], values: Iterable[Any], kind: pa.DataType) -> Any:
    """What a batch has one of, for each of its utterances."""
    return pa.array([value for value, part in zip(values, parts, strict=True) for _ in range(len(part))], kind)


def _silence(part: Lattices) -> list[str]:
    marks = np.zeros(len(part), np.int32)
    _find_silence(part.arc_offsets, part.word, part.surface, marks)
    return [_clean(part.vocabulary[mark]) for mark in marks.tolist()]


def arc_table(parts: list[Lattices], extra: Iterable[str]) -> pa.Table:
    """What there is one of for each arc."""
    words, surfaces = _Dictionary(), _Dictionary()
    alike = [_are_alike(part) for part in parts]
    for part, same in zip(parts, alike, strict=True):
        words.add(part.word, part.vocabulary)
        surfaces.add(np.where(same, 0, part.surface), part.vocabulary)
    columns = {
        "utt": _utts(parts),
        "source": pa.array(np.concatenate([part.source for part in parts])),
        "target": pa.array(np.concatenate([part.target for part in parts])),
        "word": words.array(),
        "surface": surfaces.array(np.concatenate(alike)),
    }
    for name in (*ARC_SCORES, "picked"):
        columns[name] = _optional([getattr(part, name) for part in parts], parts, layout.ARCS[name])
    for name in extra:
        columns[layout.EXTRA + name] = _optional([part.extra.get(name) for part in parts], parts, pa.float32())
    schema = layout.arc_schema(extra)
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _utts(parts: list[Lattices]) -> Any:
    """Which utterance each arc is of; only for people and their tools."""
    names = list(dict.fromkeys(_clean(utt) for part in parts for utt in part.utts))
    place = {name: number for number, name in enumerate(names)}
    rows = np.array([place[_clean(utt)] for part in parts for utt in part.utts], np.int32)
    arcs = np.concatenate([np.diff(part.arc_offsets) for part in parts])
    return pa.DictionaryArray.from_arrays(pa.array(np.repeat(rows, arcs)), pa.array(names, pa.string()))


def _optional(arrays: list[NDArray[Any] | None], parts: list[Lattices], kind: pa.DataType) -> Any:
    """A column that is null on the arcs of parts that have no such array."""
    filled = [np.zeros(len(part.source)) if each is None else each for each, part in zip(arrays, parts, strict=True)]
    missing = np.repeat([each is None for each in arrays], [len(part.source) for part in parts])
    values = np.concatenate(filled).astype(kind.to_pandas_dtype())
    return pa.array(values, kind, mask=missing if missing.any() else None)


def _are_alike(part: Lattices) -> Flags:
    """Which surfaces are told by the words and by what the lattice writes where there is none."""
    marks = np.zeros(len(part), np.int32)
    _find_silence(part.arc_offsets, part.word, part.surface, marks)
    alike: Flags = part.surface == np.where(part.word == 0, np.repeat(marks, np.diff(part.arc_offsets)), part.word)
    return alike


@compiled
def _find_silence(arc_offsets: Offsets, word: Ints, surface: Ints, silence: Ints) -> None:
    """What each lattice writes on its first arc without a word."""
    for u in range(len(silence)):
        for arc in range(arc_offsets[u], arc_offsets[u + 1]):
            if word[arc] == 0:
                silence[u] = surface[arc]
                break


class _Dictionary:
    """The strings of a column in a row group, and the column as numbers of them; the empty string is number 0."""

    def __init__(self) -> None:
        self._place: dict[str, int] = {"": 0}
        self._numbers: list[Ints] = []

    def add(self, numbers: Ints, vocabulary: Vocabulary) -> None:
        """Add arcs, given as numbers of a vocabulary."""
        used = np.zeros(len(vocabulary), np.bool_)
        used[numbers] = True
        table = np.zeros(len(vocabulary), np.int32)
        for number in np.flatnonzero(used).tolist():
            table[number] = self._place.setdefault(_clean(vocabulary[number]), len(self._place))
        self._numbers.append(table[numbers])

    def array(self, null: Flags | None = None) -> Any:
        """The column."""
        numbers = pa.array(np.concatenate(self._numbers), mask=null)
        return pa.DictionaryArray.from_arrays(numbers, pa.array(list(self._place), pa.string()))


def _clean(text: str) -> str:
    """What UTF-8 cannot hold (half characters) becomes `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")

"""Rows of a store as arrays: arrow buffers are used as they are, and nothing in them is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import InputError
from ..lattice import LARGEST_SCALE, Facts, Flags, Ints, Lattices, Offsets, Origin, Scales, Times, Vocabulary
from . import store_layout as layout
from .store_words import NO_TEXT, VocabularyReader, check_strings, default_surfaces, encoded, numbers, present

DAMAGED = "The store is damaged: copy or make it again"
FOREIGN = "Make stores with `wordtrust convert` or `wordtrust.write`"


def known_columns(schema: Any) -> list[str]:
    """The columns of a shard that are ours, with their types checked; others are left alone."""
    names = [name for name in schema.names if _value_type(name) is not None]
    for name in (*layout.REQUIRED, *names):
        if names.count(name) != 1:
            raise InputError(f"there are {names.count(name)} columns {name!r}, not 1", remedy=FOREIGN)
        _check_type(schema.field(name).type, name)
        if name.startswith(layout.EXTRA) and name.removeprefix(layout.EXTRA) in ("", *layout.RESERVED_NAMES):
            raise InputError(f"the column {name!r} has a name that means something else", remedy="Rename it")
    return names


def _value_type(name: str) -> Any:
    kinds = {**layout.ROW_TYPES, **layout.LIST_TYPES}
    if name.startswith(layout.NOTE):
        return pa.string()
    return pa.float32() if name.startswith(layout.EXTRA) else kinds.get(name)


def _one_a_row(name: str) -> bool:
    return name in layout.ROW_TYPES or name.startswith(layout.NOTE)


def _check_type(found: Any, name: str) -> None:
    """Text may be dictionary-encoded or not; otherwise the type has to be the one that we write."""
    listed = not _one_a_row(name)
    wanted = pa.string() if _value_type(name) == layout.TEXT else _value_type(name)
    own = found
    if listed:
        own = found.value_type if pa.types.is_list(found) else None
    if own is not None and pa.types.is_dictionary(own):
        own = own.value_type
    if own != wanted:
        raise InputError(f"the column {name!r} is {found}, not {'list of ' * listed}{wanted}", remedy=FOREIGN)


@dataclass(frozen=True, slots=True)
class _Lists:
    """A list column: the rows' values end to end."""

    values: Any  # an arrow array
    offsets: Offsets  # [rows + 1]
    present: Flags  # [rows] false where the list is null


def arc_counts(rows: Any) -> Offsets:
    """How many arcs each row has."""
    return np.diff(_lists(rows, "source").offsets)


def _lists(rows: Any, name: str) -> _Lists:
    array = rows.column(name)
    offsets = array.offsets.to_numpy().astype(np.int64)
    values = array.values[offsets[0] : offsets[-1]]
    if (values.null_count and name != "surface") or (array.null_count and name in layout.REQUIRED):
        raise InputError(f"the column {name!r} has nulls", remedy=DAMAGED)
    return _Lists(values, offsets - offsets[0], present(array))


@dataclass(frozen=True, slots=True)
class Group:
    """Some rows. Those in a run without changes share scores, scales and origin: they can be one batch."""

    utts: tuple[str, ...]
    facts: Facts
    scales: NDArray[np.float64]  # [rows, scales] as in layout.SCALES
    origin: Ints  # [rows, 3] as in layout.ORIGIN: numbers of `texts`
    texts: tuple[list[str], ...]
    frame_length: NDArray[np.float64]  # NaN where there is none
    node_offsets: Offsets
    arc_offsets: Offsets
    time: Times
    arcs: Mapping[str, Ints]  # source, target, word, surface
    optional: Mapping[str, tuple[NDArray[Any], _Lists]]  # scores, picked and evidence
    notes: Mapping[str, list[str | None]]
    vocabulary: Vocabulary

    def changes(self) -> Flags:
        """[rows - 1] where a row differs from the one before it in what a batch has one of."""
        parts: list[NDArray[Any]] = [self.scales, self.origin, np.nan_to_num(self.frame_length)[:, None]]
        parts += [lists.present[:, None] for _, lists in self.optional.values()]
        parts += [np.array([text is None for text in texts])[:, None] for texts in self.notes.values()]
        found = np.zeros(max(0, len(self.utts) - 1), np.bool_)
        for part in parts:
            found |= np.any(part[1:] != part[:-1], axis=1)
        return found

    def lattices(self, start: int, stop: int) -> Lattices:
        """The rows from `start` to `stop` as a batch, as they are: the graph is not checked here."""
        nodes, arcs = self.node_offsets[start : stop + 1], self.arc_offsets[start : stop + 1]
        own = slice(arcs[0], arcs[-1])
        found: dict[str, Any] = {name: values[own] for name, values in self.arcs.items()}
        extra: dict[str, Any] = {}
        for name, (values, lists) in self.optional.items():
            if lists.present[start]:
                part = values[lists.offsets[start] : lists.offsets[stop]]
                place = extra if name.startswith(layout.EXTRA) else found
                place[name.removeprefix(layout.EXTRA)] = part
        frame_length = float(self.frame_length[start])
        file, kind, times = (strings[number] for strings, number in zip(self.texts, self.origin[start], strict=True))
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
            **found,
        )


class Decoder:
    """Decodes the rows of a store."""

    def __init__(self) -> None:
        self._texts = VocabularyReader()

    def decode(self, rows: Any) -> Group:
        """An arrow record batch as arrays; columns that do not fit together are an error."""
        names = [name for name in rows.schema.names if not _one_a_row(name)]
        notes = [name for name in rows.schema.names if name.startswith(layout.NOTE)]
        lists = {name: _lists(rows, name) for name in names}
        time, arcs = lists.pop("time"), lists["source"].offsets
        for name, each in lists.items():
            if not np.array_equal(np.diff(each.offsets), np.diff(arcs) * each.present):
                raise InputError(f"the lists of {name!r} and of 'source' differ in length", remedy=DAMAGED)
        word, surface, vocabulary = self._words(rows, lists)
        origin = [_texts(rows, name) for name in layout.ORIGIN]
        return Group(
            utts=tuple(_not_null(rows, "utt").to_pylist()),
            facts=Facts(*(_numbers(rows, name, 0) for name in ("place", *layout.COUNTS))),
            scales=_scales(rows),
            origin=np.stack([places for _, places in origin], axis=1),
            texts=tuple(strings for strings, _ in origin),
            frame_length=_frame_length(rows),
            node_offsets=time.offsets,
            arc_offsets=arcs,
            time=time.values.to_numpy(),
            arcs={"word": word, "surface": surface, **{n: lists[n].values.to_numpy() for n in ("source", "target")}},
            optional={
                name: (each.values.to_numpy(zero_copy_only=name != "picked"), each)
                for name, each in lists.items()
                if name not in (*layout.REQUIRED, "surface") and each.present.any()
            },
            notes={name.removeprefix(layout.NOTE): rows.column(name).to_pylist() for name in notes},
            vocabulary=vocabulary,
        )

    def _words(self, rows: Any, lists: Mapping[str, _Lists]) -> tuple[Ints, Ints, Vocabulary]:
        """Words and surfaces of all arcs as numbers, and the vocabulary that they are numbers of."""
        spoken, none = lists["word"], np.zeros(len(rows), np.int32)
        unlike = lists.get("surface", _Lists(NO_TEXT, np.append(none, 0), none != 0))
        marked = "silence" in rows.schema.names
        vocabulary, (word, shown, silence) = self._texts.read(
            {
                "word": spoken.values,
                "surface": unlike.values,
                "silence": _not_null(rows, "silence") if marked else NO_TEXT,
            }
        )
        surface = default_surfaces(spoken.offsets, word, silence if marked else none)
        arcs = np.arange(unlike.offsets[-1])
        arcs += np.repeat(spoken.offsets[:-1] - unlike.offsets[:-1], np.diff(unlike.offsets))
        surface[arcs[present(unlike.values)]] = shown
        return word, surface, vocabulary


def _not_null(rows: Any, name: str) -> Any:
    array = rows.column(name)
    if array.null_count:
        raise InputError(f"the column {name!r} has nulls", remedy=DAMAGED)
    return array


def _numbers(rows: Any, name: str, default: float) -> NDArray[Any]:
    kind = layout.ROW_TYPES[name].to_pandas_dtype()
    if name not in rows.schema.names:
        return np.full(len(rows), default, kind)
    return np.array(_not_null(rows, name), kind)


def _texts(rows: Any, name: str) -> tuple[list[str], Ints]:
    """The different strings of a column, and which of them each row has; a missing column has empty ones."""
    if name not in rows.schema.names:
        return [""], np.zeros(len(rows), np.int32)
    array = encoded(_not_null(rows, name))
    check_strings(array.dictionary, name)
    return ["", *array.dictionary.to_pylist()], numbers(array, name, 1)


def _scales(rows: Any) -> NDArray[np.float64]:
    defaults = {name: getattr(Scales(), name.removeprefix(layout.SCALE)) for name in layout.SCALES}
    found = np.stack([_numbers(rows, name, default) for name, default in defaults.items()], axis=1)
    if not (np.abs(found) <= LARGEST_SCALE).all():
        raise InputError(f"a scale is no number below {LARGEST_SCALE:g}", remedy=DAMAGED)
    return found


def _frame_length(rows: Any) -> NDArray[np.float64]:
    if "frame_length" not in rows.schema.names:
        return np.full(len(rows), np.nan)
    array = rows.column("frame_length")
    found = np.array(array.to_numpy(zero_copy_only=False), np.float64)
    given = found[present(array)]
    if not ((given > 0) & (given < 10)).all():
        raise InputError("a frame length is not between 0 and 10 seconds", remedy=DAMAGED)
    return found

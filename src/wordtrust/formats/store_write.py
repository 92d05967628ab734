"""Writing a store: row group by row group, shard by shard, under another name until all of it is there."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from .. import __version__
from ..errors import OptionError
from ..jit import compiled
from ..lattice import ARC_SCORES, Flags, Ints, Lattices, Offsets, Vocabulary
from . import store_layout as layout
from .inputs import STORE_FILE
from .outputs import atomic_text

# A row group is written at once: large enough that its dictionary of words costs little, small enough for memory.
GROUP_ARCS = 1 << 19
SHARD_BYTES = 1 << 26  # of arrays, before they are packed
# Level -1 of zstd: against level 1, a quarter less time to unpack for a tenth more bytes.
_ZSTD_LEVEL = -1
_WORDS = ("word.list.element", "surface.list.element")
_SMALL_STEPS = {"source.list.element": "DELTA_BINARY_PACKED", "target.list.element": "DELTA_BINARY_PACKED"}
_DICTIONARY_BYTES = 1 << 28  # words never fall back to plain strings
_FINISHED = "finished.json"  # what store.json will be, as far as there are finished shards


class StoreWriter:
    """Writes batches of lattices to a store.

        with StoreWriter(path) as store:
            store.add(batch)

    The store appears at `path` when the block ends, and replaces a store that was there. If the block raises, nothing
    of it is left and what was at `path` is untouched.

    With a `resume` key, shards that were finished before an interrupt (or a kill) are kept and taken up by the next
    writer with the same key: `resumed` says how many utterances are in them already.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        recognizer: str | None = None,
        group_arcs: int = GROUP_ARCS,
        shard_bytes: int = SHARD_BYTES,
        resume: str | None = None,
    ) -> None:
        self._name = str(path)
        self._path = Path(path).resolve()
        self._resume = resume
        self._draft = self._path.with_name(f".{self._path.name}.{resume or secrets.token_hex(4)}.part")
        self._group_arcs, self._shard_bytes = group_arcs, shard_bytes
        self._info = layout.StoreInfo(recognizer)
        self._parts: list[Lattices] = []
        self._arcs = 0
        self._shard: _ShardWriter | None = None

    def __enter__(self) -> Self:
        self._refuse_to_overwrite()
        try:
            self._draft.mkdir(exist_ok=self._resume is not None)
        except OSError as error:
            raise self._failed(error) from None
        if (self._draft / _FINISHED).is_file():
            self._info = layout.read_info(self._draft / _FINISHED)
        return self

    @property
    def resumed(self) -> int:
        """How many utterances are in finished shards."""
        return sum(shard.utterances for shard in self._info.shards)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
        except OSError as problem:
            raise self._failed(problem) from None
        finally:
            if self._shard:
                self._shard.abandon()
            if self._resume is None or kind is None or not issubclass(kind, KeyboardInterrupt):
                shutil.rmtree(self._draft, ignore_errors=True)

    def add(self, batch: Lattices) -> None:
        """Add lattices; their arrays are kept until a row group is full."""
        for part in _pieces(batch, self._group_arcs):
            if self._arcs and self._arcs + len(part.source) > self._group_arcs:
                self._write_group()
            self._parts.append(part)
            self._arcs += len(part.source)

    def _write_group(self) -> None:
        if not self._parts:
            return
        parts, self._parts, self._arcs = self._parts, [], 0
        extra = {name for part in parts for name in part.extra}
        notes = {name for part in parts for name in part.notes}
        try:
            if self._shard and not (extra <= self._info.extra and notes <= self._info.notes):
                self._close_shard()  # a shard has the same columns throughout
            self._info.extra |= extra
            self._info.notes |= notes
            self._note(parts)
            if self._shard is None:
                file = f"lattices-{len(self._info.shards):05d}.parquet"
                self._shard = _ShardWriter(self._draft / file, sorted(self._info.extra), sorted(self._info.notes))
            self._shard.write(parts)
            if self._shard.array_bytes >= self._shard_bytes:
                self._close_shard()
        except OSError as error:
            raise self._failed(error) from None

    def _note(self, parts: list[Lattices]) -> None:
        info = self._info
        for part in parts:
            info.scales.add(part.scales)
            info.scores |= {name for name in ARC_SCORES if getattr(part, name) is not None}
            info.picked |= part.picked is not None
            info.times.add(part.origin.times)
            info.formats.add(part.origin.format)
            info.files[part.origin.file] = None

    def _close_shard(self) -> None:
        if self._shard:
            self._info.shards.append(self._shard.close())
            if self._resume:
                with atomic_text(self._draft / _FINISHED) as file:
                    file.write(self._info.dumps(__version__))
        self._shard = None

    def _finish(self) -> None:
        self._write_group()
        self._close_shard()
        (self._draft / _FINISHED).unlink(missing_ok=True)
        (self._draft / STORE_FILE).write_text(self._info.dumps(__version__), "utf-8", errors="replace")
        self._refuse_to_overwrite()
        if not self._path.exists():
            os.rename(self._draft, self._path)
            return
        old = self._draft.with_suffix(".old")
        os.rename(self._path, old)
        try:
            os.rename(self._draft, self._path)
        except BaseException:
            os.rename(old, self._path)
            raise
        shutil.rmtree(old, ignore_errors=True)

    def _refuse_to_overwrite(self) -> None:
        """Only a store is ever replaced: a wrong path must not cost anybody a folder of other files."""
        path = self._path
        if path.is_dir():
            if (path / STORE_FILE).is_file() or not any(path.iterdir()):
                return
            raise OptionError(f"{self._name}: a folder that is no store is not replaced. Choose another name")
        if path.exists():
            raise OptionError(f"{self._name}: a file of this name is there. Choose another name for the store")

    def _failed(self, error: OSError) -> OptionError:
        return OptionError(f"{self._name}: the store cannot be written: {error.strerror or error}")


def _pieces(batch: Lattices, arcs: int) -> Iterator[Lattices]:
    """A batch cut so that each part has at most so many arcs, or one utterance."""
    start = 0
    while start < len(batch):
        stop = int(np.searchsorted(batch.arc_offsets, batch.arc_offsets[start] + arcs, "right")) - 1
        stop = max(stop, start + 1)
        yield batch if stop - start == len(batch) else batch[start:stop]
        start = stop


class _ShardWriter:
    """One parquet file being written."""

    def __init__(self, path: Path, extra: list[str], notes: list[str]) -> None:
        self._path, self._extra, self._notes = path, extra, notes
        self._schema = layout.schema(extra, notes)
        self._utterances, self._nodes, self._arcs = 0, 0, 0
        self.array_bytes = 0
        texts = [name for name, kind in layout.ROW_TYPES.items() if kind == layout.TEXT]
        with layout.frugal_arrow():
            self._writer: Any = pq.ParquetWriter(
                path,
                self._schema,
                compression="zstd",
                compression_level=_ZSTD_LEVEL,
                use_dictionary=[*_WORDS, *texts, *layout.SCALES, *layout.COUNTS],
                column_encoding=_SMALL_STEPS,
                dictionary_pagesize_limit=_DICTIONARY_BYTES,
                write_statistics=False,
            )

    def write(self, parts: list[Lattices]) -> None:
        """Write lattices as one row group."""
        table = group_table(parts, self._extra, self._notes, self._schema)
        self._writer.write_table(table, row_group_size=len(table))
        self._utterances += len(table)
        self._nodes += sum(len(part.time) for part in parts)
        self._arcs += sum(len(part.source) for part in parts)
        self.array_bytes += table.nbytes

    def close(self) -> layout.Shard:
        """Finish the file."""
        self._writer.close()
        return layout.Shard(self._path.name, self._utterances, self._nodes, self._arcs, self._path.stat().st_size)

    def abandon(self) -> None:
        """Let go of a file that is not going to be finished."""
        self._writer.close()


def group_table(parts: list[Lattices], extra: Iterable[str], notes: Iterable[str], schema: pa.Schema) -> pa.Table:
    """Lattices as an arrow table with one row for each of them."""
    nodes = np.concatenate([np.diff(part.node_offsets) for part in parts])
    arcs = np.concatenate([np.diff(part.arc_offsets) for part in parts])
    columns = _rows(parts)
    columns["time"] = _lists("time", nodes, [part.time for part in parts], parts)
    for name in ("source", "target", *ARC_SCORES, "picked"):
        columns[name] = _lists(name, arcs, [getattr(part, name) for part in parts], parts)
    for name in notes:
        said = (part.notes.get(name, (None,) * len(part)) for part in parts)
        columns[layout.NOTE + name] = pa.array(
            [None if text is None else _clean(text) for texts in said for text in texts], pa.string()
        )
    for name in extra:
        columns[layout.EXTRA + name] = _lists(name, arcs, [part.extra.get(name) for part in parts], parts)
    columns |= _words(parts, arcs)
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _rows(parts: list[Lattices]) -> dict[str, Any]:
    """What an utterance has one of."""
    sizes = [len(part) for part in parts]

    def spread(values: Iterable[Any], kind: pa.DataType) -> Any:
        numbers = pa.array(np.repeat(np.arange(len(sizes)), sizes))
        return pa.array(list(values), kind).take(numbers)

    columns: dict[str, Any] = {
        "utt": pa.array([_clean(utt) for part in parts for utt in part.utts], pa.string()),
        "frame_length": spread((part.origin.frame_length for part in parts), pa.float64()),
    }
    for name in ("place", *layout.COUNTS):
        columns[name] = pa.array(np.concatenate([getattr(part.facts, name) for part in parts]))
    for name in layout.SCALES:
        own = name.removeprefix(layout.SCALE)
        columns[name] = spread((getattr(part.scales, own) for part in parts), pa.float64())
    for name in layout.ORIGIN:
        columns[name] = spread(
            (_clean(getattr(part.origin, name)) for part in parts), pa.string()
        ).dictionary_encode()
    return columns


def _lists(name: str, counts: Offsets, arrays: list[NDArray[Any] | None], parts: list[Lattices]) -> Any:
    """A list column; null for the lattices of parts that have no such array."""
    there = [array for array in arrays if array is not None]
    kind = layout.list_type(name).value_type
    values = pa.array(np.concatenate(there), kind) if there else pa.array([], kind)
    present = np.repeat([array is not None for array in arrays], [len(part) for part in parts])
    return _list_array(name, counts * present, values, present)


def _list_array(name: str, counts: Offsets, values: Any, present: Flags) -> Any:
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values, layout.list_type(name), mask=pa.array(~present))


def _words(parts: list[Lattices], arcs: Offsets) -> dict[str, Any]:
    """The columns `word`, `surface` and `silence`."""
    words, surfaces = _Dictionary(), _Dictionary()
    silence: list[str] = []
    unlike: list[Flags] = []
    for part in parts:
        marks, differs = np.zeros(len(part), np.int32), np.zeros(len(part.word), np.bool_)
        _compare(part.arc_offsets, part.word, part.surface, marks, differs)
        words.add(part.word, part.vocabulary)
        surfaces.add(np.where(differs, part.surface, 0), part.vocabulary)
        silence += [_clean(part.vocabulary[mark]) for mark in marks.tolist()]
        unlike.append(differs)
    differs = np.concatenate(unlike)
    shown = np.logical_or.reduceat(differs, np.cumsum(arcs) - arcs)  # every lattice has an arc
    inside = np.repeat(shown, arcs)
    everywhere = np.ones(len(arcs), np.bool_)
    return {
        "word": _list_array("word", arcs, words.array(), everywhere),
        "surface": _list_array("surface", arcs * shown, surfaces.array(inside, null=~differs[inside]), shown),
        "silence": pa.array(silence, pa.string()).dictionary_encode(),
    }


@compiled
def _compare(arc_offsets: Offsets, word: Ints, surface: Ints, silence: Ints, differs: Flags) -> None:
    """What each lattice writes where there is no word, and which surfaces are neither that nor the word."""
    for u in range(len(silence)):
        mark = -1
        for arc in range(arc_offsets[u], arc_offsets[u + 1]):
            if word[arc] == 0 and mark < 0:
                mark = surface[arc]
            differs[arc] = surface[arc] != (mark if word[arc] == 0 else word[arc])
        silence[u] = max(mark, 0)


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

    def array(self, arcs: Flags | slice = slice(None), null: Flags | None = None) -> Any:
        """The column, or some arcs of it."""
        numbers = pa.array(np.concatenate(self._numbers)[arcs], mask=null)
        return pa.DictionaryArray.from_arrays(numbers, pa.array(list(self._place), pa.string()))


def _clean(text: str) -> str:
    """What UTF-8 cannot hold (half characters) becomes `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")

"""Writing a store: row group by row group, shard by shard, under another name until all of it is there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from inspect import signature
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...base.arrays import csr_offsets
from ...base.errors import InputError, OptionError
from ...base.files import atomic_text, draft_of, is_stream, recover, remove, remove_drafts, replace_folder, sync
from ...base.jit import compiled
from ...base.locks import locked
from ...base.version import __version__
from ...lattices.evidence import OPTIONAL_NAMES
from ...lattices.lattice import ARC_SCORES, Flags, Ints, Lattices, Offsets, Origin
from ...lattices.vocabulary import Vocabulary
from ..batches import require_same_recognizer
from ..inputs import STORE_FILE
from . import layout

# A row group is read at once: large enough that its dictionary of words costs little, small enough for memory.
GROUP_ARCS = 1 << 18
SHARD_BYTES = 1 << 26  # of arrays, before they are packed
# Level -1 of zstd: against level 1, a quarter less time to unpack for a tenth more bytes. Words and node numbers are
# small by their encoding; to pack them again would save an eighth of the bytes and cost a tenth of the time.
_ZSTD_LEVEL = -1
_SMALL_STEPS = {"source": "DELTA_BINARY_PACKED", "target": "DELTA_BINARY_PACKED"}
_DICTIONARY_BYTES = 1 << 28  # words never fall back to plain strings
# Newer versions of arrow make pages of 20,000 rows, for those who look for single rows; we read them all.
_LARGE_PAGES = {"max_rows_per_page": 1 << 30} if "max_rows_per_page" in signature(pq.write_table).parameters else {}
_FINISHED = "finished.json"  # what store.json will be, as far as there are finished shards


class StoreWriter:
    """Writes batches of lattices to a store.

        with StoreWriter(path) as store:
            store.add(batch)

    The store appears at `path` when the block ends, and replaces a store that was there. If the block raises, nothing
    of it is left and what was at `path` is untouched. Meanwhile nobody else can write to `path`.

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
        network: Mapping[str, object] | None = None,
    ) -> None:
        self._name = str(path)
        self._path = Path(os.path.realpath(path))
        self._resume = resume
        self._draft = draft_of(self._path, resume)
        self._group_arcs, self._shard_bytes = group_arcs, shard_bytes
        self._is_named = recognizer is not None
        self._first: Origin | None = None  # where the first lattices came from
        self._info = layout.StoreInfo(recognizer, network=None if network is None else dict(network))
        self._parts: list[Lattices] = []
        self._arcs = 0
        self._shard: _ShardWriter | None = None
        self._lock = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as on_error:
            try:
                on_error.enter_context(locked(self._path))
                recover(self._path)
                self._refuse_to_overwrite()
                remove_drafts(self._path)
                self._begin()
            except OSError as error:
                raise self._failed(error) from None
            self._lock = on_error.pop_all()
        return self

    def _begin(self) -> None:
        """Take up a draft as far as its shards were finished, or make an empty one."""
        finished = _finished(self._draft) if self._resume else None
        if finished is None:
            remove(self._draft)
            self._draft.mkdir()
            return
        self._info = finished
        kept = {_FINISHED, *(name for shard in finished.shards for name in shard.files)}
        for path in self._draft.iterdir():
            if path.name not in kept:
                remove(path)

    @property
    def resumed(self) -> int:
        """How many utterances are in finished shards."""
        return self.resumed_totals["utterances"]

    @property
    def resumed_totals(self) -> dict[str, int]:
        """How many utterances, nodes and arcs are in finished shards."""
        return self._info.totals()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            try:
                if kind is None:
                    self._finish()
            except OSError as problem:
                raise self._failed(problem) from None
            finally:
                if self._shard:
                    with suppress(OSError):  # a full disk has been reported by then
                        self._shard.abandon()
                if self._resume is None or kind is None or not issubclass(kind, KeyboardInterrupt):
                    remove(self._draft)

    def add(self, batch: Lattices) -> None:
        """Add lattices, all of one recognizer; their arrays are kept until a row group is full."""
        self._require_one_recognizer(batch.origin)
        for part in _pieces(batch, self._group_arcs):
            if self._arcs and self._arcs + len(part.source) > self._group_arcs:
                self._write_group()
            self._parts.append(part)
            self._arcs += len(part.source)

    def _require_one_recognizer(self, origin: Origin) -> None:
        """A store has the name of one recognizer, which models are matched with."""
        info = self._info
        if self._first is None:
            known = Origin(next(iter(info.files), self._name), recognizer=info.recognizer or "")
            self._first = known if info.recognizer or info.shards else origin
        if origin.recognizer or not self._is_named:
            require_same_recognizer(self._first, origin, "A store is of one recognizer: make one for each")

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
                name = f"{len(self._info.shards):05d}"
                self._shard = _ShardWriter(self._draft, name, sorted(self._info.extra), sorted(self._info.notes))
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
            info.recognizer = info.recognizer or part.origin.recognizer or None
            if info.network is None and part.origin.tolerance is not None:
                equated = {"equate": part.origin.equate} if part.origin.equate else {}
                info.network = {"tolerance": part.origin.tolerance, **equated}

    def _close_shard(self) -> None:
        if self._shard:
            shard = self._shard.close()
            self._info.shards.append(shard)
            if self._resume:
                for name in shard.files:  # what is said to be finished must not be lost in a crash
                    sync(self._draft / name)
                with atomic_text(self._draft / _FINISHED) as file:
                    file.write(self._info.dumps(__version__, named_files=None))
        self._shard = None

    def _finish(self) -> None:
        self._write_group()
        self._close_shard()
        (self._draft / _FINISHED).unlink(missing_ok=True)
        (self._draft / STORE_FILE).write_text(self._info.dumps(__version__), "utf-8", errors="replace")
        self._refuse_to_overwrite()
        replace_folder(self._draft, self._path)
        remove_drafts(self._path, resumable=True)  # of builds that this one supersedes

    def _refuse_to_overwrite(self) -> None:
        """Only a store is ever replaced: a wrong path must not cost anybody a folder of other files."""
        path = self._path
        if is_stream(Path(self._name)):
            raise OptionError(f"{self._name}: a store is a folder; name one, or another format (--to)")
        if path.is_dir():
            if (path / STORE_FILE).is_file() or not any(path.iterdir()):
                return
            raise OptionError(f"{self._name}: a folder that is no store is not replaced. Choose another name")
        if path.exists():
            raise OptionError(f"{self._name}: a file of this name is there. Choose another name for the store")

    def _failed(self, error: OSError) -> OptionError:
        return OptionError(f"{self._name}: the store cannot be written: {error.strerror or error}")


def _finished(draft: Path) -> layout.StoreInfo | None:
    """What a draft says is finished; None if that is not all there, or if the draft is not our own folder."""
    try:
        facts = draft.lstat()
        if not stat.S_ISDIR(facts.st_mode) or (hasattr(os, "geteuid") and facts.st_uid != os.geteuid()):
            return None
        info = layout.read_info(draft / _FINISHED)
        for shard in info.shards:
            sizes = tuple((draft / name).lstat().st_size for name in shard.files)
            if sizes != (shard.utterances_bytes, shard.arcs_bytes):
                return None
    except (OSError, InputError):
        return None
    return info


def _pieces(batch: Lattices, arcs: int) -> Iterator[Lattices]:
    """A batch cut so that each part has at most so many arcs, or one utterance."""
    start = 0
    while start < len(batch):
        stop = int(np.searchsorted(batch.arc_offsets, batch.arc_offsets[start] + arcs, "right")) - 1
        stop = max(stop, start + 1)
        yield batch if stop - start == len(batch) else batch[start:stop]
        start = stop


class _ShardWriter:
    """The two parquet files of a shard being written."""

    def __init__(self, folder: Path, name: str, extra: list[str], notes: list[str]) -> None:
        self._shard = layout.Shard(name, 0, 0, 0, 0, 0)
        self._extra, self._notes = extra, notes
        self._paths = [folder / file for file in self._shard.files]
        self.array_bytes = 0
        self._rows = _parquet_writer(self._paths[0], layout.row_schema(notes), {})
        self._arcs = _parquet_writer(self._paths[1], layout.arc_schema(extra), _SMALL_STEPS)

    def write(self, parts: list[Lattices]) -> None:
        """Write lattices as one row group."""
        rows, arcs = _row_table(parts, self._notes), _arc_table(parts, self._extra)
        self._rows.write_table(rows, row_group_size=len(rows))
        self._arcs.write_table(arcs, row_group_size=len(arcs))
        self._shard = replace(
            self._shard,
            utterances=self._shard.utterances + len(rows),
            nodes=self._shard.nodes + sum(len(part.time) for part in parts),
            arcs=self._shard.arcs + len(arcs),
        )
        self.array_bytes += rows.nbytes + arcs.nbytes

    def close(self) -> layout.Shard:
        """Finish the files."""
        self.abandon()
        utterances, arcs = (path.stat().st_size for path in self._paths)
        return replace(self._shard, utterances_bytes=utterances, arcs_bytes=arcs)

    def abandon(self) -> None:
        """Let go of the files, finished or not."""
        self._rows.close()
        self._arcs.close()


def _parquet_writer(path: Path, schema: pa.Schema, encoding: dict[str, str]) -> Any:
    repeating = [field.name for field in schema if _repeats(field)]
    packed = [_path(field) for field in schema if field.name not in (*encoding, *repeating)]
    unpacked = [field.name for field in schema if field.name in (*encoding, *repeating)]
    return pq.ParquetWriter(
        path,
        schema,
        compression=dict.fromkeys(packed, "zstd") | dict.fromkeys(unpacked, "none"),
        compression_level=dict.fromkeys(packed, _ZSTD_LEVEL),
        use_dictionary=repeating,
        column_encoding=encoding,
        dictionary_pagesize_limit=_DICTIONARY_BYTES,
        write_statistics=False,
        **_LARGE_PAGES,
    )


def _path(field: pa.Field) -> str:
    """The name of a column in a parquet file."""
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else str(field.name)


def _repeats(field: pa.Field) -> bool:
    """Whether the values of a column are mostly the same few."""
    return field.type == layout.TEXT or field.name in (*layout.SCALES, *layout.COUNTS, "frame_length")


def _row_table(parts: list[Lattices], notes: Iterable[str]) -> pa.Table:
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
        texts = [text for part in parts for text in part.notes.get(name, (None,) * len(part))]
        columns[layout.NOTE + name] = pa.array([text and _clean(text) for text in texts], pa.string())
    schema = layout.row_schema(notes)
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _repeated(parts: list[Lattices], values: Iterable[Any], kind: pa.DataType) -> Any:
    """What a batch has one of, for each of its utterances."""
    return pa.array([value for value, part in zip(values, parts, strict=True) for _ in range(len(part))], kind)


def _silence(part: Lattices) -> list[str]:
    marks = np.zeros(len(part), np.int32)
    _find_silence(part.arc_offsets, part.word, part.surface, marks)
    return [_clean(part.vocabulary[mark]) for mark in marks.tolist()]


def _arc_table(parts: list[Lattices], extra: Iterable[str]) -> pa.Table:
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
        nullable = name in OPTIONAL_NAMES
        columns[layout.EXTRA + name] = _optional(
            [part.extra.get(name) for part in parts], parts, pa.float32(), nan_is_null=nullable
        )
    schema = layout.arc_schema(extra)
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _utts(parts: list[Lattices]) -> Any:
    """Which utterance each arc is of; only for people and their tools."""
    names = list(dict.fromkeys(_clean(utt) for part in parts for utt in part.utts))
    row_of = {name: row for row, name in enumerate(names)}
    rows = np.array([row_of[_clean(utt)] for part in parts for utt in part.utts], np.int32)
    arcs = np.concatenate([np.diff(part.arc_offsets) for part in parts])
    return pa.DictionaryArray.from_arrays(pa.array(np.repeat(rows, arcs)), pa.array(names, pa.string()))


def _optional(
    arrays: list[NDArray[Any] | None], parts: list[Lattices], kind: pa.DataType, *, nan_is_null: bool = False
) -> Any:
    """A column that is null on the arcs of parts that have no such array."""
    filled = [
        np.zeros(len(part.source)) if array is None else array for array, part in zip(arrays, parts, strict=True)
    ]
    missing = np.repeat([array is None for array in arrays], [len(part.source) for part in parts])
    values = np.concatenate(filled).astype(kind.to_pandas_dtype())
    missing = missing | np.isnan(values) if nan_is_null else missing
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
        self._index: dict[str, int] = {"": 0}
        self._indices: list[Ints] = []

    def add(self, word_ids: Ints, vocabulary: Vocabulary) -> None:
        """Add arcs, given as numbers of a vocabulary."""
        used = np.zeros(len(vocabulary), np.bool_)
        used[word_ids] = True
        table = np.zeros(len(vocabulary), np.int32)
        for word_id in np.flatnonzero(used).tolist():
            table[word_id] = self._index.setdefault(_clean(vocabulary[word_id]), len(self._index))
        self._indices.append(table[word_ids])

    def array(self, null: Flags | None = None) -> Any:
        """The column."""
        indices = pa.array(np.concatenate(self._indices), mask=null)
        return pa.DictionaryArray.from_arrays(indices, pa.array(list(self._index), pa.string()))


def _clean(text: str) -> str:
    """What UTF-8 cannot hold (half characters) becomes `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")

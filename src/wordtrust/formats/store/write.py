"""Writing a store: row group by row group, shard by shard, under another name until all of it is there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from inspect import signature
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ...base.errors import OptionError
from ...base.files import atomic_text, draft_of, replace_folder, sync
from ...base.version import __version__
from ...lattices.lattice import ARC_SCORES, Lattices
from ..inputs import STORE_FILE
from . import layout
from .encode import arc_table, row_table

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
        network: Mapping[str, object] | None = None,
    ) -> None:
        self._name = str(path)
        self._path = Path(path).resolve()
        self._resume = resume
        self._draft = draft_of(self._path, resume)
        self._group_arcs, self._shard_bytes = group_arcs, shard_bytes
        self._info = layout.StoreInfo(recognizer, network=None if network is None else dict(network))
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

    @property
    def resumed_nodes(self) -> int:
        """How many nodes are in finished shards."""
        return sum(shard.nodes for shard in self._info.shards)

    @property
    def resumed_arcs(self) -> int:
        """How many arcs are in finished shards."""
        return sum(shard.arcs for shard in self._info.shards)

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
                info.network = {"tolerance": part.origin.tolerance}

    def _close_shard(self) -> None:
        if self._shard:
            shard = self._shard.close()
            self._info.shards.append(shard)
            if self._resume:
                for name in shard.files:  # what is said to be finished must not be lost in a crash
                    sync(self._draft / name)
                with atomic_text(self._draft / _FINISHED) as file:
                    file.write(self._info.dumps(__version__))
        self._shard = None

    def _finish(self) -> None:
        self._write_group()
        self._close_shard()
        (self._draft / _FINISHED).unlink(missing_ok=True)
        (self._draft / STORE_FILE).write_text(self._info.dumps(__version__), "utf-8", errors="replace")
        self._refuse_to_overwrite()
        replace_folder(self._draft, self._path)

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
        rows, arcs = row_table(parts, self._notes), arc_table(parts, self._extra)
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

"""Reading a store: row group by row group, each checked before it becomes lattices.

A store holds finished lattices. A quick pass confirms that; a lattice that is not one was damaged, and is reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...base.arrays import csr_offsets
from ...base.errors import InputError
from ...base.jit import compiled, inner
from ...base.problems import Problems
from ...base.threads import ahead
from ...lattices.assemble import BATCH_ARCS
from ...lattices.evidence import OPTIONAL_NAMES
from ...lattices.lattice import Flags, Ints, Lattices, Offsets, Times
from ..format import ReadOptions
from ..parquet_checks import arrow_errors, group_sizes
from . import layout
from .decode import DAMAGED, Decoder, RowGroup, arc_columns, row_columns

_RAISE = f"{DAMAGED}; or raise --max-arcs"
_FREE_BYTES = 100_000_000  # that any row group may unpack to
_GROUP_ROWS = 1 << 20  # of a row group, besides those of its largest lattice; we write a quarter of them


class ShardReader:
    """Reads the shards of a store."""

    def __init__(self, options: ReadOptions, problems: Problems) -> None:
        self._options, self._problems = options, problems
        self._decoder = Decoder()

    def read(self, folder: Path, shard: layout.Shard) -> Iterator[Lattices]:
        """The lattices of a shard; errors about a row name the file of utterances."""
        rows, arcs = (folder / name for name in shard.files)
        _check_size(rows, shard.utterances_bytes)
        _check_size(arcs, shard.arcs_bytes)
        first = 0
        with _opened(rows) as row_file, _opened(arcs) as arc_file:
            most = _GROUP_ROWS + self._options.max_arcs
            _check_groups(rows, 2 * most)  # a lattice has as many nodes as arcs and one more at most
            _check_groups(arcs, most)
            for row_table, arc_table in ahead(_groups(row_file, arc_file, str(rows), str(arcs), most)):
                with arrow_errors(str(rows), f"row {first} and after", remedy=DAMAGED):
                    group = self._decoder.decode(row_table, arc_table)
                yield from self._lattices(group, first, str(rows))
                first += len(group.utts)
        if first != shard.utterances:
            message = f"{first} utterances, but store.json says {shard.utterances}"
            raise InputError(message, file=str(rows), remedy=DAMAGED)

    def _lattices(self, group: RowGroup, first: int, name: str) -> Iterator[Lattices]:
        """The lattices of a row group; its first row has the number `first`. Bad ones are reported."""
        errors = self._errors(group)
        is_bad = np.zeros(len(group.utts), np.bool_)
        is_bad[list(errors)] = True
        for start, stop in _runs(group, is_bad):
            if start in errors:
                place = f"row {first + start}"
                self._problems.report(errors[start].at(file=name, utt=group.utts[start], place=place))
            else:
                yield group.lattices(start, stop)

    def _errors(self, group: RowGroup) -> dict[int, InputError]:
        """What is wrong with lattices, by row: they have too many arcs, or are not what `assemble` makes."""
        arcs = np.diff(group.arc_offsets)
        errors = {
            row: self._options.too_many_arcs(int(arcs[row]))
            for row in np.flatnonzero(arcs > self._options.max_arcs).tolist()
        }
        for name, (values, _) in group.optional.items():
            if values.dtype == np.float32 and not _all_finite(values.view(np.uint32)):
                bad = np.flatnonzero(~np.isfinite(values) & ~_is_absent(group, name, values))
                for row in np.unique(np.searchsorted(group.arc_offsets, bad, "right") - 1).tolist():
                    errors.setdefault(row, InputError(f"{name} is not finite on all arcs", remedy=DAMAGED))
        in_order = np.ones(len(group.utts), np.bool_)
        ends = group.arcs["source"], group.arcs["target"]
        _check_order(group.node_offsets, group.arc_offsets, group.time, *ends, in_order)
        for row in np.flatnonzero(~in_order).tolist():
            errors.setdefault(row, InputError("nodes and arcs are not those of a lattice in order", remedy=DAMAGED))
        return errors


def _check_size(path: Path, size: int) -> None:
    try:
        actual = path.stat().st_size
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", file=str(path), remedy=DAMAGED) from None
    if not path.is_file():
        raise InputError("this is no file, but a folder, pipe or device", file=str(path), remedy=DAMAGED)
    if actual != size:
        raise InputError(f"the file has {actual:,} bytes, store.json says {size:,}", file=str(path), remedy=DAMAGED)


def _check_groups(path: Path, most: int) -> None:
    """Refuse columns with more values than this in a row group, or that unpack to far more than the file's size."""
    with arrow_errors(str(path), remedy=DAMAGED), path.open("rb") as file:
        size, groups = path.stat().st_size, group_sizes(file)
        values = max((group.values for group in groups), default=0)
        largest = max((group.unpacked for group in groups), default=0)
        if values > most:
            raise InputError(f"{values:,} values in a row group, more than {most:,}", remedy=_RAISE)
        if largest > _FREE_BYTES + 50 * size:
            raise InputError(f"{size:,} bytes that unpack to {largest:,}", remedy=DAMAGED)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with arrow_errors(str(path), remedy=DAMAGED):
        file = pq.ParquetFile(path)
    with file:
        yield file


def _groups(row_file: Any, arc_file: Any, row_name: str, arc_name: str, most: int) -> Iterator[tuple[Any, Any]]:
    """The row groups of both files, of at most so many rows."""
    with arrow_errors(row_name, remedy=DAMAGED):
        row_names = row_columns(row_file.schema_arrow)
    with arrow_errors(arc_name, remedy=DAMAGED):
        arc_names = arc_columns(arc_file.schema_arrow)
        if row_file.num_row_groups != arc_file.num_row_groups:
            message = f"{arc_file.num_row_groups} row groups, but {row_file.num_row_groups} of utterances"
            raise InputError(message, remedy=DAMAGED)
    for group in range(row_file.num_row_groups):
        with arrow_errors(row_name, f"row group {group}", remedy=DAMAGED):
            _check_rows(row_file, group, most)
            row_table = row_file.read_row_group(group, columns=row_names)
        with arrow_errors(arc_name, f"row group {group}", remedy=DAMAGED):
            _check_rows(arc_file, group, most)
            arc_table = arc_file.read_row_group(group, columns=arc_names)
        yield row_table, arc_table


def _check_rows(file: Any, group: int, most: int) -> None:
    rows = file.metadata.row_group(group).num_rows
    if rows > most:
        raise InputError(f"{rows:,} rows, more than {most:,}", remedy=_RAISE)


def _runs(group: RowGroup, is_bad: Flags) -> Iterator[tuple[int, int]]:
    """Rows that can be one batch: of the same kind, and about as many arcs as batches of other formats have."""
    crossed = np.diff(group.arc_offsets[:-1] // BATCH_ARCS) > 0
    starts = np.flatnonzero(group.changes() | crossed | is_bad[1:] | is_bad[:-1]) + 1
    cuts = [0, *starts.tolist(), len(is_bad)]
    return ((start, stop) for start, stop in pairwise(cuts) if stop > start)


def _is_absent(group: RowGroup, name: str, values: NDArray[np.float32]) -> Flags:
    """[arcs] of utterances that lack optional evidence: NaN on all of them."""
    if name.removeprefix(layout.EXTRA) not in OPTIONAL_NAMES:
        return np.zeros(len(values), np.bool_)
    arcs, missing = np.diff(group.arc_offsets), np.diff(csr_offsets(np.isnan(values))[group.arc_offsets])
    return np.repeat(missing == arcs, arcs)


@compiled
def _all_finite(bits: NDArray[np.uint32]) -> bool:
    """Whether these float32 numbers, seen as bits, are finite (integers, so that it runs in vector registers)."""
    largest = np.uint32(0)
    for value in bits:
        largest = max(largest, value & np.uint32(0x7FFFFFFF))
    return bool(largest < np.uint32(0x7F800000))


@compiled
def _check_order(
    node_offsets: Offsets, arc_offsets: Offsets, time: Times, source: Ints, target: Ints, in_order: Flags
) -> None:
    """Say of each lattice whether it is trimmed and in the order that `graph.order` gives."""
    most = 0
    for u in range(len(node_offsets) - 1):
        most = max(most, node_offsets[u + 1] - node_offsets[u])
    levels = np.empty(most, np.uint32)
    for u in range(len(node_offsets) - 1):
        begin, end = source[arc_offsets[u] : arc_offsets[u + 1]], target[arc_offsets[u] : arc_offsets[u + 1]]
        when = time[node_offsets[u] : node_offsets[u + 1]]
        in_order[u] = _is_sorted(len(when), begin, end) and when[0] >= -1e9 and when[-1] <= 1e9
        if not in_order[u]:
            continue
        level = levels[: len(when)]  # longest distance from the start; 0 for others than the start: no arc enters
        level[:] = 0
        for arc in range(len(begin)):
            to = np.uint32(end[arc])
            level[to] = max(level[to], level[np.uint32(begin[arc])] + np.uint32(1))
        fits = True
        for node in range(1, len(when)):
            same_time = (when[node] == when[node - 1]) & (level[node] >= level[node - 1])
            fits &= (level[node] > 0) & ((when[node] > when[node - 1]) | same_time)
        in_order[u] = fits


@inner
def _is_sorted(nodes: int, begin: Ints, end: Ints) -> bool:
    """Whether arcs are sorted by source and go forward, and leave every node but the last one."""
    if nodes < 2 or len(begin) == 0 or begin[0] != 0 or begin[-1] != nodes - 2:
        return False
    fits, before = True, np.int32(0)
    for arc in range(len(begin)):  # without a branch, so that it runs in vector registers
        fits &= (begin[arc] >= before) & (begin[arc] - before <= 1) & (end[arc] > begin[arc]) & (end[arc] < nodes)
        before = begin[arc]
    return fits

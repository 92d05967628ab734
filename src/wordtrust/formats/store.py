"""The store: a folder of parquet files and a store.json, for corpora. `store_layout` describes what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..assemble import Problems
from ..errors import InputError
from ..lattice import Lattices
from .base import Format, ReadOptions, WriteOptions
from .inputs import Stream

_PARQUET = b"PAR1"


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # a sniffer
    """A folder with a store.json has no bytes of its own; a single file of a store can be read as well."""
    return 1.0 if not head or head.startswith(_PARQUET) else 0.0


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """The lattices of a store, or of one of its files."""
    # Here and not above: arrow takes a while to load, and other formats do not need it.
    import pyarrow as pa

    from .store_layout import read_shard_list
    from .store_read import ShardReader

    reader = ShardReader(options, problems)
    if not stream.path.is_dir():
        yield from reader.read(pa.BufferReader(stream.document()), stream.name)
        return
    for shard in read_shard_list(stream.path):
        path = stream.path / shard.file
        try:
            _check_size(path, shard.bytes)
            yield from reader.read(path, str(path), shard.utterances)
        except InputError as error:
            problems.report(error)


def _check_size(path: Path, size: int) -> None:
    remedy = "The store was copied in part: copy or make it again"
    try:
        found = path.stat().st_size
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", file=str(path), remedy=remedy) from None
    if found != size:
        raise InputError(f"the file has {found:,} bytes, store.json says {size:,}", file=str(path), remedy=remedy)


def write(batches: Iterable[Lattices], path: Path, options: WriteOptions) -> None:  # noqa: ARG001  # a Writer
    """Write a store; it appears whole or not at all, and replaces nothing but a store."""
    from .store_write import StoreWriter

    with StoreWriter(path) as store:
        for batch in batches:
            store.add(batch)


FORMAT = Format("store", "wordtrust store", (".store",), sniff=sniff, read=read, write=write)

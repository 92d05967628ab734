"""The store: a folder of parquet files and a store.json, for corpora.

layout          the columns of the files, and store.json
write           lattices to row groups and shards, resumable
read, decode    row groups back to lattices, checked
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ...base.errors import InputError
from ...base.problems import Problems
from ...lattices.lattice import Lattices
from ..format import Format, ReadOptions, WriteOptions
from ..inputs import Stream


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # a sniffer
    """A folder with a store.json has no bytes of its own."""
    return 0.0 if head else 1.0


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """The lattices of a store. A bad shard is reported, and reading goes on with the next."""
    if not stream.path.is_dir():
        raise stream.error("this alone is no store", remedy="Name the folder that has a store.json in it")
    # Here and not above: arrow takes a while to load, and other formats do not need it.
    from .layout import read_contents
    from .read import ShardReader

    reader = ShardReader(options, problems)
    contents = read_contents(stream.path)
    for shard in contents.shards:
        try:
            for batch in reader.read(stream.path, shard):
                yield replace(batch, origin=contents.origin_of(batch.origin))
        except InputError as error:
            problems.report(error)


def write(batches: Iterable[Lattices], path: Path, options: WriteOptions) -> None:  # noqa: ARG001  # a Writer
    """Write a store; it appears whole or not at all, and replaces nothing but a store."""
    from .write import StoreWriter

    with StoreWriter(path) as store:
        for batch in batches:
            store.add(batch)


FORMAT = Format(
    "store", "wordtrust store", (".store",), sniff=sniff, read=read, write=write,
    keeps_scales=lambda head: True,  # noqa: ARG005
    keeps_words=True,
)  # fmt: skip

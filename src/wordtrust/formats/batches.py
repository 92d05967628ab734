"""Lattices in batches, wherever they come from: files, folders, globs, or what was read already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..base.problems import Problems
from ..lattices.lattice import Lattices
from . import stream_files

BatchSource = Lattices | str | Path | Iterable[Lattices | str | Path]


def read_batches(source: BatchSource, problems: Problems | None = None) -> Iterator[Lattices]:
    """Batches of lattices or networks, read from files unless they are given."""
    if isinstance(source, Lattices):
        yield source
    elif isinstance(source, str | Path):
        yield from stream_files(source, problems=problems)
    else:
        for part in source:
            yield from read_batches(part, problems)

"""Graphviz text, written only."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..base.files import atomic_text
from ..lattices.lattice import Lattices
from .base import Format, WriteOptions, never


def write(batches: Iterable[Lattices], path: Path, options: WriteOptions) -> None:  # noqa: ARG001  # a Writer
    """One `digraph` for each lattice, one after another."""
    with atomic_text(path) as file:
        for batch in batches:
            for lattice in batch:
                file.write(lattice.to_dot())


FORMAT = Format("dot", "Graphviz", (".dot", ".gv"), sniff=never, write=write)

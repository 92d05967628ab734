"""Pictures of lattices, written only: Graphviz text (.dot) and SVG."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path

from ..base.errors import OptionError
from ..base.files import atomic_text
from ..lattices.lattice import Lattices
from .format import Format, WriteOptions, never


def write_dot(batches: Iterable[Lattices], path: Path, options: WriteOptions) -> None:  # noqa: ARG001  # a Writer
    """One `digraph` for each lattice, one after another."""
    with atomic_text(path) as file:
        for lattice in chain.from_iterable(batches):
            file.write(lattice.to_dot())


def write_svg(batches: Iterable[Lattices], path: Path, options: WriteOptions) -> None:  # noqa: ARG001  # a Writer
    """The picture of the only lattice that there is."""
    lattices = list(islice(chain.from_iterable(batches), 2))
    if len(lattices) != 1:
        raise OptionError(f"{path}: an SVG picture shows one lattice; choose it with --utt")
    with atomic_text(path) as file:
        file.write(lattices[0].to_svg())


FORMATS = (
    Format("dot", "Graphviz", (".dot", ".gv"), sniff=never, write=write_dot),
    Format("svg", "SVG picture of one lattice", (".svg",), sniff=never, write=write_svg),
)

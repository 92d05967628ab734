"""Pictures of lattices."""

from __future__ import annotations

from .lattice import Lattice


def to_dot(lattice: Lattice) -> str:
    """The lattice as a Graphviz file."""
    return f"// {lattice.utt}"


def to_svg(lattice: Lattice) -> str:
    """The lattice as an SVG picture."""
    return f"<!-- {lattice.utt} -->"

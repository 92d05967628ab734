"""How likely words are missing in each gap of a joint output: a linear part and one hidden layer on `gap_evidence`.

Like the models of arcs, it leaves out the inputs of absent recognizers, and is fitted on ever new subsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...lattices.weights import Reals
from .arc_models import Layers, Matrix, Rows, sigmoid
from .gap_evidence import PER_SYSTEM, SHARED


@dataclass(frozen=True, slots=True, eq=False)
class GapModel:
    """For any subset of the recognizers it was fitted for."""

    systems: int
    layers: Layers

    @classmethod
    def new(cls, systems: int, hidden: int, random: np.random.Generator) -> GapModel:
        """An unfitted model with small random weights."""
        return cls(systems, Layers.new(gap_columns_of(systems), hidden, random))

    def start_from(self, often: float) -> None:
        """Begin with the same probability for all gaps, in place."""
        self.layers.skip[self.systems * len(PER_SYSTEM) + SHARED.index("one")] = np.log(often / (1 - often))

    def probability(self, x: Matrix, members: Sequence[int]) -> Reals:
        """[gaps] from the inputs of these members."""
        return sigmoid(self.layers.potential(x, gap_rows_of(members, self.systems))[0])


def gap_columns_of(systems: int) -> int:
    """How many inputs there are for so many recognizers."""
    return systems * len(PER_SYSTEM) + len(SHARED)


def gap_rows_of(members: Sequence[int], systems: int) -> Rows:
    """Which rows of the weights belong to the inputs of these members."""
    own = [member * len(PER_SYSTEM) + np.arange(len(PER_SYSTEM)) for member in members]
    return np.concatenate([*own, systems * len(PER_SYSTEM) + np.arange(len(SHARED))])

"""Unions to fit on: small batches of utterances, each joined from many subsets of the recognizers.

Joining takes longer than a step of fitting, so every union is made once and kept, as small as can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...lattices.lattice import Flags, Lattices
from ...lattices.posterior import Flat
from ...lattices.weights import Reals
from ...networks.build_store import REFERENCE
from ...networks.labels import Spoken, label, oracle_paths
from .evidence import evidence
from .hypotheses import on_paths
from .risk import accuracies
from .union import JointHypotheses
from .weigh import Matrix, inputs

MOST = 80_000  # utterances of all unions together that are kept: about 1 GB
Batch = tuple["Example", ...]  # the same utterances, joined from different subsets


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """One union with all that fitting needs of it."""

    members: tuple[int, ...]
    small: NDArray[np.float16]  # what `inputs` gives
    silent: Flags
    flat: Flat
    oracle: Flags  # [arcs] on the oracle path, silence too
    right: Flags  # [arcs] words of the oracle path that were said
    accuracy: Reals
    words: int  # of the references

    @classmethod
    def of(cls, systems: JointHypotheses, members: Sequence[int]) -> Example:
        """Join some recognizers."""
        union = systems.union(members)
        lattices, spoken = union.lattices, spoken_in(union.lattices)
        return cls(
            members=tuple(members),
            small=inputs(union, evidence(union)).astype(np.float16),
            silent=lattices.word == 0,
            flat=Flat.of(lattices),
            oracle=on_paths(lattices, oracle_paths(lattices, spoken)),
            right=label(lattices, spoken) > 0,
            accuracy=accuracies(union, spoken),
            words=len(spoken.words),
        )

    @property
    def x(self) -> Matrix:
        """[arcs, columns] the inputs."""
        return self.small.astype(np.float32)

    @property
    def utterances(self) -> int:
        """How many it is of."""
        return len(self.flat.start)


def spoken_in(lattices: Lattices) -> Spoken:
    """The references, which networks carry with them."""
    return Spoken.of([note.split() for note in lattices.notes[REFERENCE]], lattices)


def examples(
    systems: JointHypotheses, size: int, most: int, random: np.random.Generator, pool: Executor
) -> list[Batch]:
    """Batches of `size` utterances, each joined from `most` random subsets."""
    count, batches = len(systems.hypotheses), systems.batches(size)
    subsets = [[_random_subset(random, count) for _ in range(most)] for _ in batches]

    def joined(batch: JointHypotheses, chosen: list[list[int]]) -> Batch:
        return tuple(Example.of(batch, members) for members in chosen)

    return list(pool.map(joined, batches, subsets))


def _random_subset(random: np.random.Generator, systems: int) -> list[int]:
    """Half of the time two or three recognizers, where the least is to be gained, half of the time any number."""
    most = min(3, systems) if random.random() < 0.5 else systems
    return sorted(random.choice(systems, int(random.integers(2, most + 1)), replace=False).tolist())

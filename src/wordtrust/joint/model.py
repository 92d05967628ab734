"""The joint model: weighs the evidence of any subset of the recognizers it was fitted for, and decodes it together.

It is fitted on two halves of the speakers of held-out data, each with a model of its own. How many errors a subset
makes, which threshold suits it, and whether it beats its best member at all is measured on the other half; where it
does not, that member's own output stands. New utterances get the mean of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..decode import Paths, best_confidence, best_paths
from ..errors import OptionError
from ..lattice import Lattices
from ..scores import Reals
from .evidence import evidence
from .union import Systems, Union
from .weigh import Matrix, Weigher, corrected, inputs, marginals

Members = tuple[int, ...]
THRESHOLD = 0.3
_FAR = 30.0  # a logit of certainty


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """What is a subset's own."""

    threshold: float = THRESHOLD
    alone: int | None = None  # the member whose own output is better than what all say together
    corrections: tuple[Matrix, ...] = ()  # one for each half, as `weigh.corrected` takes it
    trust: Matrix | None = None  # [columns] of the chance that the best of competing words is right at all
    errors: int = 0  # word errors of all together on held-out data
    best_member: int = 0  # of the best member there


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """The union of some recognizers, how sure all together are of each arc, and the words to print."""

    lattices: Lattices
    confidence: Reals  # [arcs]
    paths: Paths


@dataclass(frozen=True, slots=True, eq=False)
class JointModel:
    """A fitted joint model."""

    names: tuple[str, ...]  # the recognizers, the best first
    weighers: tuple[Weigher, ...]  # one for each half
    settings: Mapping[Members, Settings] = field(default_factory=dict)
    about: Mapping[str, object] = field(default_factory=dict)

    def decode(self, systems: Systems, names: Sequence[str]) -> Decoded:
        """Decode recognizers together; `names` are those of `systems`, in any order."""
        members = self.members(names)
        ordered = systems.order([list(names).index(self.names[member]) for member in members])
        union = ordered.union(range(len(members)))
        settings, x = self.settings.get(members, Settings()), inputs(union, evidence(union))
        marginal = marginals(union.lattices, self._potentials(union, x, members, settings))
        paths = choose(union, marginal, members, settings)
        return Decoded(union.lattices, trusted(union, x, marginal, settings), paths)

    def members(self, names: Sequence[str]) -> Members:
        """The numbers of recognizers, sorted."""
        for name in names:
            if name not in self.names:
                raise OptionError(f"the joint model does not know {name!r}, but: {', '.join(self.names)}")
        if len(set(names)) < len(names) or not names:
            raise OptionError(f"recognizers are joined once each, not {', '.join(names) or 'none'}")
        return tuple(sorted(self.names.index(name) for name in names))

    def _potentials(self, union: Union, x: Matrix, members: Members, settings: Settings) -> Reals:
        """The mean of both halves' models."""
        silent, total = union.lattices.word == 0, np.zeros(len(union.own))
        for number, weigher in enumerate(self.weighers):
            potential = weigher.potentials(x, silent, members)
            if settings.corrections:
                potential = corrected(potential, x, silent, settings.corrections[number])
            total += potential
        return total / len(self.weighers)


def choose(union: Union, marginal: Reals, members: Members, settings: Settings) -> Paths:
    """The words to print: the most that is gained over the threshold, or what one member says."""
    if settings.alone is not None:
        return best_paths(union.lattices, np.where(union.own[:, members.index(settings.alone)], 1.0, -1e6))
    return best_confidence(union.lattices, marginal, "gain", threshold=settings.threshold)


def trusted(union: Union, x: Matrix, marginal: Reals, settings: Settings) -> Reals:
    """How likely each arc is right: its marginal, times the chance that any of the competing words is right."""
    if settings.trust is None:
        return marginal
    found: Reals = marginal / (1 + np.exp(-np.clip((x @ settings.trust).astype(np.float64), -_FAR, _FAR)))
    return np.where(union.lattices.word == 0, marginal, found)

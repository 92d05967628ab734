"""The joint model: weighs the evidence of any subset of the recognizers it was fitted for, and decodes it together.

It is fitted on folds of the speakers of held-out data, with a model for each that has not seen them. How many errors
a subset makes, and whether it surely beats its best member, is measured with that one; where it does not, that
member's own output stands. New utterances get the mean of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...base.arrays import concatenate_offsets
from ...base.errors import OptionError
from ...lattices.lattice import Flags, Lattices, concatenate
from ...lattices.paths import Paths, best_paths
from ...lattices.posterior import Flat
from ...lattices.weights import Reals
from .evidence import evidence
from .trust import Trust
from .union import JointHypotheses, Union
from .weigh import Weigher, inputs, marginals

Members = tuple[int, ...]
THRESHOLD = 0.25
BATCH = 1000  # utterances that are joined at a time: about 200 MB
MARGIN = 0.1  # what the words of the best member count more: changes that gain less are more risk than gain


@dataclass(frozen=True, slots=True)
class Settings:
    """What is known of a subset."""

    alone: bool = False  # whether the best member's own output stands
    errors: int = 0  # word errors of all together on held-out data
    best_member: int = 0  # of the best member there
    deviation: float = 0.0  # standard error of the difference, over speakers


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """The union of some recognizers, how sure all together are of each arc, and the words to print."""

    lattices: Lattices
    confidence: Reals  # [arcs] at every instant those of the arcs that cross it sum to at most 1
    paths: Paths
    names: tuple[str, ...]  # the recognizers, the best first
    on_printed: Flags  # [arcs, recognizers] on what a recognizer itself would print

    @classmethod
    def joined(cls, parts: Sequence[Decoded]) -> Decoded:
        """Utterances that were decoded in several parts, by the same recognizers."""
        if len(parts) == 1:
            return parts[0]
        offsets = concatenate_offsets(each.paths.offsets for each in parts)
        return cls(
            concatenate(each.lattices for each in parts),
            np.concatenate([each.confidence for each in parts]),
            Paths(offsets, np.concatenate([each.paths.arcs for each in parts])),
            parts[0].names,
            np.concatenate([each.on_printed for each in parts]),
        )

    def printed(self, name: str) -> Paths:
        """What a recognizer itself would print, as paths through the union: how sure are all together of it?"""
        return best_paths(self.lattices, np.where(self.on_printed[:, self.names.index(name)], 1.0, -1e6))


@dataclass(frozen=True, slots=True, eq=False)
class JointModel:
    """A fitted joint model."""

    names: tuple[str, ...]  # the recognizers, the best first
    weighers: tuple[Weigher, ...]  # one for each fold
    trusts: tuple[Trust, ...] = ()  # one for each fold; without, marginals are trusted
    threshold: float = THRESHOLD
    settings: Mapping[Members, Settings] = field(default_factory=dict)
    about: Mapping[str, object] = field(default_factory=dict)

    def decode(self, systems: JointHypotheses, names: Sequence[str]) -> Decoded:
        """Decode recognizers together; `names` are those of `systems`, in any order."""
        return Decoded.joined(list(self.decode_parts(systems, names)))

    def decode_parts(self, systems: JointHypotheses, names: Sequence[str]) -> Iterator[Decoded]:
        """The same, some utterances at a time, for those who do not need to keep them."""
        members = self.members(names)
        ordered = systems.order([list(names).index(self.names[member]) for member in members])
        return (self._decode(batch, members) for batch in ordered.batches(BATCH))

    def _decode(self, systems: JointHypotheses, members: Members) -> Decoded:
        """Decode just these recognizers, the best first."""
        union = systems.union(range(len(members)))
        x, silent = inputs(union, evidence(union)), union.lattices.word == 0
        flat = Flat.of(union.lattices)
        marginal = marginals(flat, np.mean([each.potentials(x, silent, members) for each in self.weighers], axis=0))
        alone = len(members) == 1 or self.settings.get(members, Settings()).alone
        paths = own_paths(union) if alone else best_words(union, marginal, self.threshold)
        confidence = marginal
        if self.trusts:
            confidence = np.mean([each.confidence(flat, x, silent, members) for each in self.trusts], axis=0)
        joined = tuple(self.names[member] for member in members)
        return Decoded(union.lattices, confidence, paths, joined, union.printed)

    def members(self, names: Sequence[str]) -> Members:
        """The numbers of recognizers, sorted."""
        for name in names:
            if name not in self.names:
                raise OptionError(f"the joint model does not know {name!r}, but: {', '.join(self.names)}")
        if len(set(names)) < len(names) or not names:
            raise OptionError(f"recognizers are joined once each, not {', '.join(names) or 'none'}")
        return tuple(sorted(self.names.index(name) for name in names))


def own_paths(union: Union) -> Paths:
    """What the first recognizer, the best one, says."""
    return best_paths(union.lattices, np.where(union.own[:, 0], 1.0, -1e6))


def best_words(union: Union, marginal: Reals, threshold: float) -> Paths:
    """The words that gain most over the threshold, those of the best member a little ahead."""
    gain = np.where(union.lattices.word == 0, 0.0, marginal - threshold)
    return best_paths(union.lattices, gain + MARGIN * union.own[:, 0])

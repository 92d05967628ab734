"""What an arc is worth to its recognizer: the scores weighed together, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OptionError

Floats = NDArray[np.float32]
Reals = NDArray[np.float64]

LARGEST_SCALE = 1e6  # scaled scores and their sums stay numbers
LENGTH = "length"  # evidence: how many tokens the arc's hypothesis has, its end counted
_NOT_PICKED = -1e6  # the score of an arc beside the recognizer's own choice, whose arcs have 1


@dataclass(frozen=True, slots=True)
class Scales:
    """How scores are weighed: acoustic * a + transition * t + word_penalty for every word.

    In N-best lists the acoustic score is divided by length ** length_exponent, where the length of each hypothesis
    (in tokens, its end counted) is known.
    """

    acoustic: float = 1.0
    transition: float = 1.0
    word_penalty: float = 0.0
    length_exponent: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not abs(getattr(self, name)) <= LARGEST_SCALE:
                raise OptionError(f"the scale {name} is {getattr(self, name)}, not a number up to {LARGEST_SCALE:g}")


class ScoredArcs(Protocol):
    """What `Lattice` and `Lattices` have on their arcs, as far as weighing them needs it."""

    @property
    def word(self) -> NDArray[np.int32]: ...  # noqa: D102  # see `Lattice` for all of these
    @property
    def acoustic(self) -> Floats | None: ...  # noqa: D102
    @property
    def transition(self) -> Floats | None: ...  # noqa: D102
    @property
    def posterior(self) -> Floats | None: ...  # noqa: D102
    @property
    def picked(self) -> NDArray[np.bool_] | None: ...  # noqa: D102
    @property
    def extra(self) -> Mapping[str, Floats]: ...  # noqa: D102
    @property
    def scales(self) -> Scales: ...  # noqa: D102


def only_posteriors(arcs: ScoredArcs) -> bool:
    """Whether posteriors are what the recognizer says: it gave them, and no language score to go with acoustics.

    PocketSphinx writes such lattices: their best acoustic path is not at all what it prints, their posteriors are
    made with its language model.
    """
    return arcs.posterior is not None and arcs.transition is None


def log_scores(arcs: ScoredArcs, scales: Scales | None = None) -> Reals:
    """The log weight of every arc by `scales`, or the lattices' own: scaled scores and the word penalty.

    Where there are only posteriors, their logarithm; where there is nothing, 0.
    """
    if only_posteriors(arcs):
        assert arcs.posterior is not None
        return np.log(np.maximum(arcs.posterior, 1e-30, dtype=np.float64))
    scales = scales or arcs.scales
    total = np.where(arcs.word > 0, scales.word_penalty, 0.0)
    if arcs.acoustic is not None:
        total += np.multiply(arcs.acoustic, scales.acoustic * _length_factor(arcs, scales), dtype=np.float64)
    if arcs.transition is not None:
        total += np.multiply(arcs.transition, scales.transition, dtype=np.float64)
    return total


def weighed_scores(arcs: ScoredArcs) -> tuple[Floats | None, Floats | None]:
    """Acoustic and transition scores with the scales in them, for files that cannot say scales beside scores.

    As Kaldi does it: each score is multiplied by its scale, and the word penalty is part of the language score.
    """
    scales, acoustic, transition = arcs.scales, arcs.acoustic, arcs.transition
    if acoustic is not None and scales.acoustic != 1:
        acoustic = np.multiply(acoustic, scales.acoustic, dtype=np.float64).astype(np.float32)
    if transition is not None and (scales.transition != 1 or scales.word_penalty):
        penalty = np.where(arcs.word > 0, scales.word_penalty, 0.0)
        transition = (np.multiply(transition, scales.transition, dtype=np.float64) + penalty).astype(np.float32)
    return acoustic, transition


def printed_scores(arcs: ScoredArcs) -> Reals:
    """Scores whose best path is what the recognizer itself would print: what it picked, or the best as given."""
    if arcs.picked is not None:
        return np.where(arcs.picked, 1.0, _NOT_PICKED)
    return log_scores(arcs)


def _length_factor(arcs: ScoredArcs, scales: Scales) -> Reals | float:
    """What hypothesis scores are multiplied with for their length."""
    if not scales.length_exponent or LENGTH not in arcs.extra:
        return 1.0
    return np.power(np.maximum(arcs.extra[LENGTH], 1.0), -scales.length_exponent, dtype=np.float64)

"""What an arc is worth to its recognizer: the scores weighed together, in one place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .lattice import Lattice, Lattices, Scales

Reals = NDArray[np.float64]

LENGTH = "length"  # evidence: how many tokens the arc's hypothesis has, its end counted


def only_posteriors(lattices: Lattice | Lattices) -> bool:
    """Whether posteriors are what the recognizer says: it gave them, and no language score to go with acoustics.

    PocketSphinx writes such lattices: their best acoustic path is not at all what it prints, their posteriors are
    made with its language model.
    """
    return lattices.posterior is not None and lattices.transition is None


def log_scores(lattices: Lattice | Lattices, scales: Scales | None = None) -> Reals:
    """The log weight of every arc by `scales`, or the lattices' own: scaled scores and the word penalty.

    Where there are only posteriors, their logarithm; where there is nothing, 0.
    """
    if only_posteriors(lattices):
        assert lattices.posterior is not None
        return np.log(np.maximum(lattices.posterior, 1e-30, dtype=np.float64))
    scales = scales or lattices.scales
    total = np.where(lattices.word > 0, scales.word_penalty, 0.0)
    if lattices.acoustic is not None:
        total += np.multiply(lattices.acoustic, scales.acoustic * _shrink(lattices, scales), dtype=np.float64)
    if lattices.transition is not None:
        total += np.multiply(lattices.transition, scales.transition, dtype=np.float64)
    return total


def _shrink(lattices: Lattice | Lattices, scales: Scales) -> Reals | float:
    """What hypothesis scores are multiplied with for their length."""
    if not scales.length_exponent or LENGTH not in lattices.extra:
        return 1.0
    return np.power(np.maximum(lattices.extra[LENGTH], 1.0), -scales.length_exponent, dtype=np.float64)

"""How words are chosen by their confidences: a decoding criterion, and for `gain` its threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import OptionError
from ..lattices.lattice import Floats, Lattices

if TYPE_CHECKING:
    from ..lattices.paths import Paths

CRITERIA = ("mean", "mean-silence", "gain")  # those of `lattices.paths`, whose kernels models load without
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 17))  # that `gain` is tried with


@dataclass(frozen=True, slots=True)
class Choice:
    """A decoding criterion of `lattices.paths.best_confidence`."""

    criterion: str = "mean"
    threshold: float = 0.5  # of `gain`

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA or not 0 <= self.threshold <= 1:
            raise OptionError(
                f"words are chosen by {', '.join(CRITERIA)}, with a threshold from 0 to 1, not by {self!r}"
            )

    def __str__(self) -> str:
        return f"gain {self.threshold:g}" if self.criterion == "gain" else self.criterion

    def paths(self, networks: Lattices, confidence: Floats) -> Paths:
        """The chosen words of every utterance."""
        from ..lattices.paths import best_confidence

        return best_confidence(networks, confidence, self.criterion, threshold=self.threshold)

    @classmethod
    def all(cls) -> list[Choice]:
        """Those worth trying, the paper's first."""
        return [cls("mean"), cls("mean-silence"), *(cls("gain", threshold) for threshold in THRESHOLDS)]


def choose(
    scored: Iterable[tuple[Lattices, Floats]], count_errors: Callable[[Lattices, Paths], int]
) -> tuple[Choice, dict[str, int]]:
    """The choice that makes the fewest errors on a development set, and the errors of every choice by its name.

    `scored` are networks with the confidences of their arcs. Ties go to the choice that comes first, the paper's
    before all.
    """
    choices = Choice.all()
    errors = np.zeros(len(choices), np.int64)
    for networks, confidence in scored:
        errors += [count_errors(networks, choice.paths(networks, confidence)) for choice in choices]
    named = {str(choice): n_errors for choice, n_errors in zip(choices, errors.tolist(), strict=True)}
    return choices[int(errors.argmin())], named

"""How words are chosen by their confidences: a decoding criterion, and for `gain` its threshold.

A model for recognizers that it has never seen leans on what they would print themselves: words of the 1-best have a
`bonus` over others. With 0 confidences alone decide, with 1 hardly anything but the 1-best is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import OptionError
from ..lattices.lattice import Floats, Lattices

if TYPE_CHECKING:
    from ..lattices.paths import Paths

CRITERIA = ("mean", "mean-silence", "gain")  # those of `lattices.paths`, whose kernels models load without
BONUSES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)  # that a generic model is tried with
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 17))  # that `gain` is tried with


@dataclass(frozen=True, slots=True)
class Choice:
    """A decoding criterion of `lattices.paths.best_confidence`."""

    criterion: str = "mean"
    threshold: float = 0.5  # of `gain`
    bonus: float = 0.0  # added to the confidence of what is on the recognizer's 1-best

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA or not (0 <= self.threshold <= 1 and 0 <= self.bonus <= 1):
            raise OptionError(
                f"words are chosen by {', '.join(CRITERIA)}, with threshold and bonus from 0 to 1, not by {self!r}"
            )

    def __str__(self) -> str:
        name = f"gain {self.threshold:g}" if self.criterion == "gain" else self.criterion
        return f"{name}, 1-best +{self.bonus:g}" if self.bonus else name

    def to_json(self) -> dict[str, Any]:
        """As cards of models have it; without a bonus as they had it before there were any."""
        return {name: value for name, value in asdict(self).items() if name != "bonus" or value}

    def paths(self, networks: Lattices, confidence: Floats) -> Paths:
        """The chosen words of every utterance."""
        from ..lattices.paths import best_confidence

        if self.bonus and networks.picked is not None:
            confidence = np.asarray(confidence + self.bonus * networks.picked, np.float32)
        return best_confidence(networks, confidence, self.criterion, threshold=self.threshold)

    @classmethod
    def all(cls) -> list[Choice]:
        """Those worth trying, the paper's first."""
        return [cls("mean"), cls("mean-silence"), *(cls("gain", threshold) for threshold in THRESHOLDS)]

    @classmethod
    def with_bonuses(cls) -> list[Choice]:
        """Those worth trying for a generic model.

        Not `gain`: its threshold is off where confidences of a recognizer are too low or too high. A mean compares
        words with each other.
        """
        return [cls("mean-silence", bonus=bonus) for bonus in BONUSES]


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


def choose_for_unseen(
    recognizers: Iterable[Iterable[tuple[Lattices, Floats]]], count_errors: Callable[[Lattices, Paths], int]
) -> tuple[Choice, dict[str, int]]:
    """The choice for recognizers that nobody has seen, and the errors of every choice by its name.

    `recognizers` are networks of several, with the confidences of their arcs. Errors count beside those of what each
    recognizer prints itself: on average over recognizers, and as much for the one that a choice serves worst.
    """
    from ..lattices.paths import one_best

    choices = Choice.with_bonuses()
    total, ratios = np.zeros(len(choices), np.int64), []
    for scored in recognizers:
        errors, own = np.zeros(len(choices), np.int64), 0
        for networks, confidence in scored:
            errors += [count_errors(networks, choice.paths(networks, confidence)) for choice in choices]
            own += count_errors(networks, one_best(networks))
        total += errors
        ratios.append(errors / max(own, 1))
    judged = np.mean(ratios, axis=0) + np.max(ratios, axis=0) if ratios else total
    named = {str(choice): n_errors for choice, n_errors in zip(choices, total.tolist(), strict=True)}
    return choices[int(np.argmin(judged))], named

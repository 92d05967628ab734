"""Several recognizers together: for each utterance the output that is trusted most, and how good that is.

The paper's way (`raw`, `calibrated`): each utterance is that of the recognizer with the highest mean confidence of
its words. An output without words has the mean 0: nothing speaks for it. Ties go to the recognizer that is named
first. Rivals in the same table: the best member by itself, `rover`, any other way given by its errors (the joint
network), and `oracle`, which always takes the output with the fewest errors. `informed` is not the paper's: it takes
the output that is expected to have the fewest errors given what all members say (see `informed`).

The study runs all subsets of two and more recognizers and counts how often a way beats the best member.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OptionError
from ..evaluation.metrics.resample import REPLICATES, numbered, speaker_draws
from ..lattices.lattice import Ints
from ..lattices.weights import Reals
from .error_regression import ErrorRegression
from .rover import RoverSettings, rover_errors
from .system_output import SystemOutput, SystemOutputs

MOST_SYSTEMS = 12  # 4083 subsets
_AT_ONCE = 100  # draws of speakers, to bound memory
Counted = NDArray[np.int64] | Reals
Subsets = Sequence[tuple[int, ...]]  # numbers of recognizers, in order


@dataclass(frozen=True, slots=True)
class RateStatistics:
    """How much the error rates of all subsets differ: their standard deviation, the lowest and the highest."""

    deviation: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Subset:
    """The word error rates of some recognizers: of the best of them alone, and of all of them by every way."""

    members: tuple[str, ...]
    best_member: float
    best_member_one_best: float | None  # the best of what they would print themselves, where that is known
    ways: Mapping[str, float]  # raw, calibrated, rover, joint, ... as far as there are any
    oracle: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON; what is unknown is left out."""
        found: dict[str, Any] = {"members": list(self.members), "best_member": self.best_member}
        if self.best_member_one_best is not None:
            found["best_member_one_best"] = self.best_member_one_best
        return found | dict(self.ways) | {"oracle": self.oracle}


@dataclass(frozen=True, slots=True)
class SubsetComparison:
    """Every subset by every way, what the recognizers do alone, and counts over all subsets."""

    utterances: int
    words: int  # of the references
    systems: Mapping[str, float]  # word error rate of each recognizer's output
    subsets: tuple[Subset, ...]
    better: Mapping[str, int]  # by way: subsets with fewer errors than their best member
    equal: Mapping[str, int]
    worse: Mapping[str, int]
    spread: Mapping[str, RateStatistics]
    none_worse: Mapping[str, float]  # by way: share of draws of speakers in which no subset is worse

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what DESIGN section 9 promises to scripts."""
        spread = {
            way: {"deviation": one.deviation, "low": one.low, "high": one.high} for way, one in self.spread.items()
        }
        return {
            "utterances": self.utterances,
            "words": self.words,
            "systems": dict(self.systems),
            "subsets": [subset.to_dict() for subset in self.subsets],
            "better": dict(self.better),
            "equal": dict(self.equal),
            "worse": dict(self.worse),
            "spread": spread,
            "none_worse": dict(self.none_worse),
        }


def all_subsets(systems: int) -> list[tuple[int, ...]]:
    """All subsets of two and more of this many recognizers, small ones first."""
    if not 2 <= systems <= MOST_SYSTEMS:
        raise OptionError(f"subsets are made of 2 to {MOST_SYSTEMS} recognizers, not of {systems}")
    return [subset for size in range(2, systems + 1) for subset in combinations(range(systems), size)]


def mean_confidence(together: SystemOutputs, *, calibrated: bool = False) -> Reals:
    """[recognizers, utterances] the mean confidence of each output; 0 for one without words."""
    return np.stack([outputs.means(values) for outputs, values in _trusted(together, calibrated)])


def _trusted(together: SystemOutputs, calibrated: bool) -> Iterator[tuple[SystemOutput, Reals]]:
    for name, outputs in zip(together.names, together.outputs, strict=True):
        values = outputs.calibrated if calibrated else outputs.confidence
        if values is None:
            kind = "calibrated confidences" if calibrated else "confidences"
            raise OptionError(f"the words of {name} have no {kind}: its outputs cannot be compared by them")
        yield outputs, values


def choose(scores: Reals, subsets: Subsets) -> Ints:
    """[subsets, utterances] which recognizer has the largest score among the members; ties to the first member."""
    chosen = np.empty((len(subsets), scores.shape[1]), np.int32)
    for row, subset in enumerate(subsets):
        members = np.array(subset, np.int32)
        chosen[row] = members[scores[members].argmax(axis=0)]
    return chosen


def errors_of(chosen: Ints, errors: Ints) -> Ints:
    """[subsets, utterances] the errors of the chosen recognizers."""
    found: Ints = errors[chosen, np.arange(errors.shape[1])]
    return found


def choice_errors(
    together: SystemOutputs, subsets: Subsets, informed: ErrorRegression | None = None
) -> dict[str, Ints]:
    """[subsets, utterances] the errors of choosing whole outputs, by every way that there is what it needs for."""
    ways = {}
    if all(outputs.confidence is not None for outputs in together.outputs):
        ways["raw"] = choose(mean_confidence(together), subsets)
    if all(outputs.calibrated is not None for outputs in together.outputs):
        ways["calibrated"] = choose(mean_confidence(together, calibrated=True), subsets)
    if informed is not None:
        ways["informed"] = informed.choose(together, subsets)
    return {way: errors_of(chosen, together.errors) for way, chosen in ways.items()}


def compare_subsets(
    together: SystemOutputs,
    subsets: Subsets | None = None,
    *,
    one_best: SystemOutputs | None = None,
    informed: ErrorRegression | None = None,
    rover: RoverSettings | Sequence[RoverSettings] | None = None,
    others: Mapping[str, Ints] | None = None,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> SubsetComparison:
    """Measure every subset of recognizers (all of them unless given) by every way.

    `one_best` is what the recognizers would print themselves, on the same utterances. ROVER aligns in the order of
    the recognizers in `together`, with one setting for all subsets or one for each. `others` are the errors of
    further ways, [subsets, utterances].
    """
    subsets = all_subsets(len(together.names)) if subsets is None else subsets
    ways = choice_errors(together, subsets, informed)
    if rover is not None:
        ways["rover"] = rover_errors(together, subsets, rover)
    ways |= dict(others or {})
    _check(together, subsets, one_best, ways)
    oracle = errors_of(choose(-together.errors.astype(np.float64), subsets), together.errors)
    return _Table(together, subsets, one_best, ways, oracle).combination(replicates, seed)


def _check(
    together: SystemOutputs, subsets: Subsets, one_best: SystemOutputs | None, ways: Mapping[str, Ints]
) -> None:
    if not len(together.spoken):
        raise OptionError("there is no word in the references of these utterances: error rates have no meaning")
    if one_best is not None and (one_best.names, one_best.utts) != (together.names, together.utts):
        raise ValueError("the 1-best outputs are those of other recognizers or utterances")
    for way, errors in ways.items():
        if errors.shape != (len(subsets), len(together)):
            raise ValueError(
                f"the errors of {way} are {errors.shape}, not those of {len(subsets)} subsets on {len(together)} "
                "utterances"
            )


@dataclass(frozen=True, slots=True)
class _Table:
    """Errors by subset and utterance, still to be added up."""

    together: SystemOutputs
    subsets: Subsets
    one_best: SystemOutputs | None
    ways: Mapping[str, Ints]
    oracle: Ints

    def combination(self, replicates: int, seed: int) -> SubsetComparison:
        words = len(self.together.spoken)
        alone = self.together.errors.sum(axis=1, dtype=np.int64)
        best = self._best(alone)
        totals = {way: errors.sum(axis=1, dtype=np.int64) for way, errors in self.ways.items()}
        return SubsetComparison(
            utterances=len(self.together),
            words=words,
            systems=dict(zip(self.together.names, (alone / words).tolist(), strict=True)),
            subsets=tuple(self._rows(best, totals, words)),
            better={way: int((total < best).sum()) for way, total in totals.items()},
            equal={way: int((total == best).sum()) for way, total in totals.items()},
            worse={way: int((total > best).sum()) for way, total in totals.items()},
            spread={way: _spread(total / words) for way, total in totals.items()},
            none_worse=self._none_worse(replicates, seed),
        )

    def _best(self, alone: Counted) -> Counted:
        """[..., subsets] the errors of the best member, from [..., recognizers]."""
        return np.stack([alone[..., list(subset)].min(axis=-1) for subset in self.subsets], axis=-1)

    def _rows(self, best: Counted, totals: Mapping[str, Counted], words: int) -> Iterator[Subset]:
        oracle = self.oracle.sum(axis=1, dtype=np.int64)
        own = None if self.one_best is None else self._best(self.one_best.errors.sum(axis=1, dtype=np.int64))
        for row, subset in enumerate(self.subsets):
            yield Subset(
                members=tuple(self.together.names[number] for number in subset),
                best_member=float(best[row] / words),
                best_member_one_best=None if own is None else float(own[row] / words),
                ways={way: float(total[row] / words) for way, total in totals.items()},
                oracle=float(oracle[row] / words),
            )

    def _none_worse(self, replicates: int, seed: int) -> dict[str, float]:
        """Draw speakers anew; the best member is that of each draw, as it is that of the corpus at hand."""
        names, number = numbered(self.together.speakers)
        if len(names) < 2 or not self.ways:
            return {}
        alone = _by_speaker(self.together.errors, number, len(names))
        ways = {way: _by_speaker(errors, number, len(names)) for way, errors in self.ways.items()}
        held = dict.fromkeys(ways, 0)
        for drawn in speaker_draws(len(names), replicates, np.random.default_rng(seed), rows=_AT_ONCE):
            weights = drawn.astype(np.float64)  # whole numbers, so exact; products of integers are slow
            best = self._best(weights @ alone.T)
            for way, errors in ways.items():
                held[way] += int((weights @ errors.T <= best).all(axis=1).sum())
        return {way: count / replicates for way, count in held.items()}


def _by_speaker(errors: Ints, speaker: Ints, speakers: int) -> Reals:
    """[rows, speakers] from [rows, utterances]."""
    order = np.argsort(speaker, kind="stable")
    first = np.searchsorted(speaker[order], np.arange(speakers))
    found: Reals = np.add.reduceat(errors[:, order], first, axis=1, dtype=np.int64).astype(np.float64)
    return found


def _spread(rates: Reals) -> RateStatistics:
    return RateStatistics(float(rates.std()), float(rates.min()), float(rates.max()))

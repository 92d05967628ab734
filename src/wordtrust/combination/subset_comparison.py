"""Word error rates of every subset of systems, combined by every method.

The paper's method (`raw`, `calibrated`): each utterance gets the output of the system with the highest mean
confidence of its words. An output without words has the mean 0: nothing speaks for it. Ties go to the system named
first. In the same table: the best member alone, `rover`, any other method given by its errors (the joint network),
and `oracle`, which always takes the output with the fewest errors. `informed` is not the paper's: it takes the output
that is expected to have the fewest errors given all outputs (see `error_regression`).

Errors are counted twice: as words are written, and where words in another spelling are right (`lenient`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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

MAX_SYSTEMS = 12  # 4083 subsets
_DRAWS_AT_ONCE = 100  # to bound memory
Counts = NDArray[np.int64] | Reals
Subsets = Sequence[tuple[int, ...]]  # indices of systems


@dataclass(frozen=True, slots=True)
class RateStatistics:
    """Standard deviation and range of the error rates of all subsets."""

    deviation: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SubsetRates:
    """Word error rates of one subset: of its best member alone, and of all members by every method."""

    members: tuple[str, ...]
    best_member: float
    best_member_one_best: float | None  # the best of the recognizers' own 1-best, where that is known
    methods: Mapping[str, float]  # raw, calibrated, rover, joint, ... as far as there are any
    oracle: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON; what is unknown is left out."""
        record: dict[str, Any] = {"members": list(self.members), "best_member": self.best_member}
        if self.best_member_one_best is not None:
            record["best_member_one_best"] = self.best_member_one_best
        return record | dict(self.methods) | {"oracle": self.oracle}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> SubsetRates:
        """What `to_dict` gave."""
        own = {"members", "best_member", "best_member_one_best", "oracle"}
        methods = {name: rate for name, rate in record.items() if name not in own}
        one_best = record.get("best_member_one_best")
        return cls(tuple(record["members"]), record["best_member"], one_best, methods, record["oracle"])


@dataclass(frozen=True, slots=True)
class SubsetComparison:
    """Every subset by every method, every system alone, and counts over all subsets."""

    utterances: int
    words: int  # of the references
    systems: Mapping[str, float]  # word error rate of each system's output
    subsets: tuple[SubsetRates, ...]
    better: Mapping[str, int]  # by method: subsets with fewer errors than their best member
    equal: Mapping[str, int]
    worse: Mapping[str, int]
    rate_statistics: Mapping[str, RateStatistics]  # by method, over subsets
    none_worse: Mapping[str, float]  # by method: share of draws of speakers in which no subset is worse
    lenient: SubsetComparison | None = None  # the same where words in another spelling count as right

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        record: dict[str, Any] = {
            "utterances": self.utterances,
            "words": self.words,
            "systems": dict(self.systems),
            "subsets": [subset.to_dict() for subset in self.subsets],
            "better": dict(self.better),
            "equal": dict(self.equal),
            "worse": dict(self.worse),
            "spread": {method: asdict(statistics) for method, statistics in self.rate_statistics.items()},
            "none_worse": dict(self.none_worse),
        }
        return record if self.lenient is None else record | {"lenient": self.lenient.to_dict()}


def all_subsets(n_systems: int) -> list[tuple[int, ...]]:
    """All subsets of two and more systems, small ones first."""
    if not 2 <= n_systems <= MAX_SYSTEMS:
        raise OptionError(f"subsets are made of 2 to {MAX_SYSTEMS} recognizers, not of {n_systems}")
    return [subset for size in range(2, n_systems + 1) for subset in combinations(range(n_systems), size)]


def mean_confidence(outputs: SystemOutputs, *, calibrated: bool = False) -> Reals:
    """[systems, utterances] the mean confidence of each output; 0 for one without words."""
    return np.stack([output.means(values) for output, values in _with_confidences(outputs, calibrated)])


def _with_confidences(outputs: SystemOutputs, calibrated: bool) -> Iterator[tuple[SystemOutput, Reals]]:
    for name, output in zip(outputs.names, outputs.outputs, strict=True):
        values = output.calibrated if calibrated else output.confidence
        if values is None:
            kind = "calibrated confidences" if calibrated else "confidences"
            raise OptionError(f"the words of {name} have no {kind}: its outputs cannot be compared by them")
        yield output, values


def select_system(scores: Reals, subsets: Subsets) -> Ints:
    """[subsets, utterances] the member with the largest score; ties go to the first member."""
    chosen = np.empty((len(subsets), scores.shape[1]), np.int32)
    for row, subset in enumerate(subsets):
        members = np.array(subset, np.int32)
        chosen[row] = members[scores[members].argmax(axis=0)]
    return chosen


def errors_of(chosen: Ints, errors: Ints) -> Ints:
    """[subsets, utterances] the errors of the chosen systems."""
    chosen_errors: Ints = errors[chosen, np.arange(errors.shape[1])]
    return chosen_errors


def choice_errors(
    outputs: SystemOutputs, subsets: Subsets, informed: ErrorRegression | None = None
) -> dict[str, Ints]:
    """[subsets, utterances] the errors of choosing whole outputs, by every method whose confidences there are."""
    methods = {}
    if all(output.confidence is not None for output in outputs.outputs):
        methods["raw"] = select_system(mean_confidence(outputs), subsets)
    if all(output.calibrated is not None for output in outputs.outputs):
        methods["calibrated"] = select_system(mean_confidence(outputs, calibrated=True), subsets)
    if informed is not None:
        methods["informed"] = informed.choose(outputs, subsets)
    return {method: errors_of(chosen, outputs.errors) for method, chosen in methods.items()}


def compare_subsets(
    outputs: SystemOutputs,
    subsets: Subsets | None = None,
    *,
    one_best: SystemOutputs | None = None,
    informed: ErrorRegression | None = None,
    rover: RoverSettings | Sequence[RoverSettings] | None = None,
    others: Mapping[str, Ints] | None = None,
    lenient_others: Mapping[str, Ints] | None = None,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> SubsetComparison:
    """Measure subsets of systems (all of two and more unless given) by every method.

    `one_best` has the recognizers' own 1-best on the same utterances. ROVER aligns in the order of the systems, with
    one setting for all subsets or one for each. `others` are the errors of further methods, [subsets, utterances],
    `lenient_others` the same where words in another spelling count as right.
    """
    subsets = all_subsets(len(outputs.names)) if subsets is None else subsets
    strict = _compared(outputs, subsets, one_best, informed, rover, others).compare(replicates, seed)
    equated, own = outputs.leniently, None if one_best is None else one_best.leniently
    if equated is None:
        return strict
    lenient = _compared(equated, subsets, own, informed, rover, lenient_others).compare(replicates, seed)
    return replace(strict, lenient=lenient)


def _compared(
    outputs: SystemOutputs, subsets: Subsets, one_best: SystemOutputs | None, informed: ErrorRegression | None,
    rover: RoverSettings | Sequence[RoverSettings] | None, others: Mapping[str, Ints] | None,
) -> _ErrorTable:  # fmt: skip
    """The errors of all methods, as `outputs` count them."""
    methods = choice_errors(outputs, subsets, informed)
    if rover is not None:
        methods["rover"] = rover_errors(outputs, subsets, rover)
    methods |= dict(others or {})
    _check(outputs, subsets, one_best, methods)
    oracle = errors_of(select_system(-outputs.errors.astype(np.float64), subsets), outputs.errors)
    return _ErrorTable(outputs, subsets, one_best, methods, oracle)


def _check(
    outputs: SystemOutputs, subsets: Subsets, one_best: SystemOutputs | None, methods: Mapping[str, Ints]
) -> None:
    if not outputs.said_words:
        raise OptionError("there is no word in the references of these utterances: error rates have no meaning")
    if one_best is not None and (one_best.names, one_best.utts) != (outputs.names, outputs.utts):
        raise ValueError("the 1-best outputs are those of other recognizers or utterances")
    for method, errors in methods.items():
        if errors.shape != (len(subsets), len(outputs)):
            raise ValueError(
                f"the errors of {method} are {errors.shape}, not those of {len(subsets)} subsets on {len(outputs)} "
                "utterances"
            )


@dataclass(frozen=True, slots=True)
class _ErrorTable:
    """Errors by subset and utterance, still to be added up."""

    outputs: SystemOutputs
    subsets: Subsets
    one_best: SystemOutputs | None
    methods: Mapping[str, Ints]
    oracle: Ints

    def compare(self, replicates: int, seed: int) -> SubsetComparison:
        words = self.outputs.said_words
        alone = self.outputs.errors.sum(axis=1, dtype=np.int64)
        best = self._best(alone)
        totals = {method: errors.sum(axis=1, dtype=np.int64) for method, errors in self.methods.items()}
        return SubsetComparison(
            utterances=len(self.outputs),
            words=words,
            systems=dict(zip(self.outputs.names, (alone / words).tolist(), strict=True)),
            subsets=tuple(self._rows(best, totals, words)),
            better={method: int((total < best).sum()) for method, total in totals.items()},
            equal={method: int((total == best).sum()) for method, total in totals.items()},
            worse={method: int((total > best).sum()) for method, total in totals.items()},
            rate_statistics={method: _statistics(total / words) for method, total in totals.items()},
            none_worse=self._none_worse(replicates, seed),
        )

    def _best(self, alone: Counts) -> Counts:
        """[..., subsets] the errors of the best member, from [..., systems]."""
        return np.stack([alone[..., list(subset)].min(axis=-1) for subset in self.subsets], axis=-1)

    def _rows(self, best: Counts, totals: Mapping[str, Counts], words: int) -> Iterator[SubsetRates]:
        oracle = self.oracle.sum(axis=1, dtype=np.int64)
        one_best = None if self.one_best is None else self._best(self.one_best.errors.sum(axis=1, dtype=np.int64))
        for row, subset in enumerate(self.subsets):
            yield SubsetRates(
                members=tuple(self.outputs.names[member] for member in subset),
                best_member=float(best[row] / words),
                best_member_one_best=None if one_best is None else float(one_best[row] / words),
                methods={method: float(total[row] / words) for method, total in totals.items()},
                oracle=float(oracle[row] / words),
            )

    def _none_worse(self, replicates: int, seed: int) -> dict[str, float]:
        """Draw speakers; the best member is that of each draw, as it is that of the corpus at hand."""
        names, speaker = numbered(self.outputs.speakers)
        if len(names) < 2 or not self.methods:
            return {}
        alone = _by_speaker(self.outputs.errors, speaker, len(names))
        methods = {method: _by_speaker(errors, speaker, len(names)) for method, errors in self.methods.items()}
        held = dict.fromkeys(methods, 0)
        for drawn in speaker_draws(len(names), replicates, np.random.default_rng(seed), rows=_DRAWS_AT_ONCE):
            weights = drawn.astype(np.float64)  # whole numbers, so exact; products of integers are slow
            best = self._best(weights @ alone.T)
            for method, errors in methods.items():
                held[method] += int((weights @ errors.T <= best).all(axis=1).sum())
        return {method: count / replicates for method, count in held.items()}


def _by_speaker(errors: Ints, speaker: Ints, speakers: int) -> Reals:
    """[rows, speakers] from [rows, utterances]."""
    order = np.argsort(speaker, kind="stable")
    first = np.searchsorted(speaker[order], np.arange(speakers))
    sums: Reals = np.add.reduceat(errors[:, order], first, axis=1, dtype=np.int64).astype(np.float64)
    return sums


def _statistics(rates: Reals) -> RateStatistics:
    return RateStatistics(float(rates.std()), float(rates.min()), float(rates.max()))

"""Choose the output that is expected to have the fewest errors, given the outputs of all systems.

A confidence that is calibrated for one system alone does not say which of two outputs to take: a system that is 80%
sure of everything is right more often where another is sure as well. So the errors of each member's output are
predicted from all members' outputs: how many words each has, how much each doubts (the sum of 1 - confidence), and
how many words each two differ in. A linear model for each subset, fitted on held-out utterances by ridge regression,
is enough. It also sees what a mean of confidences cannot: missing words.

Where members differ much their errors vary much, so an utterance is weighted by 1 / (1 + mean difference of two
members). The member that was best on the held-out data is left only for an output that is expected to have `margin`
fewer errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError, OptionError
from ..lattices.lattice import Ints
from ..lattices.weights import Reals
from ..networks.align import align_ids
from .system_output import SystemOutput, SystemOutputs

RIDGE = 10.0  # utterances' worth of shrinkage, in units of each input's mean square
MARGIN = 0.2  # errors
MemberNames = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Predictors:
    """Lengths, doubts and differences of all outputs."""

    lengths: Reals  # [systems, utterances] words
    doubts: Reals | None  # [systems, utterances] expected wrong words by their own confidences
    differences: NDArray[np.int32]  # [systems, systems, utterances] words that two outputs differ in

    @classmethod
    def of(cls, outputs: SystemOutputs) -> _Predictors:
        count = len(outputs.names)
        differences = np.zeros((count, count, len(outputs)), np.int32)
        for one, other in combinations(range(count), 2):
            first, second = outputs.outputs[one], outputs.outputs[other]
            alignments = align_ids(first.word, first.offsets, second.word, second.offsets)
            differences[one, other] = differences[other, one] = alignments.errors
        doubts = [doubt for doubt in map(_doubts, outputs.outputs) if doubt is not None]
        return cls(
            np.stack([output.lengths for output in outputs.outputs]).astype(np.float64),
            np.stack(doubts) if len(doubts) == count else None,
            differences,
        )

    def inputs(self, subset: Sequence[int], *, doubts: bool) -> Reals:
        """[utterances, 1 + members (+ members) + pairs] what the errors of a subset are predicted from."""
        members = list(subset)
        rows = [np.ones((1, self.lengths.shape[1])), self.lengths[members]]
        if doubts:
            assert self.doubts is not None
            rows.append(self.doubts[members])
        return np.concatenate([*rows, self._pairs(members)]).T

    def weights(self, subset: Sequence[int]) -> Reals:
        """[utterances] how much each counts."""
        weights: Reals = 1 / (1 + self._pairs(list(subset)).mean(axis=0))
        return weights

    def _pairs(self, members: list[int]) -> NDArray[np.int32]:
        one, other = zip(*combinations(members, 2), strict=True)
        return self.differences[list(one), list(other)]


def _doubts(output: SystemOutput) -> Reals | None:
    values = output.confidence if output.calibrated is None else output.calibrated
    return None if values is None else output.sums(1 - values)


@dataclass(frozen=True, slots=True)
class ErrorRegression:
    """Predicts the errors of every member of every subset it was fitted for."""

    weights: Mapping[MemberNames, Reals]  # by members in their order: [inputs, members]
    leaders: Mapping[MemberNames, str]  # the member with the fewest errors
    doubts: bool  # whether confidences are among the inputs
    margin: float = MARGIN

    @classmethod
    def fit(
        cls,
        outputs: SystemOutputs,
        subsets: Sequence[Sequence[int]],
        *,
        ridge: float = RIDGE,
        margin: float = MARGIN,
    ) -> ErrorRegression:
        """Learn from outputs by models that were trained without the speakers.

        Calibrators may have been fitted on just these words: in a study they are, on the same scores out of fold.
        """
        if not (ridge > 0 and margin >= 0):
            raise OptionError(f"ridge must be over 0 and margin at least 0, not {ridge} and {margin}")
        predictors = _Predictors.of(outputs)
        doubts = predictors.doubts is not None
        weights, leaders = {}, {}
        for subset in subsets:
            members = _members(outputs, subset)
            errors = outputs.errors[list(subset)].T
            inputs = predictors.inputs(subset, doubts=doubts)
            weights[members] = _ridge(inputs, errors.astype(np.float64), predictors.weights(subset), ridge)
            leaders[members] = members[int(errors.sum(axis=0).argmin())]
        return cls(weights, leaders, doubts, margin)

    def choose(self, outputs: SystemOutputs, subsets: Sequence[Sequence[int]]) -> Ints:
        """[subsets, utterances] the member that is expected to have the fewest errors."""
        predictors = _Predictors.of(outputs)
        if self.doubts and predictors.doubts is None:
            raise OptionError("this choice was fitted with confidences, and these words have none")
        chosen = np.empty((len(subsets), len(outputs)), np.int32)
        fitted = {frozenset(members): members for members in self.weights}
        for row, subset in enumerate(subsets):
            members = fitted.get(frozenset(_members(outputs, subset)))
            if members is None:
                raise OptionError(f"this choice was not fitted for {' and '.join(_members(outputs, subset))}")
            ordered = [outputs.names.index(name) for name in members]
            expected = predictors.inputs(ordered, doubts=self.doubts) @ self.weights[members]
            expected[:, members.index(self.leaders[members])] -= self.margin
            chosen[row] = np.array(ordered, np.int32)[expected.argmin(axis=1)]
        return chosen

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` makes it again."""
        subsets = [
            {"members": list(members), "leader": self.leaders[members], "weights": weights.tolist()}
            for members, weights in self.weights.items()
        ]
        return {"doubts": self.doubts, "margin": self.margin, "subsets": subsets}

    @classmethod
    def from_dict(cls, record: Any) -> ErrorRegression:
        """Read what `to_dict` gave; anything else is an `InputError`."""
        try:
            doubts, margin = bool(record["doubts"]), float(record["margin"])
            weights, leaders = {}, {}
            for subset in record["subsets"]:
                members = tuple(str(name) for name in subset["members"])
                weights[members] = _checked(np.array(subset["weights"], np.float64), len(members), doubts)
                leaders[members] = str(subset["leader"])
                members.index(leaders[members])
            if not (np.isfinite(margin) and margin >= 0):
                raise ValueError(f"the margin is {margin}")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"this is no choice among recognizers: {error}", remedy="Fit it again") from None
        return cls(weights, leaders, doubts, margin)


def _members(outputs: SystemOutputs, subset: Sequence[int]) -> MemberNames:
    if len(set(subset)) < max(2, len(subset)):
        raise OptionError("a choice is among two or more different recognizers")
    return tuple(outputs.names[member] for member in subset)


def _ridge(inputs: Reals, errors: Reals, weights: Reals, ridge: float) -> Reals:
    """[inputs, members] weighted least squares with a penalty that does not depend on units."""
    unit = np.sqrt(np.square(inputs).mean(axis=0))
    unit[unit == 0] = 1
    scaled = inputs / unit
    weighted = scaled * weights[:, np.newaxis]
    penalty = ridge * weights.mean() * np.eye(len(unit))
    solved = np.linalg.solve(weighted.T @ scaled + penalty, weighted.T @ errors)
    weights_by_input: Reals = solved / unit[:, np.newaxis]
    return weights_by_input


def _checked(weights: Reals, members: int, doubts: bool) -> Reals:
    inputs = 1 + members * (2 if doubts else 1) + members * (members - 1) // 2
    if members < 2 or weights.shape != (inputs, members) or not np.isfinite(weights).all():
        raise ValueError(f"weights of {members} members must be {inputs} rows of {members} numbers")
    return weights

"""The combination of recognizers: fitted on what no model was trained on, measured on all subsets of the test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..base.files import atomic
from ..combination.combination_file import FittedCombination
from ..combination.joint import Decoded, JointHypotheses, fit_joint, joint_errors
from ..combination.rover import RoverSettings
from ..combination.subset_comparison import SubsetComparison, all_subsets, compare_subsets
from ..combination.system_output import SystemOutputs
from ..combination.systems import CombinationInput, System
from ..confidence.word_scorer import WordScorer
from ..lattices.lattice import Ints
from .steps import Tell

AT_ONCE = 16  # subsets of the joint network that are counted before they are written: what a kill may cost
WAYS = ("raw", "calibrated", "informed", "rover", "joint")


def systems_on(
    scorers: Mapping[str, WordScorer],
    stores: Mapping[str, tuple[str, ...]],
    folds: Mapping[str, tuple[WordScorer, ...]] | None = None,
) -> CombinationInput:
    """Recognizers on networks; with models of folds, every speaker is scored by one that did not see them."""
    folds = folds or {}
    made = {name: System(each, None, folds.get(name, ()), stores[name]) for name, each in scorers.items()}
    return CombinationInput(made, None, {})


def fit_combination(
    systems: CombinationInput, out: Path, *, draft: Path, with_joint: bool, jobs: int, tell: Tell
) -> None:
    """Fit ROVER's settings, the informed choice and the joint model for all subsets, and write them.

    What is done of the joint model is kept in the file `draft` until all of it is.
    """
    held_out = _together(systems)
    subsets = all_subsets(len(held_out.names))
    fitted = FittedCombination.fit(held_out, subsets)
    if with_joint:
        tell("joint: fitting, which takes minutes before the first subset is done")
        named = [[held_out.names[number] for number in subset] for subset in subsets]
        model = fit_joint(
            systems.joined(), held_out.names, subsets=named, jobs=jobs, draft=draft,
            notify=lambda done: tell(f"joint: fitted {done}"),
        )  # fmt: skip
        fitted = replace(fitted, joint=model)
    fitted.save(out)
    draft.unlink(missing_ok=True)


def _together(systems: CombinationInput, *, printed: bool = False) -> SystemOutputs:
    """SystemOutput side by side, on the utterances that all recognizers have."""
    outputs = {name: each.printed() if printed else each.outputs() for name, each in systems.systems.items()}
    return SystemOutputs.of(outputs, systems.references, missing="leave out")


@dataclass(frozen=True)
class Measured:
    """All subsets of some recognizers on the test split."""

    systems: CombinationInput
    fitted: FittedCombination | None
    folder: Path  # where the errors of joint subsets are kept while they are counted
    jobs: int
    tell: Tell

    @cached_property
    def together(self) -> SystemOutputs:
        """The outputs; the recognizer with the fewest errors on the data that was fitted on comes first."""
        found = _together(self.systems)
        order = found.names if self.fitted is None else [name for name in self.fitted.order if name in found.names]
        return found.subset(order)

    @cached_property
    def printed(self) -> SystemOutputs:
        """What the recognizers themselves would print."""
        return _together(self.systems, printed=True).subset(self.together.names)

    @cached_property
    def subsets(self) -> list[tuple[int, ...]]:
        """All of two and more."""
        return all_subsets(len(self.together.names))

    def combination(self) -> SubsetComparison:
        """Every subset by every way."""
        if self.fitted is None:
            return compare_subsets(self.together, self.subsets, one_best=self.printed, rover=RoverSettings())
        others = {} if self.fitted.joint is None else {"joint": self._joint_errors()}
        return compare_subsets(
            self.together,
            self.subsets,
            one_best=self.printed,
            rover=self.fitted.settings(self.together.names, self.subsets),
            informed=self.fitted.informed,
            others=others,
        )

    @cached_property
    def _joined(self) -> JointHypotheses:
        """All that the recognizers hold possible."""
        return self.systems.joined()

    def joint_output(self) -> Decoded | None:
        """The words of all recognizers joined, and the trust in them, where a joint model was fitted."""
        if self.fitted is None or self.fitted.joint is None:
            return None
        return self.fitted.joint.decode(self._joined, list(self.systems.systems))

    def _joint_errors(self) -> Ints:
        """[subsets, utterances]; those that an earlier run counted are read."""
        assert self.fitted is not None
        assert self.fitted.joint is not None
        self.folder.mkdir(parents=True, exist_ok=True)
        names = list(self.systems.systems)
        joined, model, parts = self._joined, self.fitted.joint, []
        for first in range(0, len(self.subsets), AT_ONCE):
            chosen = self.subsets[first : first + AT_ONCE]
            numbers = [[names.index(self.together.names[each]) for each in subset] for subset in chosen]

            def count(numbers: Sequence[Sequence[int]] = numbers) -> Ints:
                return joint_errors(model, joined, names, numbers, jobs=self.jobs)

            parts.append(_kept(self.folder / f"{first:04d}.npy", (len(chosen), len(self.together)), count))
            self.tell(f"joint: {first + len(chosen)} of {len(self.subsets)} subsets")
        return np.concatenate(parts)


def _kept(path: Path, shape: tuple[int, int], count: Callable[[], Ints]) -> Ints:
    """An array that was written before, if it is whole; else it is made and written."""
    try:
        found = np.load(path, allow_pickle=False)
        if found.shape == shape and found.dtype == np.int32:
            return found  # type: ignore[no-any-return]
    except (OSError, ValueError, EOFError):
        pass  # not there yet, or damaged: counted again
    made = count()
    with atomic(path) as file:
        np.save(file, made, allow_pickle=False)
    return made


def counts_against(subsets: Sequence[Mapping[str, Any]], rival: str) -> dict[str, dict[str, int]]:
    """For each way, how many subsets have fewer, as many and more errors than something else in the same table."""
    found: dict[str, dict[str, int]] = {"better": {}, "equal": {}, "worse": {}}
    for way in WAYS:
        pairs = [(each[way], each[rival]) for each in subsets if way in each and rival in each and way != rival]
        if pairs:
            found["better"][way] = sum(one < other for one, other in pairs)
            found["equal"][way] = sum(one == other for one, other in pairs)
            found["worse"][way] = sum(one > other for one, other in pairs)
    return found

"""Combining the recognizers of a study: fitted on held-out scores, measured on all subsets of the test split."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..base.files import atomic
from ..combination.combination_file import FittedCombination
from ..combination.joint import JointDecoding, JointHypotheses, joint_errors
from ..combination.rover import RoverSettings
from ..combination.subset_comparison import SubsetComparison, all_subsets, compare_subsets
from ..combination.system_output import SystemOutputs
from ..combination.systems import CombinationInput, System
from ..confidence.word_scorer import WordScorer
from ..lattices.lattice import Ints
from ..networks.equivalents import ALL, Equate
from ..networks.segments import Comparison
from .steps import Notify

CHUNK = 16  # joint subsets whose errors are written together: what a kill may cost
METHODS = ("raw", "calibrated", "informed", "rover", "joint")


def systems_on(
    scorers: Mapping[str, WordScorer],
    stores: Mapping[str, tuple[str, ...]],
    folds: Mapping[str, tuple[WordScorer, ...]] | None = None,
    equate: Equate = ALL,
) -> CombinationInput:
    """Recognizers on networks; with models of folds, every speaker is scored by one that was trained without them."""
    folds = folds or {}
    systems = {
        name: System(stores[name], scorer, fold_scorers=folds.get(name, ())) for name, scorer in scorers.items()
    }
    return CombinationInput(systems, missing="leave out", how=Comparison("wordtrust", equate=equate))


@dataclass(frozen=True)
class SubsetsOnTest:
    """All subsets of some recognizers on the test split."""

    systems: CombinationInput
    fitted: FittedCombination | None
    folder: Path  # where the errors of joint subsets are kept while they are counted
    jobs: int
    notify: Notify

    @cached_property
    def outputs(self) -> SystemOutputs:
        """The outputs; the recognizer with the fewest errors on the fitting data comes first."""
        outputs = self.systems.outputs()
        order = (
            outputs.names if self.fitted is None else [name for name in self.fitted.order if name in outputs.names]
        )
        return outputs.subset(order)

    @cached_property
    def one_best(self) -> SystemOutputs:
        """What the recognizers themselves would print."""
        one_best = self.systems.one_best()
        assert one_best is not None
        return one_best.subset(self.outputs.names)

    @cached_property
    def subsets(self) -> list[tuple[int, ...]]:
        """All of two and more."""
        return all_subsets(len(self.outputs.names))

    def comparison(self) -> SubsetComparison:
        """Every subset, combined by every method."""
        if self.fitted is None:
            return compare_subsets(self.outputs, self.subsets, one_best=self.one_best, rover=RoverSettings())
        others, lenient = dict[str, Ints](), dict[str, Ints]()
        if self.fitted.joint is not None:
            others["joint"], lenient["joint"] = self._joint_errors()
        return compare_subsets(
            self.outputs,
            self.subsets,
            one_best=self.one_best,
            rover=self.fitted.settings(self.outputs.names, self.subsets),
            informed=self.fitted.informed,
            others=others,
            lenient_others=lenient,
        )

    @cached_property
    def _joined(self) -> JointHypotheses:
        """The networks of all recognizers."""
        return self.systems.hypotheses()

    def joint_output(self) -> JointDecoding | None:
        """The words of the joint network of all recognizers, where a joint model was fitted."""
        if self.fitted is None or self.fitted.joint is None:
            return None
        return self.fitted.joint.decode(self._joined, list(self.systems.systems))

    def _joint_errors(self) -> Ints:
        """[2, subsets, utterances] as `joint_errors` has them; those that an earlier run counted are read."""
        assert self.fitted is not None
        assert self.fitted.joint is not None
        self.folder.mkdir(parents=True, exist_ok=True)
        names = list(self.systems.systems)
        joined, model, parts = self._joined, self.fitted.joint, []
        for first in range(0, len(self.subsets), CHUNK):
            chosen = self.subsets[first : first + CHUNK]
            members = [[names.index(self.outputs.names[index]) for index in subset] for subset in chosen]

            def count(members: Sequence[Sequence[int]] = members) -> Ints:
                return joint_errors(model, joined, names, members, equate=self.outputs.equate, jobs=self.jobs)

            parts.append(load_or_count(self.folder / f"{first:04d}.npy", (2, len(chosen), len(self.outputs)), count))
            self.notify(f"joint: {first + len(chosen)} of {len(self.subsets)} subsets")
        return np.concatenate(parts, axis=1)


def load_or_count(path: Path, shape: tuple[int, ...], count: Callable[[], Ints]) -> Ints:
    """The errors that an earlier run wrote, if the file is whole; else they are counted and written."""
    try:
        stored = np.load(path, allow_pickle=False)
        if stored.shape == shape and stored.dtype == np.int32:
            return stored  # type: ignore[no-any-return]
    except (OSError, ValueError, EOFError):
        pass  # not there yet, or damaged: counted again
    errors = count()
    with atomic(path) as file:
        np.save(file, errors, allow_pickle=False)
    return errors


def counts_against(subsets: Sequence[Mapping[str, Any]], rival: str) -> dict[str, dict[str, int]]:
    """For each method, how many subsets have fewer, as many and more errors than `rival`, another column."""
    counts: dict[str, dict[str, int]] = {"better": {}, "equal": {}, "worse": {}}
    for method in METHODS:
        pairs = [(row[method], row[rival]) for row in subsets if method in row and rival in row and method != rival]
        if pairs:
            counts["better"][method] = sum(one < other for one, other in pairs)
            counts["equal"][method] = sum(one == other for one, other in pairs)
            counts["worse"][method] = sum(one > other for one, other in pairs)
    return counts

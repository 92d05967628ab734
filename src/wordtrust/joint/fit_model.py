"""Fitting a whole joint model: both halves, then everything that is a subset's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..calibrate.folds import fold_numbers
from ..decode import best_confidence, best_paths
from ..errors import InputError, OptionError
from ..labels import Spoken, label, score_paths
from ..lattice import Lattices
from ..networks import REFERENCE, SPEAKER
from ..scores import Reals
from .evidence import evidence
from .fit import DEFAULT, FitOptions, fit_correction, fit_shared, fit_trust, oracle_arcs
from .model import JointModel, Members, Settings
from .union import Systems, Union
from .weigh import Matrix, Weigher, corrected, inputs, marginals

THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
Tell = Callable[[str], None]


def fit_joint(
    systems: Systems, names: Sequence[str], *, subsets: Sequence[Sequence[str]] | None = None,
    options: FitOptions = DEFAULT, jobs: int = 1, tell: Tell | None = None,
) -> JointModel:  # fmt: skip
    """Fit on held-out utterances with references, for all subsets of two and more unless some are given."""
    _check(systems, names)
    alone = np.array([_own_errors(each) for each in systems.hypotheses])
    best_first = np.argsort(alone, kind="stable").tolist()
    systems, names = systems.order(best_first), [names[number] for number in best_first]
    halves = _Halves.of(systems)
    with ThreadPoolExecutor(jobs) as pool:
        weighers = tuple(pool.map(lambda half: fit_shared(half, options), halves.parts))
        wanted = _numbers(subsets, names)
        fitting = _Subsets(halves.systems, halves.cut, weighers, alone[best_first], options)
        settings = {}
        for members, found in zip(wanted, pool.map(fitting.settings, wanted), strict=True):
            settings[members] = found
            if tell:
                tell(f"{len(settings)} of {len(wanted)} subsets")
    return JointModel(tuple(names), weighers, settings)


def _check(systems: Systems, names: Sequence[str]) -> None:
    if len(names) != len(systems.hypotheses) or len(set(names)) < len(names) or len(names) < 2:
        raise OptionError(f"{len(systems.hypotheses)} recognizers need names of their own, not {', '.join(names)}")
    notes = systems.hypotheses[0].notes
    if REFERENCE not in notes or SPEAKER not in notes or len(set(notes[SPEAKER])) < 2:
        raise InputError(
            "a joint model is fitted on utterances of several speakers with references",
            remedy="Build the networks with: wordtrust build LATTICES --ref REF.tsv --out STORE",
        )


def _numbers(subsets: Sequence[Sequence[str]] | None, names: Sequence[str]) -> list[Members]:
    if subsets is not None:
        known = JointModel(tuple(names), ())
        return list(dict.fromkeys(known.members(each) for each in subsets))
    sizes = range(2, len(names) + 1)
    return [members for size in sizes for members in combinations(range(len(names)), size)]


def _spoken(lattices: Lattices) -> Spoken:
    return Spoken.of([note.split() for note in lattices.notes[REFERENCE]], lattices)


def _own_errors(lattices: Lattices) -> int:
    """The errors of a recognizer's own output."""
    assert lattices.picked is not None
    paths = best_paths(lattices, np.where(lattices.picked, 1.0, -1e6))
    return score_paths(lattices, paths, _spoken(lattices)).errors


@dataclass(frozen=True, slots=True, eq=False)
class _Halves:
    systems: Systems  # the first half, then the second
    cut: int  # utterances of the first
    parts: tuple[Systems, Systems]

    @classmethod
    def of(cls, systems: Systems) -> _Halves:
        speakers = np.array(systems.hypotheses[0].notes[SPEAKER])
        half = fold_numbers(len(speakers), speakers, 2)
        order = np.argsort(half, kind="stable").tolist()
        cut, sorted_systems = int((half == 0).sum()), systems.take(order)
        parts = (
            Systems.of([each[:cut] for each in sorted_systems.hypotheses]),
            Systems.of([each[cut:] for each in sorted_systems.hypotheses]),
        )
        return cls(sorted_systems, cut, parts)


@dataclass(frozen=True, slots=True, eq=False)
class _Subsets:
    """Finds what is each subset's own."""

    systems: Systems
    cut: int
    weighers: Sequence[Weigher]
    alone: NDArray[np.int64]  # [recognizers] errors of each one's own output
    options: FitOptions

    def settings(self, members: Members) -> Settings:
        """Fit one subset and measure it, each half with the model of the other."""
        union = self.systems.union(members)
        x, spoken = inputs(union, evidence(union)), _spoken(union.lattices)
        held_out, corrections = self._held_out(union, x, members)
        tried = [best_confidence(union.lattices, held_out, "gain", threshold=each) for each in THRESHOLDS]
        errors = [score_paths(union.lattices, paths, spoken).errors for paths in tried]
        chosen, words = int(np.argmin(errors)), union.lattices.word > 0
        right = label(union.lattices, spoken) > 0
        best = min(members, key=lambda member: (self.alone[member], member))
        hurts = errors[chosen] >= (1 - self.options.least_gain) * self.alone[best]
        return Settings(
            threshold=THRESHOLDS[chosen],
            alone=best if hurts else None,
            corrections=corrections,
            trust=fit_trust(x[words], held_out[words], right[words], self.options),
            errors=errors[chosen],
            best_member=int(self.alone[best]),
        )

    def _held_out(self, union: Union, x: Matrix, members: Members) -> tuple[Reals, tuple[Matrix, ...]]:
        """The probability of each arc by the model of the other half, and both corrections."""
        lattices, oracle = union.lattices, oracle_arcs(union.lattices)
        silent, arc_cut = lattices.word == 0, int(lattices.arc_offsets[self.cut])
        halves = slice(0, arc_cut), slice(arc_cut, None)
        parts = lattices[: self.cut], lattices[self.cut :]
        held_out, corrections = np.empty(len(x)), []
        for number, (weigher, mine, theirs) in enumerate(zip(self.weighers, halves, halves[::-1], strict=True)):
            potential = weigher.potentials(x, silent, members)
            found = fit_correction(parts[number], x[mine], potential[mine], oracle[mine], self.options)
            better = corrected(potential[theirs], x[theirs], silent[theirs], found)
            held_out[theirs] = marginals(parts[1 - number], better)
            corrections.append(found)
        return held_out, tuple(corrections)

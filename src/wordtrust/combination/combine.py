"""Combine recognizers: measure every subset by every method, and write the combined words.

result = wt.combine({"a": ("model.a", "eval.a"), "b": ("model.b", "eval.b")}, fitted="joint")
result.comparison.better["joint"], result.transcripts[0].text

fitted = wt.fit_combination({"a": ("model.a", "dev.a"), "b": ("model.b", "dev.b")})
fitted.save(Path("joint"))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import OptionError
from ..base.threads import available_cores
from ..confidence.shipped import COMBINATION, folder_of
from ..formats.references.glm import Glm
from ..formats.transcript.records import MODELS
from ..lattices.lattice import Ints
from ..networks.equivalents import Equate
from ..transcripts.transcript import Transcripts
from .combination_file import FittedCombination
from .joint import JointDecoding, JointHypotheses, JointModel, fit_joint, joint_errors
from .nist_rover import vote, vote_errors
from .rover import RoverSettings
from .subset_comparison import SubsetComparison, Subsets, all_subsets, compare_subsets, mean_confidence, select_system
from .system_output import SystemOutputs, chosen_transcripts
from .systems import CombinationInput, FoldModels, ReferenceSource, SystemSource

NO_REFERENCES = (
    "no references: ask for the words (transcripts=True or --transcripts FILE), or build networks with --ref REF.tsv"
)


@dataclass(frozen=True)
class CombinationResult:
    """The error rates of subsets and the combined words, as far as they were wanted and can be had."""

    comparison: SubsetComparison | None  # None where there are no references
    transcripts: Transcripts | None  # of all systems together; None if they were not wanted
    n_fitted_on: int  # utterances that the combination was fitted on: it looks too good on these
    n_references: int  # 0 if there are none
    n_without_output: int  # references that no system has an output for; they are not counted

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the comparison."""
        return {} if self.comparison is None else self.comparison.to_dict()


def combine(
    systems: Mapping[str, SystemSource] | CombinationInput,
    references: ReferenceSource = None,
    *,
    fitted: FittedCombination | str | Path | None = None,
    joint: bool = True,
    subsets: bool = False,
    transcripts: bool = True,
    jobs: int | None = None,
    rules: str | None = None,
    glm: Glm | str | Path | None = None,
    equate: Equate | str | None = None,
    allow_mismatch: bool = False,
) -> CombinationResult:
    """Combine recognizers on the same utterances, by every method there is what it needs for.

    A system is (model, networks), by name or loaded, or words, with or without confidences, which need `references`
    to be measured; new speech needs none, and gets transcripts only. Words without confidences are elected as NIST's
    rover does. `rules`, `glm` and `equate` say how words are compared, as for `evaluate`. `fitted` is what
    `fit_combination` gave, the folder it was saved in, or a shipped one ("joint"); `joint=False` leaves its joint
    network out. `subsets` measures all subsets of two or more systems, not only all together, `jobs` of them at once.
    """
    given = CombinationInput.of(
        systems, references, rules=rules, glm=glm, equate=equate, allow_mismatch=allow_mismatch
    )
    with_joint = joint and given.have_networks
    if isinstance(fitted, str | Path):
        fitted = FittedCombination.load(folder_of(Path(fitted), COMBINATION), with_joint=with_joint)
    if not given.have_references and not transcripts:
        raise OptionError(NO_REFERENCES)
    outputs = given.outputs()
    if fitted is not None:
        fitted.require(outputs.names)
    model = fitted.joint if fitted and with_joint else None
    joined = None if model is None else _Joined(model, given.hypotheses(), outputs.names, transcripts)
    comparison = None
    if given.have_references:
        comparison = _compare(outputs, given.one_best(), fitted, joined, subsets, jobs or available_cores())
    return CombinationResult(
        comparison,
        _transcripts(outputs, fitted, joined) if transcripts else None,
        n_fitted_on=fitted.seen(outputs) if fitted else 0,
        n_references=len(given.references) if given.have_references else 0,
        n_without_output=len(given.references) - len(outputs),
    )


class _Joined:
    """The joint network of some systems. All of them together are decoded once, for errors and for transcripts."""

    def __init__(self, model: JointModel, hypotheses: JointHypotheses, names: Sequence[str], words: bool) -> None:
        self._model, self._hypotheses, self._names = model, hypotheses, names
        self.decoded: JointDecoding | None = model.decode(hypotheses, names) if words else None

    def errors(self, subsets: Subsets, equate: Equate, jobs: int) -> Ints:
        """[2, subsets, utterances], as `joint_errors` has them; subsets are indices into the names."""
        errors = np.empty((2, len(subsets), len(self._hypotheses)), np.int32)
        rows = list(range(len(subsets)))
        if self.decoded is not None:
            errors[:] = self.decoded.errors(equate)[:, np.newaxis]
            rows = [row for row in rows if len(subsets[row]) < len(self._names)]
        counted = [subsets[row] for row in rows]
        errors[:, rows] = joint_errors(self._model, self._hypotheses, self._names, counted, equate=equate, jobs=jobs)
        return errors


def _subsets(n_systems: int, every: bool) -> Subsets:
    return all_subsets(n_systems) if every else [tuple(range(n_systems))]


def _compare(
    outputs: SystemOutputs,
    one_best: SystemOutputs | None,
    fitted: FittedCombination | None,
    joined: _Joined | None,
    every: bool,
    jobs: int,
) -> SubsetComparison:
    subsets = _subsets(len(outputs.names), every)
    if fitted is None and any(output.confidence is None for output in outputs.outputs):
        equated = outputs.leniently
        return compare_subsets(
            outputs,
            subsets,
            one_best=one_best,
            others={"rover": vote_errors(outputs, subsets)},
            lenient_others=None if equated is None else {"rover": vote_errors(equated, subsets)},
        )
    if fitted is None:
        return compare_subsets(outputs, subsets, one_best=one_best, rover=RoverSettings())
    names = [name for name in fitted.order if name in outputs.names]
    settings = fitted.settings(names, subsets)
    others, lenient = dict[str, Ints](), dict[str, Ints]()
    if joined is not None:
        members = [tuple(outputs.names.index(names[member]) for member in subset) for subset in subsets]
        others["joint"], lenient["joint"] = joined.errors(members, outputs.equate, jobs)
    return compare_subsets(
        outputs.subset(names),
        subsets,
        one_best=None if one_best is None else one_best.subset(names),
        rover=settings,
        informed=fitted.informed,
        others=others,
        lenient_others=lenient,
    )


def _transcripts(outputs: SystemOutputs, fitted: FittedCombination | None, joined: _Joined | None) -> Transcripts:
    """The words of the joint network, or of the system chosen for each utterance, or those that win a vote."""
    if joined is not None and joined.decoded is not None:
        made_by = {MODELS: [fitted.name]} if fitted is not None and fitted.name else {}
        return Transcripts(joined.decoded.transcripts(), about=made_by)
    if any(output.confidence is None for output in outputs.outputs):
        elected = replace(outputs, names=("vote",), outputs=(vote(outputs),))
        return Transcripts(chosen_transcripts(elected, [0] * len(outputs)))
    everyone = [tuple(range(len(outputs.names)))]
    if fitted is not None:
        chosen = fitted.informed.choose(outputs, everyone)[0]
    else:
        calibrated = all(output.calibrated is not None for output in outputs.outputs)
        chosen = select_system(mean_confidence(outputs, calibrated=calibrated), everyone)[0]
    return Transcripts(chosen_transcripts(outputs, chosen.tolist()))


def fit_combination(
    systems: Mapping[str, SystemSource] | CombinationInput,
    references: ReferenceSource = None,
    *,
    fold_models: FoldModels | None = None,
    joint: bool = True,
    subsets: bool = False,
    jobs: int | None = None,
    draft: Path | None = None,
    notify: Callable[[str], None] | None = None,
    allow_mismatch: bool = False,
) -> FittedCombination:
    """Fit ROVER's settings, the error regression and the joint network on held-out data with references.

    The models must not have been trained on these speakers; or give `fold_models`, trained without a fold of
    speakers each. `subsets` fits for all subsets of two or more systems, not only for all together. The joint network
    takes minutes: `draft`, a file, keeps what is done of it, to resume after an interruption.
    """
    given = CombinationInput.of(systems, references, allow_mismatch=allow_mismatch)
    if fold_models:
        sources = {name: system.source for name, system in given.systems.items()}
        given = given.with_data(sources, fold_models, allow_mismatch=allow_mismatch)
    if not given.have_references:
        raise OptionError("words alone (NAME=FILE) need references (--ref REF.tsv) to fit on; or give networks")
    held_out = given.outputs()
    fitted_subsets = _subsets(len(held_out.names), subsets)
    fitted = FittedCombination.fit(held_out, fitted_subsets)
    if not (joint and given.have_networks):
        return fitted
    if notify:
        notify("fitting the joint network, which takes minutes ...")
    named = [[held_out.names[member] for member in subset] for subset in fitted_subsets]
    model = fit_joint(
        given.hypotheses(), held_out.names, subsets=named, jobs=jobs or available_cores(), draft=draft,
        notify=None if notify is None else lambda done: notify(f"fitted {done}"),
    )  # fmt: skip
    return replace(fitted, joint=model)

"""Several recognizers as a command names them: models with their networks, or files of words with confidences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ..base.errors import OptionError
from ..confidence.calibrate_model import OutOfFoldScorer
from ..confidence.calibrate_scores import load_calibrator
from ..confidence.calibration import Calibrator
from ..confidence.word_scorer import WordScorer, load
from ..formats import stream
from ..formats.references import Reference, read_references
from ..lattices.lattice import Floats, Lattices, concatenate
from ..lattices.paths import Paths
from ..lattices.vocabulary import Vocabulary
from ..networks.build_store import REFERENCE
from . import joint
from .joint import hypotheses
from .system_output import Missing, SystemOutput, SystemOutputs, concatenate_outputs, references_of


@dataclass(frozen=True)
class System:
    """One recognizer and what to run it on; without a scorer, its words are taken as they are.

    On data to fit on, speakers are scored by that of the `folds` which was trained without them.
    """

    scorer: WordScorer | None
    calibrator: Calibrator | None
    folds: tuple[WordScorer, ...]
    path: str | tuple[str, ...]

    @cached_property
    def batches(self) -> list[Lattices]:
        """The networks, or the words."""
        batches = stream(self.path)
        return list(batches if self.scorer is None else map(self.scorer.networks, batches))

    @cached_property
    def _scored(self) -> list[tuple[Lattices, Floats, Paths]]:
        """The networks with their confidences, and the best-confidence words."""
        assert self.scorer is not None
        found, folds = [], OutOfFoldScorer(self.scorer, self.folds)
        for networks in self.batches:
            confidence = folds.confidence(networks)
            found.append((networks, confidence, self.scorer.choice.paths(networks, confidence)))
        return found

    def outputs(self) -> SystemOutput:
        """The best-confidence words, calibrated where the model is; or the words of the file."""
        if self.scorer is None:
            found, curve = concatenate_outputs(map(SystemOutput.one_best, self.batches)), self.calibrator
        else:
            found, calibration = (
                concatenate_outputs(SystemOutput.of(*each) for each in self._scored),
                self.scorer.calibration,
            )
            curve = calibration.parts["words"] if calibration else None
        return found if curve is None else found.with_calibrated(curve)

    def hypotheses(self, vocabulary: Vocabulary) -> Lattices:
        """All that the recognizer holds possible, for the joint network."""
        return concatenate(hypotheses(*each, vocabulary) for each in self._scored)

    def printed(self) -> SystemOutput:
        """What the recognizer itself would print."""
        return concatenate_outputs(map(SystemOutput.one_best, self.batches))


@dataclass(frozen=True)
class CombinationInput:
    """All of them, by name, and what was really said."""

    systems: Mapping[str, System]
    ref: Path | None
    folds: Mapping[str, tuple[WordScorer, ...]]  # for data that the models were trained on

    @classmethod
    def of(
        cls,
        named: Mapping[str, str],
        ref: Path | None,
        folds: Sequence[tuple[str, str]] = (),
        *,
        allow_mismatch: bool,
    ) -> CombinationInput:
        """From MODEL,STORE or FILE by name; `folds` are models trained without a fold of speakers, by name."""

        def scorer(model: str) -> WordScorer:
            return load(model, allow_mismatch=allow_mismatch)

        found = {}
        for name, value in named.items():
            model, comma, store = value.partition(",")
            if not comma:
                found[name] = System(None, None, (), value)
            elif Path(model).is_file():
                found[name] = System(None, load_calibrator(Path(model)), (), store)
            else:
                found[name] = System(scorer(model), None, (), store)
        if any(system.scorer is None for system in found.values()) and ref is None:
            raise OptionError("NAME=FILE needs the references: --ref REF.tsv (or give NAME=MODEL,STORE)")
        lacking = [name for name in found if folds and name not in {owner for owner, _ in folds}]
        strange = {owner for owner, _ in folds} - set(found)
        if strange:
            raise OptionError(f"--fold-model names {min(strange)!r}, which is no recognizer here")
        if lacking:
            raise OptionError(f"--fold-model is needed for every recognizer or for none; {lacking[0]} has none")
        return cls(
            found, ref, {name: tuple(scorer(path) for owner, path in folds if owner == name) for name in found}
        )

    def on(self, stores: Mapping[str, str]) -> CombinationInput:
        """The same recognizers on data to fit on, every speaker scored by a model that never saw them."""
        if set(stores) != set(self.systems):
            raise OptionError(f"--fit needs one NAME=STORE for each of {', '.join(self.systems)}")
        moved = {
            name: replace(each, path=stores[name], folds=self.folds[name]) for name, each in self.systems.items()
        }
        return CombinationInput(moved, self.ref, self.folds)

    @cached_property
    def references(self) -> Mapping[str, Reference]:
        """From the file that was named, or from the networks."""
        if self.ref is not None:
            return read_references(self.ref)
        first = next(iter(self.systems.values()))
        if not self.have_references:
            return {utt: Reference(utt, "", ()) for networks in first.batches for utt in networks.utts}
        return {utt: each for networks in first.batches for utt, each in references_of(networks).items()}

    @cached_property
    def have_references(self) -> bool:
        """Whether it is known what was said; without it words can be chosen, but not measured."""
        first = next(iter(self.systems.values()))
        return self.ref is not None or any(REFERENCE in networks.notes for networks in first.batches)

    def together(self) -> SystemOutputs:
        """The outputs side by side."""
        missing: Missing = "error" if self.have_networks else "empty"
        outputs = {name: system.outputs() for name, system in self.systems.items()}
        return SystemOutputs.of(outputs, self.references, missing=missing)

    @property
    def have_networks(self) -> bool:
        """Whether all of them can be joined in one network."""
        return all(system.scorer for system in self.systems.values())

    def joined(self) -> joint.JointHypotheses:
        """All that they hold possible, side by side."""
        vocabulary = Vocabulary()
        found = [system.hypotheses(vocabulary) for system in self.systems.values()]
        return joint.JointHypotheses.of(joint.matched(found))

    def printed(self) -> SystemOutputs | None:
        """What the recognizers themselves would print, where that is something else."""
        if not self.have_networks:
            return None
        return SystemOutputs.of({name: system.printed() for name, system in self.systems.items()}, self.references)

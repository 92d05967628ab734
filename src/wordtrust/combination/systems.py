"""The systems to combine: recognizers with models and networks, or files of words with confidences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ..base.errors import OptionError
from ..confidence.calibrate_model import OutOfFoldScorer
from ..confidence.calibration import Calibrator
from ..confidence.calibrator_file import load_calibrator
from ..confidence.word_scorer import WordScorer, load
from ..evaluation.evaluation import PathScores
from ..formats import format_names
from ..formats.batches import BatchSource, files_of, read_batches
from ..formats.ctm import names_and_channels
from ..formats.format import ReadOptions
from ..formats.references import Reference, read_references, renamed
from ..formats.references.glm import Glm, read_glm
from ..formats.references.nist_text import NistNormalizer
from ..lattices.lattice import Floats, Lattices, concatenate
from ..lattices.paths import Paths
from ..lattices.text import DEFAULT, Normalizer
from ..lattices.vocabulary import Vocabulary
from ..lattices.weights import Reals
from ..networks.build_store import REFERENCE
from ..networks.equivalents import Equate
from ..networks.segments import BY_WORDS, NIST_FORMATS, Comparison
from ..networks.spoken import without_ignored
from .joint import JointHypotheses, align_utterances, hypotheses
from .system_output import Missing, SystemOutput, SystemOutputs, concatenate_outputs, references_of

# A model (or a calibrator of words) with networks (or words), or words with confidences alone.
SystemSource = tuple[WordScorer | Calibrator | str | Path, BatchSource] | BatchSource
ReferenceSource = Mapping[str, Reference] | str | Path | None
FoldModels = Mapping[str, Sequence[WordScorer | str | Path]]


class _ScoredBatch(NamedTuple):
    """Networks with their confidences, the best-confidence words, and where these lack some."""

    networks: Lattices
    confidence: Floats
    paths: Paths
    of_gaps: PathScores | None

    def missing(self) -> Reals | None:
        """[gaps] how likely words are missing in each gap of the words; None if the model does not tell."""
        return None if self.of_gaps is None else self.of_gaps(self.paths)


@dataclass(frozen=True)
class System:
    """One recognizer and its data; without a scorer, its words are taken as they are.

    Where `fold_scorers` are given, every speaker is scored by the one that was trained without them.
    """

    source: BatchSource
    scorer: WordScorer | None = None
    calibrator: Calibrator | None = None
    fold_scorers: tuple[WordScorer, ...] = ()
    references: Mapping[str, Reference] | None = (
        None  # of words alone: names of utterances, and what is to be ignored
    )
    normalizer: Normalizer = DEFAULT  # of words alone

    @classmethod
    def of(cls, source: SystemSource, *, allow_mismatch: bool = False) -> System:
        """From (model, networks) or (calibrator, words), by name or loaded, or from words alone."""
        if not isinstance(source, tuple):
            return cls(source)
        model, data = source
        if isinstance(model, WordScorer):
            return cls(data, model)
        if not isinstance(model, str | Path):
            return cls(data, calibrator=model)
        if Path(model).is_file():
            return cls(data, calibrator=load_calibrator(Path(model)))
        return cls(data, load(model, allow_mismatch=allow_mismatch))

    @cached_property
    def batches(self) -> list[Lattices]:
        """The networks, or the words."""
        if self.scorer is not None:
            return list(map(self.scorer.networks, read_batches(self.source)))
        batches = read_batches(self.source, options=ReadOptions(for_scoring=True, normalizer=self.normalizer))
        return list(batches if self.references is None else map(self._compared, batches))

    @cached_property
    def is_nist(self) -> bool:
        """Whether these are words alone, in files of NIST's formats."""
        files = None if self.scorer else files_of(self.source)
        return files is not None and format_names(files) <= set(NIST_FORMATS)

    def _compared(self, batch: Lattices) -> Lattices:
        """Words by the names of their references, without those that are to be ignored."""
        assert self.references is not None
        named = renamed(batch, self.references)
        unknown = Reference("", "", ())
        return without_ignored(named, [self.references.get(utt, unknown) for utt in named.utts])

    @cached_property
    def _scored(self) -> list[_ScoredBatch]:
        """The networks with their confidences, and the best-confidence words."""
        assert self.scorer is not None
        scored, folds = [], OutOfFoldScorer(self.scorer, self.fold_scorers)
        for networks in self.batches:
            scores = folds.scores(networks)
            paths = self.scorer.choice.paths(networks, scores.confidence)
            scored.append(_ScoredBatch(networks, scores.confidence, paths, scores.of_gaps))
        return scored

    def output(self) -> SystemOutput:
        """The best-confidence words, calibrated where the model is; or the words of the file."""
        if self.scorer is None:
            output, calibrator = self.one_best(), self.calibrator
        else:
            output = concatenate_outputs(SystemOutput.of(*scored[:3]) for scored in self._scored)
            calibration = self.scorer.calibration
            calibrator = calibration.parts["words"] if calibration else None
        return output if calibrator is None else output.with_calibrated(calibrator)

    def one_best(self) -> SystemOutput:
        """The recognizer's own 1-best."""
        return concatenate_outputs(map(SystemOutput.one_best, self.batches))

    def hypotheses(self, vocabulary: Vocabulary) -> Lattices:
        """The recognizer's hypotheses, for the joint network."""
        return concatenate(hypotheses(*scored[:3], vocabulary, missing=scored.missing()) for scored in self._scored)


@dataclass(frozen=True)
class CombinationInput:
    """The systems to combine, by name, with the references."""

    systems: Mapping[str, System]
    given_references: Mapping[str, Reference] | None = None  # otherwise those of the networks
    missing: Missing | None = None  # what to do with utterances that a system lacks
    how: Comparison = BY_WORDS  # words with references

    @classmethod
    def of(
        cls,
        systems: Mapping[str, SystemSource] | CombinationInput,
        references: ReferenceSource = None,
        *,
        rules: str | None = None,
        glm: Glm | str | Path | None = None,
        equate: Equate | str | None = None,
        allow_mismatch: bool = False,
    ) -> CombinationInput:
        """Load what is given by name; without references, words can be combined but not measured.

        Words of CTM and TRN are compared, with each other and with STM, as NIST's programs do (`rules`: "sclite"),
        others normalised ("wordtrust"); `glm` are NIST's rules for what they are compared with. `equate` says which
        spellings are one vote (all of them, but none by the rules of NIST).
        """
        if isinstance(systems, CombinationInput):
            return systems
        if len(systems) < 2:
            raise OptionError("name two recognizers or more")
        loaded = {name: System.of(source, allow_mismatch=allow_mismatch) for name, source in systems.items()}
        if references is None and len({system.scorer is None for system in loaded.values()}) > 1:
            raise OptionError("words alone (NAME=FILE) need references (--ref REF.tsv); or give models and networks")
        mapping = read_glm(glm) if isinstance(glm, str | Path) else glm
        if isinstance(references, str | Path):
            references = read_references(Path(references), glm=mapping)
        equated = None if equate is None else Equate.parse(equate)
        how = Comparison(rules or _rules(loaded.values(), references), mapping, equate=equated)
        normalizer = NistNormalizer() if how.rules == "sclite" else DEFAULT
        read = {name: replace(one, references=references, normalizer=normalizer) for name, one in loaded.items()}
        return cls(read, references, how=how)

    def with_data(
        self,
        sources: Mapping[str, BatchSource],
        fold_models: FoldModels | None = None,
        *,
        allow_mismatch: bool = False,
    ) -> CombinationInput:
        """The same systems on data to fit on; `fold_models` are trained without a fold of speakers each."""
        folds = fold_models or {}
        if set(sources) != set(self.systems):
            raise OptionError(f"--fit (sources) needs one NAME=STORE for each of {', '.join(self.systems)}")
        unknown = set(folds) - set(self.systems)
        if unknown:
            raise OptionError(f"--fold-model (fold_models) names {min(unknown)!r}, which is no recognizer here")
        lacking = [name for name in self.systems if folds and not folds.get(name)]
        if lacking:
            raise OptionError(
                f"--fold-model (fold_models) is for every recognizer or for none; {lacking[0]} has none"
            )

        def scorer(model: WordScorer | str | Path) -> WordScorer:
            return model if isinstance(model, WordScorer) else load(model, allow_mismatch=allow_mismatch)

        moved = {
            name: replace(system, source=sources[name], fold_scorers=tuple(map(scorer, folds.get(name, ()))))
            for name, system in self.systems.items()
        }
        return replace(self, systems=moved)

    @property
    def _first(self) -> System:
        return next(iter(self.systems.values()))

    @cached_property
    def references(self) -> Mapping[str, Reference]:
        """Those that were given, or those of the networks; empty ones where there are none."""
        if self.given_references is not None:
            return self.given_references
        if not self.have_references:
            every = (networks.utts for system in self.systems.values() for networks in system.batches)
            return {utt: Reference(utt, "", ()) for utts in every for utt in utts}
        return {
            utt: reference for networks in self._first.batches for utt, reference in references_of(networks).items()
        }

    @cached_property
    def have_references(self) -> bool:
        """Whether there are references; without, words can be chosen but not measured."""
        return self.given_references is not None or any(
            REFERENCE in networks.notes for networks in self._first.batches
        )

    @property
    def have_networks(self) -> bool:
        """Whether all systems have networks, which can be joined."""
        return all(system.scorer for system in self.systems.values())

    def channels(self) -> dict[str, tuple[str, str]]:
        """The file and channel of recordings, where words or references (STM) have them: for writing CTM."""
        batches = [batch for system in self.systems.values() for batch in system.batches]
        own = {utt: place for batch in batches for utt, place in names_and_channels(batch).items()}
        known = ((utt, reference.channel) for utt, reference in (self.given_references or {}).items())
        return own | {utt: (utt.removesuffix(f"-{channel}"), channel) for utt, channel in known if channel}

    def outputs(self) -> SystemOutputs:
        """The outputs of all systems side by side."""
        missing = self.missing or ("error" if self.have_networks else "empty")
        outputs = {name: system.output() for name, system in self.systems.items()}
        return SystemOutputs.of(outputs, self.references, missing=missing, how=self.how)

    def one_best(self) -> SystemOutputs | None:
        """The recognizers' own 1-best side by side, where that differs from their outputs."""
        if not self.have_networks:
            return None
        outputs = {name: system.one_best() for name, system in self.systems.items()}
        return SystemOutputs.of(outputs, self.references, missing=self.missing or "error", how=self.how)

    def hypotheses(self) -> JointHypotheses:
        """The hypotheses of all systems, for the joint network."""
        vocabulary = Vocabulary()
        networks = [system.hypotheses(vocabulary) for system in self.systems.values()]
        return JointHypotheses.of(align_utterances(networks))


def _rules(systems: Iterable[System], references: Mapping[str, Reference] | None) -> str:
    """NIST's rules for NIST's formats, as `evaluate` has it."""
    plain = references is not None and not any(reference.segments for reference in references.values())
    return "wordtrust" if plain or not all(system.is_nist for system in systems) else "sclite"

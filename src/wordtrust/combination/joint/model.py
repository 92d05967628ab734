"""The joint model: weighs the evidence of any subset of the recognizers it was fitted for, and decodes their union.

It has one set of weights for each fold of the speakers it was fitted on. How many errors a subset makes, and whether
it reliably beats its best member, was measured on each fold with the weights that have not seen it; where it does
not, the best member's own output stands. New utterances get the mean over all folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from ...base.arrays import concatenate_offsets
from ...base.errors import OptionError
from ...confidence.calibration import Calibrator
from ...confidence.estimation.held_out import KnownOfOutputs
from ...lattices.lattice import Flags, Ints, Lattices, concatenate
from ...lattices.paths import Paths, best_paths
from ...lattices.posterior import FlatGraph
from ...lattices.weights import Reals
from ...networks.build_store import noted_references
from ...networks.equivalents import NONE, Equate
from ...networks.gaps import Gaps
from ...networks.labels import score_paths
from ...networks.text_probability import text_probability
from ...transcripts.transcript import ALTERNATIVES, Transcripts, transcripts
from .arc_models import ConfidenceModel, Matrix, PotentialModel, inputs, marginals
from .evidence import evidence
from .gap_evidence import gap_evidence, gap_inputs
from .gap_model import GapModel
from .union import JointHypotheses, JointLattice

Members = tuple[int, ...]  # indices of recognizers, sorted; the best recognizer of a model is the first
THRESHOLD = 0.25
BATCH = 1000  # utterances that are joined at a time: about 200 MB
MARGIN = 0.1  # what the words of the best member count more: changes that gain less are more risk than gain
_OFF_PATH = -1e6


@dataclass(frozen=True, slots=True)
class SubsetSettings:
    """What was measured for a subset on held-out data."""

    alone: bool = False  # whether the best member's own output stands
    errors: int = 0  # word errors of the joint output
    best_member: int = 0  # word errors of the best member
    deviation: float = 0.0  # standard error of the difference, over speakers


@dataclass(frozen=True, slots=True, eq=False)
class JointDecoding:
    """The union of some recognizers, the confidence of each arc given all of them, and the chosen words."""

    lattices: Lattices
    confidence: Reals  # [arcs] those of the arcs that cross an instant sum to at most 1
    paths: Paths
    names: tuple[str, ...]  # the recognizers, the best first
    on_one_best: Flags  # [arcs, recognizers] on a recognizer's own 1-best
    correct: Reals  # [utterances] how likely the chosen words are right, all of them, and none is missing
    missing: Reals | None = (
        None  # [gaps] how likely words are missing in each gap of the chosen words, if that is told
    )
    words: Calibrator | None = None  # of the confidences that are shown

    @classmethod
    def concatenate(cls, parts: Sequence[JointDecoding]) -> JointDecoding:
        """Join utterances that the same recognizers decoded in several parts."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            concatenate(part.lattices for part in parts),
            np.concatenate([part.confidence for part in parts]),
            Paths(
                concatenate_offsets(part.paths.offsets for part in parts),
                np.concatenate([part.paths.arcs for part in parts]),
            ),
            parts[0].names,
            np.concatenate([part.on_one_best for part in parts]),
            np.concatenate([part.correct for part in parts]),
            None
            if parts[0].missing is None
            else np.concatenate([part.missing for part in parts if part.missing is not None]),
            parts[0].words,
        )

    def one_best(self, name: str) -> Paths:
        """A recognizer's own 1-best as paths through the union, to see how confident all together are of it."""
        return best_paths(self.lattices, np.where(self.on_one_best[:, self.names.index(name)], 1.0, _OFF_PATH))

    def transcripts(
        self, *, alternatives: int = ALTERNATIVES, show: Callable[[Reals], Reals] | None = None
    ) -> Transcripts:
        """The chosen words with their confidences, calibrated; or turned into those that are shown by `show`."""
        return transcripts(
            self.lattices, self.confidence, self.paths, alternatives=alternatives, show=show or self._calibrated,
            missing=self.missing, correct=self.correct,
        )  # fmt: skip

    def _calibrated(self, confidence: Reals) -> Reals:
        if self.words is None or not len(confidence):
            return confidence
        return self.words.predict(np.clip(confidence, 0.0, 1.0))

    def errors(self, equate: Equate | None = None) -> Ints:
        """[2, utterances] word errors of the chosen words, as they are written and with spellings equated.

        The recognizers' networks must carry references. Without `equate`, what their labels equate is equated.
        """
        spoken = noted_references(self.lattices, equate)
        counted = (score_paths(self.lattices, self.paths, words) for words in (spoken.strict, spoken))
        return np.stack([scored.alignments.errors for scored in counted])


@dataclass(frozen=True, slots=True, eq=False)
class WeighedUnion:
    """The words that were chosen in a union; and by each fold, the share of each arc and the chance of its word."""

    paths: Paths
    by_fold: tuple[tuple[Reals, Reals], ...]

    @property
    def confidence(self) -> Reals:
        """[arcs] the mean over all folds."""
        return np.asarray(np.mean([share * chance for share, chance in self.by_fold], axis=0))

    def text_probability(self, union: JointLattice) -> Reals:
        """[utterances] how likely the chosen words are all that was said, the mean over all folds."""
        by_fold = [text_probability(union.lattices, share, self.paths, chance) for share, chance in self.by_fold]
        return np.asarray(np.mean(by_fold, axis=0))

    def gap_inputs(self, union: JointLattice) -> list[Matrix]:
        """By each fold, the inputs of the gap model for the gaps of the chosen words."""
        gaps = Gaps.of(union.lattices, self.paths)
        said = gap_evidence(union, gaps)
        return [gap_inputs(union, gaps, said, share, chance) for share, chance in self.by_fold]


@dataclass(frozen=True, slots=True, eq=False)
class JointModel:
    """A fitted joint model."""

    names: tuple[str, ...]  # the recognizers, the best first
    potential_models: tuple[PotentialModel, ...]  # one for each fold
    confidence_models: tuple[ConfidenceModel, ...] = ()  # one for each fold; without, marginals are confidences
    threshold: float = THRESHOLD
    settings: Mapping[Members, SubsetSettings] = field(default_factory=dict)
    card: Mapping[str, object] = field(default_factory=dict)
    whole_utterances: Calibrator | None = None  # of the probability that all words are right, and none is missing
    spelling: tuple[float, ...] = ()  # votes of each recognizer on how a word is written; without, one each
    gap_models: tuple[GapModel, ...] = ()  # one for each fold; without, it does not tell where words are missing
    gaps: Calibrator | None = None  # of the probability that words are missing in a gap
    words: Calibrator | None = None  # of the confidences that are shown
    known: KnownOfOutputs = field(default_factory=KnownOfOutputs)  # how many errors its outputs have

    def union(self, systems: JointHypotheses, members: Members) -> JointLattice:
        """The union of `systems`, which are these members, the best first; written as most of them write."""
        votes = [self.spelling[member] for member in members] if self.spelling else ()
        return systems.union(range(len(members)), spelling=votes)

    def decode(self, systems: JointHypotheses, names: Sequence[str]) -> JointDecoding:
        """Decode recognizers together; `names` are those of `systems`, in any order."""
        return JointDecoding.concatenate(list(self.decode_parts(systems, names)))

    def decode_parts(self, systems: JointHypotheses, names: Sequence[str]) -> Iterator[JointDecoding]:
        """Like `decode`, a batch of utterances at a time."""
        members = self.members(names)
        ordered = systems.order([list(names).index(self.names[member]) for member in members])
        return (self._decode(batch, members) for batch in ordered.batches(BATCH))

    def _decode(self, systems: JointHypotheses, members: Members) -> JointDecoding:
        """Decode just these recognizers, the best first."""
        union, weighed = self.weighed(systems, members)
        correct = weighed.text_probability(union)
        if self.whole_utterances is not None and len(correct):
            correct = self.whole_utterances.predict(np.clip(correct, 0.0, 1.0))
        names = tuple(self.names[member] for member in members)
        return JointDecoding(
            union.lattices, weighed.confidence, weighed.paths, names, union.in_one_best, correct,
            self._missing(union, weighed, members), self.words,
        )  # fmt: skip

    def weighed(self, systems: JointHypotheses, members: Members) -> tuple[JointLattice, WeighedUnion]:
        """The union of just these recognizers, the best first, with the probabilities of its arcs and its words."""
        union = self.union(systems, members)
        x, silent = inputs(union, evidence(union)), union.lattices.word == 0
        flat = FlatGraph.of(union.lattices)
        potentials = [model.potentials(x, silent, members) for model in self.potential_models]
        marginal = marginals(flat, np.mean(potentials, axis=0))
        alone = len(members) == 1 or self.settings.get(members, SubsetSettings()).alone
        paths = best_member_paths(union) if alone else best_words(union, marginal, self.threshold)
        by_fold = [model.share_and_chance(flat, x, silent, members) for model in self.confidence_models]
        return union, WeighedUnion(paths, tuple(by_fold) or ((marginal, np.ones(len(marginal))),))

    def _missing(self, union: JointLattice, weighed: WeighedUnion, members: Members) -> Reals | None:
        """[gaps] how likely words are missing, the mean over all folds; None without models of gaps."""
        if not self.gap_models:
            return None
        by_fold = zip(self.gap_models, weighed.gap_inputs(union), strict=True)
        missing: Reals = np.mean([model.probability(x, members) for model, x in by_fold], axis=0)
        return missing if self.gaps is None or not len(missing) else self.gaps.predict(missing)

    def members(self, names: Sequence[str]) -> Members:
        """The indices of recognizers, sorted."""
        for name in names:
            if name not in self.names:
                raise OptionError(f"the joint model does not know {name!r}, but: {', '.join(self.names)}")
        if len(set(names)) < len(names) or not names:
            raise OptionError(f"recognizers are joined once each, not {', '.join(names) or 'none'}")
        return tuple(sorted(self.names.index(name) for name in names))


def best_member_paths(union: JointLattice) -> Paths:
    """The output of the first recognizer, the best one."""
    return best_paths(union.lattices, np.where(union.in_output[:, 0], 1.0, _OFF_PATH))


def best_words(union: JointLattice, marginal: Reals, threshold: float) -> Paths:
    """The words that gain most over the threshold, with a small bonus for those of the best member."""
    gain = np.where(union.lattices.word == 0, 0.0, marginal - threshold)
    return best_paths(union.lattices, gain + MARGIN * union.in_output[:, 0])


def errors_by_utterance(lattices: Lattices, paths: Paths) -> Ints:
    """[utterances] word errors of paths through networks that carry their references, as words are written."""
    return score_paths(lattices, paths, noted_references(lattices, NONE)).alignments.errors


def joint_errors(
    model: JointModel, systems: JointHypotheses, names: Sequence[str], subsets: Sequence[Sequence[int]], *,
    equate: Equate | None = None, jobs: int = 1, notify: Callable[[int], None] | None = None,
) -> Ints:  # fmt: skip
    """[2, subsets, utterances] word errors of the joint output of every subset, as `JointDecoding.errors` has them.

    Subsets are indices into `names`, which are those of `systems`; `notify` is called with how many are done.
    """
    errors = np.empty((2, len(subsets), len(systems)), np.int32)
    words_only = replace(
        model, confidence_models=(), whole_utterances=None, gap_models=()
    )  # only words are counted, and confidences take as long

    def count(subset: Sequence[int]) -> Ints:
        parts = words_only.decode_parts(systems.order(subset), [names[system] for system in subset])
        return np.concatenate([part.errors(equate) for part in parts], axis=1)

    with ThreadPoolExecutor(jobs) as pool:
        for row, counted in enumerate(pool.map(count, subsets)):
            errors[:, row] = counted
            if notify:
                notify(row + 1)
    return errors

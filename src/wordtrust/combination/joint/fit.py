"""Fit a joint model on held-out utterances with references, in folds of speakers.

For each fold, weights are fitted on the other folds: every step takes other utterances and another subset of
recognizers. Then a threshold is chosen, and every subset is measured, each fold with the weights that have not seen
its speakers. Last, what is known about outputs as a whole is fitted, out of fold too: the probability that all of one
is right, and the rest of it (`fit_outputs`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ...base.errors import InputError, OptionError
from ...base.folds import balanced_folds
from ...confidence.calibration import Calibrator, Platt
from ...lattices.lattice import Flags, Ints, Lattices
from ...lattices.paths import one_best
from ...lattices.posterior import FlatGraph
from ...lattices.weights import Reals
from ...networks.build_store import REFERENCE, SPEAKER, noted_references
from ...networks.labels import score_paths
from .arc_models import ConfidenceModel, Layers, PotentialModel, inputs, marginals
from .evidence import evidence
from .fit_options import DEFAULT, Adam, FitOptions
from .fit_outputs import with_outputs
from .model import BATCH, JointModel, Members, SubsetSettings, best_words, errors_by_utterance
from .model_file import load_joint, save_joint
from .objective import Batch, UnionExample, confidence_gradients, examples, word_gradients
from .union import JointHypotheses, JointLattice

THRESHOLDS = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
MAX_UNIONS = 80_000  # utterances of all unions together that are kept: about 1 GB
_SAMPLED_SUBSETS = 24  # that the threshold is chosen on, and utterances are calibrated on
_SUBSETS_PER_DRAFT = 32  # what an interruption may cost
_OPEN = "open"  # marks a draft whose threshold has not been chosen
Notify = Callable[[str], None]


def fit_potentials(
    batches: Sequence[Batch], systems: int, options: FitOptions = DEFAULT, *, seed: int = 0
) -> PotentialModel:
    """Fit the weights of paths for every subset of so many recognizers, which are in the order of their quality."""
    random, model = np.random.default_rng([options.seed, seed]), PotentialModel.new(systems, options.hidden, seed)

    def gradients(example: UnionExample) -> list[Layers]:
        return word_gradients(model, example, options.risk)[1]

    _descend((model.word, model.silence), gradients, batches, options.epochs, options, random)
    return model


def fit_confidences(
    batches: Sequence[Batch], systems: int, options: FitOptions = DEFAULT, *, seed: int = 0
) -> ConfidenceModel:
    """Fit the weights of confidences for every subset of so many recognizers."""
    random = np.random.default_rng([options.seed, seed])
    paths = PotentialModel.new(systems, options.hidden, seed)
    model = ConfidenceModel(paths, Layers.new(len(paths.word.skip), options.hidden, random))

    def gradients(example: UnionExample) -> list[Layers]:
        return confidence_gradients(model, example)[1]

    layers = (paths.word, paths.silence, model.right)
    _descend(layers, gradients, batches, options.confidence_epochs, options, random)
    return model


def _descend(
    layers: Sequence[Layers], gradients: Callable[[UnionExample], list[Layers]], batches: Sequence[Batch],
    epochs: int, options: FitOptions, random: np.random.Generator,
) -> None:  # fmt: skip
    """Fit weights in place: every batch once in an epoch, joined from any of its subsets."""
    optimisers = [Adam(part, options, epochs * len(batches)) for part in layers]
    for _ in range(epochs):
        for index in random.permutation(len(batches)).tolist():
            example = batches[index][int(random.integers(len(batches[index])))]
            for optimiser, gradient in zip(optimisers, gradients(example), strict=True):
                optimiser.step(gradient)


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutFolds:
    """The utterances of all folds, one fold after the other, with the errors of each recognizer alone."""

    folds: Sequence[JointHypotheses]
    alone: Ints  # [recognizers, utterances] errors of each recognizer's own output
    speaker: NDArray[np.int64]  # [utterances]

    @classmethod
    def of(cls, folds: Sequence[JointHypotheses]) -> HeldOutFolds:
        """Count the errors of each recognizer."""
        alone = [np.stack([output_errors(lattices) for lattices in fold.hypotheses]) for fold in folds]
        names = [name for fold in folds for name in fold.hypotheses[0].notes[SPEAKER]]
        return cls(folds, np.concatenate(alone, axis=1), np.unique(names, return_inverse=True)[1])

    def errors(self, model: JointModel, members: Members, thresholds: Sequence[float]) -> Ints:
        """[thresholds, utterances] word errors of the joint output, each fold by the weights fitted without it."""
        errors = []
        for fold, potentials in zip(self.folds, model.potential_models, strict=True):
            for part in fold.order(members).batches(BATCH):
                errors.append(_errors(model.union(part, members), potentials, members, thresholds))
        return np.concatenate(errors, axis=1)

    def settings(self, model: JointModel, members: Members, least_gain: float) -> SubsetSettings:
        """What a subset gains over its best member, and whether that is reliable."""
        best, errors = self.alone[members[0]], self.errors(model, members, [model.threshold])[0]
        gain = np.bincount(self.speaker, best - errors)
        deviation = float(np.sqrt(np.square(gain).sum()))
        alone = not gain.sum() > max(0.0, least_gain * deviation)
        return SubsetSettings(alone, int(errors.sum()), int(best.sum()), deviation)

    def whole_utterances(self, model: JointModel, members: Members) -> tuple[Reals, Flags]:
        """[utterances] how likely the joint output is right as a whole, by the weights of its fold; and if it is."""
        names, said, right = [model.names[member] for member in members], list[Reals](), list[Flags]()
        weights = zip(model.potential_models, model.confidence_models, strict=True)
        for fold, (potentials, confidences) in zip(self.folds, weights, strict=True):
            own = replace(model, potential_models=(potentials,), confidence_models=(confidences,))
            for decoded in own.decode_parts(fold.order(members), names):
                spoken = noted_references(decoded.lattices)
                said.append(decoded.correct)
                right.append(score_paths(decoded.lattices, decoded.paths, spoken).alignments.errors == 0)
        return np.concatenate(said), np.concatenate(right)


def output_errors(hypotheses: Lattices) -> Ints:
    """[utterances] word errors of a recognizer's own output."""
    return errors_by_utterance(hypotheses, one_best(hypotheses))


def spelling_votes(systems: JointHypotheses) -> tuple[float, ...]:
    """For each recognizer, the odds that its spelling is that of the reference where recognizers differ in it."""
    spelled = []
    for lattices in systems.hypotheses:
        references = noted_references(lattices)
        said = score_paths(lattices, one_best(lattices), references)
        right, word = said.alignments.correct, np.full(len(references.words), -1, np.int32)
        first = references.offsets[said.words.utterance_of_arc[right]]
        word[first + said.alignments.reference[right]] = lattices.word[said.words.arcs_in(lattices)[right]]
        spelled.append(word)
    table = np.stack(spelled)
    least = np.where(table < 0, np.iinfo(np.int32).max, table).min(axis=0)
    differs = (table >= 0) & (table.max(axis=0) > least)
    same = differs & (table == references.words)
    odds: Reals = (same.sum(axis=1) + 1) / (differs.sum(axis=1) - same.sum(axis=1) + 1)
    return tuple(odds.tolist())


def _errors(union: JointLattice, model: PotentialModel, members: Members, thresholds: Sequence[float]) -> Ints:
    """[thresholds, utterances] word errors of one model's decoding of a union."""
    x, silent = inputs(union, evidence(union)), union.lattices.word == 0
    marginal = marginals(FlatGraph.of(union.lattices), model.potentials(x, silent, members))
    tried = [best_words(union, marginal, threshold) for threshold in thresholds]
    return np.stack([errors_by_utterance(union.lattices, paths) for paths in tried])


def fit_joint(
    systems: JointHypotheses, names: Sequence[str], *, subsets: Sequence[Sequence[str]] | None = None,
    options: FitOptions = DEFAULT, jobs: int = 1, notify: Notify | None = None, draft: Path | None = None,
) -> JointModel:  # fmt: skip
    """Fit on held-out utterances with references, for all subsets of two and more unless some are given.

    With `draft`, a file, finished work is saved there and resumed from there after an interruption: weights,
    confidences, threshold, then some subsets at a time.
    """
    _check(systems, names)
    alone = np.array([output_errors(lattices).sum() for lattices in systems.hypotheses])
    best_first = np.argsort(alone, kind="stable").tolist()
    systems, names = systems.order(best_first), [names[system] for system in best_first]
    wanted, report = _members(subsets, names), notify or (lambda _: None)
    key = _draft_key(systems, names, options)
    folds = speaker_folds(systems, options.folds)
    with ThreadPoolExecutor(jobs) as pool:
        unfitted = JointModel(tuple(names), (), card={"key": key, _OPEN: True}, spelling=spelling_votes(systems))
        begun = _load_draft(draft, key) or unfitted
        held_out = HeldOutFolds.of(folds)
        model = begun if begun.confidence_models else _fit_folds(begun, folds, options, pool, report, draft)
        if _OPEN in model.card:
            model = replace(model, threshold=_threshold(model, held_out, wanted, pool), card={"key": key})
            _save_draft(model, draft)
        missing = [members for members in wanted if members not in model.settings]
        for first in range(0, len(missing), _SUBSETS_PER_DRAFT):
            chosen = missing[first : first + _SUBSETS_PER_DRAFT]
            measured = pool.map(partial(held_out.settings, model, least_gain=options.least_gain), chosen)
            settings = dict(zip(chosen, measured, strict=True))
            model = replace(model, settings={**model.settings, **settings})
            _save_draft(model, draft)
            report(f"{len(model.settings)} of {len(wanted)} subsets")
        model = replace(model, whole_utterances=_utterance_calibrator(model, held_out, wanted, pool))
        report("where words are missing, and how many errors there are")
        model = with_outputs(model, folds, wanted, options, pool)
    return replace(model, settings={members: model.settings[members] for members in wanted}, card={})


def _utterance_calibrator(
    model: JointModel, held_out: HeldOutFolds, subsets: Sequence[Members], pool: Executor
) -> Calibrator:
    """One for all subsets, fitted on a sample of them and on the last, which is the largest of all there are."""
    sample = [*_sampled(subsets)[:-1], subsets[-1]]
    said, right = zip(*pool.map(partial(held_out.whole_utterances, model), sample), strict=True)
    groups = np.tile(held_out.speaker, len(sample))
    return Platt().fit(np.clip(np.concatenate(said), 0.0, 1.0), np.concatenate(right), groups=groups)


def _sampled(subsets: Sequence[Members]) -> Sequence[Members]:
    return subsets[:: max(1, len(subsets) // _SAMPLED_SUBSETS)]


def _check(systems: JointHypotheses, names: Sequence[str]) -> None:
    if len(names) != len(systems.hypotheses) or len(set(names)) < len(names) or len(names) < 2:
        raise OptionError(f"{len(systems.hypotheses)} recognizers need names of their own, not {', '.join(names)}")
    notes = systems.hypotheses[0].notes
    if REFERENCE not in notes or SPEAKER not in notes or len(set(notes[SPEAKER])) < 2:
        raise InputError(
            "a joint model is fitted on utterances of several speakers with references",
            remedy="Build the networks with: wordtrust build LATTICES --ref REF.tsv --out STORE",
        )


def _members(subsets: Sequence[Sequence[str]] | None, names: Sequence[str]) -> list[Members]:
    if subsets is not None:
        unfitted = JointModel(tuple(names), ())
        return list(dict.fromkeys(unfitted.members(subset) for subset in subsets))
    sizes = range(2, len(names) + 1)
    return [members for size in sizes for members in combinations(range(len(names)), size)]


def speaker_folds(systems: JointHypotheses, folds: int) -> list[JointHypotheses]:
    """The utterances of each fold of speakers."""
    speakers = np.array(systems.hypotheses[0].notes[SPEAKER])
    fold = balanced_folds(len(speakers), speakers, folds)
    return [systems.take(np.flatnonzero(fold == index).tolist()) for index in range(int(fold.max()) + 1)]


def _fit_folds(
    model: JointModel, folds: Sequence[JointHypotheses], options: FitOptions, pool: Executor, notify: Notify,
    draft: Path | None,
) -> JointModel:  # fmt: skip
    """Fit weights for every fold, each without it; weights that a draft has already stay."""
    systems, utterances = len(folds[0].hypotheses), sum(map(len, folds))
    random, unions = np.random.default_rng(options.seed), max(1, min(options.unions, MAX_UNIONS // utterances))
    joined = [examples(fold, options.batch, unions, random, pool) for fold in folds]
    notify(f"{unions} unions of each of {utterances:,} utterances")

    def others(fold: int) -> list[Batch]:
        return [batch for other, batches in enumerate(joined) if other != fold for batch in batches]

    indices = range(len(folds))
    if not model.potential_models:
        fitted = pool.map(lambda fold: fit_potentials(others(fold), systems, options, seed=fold), indices)
        model = replace(model, potential_models=tuple(fitted))
        _save_draft(model, draft)
        notify(f"the weights of {len(folds)} folds")
    confidences = pool.map(lambda fold: fit_confidences(others(fold), systems, options, seed=fold), indices)
    model = replace(model, confidence_models=tuple(confidences))
    _save_draft(model, draft)
    notify(f"the confidences of {len(folds)} folds")
    return model


def _threshold(model: JointModel, held_out: HeldOutFolds, subsets: Sequence[Members], pool: Executor) -> float:
    """The threshold with the fewest errors relative to the best member, over a sample of the subsets."""
    sample = _sampled(subsets)
    errors = np.array(list(pool.map(lambda members: held_out.errors(model, members, THRESHOLDS).sum(axis=1), sample)))
    best = np.array([held_out.alone[members[0]].sum() for members in sample])
    return THRESHOLDS[int((errors / np.maximum(best, 1)[:, np.newaxis]).mean(axis=0).argmin())]


def _draft_key(systems: JointHypotheses, names: Sequence[str], options: FitOptions) -> str:
    """A checksum of the data and options: only a draft of the same fit is resumed."""
    key = crc32(repr((list(names), asdict(options))).encode())
    for lattices in systems.hypotheses:
        key = crc32(repr((lattices.utts, lattices.notes[REFERENCE])).encode("utf-8", "surrogatepass"), key)
        for values in (lattices.word, lattices.picked, *lattices.extra.values()):
            key = crc32(np.ascontiguousarray(values).tobytes(), key)
    return f"{key:08x}"


def _load_draft(draft: Path | None, key: str) -> JointModel | None:
    if draft is None or not draft.is_file():
        return None
    try:
        model = load_joint(draft)
    except InputError:
        return None  # damaged: fitted from the start
    return model if model.card.get("key") == key else None


def _save_draft(model: JointModel, draft: Path | None) -> None:
    if draft is not None:
        save_joint(model, draft)

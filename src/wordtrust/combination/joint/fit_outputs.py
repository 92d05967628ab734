"""What a joint model knows about its outputs: where words are missing, how its words are calibrated, expected errors.

All of it is fitted on decodings by weights that have not seen the speaker. Every draw gives each block of speakers
another subset of the recognizers, so that what is fitted holds for subsets of all sizes. The gap model of a fold is
fitted on the decodings of the other folds, and judged, for calibration and estimates, on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from ...confidence.calibration import Calibrator, make
from ...confidence.estimation.error_estimator import ErrorEstimator
from ...confidence.estimation.held_out import KnownOfOutputs, estimator_of
from ...evaluation.output_words import OutputWords
from ...lattices.lattice import Flags
from ...lattices.weights import Reals
from ...networks.build_store import REFERENCE, SPEAKER, noted_references
from ...networks.gaps import missing_words
from ...networks.labels import score_paths
from ...networks.word_confidence import word_confidence
from .arc_models import Layers, Matrix, sigmoid
from .fit_options import Adam, FitOptions
from .gap_model import GapModel, gap_rows_of
from .model import JointModel, Members
from .objective import random_subset
from .union import JointHypotheses

_BLOCK = 48  # utterances with the same subset, at least
WORD_CALIBRATOR, GAP_CALIBRATOR = "beta", "platt"


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutBlock:
    """Utterances of one fold, decoded from one subset by the weights of this fold."""

    fold: int
    members: Members
    gap_inputs: Matrix
    lacks: Flags  # [gaps] whether words are missing
    words: OutputWords  # not calibrated

    @classmethod
    def of(cls, model: JointModel, fold: int, members: Members, systems: JointHypotheses) -> HeldOutBlock:
        """Decode these utterances, which must have references."""
        weights = model.potential_models[fold], model.confidence_models[fold]
        own = replace(model, potential_models=weights[:1], confidence_models=weights[1:])
        union, weighed = own.weighed(systems.order(members), members)
        lattices, paths = union.lattices, weighed.paths
        spoken = noted_references(lattices)
        alignments = score_paths(lattices, paths, spoken).alignments
        (inputs,) = weighed.gap_inputs(union)
        shown = word_confidence(lattices, weighed.confidence, paths)[lattices.word[paths.arcs_in(lattices)] > 0]
        words = OutputWords.of(shown, alignments, lattices.notes[SPEAKER], tuple(lattices.notes[REFERENCE]))
        return cls(fold, members, inputs, missing_words(alignments, spoken.offsets) > 0, words)


def with_outputs(
    model: JointModel,
    folds: Sequence[JointHypotheses],
    subsets: Sequence[Members],
    options: FitOptions,
    pool: Executor,
) -> JointModel:
    """The model with what it knows about its outputs."""
    blocks = held_out_blocks(model, folds, subsets, options, pool)
    others = [[block for block in blocks if block.fold != fold] for fold in range(len(folds))]
    fit = partial(fit_gaps, systems=len(model.names), options=options)
    gap_models = tuple(pool.map(fit, others, range(len(folds))))
    said = [gap_models[block.fold].probability(block.gap_inputs, block.members) for block in blocks]
    missing, lacks = np.concatenate(said), np.concatenate([block.lacks for block in blocks])
    words = OutputWords.joined([block.words for block in blocks])
    gaps = _calibrator(GAP_CALIBRATOR, missing, lacks)
    words = words.with_gaps(missing if gaps is None else gaps.predict(missing))
    assert words.correct is not None
    of_words = _calibrator(WORD_CALIBRATOR, words.confidence, words.correct)
    estimator = ErrorEstimator.fit(words) if of_words is None else estimator_of(words, WORD_CALIBRATOR)
    known = KnownOfOutputs(estimator)
    return replace(model, gap_models=gap_models, gaps=gaps, words=of_words, known=known)


def held_out_blocks(
    model: JointModel,
    folds: Sequence[JointHypotheses],
    subsets: Sequence[Members],
    options: FitOptions,
    pool: Executor,
) -> list[HeldOutBlock]:
    """All utterances in every draw, the draws one after the other."""
    random, parts = np.random.default_rng(options.seed), list[tuple[int, JointHypotheses]]()
    for fold, systems in enumerate(folds):
        parts += [(fold, block) for block in speaker_blocks(systems)]
    draws = range(min(options.draws, len(subsets)))
    drawn = [(fold, block, _drawn(random, subsets, len(model.names))) for _ in draws for fold, block in parts]
    return list(pool.map(lambda each: HeldOutBlock.of(model, each[0], each[2], each[1]), drawn))


def _drawn(random: np.random.Generator, subsets: Sequence[Members], systems: int) -> Members:
    """A subset as those that weights are fitted on, or any of those that are wanted where it is not."""
    members = tuple(random_subset(random, systems))
    return members if members in subsets else subsets[int(random.integers(len(subsets)))]


def speaker_blocks(systems: JointHypotheses) -> list[JointHypotheses]:
    """The utterances sorted by speaker, in blocks of whole speakers."""
    speakers = np.array(systems.hypotheses[0].notes[SPEAKER])
    order = np.argsort(speakers, kind="stable")
    changes = np.flatnonzero(speakers[order][1:] != speakers[order][:-1]) + 1
    edges = [0]
    for change in changes.tolist():
        if change - edges[-1] >= _BLOCK:
            edges.append(change)
    by_speaker = systems.take(order.tolist())
    return [by_speaker.utterances(first, last) for first, last in pairwise([*edges, len(order)])]


def fit_gaps(blocks: Sequence[HeldOutBlock], seed: int, *, systems: int, options: FitOptions) -> GapModel:
    """Fit by the cross entropy of gaps, a block at a time."""
    random = np.random.default_rng([options.seed, seed])
    model = GapModel.new(systems, options.gap_hidden, random)
    if not blocks:
        return model
    lacks = np.concatenate([block.lacks for block in blocks])
    often = (np.count_nonzero(lacks) + 1) / (len(lacks) + 2)
    model.start_from(often)
    optimiser = Adam(model.layers, replace(options, rate=options.gap_rate), options.gap_epochs * len(blocks))
    for _ in range(options.gap_epochs):
        for index in random.permutation(len(blocks)).tolist():
            optimiser.step(gap_gradients(model, blocks[index], often)[1])
    return model


def gap_gradients(model: GapModel, block: HeldOutBlock, often: float) -> tuple[float, Layers]:
    """The mean cross entropy of the gaps of a block, in units of how often words are missing, and its gradients."""
    rows, x = gap_rows_of(block.members, model.systems), block.gap_inputs
    odds, active = model.layers.potential(x, rows)
    probability, unit = sigmoid(odds), len(x) * often
    told = np.where(block.lacks, probability, 1 - probability)
    slope = ((probability - block.lacks) / unit).astype(np.float32)
    return -float(np.log(told).sum()) / unit, model.layers.gradient(x, rows, active, slope)


def _calibrator(name: str, probability: Reals, happened: Flags) -> Calibrator | None:
    """None where there are not both kinds."""
    if not 0 < np.count_nonzero(happened) < len(happened):
        return None
    return make(name).fit(np.clip(probability, 0.0, 1.0), happened)

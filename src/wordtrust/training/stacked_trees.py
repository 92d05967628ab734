"""Trees that see what the network says of each arc, and learn where it is wrong.

The network has to have said it of speakers that it was not trained on, so this needs models that were trained without
a fold of speakers each. Each of these gets trees of its own that did not see its speakers either: what is calibrated
and chosen on all of them out of fold holds for the model itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from ..base.folds import in_fold, speaker_id
from ..confidence import features
from ..confidence.lattice_rnn import LatticeRNNScorer, path_shares
from ..confidence.model_file import Model
from ..confidence.trees import Trees, network_inputs, with_evidence
from ..confidence.word_table import known_arcs
from ..formats.batches import BatchSource, read_batches
from ..lattices.lattice import Floats, Lattices
from ..networks.build_store import SPEAKER
from .prepare import LABELS
from .trees import Bits, fit_trees, is_enough

SHARE_WEIGHT, CHANCE_WEIGHT = 0.25, 1.0  # chosen on dev (`python -m experiments.trees`)


@dataclass(frozen=True, slots=True)
class WordRows:
    """What trees are trained on: words, scored by networks that did not know the speaker."""

    inputs: Floats  # [words, columns + evidence + 3]
    right: Bits
    speaker: NDArray[np.uint32]


def stacked_trees(
    model: Model, folds: Sequence[Model], train: BatchSource, dev: BatchSource, *, evidence: Sequence[str] = ()
) -> list[Trees | None]:
    """Trees for a model, then for each of the models without a fold of speakers; None where words are too few.

    `train` and `dev` are networks with labels; the models were trained on the first and never on the second. Trees
    also see `evidence` of the networks that the models do not see.
    """
    rows = word_rows(model, folds, train, dev, evidence=evidence)
    heard = [np.ones(len(rows.right), np.bool_), *(~in_fold(rows.speaker, *_fold_of(fold)) for fold in folds)]
    return [_fitted(rows.inputs[chosen], rows.right[chosen], tuple(evidence)) for chosen in heard]


def _fitted(inputs: Floats, right: Bits, evidence: tuple[str, ...]) -> Trees | None:
    if not is_enough(right):
        return None
    trees = fit_trees(inputs, right, share_weight=SHARE_WEIGHT, chance_weight=CHANCE_WEIGHT, with_network=True)
    return replace(trees, evidence=evidence) if evidence else trees


def word_rows(
    model: Model, folds: Sequence[Model], train: BatchSource, dev: BatchSource, *, evidence: Sequence[str] = ()
) -> WordRows:
    """All words of networks with labels, as trees see them."""
    if any(fold.config.columns != model.config.columns for fold in folds):
        raise InputError("models of folds have other features than the model", remedy="Train them together")
    scorers = [
        (LatticeRNNScorer(fold.config, fold.weights, fold.table, fold.statistics), *_fold_of(fold)) for fold in folds
    ]
    parts = [
        part
        for source, in_training in ((train, True), (dev, False))
        for part in _word_rows(model, scorers, source, in_training, evidence)
    ]
    if not parts:
        raise InputError("there are no networks to train trees on")
    return WordRows(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _word_rows(
    model: Model,
    scorers: Sequence[tuple[LatticeRNNScorer, int, int]],
    source: BatchSource,
    in_training: bool,
    evidence: Sequence[str],
) -> Iterator[tuple[Floats, Bits, NDArray[np.uint32]]]:
    label = LABELS[model.card.labels or "store"]
    for networks in read_batches(source):
        if label not in networks.extra or SPEAKER not in networks.notes:
            remedy = "Make them with: wordtrust build LATTICES --ref REF.tsv --out STORE"
            raise InputError("these networks have no labels", file=networks.origin.file, remedy=remedy)
        names = np.array([speaker_id(name) for name in networks.notes[SPEAKER]], np.uint32)
        speaker, right = names[networks.utterance_of_arc], networks.extra[label].astype(np.int8)
        columns = features.normalised(known_arcs(networks, model.table, in_training=in_training)[0], model.statistics)
        seen = with_evidence(columns, networks, evidence)
        inputs = np.concatenate([seen, _out_of_fold(networks, speaker, scorers)], axis=1)
        chosen = (networks.word != 0) & (right >= 0)
        yield inputs[chosen], right[chosen], speaker[chosen]


def _out_of_fold(
    networks: Lattices, speaker: NDArray[np.uint32], scorers: Sequence[tuple[LatticeRNNScorer, int, int]]
) -> Floats:
    """[arcs, 3] what the network that did not know the speaker says."""
    said = np.zeros((len(networks.source), 3), np.float32)
    for scorer, folds, fold in scorers:
        left_out = in_fold(speaker, folds, fold)
        if left_out.any():
            outputs = scorer.outputs(networks)
            normalised = scorer.config.head == "normalised"
            share = path_shares(networks, outputs[:, 0]) if normalised else np.ones(len(outputs))
            said[left_out] = network_inputs(share, outputs[:, -1])[left_out]
    return said


def _fold_of(model: Model) -> tuple[int, int]:
    fold = model.card.training.left_out_fold
    if fold is None:
        raise InputError("a model of a fold was trained on all speakers", remedy="Train it with --folds and --fold")
    return fold

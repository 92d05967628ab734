"""Adapt a model to another recognizer: take the statistics of features from that recognizer's own outputs.

Recognizers score on different scales, and features are normalised before a model sees them. A generic model was
trained on features normalised for each recognizer by itself, so it takes all statistics from the recognizer at hand;
one with the features of set `generic`, which mean the same for every recognizer, takes none. Another model takes
those of columns that are on another scale here, and no others: that a recognizer is less sure of its words than the
one before is information. Adapting needs lattices or networks only, no references; calibrating afterwards (`wordtrust
calibrate`) needs some.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from ..formats.batches import one_recognizer
from ..lattices.lattice import Lattices, Origin
from ..networks.equivalents import Equate
from ..networks.hwcn import TOLERANCE, build
from . import features
from .features import FLAGS, OF_WORDS, OPTIONAL, Statistics
from .model_card import Adaptation, ModelCard
from .model_file import Model
from .scale_free import Values
from .word_table import WordTable, known_arcs

ENOUGH_UTTERANCES = 100  # from which on only their own statistics count; with fewer, the model's count as well
FAR = 2.0  # a column is on another scale: so many standard deviations between means, or times the standard deviation


@dataclass
class Moments:
    """Sums over arcs, from which mean and standard deviation of every column follow."""

    columns: tuple[str, ...]
    arcs: Values  # [columns] how many had it
    sums: Values
    squares: Values
    utterances: int = 0

    @classmethod
    def of(cls, columns: tuple[str, ...]) -> Moments:
        """Nothing yet."""
        size = len(columns)
        return cls(columns, np.zeros(size), np.zeros(size), np.zeros(size))

    def add(self, networks: Lattices, table: WordTable, *, lenient: bool) -> None:
        """Count the arcs of networks; a lenient one passes over columns that they do not have."""
        arcs = known_arcs(networks, table)[0]
        columns = features.available(networks, self.columns) if lenient else self.columns
        raw = features.matrix(arcs, columns).astype(np.float64)
        for column, values in zip(columns, raw.T, strict=True):
            kept, index = values[~arcs.silence] if column in OF_WORDS else values, self.columns.index(column)
            kept = kept[~np.isnan(kept)] if column in OPTIONAL else kept
            self.arcs[index] += len(kept)
            self.sums[index] += kept.sum()
            self.squares[index] += np.square(kept).sum()
        self.utterances += len(networks)

    def blended(self, trained: Statistics) -> Statistics:
        """Statistics of these arcs and, where the utterances are few, of the model's own training data."""
        share = np.minimum(1.0, self.utterances / ENOUGH_UTTERANCES) * (self.arcs > 0)
        count = np.maximum(self.arcs, 1)
        own = self.sums / count
        trained_variance = np.square(trained.std.astype(np.float64))
        mean = share * own + (1 - share) * trained.mean
        own_variance = np.maximum(self.squares / count - own**2, 0.0) + (own - mean) ** 2
        variance = share * own_variance + (1 - share) * (trained_variance + (trained.mean - mean) ** 2)
        flags = np.array([column in FLAGS for column in self.columns])
        std = np.where(flags | (variance < 1e-12), 1.0, np.sqrt(variance))
        return Statistics(self.columns, np.where(flags, 0.0, mean).astype(np.float32), std.astype(np.float32))


def on_another_scale(trained: Statistics, seen: Statistics) -> NDArray[np.bool_]:
    """[columns] whose values a model has hardly ever seen."""
    ratio = seen.std / trained.std
    far: NDArray[np.bool_] = np.abs(seen.mean - trained.mean) > FAR * trained.std
    return far | (ratio > FAR) | (ratio < 1 / FAR)


def tolerance_of(card: ModelCard) -> float:
    """Seconds within which nodes of a model's networks are merged."""
    return TOLERANCE if card.tolerance is None else card.tolerance


def networks_for(model: Model, lattices: Lattices) -> Lattices:
    """The networks of lattices, built as those that the model was trained on; networks stay as they are."""
    if lattices.origin.tolerance is not None:
        return lattices
    card = model.card
    equate = Equate.of_networks(Origin(equate=card.equate))
    return build(lattices, tolerance=tolerance_of(card), scales=card.scales, equate=equate).lattices


def adapt(model: Model, batches: Iterable[Lattices]) -> Model:
    """The model for the recognizer of these lattices or networks, which need no references.

    Its calibration stays what it was: fit it anew where there are references.
    """
    moments, seen_card = Moments.of(model.config.columns), None
    for batch in one_recognizer(batches, "Adapt a model for each recognizer"):
        networks = networks_for(model, batch)
        seen_card = seen_card or ModelCard.of_networks(networks)
        _check_tolerance(model, networks)
        moments.add(networks, model.table, lenient=model.is_generic)
    if seen_card is None:
        raise InputError("there are no utterances to adapt the model to")
    seen = moments.blended(model.statistics)
    if model.is_generic:
        taken = np.full(len(seen.columns), not model.has_fixed_statistics)
    else:
        taken = on_another_scale(model.statistics, seen)
    columns = [column for column, is_taken in zip(seen.columns, taken.tolist(), strict=True) if is_taken]
    card = replace(
        model.card,
        recognizer=seen_card.recognizer,
        tolerance=seen_card.tolerance,
        scales=seen_card.scales,
        adapted=Adaptation(moments.utterances, model.recognizer, tuple(columns)),
        accept=(),  # what was promised for another recognizer
        error_estimator=_without_intervals(model.card.error_estimator),
    )
    mean, std = (np.where(taken, getattr(seen, name), getattr(model.statistics, name)) for name in ("mean", "std"))
    return replace(model, statistics=Statistics(seen.columns, mean, std), card=card)


def _without_intervals(estimator: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """An error estimator in plain form, without the residuals of another recognizer's speakers."""
    if estimator is None:
        return None
    return {name: value for name, value in estimator.items() if name not in ("of_speakers", "of_utterances")}


def _check_tolerance(model: Model, networks: Lattices) -> None:
    trained, built = model.card.tolerance, networks.origin.tolerance
    if trained is not None and built is not None and abs(built - trained) > 1e-9:
        raise InputError(
            f"networks with a tolerance of {built:g} s, the model was trained on {trained:g} s",
            file=networks.origin.file,
            remedy=f"Build them with: wordtrust build --tolerance {trained:g}",
        )

"""How far an utterance is from those that a model knows, found without references.

What a model has learned holds for utterances like those of its training. How unusual an utterance is, is measured by
the means of its scores over the words of the 1-best: their squared Mahalanobis distance from the mean of known
utterances, for so many words. How long or fast an utterance is says nothing about its scores: such features are left
out. The p-value of that distance among known utterances is 0.5 on average for utterances of the same kind, whatever
the features. `unusual` makes a warning of it where it is very low; confidences stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from ..lattices.lattice import Floats, Lattices
from ..lattices.paths import one_best
from . import features
from .features import FLAGS, Statistics
from .model_file import Model
from .word_table import known_arcs

LEAST_KNOWN = 500  # utterances to learn from: with fewer, new ones of the same kind would look unusual
NO_SCORES = FLAGS | {"phones", "frames", "phone_rate", "tokens", "length", "utterance_words"}
_LEVELS = np.linspace(0.0, 1.0, 201)
_SMALLEST_VARIANCE = 1e-4  # of a mean, in squared standard deviations

Values = NDArray[np.float64]


@dataclass(frozen=True)
class UsualFeatures:
    """What is usual: the mean of the features, its covariance over utterances and of words, and usual distances."""

    columns: tuple[str, ...]
    mean: Values  # [columns]
    between: Values  # [columns, columns] of utterances of many words
    within: Values  # [columns, columns] what comes on top, divided by the number of words
    distances: Values  # [levels] of known utterances, rising

    @classmethod
    def fit(cls, model: Model, batches: Iterable[Lattices]) -> UsualFeatures:
        """Learn what is usual from networks of the training data, or of others like them."""
        columns = columns_of(model)
        parts = [_means(batch, _features(model, columns, batch, in_training=True)) for batch in batches]
        if not parts:
            raise InputError("there are no utterances to learn from")
        means, words = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        means, words = means[words > 0], words[words > 0]
        if len(words) < 2:
            raise InputError("too few utterances with words to learn what is usual")
        mean = np.average(means, axis=0, weights=words)
        between, within = _covariances(means - mean, words)
        unscaled = cls(columns, mean, between, within, np.zeros(len(_LEVELS)))
        return replace(unscaled, distances=np.quantile(unscaled._distance(means, words), _LEVELS))

    def p_values(self, model: Model, networks: Lattices, seen: Floats | None = None) -> Values:
        """[utterances] the share of known utterances that are at least as unusual; 1 where there are no words.

        `seen` has all features of the arcs as the model sees them, if they are known.
        """
        if seen is None:
            means, words = _means(networks, _features(model, self.columns, networks, in_training=False))
        else:
            means, words = _means(networks, seen, [model.config.columns.index(column) for column in self.columns])
        p_values = np.ones(len(words))
        distance = self._distance(means[words > 0], words[words > 0])
        p_values[words > 0] = 1.0 - np.interp(distance, self.distances, _LEVELS)
        return p_values

    def _distance(self, means: Values, words: Values) -> Values:
        """[utterances] squared Mahalanobis distances."""
        distance = np.empty(len(means))
        for n_words in np.unique(words):
            rows = words == n_words
            off = means[rows] - self.mean
            distance[rows] = np.einsum("ij,ij->i", off @ np.linalg.inv(self.between + self.within / n_words), off)
        return distance

    def to_dict(self) -> dict[str, Any]:
        """For model.json."""
        arrays = {name: getattr(self, name) for name in ("mean", "between", "within", "distances")}
        return {"columns": list(self.columns)} | {
            name: np.vectorize(lambda value: float(f"{value:.6g}"))(values).tolist()
            for name, values in arrays.items()
        }

    @classmethod
    def of_model(cls, model: Model) -> UsualFeatures | None:
        """What the card of a model says, if anything; whatever `to_dict` did not write is an `InputError`."""
        record = model.card.usual_features
        if record is None:
            return None
        try:
            columns = tuple(record["columns"])
            arrays = {name: np.array(record[name], np.float64) for name in ("mean", "between", "within", "distances")}
        except (KeyError, TypeError, ValueError):
            raise InputError("the model does not say what is usual", remedy="Calibrate it again") from None
        size, known = len(columns), set(model.config.columns) - FLAGS  # models of before compared all of these
        shapes = {"mean": (size,), "between": (size, size), "within": (size, size), "distances": _LEVELS.shape}
        fits = all(arrays[name].shape == shape and np.isfinite(arrays[name]).all() for name, shape in shapes.items())
        if not set(columns_of(model)) <= set(columns) <= known or not fits or not _positive(arrays["between"]):
            raise InputError("what is usual does not fit the model's features", remedy="Calibrate it again")
        return cls(columns, **arrays)


def columns_of(model: Model) -> tuple[str, ...]:
    """The columns that are compared: those that follow from scores."""
    return tuple(column for column in model.config.columns if column not in NO_SCORES)


def _features(model: Model, columns: Sequence[str], networks: Lattices, *, in_training: bool) -> Floats:
    """[arcs, columns] some features of the arcs of networks, as the model sees them.

    Of utterances `in_training`, what they themselves added to the frequency of words does not count.
    """
    arcs = known_arcs(networks, model.table, in_training=in_training)[0]
    kept = [model.config.columns.index(column) for column in columns]
    statistics = Statistics(tuple(columns), model.statistics.mean[kept], model.statistics.std[kept])
    return features.normalised(arcs, statistics, lenient=model.is_generic)


def _means(networks: Lattices, seen: Floats, kept: Sequence[int] | None = None) -> tuple[Values, Values]:
    """[utterances, kept] the mean features of the words of the 1-best; [utterances] the number of words.

    `kept` says which columns of the features count [all].
    """
    paths = one_best(networks).without_silence(networks)
    utterance, words = paths.utterance_of_arc, np.diff(paths.offsets).astype(np.float64)
    rows = seen[paths.arcs_in(networks)]
    kept = range(rows.shape[1]) if kept is None else kept
    sums = [np.bincount(utterance, rows[:, column], len(networks)) for column in kept]
    return np.stack(sums, axis=1) / np.maximum(words, 1.0)[:, None], words


def _covariances(off: Values, words: Values) -> tuple[Values, Values]:
    """Between utterances and within them: products of deviations grow with one over the number of words."""
    size = off.shape[1]
    weight = np.sqrt(words)[:, None]
    inputs = np.stack([np.ones_like(words), 1.0 / words], axis=1) * weight
    products = (off[:, :, None] * off[:, None, :]).reshape(len(off), -1) * weight
    between, within = np.linalg.lstsq(inputs, products, rcond=None)[0].astype(np.float64).reshape(2, size, size)
    return _invertible(between), _invertible(within)


def _invertible(matrix: Values) -> Values:
    """The matrix, with no direction that is too narrow to divide by."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, _SMALLEST_VARIANCE)) @ vectors.T)


def _positive(matrix: Values) -> bool:
    return bool((np.linalg.eigvalsh((matrix + matrix.T) / 2) > 0).all())


def fit_usual_features(model: Model, batches: Iterable[Lattices], utterances: int) -> dict[str, Any] | None:
    """What model.json keeps of it after calibrating on networks; None where they are too few."""
    return UsualFeatures.fit(model, batches).to_dict() if utterances >= LEAST_KNOWN else None

"""Whether utterances look like those that a model knows: a recognizer outside its domain is sure of wrong words.

What a model has learned holds for utterances like those of its training. How unusual one is, is told by the means of
its features over the words of the 1-best: their distance from what is usual for so many words. The share of known
utterances that are at least as unusual is 0.5 on average for utterances of the same kind, whatever the features.
Where the average over a batch is far lower, confidences are lowered in proportion. No references are needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from ..lattices.lattice import Lattices
from ..lattices.paths import one_best
from . import features
from .features import FLAGS, Arcs
from .model_file import Model
from .word_table import BatchWords, own_mass

LEAST = 20  # utterances, before a batch is called unusual
LEAST_KNOWN = 500  # utterances to learn from: of fewer, new ones of the same kind would look unusual
MOST = 200  # utterances of a batch that are looked at
USUAL = 0.2  # an average from which on nothing is done: other speakers and recognizers are above it (0.26 on dev)
_LEVELS = np.linspace(0.0, 1.0, 201)
_NARROWEST = 1e-4  # variance of a mean, in squared spreads

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Familiarity:
    """What is usual: the mean of the features, its covariance over utterances and of words, and usual distances."""

    columns: tuple[str, ...]
    mean: Values  # [columns]
    between: Values  # [columns, columns] of utterances of many words
    within: Values  # [columns, columns] what comes on top, divided by the number of words
    distances: Values  # [levels] of known utterances, rising

    @classmethod
    def of(cls, model: Model, batches: Iterable[Lattices]) -> Familiarity:
        """Learn what is usual from networks of the training data, or of others like them."""
        parts = [_means(model, batch, known=True) for batch in batches]
        if not parts:
            raise InputError("there are no utterances to learn from")
        means, words = (np.concatenate(part) for part in zip(*parts, strict=True))
        means, words = means[words > 0], words[words > 0]
        if len(words) < 2:
            raise InputError("too few utterances with words to learn what is usual")
        mean = np.average(means, axis=0, weights=words)
        between, within = _covariances(means - mean, words)
        found = cls(columns_of(model), mean, between, within, np.zeros(len(_LEVELS)))
        usual = np.quantile(found._distance(means, words), _LEVELS)
        return cls(found.columns, mean, between, within, usual)

    def shares(self, model: Model, networks: Lattices) -> Values:
        """[utterances with words] the share of known utterances that are at least as unusual."""
        means, words = _means(model, networks, known=False)
        distance = self._distance(means[words > 0], words[words > 0])
        return np.asarray(1.0 - np.interp(distance, self.distances, _LEVELS))

    def trust(self, model: Model, networks: Lattices) -> float:
        """From 0 to 1: what confidences of this batch have to be multiplied with; 1 for few utterances."""
        if len(networks) < LEAST:
            return 1.0
        found = self.shares(model, networks[:MOST])
        return 1.0 if len(found) < LEAST else min(1.0, float(found.mean()) / USUAL)

    def _distance(self, means: Values, words: Values) -> Values:
        found = np.empty(len(means))
        for count in np.unique(words):
            chosen = words == count
            off = means[chosen] - self.mean
            found[chosen] = np.einsum("ij,ij->i", off @ np.linalg.inv(self.between + self.within / count), off)
        return found

    def to_dict(self) -> dict[str, Any]:
        """For model.json."""
        arrays = {name: getattr(self, name) for name in ("mean", "between", "within", "distances")}
        return {"columns": list(self.columns)} | {
            name: np.vectorize(lambda each: float(f"{each:.6g}"))(values).tolist() for name, values in arrays.items()
        }

    @classmethod
    def from_dict(cls, model: Model, found: Any) -> Familiarity:
        """What `to_dict` wrote; anything else is an `InputError`."""
        try:
            columns = tuple(found["columns"])
            arrays = {name: np.array(found[name], np.float64) for name in ("mean", "between", "within", "distances")}
        except (KeyError, TypeError, ValueError):
            raise InputError("the model does not say what is usual", remedy="Calibrate it again") from None
        size = len(columns)
        shapes = {"mean": (size,), "between": (size, size), "within": (size, size), "distances": _LEVELS.shape}
        fits = all(arrays[name].shape == shape and np.isfinite(arrays[name]).all() for name, shape in shapes.items())
        if columns != columns_of(model) or not fits or not _positive(arrays["between"]):
            raise InputError("what is usual does not fit the model's features", remedy="Calibrate it again")
        return cls(columns, **arrays)


def columns_of(model: Model) -> tuple[str, ...]:
    """The columns that tell: all but flags."""
    return tuple(column for column in model.config.columns if column not in FLAGS)


def _means(model: Model, networks: Lattices, *, known: bool) -> tuple[Values, Values]:
    """[utterances, columns] the mean features of the words of the 1-best; [utterances] the number of words.

    Of `known` utterances, what they themselves added to the frequency of words does not count.
    """
    batch = BatchWords.of(networks)
    rows = model.table.rows(batch.words)
    mass = model.table.mass_of(rows)[batch.index].astype(np.float64)
    phones = model.table.phones_of(batch.words, rows)[batch.index].astype(np.float64)
    arcs = Arcs(networks, phones, np.maximum(mass - own_mass(networks), 0.0) if known else mass)
    made = features.normalised(arcs, model.statistics, lenient=model.is_generic)
    paths = one_best(networks).without_silence(networks)
    utterance, chosen = paths.utterance_of_arc, paths.arcs_in(networks)
    words = np.bincount(utterance, minlength=len(networks)).astype(np.float64)
    kept = [place for place, column in enumerate(model.config.columns) if column not in FLAGS]
    sums = [np.bincount(utterance, made[chosen, place], len(networks)) for place in kept]
    return np.stack(sums, axis=1) / np.maximum(words, 1.0)[:, None], words


def _covariances(off: Values, words: Values) -> tuple[Values, Values]:
    """Between utterances and within them: products of deviations grow with one over the number of words."""
    size = off.shape[1]
    weight = np.sqrt(words)[:, None]
    inputs = np.stack([np.ones_like(words), 1.0 / words], axis=1) * weight
    products = (off[:, :, None] * off[:, None, :]).reshape(len(off), -1) * weight
    found = np.linalg.lstsq(inputs, products, rcond=None)[0].astype(np.float64).reshape(2, size, size)
    return _nearest(found[0]), _nearest(found[1])


def _nearest(matrix: Values) -> Values:
    """The matrix, with no direction that is too narrow to divide by."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, _NARROWEST)) @ vectors.T)


def _positive(matrix: Values) -> bool:
    return bool((np.linalg.eigvalsh((matrix + matrix.T) / 2) > 0).all())


def familiarity_of(model: Model) -> Familiarity | None:
    """What the model knows to be usual, if anything."""
    found = model.card.usual_features
    return None if found is None else Familiarity.from_dict(model, found)


def learned(model: Model, batches: Iterable[Lattices], utterances: int) -> dict[str, Any] | None:
    """What model.json keeps of it after calibrating on networks; None, where they are too few to tell."""
    return Familiarity.of(model, batches).to_dict() if utterances >= LEAST_KNOWN else None

"""Two more baselines, which see what the network sees of an arc but nothing of its neighbours.

- `full_logistic`: logistic regression over all features of the model;
- `trees`: gradient-boosted trees over the same, alone.

Both are fitted on the words of train. They stand in a file beside the model, whose table of words, statistics and
columns they share.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..base.errors import InputError
from ..base.tensors import read_tensors, typed, write_tensors
from ..confidence import features
from ..confidence.calibration.base import sigmoid
from ..confidence.calibration.parametric import fit_logistic
from ..confidence.model_file import Model
from ..confidence.trees import Trees
from ..confidence.word_table import known_arcs
from ..evaluation.evaluation import ArcConfidence
from ..formats.batches import BatchSource, read_batches
from ..lattices.lattice import Flags, Floats, Lattices
from ..lattices.weights import Reals
from ..networks.build_store import ORACLE_LABEL
from ..training.trees import fit_trees, is_available, is_enough

NAME = "same-inputs.safetensors"
KIND = "wordtrust baselines with the inputs of the model"
STRENGTH = 10.0  # how much a weight of 1 costs, in nats of all words
LARGEST = 1e6  # of any weight
_REMEDY = "Fit them again: `wordtrust study` does, from the networks of the training data"


@dataclass(frozen=True, eq=False)
class SameInputs:
    """What was fitted for one model."""

    weights: Reals  # [columns + 1] of the regression, the intercept last
    trees: Trees | None  # None where words were few

    def judge(self, model: Model, networks: Lattices) -> dict[str, ArcConfidence]:
        """For `evaluate`: `full_logistic`, and `trees` if there are any; of silence its posterior."""
        assert networks.posterior is not None
        spoken = networks.word > 0
        inputs = model_inputs(model, networks, in_training=False)[spoken]
        scored = {"full_logistic": inputs.astype(np.float64) @ self.weights[:-1] + self.weights[-1]}
        if self.trees is not None:
            scored["trees"] = self.trees.log_odds(inputs)
        judged = {}
        for name, logits in scored.items():
            confidence = networks.posterior.copy()
            confidence[spoken] = sigmoid(logits)
            judged[name] = ArcConfidence(confidence)
        return judged

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        trees = {} if self.trees is None else self.trees.arrays()
        record = None if self.trees is None else self.trees.to_json()
        write_tensors(path, {"weights": self.weights, **trees}, {"kind": KIND, "trees": record})

    @classmethod
    def load(cls, path: Path, model: Model) -> SameInputs:
        """Read such a file for this model; anything else is an `InputError`."""
        arrays, about = read_tensors(path)
        columns = len(model.config.columns)
        try:
            if about.get("kind") != KIND:
                raise ValueError(f"does not say that these are {KIND}")
            weights = typed(arrays, "weights", np.float64)
            if weights.shape != (columns + 1,) or not (np.abs(weights) <= LARGEST).all():
                raise ValueError(f"the weights do not fit {columns} columns")
            record = about.get("trees")
            return cls(weights, None if record is None else Trees.from_arrays(record, arrays, columns))
        except InputError as error:
            raise InputError(error.found, file=str(path), remedy=_REMEDY) from None
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise InputError(f"no whole baselines: {error}", file=str(path), remedy=_REMEDY) from None


def fit_same_inputs(model: Model, train: BatchSource) -> SameInputs:
    """Fit both on networks with labels, those that the model was trained on."""
    parts = []
    for networks in read_batches(train):
        spoken = networks.word > 0
        inputs = model_inputs(model, networks, in_training=True)[spoken]
        parts.append((inputs, networks.extra[ORACLE_LABEL][spoken] > 0))
    if not parts:
        raise InputError("there are no utterances to fit baselines on")
    inputs, right = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return SameInputs(_regression(inputs, right), _trees(inputs, right))


def _regression(inputs: Floats, right: Flags) -> Reals:
    rows = np.column_stack([inputs, np.ones(len(inputs))]).astype(np.float64)
    return np.asarray(fit_logistic(rows, right, np.append(np.full(inputs.shape[1], STRENGTH), 0.0)))


def _trees(inputs: Floats, right: Flags) -> Trees | None:
    labels = right.astype(np.int8)
    if not is_enough(labels) or not is_available():
        return None
    return fit_trees(inputs, labels, share_weight=0.0, chance_weight=1.0, with_network=False)


def model_inputs(model: Model, networks: Lattices, *, in_training: bool) -> Floats:
    """[arcs, columns] the features that the network of a model sees, normalised."""
    arcs = known_arcs(networks, model.table, in_training=in_training)[0]
    return features.normalised(arcs, model.statistics)

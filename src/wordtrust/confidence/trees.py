"""Gradient-boosted trees beside the network: they correct what it gives for every arc.

The sum over all trees, z, is the log-odds that a word is right. Trees see the features that the network sees
(normalised), some of them evidence that it does not see (that of a language model, as it is), and most of them what
the network says as well. Where they differ from the network's confidence c,

    correction = z - logit(c);   potential += share_weight * correction;   chance += chance_weight * correction

and confidences are made of these outputs as they are without trees: a share of all paths times a chance. So they
still sum to 1 at most over all arcs that cross an instant.

Every tree is a full binary tree of one depth, level by level in an array: node n has the children 2n + 1 and 2n + 2.
Where a tree ends earlier, a threshold that nothing exceeds leads on to the left. No array can make it loop. Needs
nothing but numpy until arcs are scored, because training from packed files must not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import logit
from ..base.errors import InputError
from ..base.json_checks import list_of, number
from ..base.tensors import Arrays, typed
from ..lattices.lattice import Flags, Floats, Lattices

NETWORK_INPUTS = 3  # what the network says: logits of its confidence, of its share of all paths, and of its chance
NEVER = 60_000.0  # a threshold that no input exceeds, and a number in half precision
MOST_TREES, MOST_DEPTH = 2_000, 8
LARGEST_LEAF, LARGEST_WEIGHT = 1e3, 10.0
SURE = 1e-6  # probabilities nearer to 0 or 1 count as this near
SUREST = 80.0  # as a logit
_ARRAYS, _REALS = ("feature", "threshold", "missing_right", "leaf"), ("threshold", "leaf")

Bytes = NDArray[np.uint8]
Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trees:
    """The tables of all trees, and how much their corrections count."""

    feature: Bytes  # [trees, 2 ** depth - 1] the input that each node looks at
    threshold: Floats  # [trees, 2 ** depth - 1] what is larger goes to the right
    missing_right: Bytes  # [trees, 2 ** depth - 1] 1 where NaN goes to the right
    leaf: Floats  # [trees, 2 ** depth]
    share_weight: float
    chance_weight: float
    with_network: bool  # whether the last inputs are what the network says
    evidence: tuple[str, ...] = ()  # of networks (`Lattices.extra`), that they see between features and network

    def __post_init__(self) -> None:
        trees, leaves = self.leaf.shape if self.leaf.ndim == 2 else (0, 0)
        depth = leaves.bit_length() - 1
        if leaves != 1 << max(depth, 0) or not (1 <= depth <= MOST_DEPTH and 1 <= trees <= MOST_TREES):
            raise ValueError(f"trees have leaves of the shape {self.leaf.shape}")
        for name in ("feature", "threshold", "missing_right"):
            if getattr(self, name).shape != (trees, leaves - 1):
                raise ValueError(f"{name} of the trees has the shape {getattr(self, name).shape}")
        if not (np.abs(self.leaf) <= LARGEST_LEAF).all() or not (np.abs(self.threshold) <= NEVER).all():
            raise ValueError("thresholds or leaves of the trees are not all numbers, or too large")
        if (self.missing_right > 1).any():
            raise ValueError("missing_right of the trees is not 0 or 1")
        if not all(0 <= weight <= LARGEST_WEIGHT for weight in (self.share_weight, self.chance_weight)):
            raise ValueError(f"the weights of the trees are not from 0 to {LARGEST_WEIGHT:g}")

    def check(self, columns: int) -> None:
        """Raise a `ValueError` unless they look at these features of arcs, and at nothing else."""
        inputs = columns + len(self.evidence) + (NETWORK_INPUTS if self.with_network else 0)
        if (self.feature >= inputs).any():
            raise ValueError(f"trees look at {int(self.feature.max()) + 1} inputs, the model has {inputs}")

    def log_odds(self, inputs: Floats) -> Reals:
        """[arcs] the sum over all trees; `inputs` are features, and what the network says where they know that."""
        from .tree_kernels import add_leaves  # here, as it needs numba

        total = np.zeros(len(inputs))
        rows = np.ascontiguousarray(inputs, np.float32)
        if len(rows) and (self.feature < rows.shape[1]).all():
            add_leaves(rows, self.feature, self.threshold, self.missing_right, self.leaf, total)
        elif len(rows):
            raise ValueError(f"trees look at more than {rows.shape[1]} inputs")
        return total

    def correct(self, features: Floats, share: Reals, outputs: Floats, is_word: Flags) -> Floats:
        """The outputs of the network for arcs, corrected where they are words.

        `features` end with the evidence that trees see (`with_evidence`). `share` has the shares of all paths that go
        with the outputs; 1 where the network gives no potentials.
        """
        network = network_inputs(share, outputs[:, -1])
        inputs = np.concatenate([features, network], axis=1) if self.with_network else features
        correction = np.where(is_word, self.log_odds(inputs) - network[:, 0], 0.0)
        corrected = outputs.astype(np.float64)
        corrected[:, -1] += self.chance_weight * correction
        if outputs.shape[1] > 1:
            corrected[:, 0] += self.share_weight * correction
        return corrected.astype(np.float32)

    def to_json(self) -> dict[str, Any]:
        """What model.json says of them."""
        weights = {"share_weight": self.share_weight, "chance_weight": self.chance_weight}
        seen: dict[str, Any] = {"with_network": self.with_network}
        return weights | seen | ({"evidence": list(self.evidence)} if self.evidence else {})

    def arrays(self) -> dict[str, NDArray[Any]]:
        """For the file of the model's weights."""
        return {f"trees.{name}": getattr(self, name) for name in _ARRAYS}

    @classmethod
    def from_arrays(cls, record: Mapping[str, Any], arrays: Arrays, columns: int) -> Self:
        """What `to_json` and `arrays` wrote; anything else is a `KeyError`, `ValueError` or `InputError`."""
        tables = {
            name: np.ascontiguousarray(typed(arrays, f"trees.{name}", np.float32 if name in _REALS else np.uint8))
            for name in _ARRAYS
        }
        if not isinstance(record, Mapping) or not isinstance(record.get("with_network"), bool):
            raise ValueError("it is not said what the trees see")
        share, chance = (number(record, name, "trees") for name in ("share_weight", "chance_weight"))
        evidence = tuple(map(str, list_of(record, "evidence", "trees"))) if "evidence" in record else ()
        trees = cls(
            **tables, share_weight=share, chance_weight=chance, with_network=record["with_network"], evidence=evidence
        )
        trees.check(columns)
        return trees


def with_evidence(features: Floats, networks: Lattices, names: Sequence[str]) -> Floats:
    """[arcs, columns] the features, and after them evidence of the networks by name."""
    if not names:
        return features
    lacking = [name for name in names if name not in networks.extra]
    if lacking:
        remedy = "Have them read by the language model that the model was fitted with (--lm)"
        raise InputError(f"these networks have no {lacking[0]}", file=networks.origin.file, remedy=remedy)
    return np.concatenate([features, *(networks.extra[name][:, None] for name in names)], axis=1, dtype=np.float32)


def network_inputs(share: Reals, chance: Floats) -> Floats:
    """[arcs, 3] what the network says of arcs, as trees see it; `chance` is a logit."""
    limited = np.clip(chance.astype(np.float64), -SUREST, SUREST)
    confidence = share / (1.0 + np.exp(-limited))
    columns = [*(logit(np.clip(values, SURE, 1 - SURE)) for values in (confidence, share)), limited]
    return np.stack(columns, axis=1).astype(np.float32)

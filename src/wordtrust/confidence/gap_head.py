"""The head for missing words, without torch: the probability that words are missing in each gap of given paths."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..base.blas import one_blas_thread
from ..base.jit import compiled
from ..lattices.lattice import Flags, Floats, Ints, Lattices, Offsets
from ..lattices.weights import Reals
from ..networks.gaps import Gaps
from .gap_inputs import NearSums, fixed_inputs, model_inputs

SUREST = 80.0  # as a logit


class GapHead:
    """What of a model tells where words are missing."""

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        """Out of weights that were checked."""
        words = np.concatenate([weights["gap.before.weight"], weights["gap.after.weight"]])
        self._words = np.ascontiguousarray(words.T)  # [hidden, 2 gap]
        self._inputs, self._bias = weights["gap.inputs.weight"].T, weights["gap.inputs.bias"]
        self._output, self._output_bias = weights["gap.output.weight"][0], weights["gap.output.bias"]

    def probability(self, networks: Lattices, gaps: Gaps, hidden: Floats, share: Reals, chance: Reals) -> Reals:
        """[gaps] from each arc's hidden layer, its share of all paths, and the chance that its word is right."""
        of_model = model_inputs(gaps.before, gaps.after, near_sums(gaps, share), share, chance)
        inputs = np.concatenate([fixed_gap_inputs(networks, gaps), of_model], axis=1)
        with one_blas_thread():
            words = hidden[gaps.after[gaps.after >= 0]] @ self._words
            layer = inputs @ self._inputs
        logits = np.full(len(gaps), float(self._output_bias[0]))
        _add_layer(layer, self._bias, words, gaps.before, gaps.after, self._output, logits)
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -SUREST, SUREST))))


@compiled
def _add_layer(layer: Floats, bias: Floats, words: Floats, before: Ints, after: Ints, output: Floats,
               logits: Reals) -> None:  # fmt: skip
    """Add what the words before and after each gap give to its layer, and to the logits what that gives.

    `words` has a row for each word of the paths: what it gives to the gap after it, then to the gap before it.
    """
    size, last, coming = layer.shape[1], -1, 0  # the rows of the word before a gap, and of the one after it
    for gap in range(len(logits)):
        total = 0.0
        for k in range(size):
            value = layer[gap, k] + bias[k]
            if before[gap] >= 0:
                value += words[last, k]
            if after[gap] >= 0:
                value += words[coming, size + k]
            total += max(value, 0.0) * output[k]
        logits[gap] += total
        if after[gap] >= 0:
            last, coming = coming, coming + 1


def fixed_gap_inputs(networks: Lattices, gaps: Gaps) -> Floats:
    """[gaps, FIXED] what does not depend on a model."""
    assert networks.posterior is not None
    rival_posterior = near_sums(gaps, networks.posterior.astype(np.float64)).rival
    length = networks.end_time - networks.start_time
    return fixed_inputs(gaps.seconds, gaps.before, gaps.after, length, rival_posterior)


def near_sums(gaps: Gaps, values: Reals) -> NearSums:
    """The sums of the values of arcs over the words near each gap, in the order of the arcs."""
    sums = np.empty((3, len(gaps)))
    _sum_near(gaps.near_offsets, gaps.near, gaps.is_rival, gaps.is_inside, values, sums)
    return NearSums(*sums)


@compiled
def _sum_near(offsets: Offsets, near: Ints, is_rival: Flags, is_inside: Flags, values: Reals, sums: Reals) -> None:
    for gap in range(len(offsets) - 1):
        rival, inside, whole = 0.0, 0.0, 0.0
        for index in range(offsets[gap], offsets[gap + 1]):
            value = values[near[index]]
            rival += value if is_rival[index] else 0.0
            inside += value if is_inside[index] else 0.0
            whole += value
        sums[0, gap], sums[1, gap], sums[2, gap] = rival, inside, whole

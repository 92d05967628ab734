"""The head for missing words, without torch: the probability that words are missing in each gap of given paths."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..base.arrays import csr_rows
from ..lattices.lattice import Floats, Lattices
from ..lattices.weights import Reals
from ..networks.gaps import Gaps
from .gap_inputs import NearWords, fixed_inputs, model_inputs

SUREST = 80.0  # as a logit


class GapHead:
    """What of a model tells where words are missing."""

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        """Out of weights that were checked."""
        self._before, self._after = weights["gap.before.weight"].T, weights["gap.after.weight"].T
        self._inputs, self._bias = weights["gap.inputs.weight"].T, weights["gap.inputs.bias"]
        self._output, self._output_bias = weights["gap.output.weight"][0], weights["gap.output.bias"]

    def probability(self, networks: Lattices, gaps: Gaps, hidden: Floats, share: Reals, chance: Reals) -> Reals:
        """[gaps] from each arc's hidden layer, its share of all paths, and the chance that its word is right."""
        of_model = model_inputs(gaps.before, gaps.after, near_words(gaps), share, chance)
        layer = np.concatenate([fixed_gap_inputs(networks, gaps), of_model], axis=1) @ self._inputs + self._bias
        for words, weight in ((gaps.before, self._before), (gaps.after, self._after)):
            layer += np.where(words[:, None] >= 0, hidden[words], np.float32(0)) @ weight
        logits = np.maximum(layer, 0.0) @ self._output + self._output_bias
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits.astype(np.float64), -SUREST, SUREST))))


def fixed_gap_inputs(networks: Lattices, gaps: Gaps) -> Floats:
    """[gaps, FIXED] what does not depend on a model."""
    assert networks.posterior is not None
    rival_posterior, _, _ = near_words(gaps).sums(networks.posterior, len(gaps))
    length = networks.end_time - networks.start_time
    return fixed_inputs(gaps.seconds, gaps.before, gaps.after, length, rival_posterior)


def near_words(gaps: Gaps) -> NearWords:
    """The words near gaps, as sums are taken over them."""
    flags = (gaps.is_rival.astype(np.float64), gaps.is_inside.astype(np.float64))
    return NearWords(csr_rows(gaps.near_offsets), gaps.near, *flags)

"""The shown confidence against a plain sweep over instants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.helpers.strategies import assembled, lattices
from wordtrust.lattices.lattice import Lattice
from wordtrust.lattices.paths import one_best
from wordtrust.networks.word_confidence import capped_confidence, word_confidence

WORDS = ("i", "will", "<sil>")


def plain(lattice: Lattice, confidence: list[float], arc: int) -> float:
    start, end = lattice.time[lattice.source], lattice.time[lattice.target]
    if not lattice.word[arc]:
        return confidence[arc]
    instants = [t for t in sorted({*start, *end}) if start[arc] <= t < end[arc]]
    sums = [
        sum(
            confidence[k]
            for k in range(lattice.arcs)
            if lattice.word[k] == lattice.word[arc] and start[k] <= t < end[k]
        )
        for t in instants
    ]
    return min(1.0, max([confidence[arc], *sums]))


@given(lattices(words=WORDS, score_sets=(("posterior",),)))
def test_shown_confidence_is_the_largest_sum_over_instants(lattice: Lattice) -> None:
    assert lattice.posterior is not None
    confidence = lattice.posterior.astype(float) / 3
    paths = one_best(lattice.batch())
    shown = word_confidence(lattice.batch(), confidence, paths)
    expected = [plain(lattice, confidence.tolist(), arc) for arc in paths.arcs.tolist()]
    assert shown.tolist() == pytest.approx(expected)


def test_segmentations_of_one_word_add_up() -> None:
    lattice = assembled(
        "u", time=[0, 0.2, 0.3, 1], ends=[(0, 1), (0, 2), (1, 3), (2, 3)], tokens=["<sil>"] * 2 + ["there"] * 2,
        posterior=[0.6, 0.4, 0.6, 0.4],
    )  # fmt: skip
    batch = lattice.batch()
    shown = word_confidence(batch, np.array([0.6, 0.4, 0.6, 0.3]), one_best(batch))
    assert shown.tolist() == pytest.approx([0.6, 0.9])


@given(lattices(words=WORDS, score_sets=(("posterior",),)), st.floats(0.5, 3))
def test_capped_confidences_sum_to_at_most_one_at_every_instant(lattice: Lattice, times: float) -> None:
    assert lattice.posterior is not None
    given_ = np.minimum(lattice.posterior.astype(float) * times, 1.0)
    words = lattice.word > 0
    capped = capped_confidence(lattice.batch(), given_)

    def total(values: NDArray[np.float64], cut: int) -> float:
        return float(values[(lattice.source <= cut) & (lattice.target > cut) & words].sum())

    for cut in range(lattice.nodes - 1):
        assert total(capped, cut) <= 1 + 1e-9
    for arc in range(lattice.arcs):  # none is made smaller than the largest sum around it asks for
        most = max(total(given_, cut) for cut in range(lattice.source[arc], lattice.target[arc]))
        expected = given_[arc] / max(1.0, most) if words[arc] else given_[arc]
        assert capped[arc] == pytest.approx(expected)

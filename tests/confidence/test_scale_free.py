"""Columns that do not depend on the scale of scores: against brute force, and what must not change them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from tests.confidence.test_features import arcs_of, random_batch
from tests.helpers.strategies import all_paths, lattices
from wordtrust.confidence.features import GENERIC, Statistics, available, columns_of, matrix, normalised
from wordtrust.confidence.scale_free import FLAT, NORMAL, OF_LATTICES, SCALE_FREE_GROUPS, relative, tempered
from wordtrust.lattices.lattice import Lattice, Lattices
from wordtrust.lattices.posterior import posteriors
from wordtrust.lattices.weights import Scales


def with_posteriors(lattice: Lattice) -> Lattices:
    batch = lattice.batch()
    acoustic = np.linspace(-3, 0, len(batch.source)).astype(np.float32)
    batch = replace(batch, posterior=None, transition=None, acoustic=acoustic, scales=Scales())
    return replace(batch, posterior=posteriors(batch).arc.astype(np.float32))


@settings(max_examples=40)
@given(lattices())
def test_tempered_posteriors_are_those_of_powers_of_paths(lattice: Lattice) -> None:
    networks = with_posteriors(lattice)
    one = networks[0]
    assert networks.posterior is not None
    out = np.bincount(one.source, networks.posterior, one.nodes)
    paths = all_paths(one)
    for power in (1.0, FLAT, 3.0):
        weights = [
            np.prod([(float(networks.posterior[arc]) / max(out[one.source[arc]], 1e-30)) ** power for arc in path])
            for path in paths
        ]
        expected = np.zeros(one.arcs)
        for path, weight in zip(paths, weights, strict=True):
            expected[list(path)] += weight / sum(weights)
        assert tempered(networks, networks.posterior, power) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("seed", range(3))
def test_columns_do_not_depend_on_the_scale_of_scores_or_on_the_batch(seed: int) -> None:
    networks = random_batch(100 * seed)
    assert networks.acoustic is not None
    assert networks.transition is not None
    columns = columns_of("generic")
    assert set(SCALE_FREE_GROUPS) < set(columns)
    whole = matrix(arcs_of(networks), columns)
    scaled = replace(networks, acoustic=networks.acoustic * 10, transition=networks.transition * 0.1 - 2)
    np.testing.assert_allclose(matrix(arcs_of(scaled), columns), whole, rtol=1e-4, atol=1e-4)
    parts = [matrix(arcs_of(networks[number : number + 1]), columns) for number in range(len(networks))]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_ranks_and_ratios_of_a_node_by_hand() -> None:
    networks = random_batch(5)
    arcs = arcs_of(networks)
    node = networks.batch_source
    for arc in range(len(node)):
        rivals = arcs.posterior[node == node[arc]]
        assert arcs.node_rank[arc] == pytest.approx(np.log1p(np.count_nonzero(rivals > arcs.posterior[arc])))
        assert arcs.node_ratio[arc] == pytest.approx(np.log(arcs.posterior[arc] / rivals.max()), abs=1e-5)


def test_what_does_not_differ_within_an_utterance_is_0() -> None:
    values, utterance = np.array([5.0, 5.0, 1.0, 3.0]), np.array([0, 0, 1, 1])
    assert relative(values, np.ones(4), utterance, 2).tolist() == [0, 0, -1, 1]
    assert relative(values, np.zeros(4), utterance, 3).tolist() == [0, 0, 0, 0]


def test_groups_that_are_missing_are_flagged_and_normalised_by_constants() -> None:
    networks = random_batch(3)
    bare = replace(networks, acoustic=None, transition=None, extra={})
    absent = {column for flag, names in SCALE_FREE_GROUPS.items() for column in (flag, *names)}
    assert absent <= set(GENERIC) - set(available(bare, GENERIC))
    statistics = Statistics.fixed(GENERIC)
    made = normalised(arcs_of(bare), statistics)
    assert not made[:, [GENERIC.index(column) for column in absent]].any()
    flags = {"silence", "one_best", "has_tokens", *SCALE_FREE_GROUPS}
    assert (set(GENERIC) | set(OF_LATTICES)) - flags == set(NORMAL)

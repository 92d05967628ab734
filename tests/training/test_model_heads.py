"""Shares of all paths against every path written out, and a gradient against differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.model_data import COLUMNS, WORDS, Graph, random_dataset
from wordtrust.confidence.config import Config
from wordtrust.confidence.word_table import WordTable
from wordtrust.training.dataset import Dataset

torch = pytest.importorskip("torch", reason="needs the extra `train`")

from wordtrust.confidence.levels import local_log_posterior, plan_levels  # noqa: E402
from wordtrust.training.batches import Words, make_batch  # noqa: E402
from wordtrust.training.heads import confidence_of, loss_of  # noqa: E402
from wordtrust.training.lattice_rnn import Batch, LatticeRNN  # noqa: E402


def make(seed: int) -> tuple[Dataset, list[Graph], Batch, np.ndarray]:
    """A batch, and the number of each of its arcs in the data."""
    data, graphs = random_dataset(seed)
    config = Config(head="normalised", embedding="none", columns=COLUMNS)
    batch = make_batch(data, np.arange(len(data)), Words(WordTable(WORDS), config), "mean", torch.device("cpu"))
    first = np.repeat(data.node_offsets[:-1], np.diff(data.arc_offsets))
    order = plan_levels(data.source + first, data.target + first, data.level.astype(np.int64)).arc
    return data, graphs, batch, order


def every_path(graph: Graph, node: int, end: int) -> list[list[int]]:
    if node == end:
        return [[]]
    return [
        [arc, *rest]
        for arc, (source, target) in enumerate(graph)
        if source == node
        for rest in every_path(graph, target, end)
    ]


def written_out(data: Dataset, graphs: list[Graph], potential: np.ndarray) -> tuple[np.ndarray, float]:
    """The share of each arc, and minus the log likelihood of the paths in the data."""
    share, loss = np.zeros(len(potential)), 0.0
    for number, graph in enumerate(graphs):
        start = data.arc_offsets[number]
        paths = every_path(graph, 0, max(target for _, target in graph))
        weights = [math.exp(sum(potential[start + arc] for arc in path)) for path in paths]
        for path, weight in zip(paths, weights, strict=True):
            share[start + np.array(path)] += weight / sum(weights)
            if all(data.path[start + arc] for arc in path):
                loss -= math.log(weight / sum(weights))
    return share, loss


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_loss_and_confidence_are_those_of_all_paths(seed: int) -> None:
    data, graphs, batch, order = make(seed)
    numbers = np.random.default_rng(seed).normal(size=(len(order), 2)) * 2
    share, path_loss = written_out(data, graphs, numbers[:, 0])
    chance = 1 / (1 + np.exp(-numbers[:, 1]))
    outputs = torch.tensor(numbers[order], dtype=torch.float32, requires_grad=True)
    np.testing.assert_allclose(confidence_of(batch, outputs).detach(), (share * chance)[order], atol=1e-6)

    counted, right = data.label >= 0, data.label == 1
    words = -np.log(np.where(right, share * chance, 1 - share * chance))[counted].sum()
    loss = loss_of(batch, outputs, 2.0)
    assert loss.item() == pytest.approx(2 * path_loss + words, rel=1e-4)

    loss.backward()  # type: ignore[no-untyped-call]
    np.testing.assert_allclose(outputs.grad[:, 0], 2 * (share - data.path)[order], atol=1e-5)
    step = 1e-4  # the share is held fixed, so only that of the word itself changes
    up, down = (1 / (1 + np.exp(-(numbers[:, 1] + sign * step))) for sign in (1, -1))
    sides = [-np.log(np.where(right, share * each, 1 - share * each)) for each in (up, down)]
    np.testing.assert_allclose(
        outputs.grad[:, 1], np.where(counted, (sides[0] - sides[1]) / (2 * step), 0)[order], atol=1e-3
    )


def test_training_begins_with_the_posteriors() -> None:
    """With all potentials 0 the shares are the posteriors, if these are shares of paths themselves."""
    data, graphs, _, _ = make(3)
    posterior, _ = written_out(data, graphs, np.random.default_rng(0).normal(size=len(data.source)))
    data = Dataset(**{**vars(data), "posterior": posterior.astype(np.float32)})
    config = Config(head="normalised", embedding="none", columns=COLUMNS)
    batch = make_batch(data, np.arange(len(data)), Words(WordTable(WORDS), config), "mean", torch.device("cpu"))
    first = np.repeat(data.node_offsets[:-1], np.diff(data.arc_offsets))
    order = plan_levels(data.source + first, data.target + first, data.level.astype(np.int64)).arc
    with torch.no_grad():
        outputs = LatticeRNN(config)(batch)
    outputs[:, 1] = 100.0
    np.testing.assert_allclose(confidence_of(batch, outputs), posterior[order], atol=1e-5)


def test_local_posteriors_by_hand() -> None:
    found = local_log_posterior(np.array([0, 0, 1]), np.array([0.6, 0.2, 0.0], np.float32))
    np.testing.assert_allclose(found, np.log([0.75, 0.25, 1e-6]), rtol=1e-5)

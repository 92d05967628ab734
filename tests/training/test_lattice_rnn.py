"""The lattice RNN of torch against the same written out arc by arc and path by path, and its compiled LSTM."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

torch = pytest.importorskip("torch", reason="needs the extra `train`")

from torch import Tensor  # noqa: E402

from tests.helpers import reference_rnn  # noqa: E402
from tests.helpers.model_data import COLUMNS, WORDS, Graph, random_dataset  # noqa: E402
from wordtrust.confidence.config import MERGES, Config  # noqa: E402
from wordtrust.confidence.levels import local_log_posterior  # noqa: E402
from wordtrust.confidence.word_table import WordTable  # noqa: E402
from wordtrust.training import lattice_rnn  # noqa: E402
from wordtrust.training.batches import WordInputs, batch_arcs, make_batch  # noqa: E402
from wordtrust.training.dataset import Dataset  # noqa: E402
from wordtrust.training.lattice_rnn import (  # noqa: E402
    Batch,
    LatticeRNN,
    TorchLstm,
    lstm_for,
)
from wordtrust.training.lstm_kernels import CompiledLstm  # noqa: E402

pytestmark = pytest.mark.slow

CPU = torch.device("cpu")


def make_network(seed: int, **kinds: object) -> LatticeRNN:
    config = Config(state=5, hidden=4, dimension=2, buckets=16, columns=COLUMNS, **kinds)  # type: ignore[arg-type]
    torch.manual_seed(seed)
    network = LatticeRNN(config)
    for weight in network.parameters():  # also those that begin as zeros
        torch.nn.init.normal_(weight, std=0.5)
    return network


def reference_logits(
    network: LatticeRNN, data: Dataset, graphs: list[list[tuple[int, int]]], words: WordInputs
) -> Tensor:
    weights = dict(network.named_parameters())
    found = []
    for number, graph in enumerate(graphs):
        rows = slice(data.arc_offsets[number], data.arc_offsets[number + 1])
        x = torch.from_numpy(data.features[rows]).float()
        if network.config.embedding != "none":
            x = torch.cat([x, torch.stack([_vector(network, word, words) for word in data.word[rows]])], 1)
        posterior = torch.from_numpy(data.posterior[rows].copy())
        skipped = torch.log(posterior) - torch.log1p(-posterior)
        found.append(reference_rnn.logits(x, graph, posterior, skipped, weights, network.config.merge))
    joined: Tensor = torch.cat(found)
    return joined


def _vector(network: LatticeRNN, word: int, words: WordInputs) -> Tensor:
    buckets, _, vectors = words.of(np.array([word], np.int32))
    if network.embedding is None:
        known: Tensor = torch.from_numpy(vectors[0])
        return known
    rows: Tensor = network.embedding.weight[torch.from_numpy(buckets)]
    return rows.mean(0) if len(rows) else torch.zeros(network.config.dimension)


@pytest.mark.parametrize("merge", MERGES)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=24, deadline=None)
def test_equals_the_plain_network_in_value_and_gradient(merge: str, seed: int) -> None:
    data, graphs = random_dataset(seed)
    embedding = ("hashed", "table", "none")[seed % 3]
    network = make_network(seed, merge=merge, embedding=embedding, skip=seed % 2 == 0)
    table = WordTable(WORDS, vectors=np.random.default_rng(seed).normal(size=(len(WORDS), 2)).astype(np.float32))
    words = WordInputs(table, network.config)
    batch = make_batch(data, np.arange(len(data)), words, merge, CPU)
    ours = network(batch)[:, 0]
    plain = reference_logits(network, data, graphs, words)
    order = batch_arcs(data, np.arange(len(data)))
    torch.testing.assert_close(ours, plain[order], atol=1e-5, rtol=1e-5)
    toward = torch.from_numpy(np.random.default_rng(seed).normal(size=len(order)).astype(np.float32))
    parameters = list(network.parameters())
    mine = torch.autograd.grad((ours * toward).sum(), parameters)
    theirs = torch.autograd.grad((plain[order] * toward).sum(), parameters, allow_unused=True)
    for (name, weight), a, b in zip(network.named_parameters(), mine, theirs, strict=True):
        expected = torch.zeros_like(weight) if b is None else b
        near = 1e-5 * max(1.0, float(expected.abs().max()))
        torch.testing.assert_close(a, expected, atol=near, rtol=1e-5, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize("merge", MERGES)
def test_the_compiled_lstm_gives_the_same_values_and_gradients(merge: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = random_dataset(3, utterances=20)
    network = make_network(3, merge=merge, embedding="none")
    words = WordInputs(WordTable(WORDS), network.config)
    batch = make_batch(data, np.arange(len(data)), words, merge, CPU)
    toward = torch.randn(len(data.source), generator=torch.Generator().manual_seed(0))
    results = []
    for lstm in (TorchLstm(), CompiledLstm()):
        monkeypatch.setattr(lattice_rnn, "lstm_for", lambda _, lstm=lstm: lstm)
        logits = network(batch)
        results.append([logits, *torch.autograd.grad((logits * toward).sum(), list(network.parameters()))])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_the_compiled_lstm_is_for_single_precision_on_a_cpu() -> None:
    assert isinstance(lstm_for(torch.zeros(1)), CompiledLstm)
    assert isinstance(lstm_for(torch.zeros(1, dtype=torch.float64)), TorchLstm)
    assert isinstance(lstm_for(torch.zeros(1, device="meta")), TorchLstm)


@pytest.mark.parametrize("lstm", [TorchLstm, CompiledLstm])
def test_sums_over_nothing_are_zero(lstm: type[TorchLstm] | type[CompiledLstm]) -> None:
    rows, offsets = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0, 0, 2, 2])
    out = torch.full((4, 2), torch.nan)
    lstm.collect(rows, torch.tensor([1, 0]), offsets, torch.tensor([0.5, 2.0]), out)
    assert out.tolist() == [[0, 0], [3.5, 6], [0, 0], [0, 0]]


NORMALISED = Config(head="normalised", embedding="none", columns=COLUMNS)


def normalised_batch(data: Dataset) -> tuple[Batch, NDArray[np.int64]]:
    """A batch of all utterances, and the index of each of its arcs in the data."""
    utterances = np.arange(len(data))
    batch = make_batch(data, utterances, WordInputs(WordTable(WORDS), NORMALISED), "mean", CPU)
    return batch, batch_arcs(data, utterances)


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
    data, graphs = random_dataset(seed)
    batch, order = normalised_batch(data)
    numbers = np.random.default_rng(seed).normal(size=(len(order), 2)) * 2
    share, path_loss = written_out(data, graphs, numbers[:, 0])
    chance = 1 / (1 + np.exp(-numbers[:, 1]))
    outputs = torch.tensor(numbers[order], dtype=torch.float32, requires_grad=True)
    measures = LatticeRNN(NORMALISED).measures(batch, outputs)
    np.testing.assert_allclose(measures.confidence.detach(), (share * chance)[order], atol=1e-6)

    counted, right = data.label >= 0, data.label == 1
    words = -np.log(np.where(right, share * chance, 1 - share * chance))[counted].sum()
    loss = measures.loss(batch, 2.0)
    assert loss.item() == pytest.approx(2 * path_loss + words, rel=1e-4)

    loss.backward()  # type: ignore[no-untyped-call]
    np.testing.assert_allclose(outputs.grad[:, 0], 2 * (share - data.path)[order], atol=1e-5)
    step = 1e-4  # the share is held fixed, so only that of the word itself changes
    up, down = (1 / (1 + np.exp(-(numbers[:, 1] + sign * step))) for sign in (1, -1))
    sides = [-np.log(np.where(right, share * q, 1 - share * q)) for q in (up, down)]
    np.testing.assert_allclose(
        outputs.grad[:, 1], np.where(counted, (sides[0] - sides[1]) / (2 * step), 0)[order], atol=1e-3
    )


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_shares_learn_from_whether_words_are_right(seed: int) -> None:
    data, graphs = random_dataset(seed)
    batch, order = normalised_batch(data)
    numbers = np.random.default_rng(seed).normal(size=(len(order), 2))
    chance, right, counted = 1 / (1 + np.exp(-numbers[:, 1])), data.label == 1, data.label >= 0

    def word_loss(potential: np.ndarray) -> float:
        confidence = written_out(data, graphs, potential)[0] * chance
        return float(-np.log(np.where(right, confidence, 1 - confidence))[counted].sum())

    outputs = torch.tensor(numbers[order], dtype=torch.float32, requires_grad=True)
    LatticeRNN(NORMALISED).measures(batch, outputs).loss(batch, 0.0, 1.0, 3.0).backward()  # type: ignore[no-untyped-call]
    steps = 1e-5 * np.eye(len(order))
    slopes = np.array([(word_loss(numbers[:, 0] + s) - word_loss(numbers[:, 0] - s)) / 2e-5 for s in steps])
    np.testing.assert_allclose(outputs.grad[:, 0], 3 * slopes[order], atol=1e-3)


def test_training_begins_with_the_posteriors() -> None:
    """With all potentials 0 the shares are the posteriors, if these are shares of paths themselves."""
    data, graphs = random_dataset(3)
    posterior, _ = written_out(data, graphs, np.random.default_rng(0).normal(size=len(data.source)))
    data = replace(data, posterior=posterior.astype(np.float32))
    batch, order = normalised_batch(data)
    with torch.no_grad():
        network = LatticeRNN(NORMALISED)
        outputs = network(batch)
        outputs[:, 1] = 100.0
        confidence = network.measures(batch, outputs).confidence
    np.testing.assert_allclose(confidence, posterior[order], atol=1e-5)


def test_local_posteriors_by_hand() -> None:
    found = local_log_posterior(np.array([0, 0, 1]), np.array([0.6, 0.2, 0.0], np.float32))
    np.testing.assert_allclose(found, np.log([0.75, 0.25, 1e-6]), rtol=1e-5)

"""Small training data for tests of the model: graphs whose labels can be learned from their features."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordtrust.confidence.features import Statistics
from wordtrust.confidence.gap_inputs import FIXED
from wordtrust.confidence.model_card import ModelCard
from wordtrust.confidence.word_table import WordTable
from wordtrust.lattices.lattice import Lattices, ReadingFacts
from wordtrust.lattices.vocabulary import Vocabulary
from wordtrust.training.dataset import Dataset, TrainingData
from wordtrust.training.gap_data import GapData

WORDS = tuple("ab abc abcd b bcd d".split())
COLUMNS = ("posterior", "frames", "phones")
Graph = list[tuple[int, int]]


def random_graph(rng: np.random.Generator, nodes: int, more: int) -> Graph:
    """A chain with shortcuts and parallel arcs, sorted by source as networks are."""
    chain = [(node, node + 1) for node in range(nodes - 1)]
    sources = rng.integers(0, nodes - 1, more)
    extra = [(int(s), int(rng.integers(s + 1, nodes))) for s in sources]
    return sorted(chain + extra)


def made_network(arcs: Graph, words: list[str], utt: str = "u", **arrays: Any) -> Lattices:
    """One network; its arcs are sorted by source. `arrays` are its times, its scores and the like."""
    vocabulary = Vocabulary()
    word = np.array([vocabulary.id(word) for word in words], np.int32)
    source, target = map(np.ascontiguousarray, np.array(arcs, np.int32).T)
    return Lattices(
        utts=(utt,), node_offsets=np.array([0, target.max() + 1]), arc_offsets=np.array([0, len(arcs)]),
        source=source, target=target, word=word, surface=word, vocabulary=vocabulary, facts=ReadingFacts.none(1),
        **arrays,
    )  # fmt: skip


def levels(arcs: Graph, nodes: int) -> list[int]:
    """The longest way to each node, written out."""
    found = [0] * nodes
    for source, target in sorted(arcs):
        found[target] = max(found[target], found[source] + 1)
    return found


def random_dataset(seed: int, utterances: int = 3) -> tuple[Dataset, list[Graph]]:
    """Graphs with random features; an arc is right where its first feature and those of its neighbours say so."""
    rng = np.random.default_rng(seed)
    graphs = [random_graph(rng, int(rng.integers(2, 7)), int(rng.integers(0, 8))) for _ in range(utterances)]
    nodes = [1 + max(t for _, t in graph) for graph in graphs]
    turned = [[(n - 1 - t, n - 1 - s) for s, t in graph] for n, graph in zip(nodes, graphs, strict=True)]
    arcs = sum(map(len, graphs))
    flat = np.array([arc for graph in graphs for arc in graph], np.int32)
    features = rng.normal(size=(arcs, len(COLUMNS))).astype(np.float16)
    word = rng.integers(-1, len(WORDS), arcs).astype(np.int32)
    right = features[:, 0] + 0.5 * features[:, 1] + rng.normal(size=arcs) > 0
    data = Dataset(
        node_offsets=np.cumsum([0, *nodes]),
        arc_offsets=np.cumsum([0, *map(len, graphs)]),
        source=flat[:, 0],
        target=flat[:, 1],
        level=np.array([level for g, n in zip(graphs, nodes, strict=True) for level in levels(g, n)], np.int32),
        level_back=np.array(
            [level for g, n in zip(turned, nodes, strict=True) for level in levels(g, n)[::-1]], np.int32
        ),
        features=features,
        posterior=rng.uniform(0.01, 0.99, arcs).astype(np.float32),
        label=np.where(word < 0, -1, right).astype(np.int8),
        path=_path(graphs, nodes),
        word=word,
        speaker=np.arange(utterances, dtype=np.uint32) // 3,
    )
    return replace(data, gaps=random_gaps(data, np.random.default_rng(seed))), graphs


def random_gaps(data: Dataset, rng: np.random.Generator) -> GapData:
    """The gaps of the path of each utterance; words are missing where the first input is large."""
    offsets, before, after, near, sizes = [0], list[int](), list[int](), list[int](), list[int]()
    for first, last in pairwise(data.arc_offsets.tolist()):
        said = np.flatnonzero((data.path[first:last] > 0) & (data.word[first:last] >= 0)).tolist()
        before += [-1, *said]
        after += [*said, -1]
        for _ in range(len(said) + 1):
            sizes.append(int(rng.integers(0, 4)))
            near += rng.integers(0, last - first, sizes[-1]).tolist()
        offsets.append(len(before))
    fixed = rng.normal(size=(len(before), len(FIXED))).astype(np.float32)
    is_rival = rng.integers(0, 2, len(near)).astype(np.bool_)
    return GapData(
        offsets=np.array(offsets), before=np.array(before, np.int32), after=np.array(after, np.int32),
        missing=(fixed[:, 0] > 0.7).astype(np.int8), fixed=fixed, near_offsets=np.cumsum([0, *sizes]),
        near=np.array(near, np.int32), is_rival=is_rival, is_inside=is_rival & (rng.uniform(size=len(near)) < 0.5),
    )  # fmt: skip


def _path(graphs: list[Graph], nodes: list[int]) -> NDArray[np.int8]:
    """A way through each graph: by the first arc out of every node that it comes to."""
    found = []
    for graph, count in zip(graphs, nodes, strict=True):
        on, node = [0] * len(graph), 0
        while node < count - 1:
            arc = next(number for number, (source, _) in enumerate(graph) if source == node)
            on[arc], node = 1, graph[arc][1]
        found += on
    return np.array(found, np.int8)


def training_data(seed: int = 0, utterances: int = 60) -> TrainingData:
    """Enough to see learning, little enough for a test."""
    train, _ = random_dataset(seed, utterances)
    dev, _ = random_dataset(seed + 1, utterances)
    vectors = np.random.default_rng(seed).normal(size=(len(WORDS), 2)).astype(np.float32)
    statistics = Statistics(COLUMNS, np.zeros(3, np.float32), np.ones(3, np.float32))
    table = WordTable(WORDS, phones=None, mass=np.ones(len(WORDS), np.float32), vectors=vectors)
    return TrainingData(train, dev, table, statistics, ModelCard("made up"))

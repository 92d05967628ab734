"""Gaps between words and probabilities of texts, against all paths of small networks written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.model_data import made_network, random_graph
from wordtrust.lattices.lattice import Lattices, concatenate
from wordtrust.lattices.paths import Paths, best_paths
from wordtrust.lattices.posterior import FlatGraph, arc_masses, arc_shares
from wordtrust.networks import text_probability as module
from wordtrust.networks.align import align, align_all
from wordtrust.networks.gaps import Gaps, k_best_missing, missing_words, rival_posterior
from wordtrust.networks.text_probability import text_probability

WORDS = ["", "a", "b", "c"]
SEEDS = st.integers(0, 100_000)
Reals = np.ndarray


def random_network(rng: np.random.Generator, utt: str = "u") -> tuple[Lattices, Reals, Reals]:
    """A network with shares of all paths as posteriors, these shares, and chances of words."""
    graph = random_graph(rng, int(rng.integers(2, 7)), int(rng.integers(0, 8)))
    nodes = max(target for _, target in graph) + 1
    words = rng.choice(WORDS, len(graph)).tolist()
    time = np.cumsum(rng.integers(0, 4, nodes)) / 10
    bare = made_network(graph, words, utt, time=time)
    flat = FlatGraph.of(bare)
    share, _ = arc_shares(flat, rng.normal(size=len(graph)))
    arc_masses(flat, share)
    made = made_network(graph, words, utt, time=time, posterior=np.minimum(share, 1).astype(np.float32))
    return made, share, rng.uniform(size=len(graph))


def all_paths(network: Lattices, node: int = 0) -> list[list[int]]:
    if node == len(network.time) - 1:
        return [[]]
    leaving = [arc for arc in range(len(network.source)) if network.source[arc] == node]
    return [[arc, *rest] for arc in leaving for rest in all_paths(network, int(network.target[arc]))]


def path_probabilities(network: Lattices, share: Reals) -> list[tuple[list[int], float]]:
    """All paths with what their arcs have of what leaves each node."""
    leaving = [share[network.source == node].sum() for node in range(len(network.time))]
    parts = share / np.array(leaving)[network.source]
    return [(path, float(np.prod(parts[path]))) for path in all_paths(network)]


def text(network: Lattices, path: list[int]) -> list[int]:
    return [int(network.word[arc]) for arc in path if network.word[arc] > 0]


def random_path(network: Lattices, rng: np.random.Generator) -> Paths:
    return best_paths(network, rng.normal(size=len(network.source)))


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_near_words_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, share, _ = random_network(rng)
    paths = random_path(network, rng)
    gaps, said = Gaps.of(network, paths), [int(arc) for arc in paths.arcs if network.word[arc] > 0]
    assert gaps.offsets.tolist() == [0, len(said) + 1]
    assert gaps.before.tolist() == [-1, *said]
    assert gaps.after.tolist() == [*said, -1]
    start, end = network.start_time, network.end_time
    middle = (start + end) / 2
    for gap, (one, other) in enumerate(zip([-1, *said], [*said, -1], strict=True)):
        left = int(network.target[one]) if one >= 0 else 0
        right = int(network.source[other]) if other >= 0 else len(network.time) - 1
        assert gaps.seconds[gap] == pytest.approx(network.time[right] - network.time[left], abs=1e-6)
        beside = {int(network.word[arc]) for arc in (one, other) if arc >= 0}
        near, rivals, inside = [], [], []
        for arc in np.flatnonzero(network.word > 0):
            if (one < 0 or middle[arc] >= start[one]) and (other < 0 or middle[arc] <= end[other]):
                near.append(arc)
                rivals.append(
                    (one < 0 or middle[arc] > middle[one])
                    and (other < 0 or middle[arc] < middle[other])
                    and int(network.word[arc]) not in beside
                )
                inside.append(rivals[-1] and network.source[arc] >= left and network.target[arc] <= right)
        rows = slice(gaps.near_offsets[gap], gaps.near_offsets[gap + 1])
        assert gaps.near[rows].tolist() == near
        assert gaps.is_rival[rows].tolist() == rivals
        assert gaps.is_inside[rows].tolist() == inside
        # the shares of near words are the number of such words on a path, in the mean over all paths
        expected = sum(weight * len(set(near) & set(path)) for path, weight in path_probabilities(network, share))
        assert share[gaps.near[rows]].sum() == pytest.approx(expected)


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_the_probability_of_a_text_is_that_of_all_its_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, share, chance = random_network(rng)
    paths = random_path(network, rng)
    said, expected, certain = text(network, paths.arcs.tolist()), 0.0, 0.0
    for path, weight in path_probabilities(network, share):
        if text(network, path) == said:
            expected += weight * np.prod([chance[arc] for arc in path if network.word[arc] > 0])
            certain += weight
    found = text_probability(network, share, paths, chance)[0]
    assert found == pytest.approx(expected, abs=1e-12)
    assert text_probability(network, share, paths)[0] == pytest.approx(certain, abs=1e-12)
    assert 0 <= found <= certain + 1e-12 <= 1 + 1e-9
    surer = text_probability(network, share, paths, chance + 0.5 * (1 - chance))[0]
    assert surer >= found - 1e-12


def test_probabilities_of_all_texts_sum_to_one() -> None:
    rng = np.random.default_rng(5)
    network, share, _ = random_network(rng)
    texts, total = set[tuple[int, ...]](), 0.0
    for path in all_paths(network):
        if tuple(text(network, path)) not in texts:
            texts.add(tuple(text(network, path)))
            paths = Paths(np.array([0, len(path)]), np.array(path, np.int32))
            total += text_probability(network, share, paths)[0]
    assert total == pytest.approx(1.0)


def test_long_utterances_have_the_probability_of_their_path(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    network, share, chance = random_network(rng)
    paths = random_path(network, rng)
    monkeypatch.setattr(module, "MAX_CELLS", 0)
    weights = {tuple(path): weight for path, weight in path_probabilities(network, share)}
    expected = weights[tuple(paths.arcs.tolist())] * np.prod(
        [chance[arc] for arc in paths.arcs if network.word[arc] > 0]
    )
    assert text_probability(network, share, paths, chance)[0] == pytest.approx(expected)


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_other_utterances_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = [random_network(rng, f"u{index}") for index in range(4)]
    order = rng.permutation(4)
    alone, together = [], []
    for index in range(4):
        network, share, chance = made[index]
        paths = best_paths(network, share)
        alone.append((text_probability(network, share, paths, chance)[0], rival_posterior(network, paths).tolist()))
    batch = concatenate(made[index][0] for index in order)
    share, chance = (np.concatenate([made[index][part] for index in order]) for part in (1, 2))
    paths = best_paths(batch, share)
    probabilities, rivals = text_probability(batch, share, paths, chance), rival_posterior(batch, paths)
    gaps = Gaps.of(batch, paths)
    for place in range(4):
        together.append((probabilities[place], rivals[gaps.offsets[place] : gaps.offsets[place + 1]].tolist()))
    assert together == [alone[index] for index in order]


@given(st.lists(st.sampled_from("abcd"), max_size=8), st.lists(st.sampled_from("abcd"), max_size=8))
@settings(max_examples=200, deadline=None)
def test_missing_words_are_the_deletions_where_they_are(reference: list[str], hypothesis: list[str]) -> None:
    alignments = align_all([reference], [hypothesis])
    missing = missing_words(alignments, np.array([0, len(reference)]))
    found = align(reference, hypothesis)
    assert missing.sum() == found.deletions
    assert len(missing) == len(hypothesis) + 1
    rebuilt, next_word = [], 0  # with what is missing put in, the words stand for the reference one by one
    for gap, words in enumerate(missing):
        rebuilt += reference[next_word : next_word + words]
        next_word += int(words)
        if gap < len(hypothesis) and found.reference[gap] >= 0:
            assert found.reference[gap] == next_word
            rebuilt.append(reference[next_word])
            next_word += 1
    assert rebuilt == reference


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_a_list_of_the_best_sequences_tells_what_is_missing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = [random_network(rng, f"u{index}") for index in range(2)]
    batch = concatenate(network for network, _, _ in made)
    paths, k, expected = best_paths(batch, np.concatenate([share for _, share, _ in made])), 3, list[float]()
    for network, share, _ in made:
        best = dict[tuple[int, ...], float]()
        for path, weight in path_probabilities(network, share):
            said = tuple(text(network, path))
            best[said] = max(best.get(said, 0.0), weight)
        listed = sorted(best.items(), key=lambda item: -item[1])[:k]
        own = text(network, best_paths(network, share).arcs.tolist())
        gaps = np.zeros(len(own) + 1)
        for said, weight in listed:
            words = missing_words(align_all([list(map(str, said))], [list(map(str, own))]), np.array([0, len(said)]))
            gaps += weight * (words > 0)
        expected += (gaps / sum(weight for _, weight in listed)).tolist()
    np.testing.assert_allclose(k_best_missing(batch, paths, k), expected, atol=1e-5)


def test_missing_words_by_hand() -> None:
    texts = [("the cat sat", "the sat"), ("a b", ""), ("", "a"), ("x y z", "x y"), ("y z", "z"), ("a a b", "a b")]
    alignments = align_all([reference.split() for reference, _ in texts], [said.split() for _, said in texts])
    sizes = [len(reference.split()) for reference, _ in texts]
    missing = missing_words(alignments, np.concatenate([[0], np.cumsum(sizes)]))
    assert missing.tolist() == [0, 1, 0, 2, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0]

"""Labels and oracle paths against enumeration of all paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.strategies import all_paths, assembled, batch_of, lattices, rivals
from wordtrust.base.errors import OptionError
from wordtrust.lattices.lattice import Lattice
from wordtrust.networks import oracle as module
from wordtrust.networks.align import align
from wordtrust.networks.labels import label_arcs, score_paths
from wordtrust.networks.oracle import oracle_paths
from wordtrust.networks.reference_words import ReferenceWords

WORDS = ("i", "will", "sit", "there", "<sil>", "<unk>")
references = st.lists(st.sampled_from(["i", "will", "sit", "there", "elsewhere"]), max_size=5)


def errors(reference: list[str], words: list[str]) -> int:
    alignment = align(reference, words)
    return alignment.substitutions + alignment.deletions + alignment.insertions


def said_on(lattice: Lattice, path: tuple[int, ...]) -> list[str]:
    return [lattice.words[arc] for arc in path if lattice.word[arc]]


def labels_of(lattice: Lattice, reference: list[str], rule: str) -> list[int]:
    batch = lattice.batch()
    return [int(value) for value in label_arcs(batch, ReferenceWords.of([reference], batch), rule)]


@given(lattices(words=WORDS), references)
def test_oracle_has_the_fewest_errors_of_all_paths(lattice: Lattice, reference: list[str]) -> None:
    batch = lattice.batch()
    path = tuple(oracle_paths(batch, ReferenceWords.of([reference], batch)).arcs.tolist())
    every = all_paths(lattice)
    assert path in every
    fewest = min(errors(reference, said_on(lattice, other)) for other in every)
    assert errors(reference, said_on(lattice, path)) == fewest


@given(lattices(words=WORDS, score_sets=(("posterior",),)), references)
def test_ties_go_to_the_larger_posterior(lattice: Lattice, reference: list[str]) -> None:
    """Among paths with as few errors, none has right words of a larger summed posterior."""
    batch = lattice.batch()
    assert lattice.posterior is not None
    posterior = lattice.posterior.astype(float)

    def worth(path: tuple[int, ...]) -> tuple[int, float]:
        words = [arc for arc in path if lattice.word[arc]]
        return -errors(reference, said_on(lattice, path)), _best_match(lattice, words, reference, posterior)

    oracle = tuple(oracle_paths(batch, ReferenceWords.of([reference], batch)).arcs.tolist())
    every = all_paths(lattice)
    assert worth(oracle)[1] == pytest.approx(max(worth(path) for path in every)[1], abs=1e-6)


def _best_match(lattice: Lattice, words: list[int], reference: list[str], posterior: Any) -> float:
    """The largest posterior that right words can sum to in an alignment with the fewest errors, by recursion."""

    def best(i: int, j: int) -> tuple[int, float]:
        if i == len(words) or j == len(reference):
            return len(words) - i + len(reference) - j, 0.0
        same = lattice.words[words[i]] == reference[j]
        cost, gain = best(i + 1, j + 1)
        options = [(cost + (not same), gain + same * posterior[words[i]])]
        for cost, gain in (best(i + 1, j), best(i, j + 1)):
            options.append((cost + 1, gain))
        return min(options, key=lambda option: (option[0], -option[1]))

    return best(0, 0)[1]


@given(lattices(words=WORDS), references)
def test_oracle_labels_are_the_right_words_of_that_path(lattice: Lattice, reference: list[str]) -> None:
    batch = lattice.batch()
    path = oracle_paths(batch, ReferenceWords.of([reference], batch)).arcs.tolist()
    spoken = [arc for arc in path if lattice.word[arc]]
    right = align(reference, [lattice.words[arc] for arc in spoken]).correct
    expected = [0 if word else -1 for word in lattice.word]
    for arc, good in zip(spoken, right, strict=True):
        expected[arc] = int(good)
    assert labels_of(lattice, reference, "oracle") == expected


@given(lattices(words=WORDS), references)
def test_one_best_labels_by_the_papers_rule(lattice: Lattice, reference: list[str]) -> None:
    """The rules of `labels`, written out."""
    path = [arc for arc in lattice.one_best() if lattice.word[arc]]
    alignment = align(reference, [lattice.words[arc] for arc in path])
    expected = [0 if word else -1 for word in lattice.word]
    for arc, index in zip(path, alignment.reference if alignment.hits else (), strict=bool(alignment.hits)):
        for other in range(lattice.arcs):
            same_ends = (lattice.source[other], lattice.target[other]) == (lattice.source[arc], lattice.target[arc])
            if index >= 0 and same_ends and lattice.words[other] == reference[index]:
                expected[other] = 1
    assert labels_of(lattice, reference, "one-best") == expected


def test_rivals_of_a_wrong_word_can_be_right() -> None:
    lattice = assembled(
        "u", time=[0, 1, 2], ends=[(0, 1), (0, 1), (1, 2)], tokens=["sit", "seat", "here"], acoustic=[0.0, -1.0, 0.0]
    )
    assert labels_of(lattice, ["seat", "here"], "one-best") == [0, 1, 1]
    assert labels_of(lattice, ["sit", "here"], "one-best") == [1, 0, 1]
    assert labels_of(lattice, ["neither", "here"], "one-best") == [0, 0, 1]
    assert labels_of(lattice, ["seat", "there"], "one-best") == [0, 0, 0]  # nothing of the 1-best matches
    assert labels_of(lattice, ["seat", "there"], "oracle") == [0, 1, 0]
    assert labels_of(lattice, [], "oracle") == [0, 0, 0]


def test_a_rival_before_the_best_word_can_be_right() -> None:
    lattice = assembled(
        "u", time=[0, 1, 2], ends=[(0, 1), (0, 1), (0, 1), (1, 2)], tokens=["sit", "set", "seat", "here"],
        acoustic=[-2.0, -1.0, 0.0, 0.0],
    )  # fmt: skip
    assert labels_of(lattice, ["sit", "here"], "one-best") == [1, 0, 0, 1]


def test_the_oracle_by_hand() -> None:
    assert labels_of(rivals(["a", "<sil>"]), ["a"], "oracle") == [1, -1]
    assert labels_of(rivals(["a", "b", "a"], posterior=[0.3, 0.4, 0.3]), ["a"], "oracle") == [1, 0, 0]
    assert labels_of(rivals(["a", "b", "a"], posterior=[0.3, 0.4, 0.4]), ["a"], "oracle") == [0, 0, 1]


def test_the_unknown_word_is_never_right() -> None:
    lattice = rivals(["<unk>"])
    for rule in ("oracle", "one-best"):
        assert labels_of(lattice, ["<unk>"], rule) == [0]


@given(st.lists(st.tuples(lattices(words=WORDS, score_sets=(("posterior",),)), references), min_size=1, max_size=4))
def test_batches_are_labelled_like_their_parts(parts: list[tuple[Lattice, list[str]]]) -> None:
    batch = batch_of(*(lattice for lattice, _ in parts))
    spoken = ReferenceWords.of([reference for _, reference in parts], batch)
    for rule in ("oracle", "one-best"):
        alone = [value for lattice, reference in parts for value in labels_of(lattice, reference, rule)]
        assert label_arcs(batch, spoken, rule).tolist() == alone


def test_a_long_utterance_is_searched_in_a_band(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    words = [f"w{k}" for k in random.integers(0, 50, 400)]
    ends = [(k, k + 1) for k in range(400) for _ in range(2)]
    tokens = [token for word in words for token in ("wrong", word)]
    lattice = assembled(
        "u", time=np.arange(401) / 2, ends=ends, tokens=tokens, acoustic=random.normal(size=800)
    ).batch()
    heard = [word for word in words if random.random() > 0.1]
    spoken = ReferenceWords.of([heard], lattice)
    whole = score_paths(lattice, oracle_paths(lattice, spoken), spoken).errors
    monkeypatch.setattr(module, "MAX_CELLS", 1000)
    assert score_paths(lattice, oracle_paths(lattice, spoken), spoken).errors == whole
    assert 0 < whole < 60


def windows(lattice: Lattice, reference: list[str], cells: int, band: float) -> list[tuple[int, int]]:
    """How many reference words may come before each node: as `oracle_paths` says, one node after the other."""
    path = [arc for arc in lattice.one_best() if lattice.word[arc]]
    alignment = align(reference, [lattice.words[arc] for arc in path])
    matched = [
        (arc, place) for arc, place, right in zip(path, alignment.reference, alignment.correct, strict=True) if right
    ]
    right = [(float(lattice.time[lattice.target[arc]]), place) for arc, place in matched]
    line = [(float(lattice.time[0]), 0), *((when, place + 1) for when, place in right)]
    line.append((float(lattice.time[-1]), len(reference)))
    found = []
    for node, now in enumerate(lattice.time.tolist()):
        low = max((place + 1 for when, place in right if when <= now - band), default=0)
        high = max(low, min((place for when, place in right if when >= now + band), default=len(reference)))
        half = max(1, cells // (2 * lattice.nodes))
        middle = float(np.interp(now, [when for when, _ in line], [place for _, place in line]))
        low = int(max(low, middle - half))
        high = max(low, int(min(high, middle + half)))
        found.append((0 if node == 0 else low, len(reference) if node == lattice.nodes - 1 else high))
    return found


def banded_errors(lattice: Lattice, reference: list[str], inside: list[tuple[int, int]]) -> float:
    """The fewest errors of any path whose alignment stays in these windows."""
    fewest = {(0, 0): 0.0}
    for node in range(lattice.nodes):
        low, high = inside[node]
        for j in range(low, high + 1):
            fewest[node, j] = min(fewest.get((node, j), np.inf), fewest.get((node, j - 1), np.inf) + 1)
            for arc in np.flatnonzero(lattice.source == node):
                to, word = int(lattice.target[arc]), lattice.words[arc]
                steps = [(j, 1 if word else 0)]
                if word and j < len(reference):
                    steps.append((j + 1, 0 if word == reference[j] and word != "<unk>" else 1))
                for after, cost in steps:
                    if inside[to][0] <= after <= inside[to][1]:
                        known = fewest.get((to, after), np.inf)
                        fewest[to, after] = min(known, fewest[node, j] + cost)
    return fewest.get((lattice.nodes - 1, len(reference)), np.inf)


@given(
    lattices(words=WORDS, max_nodes=10),
    st.lists(st.sampled_from(["i", "will", "sit", "there", "elsewhere"]), min_size=2, max_size=12),
    st.sampled_from([0.1, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0]),
    st.sampled_from([0.0, 0.05, 0.2, 0.5, 10.0]),
)
def test_a_band_is_searched_to_its_edges(lattice: Lattice, reference: list[str], part: float, band: float) -> None:
    batch = lattice.batch()
    cells = int(part * lattice.nodes * (len(reference) + 1))
    inside = [(0, len(reference))] * lattice.nodes
    if cells < lattice.nodes * (len(reference) + 1):
        inside = windows(lattice, reference, cells, band)
    fewest = banded_errors(lattice, reference, inside)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_CELLS", cells)
        patch.setattr(module, "BAND", band)
        spoken = ReferenceWords.of([reference], batch)
        path = tuple(oracle_paths(batch, spoken).arcs.tolist())
        assert [*zip(*module._windows(batch, spoken), strict=True)] == inside  # no more is kept in memory either
    assert path in all_paths(lattice)
    if fewest < np.inf:
        assert errors(reference, said_on(lattice, path)) <= fewest


def test_a_band_too_narrow_for_any_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two words against twelve, three cells in all: there is a path all the same."""
    lattice = assembled("u", time=[0, 1, 2], ends=[(0, 1), (1, 2), (0, 2)], tokens=["a", "b", "c"])
    monkeypatch.setattr(module, "MAX_CELLS", 3)
    monkeypatch.setattr(module, "BAND", 0.0)
    batch = batch_of(lattice, lattice)
    found = oracle_paths(batch, ReferenceWords.of([["x"] * 12] * 2, batch))
    paths = [tuple(part.tolist()) for part in np.split(found.arcs, found.offsets[1:-1])]
    assert paths[0] == paths[1]
    assert paths[0] in all_paths(lattice)


def test_how_long_an_utterance_is_searched_as_a_whole() -> None:
    """4096 nodes and 0 to 2047 reference words before each are 2 ** 23 pairs; of a word more, no more is kept."""
    lattice = assembled(
        "u", time=np.arange(4096) / 10, ends=[(k, k + 1) for k in range(4095)], tokens=["<sil>"] * 4095
    ).batch()
    low, high = module._windows(lattice, ReferenceWords.of([["a"] * 2047], lattice))
    assert (low.tolist(), high.tolist()) == ([0] * 4096, [2047] * 4096)
    low, high = module._windows(lattice, ReferenceWords.of([["a"] * 2048], lattice))
    assert 2**22 < (high - low + 1).sum() <= 2**23


def test_only_utterances_that_are_too_long_are_searched_in_a_band(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of three has more cells than the others; its reference alone is out of reach of its band."""
    words = ["a", "b", "c", "d", "e", "f"]
    ends = [(k, k + 1) for k in range(6)]
    short = assembled("u", time=[0, 1], ends=[(0, 1)], tokens=["a"], acoustic=[0.0])
    long = assembled("v", time=range(7), ends=ends, tokens=words, acoustic=[0.0] * 6)
    batch = batch_of(short, long, short)
    spoken = ReferenceWords.of([["a"], words, ["a"]], batch)
    monkeypatch.setattr(module, "MAX_CELLS", 40)
    assert label_arcs(batch, spoken).tolist() == [1] * 8


@given(lattices(words=WORDS), references, st.integers(1, 30), st.sampled_from([0.0, 0.05, 0.5]))
def test_narrow_bands_still_give_paths(lattice: Lattice, reference: list[str], cells: int, band: float) -> None:
    batch = lattice.batch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_CELLS", cells)
        patch.setattr(module, "BAND", band)
        path = tuple(oracle_paths(batch, ReferenceWords.of([reference], batch)).arcs.tolist())
    assert path in all_paths(lattice)


def test_bad_calls_are_named() -> None:
    batch = rivals(["a"]).batch()
    with pytest.raises(OptionError, match="one of oracle, one-best, not 'best'"):
        label_arcs(batch, ReferenceWords.of([["a"]], batch), "best")
    with pytest.raises(ValueError, match="2 references for 1 utterances"):
        ReferenceWords.of([["a"], ["b"]], batch)

"""The likeliest texts of a lattice, against all of its paths."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tools.nbest_extraction import best_texts, within_beam

from wordtrust.lattices.lattice import Lattice
from wordtrust.lattices.vocabulary import Vocabulary

WORDS = ("", "a", "b", "c")


@st.composite
def lattices(draw: st.DrawFn) -> Lattice:
    """Small ones, with pauses and with paths that say the same; every node lies on a path."""
    nodes = draw(st.integers(2, 6))
    pairs = [(node, node + 1) for node in range(nodes - 1)]
    pairs += draw(st.lists(st.tuples(st.integers(0, nodes - 2), st.integers(1, 3)).map(
        lambda each: (each[0], min(each[0] + each[1], nodes - 1))), max_size=8))  # fmt: skip
    pairs.sort()
    count = len(pairs)
    word = np.array(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)), np.int32)
    score = draw(st.lists(st.integers(-40, 40), min_size=count, max_size=count))
    return Lattice(
        utt="u",
        time=np.arange(nodes, dtype=np.float64),
        source=np.array([each[0] for each in pairs], np.int32),
        target=np.array([each[1] for each in pairs], np.int32),
        word=word,
        surface=word,
        vocabulary=Vocabulary(WORDS[1:]),
        acoustic=(np.array(score) / 8).astype(np.float32),  # sums are exact
    )


def all_paths(lattice: Lattice, node: int = 0) -> list[tuple[int, ...]]:
    """Every path from a node to the end."""
    if node == lattice.nodes - 1:
        return [()]
    return [
        (int(arc), *rest)
        for arc in np.flatnonzero(lattice.source == node)
        for rest in all_paths(lattice, int(lattice.target[arc]))
    ]


def worth(lattice: Lattice, path: tuple[int, ...]) -> float:
    return float(lattice.scores()[list(path)].sum())


def said(lattice: Lattice, path: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(lattice.surface[arc]) for arc in path if lattice.word[arc])


def best_by_text(lattice: Lattice, paths: list[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
    found: dict[tuple[int, ...], float] = {}
    for path in paths:
        text = said(lattice, path)
        found[text] = max(found.get(text, -math.inf), worth(lattice, path))
    return found


@settings(max_examples=150)
@given(lattices(), st.integers(1, 12))
def test_the_best_texts_are_those_of_all_paths(lattice: Lattice, most: int) -> None:
    expected = best_by_text(lattice, all_paths(lattice))
    found = best_texts(lattice, most)
    assert [each.score for each in found] == sorted(expected.values(), reverse=True)[:most]
    assert len({each.words for each in found}) == len(found)
    for each in found:
        assert each.score == expected[each.words] == worth(lattice, each.arcs)
        assert said(lattice, each.arcs) == each.words
        ends = [0, *lattice.target[list(each.arcs)].tolist()]
        assert ends == [*lattice.source[list(each.arcs)].tolist(), lattice.nodes - 1]


@settings(max_examples=150)
@given(lattices(), st.sampled_from([0.0, 0.5, 2.0, 100.0]))
def test_a_beam_leaves_the_arcs_of_paths_within_it(lattice: Lattice, beam: float) -> None:
    paths = all_paths(lattice)
    best = max(worth(lattice, path) for path in paths)
    expected = {arc for path in paths if worth(lattice, path) >= best - beam for arc in path}
    kept = within_beam(lattice, beam)
    assert set(np.flatnonzero(kept).tolist()) == expected
    allowed = best_by_text(lattice, [path for path in paths if set(path) <= expected])
    texts = {each.words: each.score for each in best_texts(lattice, 10_000, among=kept)}
    assert texts == allowed


def test_scores_of_ones_own_decide() -> None:
    word = np.array([1, 2], np.int32)
    lattice = Lattice("u", np.arange(2.0), np.zeros(2, np.int32), np.ones(2, np.int32), word, word,
                      Vocabulary(WORDS[1:]), acoustic=np.array([0, -3], np.float32))  # fmt: skip
    assert [each.words for each in best_texts(lattice)] == [(1,), (2,)]
    assert [each.words for each in best_texts(lattice, score=np.array([0.0, 1.0]))] == [(2,), (1,)]
    assert within_beam(lattice, 2.0).tolist() == [True, False]
    assert within_beam(lattice, 2.0, score=np.array([-1.0, 1.0])).tolist() == [True, True]


def test_equal_scores_come_in_the_order_of_arcs() -> None:
    word = np.array([3, 1, 2], np.int32)
    lattice = Lattice("u", np.arange(2.0), np.zeros(3, np.int32), np.ones(3, np.int32), word, word,
                      Vocabulary(WORDS[1:]), acoustic=np.zeros(3, np.float32))  # fmt: skip
    assert [each.words[0] for each in best_texts(lattice, 2)] == [3, 1]

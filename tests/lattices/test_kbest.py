"""The k best word sequences against enumeration of all paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.strategies import all_paths, assembled, batch_of, lattices, rivals
from wordtrust.base.errors import OptionError
from wordtrust.lattices.kbest import k_best
from wordtrust.lattices.lattice import Lattice
from wordtrust.lattices.weights import log_scores


def _best_of_all(lattice: Lattice) -> dict[tuple[int, ...], float]:
    """Every word sequence with the score of its best path."""
    scores, best = lattice.scores(), dict[tuple[int, ...], float]()
    for path in all_paths(lattice):
        words = tuple(int(lattice.word[arc]) for arc in path if lattice.word[arc])
        best[words] = max(best.get(words, -np.inf), float(sum(scores[list(path)])))
    return best


@given(st.lists(lattices(score_sets=(("acoustic",),)), min_size=1, max_size=3), st.integers(1, 6))
def test_they_are_the_best_of_all_word_sequences(some: list[Lattice], k: int) -> None:
    batch = batch_of(*some)
    found = k_best(batch, log_scores(batch), k)
    for u, lattice in enumerate(batch):
        totals = _best_of_all(lattice)
        paths = range(found.offsets[u], found.offsets[u + 1])
        arcs = [found.arcs[found.path_offsets[p] : found.path_offsets[p + 1]] for p in paths]
        words = [tuple(int(lattice.word[arc]) for arc in path if lattice.word[arc]) for path in arcs]
        assert len(set(words)) == len(words) == min(k, len(totals))
        assert found.score[list(paths)] == pytest.approx(sorted(totals.values(), reverse=True)[:k], abs=1e-6)
        for path, sequence, score in zip(arcs, words, found.score[list(paths)], strict=True):
            assert tuple(path) in set(all_paths(lattice))
            assert totals[sequence] == pytest.approx(score, abs=1e-6)


def test_ties_go_to_the_earlier_arc() -> None:
    lattice = rivals(["first", "second", "third"], acoustic=[1.0, 1.0, 1.0])
    assert k_best(lattice.batch(), lattice.scores(), 2).arcs.tolist() == [0, 1]


def test_the_arcs_of_a_batch_count_through_it() -> None:
    some = [rivals(["a", "b"], acoustic=[-1.0, 0.0]), rivals(["c"], acoustic=[-1.0])]
    batch = batch_of(*some)
    found = k_best(batch, log_scores(batch), 8)
    assert found.arcs_in(batch).tolist() == [1, 0, 2]
    assert found.offsets.tolist() == [0, 2, 3]


@pytest.mark.parametrize("k", [0, 101])
def test_a_number_of_paths_that_cannot_be_is_refused(k: int) -> None:
    lattice = rivals(["a"], acoustic=[0.0])
    with pytest.raises(OptionError, match="from 1 to 100"):
        k_best(lattice.batch(), lattice.scores(), k)


@pytest.mark.parametrize("tokens", [("a", "c", "b"), ("a", "b", "c"), ("c", "a", "b"), ("b", "c", "a")])
def test_two_words_are_not_a_third(tokens: tuple[str, str, str]) -> None:
    """A hash of small numbers took words 1 and 2 for word 3; which of them has which number depends on the order."""
    ends = [(0, 1), (0, 2), (1, 2)]
    lattice = assembled("u", time=[0, 0.5, 1], ends=ends, tokens=list(tokens), acoustic=[0.0, 0.0, 0.0])
    assert len(k_best(lattice.batch(), lattice.scores(), 2).score) == 2

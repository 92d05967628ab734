"""Best paths against enumeration of all paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests.strategies import assembled, lattices
from tests.test_lattice import paths
from wordtrust.decode import one_best
from wordtrust.lattice import Lattice, Scales


@given(lattices())
def test_one_best_is_the_best_of_all_paths(lattice: Lattice) -> None:
    scores = lattice.scores().astype(np.float64)
    totals = {path: sum(scores[list(path)]) for path in paths(lattice.source, lattice.target, 0, lattice.nodes - 1)}
    found = lattice.one_best()
    assert totals[found] == pytest.approx(max(totals.values()), abs=1e-6)


def test_the_recognizers_own_pick_comes_before_the_scores() -> None:
    lattice = assembled(
        "u", time=[0, 1], ends=[(0, 1), (0, 1)], tokens=["best", "picked"], acoustic=[0.0, -9.0], picked=[False, True]
    )
    assert lattice.text == "picked"


def test_scores_are_weighed_as_the_recognizer_does() -> None:
    lattice = assembled(
        "u", time=[0, 1], ends=[(0, 1), (0, 1)], tokens=["a", "<sil>"], acoustic=[-2.0, -1.0], transition=[0.5, 0.0]
    )
    assert lattice.scores().tolist() == [-1.5, -1.0]
    heavy = Lattice(**{**vars(lattice), "scales": Scales(acoustic=0.5, transition=2.0, word_penalty=-1.0)})
    assert heavy.scores().tolist() == [-1.0, -0.5]
    assert heavy.text == ""


def test_given_posteriors_decide_where_there_are_no_scores() -> None:
    lattice = assembled("u", time=[0, 1], ends=[(0, 1), (0, 1)], tokens=["a", "b"], posterior=[0.0, 0.7])
    assert lattice.text == "b"


def test_ties_go_to_the_earlier_arc() -> None:
    lattice = assembled("u", time=[0, 1], ends=[(0, 1), (0, 1)], tokens=["first", "second"], acoustic=[1.0, 1.0])
    assert lattice.text == "first"
    assert one_best(lattice.batch()).arcs.tolist() == [0]

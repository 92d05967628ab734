"""Chains of frames joined to arcs, against an enumeration of all paths."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.kaldi_files import Compact, Framed, expanded
from wordtrust.formats.frames import Contracted, contract

Path_ = tuple[tuple[int, ...], int, float]  # words, frames, score


def contracted(lattice: Framed) -> Contracted:
    final = np.zeros(lattice.states, np.bool_)
    final[[state for state, *_ in lattice.finals]] = True
    source, target, ilabel, olabel, graph, acoustic = map(np.array, zip(*lattice.arcs, strict=True))
    scores = {"graph": graph.astype(np.float32), "acoustic": acoustic.astype(np.float32)}
    return contract(
        lattice.states, source.astype(np.int32), target.astype(np.int32), olabel.astype(np.int32), ilabel != 0,
        scores, lattice.start, final,
    )  # fmt: skip


def arcs_of(made: Contracted) -> list[tuple[int, ...]]:
    """Ends, word and frames of every arc."""
    return list(zip(*(each.tolist() for each in (made.source, made.target, made.word, made.frames)), strict=True))


def paths(arcs: list[tuple[int, int, int, int, float]], start: int, finals: set[int]) -> Counter[Path_]:
    """Words, frames and score of every way from the start to a final state."""
    found: Counter[Path_] = Counter()
    open_paths: list[tuple[int, tuple[int, ...], int, float]] = [(start, (), 0, 0.0)]
    while open_paths:
        state, words, frames, score = open_paths.pop()
        if state in finals:
            found[words, frames, round(score, 3)] += 1
        for a, b, word, frame, cost in arcs:
            if a == state:
                open_paths.append((b, (*words, word) if word else words, frames + frame, score + cost))
    return found


ENDS = st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 2), st.booleans())


@given(st.lists(ENDS, max_size=14), st.data())
@settings(max_examples=200)
def test_no_path_is_lost_or_made(ends: list[tuple[int, int, int, bool]], data: st.DataObject) -> None:
    arcs = [
        (min(a, b), max(a, b) + 1, 7 if frame else 0, word, float(place), 2.0**place)
        for place, (a, b, word, frame) in enumerate(ends)
    ]
    arcs += [(0, 7, 7, 1, 0.5, 0.25)]
    number = data.draw(st.permutations(range(8)))
    arcs = [(number[a], number[b], *rest) for a, b, *rest in arcs]  # type: ignore[misc]
    finals = {number[7]} | {number[state] for state in data.draw(st.sets(st.integers(0, 7), max_size=2))}
    lattice = Framed("u", 8, tuple(arcs), tuple((state, 0.0, 0.0, 0) for state in finals), number[0])
    made = contracted(lattice)
    rows = zip(made.source.tolist(), made.target.tolist(), made.word.tolist(), made.frames.tolist(), strict=True)
    scores = made.scores["graph"] + made.scores["acoustic"]
    after = [(*row, float(score)) for row, score in zip(rows, scores, strict=True)]
    before = [(a, b, word, int(label != 0), graph + acoustic) for a, b, label, word, graph, acoustic in arcs]
    assert made.state[made.start] == lattice.start
    assert set(made.state[made.final].tolist()) == finals
    assert paths(after, made.start, set(np.flatnonzero(made.final).tolist())) == paths(before, number[0], finals)


def test_states_with_one_way_through_are_dissolved() -> None:
    """0 -> 1 -> 2 -> 5 with the word on the first arc; 0 -> 3 -> 4 -> 5 with a word on the last."""
    arcs = ((0, 1, 7, 4, 1.0, 0.0), (0, 3, 7, 0, 8.0, 0.0), (1, 2, 7, 0, 2.0, 0.0), (2, 5, 0, 0, 4.0, 0.5),
            (3, 4, 7, 0, 0.5, 0.0), (4, 5, 7, 6, 0.25, 0.0))  # fmt: skip
    made = contracted(Framed("u", 6, arcs, ((5, 0.0, 0.0, 0),)))
    assert made.state.tolist() == [0, 4, 5]
    assert made.own == 3
    assert arcs_of(made) == [
        (0, 2, 4, 2), (0, 1, 0, 2), (1, 2, 6, 1),
    ]  # fmt: skip
    assert made.scores["graph"].tolist() == [7.0, 8.5, 0.25]
    assert made.scores["acoustic"].tolist() == [0.5, 0.0, 0.0]


def test_a_ring_that_nothing_leads_to_is_no_trouble() -> None:
    arcs = ((0, 1, 7, 1, 0.0, 0.0), (2, 3, 7, 0, 1.0, 0.0), (3, 2, 7, 0, 1.0, 0.0))
    made = contracted(Framed("u", 4, arcs, ((1, 0.0, 0.0, 0),)))
    assert made.state.tolist() == [0, 1]
    assert made.frames.tolist() == [1]


def test_strings_at_final_states_stand_behind_the_own_states() -> None:
    lattice = Compact("u", 3, ((0, 1, 1, 1.0, 0.0, 3), (1, 2, 2, 1.0, 0.0, 1)), ((1, 0.5, 0.0, 2), (2, 0.25, 0.0, 1)))
    made = contracted(expanded(lattice))
    assert made.own == 3
    assert made.state.tolist() == [0, 1, 2, 6, 7]
    assert made.final.tolist() == [False, False, False, True, True]
    assert list(zip(made.source.tolist(), made.target.tolist(), made.frames.tolist(), strict=True)) == [
        (0, 1, 3), (1, 3, 2), (1, 2, 1), (2, 4, 1),
    ]  # fmt: skip


def test_work_is_bounded() -> None:
    """A chain without a word could have begun anywhere; guessing is given up after a few attempts."""
    states = 20_000
    arcs = tuple((state, state + 1, 7, 0, 0.0, 0.0) for state in range(states - 1))
    made = contracted(Framed("u", states, arcs, ((states - 1, 0.0, 0.0, 0),)))
    assert made.frames.sum() == states - 1
    assert len(made.state) < 4

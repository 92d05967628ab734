"""Clocks that differ are put right: known shifts and stretches are undone, and time never runs backwards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.joint_data import chain, shared
from wordtrust.combination.joint.union import OutputWords, WarpedTimes, warp
from wordtrust.lattices.lattice import Lattices


def warped(member: Lattices, pivot: Lattices) -> WarpedTimes:
    return warp(member, pivot, OutputWords.of(member), OutputWords.of(pivot))


def test_a_shift_and_a_stretch_are_undone() -> None:
    words = [("good", 0.5, 0.8), ("morning", 0.8, 1.4), ("all", 1.4, 1.6)]
    late = [(word, 1.5 * start + 0.4, 1.5 * end + 0.4) for word, start, end in words]
    pivot, member = shared(chain(words, 2.0), chain(late, 4.0))
    found = warped(member, pivot)
    assert found.before == pytest.approx([0.0, 0.5, 0.8, 1.4, 1.6, 2.0], abs=1e-5)
    assert found.after == pytest.approx(found.before)


def test_times_between_anchors_run_evenly() -> None:
    pivot, member = shared(
        chain([("a", 0.0, 1.0), ("b", 1.0, 2.0), ("c", 2.0, 3.0)], 3.0),
        chain([("a", 0.0, 2.0), ("x", 2.0, 3.0), ("y", 3.0, 6.0), ("c", 6.0, 7.0)], 7.0),
    )
    assert warped(member, pivot).before == pytest.approx([0.0, 1.0, 1.25, 2.0, 3.0], abs=1e-5)


def test_a_word_that_only_the_pivot_has_makes_the_clock_jump() -> None:
    pivot, member = shared(
        chain([("a", 0.0, 1.0), ("b", 1.0, 2.0), ("c", 2.0, 3.0)], 3.0),
        chain([("a", 0.0, 1.5), ("c", 1.5, 3.0)], 3.0),
    )
    found = warped(member, pivot)
    assert found.before == pytest.approx([0.0, 1.0, 3.0], abs=1e-5)
    assert found.after == pytest.approx([0.0, 2.0, 3.0], abs=1e-5)


def test_without_a_common_word_start_and_end_are_the_anchors() -> None:
    pivot, member = shared(chain([("a", 0.0, 4.0)], 4.0), chain([("x", 0.0, 1.0), ("y", 1.0, 2.0)], 2.0))
    assert warped(member, pivot).before == pytest.approx([0.0, 2.0, 4.0], abs=1e-5)


SPOKEN = st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.0, 1.0), st.floats(0.0, 0.5)), max_size=8)


def timed(spoken: list[tuple[str, float, float]]) -> Lattices:
    """Words with their lengths and the pauses before them."""
    words, now = [], 0.0
    for word, length, pause in spoken:
        start = now + pause
        now = start + length
        words.append((word, start, now))
    return chain(words, now + 0.1)


@given(SPOKEN, SPOKEN)
def test_time_never_runs_backwards(
    one: list[tuple[str, float, float]], other: list[tuple[str, float, float]]
) -> None:
    pivot, member = shared(timed(one), timed(other))
    found = warped(member, pivot)
    both = np.column_stack([found.before, found.after]).ravel()
    assert (np.diff(both) >= 0).all()
    assert both[0] == pivot.time[0]
    assert both[-1] == pytest.approx(pivot.time[-1], abs=1e-4)

"""Posteriors, pruning and pushing, against enumeration of all paths and against plain Python."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import reference_hwcn as reference
from tests.helpers.shared import SHARED, needs_shared
from tests.helpers.strategies import all_paths, assembled, batch_of, lattices, rivals
from wordtrust.base.errors import OptionError
from wordtrust.formats import read
from wordtrust.lattices.lattice import Lattice, Lattices, concatenate
from wordtrust.lattices.posterior import (
    FlatGraph,
    arc_shares,
    posteriors,
    prune,
    push_scores,
    select_arcs,
    to_float32,
)
from wordtrust.lattices.weights import Scales, log_scores

SCORED = (("acoustic",), ("transition",), ("acoustic", "transition"))
scales = st.builds(Scales, st.floats(0.1, 2), st.floats(0.1, 2), st.floats(-3, 3))


def path_weights(lattice: Lattice, scales: Scales) -> dict[tuple[int, ...], float]:
    """The log weight of every path, the plain way."""
    weights = reference.arc_weights(lattice, scales)
    return {path: math.fsum(weights[arc] for arc in path) for path in all_paths(lattice)}


@given(lattices(score_sets=((), *SCORED)), scales)
def test_posteriors_are_those_of_all_paths(lattice: Lattice, scales: Scales) -> None:
    weights = path_weights(lattice, scales)
    total = reference.log_sum(weights.values())
    result = posteriors(lattice.batch(), scales)
    expected = [
        math.fsum(math.exp(weight - total) for path, weight in weights.items() if arc in path)
        for arc in range(lattice.arcs)
    ]
    np.testing.assert_allclose(result.arc, expected, rtol=1e-6, atol=1e-12)
    assert result.log_total is not None
    assert result.log_total[0] == pytest.approx(total, rel=1e-9, abs=1e-6)


@given(lattices(score_sets=SCORED, max_nodes=12, max_arcs=40), scales)
def test_posteriors_are_those_of_the_reference(lattice: Lattice, scales: Scales) -> None:
    expected, total = reference.posteriors(lattice, scales)
    result = posteriors(lattice.batch(), scales)
    np.testing.assert_allclose(result.arc, expected, rtol=1e-6, atol=1e-12)
    assert result.log_total == pytest.approx(total, rel=1e-9, abs=1e-6)


def check_flow(batch: Lattices, arc: np.ndarray, node: np.ndarray) -> None:
    """What enters a node leaves it; start and end have all of it."""
    leaving = np.bincount(batch.batch_source, arc, len(batch.time))
    entering = np.bincount(batch.batch_target, arc, len(batch.time))
    start, end = batch.node_offsets[:-1], batch.node_offsets[1:] - 1
    leaving[end] += 1
    entering[start] += 1
    np.testing.assert_allclose(leaving, entering, atol=1e-9)
    np.testing.assert_allclose(node, entering, atol=1e-9)
    np.testing.assert_allclose(node[start], 1, atol=1e-9)
    np.testing.assert_allclose(node[end], 1, atol=1e-9)


def check_instants(lattice: Lattice, arc: np.ndarray) -> None:
    """The arcs that cross any instant have mass 1; an arc covers [start, end)."""
    start, end = lattice.time[lattice.source], lattice.time[lattice.target]
    for before, after in itertools.pairwise(np.unique(lattice.time)):
        for now in (before, (before + after) / 2):
            assert arc[(start <= now) & (now < end)].sum() == pytest.approx(1, abs=1e-9)


@given(lattices(max_nodes=12, max_arcs=40, score_sets=((), *SCORED)), scales)
def test_mass_is_never_lost(lattice: Lattice, scales: Scales) -> None:
    result = posteriors(lattice.batch(), scales)
    check_flow(lattice.batch(), result.arc, result.node)
    check_instants(lattice, result.arc)


def test_scales_and_word_penalty_by_hand() -> None:
    lattice = rivals(["a", "<sil>"], acoustic=[-2.0, -1.0], transition=[4.0, 0.0])
    scaled = Scales(acoustic=0.5, transition=0.25, word_penalty=1.0)
    assert log_scores(lattice.batch(), scaled).tolist() == [1.0, -0.5]
    result = posteriors(lattice.batch(), scaled)
    odds = math.exp(1.5)
    assert result.arc.tolist() == pytest.approx([odds / (1 + odds), 1 / (1 + odds)])
    assert result.log_total == pytest.approx([math.log(math.exp(1.0) + math.exp(-0.5))])
    assert posteriors(lattice.batch()).arc.tolist() == pytest.approx([1 / (1 + math.exp(-3)), 1 / (1 + math.exp(3))])


@pytest.mark.parametrize("size", [1e5, 1e20, 3e38])
def test_any_finite_score_is_fine(size: float) -> None:
    lattice = assembled(
        "u", time=[0, 1, 2], ends=[(0, 1), (1, 2), (0, 2), (1, 2)], tokens=list("abcd"),
        acoustic=[size, -size, -size, size], transition=[0.0, size, 1.0, -size],
    )  # fmt: skip
    result = posteriors(lattice.batch())
    assert np.isfinite(result.log_total).all()  # type: ignore[arg-type]
    assert result.arc.sum() == pytest.approx(2)
    for raw in (lattice.acoustic, lattice.transition):
        assert all(np.isfinite(values).all() for values in push(lattice.batch(), raw))


def test_given_posteriors_are_kept() -> None:
    lattice = assembled("u", time=[0, 1, 2], ends=[(0, 1), (1, 2)], tokens=["a", "b"], posterior=[0.9, 0.25])
    result = posteriors(lattice.batch(), Scales(acoustic=0.1))
    assert result.arc.tolist() == [np.float32(0.9), 0.25]
    assert result.node.tolist() == [np.float32(0.9), np.float32(0.9), 0.25]
    assert result.log_total is None


@pytest.mark.parametrize(
    ("scores", "expected"), [(("acoustic",), [1.0, 0.0]), (("acoustic", "transition"), [0.5, 0.5])]
)
def test_posteriors_given_beside_a_language_score_are_made_anew(
    scores: tuple[str, ...], expected: list[float]
) -> None:
    """Without it acoustic scores alone would decide, and the recognizer's posteriors know better."""
    arrays: dict[str, Any] = {name: [-3.0, -3.0] for name in scores}
    lattice = rivals(["a", "b"], posterior=[1.0, 0.0], **arrays)
    assert posteriors(lattice.batch()).arc.tolist() == expected


@given(st.lists(lattices(score_sets=SCORED[2:]), min_size=1, max_size=3))
def test_a_batch_is_its_utterances(parts: list[Lattice]) -> None:
    whole, alone = posteriors(batch_of(*parts)), [posteriors(part.batch()) for part in parts]
    for name in ("arc", "node", "log_total"):
        np.testing.assert_array_equal(getattr(whole, name), np.concatenate([getattr(one, name) for one in alone]))


def test_no_utterances_at_all() -> None:
    empty = concatenate([])
    assert len(posteriors(empty).arc) == len(prune(empty, beam=1.0)) == 0


# Pruning


def pruned(lattice: Lattice, **how: Any) -> tuple[Lattice, list[int]]:
    """A pruned lattice, and the numbers that its arcs had before."""
    numbered = replace(lattice, extra={"number": np.arange(lattice.arcs, dtype=np.float32)})
    after = prune(numbered.batch(), **how)[0]
    numbers = [int(number) for number in after.extra["number"]]
    assert after.words == tuple(lattice.words[number] for number in numbers)
    assert after.text == lattice.text
    on_paths = {arc for path in all_paths(after) for arc in path}
    assert on_paths == set(range(after.arcs))
    return after, numbers


@given(lattices(score_sets=SCORED), st.sampled_from([0, 0.5, 10, 1000, 20000]), scales)
def test_beam_pruning_keeps_what_lies_within_the_beam(lattice: Lattice, beam: float, scales: Scales) -> None:
    weights = path_weights(lattice, scales)
    loss = [
        max(weights.values()) - max(weight for path, weight in weights.items() if arc in path)
        for arc in range(lattice.arcs)
    ]
    _, kept = pruned(lattice, beam=beam, scales=scales)
    best = lattice.one_best()
    assert {arc for arc in range(lattice.arcs) if loss[arc] <= beam - 1e-3 or arc in best} <= set(kept)
    assert all(loss[arc] <= beam + 1e-3 or arc in best for arc in kept)


@given(lattices(score_sets=(*SCORED, ("posterior",))), st.sampled_from([0, 1e-9, 0.01, 0.3, 1, 2]), scales)
def test_pruning_by_posterior_keeps_likely_arcs_and_a_best_path(
    lattice: Lattice, threshold: float, scales: Scales
) -> None:
    posterior = posteriors(lattice.batch(), scales).arc
    after, kept = pruned(lattice, posterior=threshold, scales=scales)
    likely = {arc for arc in range(lattice.arcs) if posterior[arc] >= threshold}
    whole = [path for path in all_paths(lattice) if likely >= {*path}]
    assert {arc for path in whole for arc in path} <= set(kept)
    weight = log_scores(lattice.batch(), scales)
    best_before = max(weight[list(p)].sum() for p in all_paths(lattice))
    weight = log_scores(after.batch(), scales)
    best_after = max(weight[list(p)].sum() for p in all_paths(after))
    assert best_after == pytest.approx(best_before, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("how", "words"),
    [({"beam": 1.0}, "abde"), ({"posterior": 0.15}, "abde"), ({"posterior": 0.3}, "ad"),
     ({"posterior": 0.15, "beam": 0.1}, "ad"), ({}, "abcde")],
)  # fmt: skip
def test_pruning_by_hand(how: dict[str, Any], words: str) -> None:
    lattice = assembled(
        "u", time=[0, 1, 2], ends=[(0, 1), (0, 1), (0, 1), (1, 2), (0, 2)], tokens=["a", "b", "c", "d", "e"],
        transition=np.log([0.5, 0.2, 0.1, 1.0, 0.2]),
    )  # fmt: skip
    assert "".join(sorted(prune(lattice.batch(), **how)[0].words)) == words


def test_the_recognizers_pick_is_never_pruned() -> None:
    lattice = rivals(["best", "picked", "other"], acoustic=[0.0, -90.0, -9.0], picked=[False, True, False])
    assert prune(lattice.batch(), beam=1.0)[0].words == ("best", "picked")


def test_the_best_path_by_other_scales_stays_beside_the_recognizers_own() -> None:
    lattice = rivals(["best", "own", "other"], acoustic=[0.0, -5.0, -9.0], transition=[-10.0, 0.0, -9.0])
    assert lattice.text == "own"
    assert prune(lattice.batch(), posterior=1.0, scales=Scales(transition=0.1))[0].words == ("best", "own")


def test_every_utterance_of_a_batch_is_pruned_alone() -> None:
    one, two = (
        assembled(
            utt, time=[0, 1, 2], ends=[(0, 1), (1, 2), (0, 2)], tokens=["a", "b", "c"], acoustic=[0.0, 0.0, score]
        )
        for utt, score in (("one", -5.0), ("two", 5.0))
    )
    after = prune(batch_of(one, two), beam=1.0)
    assert [lattice.words for lattice in after] == [("a", "b"), ("c",)]
    assert [lattice.nodes for lattice in after] == [3, 2]
    assert after.utts == ("one", "two")


def test_what_lies_just_on_the_beam_or_the_posterior_stays() -> None:
    batch = rivals(["a", "b", "c"], acoustic=[0.0, -2.0, -2.5]).batch()
    assert prune(batch, beam=2.0)[0].words == ("a", "b")
    even = rivals(["a", "b", "c", "d"]).batch()
    assert posteriors(even).arc.tolist() == [0.25] * 4
    assert len(prune(even, posterior=0.25)[0].words) == 4


def test_the_best_path_stays_whole_though_its_sums_are_rounded() -> None:
    """Scores of hundreds of thousands: sums from the start and from the end differ in their last digits."""
    random, steps = np.random.default_rng(5), 60
    ends = [(k, k + 1) for k in range(steps) for _ in range(2)]
    scores = {name: random.normal(size=2 * steps) * 1e5 for name in ("acoustic", "transition")}
    lattice = assembled("u", time=np.arange(steps + 1), ends=ends, tokens=["a", "b"] * steps, **scores)
    scales = Scales(acoustic=0.3, transition=-0.7)
    weight = log_scores(lattice.batch(), scales)
    best = [2 * k + int(weight[2 * k + 1] > weight[2 * k]) for k in range(steps)]
    numbered = replace(lattice, extra={"number": np.arange(lattice.arcs, dtype=np.float32)})
    kept = prune(numbered.batch(), beam=0.0, scales=scales).extra["number"]
    assert set(kept.astype(int).tolist()) == {*best, *lattice.one_best()}


@given(st.lists(st.floats(allow_nan=False)))
def test_scores_are_stored_as_finite_numbers(values: list[float]) -> None:
    largest = float(np.finfo(np.float32).max)
    stored = to_float32(np.array(values))
    assert stored.dtype == np.float32
    for value, found in zip(values, stored.tolist(), strict=True):
        assert found == (float(np.float32(value)) if abs(value) <= largest else math.copysign(largest, value))


@pytest.mark.parametrize("how", [{"beam": -1.0}, {"posterior": math.nan}])
def test_a_bad_threshold_is_named(how: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=f"the {next(iter(how))} to prune with"):
        prune(rivals(["a"]).batch(), **how)


def test_selecting_no_path_is_an_error() -> None:
    lattice = assembled("u", time=[0, 1, 2], ends=[(0, 1), (1, 2)], tokens=["a", "b"])
    with pytest.raises(ValueError, match="no path is left through u"):
        select_arcs(lattice.batch(), np.array([True, False]))


# Pushing


def push(batch: Lattices, score: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Pushed scores, and what every path of an utterance has lost."""
    assert score is not None
    flat, raw = FlatGraph.of(batch), score.astype(np.float64)
    _, after = arc_shares(flat, raw)
    return push_scores(flat, raw, after), after[flat.start]


def check_normalised(batch: Lattices, score: np.ndarray | None, tolerance: float = 1e-9) -> None:
    """The probabilities of the arcs leaving a node sum to 1."""
    assert score is not None
    total = np.bincount(batch.batch_source, np.exp(score.astype(np.float64)), len(batch.time))
    np.testing.assert_allclose(np.delete(total, batch.node_offsets[1:] - 1), 1, rtol=tolerance)


@given(lattices(score_sets=SCORED))
def test_pushing_makes_scores_local_and_keeps_paths(lattice: Lattice) -> None:
    for raw in (lattice.acoustic, lattice.transition):
        if raw is None:
            continue
        pushed, [total] = push(lattice.batch(), raw)
        check_normalised(lattice.batch(), pushed)
        for path in all_paths(lattice):
            before = raw[list(path)].astype(np.float64).sum()
            assert pushed[list(path)].sum() == pytest.approx(before - total, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(pushed, reference.push(lattice, raw.tolist()), rtol=1e-9, atol=1e-9)
        again, [nothing] = push(lattice.batch(), pushed)
        np.testing.assert_allclose(again, pushed, rtol=1e-9, atol=1e-9)
        assert nothing == pytest.approx(0, abs=1e-9)


def test_pushing_by_hand() -> None:
    """All weight is on early arcs: 0 to 1 has what 1 to 2 and 1 to 3 should have."""
    lattice = assembled(
        "u", time=[0, 1, 2], ends=[(0, 1), (0, 2), (1, 2), (1, 2)], tokens=list("abcd"),
        transition=np.log([0.25, 0.5, 2.0, 1.0]), acoustic=[-1.0, -1.0, 0.0, 0.0],
    )  # fmt: skip
    transition, total = push(lattice.batch(), lattice.transition)
    assert np.exp(transition).tolist() == pytest.approx([0.6, 0.4, 2 / 3, 1 / 3])
    assert total == pytest.approx([math.log(1.25)])
    acoustic, total = push(lattice.batch(), lattice.acoustic)
    assert np.exp(acoustic).tolist() == pytest.approx([2 / 3, 1 / 3, 0.5, 0.5])
    assert total == pytest.approx([math.log(3) - 1])


# Real lattices


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("name", ["kaldi-small-2020/dev.ark.gz", "whisper-tiny.en/dev.jsonl.gz"])
def test_real_lattices(name: str) -> None:
    batch = read(SHARED / name)
    for weighing in (None, Scales(0.5, 0.7, 1.0)):
        result = posteriors(batch, weighing)
        check_flow(batch, result.arc, result.node)
    for number in range(0, len(batch), 31):
        check_instants(batch[number], result.arc[batch.arc_offsets[number] : batch.arc_offsets[number + 1]])
    for raw in (batch.acoustic, batch.transition):
        if raw is not None:
            check_normalised(batch, push(batch, raw)[0])
    after = prune(batch, posterior=1e-3)
    assert len(after.source) < len(batch.source)
    assert [lattice.text for lattice in after] == [lattice.text for lattice in batch]

"""The HWCN: what it guarantees, the equations against plain Python, single rules by hand."""

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
from tests.lattices.test_posterior import check_normalised
from tests.networks.test_hwcn_example import worked_example
from wordtrust.base.errors import OptionError
from wordtrust.formats import read
from wordtrust.lattices.lattice import Lattice, concatenate
from wordtrust.lattices.posterior import posteriors
from wordtrust.lattices.weights import Scales
from wordtrust.networks import hwcn
from wordtrust.networks.hwcn import Network, build

SCORED = (("acoustic",), ("transition",), ("acoustic", "transition"))
EVERY = ((), *SCORED, ("posterior",))
SIMPLE = ("a", "b", "C", "<sil>", "[NOISE]", "")
tolerances = st.sampled_from([0.0, 0.02, 0.1, 0.3, 2.0])
small = lattices(words=SIMPLE, score_sets=EVERY)
large = lattices(words=SIMPLE, score_sets=SCORED, max_nodes=14, max_arcs=50)


# The guarantees


@given(small, tolerances)
def test_what_merging_nodes_guarantees(lattice: Lattice, tolerance: float) -> None:
    network = build(lattice, tolerance=tolerance)[0]
    merged, node = network.lattice, network.node
    for run in range(merged.nodes):
        inside = lattice.time[node == run]
        assert inside.max() - inside.min() <= tolerance + 1e-5
        assert inside.min() <= merged.time[run] <= inside.max()
    assert (node[lattice.source] < node[lattice.target])[lattice.word > 0].all()  # no word is lost
    assert (np.diff(node) >= 0).all()
    assert node[0] == 0
    assert node[-1] == merged.nodes - 1 > 0
    assert merged.time[0] == lattice.time[0]
    assert merged.time[-1] == lattice.time[-1]


@given(small, tolerances)
def test_a_network_is_a_lattice(lattice: Lattice, tolerance: float) -> None:
    """What `Lattice` promises of its graph holds, and no two arcs share ends and word."""
    merged = build(lattice, tolerance=tolerance)[0].lattice
    assert (merged.source < merged.target).all()
    assert (np.diff(merged.source) >= 0).all()
    assert (np.diff(merged.time) >= 0).all()
    on_paths = {arc for path in all_paths(merged) for arc in path}
    assert on_paths == set(range(merged.arcs))
    depth = [0] * merged.nodes
    for source, target in zip(merged.source, merged.target, strict=True):
        depth[target] = max(depth[target], depth[source] + 1)
    order = list(zip(merged.time.tolist(), depth, strict=True))
    assert order == sorted(order)
    assert len({*zip(merged.source, merged.target, merged.word, strict=True)}) == merged.arcs
    assert merged.facts.place == lattice.facts.place


@given(small, tolerances)
def test_every_arc_goes_where_it_belongs(lattice: Lattice, tolerance: float) -> None:
    network = build(lattice, tolerance=tolerance)[0]
    merged, node = network.lattice, network.node
    assert sorted(itertools.chain.from_iterable(network.members)) == np.flatnonzero(network.arc >= 0).tolist()
    for arc, members in enumerate(network.members):
        assert list(members) == sorted(members)
        for member in members:
            assert network.arc[member] == arc
            assert lattice.word[member] == merged.word[arc]
            assert node[lattice.source[member]] == merged.source[arc]
            assert node[lattice.target[member]] == merged.target[arc]
    absorbed = network.arc < 0
    assert (lattice.word[absorbed] == 0).all()
    assert (node[lattice.source[absorbed]] == node[lattice.target[absorbed]]).all()


@given(small, tolerances)
def test_every_path_of_the_lattice_is_a_path_of_the_network(lattice: Lattice, tolerance: float) -> None:
    network = build(lattice, tolerance=tolerance)[0]
    merged = network.lattice
    mapped = {path: tuple(network.arc[[arc for arc in path if network.arc[arc] >= 0]]) for path in all_paths(lattice)}
    assert set(mapped.values()) <= all_paths(merged)
    for path, new_path in mapped.items():
        assert [merged.words[arc] for arc in new_path if merged.word[arc]] == [
            lattice.words[arc] for arc in path if lattice.word[arc]
        ]
    own = mapped[lattice.one_best()]
    assert merged.one_best() == own
    assert np.flatnonzero(merged.picked).tolist() == sorted(own)  # type: ignore[arg-type]


@given(lattices(words=SIMPLE, score_sets=SCORED), tolerances, st.randoms(use_true_random=False))
def test_order_of_arcs_and_numbers_of_nodes_do_not_matter(lattice: Lattice, tolerance: float, random: Any) -> None:
    numbers, arcs = list(range(1, lattice.nodes - 1)), list(range(lattice.arcs))
    random.shuffle(numbers)
    random.shuffle(arcs)
    numbers = [0, *numbers, lattice.nodes - 1]
    time = np.empty(lattice.nodes)
    time[numbers] = lattice.time
    shuffled = assembled(
        "u",
        time=time,
        ends=[(numbers[lattice.source[arc]], numbers[lattice.target[arc]]) for arc in arcs],
        tokens=[lattice.surfaces[arc] for arc in arcs],
        **{name: getattr(lattice, name)[arcs] for name in lattice.batch().arrays() if name in SCORED[2]},
    )
    one, other = (build(one, tolerance=tolerance)[0].lattice for one in (lattice, shuffled))
    np.testing.assert_allclose(other.time, one.time)
    assert content(other).keys() == content(one).keys()
    for key, values in content(one).items():
        assert content(other)[key] == pytest.approx(values, rel=1e-5, abs=1e-5)


def content(lattice: Lattice) -> dict[tuple[int, int, str], list[float]]:
    """Scores by ends and word."""
    scores = [values for values in (lattice.acoustic, lattice.transition, lattice.posterior) if values is not None]
    keys = zip(lattice.source.tolist(), lattice.target.tolist(), lattice.words, strict=True)
    return {key: [float(values[arc]) for values in scores] for arc, key in enumerate(keys)}


@given(large, tolerances)
def test_scales_do_not_change_the_graph(lattice: Lattice, tolerance: float) -> None:
    one, other = (build(lattice, tolerance=tolerance, scales=s)[0].lattice for s in (None, Scales(0.1, 3.0, -2.0)))
    assert content(one).keys() == content(other).keys()
    assert other.scales == Scales(0.1, 3.0, -2.0)


# The equations


@given(large, tolerances, st.booleans())
def test_scores_follow_the_equations(lattice: Lattice, tolerance: float, push: bool) -> None:
    expected = reference.build(lattice, tolerance, pushing=push)
    network = build(lattice, tolerance=tolerance, push=push)[0]
    check_reference(network, expected)


def check_reference(network: Network, expected: reference.MergedNetwork) -> None:
    """A network against the plain Python one."""
    merged = network.lattice
    assert network.node.tolist() == expected.merged
    np.testing.assert_allclose(merged.time, expected.time, atol=1e-9)
    keys = list(zip(merged.source.tolist(), merged.target.tolist(), merged.word.tolist(), strict=True))
    assert keys == list(expected.arcs)
    arcs = list(expected.arcs.values())
    for surface, arc in zip(merged.surface.tolist(), arcs, strict=True):
        assert arc.spellings[surface] == pytest.approx(max(arc.spellings.values()), rel=1e-9)
    assert [list(members) for members in network.members] == [arc.members for arc in arcs]
    np.testing.assert_allclose(merged.posterior, [arc.posterior for arc in arcs], rtol=1e-5, atol=1e-7)  # type: ignore[arg-type]
    for name in ("acoustic", "transition"):
        scores, values = getattr(merged, name), [getattr(arc, name) for arc in arcs]
        if scores is None:
            assert values == [None] * len(values)
        else:
            np.testing.assert_allclose(scores, values, rtol=1e-5, atol=1e-5)
    assert {keys[arc] for arc in np.flatnonzero(merged.picked)} == expected.picked  # type: ignore[arg-type]


@given(lattices(words=SIMPLE, score_sets=EVERY), tolerances)
def test_evidence_is_that_of_the_most_probable_member(lattice: Lattice, tolerance: float) -> None:
    numbered = replace(lattice, extra={"number": np.arange(lattice.arcs, dtype=np.float32)})
    network = build(numbered, tolerance=tolerance)[0]
    posterior = posteriors(lattice.batch()).arc
    for leader, members in zip(network.lattice.extra["number"].astype(int), network.members, strict=True):
        assert leader in members
        assert posterior[leader] == posterior[list(members)].max()


@given(large, tolerances)
def test_pushed_transition_scores_stay_normalised(lattice: Lattice, tolerance: float) -> None:
    merged = build(lattice, tolerance=tolerance).lattices
    assert (merged.transition is None) == (lattice.transition is None)
    if merged.transition is not None:
        check_normalised(merged, merged.transition, 1e-2)


@given(large, tolerances)
def test_posteriors_of_a_network_keep_their_mass(lattice: Lattice, tolerance: float) -> None:
    merged = build(lattice, tolerance=tolerance)[0].lattice
    entering = np.bincount(merged.target, merged.posterior, merged.nodes) + (np.arange(merged.nodes) == 0)
    leaving = np.bincount(merged.source, merged.posterior, merged.nodes)
    leaving[-1] += 1
    np.testing.assert_allclose(entering, leaving, atol=1e-5)
    start, end = merged.time[merged.source], merged.time[merged.target]
    for before, after in itertools.pairwise(np.unique(merged.time)):
        now = (before + after) / 2
        assert merged.posterior is not None
        assert merged.posterior[(start <= now) & (now < end)].sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("size", [800.0, 1e5, 1e38])
@pytest.mark.parametrize("push", [True, False])
def test_any_finite_score_is_fine(size: float, push: bool) -> None:
    """Probabilities that no float64 can hold: sums are then taken in the log domain."""
    lattice = assembled(
        "u", time=[0, 1, 1.05, 2, 2, 3], tokens=["a", "b", "<sil>", "c", "c", "d", "e"],
        ends=[(0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (3, 5), (4, 5)],
        acoustic=[0, -size, size, -size, -size / 2, 1, 2], transition=[-size, 0, size, 0, -size, -3, -size],
    )  # fmt: skip
    network = build(lattice, push=push)[0]
    with np.errstate(over="ignore"):
        expected = reference.build(lattice, pushing=push)
    assert network.lattice.acoustic is not None
    assert network.lattice.transition is not None
    for values in (network.lattice.acoustic, network.lattice.transition, network.lattice.posterior):
        assert np.isfinite(values).all()  # type: ignore[arg-type]
    if size < 1e38:
        check_reference(network, expected)


# Single rules, by hand


def test_acoustic_scores_are_the_mean_likelihood() -> None:
    lattice = assembled(
        "u", time=[0, 1, 1, 2], ends=[(0, 1), (0, 2), (1, 3), (2, 3)], tokens=["a", "b", "c", "c"],
        acoustic=np.log([0.5, 0.5, 0.2, 0.4]),
    )  # fmt: skip
    merged = build(lattice)[0].lattice
    assert np.exp(merged.acoustic).tolist() == pytest.approx([0.5, 0.5, 0.3])  # type: ignore[arg-type]
    assert merged.transition is None


def test_prior_mass_through_an_absorbed_arc_counts_once() -> None:
    """Half of what comes to node 1 goes on to node 2 without a word; both become one node."""
    lattice = assembled(
        "u", time=[0, 1, 1.05, 2], ends=[(0, 1), (1, 2), (1, 3), (2, 3)], tokens=["a", "<sil>", "b", "c"],
        transition=np.log([1.0, 0.5, 0.5, 1.0]),
    )  # fmt: skip
    network = build(lattice)[0]
    assert network.arc.tolist() == [0, -1, 1, 2]
    assert network.lattice.words == ("a", "b", "c")
    assert np.exp(network.lattice.transition).tolist() == pytest.approx([1, 0.5, 0.5])  # type: ignore[arg-type]
    assert network.lattice.time[1] == pytest.approx((1 * 1.0 + 0.5 * 1.05) / 1.5)


def test_raw_scores_of_a_chain_stay_as_they_are_without_pushing() -> None:
    lattice = assembled(
        "u", time=[0, 1, 2], ends=[(0, 1), (1, 2)], tokens=["a", "b"], transition=[-3.0, 2.0], acoustic=[-1.0, -2.0]
    )
    raw, local = (build(lattice, push=push)[0].lattice for push in (False, True))
    assert raw.transition is not None
    assert raw.transition.tolist() == [-3.0, 2.0]
    assert raw.acoustic is not None
    assert raw.acoustic.tolist() == [-1.0, -2.0]
    assert local.transition is not None
    assert local.transition.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("time", "ends", "tokens", "tolerance", "node"),
    [
        # Words of no length are never merged away.
        ([0, 1, 1, 1, 2], [(0, 1), (1, 2), (2, 3), (3, 4)], "a b c d", 5.0, [0, 1, 2, 3, 4]),
        # 1.00 and 1.04 may be one node, 1.08 not: a word leads to it from 1.00.
        ([0, 1.0, 1.04, 1.08, 2], [(0, 1), (0, 2), (1, 3), (2, 4), (3, 4)], "a b short c d", 0.1, [0, 1, 1, 2, 3]),
        # A word leads from 1.00 to one of the two nodes at 1.05: whichever comes first, both begin a new run.
        ([0, 1.0, 1.05, 1.05, 2], [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)], "a b <sil> c d", 0.1, [0, 1, 2, 2, 3]),
        ([0, 1.0, 1.05, 1.05, 2], [(0, 1), (1, 3), (1, 2), (3, 4), (2, 4)], "a b <sil> c d", 0.1, [0, 1, 2, 2, 3]),
        # The tolerance itself is within: 0.4 - 0.3 is a little more than 0.1 for a computer, not for people.
        ([0, 0.3, 0.4, 1], [(0, 1), (0, 2), (1, 3), (2, 3)], "a b c c", 0.1, [0, 1, 1, 2]),
        ([0, 0.3, 0.4, 1], [(0, 1), (0, 2), (1, 3), (2, 3)], "a b c c", 0.09, [0, 1, 2, 3]),
    ],
)
def test_which_nodes_are_merged(
    time: list[float], ends: list[tuple[int, int]], tokens: str, tolerance: float, node: list[int]
) -> None:
    lattice = assembled("u", time=time, ends=ends, tokens=tokens.split())
    assert build(lattice, tolerance=tolerance)[0].node.tolist() == node


@pytest.mark.parametrize(("token", "kept"), [("<sil>", 1), ("word", 1)])
def test_an_utterance_shorter_than_the_tolerance_keeps_start_and_end(token: str, kept: int) -> None:
    lattice = assembled("u", time=[0, 0.03, 0.05], ends=[(0, 1), (1, 2)], tokens=["<sil>", token])
    merged = build(lattice)[0].lattice
    assert merged.nodes == 2
    assert merged.arcs == kept
    assert merged.time.tolist() == [0, 0.05]


@pytest.mark.parametrize(
    ("tokens", "scores", "words", "surfaces"),
    [
        # Silence of any name is one arc, and stays silence.
        (["<sil>", "[NOISE]", "word"], {"acoustic": [0.0, 1.0, 0.0]}, ("", "word"), ("[NOISE]", "word")),
        # The surface form is the most probable one over all members, ...
        (["word", "Word", "word", "else"], {"acoustic": np.log([0.2, 0.35, 0.25, 0.2]), "rank": [1, 2, 3, 4]},
         ("word", "else"), ("word", "else")),
        # ... and ties go to the earlier arc.
        (["Word", "word", "Word", "WORD"], {"posterior": [0.125, 0.25, 0.125, 0.25], "rank": [4, 2, 3, 4]},
         ("word",), ("Word",)),
    ],
)  # fmt: skip
def test_merged_arcs_have_the_surface_and_evidence_of_the_most_probable(
    tokens: list[str], scores: dict[str, Any], words: tuple[str, ...], surfaces: tuple[str, ...]
) -> None:
    merged = build(rivals(tokens, **scores))[0].lattice
    assert (merged.words, merged.surfaces) == (words, surfaces)
    assert merged.silence.tolist() == [not word for word in words]
    assert not merged.extra or merged.extra["rank"].tolist() == [2, 4][: len(words)]


@pytest.mark.parametrize(("shares", "share"), [([0.25, 0.125, 0.5], 0.375), ([0.75, 0.5, 0.5], 1.0)])
def test_the_shares_of_hypotheses_add_up(shares: list[float], share: float) -> None:
    """Spellings of a word are one arc: it has the share of all of them, and the rank of the most probable one."""
    lattice = rivals(["word", "Word", "else"], acoustic=np.log([0.2, 0.5, 0.3]), share=shares, rank=[1, 2, 3])
    merged = build(lattice)[0].lattice
    assert dict(zip(merged.words, merged.extra["share"].tolist(), strict=True)) == {"word": share, "else": shares[2]}
    assert merged.extra["rank"].tolist() == [2, 3]


def test_given_posteriors_add_up_and_stay_probabilities() -> None:
    lattice = assembled(
        "u", time=[0, 1, 1.02, 2], ends=[(0, 1), (0, 2), (1, 3), (2, 3)], tokens=["a", "A", "b", "c"],
        posterior=[0.75, 0.5, 0.9, 0.4],
    )  # fmt: skip
    merged = build(lattice)[0].lattice
    assert merged.posterior == pytest.approx([1.0, 0.9, 0.4])
    assert merged.acoustic is None
    assert merged.transition is None


@pytest.mark.parametrize("tolerance", [-0.1, math.nan, math.inf])
def test_a_bad_tolerance_is_named(tolerance: float) -> None:
    with pytest.raises(OptionError, match="the tolerance is in seconds"):
        build(worked_example(), tolerance=tolerance)


# Batches


@given(st.lists(lattices(words=SIMPLE, score_sets=SCORED[2:]), min_size=1, max_size=3), tolerances)
def test_a_batch_is_its_utterances(parts: list[Lattice], tolerance: float) -> None:
    networks = build(batch_of(*parts), tolerance=tolerance)
    assert len(networks) == len(parts)
    for part, network in zip(parts, networks, strict=True):
        alone = build(part, tolerance=tolerance)[0]
        assert alone.lattice.equals(network.lattice)
        assert alone.members == network.members
        assert alone.node.tolist() == network.node.tolist()
        assert alone.arc.tolist() == network.arc.tolist()


def test_numbers_of_a_batch_count_through_it() -> None:
    batch = batch_of(worked_example(), replace(worked_example(), utt="again"))
    networks = build(batch)
    for arc in range(len(networks.lattices.source)):
        members = networks.members.arcs[networks.members.offsets[arc] : networks.members.offsets[arc + 1]]
        assert (networks.arc[members] == arc).all()
        assert (batch.word[members] == networks.lattices.word[arc]).all()
    assert [network.lattice.utt for network in networks[:2]] == ["example", "again"]
    assert networks[-1].members == networks[0].members


def test_no_utterances_at_all() -> None:
    assert len(build(concatenate([]))) == 0


def test_hours_of_speech_and_very_dense_lattices() -> None:
    words = 30_000
    chain = assembled(
        "hours", time=np.arange(words + 1) * 0.36, ends=[(k, k + 1) for k in range(words)], tokens=["w"] * words,
        acoustic=np.full(words, -300.0), transition=np.full(words, -20.0),
    )  # fmt: skip
    merged = build(chain)[0].lattice
    assert merged.arcs == words
    assert merged.posterior is not None
    assert (merged.posterior == 1).all()
    dense = rivals([f"w{k % 10_000}" for k in range(20_000)], utt="dense")
    merged = build(dense)[0].lattice
    assert merged.arcs == 10_000
    assert merged.posterior == pytest.approx(np.full(10_000, 1e-4))


def test_one_word_to_very_many_places() -> None:
    """Arcs that differ in one end or the word alone are never taken for each other."""
    places = 2_000
    ends = [(0, k + 1) for k in range(places)] + [(k + 1, places + 1) for k in range(places)]
    fan = assembled("fan", time=np.arange(places + 2) * 0.5, ends=ends, tokens=["w"] * len(ends))
    merged = build(fan)[0].lattice
    assert {*zip(merged.source.tolist(), merged.target.tolist(), strict=True)} == set(ends)
    assert merged.arcs == len(ends)


# Real lattices


@needs_shared
@pytest.mark.parametrize(
    "name", ["kaldi-small-2020/dev.ark.gz", "kaldi-zamia/dev.ark.gz", "whisper-tiny.en/dev.jsonl.gz"]
)
def test_real_lattices(name: str) -> None:
    batch = read(SHARED / name)
    networks = build(batch)
    merged = networks.lattices
    assert (networks.arc[batch.word > 0] >= 0).all()
    assert len(merged.source) < 0.6 * len(batch.source)
    if merged.transition is not None:
        check_normalised(merged, merged.transition, 1e-4)
    for number in range(0, len(batch), 40):
        check_reference(networks[number], reference.build(batch[number]))
    for before, after in zip(batch, merged, strict=True):
        assert [after.words[a] for a in after.one_best() if after.word[a]] == [
            before.words[a] for a in before.one_best() if before.word[a]
        ]


@given(large, tolerances, st.lists(st.integers(0, 2**63 - 1), min_size=3, max_size=3))
def test_the_keys_of_the_hash_table_change_nothing(lattice: Lattice, tolerance: float, keys: list[int]) -> None:
    expected = build(lattice, tolerance=tolerance)[0].lattice
    for chosen in ([2 * key + 1 for key in keys], [1, 1, 1]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hwcn, "_KEYS", np.array(chosen, np.uint64))
            assert build(lattice, tolerance=tolerance)[0].lattice.equals(expected)

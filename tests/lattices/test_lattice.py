"""The lattice type and the door into it: order, trimming, checks, batches."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.strategies import all_paths, assembled, batch_of, built, graph_paths, lattices, rivals
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.lattices.assemble import RawLattice
from wordtrust.lattices.lattice import Lattice, concatenate
from wordtrust.lattices.weights import Scales


@given(lattices())
def test_promises(lattice: Lattice) -> None:
    assert (lattice.source < lattice.target).all()
    assert (np.diff(lattice.source) >= 0).all()
    assert (np.diff(lattice.time) >= 0).all()
    assert (lattice.time[lattice.source] <= lattice.time[lattice.target]).all()
    on_paths = set(itertools.chain.from_iterable(all_paths(lattice)))
    assert on_paths == set(range(lattice.arcs))
    assert not any(values.flags.writeable for values in lattice.batch().arrays().values())


raw_graphs = st.integers(2, 6).flatmap(
    lambda nodes: st.tuples(
        st.just(nodes),
        st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)), min_size=1, max_size=10),
        st.permutations(range(nodes)),
    )
)


@given(raw_graphs)
def test_any_graph_is_trimmed_to_its_paths_or_refused(graph: tuple[int, list[tuple[int, int]], list[int]]) -> None:
    """Against plain reachability: what is on a path from start to end is kept, cycles on it are refused."""
    nodes, ends, _ = graph
    reached = {0}
    reaching = {nodes - 1}
    for _ in range(nodes):
        reached |= {t for s, t in ends if s in reached}
        reaching |= {s for s, t in ends if t in reaching}
    kept = reached & reaching
    inside = [(s, t) for s, t in ends if s in kept and t in kept]
    cyclic = _has_cycle(inside)
    if nodes - 1 not in reached or cyclic:
        with pytest.raises(InputError, match="no path leads" if nodes - 1 not in reached else "cycle"):
            assembled("utt", time=[0.0] * nodes, ends=ends, tokens=["a"] * len(ends))
        return
    lattice = assembled("utt", time=[0.0] * nodes, ends=ends, tokens=[str(k) for k in range(len(ends))])
    assert sorted(lattice.words) == sorted(str(k) for k, end in enumerate(ends) if end in inside)
    assert lattice.facts.trimmed_arcs[0] == len(ends) - len(inside)
    assert lattice.facts.trimmed_nodes[0] == nodes - len(kept)
    good = [k for k, end in enumerate(ends) if end in inside]  # elsewhere there may be cycles
    source, target = zip(*(ends[k] for k in good), strict=True)
    old = {tuple(str(good[arc]) for arc in path) for path in graph_paths(source, target, 0, nodes - 1)}
    new = {tuple(lattice.words[a] for a in p) for p in all_paths(lattice)}
    assert old == new


def _has_cycle(ends: list[tuple[int, int]]) -> bool:
    left = set(ends)
    while left:
        sources = {s for s, _ in left}
        smaller = {(s, t) for s, t in left if t in sources}
        if smaller == left:
            return True
        left = smaller
    return False


@given(lattices(), st.randoms(use_true_random=False))
def test_node_and_arc_order_do_not_matter(lattice: Lattice, random: Any) -> None:
    numbers = list(range(lattice.nodes))
    random.shuffle(numbers)
    arcs = list(range(lattice.arcs))
    random.shuffle(arcs)
    time = np.empty(lattice.nodes)
    time[numbers] = lattice.time
    raw = RawLattice(
        utt="utt",
        time=time,
        source=[numbers[lattice.source[arc]] for arc in arcs],
        target=[numbers[lattice.target[arc]] for arc in arcs],
        token=[str(arc) for arc in arcs],
        start=numbers[0],
        end=numbers[-1],
    )
    [again] = built([raw])
    assert np.array_equal(again.time, lattice.time)
    old = all_paths(lattice)
    new = graph_paths(again.source, again.target, 0, lattice.nodes - 1)
    assert {tuple(int(again[0].words[arc]) for arc in path) for path in new} == old


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ends": [(0, 1), (1, 5)]}, "arc 1 goes from node 1 to 5, but there are 3 nodes"),
        ({"ends": [(0, 1), (-1, 2)]}, "arc 1 goes from node -1 to 2"),
        ({"ends": [(0, 1)], "tokens": ["a"], "acoustic": [0.0]}, "no path leads from start node 0 to end node 2"),
        ({"ends": [(0, 1), (1, 1), (1, 2)], "tokens": ["a"] * 3, "acoustic": [0.0] * 3}, "cycle"),
        ({"time": [0.0, 2.0, 1.0]}, r"arc 1 \(node 1 to 2\) runs backwards in time"),
        ({"time": [0.0, np.nan, 1.0]}, "node 1 has the time nan"),
        ({"time": [0.0, 1.0, 1e300]}, "node 2 has the time 1e\\+300"),
        ({"acoustic": [0.0, np.nan]}, "arc 1 has the acoustic score nan"),
        ({"acoustic": [0.0, np.inf]}, "arc 1 has the acoustic score inf"),
        ({"rank": [np.nan, np.nan]}, "arc 0 has the rank score nan"),
    ],
)
def test_bad_graphs_are_named(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {
        "time": [0.0, 1.0, 2.0],
        "ends": [(0, 1), (1, 2)],
        "tokens": ["a", "b"],
        "acoustic": [0, 0],
    }
    assembled("utt-7", **good)
    with pytest.raises(InputError, match=message) as caught:
        assembled("utt-7", **good | change)
    assert "utterance utt-7" in str(caught.value)
    assert caught.value.remedy


def test_bad_utterances_can_be_skipped() -> None:
    problems = Problems(skip=True)
    raws = [
        RawLattice(utt=f"u{index}", time=[0, 1], source=[0], target=[end], token=["a"], start=0, end=1, place=index)
        for index, end in enumerate([1, 0, 1])
    ]
    [batch] = built(raws, problems)
    assert batch.utts == ("u0", "u2")
    assert [str(error).split(": ")[0] for error in problems.errors] == ["test, line 1, utterance u1"]
    assert built(raws[1:2], problems) == []  # a batch without any good one


def test_tokens_of_several_words_become_chains() -> None:
    lattice = assembled(
        "u",
        time=[0.0, 1.0, 2.0],
        ends=[(0, 1), (1, 2)],
        tokens=["Middle-earth.", "is"],
        acoustic=[-3, -1],
        rank=[1, 2],
    )
    assert lattice.words == ("middle", "earth", "is")
    assert lattice.text == "Middle-earth. is"
    assert lattice.time == pytest.approx([0, 6 / 11, 1, 2])  # by letters
    assert lattice.acoustic is not None
    assert lattice.acoustic.tolist() == [-3, 0, -1]  # the score on the first piece
    assert lattice.extra["rank"].tolist() == [1, 1, 2]


def test_given_posteriors_are_those_of_every_piece() -> None:
    lattice = assembled("u", time=[0.0, 1.0], ends=[(0, 1)], tokens=["e-mail"], posterior=[0.25])
    assert lattice.posterior is not None
    assert lattice.posterior.tolist() == [0.25, 0.25]


@given(st.lists(lattices(score_sets=(("acoustic",),)), min_size=1, max_size=4))
def test_batches_give_back_their_lattices(parts: list[Lattice]) -> None:
    batch = batch_of(*parts)
    assert len(batch) == len(parts)
    assert all(one.equals(other) for one, other in zip(batch, parts, strict=True))
    for start in range(len(parts)):
        assert all(one.equals(two) for one, two in zip(batch[start:], parts[start:], strict=True))


def test_batches_of_different_layout_are_kept_apart() -> None:
    one = rivals(["a"], utt="a", acoustic=[0.0]).batch()
    other = rivals(["a"], utt="b").batch()
    with pytest.raises(ValueError, match="keep them apart"):
        concatenate([one, other])
    fields: list[dict[str, Any]] = [{"acoustic": [1.0]}, {}, {"scales": Scales(word_penalty=1.0)}]
    made = built(
        RawLattice(utt="u", time=[0, 1], source=[0], target=[1], token=["a"], start=0, end=1, **more)
        for more in fields
    )
    assert [batch.acoustic is None for batch in made] == [False, True, True]
    assert made[2].scales.word_penalty == 1.0


def test_indexing() -> None:
    batch = batch_of(*(assembled(name, time=[0, 1], ends=[(0, 1)], tokens=[name]) for name in "abc"))
    assert (batch["b"].text, batch[-1].text, batch[1:].utts) == ("b", "c", ("b", "c"))
    with pytest.raises(KeyError, match="no utterance 'x' among 3"):
        batch["x"]
    with pytest.raises(IndexError):
        batch[3]
    assert len(batch[3:]) == 0


def test_nothing_can_be_written_to() -> None:
    lattice = rivals(["a"], acoustic=[0.5])
    with pytest.raises(ValueError, match="read-only"):
        lattice.acoustic[0] = 1  # type: ignore[index]
    with pytest.raises(AttributeError):
        lattice.utt = "other"  # type: ignore[misc]


def test_repr_tells_what_it_is() -> None:
    lattice = assembled("u-1", time=[0, 1.5], ends=[(0, 1)], tokens=["Hello!"], acoustic=[0.5])
    assert repr(lattice) == "<Lattice u-1: 2 nodes, 1 arc, 1.50 s, acoustic\n  Hello!>"
    assert "1 utterance, 2 nodes, 1 arc" in repr(lattice.batch())


def test_the_arrays_of_a_caller_stay_writable() -> None:
    lattice = rivals(["a"], acoustic=[-1.0], extra_score=[1.0])
    time, acoustic, score = np.array([0.0, 2.0]), np.array([-2.0], np.float32), np.array([3.0], np.float32)
    batch = replace(lattice.batch(), time=time, acoustic=acoustic, extra={"score": score})
    assert time.flags.writeable
    assert acoustic.flags.writeable
    assert score.flags.writeable
    assert not any(array.flags.writeable for array in (batch.time, *batch.arrays().values()))
    assert np.shares_memory(batch.time, time)


def test_batches_are_indexed_as_people_try() -> None:
    batch = batch_of(*(assembled(name, time=[0, 1], ends=[(0, 1)], tokens=[name]) for name in "abcd"))
    assert [lattice.utt for lattice in batch[::2]] == ["a", "c"]
    assert [lattice.utt for lattice in batch[::-1]] == ["d", "c", "b", "a"]
    assert [lattice.utt for lattice in batch[[2, 0]]] == ["c", "a"]
    assert [lattice.utt for lattice in batch[np.array([True, False, False, True])]] == ["a", "d"]
    assert (len(batch[[]]), len(batch[3:1:1]), len(batch[1:3:-1])) == (0, 0, 0)
    number: Any = np.int64(1)
    assert batch[number].utt == "b"
    names: tuple[Any, Any] = ("c", "e")
    assert names[0] in batch
    assert names[1] not in batch
    assert batch[2] in batch
    assert replace(batch[2], utt="a", time=batch[2].time + 1) not in batch
    with pytest.raises(TypeError):
        batch[1.5]  # type: ignore[call-overload]

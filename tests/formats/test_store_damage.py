"""Stores that were damaged."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.stores import change_json, everything, four_shards, replace_file, simple, tables, write_store
from tests.helpers.strategies import assembled
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.inputs import STORE_FILE
from wordtrust.formats.store.read import _all_finite, _check_order
from wordtrust.lattices.assemble import Builder, RawLattice, Tokens
from wordtrust.lattices.lattice import Origin

pytestmark = pytest.mark.slow


def changed(path: Path, rows: dict[str, Any] | None = None, arcs: dict[str, Any] | None = None) -> Path:
    """A store of one lattice in which these columns are others, or None for not there."""
    write_store(path, simple())
    for kind, table, columns in zip(("utterances", "arcs"), tables(path), (rows, arcs), strict=True):
        kept = {key: table[key] for key in table.column_names} | {
            key: of_type(value, table.schema.field(key).type if key in table.column_names else None)
            for key, value in (columns or {}).items()
        }
        replace_file(path, kind, pa.table({key: value for key, value in kept.items() if value is not None}))
    return path


def of_type(value: Any, kind: pa.DataType | None) -> Any:
    """A list as a column of this type, if it can be one."""
    try:
        return pa.array(value, kind) if isinstance(value, list) else value
    except (pa.ArrowException, TypeError):
        return pa.array(value)


def test_columns_of_others_are_left_alone(tmp_path: Path) -> None:
    [found] = everything(changed(tmp_path / "s", {"remark": ["by hand"]}, {"label": [1, 0, 1]}))
    assert dict(found.extra) == dict(found.notes) == {}


# A lattice in order is one that assembling leaves as it is


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[float], list[tuple[int, int]]]:
    """Nearly finished graphs: often sorted, often complete."""
    nodes = draw(st.integers(1, 5))
    time = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=nodes, max_size=nodes))
    ends = st.tuples(st.integers(-1, nodes), st.integers(-1, nodes))
    forward = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).map(lambda e: (min(e), max(e)))
    found = draw(st.lists(st.one_of(ends, forward, forward, forward), max_size=6))
    if draw(st.booleans()):
        time, found = sorted(time), sorted([*found, *((k, k + 1) for k in range(nodes - 1))])
    return time, found


@settings(max_examples=400)
@given(graphs())
def test_finished_is_what_assembling_leaves_as_it_is(graph: tuple[list[float], list[tuple[int, int]]]) -> None:
    time, ends = graph
    source, target = (np.array([end[k] for end in ends], np.int32) for k in range(2))
    in_order = np.ones(1, np.bool_)
    _check_order(np.array([0, len(time)]), np.array([0, len(ends)]), np.array(time), source, target, in_order)
    builder = Builder(Tokens(), Problems(skip=True), origin=Origin())
    token = [f"w{arc}" for arc in range(len(ends))]
    raw = RawLattice(utt="u", time=time, source=source, target=target, token=token, start=0, end=len(time) - 1)
    made = list(builder.add(raw))
    made += builder.flush()
    same = bool(made) and (made[0].time.tolist(), made[0].source.tolist(), made[0].target.tolist()) == (
        time, source.tolist(), target.tolist(),
    )  # fmt: skip
    assert in_order[0] == (same and made[0][0].words == tuple(token))


FORWARD = list(itertools.combinations(range(4), 2))  # all arcs between four nodes


def is_whole(ends: list[tuple[int, int]]) -> bool:
    """Whether every node is on a path from the first to the last."""
    reached, leading = {0}, {3}
    for _ in range(3):
        reached |= {target for source, target in ends if source in reached}
        leading |= {source for source, target in ends if target in leading}
    return reached == leading == set(range(4))


def test_dangling_nodes_are_damage(tmp_path: Path) -> None:
    """Every set of arcs between four nodes, each a lattice of one store; those that are whole are read."""
    sets = [[ends for k, ends in enumerate(FORWARD) if chosen >> k & 1] for chosen in range(1 << len(FORWARD))]
    full = [
        assembled(f"u{n}", time=[0, 1, 2, 3], ends=FORWARD, tokens=["a"] * 6, acoustic=[0] * 6)
        for n in range(len(sets))
    ]
    path = write_store(tmp_path / "s", *full)
    utterances, arcs = tables(path)
    kept = [ends in chosen for chosen in sets for ends in zip(full[0].source, full[0].target, strict=True)]
    counts = int32(*map(len, sets))
    replace_file(path, "arcs", arcs.filter(pa.array(kept)))
    replace_file(path, "utterances", utterances.set_column(utterances.column_names.index("arcs"), "arcs", counts))
    problems = Problems(skip=True)
    found = {lattice.utt: lattice for lattice in everything(path, problems=problems)}
    whole = {f"u{n}": ends for n, ends in enumerate(sets) if is_whole(ends)}
    assert list(found) == list(whole)
    assert all(list(zip(found[utt].source, found[utt].target, strict=True)) == whole[utt] for utt in whole)
    assert len(problems.errors) == len(sets) - len(whole)


def test_nodes_of_one_time_are_in_order_of_depth(tmp_path: Path) -> None:
    """The third node and the fourth, at the same time, the other way round: no reader of lattices numbers them so."""
    ends = [(0, 1), (0, 2), (1, 3), (2, 4), (3, 4)]
    made = assembled("u", time=[0, 0.5, 1, 1, 2], ends=ends, tokens=list("abcde"), acoustic=[0] * 5)
    path = write_store(tmp_path / "s", made)
    assert everything(path)[0].equals(made)
    arcs = tables(path)[1]
    turned = arcs.set_column(arcs.column_names.index("target"), "target", int32(1, 3, 2, 4, 4))
    replace_file(path, "arcs", turned)
    with pytest.raises(InputError, match="nodes and arcs are not those of a lattice in order"):
        everything(path)


@given(st.lists(st.floats(width=32), max_size=20))
def test_finite(values: list[float]) -> None:
    array = np.array(values, np.float32)
    assert _all_finite(array.view(np.uint32)) == bool(np.isfinite(array).all())


# Damage


def int32(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int32())


def float32(*values: float | None) -> pa.Array:
    return pa.array(values, pa.float32())


BAD_ROWS: list[tuple[dict[str, Any], str]] = [
    ({"utt": pa.array([None], pa.string())}, "the column 'utt' has nulls"),
    ({"utt": [5]}, "the column 'utt' is int64, not string"),
    ({"utt": None}, "there are 0 columns 'utt', not 1"),
    ({"arcs": int32(2)}, "there are 3 arcs, but 2 are announced"),
    ({"arcs": int32(-3)}, "there are 3 arcs, but -3 are announced"),
    ({"arcs": int32(None)}, "the column 'arcs' has nulls"),
    ({"time": pa.array([[0.0, 0.5, None]], pa.list_(pa.float64()))}, "the column 'time' is list"),
    ({"time": [[0.0, 0.5, float("nan")]]}, "row 0, utterance u1: nodes and arcs are not those of a lattice in order"),
    ({"time": [[0.0, 0.5, 1e10]]}, "nodes and arcs are not those of a lattice in order"),
    ({"time": [[0.0, 1.5, 1.0]]}, "nodes and arcs are not those of a lattice in order"),
    ({"time": [[0.0, 0.5]]}, "nodes and arcs are not those of a lattice in order"),
    ({"time": [0.5]}, "the column 'time' is double, not list<element: double not null>"),
    ({"silence": [None]}, "the column 'silence' has nulls"),
    ({"file": [None]}, "the column 'file' has nulls"),
    ({"scale.acoustic": [float("inf")]}, r"a scale is no number below 1e\+06"),
    ({"frame_length": [0.0]}, "a frame length is not between 0 and 10 seconds"),
    ({"place": ["here"]}, "the column 'place' is string, not int64"),
    ({"trimmed_nodes": int32(None)}, "the column 'trimmed_nodes' has nulls"),
    ({"note.speaker": [5]}, "the column 'note.speaker' is int64, not string"),
]
BAD_ARCS: list[tuple[dict[str, Any], str]] = [
    ({"source": pa.array([0, 0, 1], pa.int64())}, "the column 'source' is int64, not int32"),
    ({"source": int32(0, None, 1)}, "the column 'source' has nulls"),
    ({"source": int32(0, 0, 3)}, "nodes and arcs are not those of a lattice in order"),
    ({"source": int32(0, 0, -1)}, "nodes and arcs are not those of a lattice in order"),
    ({"target": None}, "there are 0 columns 'target', not 1"),
    ({"target": int32(1, 2, 0)}, "nodes and arcs are not those of a lattice in order"),
    ({"target": int32(1, 1, 1)}, "nodes and arcs are not those of a lattice in order"),
    ({"word": ["a", None, "b"]}, "the column 'word' has nulls"),
    ({"word": [1, 2, 3]}, "the column 'word' is int64, not dictionary"),
    (
        {"word": pa.array([b"a", b"b", b"\xff"]).cast(pa.string(), safe=False).dictionary_encode()},
        "cannot be read on: Invalid UTF8",
    ),
    ({"surface": [1, 2, 3]}, "the column 'surface' is int64, not dictionary"),
    ({"acoustic": float32(0, np.inf, 0)}, "acoustic is not finite on all arcs"),
    ({"posterior": float32(0, 1, np.nan)}, "posterior is not finite on all arcs"),
    ({"acoustic": float32(0, None, 0)}, "the column 'acoustic' is null on some arcs of an utterance"),
    ({"acoustic": pa.array([0.0, 1.0, 2.0], pa.float64())}, "the column 'acoustic' is double, not float"),
    ({"picked": [1, 0, 1]}, "the column 'picked' is int64, not bool"),
    ({"extra.rank": float32(0, 1, np.nan)}, "extra.rank is not finite on all arcs"),
    ({"extra.token_rank": float32(0, 1, np.nan)}, "extra.token_rank is not finite on all arcs"),
    ({"extra.token_rank": float32(0, np.inf, 0)}, "extra.token_rank is not finite on all arcs"),
    ({"extra.token_rank": float32(0, 1, None)}, "'extra.token_rank' is null on some arcs of an utterance"),
    ({"extra.rank": ["a", "b", "c"]}, "the column 'extra.rank' is string, not float"),
    ({"extra.word": float32(0, 1, 1)}, "'extra.word' has a name that means something else"),
]


@pytest.mark.parametrize(
    ("rows", "arcs", "message"),
    [(rows, {}, message) for rows, message in BAD_ROWS] + [({}, arcs, message) for arcs, message in BAD_ARCS],
)
def test_bad_columns(rows: dict[str, Any], arcs: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message) as caught:
        everything(changed(tmp_path / "s", rows, arcs))
    assert Path(caught.value.file).parent == tmp_path / "s"


def test_a_bad_utterance_does_not_lose_the_others(tmp_path: Path) -> None:
    path = write_store(tmp_path / "s", *(simple(f"u{number}") for number in range(3)))
    _, arcs = tables(path)
    target = arcs["target"].to_pylist()
    target[3] = 7
    replace_file(path, "arcs", arcs.set_column(arcs.column_names.index("target"), "target", int32(*target)))
    problems = Problems(skip=True)
    assert [lattice.utt for lattice in everything(path, problems=problems)] == ["u0", "u2"]
    assert [(error.utt, error.place) for error in problems.errors] == [("u1", "row 1")]


def test_row_groups_that_do_not_go_together(tmp_path: Path) -> None:
    path = write_store(tmp_path / "t", simple("u1"), simple("u2"), group_arcs=3)
    replace_file(path, "utterances", tables(path)[0])
    with pytest.raises(InputError, match="2 row groups, but 1 of utterances"):
        everything(path)


def test_row_groups_that_pack_to_nothing(tmp_path: Path) -> None:
    path = write_store(tmp_path / "s", simple("u1"))
    arcs = tables(path)[1]
    file = path / "arcs-00000.parquet"
    pq.write_table(arcs.take(pa.array(np.zeros(4_000_000, np.int64))), file, row_group_size=5_000_000)
    change_json(path, lambda about: about["shards"][0].update({"arcs_bytes": file.stat().st_size}))
    assert sum(file.stat().st_size for file in path.iterdir()) < 1_000_000
    with pytest.raises(InputError, match=r"4,000,000 values in a row group, more than 3,048,576"):
        everything(path)


def test_a_pipe_in_a_store_is_not_waited_for(tmp_path: Path) -> None:
    path = write_store(tmp_path / "s", simple("u1"))
    shard = next(file for file in path.iterdir() if "arcs" in file.name)
    shard.unlink()
    os.mkfifo(shard)
    change_json(path, lambda about: about["shards"][0].update({"arcs_bytes": 0}))
    with pytest.raises(InputError, match="this is no file, but a folder, pipe or device"):
        everything(path)


def test_too_many_arcs(tmp_path: Path) -> None:
    large = assembled("large", time=[0, 1], ends=[(0, 1)] * 9, tokens=["a"] * 9, acoustic=[0] * 9)
    path = write_store(tmp_path / "s", simple("u1"), large, simple("u3"))
    problems = Problems(skip=True)
    found = everything(path, options=ReadOptions(max_arcs=5), problems=problems)
    assert [lattice.utt for lattice in found] == ["u1", "u3"]
    assert all(after.equals(before) for after, before in zip(found, [simple("u1"), simple("u3")], strict=True))
    [error] = problems.errors
    assert (error.utt, error.place, error.found) == ("large", "row 1", "the lattice has 9 arcs, more than 5")
    assert everything(path, options=ReadOptions(max_arcs=2), problems=problems) == []


@pytest.mark.parametrize("kind", ["utterances", "arcs"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), "cannot be opened: No such file"),
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "bytes, store.json says"),
        (lambda path: path.write_bytes(b"PAR1" + bytes(path.stat().st_size - 4)), "cannot be read on"),
    ],
)
def test_a_bad_shard_does_not_lose_the_others(
    damage: Callable[[Path], Any], message: str, kind: str, tmp_path: Path
) -> None:
    path = four_shards(tmp_path / "s")
    victim = path / f"{kind}-00001.parquet"
    damage(victim)
    problems = Problems(skip=True)
    assert [lattice.utt for lattice in everything(path, problems=problems)] == ["u0", "u2", "u3"]
    [error] = problems.errors
    assert error.file == str(victim)
    with pytest.raises(InputError, match=message):
        everything(path)


def test_a_parquet_file_alone_is_no_store(tmp_path: Path) -> None:
    path = four_shards(tmp_path / "s")
    with pytest.raises(InputError, match=r"a parquet file alone is no store.* Name the folder"):
        everything(path / "arcs-00000.parquet")


BAD_JSON: list[tuple[Any, str]] = [
    ({"shards": [{"name": "../x"}]}, r"shards\[0\].name is '../x', which is no part of a file name"),
    ({"shards": [{"name": "/etc/passwd"}]}, "no part of a file name"),
    ({"shards": [{"name": "a\\b"}]}, "no part of a file name"),
    ({"shards": [{"name": ""}]}, "no part of a file name"),
    ({"shards": [{"name": "x", "utterances": -1}]}, r"shards\[0\].utterances is -1, not a count"),
    ({"shards": [{"name": "x", "utterances": 1e400}]}, "too large for a number"),
    ({"shards": [5]}, r"shards\[0\] is the number 5, not an object"),
    ({"shards": None}, "shards is null"),
    ({"version": 2}, "the store has version 2, this wordtrust reads version 1"),
    ({"kind": "something else"}, "this is 'something else', not 'wordtrust store'"),
]


@pytest.mark.parametrize(("change", "message"), BAD_JSON, ids=[message for _, message in BAD_JSON])
def test_bad_store_json(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write_store(tmp_path / "s", simple())
    change_json(path, lambda about: about.update(change))
    with pytest.raises(InputError, match=message) as caught:
        everything(path)
    assert caught.value.file == str(path / STORE_FILE)


def test_counts_that_disagree(tmp_path: Path) -> None:
    path = write_store(tmp_path / "s", simple())
    change_json(path, lambda about: about["shards"][0].update(utterances=10**12))
    with pytest.raises(InputError, match=r"1 utterances, but store\.json says 1000000000000"):
        everything(path)

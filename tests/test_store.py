"""The parquet store."""

from __future__ import annotations

import json
import pickle
import re
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordtrust
from tests.shared import SAMPLES, SHARED, needs_shared
from tests.strategies import assembled, batch_of, lattices
from wordtrust.assemble import Builder, Problems, Tokens
from wordtrust.errors import InputError, OptionError
from wordtrust.formats import formats, read, stream, write
from wordtrust.formats.base import ReadOptions
from wordtrust.formats.inputs import STORE_FILE
from wordtrust.formats.store import sniff
from wordtrust.formats.store_read import _all_canonical, _all_finite
from wordtrust.formats.store_write import StoreWriter
from wordtrust.lattice import Facts, Lattice, Origin, Scales


def everything(path: Path, **options: Any) -> list[Lattice]:
    return [lattice for batch in stream(path, **options) for lattice in batch]


def write_store(path: Path, *found: Lattice, **sizes: Any) -> Path:
    with StoreWriter(path, **sizes) as store:
        for lattice in found:
            store.add(lattice.batch())
    return path


def tables(path: Path) -> tuple[pa.Table, pa.Table]:
    """The utterances and arcs of a store of one shard, as any tool reads them."""
    return pq.read_table(path / "utterances-00000.parquet"), pq.read_table(path / "arcs-00000.parquet")


def simple(utt: str = "u1", **arrays: Any) -> Lattice:
    """Two ways from start to end, through `a` and `b` or with silence."""
    return assembled(
        utt, time=[0, 0.5, 1.0], ends=[(0, 1), (1, 2), (0, 2)], tokens=["a", "b", "<eps>"],
        **arrays or {"acoustic": [-1.5, -2, 0]},
    )  # fmt: skip


# What is written comes back


@st.composite
def corpora(draw: st.DrawFn) -> list[Lattice]:
    """Lattices with all kinds of scores, scales and origins."""
    found = []
    for number in range(draw(st.integers(0, 6))):
        lattice = draw(lattices(utt=f"u{number}"))
        if draw(st.booleans()):
            flags = np.arange(lattice.arcs) % 2 == 0
            lattice = replace(lattice, picked=flags, extra={"rank": flags.astype(np.float32)})
        if draw(st.booleans()):
            lattice = replace(lattice, extra={**lattice.extra, f"e{number}": np.zeros(lattice.arcs, np.float32)})
        if draw(st.booleans()):
            lattice = replace(lattice, notes={"speaker": f"speaker {number}", "text": ""})
        scales = draw(st.sampled_from([Scales(), Scales(0.1, 0.9, -0.5, 0.25)]))
        origin = draw(st.sampled_from([Origin("a", "kaldi", "given", 0.03), Origin("b.json", "nbest", "aligned")]))
        facts = Facts(np.array([number * 2**40]), *(np.array([number + k], np.int32) for k in range(3)))
        found.append(replace(lattice, scales=scales, origin=origin, facts=facts))
    return found


@settings(max_examples=50)
@given(corpora(), st.sampled_from([1, 7, 1 << 20]), st.sampled_from([1, 2000, 1 << 26]))
def test_what_is_written_comes_back(found: list[Lattice], group_arcs: int, shard_bytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_store(Path(folder) / "s", *found, group_arcs=group_arcs, shard_bytes=shard_bytes)
        again = everything(path)
        about = json.loads((path / STORE_FILE).read_text())
    assert len(again) == len(found)
    for before, after in zip(found, again, strict=True):
        assert after.equals(before)
        assert after.origin == before.origin
        assert all(np.array_equal(getattr(after.facts, n), getattr(before.facts, n)) for n in Facts.__slots__)
    assert about["utterances"] == len(found)
    assert about["nodes"] == sum(lattice.nodes for lattice in found)
    assert about["arcs"] == sum(lattice.arcs for lattice in found)


def test_a_batch_larger_than_a_row_group_is_cut(tmp_path: Path) -> None:
    found = [simple(f"u{number}") for number in range(10)]
    with StoreWriter(tmp_path / "s", group_arcs=7, shard_bytes=1) as store:
        store.add(batch_of(*found))
    files = sorted((tmp_path / "s").glob("utterances-*.parquet"))
    assert [pq.ParquetFile(path).metadata.num_rows for path in files] == [2] * 5
    assert [lattice.utt for lattice in everything(tmp_path / "s")] == [f"u{number}" for number in range(10)]


def test_rows_of_one_kind_are_one_batch(tmp_path: Path) -> None:
    parts = [simple(f"u{number}", acoustic=[0, 0, number]) for number in range(5)]
    parts += [simple(f"p{number}", posterior=[0, 0, 1]) for number in range(3)]
    path = write_store(tmp_path / "s", *parts)
    first, second = stream(path)
    assert (len(first), len(second)) == (5, 3)
    assert (first.posterior, second.acoustic) == (None, None)
    assert first.vocabulary is second.vocabulary


def test_batches_stay_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordtrust.formats.store_read.BATCH_ARCS", 10)
    path = write_store(tmp_path / "s", *(simple(f"u{number}") for number in range(20)))
    assert max(len(batch.source) for batch in stream(path)) <= 12
    assert len(everything(path)) == 20


def test_half_characters_do_not_stop_the_writer(tmp_path: Path) -> None:
    made = assembled("u\ud800", time=[0, 1], ends=[(0, 1)] * 2, tokens=["x\udfff", "x?"], acoustic=[0, 1])
    [again] = everything(write_store(tmp_path / "s", made))
    assert (again.utt, again.surfaces) == ("u?", ("x?", "x?"))


def test_an_empty_store(tmp_path: Path) -> None:
    assert everything(write_store(tmp_path / "s")) == []


def test_store_json_says_what_is_in_it(tmp_path: Path) -> None:
    second = replace(
        simple("u2", posterior=[1, 1, 0], rank=[1, 1, 2]), origin=Origin("b", "vosk"), notes={"who": "me"}
    )
    with StoreWriter(tmp_path / "s", recognizer="my-recognizer") as store:
        store.add(simple("u1").batch())
        store.add(second.batch())
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "s").glob("*.parquet")}
    assert json.loads((tmp_path / "s" / STORE_FILE).read_text()) == {
        "kind": "wordtrust store", "version": 1, "wordtrust": wordtrust.__version__, "recognizer": "my-recognizer",
        "utterances": 2, "nodes": 6, "arcs": 6,
        "scores": ["acoustic", "posterior"], "picked": False, "extra": ["rank"], "notes": ["who"],
        "scales": [asdict(Scales())], "times": ["given"],
        "from": {"formats": ["test", "vosk"], "files": ["test", "b"], "number_of_files": 2},
        "shards": [{
            "name": "00000", "utterances": 2, "nodes": 6, "arcs": 6,
            "utterances_bytes": sizes["utterances-00000.parquet"], "arcs_bytes": sizes["arcs-00000.parquet"],
        }],
    }  # fmt: skip


# Any arrow tool can read it


def test_plain_pyarrow_reads_real_strings_and_numbers(tmp_path: Path) -> None:
    path = write_store(tmp_path / "s", simple("u1"), simple("u2", posterior=[1, 1, 0], rank=[1, 1, 2]))
    utterances, arcs = tables(path)
    first, second = utterances.to_pylist()
    assert (first["utt"], first["arcs"], first["time"], first["silence"]) == ("u1", 3, [0.0, 0.5, 1.0], "<eps>")
    assert (second["file"], second["format"], second["times"], second["frame_length"]) == (
        "test",
        "test",
        "given",
        None,
    )
    assert arcs["utt"].to_pylist() == ["u1"] * 3 + ["u2"] * 3
    assert arcs["word"].to_pylist() == ["a", "", "b"] * 2
    assert arcs["source"].to_pylist() == [0, 0, 1] * 2
    assert arcs["target"].to_pylist() == [1, 2, 2] * 2
    assert arcs["acoustic"].to_pylist() == [-1.5, 0.0, -2.0, None, None, None]
    assert arcs["posterior"].to_pylist() == [None, None, None, 1, 0, 1]
    assert arcs["extra.rank"].to_pylist() == [None, None, None, 1, 2, 1]
    assert arcs["surface"].to_pylist() == [None] * 6  # the words themselves


def test_surfaces_are_there_where_they_differ(tmp_path: Path) -> None:
    found = [
        simple("u1"),
        assembled("u2", time=[0, 1], ends=[(0, 1)] * 2, tokens=["A", "b"]),
        assembled("u3", time=[0, 1], ends=[(0, 1)] * 2, tokens=["<sil>", "[NOISE]"]),
        assembled("u4", time=[0, 1], ends=[(0, 1)] * 2, tokens=["a", "b"]),
        assembled("u5", time=[0, 1], ends=[(0, 1)] * 2, tokens=["", "b"]),
    ]
    path = write_store(tmp_path / "s", *found)
    utterances, arcs = tables(path)
    assert arcs["surface"].to_pylist() == [None, None, None, "A", None, None, "[NOISE]", None, None, None, None]
    assert utterances["silence"].to_pylist() == ["<eps>", "", "<sil>", "", ""]
    assert [lattice.surfaces for lattice in everything(path)] == [lattice.surfaces for lattice in found]


def test_strings_are_made_when_somebody_asks(tmp_path: Path) -> None:
    path = write_store(tmp_path / "s", simple("u1"), assembled("u2", time=[0, 1], ends=[(0, 1)], tokens=["A"]))
    first, second = stream(path)
    vocabulary = first.vocabulary
    assert vocabulary is second.vocabulary
    assert len(vocabulary) == len(vocabulary.strings)
    assert vocabulary.find("a") == first.word[0]
    assert vocabulary.find("nothing") == -1
    assert vocabulary.id("a") == first.word[0]
    new = vocabulary.id("new")
    assert (vocabulary[new], len(vocabulary)) == ("new", new + 1)
    again = pickle.loads(pickle.dumps(next(stream(path)).vocabulary))
    assert again.strings == vocabulary.strings[:-1]


# Stores that somebody else wrote

ROWS: dict[str, Any] = {"utt": ["u1"], "arcs": pa.array([3], pa.int32()), "time": [[0.0, 0.5, 1.0]]}
ARCS: dict[str, Any] = {
    "source": pa.array([0, 0, 1], pa.int32()),
    "target": pa.array([1, 2, 2], pa.int32()),
    "word": ["A!", "", "b"],
}


def handmade(path: Path, rows: dict[str, Any] | None = None, arcs: dict[str, Any] | None = None) -> Path:
    """A store with these columns; those that it needs are filled in."""
    path.mkdir()
    shard: dict[str, Any] = {"name": "x", "nodes": 0, "arcs": 0}
    for name, columns in (("utterances", {**ROWS, **(rows or {})}), ("arcs", {**ARCS, **(arcs or {})})):
        file = path / f"{name}-x.parquet"
        pq.write_table(pa.table({key: value for key, value in columns.items() if value is not None}), file)
        shard[f"{name}_bytes"] = file.stat().st_size
    shard["utterances"] = pq.ParquetFile(path / "utterances-x.parquet").metadata.num_rows
    (path / STORE_FILE).write_text(json.dumps({"kind": "wordtrust store", "version": 1, "shards": [shard]}))
    return path


def test_a_handmade_store_needs_only_graph_and_words(tmp_path: Path) -> None:
    [found] = everything(handmade(tmp_path / "s"))
    assert found.words == found.surfaces == ("A!", "", "b")
    assert (found.acoustic, found.transition, found.posterior, found.picked) == (None, None, None, None)
    assert (found.scales, found.origin) == (Scales(), Origin())


def test_columns_of_others_are_left_alone(tmp_path: Path) -> None:
    [found] = everything(handmade(tmp_path / "s", {"remark": ["by hand"]}, {"label": [1, 0, 1]}))
    assert dict(found.extra) == dict(found.notes) == {}


def test_unfinished_lattices_are_finished(tmp_path: Path) -> None:
    """Nodes in any order and dead ends, with facts of an earlier reading."""
    rows = {
        "utt": ["u1", "u2"],
        "arcs": pa.array([4, 1], pa.int32()),
        "time": [[0, 0.9, 0.5, 0.7, 1.0], [0.0, 1.0]],
        "place": [7, 8],
        "trimmed_nodes": pa.array([10, 0], pa.int32()),
        "note.speaker": ["anna", "bert"],
    }
    arcs = {
        "source": pa.array([2, 0, 1, 3, 0], pa.int32()),
        "target": pa.array([1, 2, 4, 4, 1], pa.int32()),
        "word": ["b", "A!", "c", "dead", "x"],
        "surface": ["B", "A", "C", "Dead", None],
        "acoustic": pa.array([1, 2, 3, 4, 5], pa.float32()),
    }
    first, second = everything(handmade(tmp_path / "s", rows, arcs))
    assert first.words == ("A!", "b", "c")
    assert first.surfaces == ("A", "B", "C")
    assert first.time.tolist() == [0, 0.5, 0.9, 1]
    assert first.acoustic is not None
    assert first.acoustic.tolist() == [2, 1, 3]
    assert (first.facts.place.tolist(), first.facts.trimmed_nodes.tolist()) == ([7], [11])
    assert first.facts.trimmed_arcs.tolist() == [1]
    assert first.notes == {"speaker": "anna"}
    assert second.words == second.surfaces == ("x",)
    assert second.facts.place.tolist() == [8]
    assert second.notes == {"speaker": "bert"}


# The quick check says what the thorough one would


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
    quick = _all_canonical(np.array([0, len(time)]), np.array([0, len(ends)]), np.array(time), source, target)
    builder = Builder(Tokens(), Problems(skip=True), origin=Origin())
    token = [f"w{arc}" for arc in range(len(ends))]
    made = list(builder.add("u", time=time, source=source, target=target, token=token, start=0, end=len(time) - 1))
    made += builder.flush()
    same = bool(made) and (made[0].time.tolist(), made[0].source.tolist(), made[0].target.tolist()) == (
        time, source.tolist(), target.tolist(),
    )  # fmt: skip
    assert quick == (same and made[0][0].words == tuple(token))


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
    ({"time": [[0.0, 0.5, None]]}, "the column 'time' has nulls"),
    ({"time": pa.array([None], pa.list_(pa.float64()))}, "the column 'time' has nulls"),
    ({"time": [[0.0, 0.5, float("nan")]]}, "row 0, utterance u1: node 2 has the time nan"),
    ({"time": [[0.0, 0.5, 1e10]]}, "node 2 has the time 1"),
    ({"time": [[0.0, 1.5, 1.0]]}, "runs backwards in time"),
    ({"time": [[0.0, 0.5]]}, "but there are 2 nodes"),
    ({"time": [0.5]}, "the column 'time' is double, not list<.*double>"),
    ({"silence": pa.array([None], pa.string())}, "the column 'silence' has nulls"),
    ({"file": pa.array([None], pa.string())}, "the column 'file' has nulls"),
    ({"scale.acoustic": [float("inf")]}, r"a scale is no number below 1e\+06"),
    ({"frame_length": [0.0]}, "a frame length is not between 0 and 10 seconds"),
    ({"place": ["here"]}, "the column 'place' is string, not int64"),
    ({"trimmed_nodes": int32(None)}, "the column 'trimmed_nodes' has nulls"),
    ({"note.speaker": [5]}, "the column 'note.speaker' is int64, not string"),
]
BAD_ARCS: list[tuple[dict[str, Any], str]] = [
    ({"source": [0, 0, 1]}, "the column 'source' is int64, not int32"),
    ({"source": int32(0, None, 1)}, "the column 'source' has nulls"),
    ({"source": int32(0, 0, 3)}, "but there are 3 nodes"),
    ({"source": int32(0, 0, -1)}, "but there are 3 nodes"),
    ({"target": None}, "there are 0 columns 'target', not 1"),
    ({"target": int32(1, 2, 0)}, "the graph has a cycle"),
    ({"target": int32(1, 1, 1)}, "no path leads"),
    ({"word": ["a", None, "b"]}, "the column 'word' has nulls"),
    ({"word": [1, 2, 3]}, "the column 'word' is int64, not string"),
    ({"word": pa.array([b"a", b"b", b"\xff"]).cast(pa.string(), safe=False)}, "cannot be read on: Invalid UTF8"),
    ({"surface": [1, 2, 3]}, "the column 'surface' is int64, not string"),
    ({"acoustic": float32(0, np.inf, 0)}, "arc 1 has the acoustic score inf"),
    ({"posterior": float32(0, 1, np.nan)}, "arc 2 has the posterior score nan"),
    ({"acoustic": float32(0, None, 0)}, "the column 'acoustic' is null on some arcs of an utterance"),
    ({"acoustic": [0.0, 1.0, 2.0]}, "the column 'acoustic' is double, not float"),
    ({"picked": [1, 0, 1]}, "the column 'picked' is int64, not bool"),
    ({"extra.rank": float32(0, 1, np.nan)}, "arc 2 has the rank score nan"),
    ({"extra.rank": ["a", "b", "c"]}, "the column 'extra.rank' is string, not float"),
    ({"extra.word": float32(0, 1, 1)}, "'extra.word' has a name that means something else"),
]


@pytest.mark.parametrize(
    ("rows", "arcs", "message"),
    [(rows, {}, message) for rows, message in BAD_ROWS] + [({}, arcs, message) for arcs, message in BAD_ARCS],
)
def test_bad_columns(rows: dict[str, Any], arcs: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message) as caught:
        everything(handmade(tmp_path / "s", rows, arcs))
    assert Path(caught.value.file).parent == tmp_path / "s"


def test_double_columns(tmp_path: Path) -> None:
    path = handmade(tmp_path / "s")
    table = pa.table(ARCS)
    double = pa.Table.from_arrays([*table.columns, table["word"]], [*table.column_names, "word"])
    pq.write_table(double, path / "arcs-x.parquet")
    about = (path / STORE_FILE).read_text()
    size = (path / "arcs-x.parquet").stat().st_size
    (path / STORE_FILE).write_text(re.sub('"arcs_bytes": [0-9]+', f'"arcs_bytes": {size}', about))
    with pytest.raises(InputError, match="there are 2 columns 'word', not 1"):
        everything(path)


def test_a_bad_utterance_does_not_lose_the_others(tmp_path: Path) -> None:
    rows = {"utt": ["u1", "u2", "u3"], "arcs": int32(1, 1, 1), "time": [[0.0, 1.0]] * 3}
    arcs = {"source": int32(0, 0, 0), "target": int32(1, 5, 1), "word": ["a", "b", "c"]}
    problems = Problems(skip=True)
    found = everything(handmade(tmp_path / "s", rows, arcs), problems=problems)
    assert [lattice.words for lattice in found] == [("a",), ("c",)]
    assert [(error.utt, error.place) for error in problems.errors] == [("u2", "row 1")]


def test_row_groups_that_do_not_go_together(tmp_path: Path) -> None:
    path = handmade(tmp_path / "s", {"arcs": int32(0)}, {"source": None, "target": None, "word": None})
    with pytest.raises(InputError, match="there are 0 columns 'source', not 1"):
        everything(path)
    path = write_store(tmp_path / "t", simple("u1"), simple("u2"), group_arcs=3)
    utterances, _ = tables(path)
    pq.write_table(utterances, path / "utterances-00000.parquet")
    about = json.loads((path / STORE_FILE).read_text())
    about["shards"][0]["utterances_bytes"] = (path / "utterances-00000.parquet").stat().st_size
    (path / STORE_FILE).write_text(json.dumps(about))
    with pytest.raises(InputError, match="2 row groups, but 1 of utterances"):
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


def four_shards(path: Path) -> Path:
    return write_store(path, *(simple(f"u{number}") for number in range(4)), group_arcs=3, shard_bytes=1)


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
    with pytest.raises(InputError, match=r"a parquet file alone is no store. Name the folder"):
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
    about = json.loads((path / STORE_FILE).read_text())
    (path / STORE_FILE).write_text(json.dumps({**about, **change}).replace("Infinity", "1e400"))
    with pytest.raises(InputError, match=message) as caught:
        everything(path)
    assert caught.value.file == str(path / STORE_FILE)


def test_store_json_that_is_no_json(tmp_path: Path) -> None:
    path = write_store(tmp_path / "s", simple())
    (path / STORE_FILE).write_bytes(b"\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        everything(path)


def test_counts_that_disagree(tmp_path: Path) -> None:
    path = write_store(tmp_path / "s", simple())
    text = (path / STORE_FILE).read_text()
    (path / STORE_FILE).write_text(text.replace('"utterances": 1', '"utterances": 1000000000000'))
    with pytest.raises(InputError, match=r"1 utterances, but store\.json says 1000000000000"):
        everything(path)


# Nothing is half-written, and nothing but a store is replaced


def test_nothing_is_left_when_writing_fails(tmp_path: Path) -> None:
    write_store(tmp_path / "s", simple("old"))
    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error), StoreWriter(tmp_path / "s", group_arcs=1) as store:  # noqa: PT012
            store.add(simple("new").batch())
            raise error
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
    assert [lattice.utt for lattice in everything(tmp_path / "s")] == ["old"]


def test_a_store_appears_when_it_is_complete(tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "s", group_arcs=1) as store:
        store.add(simple().batch())
        assert not (tmp_path / "s").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_a_store_is_replaced_even_by_itself(tmp_path: Path) -> None:
    path = four_shards(tmp_path / "s")
    write(stream(path), path)
    assert [lattice.utt for lattice in everything(path)] == ["u0", "u1", "u2", "u3"]
    assert len(list(path.glob("arcs-*.parquet"))) == 1
    link = tmp_path / "link"
    link.symlink_to(path)
    write_store(link, simple("new"))
    assert [lattice.utt for lattice in everything(path)] == ["new"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "s"]


def test_other_folders_and_files_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("...")
    with pytest.raises(OptionError, match="thesis: a folder that is no store is not replaced"):
        write_store(tmp_path / "thesis", simple())
    with pytest.raises(OptionError, match="a file of this name is there"):
        write_store(tmp_path / "thesis" / "chapter1.tex", simple())
    with pytest.raises(OptionError, match="cannot be written: No such file or directory"):
        write_store(tmp_path / "nowhere" / "s", simple())
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter1.tex"]
    (tmp_path / "empty").mkdir()
    assert len(everything(write_store(tmp_path / "empty", simple()))) == 1


def test_a_full_disk_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(OptionError, match="the store cannot be written: No space left on device"):
        write_store(tmp_path / "s", simple())
    assert list(tmp_path.iterdir()) == []


# Recognised, and the samples


def test_recognised_by_content(tmp_path: Path) -> None:
    path = write_store(tmp_path / "s", simple())
    assert sniff((path / "arcs-00000.parquet").read_bytes()[:100], "x") == 1.0
    assert sniff(b"", "folder") == 1.0
    assert sniff(b"PARTY", "x.parquet") == 0.0
    assert formats()["store"].suffixes == (".store",)


def test_samples() -> None:
    kettle = read(SAMPLES / "store" / "kettle")
    assert [lattice.text for lattice in kettle] == ["The kettle is on.", "gone"]
    assert kettle.origin == Origin("kettle.ark", "kaldi-text", "given", 0.03)
    tide = read(SAMPLES / "store" / "tide.store")
    assert tide[0].extra["rank"].tolist() == [0, 1, 0, 1]
    assert tide.origin == Origin("tide.json", "whisper", "aligned")


@needs_shared
def test_real_lattices_come_back(tmp_path: Path) -> None:
    archive = SHARED / "formats" / "kaldi.compact.text.ark.gz"
    found = list(stream(archive, ReadOptions(words=SHARED / "kaldi-small-2020" / "words.txt.gz")))
    write(found, tmp_path / "s")
    again = everything(tmp_path / "s")
    before = [lattice for batch in found for lattice in batch]
    assert len(again) == len(before) == 25
    assert all(mine.equals(theirs) for mine, theirs in zip(again, before, strict=True))

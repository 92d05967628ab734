"""The parquet store."""

from __future__ import annotations

import json
import pickle
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordtrust
from tests.helpers.shared import SAMPLES, SHARED, needs_shared
from tests.helpers.stores import everything, four_shards, simple, tables, write_store
from tests.helpers.strategies import assembled, batch_of, lattices
from wordtrust.base.errors import InputError, OptionError
from wordtrust.formats import formats_by_name, read, stream, write
from wordtrust.formats.inputs import STORE_FILE
from wordtrust.formats.store import sniff
from wordtrust.formats.store.write import StoreWriter
from wordtrust.lattices.lattice import Lattice, Origin, ReadingFacts, concatenate
from wordtrust.lattices.weights import Scales

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
            lattice = replace(lattice, extra={**lattice.extra, "token_rank": np.ones(lattice.arcs, np.float32)})
        if draw(st.booleans()):
            lattice = replace(lattice, notes={"speaker": f"speaker {number}", "text": ""})
        scales = draw(st.sampled_from([Scales(), Scales(0.1, 0.9, -0.5, 0.25)]))
        origin = draw(st.sampled_from([Origin("a", "kaldi", "given", 0.03), Origin("b.json", "nbest", "aligned")]))
        facts = ReadingFacts(np.array([number * 2**40]), *(np.array([number + k], np.int32) for k in range(3)))
        found.append(replace(lattice, scales=scales, origin=origin, facts=facts))
    return found


@pytest.mark.filterwarnings("ignore::wordtrust.base.errors.WordtrustWarning")  # times are made up
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
        assert all(np.array_equal(getattr(after.facts, n), getattr(before.facts, n)) for n in ReadingFacts.__slots__)
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


def test_optional_evidence_of_some_rows_does_not_split_a_batch(tmp_path: Path) -> None:
    parts = [simple(f"u{number}", acoustic=[0, 0, number]) for number in range(4)]
    parts[1::2] = [replace(part, extra={"token_rank": np.ones(3, np.float32)}) for part in parts[1::2]]
    joined = concatenate(part.batch() for part in parts)
    assert np.isnan(joined.extra["token_rank"]).tolist() == [True] * 3 + [False] * 3 + [True] * 3 + [False] * 3
    for path in (write_store(tmp_path / "s", *parts), tmp_path / "t"):
        if path.name == "t":
            with StoreWriter(path) as store:
                store.add(joined)
        (batch,) = stream(path)
        np.testing.assert_array_equal(batch.extra["token_rank"], joined.extra["token_rank"])
        assert all(after.equals(before) for before, after in zip(parts, batch, strict=True))


def test_batches_stay_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordtrust.formats.store.read.BATCH_ARCS", 10)
    path = write_store(tmp_path / "s", *(simple(f"u{number}") for number in range(20)))
    assert max(len(batch.source) for batch in stream(path)) <= 12
    assert len(everything(path)) == 20


def test_half_characters_do_not_stop_the_writer(tmp_path: Path) -> None:
    made = assembled("u\ud800", time=[0, 1], ends=[(0, 1)] * 2, tokens=["x\udfff", "x?"], acoustic=[0, 1])
    [again] = everything(write_store(tmp_path / "s", made))
    assert (again.utt, again.surfaces) == ("u?", ("x?", "x?"))


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


@pytest.mark.slow
def test_resuming_keeps_the_number_of_files(tmp_path: Path) -> None:
    """More files than store.json names, some of them in shards that were finished before an interrupt."""
    made = [replace(simple(f"u{number}"), origin=Origin(f"{number}.lat", "test")) for number in range(250)]
    sizes: dict[str, Any] = {"group_arcs": 3, "shard_bytes": 1, "resume": "key"}
    with pytest.raises(KeyboardInterrupt), StoreWriter(tmp_path / "s", **sizes) as store:  # noqa: PT012
        for lattice in made[:180]:
            store.add(lattice.batch())
        raise KeyboardInterrupt
    with StoreWriter(tmp_path / "s", **sizes) as store:
        assert 0 < store.resumed < 180
        for lattice in made[store.resumed :]:
            store.add(lattice.batch())
    source = json.loads((tmp_path / "s" / STORE_FILE).read_text())["from"]
    assert source["number_of_files"] == 250
    assert source["files"] == [f"{number}.lat" for number in range(100)]


# Any arrow tool can read it


def test_plain_pyarrow_reads_real_strings_and_numbers(tmp_path: Path) -> None:
    path = write_store(tmp_path / "s", simple("u1"), simple("u2", posterior=[1, 1, 0], rank=[1, 1, 2]))
    utterances, arcs = tables(path)
    first, second = utterances.to_pylist()
    assert (first["utt"], first["arcs"], first["time"], first["silence"]) == ("u1", 3, [0.0, 0.5, 1.0], "<eps>")
    assert [second[name] for name in ("file", "format", "times", "frame_length")] == ["test", "test", "given", None]
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


def test_a_store_is_of_one_recognizer(tmp_path: Path) -> None:
    first, second = (
        replace(simple(f"u-{name}"), origin=Origin(f"{name}.lat", recognizer=name)) for name in ("a", "b")
    )
    with pytest.raises(InputError, match="A store is of one recognizer"):
        write_store(tmp_path / "s", first, second)
    assert list(tmp_path.iterdir()) == []
    assert len(everything(write_store(tmp_path / "s", first, replace(second, origin=first.origin)))) == 2


def test_only_words_that_are_there_are_written(tmp_path: Path) -> None:
    """A part of a batch has the vocabulary of all of it; its store does not."""
    words = [assembled(f"u{n}", time=[0, 1], ends=[(0, 1)], tokens=[f"W{n}"], acoustic=[0]) for n in range(9)]
    with StoreWriter(tmp_path / "s") as store:
        store.add(batch_of(*words)[3:5])
    file = pq.read_table(tmp_path / "s" / "arcs-00000.parquet", read_dictionary=["word", "surface"])
    for name, strings in (("word", {"w3", "w4"}), ("surface", {"W3", "W4"})):
        assert set(file[name].chunk(0).dictionary.to_pylist()) - {""} == strings


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
    assert sniff((path / "arcs-00000.parquet").read_bytes()[:100], "x") == 0.0  # may be a transcript
    assert sniff(b"", "folder") == 1.0
    assert sniff(b"PARTY", "x.parquet") == 0.0
    assert formats_by_name()["store"].suffixes == (".store",)


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
    found = list(stream(archive, words=SHARED / "kaldi-small-2020" / "words.txt.gz", frame_length=0.03))
    write(found, tmp_path / "s.store")
    again = everything(tmp_path / "s.store")
    before = [lattice for batch in found for lattice in batch]
    assert len(again) == len(before) == 25
    assert all(mine.equals(theirs) for mine, theirs in zip(again, before, strict=True))

"""Building labelled networks into a store: what they carry, order, resume."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import synthetic as benchmark_data

from tests.helpers.strategies import assembled, batch_of
from wordtrust import read, stream
from wordtrust.evaluation.evaluation import evaluate_networks
from wordtrust.formats.references import Reference, References
from wordtrust.formats.store.write import StoreWriter
from wordtrust.lattices.lattice import Lattices, concatenate
from wordtrust.lattices.weights import Scales
from wordtrust.networks.build_store import BuildOptions, build_networks, build_store, resume_key
from wordtrust.networks.tuned_scales import TunedScales

TUNED = TunedScales(Scales(0.9, 1.0, -1.0), Scales(0.6, 0.7, -0.7), Scales(), {})


def synthetic(utterances: int, seed: int) -> Lattices:
    return concatenate(benchmark_data.lattices(utterances, vocabulary=200, seed=seed))


def corpus() -> tuple[Lattices, References]:
    """Two utterances: in the second the recognizer is wrong, and a parallel arc is right."""
    one = assembled(
        "one", time=[0, 0.5, 1], ends=[(0, 1), (1, 2)], tokens=["I", "will"], acoustic=[-1, -1], transition=[-1, -1]
    )
    two = assembled(
        "two", time=[0, 1], ends=[(0, 1), (0, 1)], tokens=["sit", "seat"], acoustic=[-1, -2], transition=[-1, -1]
    )
    references = References(
        [Reference("one", "I will", ("i", "will"), speaker="ann"), Reference("two", "Seat.", ("seat",))]
    )
    return batch_of(one, two), references


def test_a_network_carries_all_that_evaluation_needs() -> None:
    lattices, references = corpus()
    networks = build_networks(lattices, BuildOptions(tuned=TUNED, references=references))
    assert networks.notes["reference"] == ("i will", "seat")
    assert networks.notes["speaker"] == ("ann", "two")
    assert networks.notes["tuned_one_best"] == ("i will", "sit")
    assert networks.notes["tuned_mbr"] == ("i will", "sit")
    assert networks.scales == TUNED.posterior
    assert networks[0].extra["label"].tolist() == [1, 1]
    labels = dict(zip(networks[1].words, networks[1].extra["label"].tolist(), strict=True))
    assert labels == {"sit": 0, "seat": 1}
    assert networks.picked is not None
    assert [lattice.text for lattice in networks] == ["I will", "sit"]


def test_without_references_there_are_no_labels() -> None:
    networks = build_networks(corpus()[0], BuildOptions())
    assert not networks.notes
    assert "label" not in networks.extra
    assert networks.posterior is not None


def test_evaluation_by_hand(tmp_path: Path) -> None:
    lattices, references = corpus()
    build_store([lattices], tmp_path / "s", BuildOptions(tuned=TUNED, references=references))
    figures = evaluate_networks(stream(tmp_path / "s")).to_dict()
    assert (figures["utterances"], figures["words"]) == (2, 3)
    assert figures["wer"] == {
        "one_best": pytest.approx(1 / 3), "best_confidence": pytest.approx(1 / 3), "oracle": 0.0,
        "tuned_one_best": pytest.approx(1 / 3), "tuned_mbr": pytest.approx(1 / 3),
    }  # fmt: skip
    assert figures["arcs"]["posterior"]["auc"] == pytest.approx(2 / 3)  # will and i above sit, seat below it
    assert figures["lenient_wer"] == figures["wer"]  # nothing is written in another way
    assert figures["lenient_errors"] == figures["errors"]
    assert set(figures) == {
        "utterances", "words", "wer", "errors", "lenient_wer", "lenient_errors", "arcs", "arcs_paper", "one_best",
        "output", "gaps", "whole_utterances",
    }  # fmt: skip


def test_evaluations_add_up(tmp_path: Path) -> None:
    lattices, references = corpus()
    networks = build_networks(lattices, BuildOptions(references=references))
    whole, parts = (
        evaluate_networks([networks]),
        evaluate_networks([networks[:1]]) + evaluate_networks([networks[1:]]),
    )
    assert parts.to_dict() == whole.to_dict()


def test_order_does_not_depend_on_the_number_of_jobs(tmp_path: Path) -> None:
    batches = [synthetic(20, seed=seed) for seed in range(5)]
    stores = []
    for jobs in (1, 3):
        build_store(batches, tmp_path / f"s{jobs}", BuildOptions(), jobs=jobs)
        stores.append(read(tmp_path / f"s{jobs}"))
    assert stores[0].utts == stores[1].utts
    assert all(one.equals(two) for one, two in zip(*stores, strict=True))


@pytest.mark.slow
def test_finished_shards_are_not_built_again(tmp_path: Path) -> None:
    batches = [replace(synthetic(30, seed=seed), utts=tuple(f"{seed}-{n}" for n in range(30))) for seed in range(4)]

    def interrupted() -> None:
        with StoreWriter(tmp_path / "s", resume="key", shard_bytes=1, group_arcs=1) as store:
            store.add(batches[0])
            store.add(batches[1])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with StoreWriter(tmp_path / "s", resume="key", shard_bytes=1, group_arcs=1) as store:
        assert 30 <= store.resumed < 60
        rest = [lattice.batch() for batch in batches for lattice in batch][store.resumed :]
        for batch in rest:
            store.add(batch)
    again = read(tmp_path / "s")
    assert again.utts == tuple(utt for batch in batches for utt in batch.utts)
    assert again[0].equals(batches[0][0])
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> object:
        yield corpus()[0]
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        build_store(broken(), tmp_path / "s", BuildOptions())  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def small_shards(monkeypatch: pytest.MonkeyPatch, group_arcs: int = 1) -> None:
    """A shard for every utterance, so that an interrupt comes after some of them."""
    monkeypatch.setattr("wordtrust.networks.build_store.SHARD_BYTES", 1)
    monkeypatch.setitem(StoreWriter.__init__.__kwdefaults__ or {}, "group_arcs", group_arcs)


def until_interrupted(lattices: Lattices, utterances: int) -> Iterator[Lattices]:
    """One utterance after the other, until somebody presses Ctrl-C."""
    for lattice in lattices[:utterances]:
        yield lattice.batch()
    raise KeyboardInterrupt


def test_an_interrupted_build_goes_on_after_its_last_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_shards(monkeypatch)
    many = replace(synthetic(12, seed=1), utts=tuple(f"u-{number}" for number in range(12)))
    with pytest.raises(KeyboardInterrupt):
        build_store(until_interrupted(many, 9), tmp_path / "s", BuildOptions(), jobs=1, key=["key"])
    [first] = tmp_path.rglob("arcs-00000.parquet")
    before = first.stat().st_ino
    done = build_store([many], tmp_path / "s", BuildOptions(), jobs=1, key=["key"])
    networks = build_networks(many, BuildOptions())
    assert (done.utterances, done.nodes, done.arcs) == (12, len(networks.time), len(networks.source))
    again = read(tmp_path / "s")
    assert again.utts == many.utts
    assert all(one.equals(two) for one, two in zip(again, networks, strict=True))
    assert (tmp_path / "s" / "arcs-00000.parquet").stat().st_ino == before  # it was not written again


@pytest.mark.parametrize("changed", ["lattices", "words"])
def test_a_build_begins_anew_when_a_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    """Files of the same size, but of another time."""
    small_shards(monkeypatch)
    archive, symbols = tmp_path / "lat.txt", tmp_path / "words.txt"
    words = ["<eps>", *(f"w{number}" for number in range(9))]
    symbols.write_text("".join(f"{word} {number}\n" for number, word in enumerate(words)))
    archive.write_text("".join(f"u{n}\n0 1 {n} 1,2,1_1_1\n1 0,0,\n\n" for n in range(1, 10)))

    def lattices() -> Lattices:
        return read(archive, words=symbols)

    def key() -> list[str]:
        return resume_key([str(archive)], files=(symbols,))

    with pytest.raises(KeyboardInterrupt):
        build_store(until_interrupted(lattices(), 9), tmp_path / "s", BuildOptions(), jobs=1, key=key())
    assert list(tmp_path.rglob("arcs-00000.parquet"))
    file = archive if changed == "lattices" else symbols
    size = file.stat().st_size
    if changed == "lattices":
        file.write_text(file.read_text().replace("0 1 1 1,2,1_", "0 1 9 1,2,1_"))
    else:
        file.write_text(file.read_text().replace("w0 1", "w1 1").replace("w1 2", "w0 2"))
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))
    assert file.stat().st_size == size
    build_store([lattices()], tmp_path / "s", BuildOptions(), jobs=1, key=key())
    assert read(tmp_path / "s")[0].text == ("w8" if changed == "lattices" else "w1")


_KILLED = """
import sys, time
from pathlib import Path
import wordtrust.networks.build_store as networks
from wordtrust import stream
from wordtrust.formats.store.write import StoreWriter
networks.SHARD_BYTES, StoreWriter.__init__.__kwdefaults__["group_arcs"] = 1, 30
def slowly():
    for number, batch in enumerate(stream(sys.argv[1])):
        for lattice in batch:
            yield lattice.batch()
            if number == 0 and lattice.utt.endswith("-40"):
                print("half way", flush=True)
                time.sleep(60)
networks.build_store(slowly(), Path(sys.argv[2]), networks.BuildOptions(), jobs=1, key=["x"])
"""


@pytest.mark.slow
def test_a_killed_build_goes_on_and_gives_the_same_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wordtrust import write

    many = synthetic(80, seed=1)
    write(replace(many, utts=tuple(f"u-{number}" for number in range(80))), tmp_path / "in.store")
    command = [sys.executable, "-c", _KILLED, str(tmp_path / "in.store")]
    with subprocess.Popen([*command, str(tmp_path / "killed")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half way\n"
        os.kill(process.pid, signal.SIGKILL)
    assert not (tmp_path / "killed").exists()
    [finished] = (file for file in tmp_path.rglob("arcs-00000.parquet") if file.parent.name != "in.store")
    before = finished.stat().st_ino  # there was a shard when it was killed
    small_shards(monkeypatch, group_arcs=30)
    for out in ("killed", "whole"):
        batches = (lattice.batch() for batch in stream(tmp_path / "in.store") for lattice in batch)
        assert build_store(batches, tmp_path / out, BuildOptions(), jobs=1, key=["x"]).utterances == 80
    assert (tmp_path / "killed" / "arcs-00000.parquet").stat().st_ino == before
    killed, whole = read(tmp_path / "killed"), read(tmp_path / "whole")
    assert killed.utts == whole.utts == tuple(f"u-{number}" for number in range(80))
    assert all(one.equals(two) for one, two in zip(killed, whole, strict=True))
    assert np.array_equal(killed.time, whole.time)

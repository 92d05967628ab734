"""Every utterance once, and one recognizer: what is counted or kept."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.command_line import refused, run
from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.problems import Problems
from wordtrust.confidence.adapt import adapt
from wordtrust.confidence.model_file import load_model
from wordtrust.confidence.word_scorer import load
from wordtrust.formats import read, stream, write
from wordtrust.formats.batches import one_recognizer, read_batches, unique_utterances
from wordtrust.lattices.lattice import Lattices, Origin, ReadingFacts
from wordtrust.lattices.vocabulary import Vocabulary


def nbest_file(path: Path, *utts: str, recognizer: str = "") -> Path:
    """N-best lists of these utterances, all of which say "a b"; beside them a recognizer.json where it has a name."""
    path.parent.mkdir(exist_ok=True, parents=True)
    hypotheses = [{"score": -1.0, "text": "a b"}, {"score": -2.0, "text": "a c"}]
    path.write_text("".join(json.dumps({"utt": utt, "nbest": hypotheses}) + "\n" for utt in utts))
    if recognizer:
        (path.parent / "recognizer.json").write_text(json.dumps({"name": recognizer}))
    return path


def ref_file(path: Path, *utts: str) -> Path:
    path.write_text("utt\tspeaker\ttext\n" + "".join(f"{utt}\t{utt}\ta b\n" for utt in utts))
    return path


@pytest.fixture
def two_files(tmp_path: Path) -> tuple[Path, Path]:
    return nbest_file(tmp_path / "a.jsonl", "u1", "u2"), nbest_file(tmp_path / "b.jsonl", "u3", "u1")


def test_an_utterance_in_two_files_is_refused_and_both_are_named(two_files: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="u1") as caught:
        list(read_batches(list(two_files)))
    assert (caught.value.file, caught.value.utt) == (str(two_files[1]), "u1")
    assert str(two_files[0]) in caught.value.found


def test_an_utterance_twice_in_one_file(tmp_path: Path) -> None:
    file = nbest_file(tmp_path / "a.jsonl", "u1", "u2", "u1")
    with pytest.raises(InputError, match="utterance u1: the utterance is there a second time") as caught:
        list(read_batches(file))
    assert caught.value.file == str(file)


@pytest.mark.parametrize("how", ["again", "other path", "symlink", "copy in a store"])
def test_a_file_given_twice(how: str, tmp_path: Path) -> None:
    file = nbest_file(tmp_path / "a.jsonl", "u1", "u2")
    second = {
        "again": file,
        "other path": tmp_path / ".." / tmp_path.name / "a.jsonl",
        "symlink": tmp_path / "l.jsonl",
        "copy in a store": tmp_path / "a.store",
    }[how]
    if how == "symlink":
        os.symlink(file, second)
    if how == "copy in a store":
        write(read(file), second)
    with pytest.raises(InputError) as caught:
        list(read_batches([file, second]))
    said = {"again": "a second time", "copy in a store": f"in {file}"}.get(how, f"the same file as {file}")
    assert said in caught.value.found
    assert caught.value.file == str(second)  # and not the file that a store was made from


def test_skipping_leaves_the_second_out(two_files: tuple[Path, Path]) -> None:
    problems = Problems(skip=True)
    kept = [utt for batch in read_batches(list(two_files), problems) for utt in batch.utts]
    assert kept == ["u1", "u2", "u3"]
    assert [error.utt for error in problems.errors] == ["u1"]


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=4), max_size=5))
def test_what_is_kept_is_the_first_of_every_name(names: list[list[str]]) -> None:
    problems = Problems(skip=True)
    batches = [_batch(tuple(utts), f"file-{index}") for index, utts in enumerate(names)]
    kept = [utt for batch in unique_utterances(batches, problems) for utt in batch.utts]
    everything = [utt for utts in names for utt in utts]
    assert kept == list(dict.fromkeys(everything))
    assert len(problems.errors) == len(everything) - len(kept)


def _batch(utts: tuple[str, ...], file: str = "", recognizer: str = "") -> Lattices:
    """A word for each utterance."""
    count = len(utts)
    nodes, ones = np.tile([0.0, 1.0], count), np.ones(count, np.int32)
    return Lattices(
        utts, np.arange(count + 1) * 2, np.arange(count + 1), nodes, ones * 0, ones, ones, ones, Vocabulary(["a"]),
        acoustic=ones.astype(np.float32), origin=Origin(file, recognizer=recognizer), facts=ReadingFacts.none(count),
    )  # fmt: skip


def test_verbs_that_count_refuse_what_comes_twice(tmp_path: Path) -> None:
    file, again = nbest_file(tmp_path / "a.jsonl", "u1", "u2"), tmp_path / "again.jsonl"
    again.write_bytes(file.read_bytes())
    ref, store = ref_file(tmp_path / "ref.tsv", "u1", "u2"), tmp_path / "a.networks"
    run("build", file, "--ref", ref, "-o", store)
    run("convert", store, tmp_path / "copy.store")
    copy = tmp_path / "copy.store"
    model = load_model("generic")
    assert model.is_generic
    for verb in (
        ("info", file, again, "--ref", ref), ("tune", file, again, "--ref", ref, "-o", tmp_path / "s.json"),
        ("build", file, again, "-o", tmp_path / "b.networks"), ("evaluate", store, copy), ("threshold", store, copy),
        ("evaluate", "generic", store, copy), ("threshold", "generic", store, copy),
        ("calibrate", "generic", store, copy, "-o", tmp_path / "m"), ("train", store, copy, "--dev", store, "--pack",
        tmp_path / "p"), ("train", store, "--dev", store, "--dev", copy, "--pack", tmp_path / "p"),
    ):  # fmt: skip
        said = refused(*verb)
        assert "utterance u1" in said, verb
        assert str(verb[2] if verb[0] in ("info", "tune", "build") else copy) in said, verb
    assert not (tmp_path / "b.networks").exists()
    run("build", file, again, "-o", tmp_path / "b.networks", "--skip-bad")
    assert len(read(tmp_path / "b.networks")) == 2


def test_scores_given_twice_are_refused(tmp_path: Path) -> None:
    ctm = tmp_path / "a.ctm"
    ctm.write_text("u1 1 0.0 0.5 a 0.9\nu1 1 0.5 0.5 b 0.8\n")
    (tmp_path / "b.ctm").write_bytes(ctm.read_bytes())
    ref = ref_file(tmp_path / "ref.tsv", "u1")
    given = ("--scores", ctm, "--scores", tmp_path / "b.ctm", "--ref", ref)
    for verb in (("evaluate",), ("threshold",), ("calibrate", "-o", tmp_path / "c.json")):
        assert "utterance u1" in refused(verb[0], *given, *verb[1:])


def test_a_store_is_of_one_recognizer(tmp_path: Path) -> None:
    first = nbest_file(tmp_path / "a" / "x.jsonl", "u1", recognizer="tdnn")
    other = nbest_file(tmp_path / "b" / "x.jsonl", "u2", recognizer="conformer")
    for verb in (("build", first.parent, other.parent, "-o"), ("convert", first, other)):
        said = refused(*verb, tmp_path / "out.store")
        assert all(part in said for part in ("tdnn", "conformer", str(first), str(other), "make one for each"))
        assert not list(tmp_path.glob("*out*"))
    run("build", first, "-o", tmp_path / "out.store")
    assert read(tmp_path / "out.store").origin.recognizer == "tdnn"


def test_a_file_without_a_recognizers_name_does_not_get_one(tmp_path: Path) -> None:
    named = nbest_file(tmp_path / "a" / "x.jsonl", "u1", recognizer="tdnn")
    unnamed = nbest_file(tmp_path / "b" / "x.jsonl", "u2")
    for files in ((named, unnamed), (unnamed, named)):
        said = refused("build", *files, "-o", tmp_path / "out.store")
        assert f"{unnamed} has no recognizer's name" in said
        assert 'put a recognizer.json with {"name": "tdnn"}' in said


def test_lattices_of_several_recognizers_do_not_share_arrays(tmp_path: Path) -> None:
    first = nbest_file(tmp_path / "a" / "x.jsonl", "u1", recognizer="tdnn")
    other = nbest_file(tmp_path / "b" / "x.jsonl", "u2", recognizer="conformer")
    with pytest.raises(OptionError, match=r"several recognizers \(conformer, tdnn\)"):
        read([first, other])


def test_a_model_is_trained_and_adapted_on_one_recognizer(tmp_path: Path) -> None:
    stores = []
    for name, utt in (("tdnn", "u1"), ("conformer", "u2")):
        file, store = nbest_file(tmp_path / name / "x.jsonl", utt, recognizer=name), tmp_path / f"{name}.networks"
        run("build", file, "--ref", ref_file(tmp_path / "ref.tsv", utt), "-o", store)
        stores.append(store)
    pack = ("--pack", tmp_path / "p")
    assert "Train a model for each" in refused("train", *stores, "--dev", stores[0], *pack)
    assert "Train a model for each" in refused("train", stores[0], "--dev", stores[1], *pack)
    assert "Train a model for each" in refused("train", stores[0], "--dev", stores[0], "--dev", stores[1], *pack)
    assert "Adapt a model for each" in refused("adapt", "generic", *stores, "-o", tmp_path / "m")
    with pytest.raises(InputError, match="Adapt a model for each"):
        adapt(load_model("generic"), stream(stores))
    with pytest.raises(InputError, match="the recognizer is conformer, the model was trained for tdnn"):
        load("generic").adapted(stream(stores[0]))(read(stores[1]))


def test_one_recognizer_passes_batches_on() -> None:
    batches = [_batch(("a",), "x", "r"), _batch(("b",), "y", "r")]
    assert list(one_recognizer(batches, "")) == batches
    for names in (("r", "s"), ("r", ""), ("", "r")):
        mixed = [_batch((name or "u",), "x", name) for name in names]
        with pytest.raises(InputError):
            list(one_recognizer(mixed, ""))


def test_names_of_many_utterances_take_little_memory() -> None:
    """A tenth of a million here: 120 bytes each, as the docstring says."""
    import tracemalloc

    edges = range(0, 100_001, 1_000)
    batches = (_batch(tuple(f"speaker-{i % 97:03}-utt-{i:07}" for i in range(*pair))) for pair in pairwise(edges))
    tracemalloc.start()
    assert sum(map(len, unique_utterances(batches))) == 100_000
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()

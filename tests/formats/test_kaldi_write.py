"""Lattices written as Kaldi text, and the symbol table beside them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordtrust.formats as formats
from tests.helpers.kaldi_files import EXAMPLE
from tests.helpers.strategies import WORDS, assembled, batch_of, lattices
from wordtrust.base.errors import InputError, OptionError
from wordtrust.formats.symbols import Symbols
from wordtrust.lattices.lattice import Lattice, Lattices, Origin
from wordtrust.lattices.text import Normalizer

BOTH = (("acoustic", "transition"),)
ON_THE_GRID = tuple(word for word in WORDS if word != "Middle-earth.")  # cut in two, it ends between two frames


def written(*made: Lattice, folder: Path, name: str = "lat.ark", frame_length: float | None = None) -> Path:
    path = folder / name
    formats.write(batch_of(*made), path, frame_length=frame_length)
    return path


@pytest.mark.filterwarnings("ignore:these lattices have no times")
@given(
    st.lists(lattices(words=ON_THE_GRID, score_sets=BOTH, frame=0.03), min_size=1, max_size=3),
    st.sampled_from(["lat.ark", "l.ark.gz"]),
)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, made: list[Lattice], name: str) -> None:
    made = [replace(lattice, utt=f"utt-{place}") for place, lattice in enumerate(made)]
    path = written(*made, folder=tmp_path_factory.mktemp("kaldi"), name=name, frame_length=0.03)
    found = formats.read(path, acoustic_scale=1)
    assert found.origin.format == "kaldi-text"
    assert len(found) == len(made)
    for there, back in zip(made, found, strict=True):
        assert back.equals(there)


@given(lattices(score_sets=BOTH, frame=0.025))
def test_times_off_the_grid_are_rounded(tmp_path_factory: pytest.TempPathFactory, made: Lattice) -> None:
    path = written(made, folder=tmp_path_factory.mktemp("kaldi"), frame_length=0.02)
    (back,) = formats.read(path, acoustic_scale=1)
    assert sorted(back.time.tolist()) == pytest.approx(sorted(np.rint(made.time / 0.02) * 0.02))
    assert sorted(back.surfaces) == sorted(made.surfaces)


@given(lattices(words=ON_THE_GRID, frame=0.01))
def test_absent_scores_are_written_as_zero(tmp_path_factory: pytest.TempPathFactory, made: Lattice) -> None:
    back = formats.read(written(made, folder=tmp_path_factory.mktemp("kaldi")), acoustic_scale=1)[0]
    for name in ("acoustic", "transition"):
        there, here = getattr(made, name), getattr(back, name)
        assert np.array_equal(here, np.zeros(made.arcs) if there is None else there)
    assert back.surfaces == made.surfaces


def test_by_hand(tmp_path: Path) -> None:
    made = assembled(
        "a b",
        time=[10.0, 10.094, 10.2, 10.3],
        ends=[(0, 1), (1, 2), (0, 2), (2, 3)],
        tokens=["Hello", "<sil>", "Hello", "world."],
        acoustic=[-0.1, 0.0, 2.5e-7, -1234.5678],
        transition=[0.0, -1.0, -2.0, 3.0],
    )
    path = written(made, folder=tmp_path, frame_length=0.05)
    assert path.read_text() == (
        "a_b\n"
        "0\t1\t1\t0.0,0.1,1_1\n"
        "0\t2\t1\t2.0,-2.5e-07,1_1_1_1\n"
        "1\t2\t2\t1.0,0.0,1_1\n"
        "2\t3\t3\t-3.0,1234.5677,1_1\n"
        "3\n\n"
    )
    assert (tmp_path / "words.txt").read_text() == "<eps> 0\nHello 1\n<sil> 2\nworld. 3\n"
    assert json.loads((tmp_path / "recognizer.json").read_text()) == {"frame_length": 0.05}
    (back,) = formats.read(path)
    assert back.time.tolist() == [0.0, 0.1, 0.2, 0.3]


def test_frame_length_of_the_lattices_themselves(tmp_path: Path) -> None:
    batch = batch_of(EXAMPLE.expected())
    formats.write(replace(batch, origin=Origin("x", "x", frame_length=0.03)), tmp_path / "lat.ark")
    assert formats.read(tmp_path / "lat.ark")[0].equals(EXAMPLE.expected())


def test_a_table_that_is_there_grows(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "words.txt.gz", "wt") as file:
        file.write("hello 0\nworld 7\nworld. 9\n")
    made = assembled("u", time=[0, 1, 2], ends=[(0, 1), (1, 2)], tokens=["hello", "world."], acoustic=[1, 2])
    path = written(made, folder=tmp_path)
    assert not (tmp_path / "words.txt").exists()
    table = Symbols.load(tmp_path / "words.txt.gz")
    assert table.words(np.array([0, 7, 9, 10])) == ["hello", "world", "world.", "hello"]
    assert formats.read(path)[0].surfaces == ("hello", "world.")
    before = (tmp_path / "words.txt.gz").read_bytes()
    written(made, folder=tmp_path)
    assert (tmp_path / "words.txt.gz").read_bytes() == before


@pytest.mark.parametrize(
    "named", ["../profile", "/profile", "link.txt", "table.txt", "deep/words.txt", "recognizer.json"]
)
def test_nothing_in_the_folder_says_where_words_are_written(named: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    (folder / "deep").mkdir(parents=True)
    named = str(tmp_path / "profile") if named == "/profile" else named
    (folder / "recognizer.json").write_text(json.dumps({"words": named}))
    (folder / "link.txt").symlink_to(tmp_path / "profile")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises((InputError, OptionError), match=r"outside of the folder|names the symbol table"):
        written(EXAMPLE.expected(), folder=folder)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["words.txt", "recognizer.json"])
def test_links_are_not_written_through(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OptionError, match="is a link, which is not written through"):
        written(EXAMPLE.expected(), folder=folder, frame_length=0.02)
    assert not (tmp_path / "elsewhere").exists()
    assert (folder / name).is_symlink()


def test_two_archives_of_a_folder_are_not_written_at_once(tmp_path: Path) -> None:
    """They share a symbol table, and would give one number to two words."""
    first, second = (
        assembled(word, time=[0, 1], ends=[(0, 1)], tokens=[word], acoustic=[1]) for word in ("one", "two")
    )

    def meanwhile() -> Iterator[Lattices]:
        yield batch_of(first)
        with pytest.raises(OptionError, match=r"words\.txt: another wordtrust process is writing it"):
            formats.write(batch_of(second), tmp_path / "b.ark")

    formats.write(meanwhile(), tmp_path / "a.ark")
    formats.write(batch_of(second), tmp_path / "b.ark")
    assert [formats.read(tmp_path / name)[0].text for name in ("a.ark", "b.ark")] == ["one", "two"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ark", "b.ark", "words.txt"]


def test_an_archive_is_not_written_to_a_stream() -> None:
    with pytest.raises(OptionError, match="symbol table beside it"):
        formats.write(batch_of(EXAMPLE.expected()), "/dev/null", format="kaldi-text")


def test_a_frame_length_that_the_folder_contradicts(tmp_path: Path) -> None:
    (tmp_path / "recognizer.json").write_text('{"frame_length": 0.03}')
    with pytest.raises(OptionError, match=r"frames here are 0\.03 s long, not 0\.01"):
        written(EXAMPLE.expected(), folder=tmp_path, frame_length=0.01)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".ark"] == []


def test_nothing_to_write(tmp_path: Path) -> None:
    formats.write([], tmp_path / "lat.ark")
    assert (tmp_path / "lat.ark").read_bytes() == b""


def test_words_that_one_token_stands_for(tmp_path: Path) -> None:
    """Spelled-out digits have no surface of their own beyond the first: the word itself is written."""
    (tmp_path / "x.slf").write_text("I=0 t=0\nI=1 t=1\nJ=0 S=0 E=1 W=21\n")
    formats.write(formats.read(tmp_path / "x.slf", normalizer=Normalizer(digits=True)), tmp_path / "lat.ark")
    assert formats.read(tmp_path / "lat.ark")[0].surfaces == ("21", "one")


def test_longer_than_kaldi_can_say(tmp_path: Path) -> None:
    made = assembled("u", time=[0, 1e6], ends=[(0, 1)], tokens=["a"], acoustic=[1.0])
    with pytest.raises(OptionError, match="utterance u is 100,000,000 frames of"):
        written(made, folder=tmp_path)

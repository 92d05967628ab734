"""Lattices written as HTK lattices come back as they were."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wordtrust.formats as formats
from tests.helpers.shared import SAMPLES
from tests.helpers.strategies import SCORE_SETS, WORDS, assembled, batch_of, lattices
from wordtrust.formats.format import ReadOptions, WriteOptions
from wordtrust.formats.htk.write import write
from wordtrust.lattices.lattice import Lattice, Lattices
from wordtrust.lattices.text import Normalizer
from wordtrust.lattices.weights import Scales

ODD_WORDS = (*WORDS, "'em", '"so-called"', "back\\slash", "a=b", "#1", "日本語")
SCORES = (*SCORE_SETS, ("acoustic", "posterior"), ("acoustic", "transition", "posterior"))
again = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def back(batches: list[Lattices], path: Path) -> list[Lattice]:
    write(batches, path, WriteOptions())
    return [lattice for batch in formats.stream_files(path, ReadOptions(format="htk")) for lattice in batch]


@again
@given(lattices(words=ODD_WORDS, score_sets=SCORES))
def test_round_trip(tmp_path: Path, lattice: Lattice) -> None:
    (made,) = back([lattice.batch()], tmp_path / "made.slf")
    assert made.equals(lattice)


@again
@given(
    lattices(max_nodes=3),
    st.text(min_size=1, max_size=12).filter(str.strip),
    st.builds(Scales, *[st.floats(0, 50)] * 2, st.floats(-20, 20)),
)
def test_names_and_scales_round_trip(tmp_path: Path, lattice: Lattice, name: str, scales: Scales) -> None:
    named = replace(lattice, utt=name.encode("utf-8", "replace").decode(), scales=scales)
    (made,) = back([named.batch()], tmp_path / "made.slf.gz")
    assert made.equals(named)


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/var/x", "a\nVERSION=1.0\nb", "data/foo.wav", " x ", '"', "I=0", "#"]
)
def test_names_stay_inside_the_file(tmp_path: Path, name: str) -> None:
    (lattice,) = [assembled(name, time=[0, 1], ends=[(0, 1)], tokens=["word"])]
    (made,) = back([lattice.batch()], tmp_path / "made.slf")
    assert made.utt == name
    assert [file.name for file in tmp_path.iterdir()] == ["made.slf"]


def test_what_is_written(tmp_path: Path) -> None:
    lattice = assembled(
        "an utterance", time=[0, 0.25, 1], ends=[(0, 1), (1, 2), (0, 2)], tokens=["hello", "two words"[:3], ""],
        acoustic=[-1.5, -0.1, 3], transition=[0, -2, -1e-7],
    )  # fmt: skip
    write([replace(lattice, scales=Scales(0.5, 12, -1)).batch()], tmp_path / "made.slf", WriteOptions())
    assert (tmp_path / "made.slf").read_text("utf-8").splitlines() == [
        "# Written by wordtrust",
        "VERSION=1.0",
        'UTTERANCE="an utterance"',
        "base=2.718281828459045",
        "lmscale=12 wdpenalty=-1 acscale=0.5",
        "start=0 end=2",
        "N=3 L=3",
        "I=0 t=0.0",
        "I=1 t=0.25",
        "I=2 t=1.0",
        "J=0 S=0 E=1 W=hello a=-1.5 l=0.0",
        "J=1 S=0 E=2 W=!NULL a=3.0 l=-1e-07",
        "J=2 S=1 E=2 W=two a=-0.1 l=-2.0",
    ]


def test_several_utterances_follow_each_other(tmp_path: Path) -> None:
    parts = [assembled(name, time=[0, 1], ends=[(0, 1)], tokens=[name], acoustic=[-1]) for name in ("a", "b", "c")]
    path = tmp_path / "many.slf.gz"
    made = back([batch_of(*parts[:2]), parts[2].batch()], path)
    assert [lattice.utt for lattice in made] == ["a", "b", "c"]
    assert all(mine.equals(theirs) for mine, theirs in zip(made, parts, strict=True))
    assert gzip.decompress(path.read_bytes()).count(b"VERSION=1.0") == 3


def test_a_word_without_surface_is_written_as_itself(tmp_path: Path) -> None:
    source = tmp_path / "number.slf"
    source.write_text("I=0 t=0\nI=1 t=1\nJ=0 S=0 E=1 W=21\n")
    lattice = formats.read(source, format="htk", normalizer=Normalizer(digits=True))[0]
    assert (lattice.words, lattice.surfaces) == (("twenty", "one"), ("21", ""))
    (made,) = back([lattice.batch()], tmp_path / "made.slf")
    assert made.surfaces == ("21", "one")


@pytest.mark.filterwarnings("ignore:acoustic scores look unscaled")
def test_samples_round_trip(tmp_path: Path) -> None:
    for sample in sorted((SAMPLES / "htk").iterdir()):
        lattices_of = formats.read(sample, format="htk")
        made = back([lattices_of], tmp_path / "made.slf")
        for mine, theirs in zip(made, lattices_of, strict=True):
            assert mine.equals(theirs)


def test_scores_keep_all_their_bits(tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0x00800000, 0x7F000000, 2000).astype(np.uint32).view(np.float32)
    ends = [(0, 1)] * len(values)
    lattice = assembled("a", time=[0, 1 / 3], ends=ends, tokens=["a"] * len(values), acoustic=-values)
    (made,) = back([lattice.batch()], tmp_path / "made.slf")
    assert made.equals(lattice)

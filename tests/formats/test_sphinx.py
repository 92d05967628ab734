"""Sphinx's own lattices: worked out by hand, against the HTK lattices of the same utterances, and damaged ones."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import wordtrust.formats as formats
from tests.helpers.reading import read_bytes
from tests.helpers.shared import SAMPLES, SHARED, needs_shared
from wordtrust.base.errors import InputError
from wordtrust.formats import sphinx
from wordtrust.formats.format import ReadOptions
from wordtrust.lattices.lattice import Lattice

TOMATO = (SAMPLES / "sphinx" / "tomato.lat").read_text()
BUNDLED = Path(formats.__file__).parents[1] / "sample" / "lattices"
LOG_BASE = math.log(1.0001)


def read(text: str | bytes, options: ReadOptions = ReadOptions()) -> Lattice:
    (lattice,) = read_bytes(sphinx.FORMAT, text, name="bad.lat", options=options)
    return lattice


def test_edges_score_the_word_they_leave() -> None:
    lattice = read(TOMATO)
    assert lattice.utt == "bad"
    found = sorted(zip(lattice.time[lattice.source], lattice.time[lattice.target], lattice.surfaces, strict=True))
    assert found == [
        (0.0, 0.1, "<s>"), (0.0, 0.1, "<s>"), (0.1, 0.2, "<sil>"), (0.1, 0.2, "a"), (0.1, 0.2, "a"),
        (0.2, 0.8, "tomato"), (0.2, 0.8, "tomato"),
    ]  # fmt: skip
    assert lattice.acoustic is not None
    expected = [-900000, -950000, -120000, -120000, -434423808, -60000, -50000]
    assert sorted(lattice.acoustic) == pytest.approx(sorted(score * LOG_BASE for score in expected), rel=1e-6)
    assert (lattice.transition, lattice.posterior) == (None, None)
    assert lattice.text == "a tomato"
    assert set(lattice.words) == {"", "a", "tomato"}


def test_the_last_word_is_not_lost() -> None:
    lattice = read(TOMATO.replace("0 </s> 80 89 89", "0 today(2) 80 85 89"))
    assert lattice.text == "a tomato today"
    assert lattice.time[-2:].tolist() == [0.8, 0.9]


@pytest.mark.parametrize(
    ("header", "option", "factor"),
    [("", None, 1), ("# -frate 50\n", None, 2), ("", 0.02, 2), ("# -frate 50\n", 0.03, 3)],
)
def test_frames_have_a_length(header: str, option: float | None, factor: float) -> None:
    lattice = read(header + TOMATO, ReadOptions(frame_length=option))
    np.testing.assert_allclose(lattice.time, read(TOMATO).time * factor)
    assert lattice.origin.frame_length == pytest.approx(0.01 * factor)


def test_the_base_of_the_logarithms_is_in_the_header() -> None:
    plain, other = read(TOMATO), read(TOMATO.replace("1.000100e+00", "1.000300e+00"))
    assert plain.acoustic is not None
    assert other.acoustic is not None
    np.testing.assert_allclose(other.acoustic, plain.acoustic * math.log(1.0003) / LOG_BASE, rtol=1e-6)
    unsaid = read(TOMATO.replace("# -logbase 1.000100e+00\n", ""))
    assert unsaid.equals(plain)


def test_sphinx_3_writes_a_little_more_and_less() -> None:
    text = TOMATO.replace("BestSegAscr 0 (", "BestSegAscr 2 (").replace(
        "ASCORE)\n#", "ASCORE)\n0 80 -100\n1 70 -5\n#"
    )
    text = re.sub(r" ; 0\n", "\n", text).replace("Edges (", "Edges 7 (").replace("Nodes 6 (", "Nodes (")
    assert read(text).equals(read(TOMATO))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("End\n", "", "the line End is missing.*cut"),
        ("Final 0\n", "", "the line Final is missing"),
        ("Nodes 6", "Nodes 1000000000000", "1,000,000,000,000 nodes are announced, but there are 6"),
        ("Nodes 6", "Nodes x", "line 6.*'Nodes x .*a whole number was expected"),
        ("3 a 10", "4 a 10", "line 10.*this should be node 3"),
        ("3 a 10 15 19 ; 0", "3 a", "line 10.*a node has a number"),
        ("1 0 -900000", "1 0", "line 20.*an edge has two nodes"),
        ("1 0 -900000", "1 0 -9e5", "line 20.*a whole number was expected"),
        ("1 0 -900000", "1 0 -" + "9" * 30, "line 20.*too large"),
        ("1 0 -900000", "1 6 -900000", "node 6 is not among the 6 nodes"),
        ("Initial 5", "Initial -1", "node -1 is not among the 6 nodes"),
        ("Frames 90", "Banana 90", "line 4.*no section"),
        ("Frames 90", "90", "line 4.*section was expected"),
        ("1.000100e+00", "1.0", "line 2.*logbase should be between 1 and 10"),
        ("1.000100e+00", "nan", "line 2.*logbase should be between 1 and 10"),
        ("1.000100e+00", "1.2.3", "line 2.*logbase should be between 1 and 10"),
        ("Frames", "# -frate 0\nFrames", "line 4.*frate should be between 1 and 100000"),
        ("5 3 -50000", "0 5 -50000", "has a cycle"),
        ("Initial 5", "Initial 0", "no path leads from"),
        ("3 a 10", "3 a 30", "runs backwards"),
    ],
)
def test_one_clear_error(old: str, new: str, message: str) -> None:
    assert old in TOMATO
    with pytest.raises(InputError) as caught:
        read(TOMATO.replace(old, new))
    assert re.search(message, str(caught.value)), str(caught.value)
    assert str(caught.value).startswith("bad.lat, ")
    assert caught.value.utt == "bad"
    assert caught.value.remedy


def test_other_encodings_and_sizes() -> None:
    with pytest.raises(InputError, match=r"line 8.*not in UTF-8"):
        read(TOMATO.replace("tomato ", "tomaté ").encode("latin1"))
    with pytest.raises(InputError, match="arcs, more than 5"):
        read(TOMATO, ReadOptions(max_arcs=5))
    with pytest.raises(InputError, match="no edges"):
        read(re.sub(r"(?m)^[0-9] [0-9] .*\n", "", TOMATO))


def test_sniffing() -> None:
    assert sphinx.sniff(TOMATO.encode(), "any") == 1
    for sample in (SAMPLES / "htk").iterdir():
        assert sphinx.sniff(sample.read_bytes(), "any.lat") < 0.1
    assert sphinx.sniff(b"", "any.lat") == 0
    assert sphinx.sniff(b"Frames of mind\nNodes of Ranvier\n", "any.lat") == 0


def check_same(own: Path, slf: Lattice) -> None:
    """Both formats of one utterance: same graph and words, times within a frame, scores up to rounding."""
    (lattice,) = formats.read(own, format="sphinx")
    assert (lattice.utt, lattice.words) == (slf.utt, slf.words)
    np.testing.assert_array_equal(lattice.source, slf.source)
    np.testing.assert_array_equal(lattice.target, slf.target)
    np.testing.assert_allclose(lattice.time, slf.time, atol=0.01)
    assert lattice.acoustic is not None
    assert slf.acoustic is not None
    np.testing.assert_allclose(lattice.acoustic, slf.acoustic, rtol=1e-6, atol=1e-5)


def test_bundled_lattices_are_the_same_in_both_formats() -> None:
    files = sorted(BUNDLED.glob("*.lat"))
    assert len(files) == 3
    for file in files:
        check_same(file, formats.read(file.with_suffix(".slf.gz"), format="htk")[0])


@needs_shared
def test_real_lattices_are_the_same_in_both_formats() -> None:
    both = formats.read(SHARED / "formats" / "pocketsphinx.slf.tar", format="htk")
    files = sorted((SHARED / "formats" / "pocketsphinx-lat").glob("*.lat"))
    assert len(files) == 5
    for file in files:
        check_same(file, both[file.stem])

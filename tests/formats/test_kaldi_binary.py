"""Kaldi lattices in binary: made byte by byte, in both kinds and precisions, and real ones."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordtrust.formats as formats
from tests.helpers.kaldi_files import (
    EXAMPLE,
    Compact,
    archive_text,
    binary,
    compacts,
    expanded,
    header,
    options,
    read_binary,
    with_arcs,
    words_txt,
)  # fmt: skip
from tests.helpers.reading import stream_of
from tests.helpers.shared import SHARED, needs_shared
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats.kaldi import binary as kaldi_binary
from wordtrust.lattices.lattice import Lattice

REAL_WORDS = SHARED / "kaldi-small-2020" / "words.txt.gz"


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return words_txt(tmp_path_factory.mktemp("kaldi"))


def test_by_hand(words: Path) -> None:
    data = (
        b"a "
        + header("compactlattice44", 1, 3)
        + struct.pack("<ffiq", 0.0, 0.0, 0, 0)  # state 0: final, no arcs
        + struct.pack("<ffiq", np.inf, np.inf, 0, 1)  # state 1
        + struct.pack("<iiffiiii", 4, 4, 1.5, -2.0, 2, 8, 8, 2)  # "there", 2 frames, to state 2
        + struct.pack("<ffiq", np.inf, np.inf, 0, 1)
        + struct.pack("<iiffii", 0, 0, 0.25, 0.0, 0, 0)  # nothing, no frames, to state 0
    )
    (lattice,) = read_binary(data, words)
    assert lattice.utt == "a"
    assert lattice.time.tolist() == [0.0, 0.06, 0.06]
    assert lattice.surfaces == ("there", "")
    assert lattice.transition is not None
    assert lattice.transition.tolist() == [-1.5, -0.25]
    assert lattice.acoustic is not None
    assert lattice.acoustic.tolist() == [2.0, 0.0]
    assert lattice.origin.format == "kaldi-binary"
    assert lattice.facts.place.tolist() == [0]


@given(st.lists(compacts(start_anywhere=True), min_size=1, max_size=3), st.booleans(), st.integers(7, 500))
def test_compact(words: Path, made: list[Compact], double: bool, piece: int) -> None:
    made = [replace(each, utt=f"utt-{place}") for place, each in enumerate(made)]
    data = b"".join(binary(each, double=double) for each in made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kaldi_binary, "PIECE", piece)
        found = read_binary(data, words)
    assert [lattice.utt for lattice in found] == [each.utt for each in made]
    assert all(lattice.equals(each.expected()) for lattice, each in zip(found, made, strict=True))
    assert found.facts.place.tolist() == [data.index(each.utt.encode()) for each in made]


def test_without_a_name_and_with_the_mark_of_binary_objects(words: Path) -> None:
    expected = EXAMPLE.expected()
    assert read_binary(binary(EXAMPLE, key=False), words)[0].equals(replace(EXAMPLE, utt="lat").expected())
    assert read_binary(b"utt-1 \0B" + binary(EXAMPLE, key=False), words)[0].equals(expected)
    assert read_binary(binary(EXAMPLE) + b"\n", words)[0].equals(expected)


def test_states_up_to_the_end_of_the_file(words: Path) -> None:
    assert read_binary(binary(EXAMPLE, states=-1), words)[0].equals(EXAMPLE.expected())


def test_bad_utterances_are_skipped(words: Path) -> None:
    bad = {
        "empty": (Compact("bad", 0, (), (), -1), "the lattice is empty"),
        "no start": (replace(EXAMPLE, utt="bad", start=-1), "the start, or an arc, is at state"),
        "dangling": (with_arcs(EXAMPLE, (0, 9, 1, 1.0, 1.0, 1)), "the start, or an arc, is at state"),
        "negative": (with_arcs(EXAMPLE, (0, -5, 1, 1.0, 1.0, 1)), "the start, or an arc, is at state"),
        "not final": (replace(EXAMPLE, finals=()), "no state is final"),
        "word": (with_arcs(EXAMPLE, (0, 3, 77, 1.0, 1.0, 1)), "word id 77 is not in words.txt"),
        "negative word": (with_arcs(EXAMPLE, (0, 3, -7, 1.0, 1.0, 1)), "word id -7 is not in words.txt"),
        "nan": (with_arcs(EXAMPLE, (0, 3, 1, float("nan"), 1.0, 1)), "arc 0 has the transition score nan"),
    }
    good = binary(EXAMPLE)
    for made, message in bad.values():
        for lattice in (made, expanded(made)):
            problems = Problems(skip=True)
            found = read_binary(good + binary(replace(lattice, utt="bad")) + good, words, problems)
            assert found.utts == ("utt-1", "utt-1")
            (error,) = problems.errors
            assert f"byte {len(good)}, utterance bad: {message}" in str(error)


BROKEN = {
    "cut in a state": (binary(EXAMPLE)[:-3], "utterance utt-1: the file ends inside a lattice, in state 3 of 4"),
    "cut in a header": (binary(EXAMPLE)[:30], "utterance utt-1: found the end of the file inside a header"),
    "cut in a name": (b"utt-1", "the end of the file inside a header"),
    "wrong count": (binary(EXAMPLE, states=10**12), "in state 4 of 1,000,000,000,000"),
    "other arcs": (b"u " + header("standard", 0, 1), "an FST of type 'vector' with arcs of type 'standard', not a"),
    "other graph": (b"u " + header("lattice4", 0, 1, graph_type="const"), "an FST of type 'const'"),
    "symbols": (b"u " + header("lattice4", 0, 1, flags=1), "symbol tables inside"),
    "no lattice": (b"u \0BFM " + bytes(60), "found no lattice, but"),
    "long name": (b"u" * 5000, "found no name of an utterance"),
    "bad name": (b"\xff\xfe " + binary(EXAMPLE, key=False), "found no name of an utterance in UTF-8, but b"),
    "two without names": (binary(EXAMPLE, key=False) * 2, "found no name of an utterance in UTF-8, but b''"),
    "negative arcs": (b"u " + header("lattice4", 0, 1) + struct.pack("<ffq", 0, 0, -1), "make no sense"),
    "huge string": (b"u " + header("compactlattice44", 0, 1) + struct.pack("<ffiq", 0, 0, 2**31 - 1, 0), "no sense"),
    "many arcs": (b"u " + header("lattice4", 0, 1) + struct.pack("<ffq", 0, 0, 2**62), "ends inside a lattice"),
    "huge names": (binary(EXAMPLE)[:10] + b"\xff\xff\xff\x7f" + bytes(100), "an FST of type"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_followed_any_more_ends_the_file(words: Path, name: str) -> None:
    data, message = BROKEN[name]
    with pytest.raises(InputError, match=r"some/lat\.1, byte \d+") as caught:
        read_binary(binary(replace(EXAMPLE, utt="good")) + data, words)
    assert message in str(caught.value)
    assert caught.value.remedy


def test_what_came_before_the_damage_is_kept(words: Path) -> None:
    stream = stream_of(binary(EXAMPLE) + b"u garbage garbage", "some/lat.1")
    batches = kaldi_binary.read(stream, options(words), Problems())
    assert next(batches)[0].equals(EXAMPLE.expected())
    with pytest.raises(InputError, match="no lattice"):
        next(batches)


@pytest.mark.parametrize("piece", [1 << 20, 4096])
def test_too_many_arcs(words: Path, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kaldi_binary, "PIECE", piece)
    large = with_arcs(replace(EXAMPLE, utt="large"), *[(0, 3, 1, 1.0, 1.0, 2)] * 1000)
    good = binary(EXAMPLE)
    problems = Problems(skip=True)
    found = read_binary(good + binary(large) + good, words, problems, max_arcs=999)
    assert len(found) == 2
    assert f"byte {len(good)}, utterance large: the lattice has 1,000 arcs, more than 999" in str(problems.errors[0])
    assert read_binary(binary(large), words, max_arcs=1000)[0].arcs == 1000


def test_a_lattice_that_is_too_large_is_not_kept(words: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    append = kaldi_binary.Archive._append

    def watched(self: kaldi_binary.Archive, piece: bytes) -> None:
        append(self, piece)
        kept.append(self._filled)

    monkeypatch.setattr(kaldi_binary.Archive, "_append", watched)
    monkeypatch.setattr(kaldi_binary, "PIECE", 1000)
    states = b"u " + header("lattice4", 0, 10**12) + struct.pack("<ffq", 0, 0, 0) * 5000
    with pytest.raises(InputError, match="in state 5,000 of"):
        read_binary(states, words, max_arcs=500)
    assert max(kept) < 12_000


def test_recognised_by_content() -> None:
    for data in (binary(EXAMPLE), binary(EXAMPLE, key=False), binary(expanded(EXAMPLE), double=True)):
        assert kaldi_binary.sniff(data, "x") == 1.0
    assert 0 < kaldi_binary.sniff(header("standard", 0, 1), "x") < 0.5
    for other in (b"", b"u ", archive_text(EXAMPLE).encode(), b"utt \0BFM ", bytes(50)):
        assert kaldi_binary.sniff(other, "x") == 0.0


@needs_shared
def test_the_same_real_lattices_in_three_forms() -> None:
    names = ("compact.text", "compact.binary", "lattice.binary")
    text, compact, framed = (
        formats.read(SHARED / "formats" / f"kaldi.{name}.ark.gz", words=REAL_WORDS, frame_length=0.03)
        for name in names
    )
    assert len(text) == len(compact) == len(framed) == 25
    assert len(text.source) == 7226
    for one, two, three in zip(text, compact, framed, strict=True):
        assert two.equals(three)
        assert _same_graph(one, two)
        for name in ("acoustic", "transition"):
            assert np.allclose(getattr(one, name), getattr(two, name), rtol=1e-6, atol=0.5e-4)  # four decimals


def _same_graph(one: Lattice, two: Lattice) -> bool:
    return (one.utt, one.words, one.surfaces) == (two.utt, two.words, two.surfaces) and all(
        np.array_equal(getattr(one, name), getattr(two, name)) for name in ("time", "source", "target")
    )

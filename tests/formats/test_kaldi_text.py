"""Kaldi lattice text: every kind of line, against a plain reading of the same lattice."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import wordtrust.formats as formats
from tests.helpers.kaldi_files import (
    EXAMPLE,
    FRAME,
    WORDS,
    Compact,
    archive_text,
    binary,
    compacts,
    expanded,
    is_told_by_frames,
    options,
    read_binary,
    read_text,
    with_arcs,
    words_txt,
)  # fmt: skip
from tests.helpers.reading import stream_of
from tests.helpers.shared import SHARED, needs_shared
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats.kaldi import text as kaldi_text
from wordtrust.lattices.lattice import Lattices, concatenate


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return words_txt(tmp_path_factory.mktemp("kaldi"))


def test_by_hand(words: Path) -> None:
    (lattice,) = read_text(archive_text(EXAMPLE), words)
    assert lattice.utt == "utt-1"
    assert lattice.time.tolist() == [0.0, 0.09, 0.15, 0.18]
    assert lattice.source.tolist() == [0, 0, 1, 2]
    assert lattice.target.tolist() == [1, 2, 2, 3]
    assert lattice.surfaces == ("I", "I'll", "will", "")
    assert lattice.words == ("i", "i'll", "will", "")
    assert lattice.acoustic is not None
    assert lattice.acoustic.tolist() == [2.25, -8.0, 0.0, -0.5]
    assert lattice.transition is not None
    assert lattice.transition.tolist() == [-1.5, -0.25, 0.0, -4.0]
    assert lattice.posterior is None
    assert (lattice.scales.acoustic, lattice.scales.transition) == (1.0, 1.0)
    assert lattice.origin.format == "kaldi-text"
    assert lattice.origin.frame_length == FRAME
    assert lattice.facts.place.tolist() == [1]


def test_default_frame_length(words: Path) -> None:
    stream = stream_of(archive_text(EXAMPLE), "lat.ark")
    (lattice,) = concatenate(kaldi_text.read(stream, replace(options(words), frame_length=None), Problems()))
    assert lattice.time.tolist() == [0.0, 0.03, 0.05, 0.06]


@given(st.lists(compacts(start_anywhere=True), min_size=1, max_size=3), st.sampled_from("\t "), st.booleans())
def test_compact_text(words: Path, made: list[Compact], sep: str, crlf: bool) -> None:
    made = [replace(each, utt=f"utt-{place}") for place, each in enumerate(made)]
    text = "".join(archive_text(each, sep=sep, newline="\r\n" if crlf else "\n") for each in made)
    found = read_text(text, words)
    assert found.utts == tuple(each.utt for each in made)
    for lattice, each in zip(found, made, strict=True):
        assert lattice.equals(each.expected())


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(compacts(start_anywhere=True), st.booleans())
def test_frames_expanded_from_words_become_these_words_again(words: Path, made: Compact, double: bool) -> None:
    assume(is_told_by_frames(made))
    (lattice,) = read_text(archive_text(expanded(made)), words)
    assert lattice.equals(made.expected())
    (lattice,) = read_binary(binary(expanded(made), double=double), words)
    assert lattice.equals(made.expected())


@given(compacts())
def test_words_instead_of_numbers(made: Compact) -> None:
    assume(any(arc[2] for arc in made.arcs))
    (lattice,) = read_text(archive_text(made, words=WORDS), None)
    assert lattice.equals(made.expected())


def test_numbers_are_words_where_words_are(words: Path) -> None:
    text = "u\n0 1 in 1,2,3\n1 2 nineteen 1,2,3\n2 3 84 1,2,3\n3 4 yes 1,1,1\n4\n\nv\n0 1 84 1,2,3\n1\n\n"
    one, two = read_text(text, words)
    assert one.surfaces == ("in", "nineteen", "84", "yes")
    assert two.surfaces == ("84",)


def test_a_file_of_one_lattice_without_a_name(words: Path) -> None:
    for text in (archive_text(EXAMPLE), archive_text(expanded(EXAMPLE))):
        (lattice,) = read_text(text.split("\n", 1)[1].rstrip("\n"), words)
        assert lattice.equals(replace(EXAMPLE, utt="lat.1").expected())


def test_only_the_first_lattice_may_lack_a_name(words: Path) -> None:
    nameless = archive_text(EXAMPLE).split("\n", 1)[1]
    problems = Problems(skip=True)
    assert len(read_text(nameless + nameless + archive_text(EXAMPLE), words, problems)) == 2
    assert "line 7: an utterance has no name" in str(problems.errors[0])


@given(
    st.lists(compacts(), min_size=1, max_size=4),
    st.integers(20, 400),
    st.sampled_from(["\n", "\n\n", " \n", "\t \r\n"]),
)
def test_lattices_are_cut_nowhere(words: Path, made: list[Compact], piece: int, between: str) -> None:
    made = [replace(each, utt=f"utt-{place}") for place, each in enumerate(made)]
    text = between.join(archive_text(each).rstrip("\n") + "\n" for each in made)
    whole = read_text(text, words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kaldi_text, "PIECE", piece)
        patch.setattr(kaldi_text, "_LARGE", 100)
        pieces = read_text(text, words)
    assert pieces.facts.place.tolist() == whole.facts.place.tolist()
    assert [lattice.utt for lattice in pieces] == [each.utt for each in made]
    assert all(a.equals(b) for a, b in zip(pieces, whole, strict=True))


def test_odd_numbers(words: Path) -> None:
    costs = ["1e1,-2.5E-1", "+3,.5", "0.10000000149011612,1234567.8901234567", "16777217.,1e-50", "5.,-0.0"]
    lines = [f"{state} {state + 1} 1 {cost},3_4" for state, cost in enumerate(costs)]
    (lattice,) = read_text("\n".join(["u", *lines, f"{len(costs)} 7e0,0,", "", ""]), words)
    assert lattice.transition is not None
    assert lattice.transition.tolist() == [-10, -3, -np.float32(0.1), -16777216, -5, -7]
    assert lattice.acoustic is not None
    assert lattice.acoustic.tolist() == [0.25, -0.5, -np.float32(1234567.9), 0, 0, 0]


def test_infinite_costs_are_no_arcs_and_no_final_states(words: Path) -> None:
    lines = ["0 1 1 1,1,5", "0 1 2 Infinity,Infinity,5", "1 2 3 1,1,5", "1 Infinity,Infinity,", "2"]
    (lattice,) = read_text("\n".join(["u", *lines, ""]), words)
    assert lattice.surfaces == ("I", "sit")


@pytest.mark.parametrize("cost", ["Infinity,1", "1,-Infinity", "nan,0", "BadNumber,BadNumber", "1e99,0"])
def test_costs_that_are_no_numbers(words: Path, cost: str) -> None:
    with pytest.raises(InputError, match=r"line 1, utterance u: arc 0 has the \w+ score"):
        read_text(f"u\n0 1 1 {cost},5\n1\n\n", words)


def test_final_weights_are_kept(words: Path) -> None:
    lattice = Compact("u", 3, ((0, 1, 1, 1.0, 2.0, 3), (1, 2, 2, 3.0, 4.0, 5)), ((1, 0.5, 0.25, 5), (2, 7.0, 8.0, 0)))
    for text in (archive_text(lattice), archive_text(expanded(lattice))):
        (found,) = read_text(text, words)
        assert found.time.tolist() == [0.0, 0.09, 0.24, 0.24]
        assert list(zip(found.source.tolist(), found.target.tolist(), found.surfaces, strict=True)) == [
            (0, 1, "I"), (1, 2, "will"), (1, 3, ""), (2, 3, ""),
        ]  # fmt: skip
        assert found.transition is not None
        assert found.transition.tolist() == [-1.0, -3.0, -0.5, -7.0]
        assert found.acoustic is not None
        assert found.acoustic.tolist() == [-2.0, -4.0, -0.25, -8.0]


def test_frames_that_were_never_words(words: Path) -> None:
    """A decoder's own lattice: costs on every frame, words anywhere. What has one way through it is joined."""
    arcs = ["0 1 5 0 1,1", "1 2 6 1 2,3", "2 3 6 0 4,5", "3 5 0 0 6,7", "2 4 6 2 1,0", "4 5 0 0 0,1"]
    (lattice,) = read_text("\n".join(["u", *arcs, "5 0.5,0.25", ""]), words)
    # 1 stays (a word begins there), 2 stays (two arcs out), 3 and 4 go.
    assert lattice.surfaces == ("", "I", "", "will", "")
    assert lattice.time.tolist() == [0.0, 0.03, 0.06, 0.09, 0.09]
    assert lattice.transition is not None
    assert lattice.transition.tolist() == [-1.0, -2.0, -10.0, -1.0, -0.5]


BAD = {
    "no number": ("u\n0 1 1 1,2,3\nx 2 1 1,2,3\n2\n", "line 3, utterance u: a line begins with 'x'"),
    "names run together": ("u\n0 1 1 1,2,3\n1\nv\n0 1 1 1,2,3\n1\n", "line 4, .*'v' .*empty line"),
    "odd blanks": ("u\n0 1 1 1,2,3\n\x0b\x0c\n1\n", "line 3, utterance u: a line begins with '.x0b.x0c'"),
    "negative state": ("u\n0 -1 1 1,2,3\n1\n", "line 2, utterance u: cannot be read .*'0 -1 1 1,2,3'"),
    "a field too many": ("u\n0 1 2 3 1,2 9\n1\n", "line 2, utterance u: a line has 6 fields"),
    "one cost": ("u\n0 1 1 1,2,3\n1 5\n", "line 3, utterance u: cannot be read"),
    "bad cost": ("u\n0 1 1 one,2,3\n1\n", "line 2, utterance u: 'one' is no number where a cost"),
    "underscore": ("u\n0 1 1 1_0,2,3\n1\n", "line 2, utterance u: '1_0' is no number"),
    "bad final cost": ("u\n0 1 1 1,2,3\n1 1,x,\n", "line 3, utterance u: 'x' is no number"),
    "bad ids": ("u\n0 1 1 1,2,3_x\n1\n", "line 2, utterance u: cannot be read"),
    "both kinds": ("u\n0 1 1 1,2,3\n1 2 5 1 1,2\n2\n", "line 3, utterance u: cannot be read"),
    "huge state": ("u\n0 4000000000 1 1,2,3\n1\n", "line 2, utterance u: the number of a state is too large"),
    "far state": ("u\n0 999999999 1 1,2,3\n999999999\n", "line 1, utterance u: there is a state 999999999"),
    "no end": ("u\n0 1 1 1,2,3\n", "line 1, utterance u: no state is final"),
    "empty": ("u \n\n", "line 1, utterance u: the lattice is empty"),
    "a state alone": ("u\n0\n\n", "line 1, utterance u: the lattice has no arcs"),
    "cycle": ("u\n0 1 1 1,2,3\n1 0 1 1,2,3\n1\n", "line 1, utterance u: the graph has a cycle"),
    "no path": ("u\n0 1 1 1,2,3\n2 3 1 1,2,3\n3\n", "line 1, utterance u: no path leads from start"),
    "two times": (
        "u\n0 1 1 1,2,3_4\n0 2 1 1,2,3\n2 1 1 1,2,3_4\n1\n",
        "line 1, utterance u: state 1 is reached after 2 frames and after 3, along two paths. All paths",
    ),
    "two times at the end": (
        "u\n0 1 1 1,2,3\n0 0,0,1_1\n1 0,0,1_1\n",
        "line 1, utterance u: the end is reached after 2 frames and after 3",
    ),
    "unknown word": (
        "u\n0 1 1 1,2,3\n1 2 99999 1,2,3\n2\n",
        "line 1, utterance u: word id 99999 is not in words.txt",
    ),
    "a word among numbers": (
        "u\n0 1 1 1,2,3\n1 2 2 1,2,3\n2 3 x 1,2,3\n3\n",
        "line 4, utterance u: the word 'x' is not a number",
    ),
    "name not utf-8": (
        "u\udcff\n0 1 1 1,2,3\n1\n",
        "line 1, utterance u\ufffd: the name of the utterance is not UTF-8",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named_and_skipped(words: Path, name: str) -> None:
    text, message = BAD[name]
    data = text.encode(errors="surrogateescape")
    with pytest.raises(InputError, match=message):
        read_text(data, words)
    good = archive_text(EXAMPLE).encode()
    problems = Problems(skip=True)
    found = read_text(good + data.rstrip(b"\n") + b"\n\n" + good, words, problems)
    assert found.utts == ("utt-1", "utt-1")
    assert all(lattice.equals(EXAMPLE.expected()) for lattice in found)
    (error,) = problems.errors
    assert error.file == "some/lat.1.ark"
    assert error.remedy
    moved = re.sub(r"line (\d+)", lambda line: f"line {int(line[1]) + 7}", message)
    assert re.search(moved, str(error))


def test_a_word_that_is_not_utf_8() -> None:
    text = b"u\n0 1 a 1,2,3\n1 2 \xff 1,2,3\n2\n\n"
    with pytest.raises(InputError, match="line 3, utterance u: a word is not UTF-8"):
        read_text(text, None)


def test_numbers_need_a_symbol_table() -> None:
    with pytest.raises(InputError, match=r"no symbol table.*--words words.txt"):
        read_text(archive_text(EXAMPLE), None)
    silent = with_arcs(EXAMPLE, (0, 3, 0, 1.0, 1.0, 2))
    assert read_text(archive_text(silent), None)[0].surfaces == ("",)


@pytest.mark.parametrize("piece", [1 << 22, 3000])
def test_too_many_arcs(words: Path, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kaldi_text, "PIECE", piece)
    monkeypatch.setattr(kaldi_text, "_LARGE", 5000)
    large = "large\n" + "0\t1\t1\t1,2,3_4\n" * 1000 + "1\n\n"
    good = archive_text(EXAMPLE)
    problems = Problems(skip=True)
    found = read_text(good + large + good, words, problems, max_arcs=999)
    assert found.facts.place.tolist() == [1, 8 + 1003]
    (error,) = problems.errors
    assert "line 8, utterance large: the lattice has 1,000 arcs, more than 999" in str(error)
    assert len(read_text(large, words, max_arcs=1000)[0].source) == 1000


def test_text_that_never_ends(words: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kaldi_text, "PIECE", 100)
    monkeypatch.setattr(kaldi_text, "_LARGE", 100)
    monkeypatch.setattr(kaldi_text, "MAX_DOCUMENT", 1000)
    with pytest.raises(InputError, match=r"line 1: a lattice has [\d,]+ bytes and does not end"):
        read_text("x" * 5000, words)


def test_recognised_by_content() -> None:
    text = archive_text(EXAMPLE).encode()
    assert kaldi_text.sniff(text, "x") == 1.0
    assert kaldi_text.sniff(text.split(b"\n", 1)[1], "x") == 1.0
    assert kaldi_text.sniff(archive_text(expanded(EXAMPLE)).encode(), "x") == 1.0
    assert kaldi_text.sniff(b"utt\n0 1 5\n1\n\n", "x") == 0.6
    assert kaldi_text.sniff(b"0 1 5 5 0.25\n1\n", "x") < 0.5  # OpenFst
    for other in (
        b"",
        b"\n",
        b"hello\nworld\n",
        b"utt A 0.1 0.2 word\n",
        b"VERSION=1.0\nN=3 L=2\n",
        b"{}",
        bytes(100),
    ):
        assert kaldi_text.sniff(other, "x.ark") == 0.0


def test_in_a_folder_with_its_table(tmp_path: Path) -> None:
    words_txt(tmp_path)
    (tmp_path / "recognizer.json").write_text('{"format": "kaldi", "words": "words.txt", "frame_length": 0.03}')
    with gzip.open(tmp_path / "lat.1.gz", "wt") as file:
        file.write(archive_text(EXAMPLE))
    assert formats.read(tmp_path)[0].equals(EXAMPLE.expected())


@pytest.mark.slow
@needs_shared
def test_real_lattices() -> None:
    """Counts that a line-by-line count of the file gives, and the times of a whole utterance."""
    found = formats.read(SHARED / "kaldi-small-2020" / "dev.ark.gz")
    assert isinstance(found, Lattices)
    with gzip.open(SHARED / "kaldi-small-2020" / "dev.ark.gz", "rt") as file:
        lines = [line.split() for line in file]
    assert len(found) == sum(len(line) == 1 for line in lines) == 930
    assert len(found.source) == sum(len(line) == 4 for line in lines)
    assert found.facts.trimmed_arcs.sum() == 0
    lattice = found["common_voice_en_36317169"]
    assert lattice.text == "she came surrounded by night and gales into the lands of middle earth"
    assert lattice.duration == pytest.approx(6.15)

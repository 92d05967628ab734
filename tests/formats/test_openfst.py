"""OpenFst and k2 text."""

from __future__ import annotations

import pickle
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from tests.helpers.reading import read_bytes
from tests.helpers.shared import SAMPLES
from tests.helpers.strategies import all_paths, lattices
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats import read
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.openfst import FORMAT, sniff
from wordtrust.lattices.lattice import Lattice, Lattices

SAMPLE = SAMPLES / "openfst"
WORDS = ReadOptions(words=SAMPLE / "words.txt")
Arcs = list[tuple[str, float, float, float]]


def read_text(text: str | bytes, options: ReadOptions = WORDS, problems: Problems | None = None) -> Lattices:
    return read_bytes(FORMAT, text, name="folder/utt7.fst.txt", options=options, problems=problems)


def arcs(lattice: Lattice) -> Arcs:
    """Word, start, end and score of every arc, in order."""
    assert lattice.acoustic is not None
    assert lattice.transition is None
    assert lattice.posterior is None
    start, end = lattice.time[lattice.source].round(6).tolist(), lattice.time[lattice.target].round(6).tolist()
    return list(zip(lattice.words, start, end, lattice.acoustic.tolist(), strict=True))


def test_fstprint_with_numbers() -> None:
    [lattice] = read(SAMPLE / "kettle.fst.txt")
    assert lattice.utt == "kettle"
    assert arcs(lattice) == [
        ("the", 0, 0.02, -0.5),
        ("kettle", 0.02, 0.04, -1.25),
        ("cattle", 0.02, 0.04, -2.75),
        ("is", 0.04, 0.04, 0),  # an arc without input takes no frame
        ("on", 0.04, 0.06, -1.5),
        ("gone", 0.04, 0.06, -2.5),
        ("", 0.06, 0.06, -0.25),  # the weight of the final state
    ]


def test_k2_scores_are_no_costs() -> None:
    [lattice] = read(SAMPLE / "kettle.k2.txt")
    assert arcs(lattice) == [
        ("the", 0, 0.02, -0.625),  # a frame of the word, a frame of blank
        ("kettle", 0.02, 0.04, -1.3125),
        ("cattle", 0.02, 0.04, -2.75),
        ("is", 0.04, 0.05, -0.75),  # with the arc into the final state
    ]


def test_an_archive_of_acceptors_with_symbols() -> None:
    found = read(SAMPLE / "two.txt")
    assert found.utts == ("morning", "evening")
    assert found.facts.place.tolist() == [1, 8]
    assert arcs(found[0]) == [
        ("the", 0, 0.01, 0),
        ("kettle", 0.01, 0.02, -0.5),
        ("cattle", 0.01, 0.02, -1.5),
        ("is", 0.02, 0.03, -0.125),
    ]
    assert arcs(found[1]) == [("on", 0, 0.01, -0.25), ("gone", 0, 0.01, -0.75)]


def test_frame_length() -> None:
    [lattice] = read(SAMPLE / "kettle.fst.txt", frame_length=0.03)
    assert lattice.time.round(6).tolist() == [0, 0.06, 0.12, 0.12, 0.18, 0.18]
    assert lattice.origin.frame_length == 0.03
    assert lattice.origin.times == "given"


def test_a_word_lattice_without_times_gets_made_up_ones() -> None:
    text = "0 1 1 1\n0 2 2 2\n1 2 3 3\n2 3 4 4\n3\n"
    [lattice] = read_text(text)
    assert lattice.origin.times == "aligned"
    assert [arc[:3] for arc in arcs(lattice)] == [
        ("the", 0, 1), ("kettle", 0, 2), ("cattle", 1, 2), ("is", 2, 3),
    ]  # fmt: skip
    [lattice] = read_text(text, ReadOptions(words=WORDS.words, frame_length=0.5))
    assert lattice.time.tolist() == [0, 0.5, 1, 1.5]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("0 1 5 5\n1\n", [("on", 0, 0.01, 0)], id="transducer without weights"),
        pytest.param("0 1 5 0.5\n1\n", [("on", 0, 0.01, -0.5)], id="acceptor with weights"),
        pytest.param("0 1 on 3\n1\n", [("on", 0, 0.01, -3)], id="acceptor with symbols and whole weights"),
        pytest.param("0 1 5 3\n1 2 4 6 0.5\n2\n", [("cattle", 0, 0.01, 0), ("gone", 0.01, 0.02, -0.5)], id="4 or 5"),
        pytest.param("0 1 5 3\n1 2 4\n2\n", [("on", 0, 0.01, -3), ("is", 0.01, 0.02, 0)], id="3 or 4"),
        pytest.param("0 1 7 On! 1e-1\n1\n", [("on", 0, 0.01, np.float32(-0.1))], id="numbers and symbols"),
        pytest.param("0 1 <eps> on\n1\n", [("on", 0, 0, 0)], id="epsilon by name"),
        pytest.param("0 1 9 <eps> 2\n1\n", [("", 0, 0.01, -2)], id="silence"),
        pytest.param("0 1 5 5\n0 1 6 6 Infinity\n1\n", [("on", 0, 0.01, 0)], id="an arc of infinite cost is none"),
        pytest.param("0 1 5 5\n0 Infinity\n1\n", [("on", 0, 0.01, 0)], id="a final state of infinite cost is none"),
        pytest.param("3 90 5 5\n90 7 4 4\n7\n", [("on", 0, 0.01, 0), ("is", 0.01, 0.02, 0)], id="any state numbers"),
        pytest.param("0 1 5 5 -1.5\n1 -1\n", [("on", 0, 0.01, 2.5)], id="negative costs"),
        pytest.param("0 1 5 -1.5\n1 2 -1 0.5\n2\n", [("on", 0, 0.01, -1.0)], id="k2 acceptor"),
        pytest.param("0 1 5 -1.5\n1 2 -1 0.5\n", [("on", 0, 0.01, -1.0)], id="k2 without its last line"),
        pytest.param("0 1 0 5 1\n1 2 -1 -1 2\n2\n", [("on", 0, 0.01, 3)], id="k2 blank is a frame"),
    ],
)
def test_small_automata(text: str, expected: Arcs) -> None:
    [lattice] = read_text(text)
    assert lattice.utt == "utt7"
    assert arcs(lattice) == expected
    assert lattice.facts.trimmed_nodes.tolist() == [0]


def test_every_final_state_keeps_its_weight() -> None:
    [lattice] = read_text("0 1 5 5 1\n1 2 6 6 1\n1 0.5\n2 0.25\n")
    found = Counter((tuple(lattice.words[arc] for arc in path), _total(lattice, path)) for path in all_paths(lattice))
    assert found == Counter({(("on", ""), -1.5): 1, (("on", "gone"), -2.25): 1})


def _total(lattice: Lattice, path: tuple[int, ...]) -> float:
    assert lattice.acoustic is not None
    return float(lattice.acoustic[list(path)].astype(np.float64).sum())


def _spoken(lattice: Lattice) -> Counter[tuple[tuple[tuple[str, int], ...], int]]:
    """Every path: its words with the frames they begin at, and its score; the same however arcs are cut."""
    return Counter(
        (
            tuple(
                (lattice.words[arc], round(lattice.time[lattice.source[arc]] * 100))
                for arc in path
                if lattice.words[arc]
            ),
            round(_total(lattice, path)),
        )
        for path in all_paths(lattice)
    )


def _frames(lattice: Lattice, *, k2: bool) -> str:
    """The lattice with one arc a frame: the word and its score on the first of them."""
    assert lattice.acoustic is not None
    sign, eps, states = (1, -1, lattice.nodes) if k2 else (-1, 0, lattice.nodes)
    lines = []
    for arc in range(lattice.arcs):
        source, target = int(lattice.source[arc]), int(lattice.target[arc])
        word = lattice.words[arc] or "<eps>"
        score = sign * float(lattice.acoustic[arc])
        frames = round((lattice.time[target] - lattice.time[source]) * 100)
        for frame in range(max(1, frames)):
            following = target if frame >= frames - 1 else states
            states += following == states
            lines.append(f"{source} {following} {7 if frames else eps} {word} {score}")
            source, word, score = following, "<eps>", 0.0
    lines += [f"{lattice.nodes - 1} {states} -1 <eps> 0", f"{states}"] if k2 else [f"{lattice.nodes - 1}"]
    return "\n".join(lines)


@pytest.mark.parametrize("k2", [False, True])
@settings(max_examples=60)
@given(lattice=lattices(words=("a", "b", "c", ""), score_sets=(("acoustic",),), max_nodes=5, max_arcs=8))
def test_frames_become_words_again(k2: bool, lattice: Lattice) -> None:
    assert lattice.acoustic is not None
    lattice = replace(lattice, acoustic=np.round(lattice.acoustic))  # so that sums are exact in any order
    [again] = read_text(_frames(lattice, k2=k2))
    assert _spoken(again) == _spoken(lattice)
    assert again.duration == pytest.approx(lattice.duration)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1 5 5\n", "there is no final state"),
        ("0\n", "there are no arcs"),
        ("u1\n0 1.5\n", "there are no arcs"),
        ("0 1 5 5\nx 2 5 5\n1\n", "line 2, utterance utt7: the state is 'x', not a number"),
        ("0 -1 5 5\n1\n", "the state is '-1', not a number"),
        ("0 1 5 5\n1 2 3 4 5 6\n", "line 2, utterance utt7: 6 columns, 5 at most"),
        ("0 1 5\n1 2 5 5 1\n2\n", "some arcs have 3 columns and others 5"),
        ("0 1 5 5 1\n1 2 -1 0\n2\n", "arcs of k2 have a score each and the same number of columns"),
        ("0 1 5 5 abc\n1\n", "the weight is 'abc', not a number"),
        ("0 1 5 5 1_0\n1\n", "the weight is '1_0', not a number"),
        ("0 1 5 5 NaN\n1\n", "the weight is 'NaN', not a number"),
        ("0 1 5 5 1e39\n1\n", "the weight is '1e39', not a number"),
        ("0 1 5 5 1,2\n1\n", r"the weight is '1,2', not a number. .* use --format kaldi"),
        ("0 1 5 5 -Infinity\n1\n", "has the acoustic score inf"),
        ("0 1 5 77\n1\n", "label 77 is not in the symbol table"),
        ("0 1 5 9999999999\n1\n", "label 9999999999 is not in the symbol table"),
        ("0 1 5 5\n1 0 5 5\n1\n", "the graph has a cycle"),
        ("0 1 5 5\n2\n", "no path leads from start"),
        (b"0 1 5 \xff\n1\n", "not UTF-8"),
    ],
)
def test_bad_automata(text: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_text(text)
    assert caught.value.file == "folder/utt7.fst.txt"
    assert caught.value.place.startswith("line ")


def test_a_bad_automaton_does_not_lose_the_others() -> None:
    problems = Problems(skip=True)
    text = "u1\n0 1 5\n1\n\nu2\n0 1 5\n7 x 7\n1\n\nu3\n0 1 6\n1\n"
    assert read_text(text, problems=problems).utts == ("u1", "u3")
    assert [error.utt for error in problems.errors] == ["u2"]


def test_numbers_need_a_symbol_table() -> None:
    with pytest.raises(InputError, match=r"no symbol table .* --words words.txt"):
        read_text("0 1 5 5\n1\n", ReadOptions())
    [lattice] = read_text("0 1 5 0 1.5\n1\n", ReadOptions())  # nothing but silence
    assert lattice.words == ("",)


def test_too_many_arcs() -> None:
    with pytest.raises(InputError, match="the lattice has 3 arcs, more than 2"):
        read_text("0 1 5\n" * 50 + "1\n", ReadOptions(max_arcs=2))


def test_large_state_numbers_cost_no_memory() -> None:
    [lattice] = read_text("0 999999999999999999 5\n999999999999999999\n")
    assert lattice.nodes == 2


class Trap:
    """Would tell if it were ever unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return (pytest.fail, ("unpickled",))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_are_never_read(protocol: int, tmp_path: Path) -> None:
    data = pickle.dumps({"fsa": Trap()}, protocol)
    assert sniff(data, "lattice.pt") == 1.0
    (tmp_path / "lattice.pt").write_bytes(data)
    with pytest.raises(InputError, match=r"unpickling can run any code. .*k2\.to_str"):
        read(tmp_path / "lattice.pt")
    with zipfile.ZipFile(tmp_path / "new.pt", "w") as archive:  # what torch.save makes nowadays
        archive.writestr("archive/data.pkl", data)
    with pytest.raises(InputError, match=r"unpickling can run any code. .*k2\.to_str"):
        read(tmp_path / "new.pt")


def test_recognised_by_content() -> None:
    for name in ("kettle.fst.txt", "kettle.k2.txt", "two.txt"):
        assert sniff((SAMPLE / name).read_bytes(), "x") >= 0.8
    assert sniff(b"0 1 the infinity 0.5\n1\n", "x") >= 0.5
    kaldi = b"utt1 \n0 1 5 1.5,2.5,3_4_5\n1 0,0,\n\n"
    assert 0 < sniff(kaldi, "x.txt") < 0.5
    for other in (b"", b"the 1\nkettle 2\n", b"12 1 0.50 0.30 seven\n", b"12 1 0.50 0.30 7\n", b"\x00\x01", b"{}"):
        assert sniff(other, "x.fst.txt") == 0


def test_reading_an_automaton_of_many_frames_is_quick() -> None:
    frames = 20_000
    words = ["on" if frame % 20 == 0 else "<eps>" for frame in range(frames)]
    lines = [f"{frame} {frame + 1} 7 {word} 0.5\n" for frame, word in enumerate(words)]
    [lattice] = read_text(f"{''.join(lines)}{frames}\n")
    assert lattice.arcs == frames // 20
    assert lattice.acoustic is not None
    assert set(lattice.acoustic.tolist()) == {-10.0}

"""Plain N-best lists: both layouts, names, aligned times, bad lines, and what is not one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.reading import path_scores, read_bytes
from tests.helpers.shared import SAMPLES
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.nbest.plain import FORMAT, sniff
from wordtrust.lattices.lattice import Lattices
from wordtrust.lattices.text import DEFAULT


def read(
    data: bytes | str,
    *,
    name: str = "lists/tide.nbest",
    problems: Problems | None = None,
    options: ReadOptions = ReadOptions(),
) -> Lattices:
    return read_bytes(FORMAT, data, name=name, problems=problems, options=options)


def test_blank_lines_between_utterances() -> None:
    lattices = read((SAMPLES / "nbest-plain" / "tide.nbest").read_bytes())
    assert lattices.utts == ("tide-1", "tide-2")
    assert lattices.facts.place.tolist() == [1, 5]
    assert path_scores(lattices[0]) == pytest.approx(
        {"the tide is low": -1.89, "the tide is slow": -2.66, "the tide was low now": -4.1}
    )
    assert path_scores(lattices[1]) == pytest.approx({"hoist the sail": -0.41, "": -3.5})
    assert [lattice.text for lattice in lattices] == ["The tide is low", "Hoist the sail"]
    assert lattices.origin.times == "aligned"
    assert lattices.origin.format == "nbest-plain"
    assert set(lattices.extra) == {"rank", "share"}


def test_times_are_those_of_the_best_hypothesis() -> None:
    lattice = read((SAMPLES / "nbest-plain" / "tide.nbest").read_bytes())[0]
    times = {(lattice.words[arc], *lattice.time[[lattice.source[arc], lattice.target[arc]]].round(2).tolist())
             for arc in range(lattice.arcs)}  # fmt: skip
    # `now` comes after the last word of the best hypothesis: no time of its own, so 10 ms of its neighbour's.
    assert times == {
        ("the", 0, 1), ("tide", 1, 2), ("is", 2, 3), ("was", 2, 3), ("low", 3, 4), ("slow", 3, 4), ("low", 3, 3.99),
        ("now", 3.99, 4),
    }  # fmt: skip


def test_names_in_front() -> None:
    lattices = read((SAMPLES / "nbest-plain" / "named.tsv").read_bytes())
    assert lattices.utts == ("u1", "u2")
    merged = math.log(math.exp(-1.89) + math.exp(-2.66))
    assert path_scores(lattices["u1"]) == pytest.approx({"the tide is low": merged})
    assert path_scores(lattices["u2"]) == pytest.approx({"hoist the sail": -0.41, "hoist a sail": -0.93})


@pytest.mark.parametrize(
    ("data", "utts"),
    [
        ("-1.5\ta", ("tide",)),  # the only one has the file's name
        ("\n\n-1.5\ta\n\n\n-2.5\tb\n\n", ("tide-1", "tide-2")),
        ("\ufeff-1.5\ta\r\n\r\n-2.5\tb\r\n", ("tide-1", "tide-2")),
        ("7\t-1.5\ta\n7\t-2.5\tb\n8\t-1.5\tc\n", ("7", "8")),  # numbers as names
        ("u\t-1.5\ta\n\nu\t-2.5\tb\n", ("u",)),  # with names, blank lines mean nothing
        ("u\t-1.5\nv\t-1.5\ta", ("u", "v")),  # no text: the empty hypothesis
        ("-1.5\n-2.5\t42\n", ("tide",)),
    ],
)
def test_layouts(data: str, utts: tuple[str, ...]) -> None:
    assert read(data).utts == utts
    assert sniff(data.encode(), "") == 0.7


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"-1.5\ta\n-2.5\t\xe9\n", "line 2, utterance tide: not UTF-8: byte 5 of the line is 0xe9"),
        (b"u\t-1.5\ta\n\xe9\t-2.5\tb\n", "line 2, utterance \ufffd: not UTF-8"),
        ("-1.5\ta\nx\tb\n-3.5\tc", 'line 2, utterance tide: the score is "x", not a finite number'),
        ("-1.5\ta\nnan\tb\n-3.5\tc", 'line 2, utterance tide: the score is "nan"'),
        ("-1.5\ta\n-1e40\tb", "the score is -1e+40, too large for a log-probability"),
        ("u\t-1.5\ta\nu\nu\t-2.5\tc", 'line 2, utterance u: the score is "", not a finite number'),
        ("u\t-1.5\ta\nv\t-1.5\ta\nu\t-2.5\tb", "line 3, utterance u: its lines do not stand together. Sort"),
        ("12.5\ta\n13.5\tb", "the scores look like costs, the least first: 12.5, 13.5. Give log-probabilities"),
        ("0.5\ta\n0.25\tb", "the scores look like probabilities: 0.5, 0.25. Give their natural logarithms"),
    ],
)
def test_bad_lines(data: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(data)
    assert message in str(error.value)
    assert error.value.file == "lists/tide.nbest"


def test_scores_above_zero_that_fall_are_taken_as_they_are() -> None:
    assert path_scores(read("13.5\ta\n12.5\tb")[0]) == pytest.approx({"a": 13.5, "b": 12.5})


def test_a_bad_utterance_does_not_lose_the_others() -> None:
    problems = Problems(skip=True)
    lattices = read("-1\ta\n\nx\tb\n-2\tc\n\n-1.5\td\n", problems=problems)
    assert lattices.utts == ("tide-1", "tide-3")
    assert [error.utt for error in problems.errors] == ["tide-2"]


def test_limits() -> None:
    with pytest.raises(InputError, match="line 2, utterance tide: the lattice has 6 arcs, more than 5"):
        read("-1.5\ta b\n-2.5\tc d\n", options=ReadOptions(max_arcs=5))
    with pytest.raises(InputError, match=r"no scores per token\. Use --pick total"):
        read("-1.5\ta", options=ReadOptions(pick="average"))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"hello world\n",
        b"hello\t1\nworld\t2\n",  # a symbol table
        b"0\t1\thello\n1\t2\tworld\n2\n",  # an acceptor without weights
        b"0\t1\t5\t5\t0.5\n1\t0.3\n",  # a transducer
        b"utt\tsplit\ttext\nu1\tdev\thello\n",  # references
        b"call 1 0.5 0.3 hello 0.9\n",  # CTM
        b"\x00\x01\x02\t-1.5\ta",
        b'{"nbest": [{"score": -1.5,\t"text": "a"}]}',
    ],
)
def test_other_files_are_not_claimed(data: bytes) -> None:
    assert sniff(data, "x.tsv") < 0.5


def test_the_last_line_of_the_head_may_be_cut() -> None:
    assert sniff((b"-1.5\t" + b"a" * 60 + b"\n") * 2000, "") == 0.7
    whole = (b"u\t-1.5\t" + b"a" * 60 + b"\n") * 2000
    assert sniff(whole[: 1 << 16], "") == 0.7


TEXTS = st.lists(st.sampled_from(["I", "will", "Will,", "sit-in", "sit", "in", "[noise]"]), max_size=5).map(" ".join)
UTTERANCE = st.lists(st.tuples(st.floats(-90, -0.001), TEXTS), min_size=1, max_size=4)


@settings(max_examples=80, deadline=None)
@given(utterances=st.lists(UTTERANCE, min_size=1, max_size=3), named=st.booleans())
def test_scores_and_texts_come_through(utterances: list[list[tuple[float, str]]], named: bool) -> None:
    if named:
        rows = [f"u{n}\t{score!r}\t{text}\n" for n, lines in enumerate(utterances) for score, text in lines]
    else:
        rows = [f"{score!r}\t{text}\n" for lines in utterances for score, text in [*lines, (0.0, "#")]]
        rows = ["\n" if row == "0.0\t#\n" else row for row in rows]
    lattices = read("".join(rows))
    assert len(lattices) == len(utterances)
    for lattice, lines in zip(lattices, utterances, strict=True):
        expected = {
            text: math.log(math.fsum(math.exp(score) for score, other in lines if DEFAULT(other) == text))
            for text in {DEFAULT(text) for _, text in lines}
        }
        assert path_scores(lattice) == pytest.approx(expected, rel=1e-5, abs=1e-5)
        assert np.all(lattice.time[lattice.target] - lattice.time[lattice.source] >= 0)

"""Lattices as JSON lines."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.reading import read_bytes
from tests.helpers.shared import SAMPLES
from tests.helpers.strategies import assembled, lattices
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats import read, stream, write
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.jsonl import FORMAT, sniff
from wordtrust.lattices.lattice import Lattice, Origin
from wordtrust.lattices.weights import Scales

GOOD: dict[str, Any] = {
    "utt": "u1",
    "time": [0.0, 0.5, 1.0],
    "source": [0, 1, 0],
    "target": [1, 2, 2],
    "word": ["a", "b", ""],
    "acoustic": [-1.5, -2, 0],
}


def read_record(record: Any, **options: Any) -> Lattice:
    return read_bytes(FORMAT, record, name="lines.jsonl", **options)[0]


def round_trip(*found: Lattice, suffix: str = ".jsonl") -> list[Lattice]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{suffix}"
        write((each.batch() for each in found), path)
        return [lattice for batch in stream(path) for lattice in batch]


@settings(max_examples=60)
@given(st.lists(lattices(), min_size=1, max_size=4))
def test_what_is_written_comes_back(found: list[Lattice]) -> None:
    again = round_trip(*found)
    assert len(again) == len(found)
    for before, after in zip(found, again, strict=True):
        assert after.equals(before)
        assert after.origin == before.origin


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_every_number_comes_back_exactly(values: list[float]) -> None:
    arcs = len(values)
    time = np.cumsum(np.abs(np.array(values)) % 1e5 / 3)
    ends = [(0, 1)] * arcs
    made = assembled("u", time=[time[0], time[-1]], ends=ends, tokens=["a"] * arcs, acoustic=values, other=values)
    [again] = round_trip(made)
    assert made.acoustic is not None
    assert again.acoustic is not None
    assert again.acoustic.tobytes() == made.acoustic.tobytes()
    assert again.extra["other"].tobytes() == made.extra["other"].tobytes()
    assert again.time.tobytes() == made.time.tobytes()


def test_all_that_a_lattice_has_is_kept() -> None:
    made = assembled(
        'the "first"\n',
        time=[0, 1, 2],
        ends=[(0, 1), (1, 2), (0, 2)],
        tokens=["Naïve", "日本", "<sil>"],
        posterior=[0.75, 0.75, 0.25],
        picked=[True, True, False],
        rank=[1, 1, 2],
    )
    made = replace(made, scales=Scales(0.1, 0.9, -0.5), origin=Origin("a.json", "whisper", "aligned", 0.02))
    [again] = round_trip(made, suffix=".jsonl.gz")
    assert again.equals(made)
    assert again.origin == made.origin
    assert again.picked is not None
    assert again.picked.tolist() == made.picked.tolist()  # type: ignore[union-attr]
    assert again.acoustic is None
    assert again.transition is None


def test_the_layout_is_what_the_documentation_says(tmp_path: Path) -> None:
    made = assembled("u1", time=[0, 0.3, 0.7], ends=[(0, 1), (1, 2)], tokens=["I", "will"], acoustic=[-3.1, 1e-20])
    write(made.batch(), tmp_path / "x.jsonl")
    line = (tmp_path / "x.jsonl").read_text()
    assert line.startswith('{"wordtrust": 1, "utt": "u1", "time": [0.0, 0.3, 0.7], ')
    assert '"acoustic": [-3.1, 1e-20]' in line
    assert json.loads(line) == {
        "wordtrust": 1, "utt": "u1", "time": [0.0, 0.3, 0.7], "source": [0, 1], "target": [1, 2],
        "word": ["i", "will"], "surface": ["I", "will"], "acoustic": [-3.1, 1e-20],
        "origin": {"file": "test", "format": "test", "times": "given"},
    }  # fmt: skip


def test_half_characters_do_not_stop_the_writer() -> None:
    [again] = round_trip(assembled("u\ud800", time=[0, 1], ends=[(0, 1)], tokens=["x\udfff"], acoustic=[0]))
    assert (again.utt, again.surfaces) == ("u?", ("x?",))


def test_a_handmade_line() -> None:
    found = read_record(GOOD)
    assert (found.utt, found.words, found.surfaces) == ("u1", ("a", "", "b"), ("a", "", "b"))
    assert found.acoustic is not None
    assert found.acoustic.tolist() == [-1.5, 0, -2]
    assert found.origin == Origin("lines.jsonl", "jsonl")
    assert found.facts.place.tolist() == [1]


def test_words_stay_as_they_are() -> None:
    found = read_record({**GOOD, "word": ["Middle-earth.", "B!", "<sil>"]})
    assert found.words == ("Middle-earth.", "<sil>", "B!")


def test_nodes_in_any_order_are_put_in_order_and_trimmed() -> None:
    found = read_record({
        **GOOD, "time": [0, 0.9, 0.5, 0.7, 1], "source": [2, 0, 1, 3], "target": [1, 2, 4, 4],
        "word": ["b", "a", "c", "dead"], "acoustic": [1, 2, 3, 4],
    })  # fmt: skip
    assert found.words == ("a", "b", "c")
    assert found.time.tolist() == [0, 0.5, 0.9, 1]
    assert (found.facts.trimmed_nodes.tolist(), found.facts.trimmed_arcs.tolist()) == ([1], [1])


def test_lines_without_a_name_get_that_of_the_file() -> None:
    line = json.dumps({name: value for name, value in GOOD.items() if name != "utt"})
    assert read_bytes(FORMAT, f"{line}\n\n{line}", name="lines.jsonl.gz").utts == ("lines-1", "lines-3")


BAD: list[tuple[dict[str, Any], str]] = [
    ({"time": None}, "time is null, not a list"),
    ({"time": [0, True, 1]}, r"time\[1\] is a truth value, not a number"),
    ({"time": [0, 0.5, "1"]}, r"time\[2\] is a string, not a number"),
    ({"time": [0, 2, 1]}, "runs backwards in time"),
    ({"time": [0, 0.5, 1e300]}, "node 2 has the time 1e"),
    ({"time": [0, 0.5, 10**400]}, "time has a number that is too large"),
    ({"source": [0, 1.0, 0]}, r"source\[1\] is another number, not a node number"),
    ({"source": [0, -1, 0]}, r"source\[1\] is no node number"),
    ({"target": [1, 2, 2**40]}, r"target\[2\] is no node number"),
    ({"target": [1, 2, 3]}, "but there are 3 nodes"),
    ({"target": [1, 0, 2]}, "cycle"),
    ({"source": [0, 1]}, "source has 2 entries and word has 3"),
    ({"word": ["a", 5, "c"]}, r"word\[1\] is another number, not a string"),
    ({"word": [], "source": [], "target": [], "acoustic": []}, "the lattice has no arcs"),
    ({"surface": ["a"]}, "surface has 1 entries and word has 3"),
    ({"acoustic": [0, 1e39, 0]}, "arc 1 has the acoustic score inf"),
    ({"acoustic": {}}, "acoustic is an object, not a list"),
    ({"posterior": [1]}, "posterior has 1 entries and word has 3"),
    ({"picked": [1, 0, 0]}, r"picked\[0\] is another number, not true or false"),
    ({"extra": {"source": [1, 2, 3]}}, "evidence cannot be named 'source'"),
    ({"extra": {"rank": [1, 2, [3]]}}, r"rank\[2\] is a list, not a number"),
    ({"extra": []}, "extra is a list, not an object"),
    ({"scales": {"acoustic": "1"}}, "scales.acoustic is a string"),
    ({"scales": {"word_penalty": 1e7}}, "a scale is larger than"),
    ({"origin": {"frame_length": 0}}, "origin.frame_length is 0"),
    ({"utt": 5}, "utt is the number 5, not a string"),
    ({"wordtrust": 2}, "the line has version 2, this wordtrust reads version 1"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_lines_are_reported_and_the_others_read(change: dict[str, Any], message: str) -> None:
    problems = Problems(skip=True)
    text = "\n".join(json.dumps(record) for record in (GOOD, {**GOOD, **change}, {**GOOD, "utt": "u3"}))
    assert read_bytes(FORMAT, text, name="lines.jsonl", problems=problems).utts == ("u1", "u3")
    [error] = problems.errors
    with pytest.raises(InputError, match=message):
        raise error
    assert (error.file, error.place) == ("lines.jsonl", "line 2")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"utt": "u1", "time": [0, NaN]}', "NaN is no number"),
        (b'{"utt": "u1"', "not JSON"),
        (b'{"utt": "\xff"}', "not UTF-8"),
        (b"[" * 100_000, "JSON nested too deeply"),
        (b'["utt"]', "the record is a list, not an object"),
        (b'{"word": ["a"], "source": [0], "target": [1]}', "time is missing"),
    ],
)
def test_lines_that_are_no_records(line: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_bytes(FORMAT, line, name="lines.jsonl")
    assert caught.value.place == "line 1"


def test_too_many_arcs() -> None:
    with pytest.raises(InputError, match=r"lines.jsonl, line 1, utterance u1: the lattice has 3 arcs, more than 2"):
        read_record(GOOD, options=ReadOptions(max_arcs=2))


def test_recognised_by_content() -> None:
    line = json.dumps(GOOD).encode()
    assert sniff(b'{"wordtrust": 1, "utt": "u", "time": [' + b"0.1, " * 20_000, "x") == 1.0
    assert sniff(line, "x") >= 0.5
    assert sniff(b"\xef\xbb\xbf" + line, "x") >= 0.5
    assert 0 < sniff(line.replace(b"word", b"token"), "x") < 0.5
    assert sniff(b'{"utt": "u", "nbest": [{"score": -1, "text": "a"}]}', "x.jsonl") == 0
    assert sniff(b"", "x.jsonl") == 0
    assert sniff(b"\x00\xff" * 50, "x.jsonl") == 0


def test_samples() -> None:
    harbour = read(SAMPLES / "jsonl" / "harbour.jsonl")
    assert harbour.utts == ("harbour-1", "harbour-2")
    assert [lattice.text for lattice in harbour] == ["Quietly", "boats"]
    assert harbour.scales == Scales(acoustic=0.5)
    tide = read(SAMPLES / "jsonl" / "tide.jsonl")
    assert tide.origin == Origin("tide.json", "whisper", "aligned")
    assert tide[0].extra["rank"].tolist() == [0, 1, 0, 1]

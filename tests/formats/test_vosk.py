"""Vosk: results, partial ones among them, and alternatives piece by piece."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from tests.helpers.reading import path_scores, read_bytes
from tests.helpers.shared import SAMPLES
from wordtrust.base.errors import InputError
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.onebest.vosk import FORMAT
from wordtrust.lattices.lattice import Lattice, Lattices


def read(data: Any, **given: Any) -> Lattices:
    return read_bytes(FORMAT, data, **given)


def sample(name: str) -> Lattice:
    (lattice,) = read((SAMPLES / "vosk" / name).read_bytes(), name=name)
    return lattice


def alternative(score: float, *words: tuple[str, float, float], text: str | None = None) -> dict[str, Any]:
    result = {"result": [{"word": word, "start": start, "end": end} for word, start, end in words]} if words else {}
    return {"confidence": score, "text": " ".join(word for word, _, _ in words) if text is None else text, **result}


def test_a_list_of_results_and_a_result_a_line_are_the_same() -> None:
    results = [
        {"result": [{"conf": 0.5, "start": n, "end": n + 1, "word": f"w{n}"}], "text": f"w{n}"} for n in (0, 1)
    ]
    (one,) = read(results)
    (other,) = read("\n".join(map(json.dumps, results)))
    assert one.equals(other)
    assert one.text == "w0 w1"


def test_without_word_times_each_word_gets_a_second() -> None:
    (lattice,) = read('{"text": "one two"}\n{"text": ""}\n{"text": "three"}')
    assert (lattice.origin.times, lattice.time.tolist(), lattice.posterior) == ("aligned", [0, 1, 2, 3], None)


def test_nothing_said() -> None:
    assert read('{"partial": ""} {"text": ""}')[0].words == ("",)
    assert read('{"alternatives": [{"confidence": 1.0, "text": ""}]}')[0].words == ("",)


def test_alternatives_are_chains_piece_by_piece() -> None:
    lattice = sample("alternatives.json")
    assert path_scores(lattice) == {
        "sail home now": 302.5, "salome now": 300.25, "sail home": 301.0, "salome": 298.75,
    }  # fmt: skip
    assert lattice.text == "sail home now"
    assert lattice.time.round(3).tolist() == [0.0, 0.2, 0.5, 1.1, 2.0, 2.6]
    assert (lattice.posterior, lattice.transition) == (None, None)


def test_the_first_alternative_is_picked_even_if_another_scores_higher() -> None:
    (lattice,) = read({"alternatives": [alternative(1, ("a", 0, 1)), alternative(5, ("b", 0, 1))]})
    assert lattice.text == "a"


def test_equal_alternatives_add_up() -> None:
    alternatives = [alternative(3, ("It's", 0, 1)), alternative(2, ("its", 0, 1)), alternative(2.5, ("it’s", 0.1, 1))]
    (lattice,) = read({"alternatives": alternatives})
    assert path_scores(lattice) == {
        "it's": pytest.approx(math.log(math.exp(3) + math.exp(2.5))), "its": pytest.approx(2.0),
    }  # fmt: skip
    assert lattice.text == "It's"


def test_pieces_that_overlap_are_cut() -> None:
    lines = [
        {"alternatives": [alternative(1, ("a", 0, 1.3)), alternative(0, ("b", 0, 1.0))]},
        {"alternatives": [alternative(1, ("c", 1.1, 2)), alternative(0, ("d", 1.2, 2.2))]},
    ]
    (lattice,) = read("\n".join(map(json.dumps, lines)))
    assert path_scores(lattice) == {"a c": 2, "a d": 1, "b c": 1, "b d": 0}
    assert np.all(lattice.time[lattice.target] - lattice.time[lattice.source] > 0.05)
    assert 1.1 in lattice.time.round(3)


def test_arcs_know_the_rank_of_their_alternative_and_how_many_are_one_with_it() -> None:
    first = [alternative(9, ("a", 0, 1)), alternative(8, ("b", 0, 1)), alternative(7, ("A", 0, 1)),
             alternative(6, ("c", 0, 1))]  # fmt: skip
    second = [alternative(5, ("d", 2, 3)), alternative(4, ("e", 2, 3))]
    lattice = read(json.dumps([{"alternatives": segment} for segment in (first, second)]).encode())[0]
    evidence = {
        word: (float(lattice.extra["rank"][arc]), float(lattice.extra["share"][arc]))
        for arc, word in enumerate(lattice.words)
    }
    assert evidence == {"a": (0, 0.5), "b": (1, 0.25), "c": (2, 0.25), "d": (0, 0.5), "e": (1, 0.5), "": (0, 1)}


def test_alternatives_without_times_are_aligned() -> None:
    lines = [
        {"alternatives": [alternative(2, text="we set sail"), alternative(1, text="we sail")]},
        {"alternatives": [alternative(4, text="at dawn"), alternative(3, text="at don")]},
    ]
    (lattice,) = read("\n".join(map(json.dumps, lines)))
    assert lattice.origin.times == "aligned"
    assert path_scores(lattice) == {
        "we set sail at dawn": 6, "we set sail at don": 5, "we sail at dawn": 5, "we sail at don": 4,
    }  # fmt: skip
    times = {
        word: (lattice.time[lattice.source[arc]], lattice.time[lattice.target[arc]])
        for arc, word in enumerate(lattice.words)
    }
    assert (times["set"], times["sail"], times["don"]) == ((1, 2), (2, 3), (4, 5))


def test_a_plain_result_among_alternatives() -> None:
    lines = [
        {"alternatives": [alternative(2, ("a", 0, 1))]},
        {"result": [{"word": "b", "start": 1, "end": 2, "conf": 1}]},
    ]
    (lattice,) = read("\n".join(map(json.dumps, lines)))
    assert path_scores(lattice) == {"a b": 2}


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (
            {"result": [{"word": "a", "start": 0, "end": 1, "conf": 2}]},
            r"result 1\.result\[0\]\.conf is 2, not between",
        ),
        ({"result": [{"word": "a", "start": "0", "end": 1}]}, r"result 1\.result\[0\]\.start is a string"),
        ({"result": [{"word": "a", "end": 1}]}, r"result 1\.result\[0\]\.start is missing"),
        ({"result": "a"}, r"result 1\.result is a string"),
        ({"foo": 1}, r"result 1\.text is missing"),
        ({"monologues": [{"terms": 5}]}, r"monologues\[0\]\.terms is the number 5"),
        ({"alternatives": [{"text": "a"}]}, r"result 1\.alternatives\[0\]\.confidence is missing"),
        ({"alternatives": [alternative(1e300, ("a", 0, 1))]}, r"alternatives\[0\]\.confidence is 1e\+300"),
        ({"alternatives": [alternative(1, ("a", 1, 2), ("b", 0, 1))]}, r"word 2 starts at 0\.000 s,"),
        ([3], "the result is the number 3, not an object"),
    ],
)
def test_what_is_wrong_is_named(results: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(json.dumps(results))


def test_too_many_arcs() -> None:
    many = {"alternatives": [alternative(1, ("a", 0, 1), ("b", 1, 2)), alternative(0, ("c", 0, 2))]}
    with pytest.raises(InputError, match="utterance call: the lattice has 3 arcs, more than 2"):
        read(many, options=ReadOptions(max_arcs=2))


@pytest.mark.parametrize(
    ("text", "surely"),
    [
        ('{"text" : "the"}', 0.4),
        ('{"partial" : ""}', 1.0),
        ('{"alternatives": [{"confidence": 3.0, "text": "a"}]}', 0.9),
        ('{"alternatives": [{"confidence": 0.3, "transcript": "a"}]}', 0.0),
        ('{"text": "a", "score": -3.5}', 0.0),
        ('{"result": {"language": "en"}}', 0.0),
        ("{}", 0.0),
    ],
)
def test_sniff(text: str, surely: float) -> None:
    assert FORMAT.sniff(text.encode(), "x") == surely

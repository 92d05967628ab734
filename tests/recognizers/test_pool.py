"""A pool of recognizers: results in order, from a thread or processes; they become lattices; errors are values."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.plugin_recognizer import install
from wordtrust.base.errors import InputError
from wordtrust.lattices.lattice import Lattice
from wordtrust.recognizers import NOTHING, ForcedScores, NBestRecord, RecognizerIdentity
from wordtrust.recognizers.pool import RecognitionRequest, RecognizerPool, ScoringRequest
from wordtrust.recognizers.serialization import line_to_scores, scores_to_line, to_lattice, to_lattices, to_line

pytestmark = pytest.mark.slow

IDENTITY = RecognizerIdentity("ears", "1.0")


@pytest.fixture(autouse=True)
def ears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", monkeypatch)


def request_of(seconds: float) -> RecognitionRequest:
    return RecognitionRequest(np.zeros(int(seconds * 16000), np.float32))


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order(jobs: int) -> None:
    with RecognizerPool("ears", jobs=jobs) as pool:
        assert pool.identity == RecognizerIdentity("ears", "1.0", {"model": None})
        results = list(pool.map([3, 1, 0, 2, 5, 4], request_of))
    lattices = [to_lattice(result.line, "u", pool.identity) for _, result in results]
    assert [item for item, _ in results] == [3, 1, 0, 2, 5, 4]
    assert [one[0].text for one in lattices] == [
        "one two three", "one", "", "one two", "one two three four five", "one two three four",
    ]  # fmt: skip


def test_texts_are_scored_after_the_recognition() -> None:
    texts = [["one", "to", "three"], ["four"], []]
    with RecognizerPool("ears=critic") as pool:
        [(_, heard)] = pool.map([1], request_of)
        results = list(pool.score([7, 8], lambda item: ScoringRequest(request_of(item).samples, texts, heard.line)))
    assert [(item, result.line, result.error) for item, result in results] == [(7, "", None), (8, "", None)]
    scores = line_to_scores(results[1][1].scores)
    assert [one.logprob.tolist() for one in scores] == [[-3.0, -2.0, -5.0], [-4.0], []]
    assert [one.tokens.tolist() for one in scores] == [[1, 1, 1], [1], []]  # as it writes: in capitals
    assert [one.end for one in scores] == [-3.0, -1.0, 0.0]


@pytest.mark.parametrize(("jobs", "encodings", "expected"), [(1, 1, 8), (1, 4, 4), (2, 4, 4)])
def test_texts_are_scored_where_their_segments_were_encoded(jobs: int, encodings: int, expected: int) -> None:
    with RecognizerPool("ears=encoder", jobs=jobs, encodings=encodings) as pool:
        heard = {item: result.line for item, result in pool.map([1, 2, 3, 4], request_of)}
        asked = [
            pool.submit(ScoringRequest(request_of(item).samples, [["one"]], heard[item])) for item in (1, 2, 3, 4)
        ]
        scores = [line_to_scores(pool.result(one).scores)[0] for one in asked]
    encoded = {process: -one.end for one in scores for process in one.logprob.tolist()}  # by now, the last counts
    assert sum(encoded.values()) == expected


def test_recognizers_that_score_no_texts_do_not() -> None:
    with RecognizerPool("ears") as pool:
        [(_, heard)] = pool.map([2], request_of)
        [(_, later)] = pool.score([2], lambda item: ScoringRequest(request_of(item).samples, [["one"]], heard.line))
    assert (later.scores, later.error) == ("", None)


def test_an_engine_that_fails_in_scoring_is_an_error() -> None:
    request = ScoringRequest(request_of(1).samples, [["much", "deaf", "much"]], '{"nbest": [{"words": []}]}')
    with RecognizerPool("ears=critic") as pool:
        [(_, result)] = pool.score([1], lambda _: request)
    assert "the recognizer ears=critic failed: RuntimeError: no ears" in str(result.error)


def test_scores_travel_as_lines() -> None:
    scores = ForcedScores(
        np.array([-1.5, np.nan]), np.array([-1.0, np.nan]), np.array([2, 0]), np.array([-0.12346, np.nan]), np.nan
    )
    (again,) = line_to_scores(scores_to_line([scores]))
    for one, other in zip(again, scores, strict=True):
        assert one == pytest.approx(other, abs=6e-5, nan_ok=True)
    for damaged in ("", "{}", "[]", '{"texts": [{}]}', scores_to_line([scores]).replace("[2, 0]", "[2]"), "3"):
        with pytest.raises(InputError, match="not the scores of texts"):
            line_to_scores(damaged)


def test_the_filter_gets_the_seconds_and_the_speech_probability() -> None:
    def keep(_: NBestRecord | Lattice, seconds: float, speech: float) -> tuple[NBestRecord | Lattice, str | None]:
        return NOTHING, f"{seconds:g} s, {speech:g}"

    with RecognizerPool("ears", keep=keep) as pool:
        [(_, result)] = pool.map([2], lambda seconds: replace(request_of(seconds), speech=0.25))
    assert (result.dropped, result.line) == ("2 s, 0.25", '{"nbest": [{"score": 0.0, "words": []}]}')


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("ears=deaf", "the recognizer ears=deaf failed: RuntimeError: no ears"),
        ("ears=leaving", "the recognizer ears=leaving failed: SystemExit: 3"),
        ("ears=wrong", "it gave list, not an N-best record or a Lattice"),
        ("ears=mad", "its record cannot be written as JSON: Out of range float values"),
    ],
)
def test_errors_of_an_engine_are_results(spec: str, message: str) -> None:
    with RecognizerPool(spec) as pool:
        [(_, result)] = pool.map([2], request_of)
    assert message in str(result.error)


def test_a_model_that_cannot_be_loaded_is_an_error() -> None:
    with RecognizerPool("ears=absent") as pool, pytest.raises(InputError, match="absent: there is no such model"):
        _ = pool.identity


def test_a_killed_process_is_an_error() -> None:
    message = "a process with the recognizer ears=killed was killed"
    with RecognizerPool("ears=killed", jobs=2) as pool, pytest.raises(InputError, match=message):
        list(pool.map([1, 2, 3], request_of))


def test_bad_records_are_refused_by_the_reader() -> None:
    with pytest.raises(InputError, match="ears gave what cannot be used: ") as error:
        to_lattice('{"nbest": [{"score": "high", "words": []}]}', "u7", IDENTITY, "talk.wav")
    assert (error.value.file, error.value.utt) == ("talk.wav", "u7")


def test_lattices_and_records_become_lattices_in_order() -> None:
    record = '{"nbest": [{"score": -1.0, "words": [{"word": "Hi.", "start": 0.0, "end": 0.5}]}]}'
    line = to_line(to_lattice(record, "a", IDENTITY)[0])
    batches = to_lattices([record, line, line, record], ["a", "b", "c", "d"], IDENTITY)
    lattices = [lattice for batch in batches for lattice in batch]
    assert [lattice.utt for lattice in lattices] == ["a", "b", "c", "d"]
    assert {lattice.text for lattice in lattices} == {"Hi."}
    assert {lattice.origin.recognizer for lattice in lattices} == {"ears"}
    assert replace(lattices[1], utt="a").equals(lattices[0])


def test_errors_travel_between_processes() -> None:
    error = InputError("odd", file="f", utt="u", place="line 3", remedy="Mend it")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (InputError, str(error))

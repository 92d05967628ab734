"""Bad N-best records: each gives one clear error and costs no other record."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.nbest_records import Record, as_lines, hypothesis, read
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats.format import ReadOptions


def bad(**changes: Any) -> Record:
    """A good hypothesis with something wrong in its only word."""
    word = {"word": "a", "start": 0.0, "end": 1.0, "logprob": -0.1, "tokens": 1} | changes
    return {"utt": "u", "nbest": [{"score": -1, "words": [{key: v for key, v in word.items() if v != "absent"}]}]}


BAD: list[tuple[Record | bytes, str]] = [
    (b"{", "not JSON"),
    (b'{"utt": "\xe9", "nbest": []}', "not UTF-8"),
    (b'{"nbest": [{"score": NaN, "text": ""}]}', "NaN is no number in JSON"),
    (b"[" * 99_999, "nested too deeply"),
    (b"[3]", "record 1, utterance lists: the record is the number 3, not an object"),
    ({"utt": "u"}, "nbest is missing"),
    ({"utt": ["u"], "nbest": []}, "utt is a list, not a string"),
    ({"utt": "u", "nbest": []}, "utterance u: nbest is empty. An utterance needs a hypothesis"),
    ({"utt": "u", "nbest": {}}, "nbest is an object, not a list"),
    ({"utt": "u", "nbest": ["a"]}, "nbest[0] is a string"),
    ({"nbest": [{"text": "a"}]}, "nbest[0].score is missing"),
    ({"nbest": [{"score": -1}]}, "nbest[0].text is missing"),
    ({"nbest": [{"score": -1, "text": 5}]}, "nbest[0].text is the number 5, not a string"),
    ({"nbest": [{"score": True, "text": "a"}]}, "nbest[0].score is a truth value true, not a number"),
    ({"nbest": [{"score": "-1", "text": "a"}]}, 'nbest[0].score is a string "-1", not a number'),
    ({"nbest": [{"score": -(10**400), "text": "a"}]}, "nbest[0].score is too large for a number"),
    (b'{"nbest": [{"score": -1e400, "text": "a"}]}', "nbest[0].score is too large for a number"),
    ({"nbest": [{"score": -1e35, "text": "a"}]}, "nbest[0].score is -1e+35, too large for a log-probability"),
    ({"nbest": [{"score": -1, "words": "a"}]}, "nbest[0].words is a string"),
    ({"nbest": [{"score": -1, "words": ["a"]}]}, "nbest[0].words[0] is a string"),
    ({"nbest": [{"score": -1, "text": "a", "eot_logprob": "x"}]}, "nbest[0].eot_logprob is a string"),
    ({"empty_logprob": [], "nbest": [{"score": -1, "text": "a"}]}, "empty_logprob is a list"),
    ({"duration": "3", "nbest": [{"score": -1, "text": "a"}]}, "duration is a string"),
    (bad(word=3), "nbest[0].words[0].word is the number 3, not a string"),
    (bad(word="absent"), "nbest[0].words[0].word is missing"),
    (bad(start=None), "nbest[0].words[0].start is null, not a number"),
    (bad(end=False), "nbest[0].words[0].end is a truth value false"),
    (bad(end="absent"), "words have only one of start and end"),
    (bad(logprob=[]), "nbest[0].words[0].logprob is a list"),
    (bad(tokens={}), "nbest[0].words[0].tokens is an object"),
    (bad(start=2.0), "the word 'a' ends at 1.000 s, before its start at 2.000 s"),
    (bad(end=1e12), "the word 'a' lasts from 0 to 1e+12 s"),
    (bad(end=10**20), "the word 'a' lasts from 0 to 1e+20 s"),
    ({"duration": 10**20, **bad()}, "has the time 1e+20"),
    ({"nbest": [{"score": 0.7, "text": "a"}, {"score": 0.2, "text": "b"}]}, "look like probabilities: 0.7, 0.2"),
    (
        {"nbest": [{"score": 12.5, "text": "a"}, {"score": 14, "text": "b"}]},
        "look like costs, the least first: 12.5, 14",
    ),
]


@pytest.mark.parametrize(("record", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_records(record: Record | bytes, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(record)
    assert message in str(error.value)
    assert error.value.file == "lists.jsonl"
    assert error.value.place in ("line 1", "record 1") or "nested" in message


def test_a_bad_record_does_not_lose_the_others() -> None:
    good = {"utt": "good", "nbest": [hypothesis(-1, ("a", 0, 1, -1))]}
    # Each kind of place where a record can fail: its text, its fields, its times.
    rows = [good, bad(start=None), good, bad(start=2.0), good]
    data = as_lines(rows[:2]) + b'{"utt": "cut off", "nb\n' + as_lines(rows[2:])
    problems = Problems(skip=True)
    assert read(data, problems=problems).facts.place.tolist() == [1, 4, 6]
    assert sorted(error.place for error in problems.errors) == ["line 2", "line 3", "line 5"]
    assert {error.utt for error in problems.errors} == {"u", "lists-3"}
    assert read(as_lines(bad(start=2.0)), problems=Problems(skip=True)).utts == ()


def test_a_cut_first_line_does_not_lose_the_others() -> None:
    problems = Problems(skip=True)
    good = {"utt": "good", "nbest": [hypothesis(-1, ("a", 0, 1, -1))]}
    assert read(as_lines(good)[:40] + b"\n" + as_lines(good), problems=problems).utts == ("good",)


def test_too_many_arcs() -> None:
    record = {"utt": "u", "nbest": [{"score": -1, "text": "a " * 50}, {"score": -2, "text": "b"}]}
    with pytest.raises(InputError, match="line 1, utterance u: the lattice has 53 arcs, more than 52"):
        read(record, options=ReadOptions(max_arcs=52))


def test_texts_too_long_to_align() -> None:
    long = {"utt": "u", "nbest": [{"score": -1, "text": "a " * 70_000}, {"score": -2, "text": "b " * 70_000}]}
    problems = Problems(skip=True)
    assert read([long, {"utt": "v", "nbest": [{"score": -1, "text": "a"}]}], problems=problems).utts == ("v",)
    assert "line 1, utterance u: 70,000 words are too many to align" in str(problems.errors[0])

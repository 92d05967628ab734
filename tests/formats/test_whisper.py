"""Whisper's family: every layout, words without times or scores, tokens, and damaged files."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.reading import posteriors, read_bytes, timed_words
from tests.helpers.shared import SAMPLES
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.onebest.whisper import FORMAT
from wordtrust.lattices.lattice import Lattices


def read(data: Any, **given: Any) -> Lattices:
    return read_bytes(FORMAT, data, **given)


def segment(text: str, start: float | None, end: float | None, **fields: Any) -> dict[str, Any]:
    return {"text": text, "start": start, "end": end, **fields}


def word(text: str, *times: Any, **fields: Any) -> dict[str, Any]:
    return {"word": text, **dict(zip(("start", "end"), times, strict=False)), **fields}


LAYOUTS: dict[str, tuple[Any, list[tuple[str, float, float]], list[float] | None]] = {
    # a document, its words with their times, their posteriors
    "segments, one a line": (
        "\n".join(json.dumps(segment(text, k, k + 1, avg_logprob=-1)) for k, text in enumerate((" a", " b"))),
        [("a", 0, 1), ("b", 1, 2)], [0.3679, 0.3679],
    ),
    "a bare list of words": (
        [word("so", 0, 0.5, probability=0.5), word("what?", 0.5, 1, probability=0.25)],
        [("so", 0, 0.5), ("what?", 0.5, 1)], [0.5, 0.25],
    ),
    "words without times share by letters": (
        [word("one", 0, 1, score=0.5), word("22"), word("4444"), word("end", 4, 5, score=0.5)],
        [("one", 0, 1), ("22", 1, 2), ("4444", 2, 4), ("end", 4, 5)], [0.5] * 4,
    ),
    "word_segments stand in for segments without words": (
        {"segments": [segment(" a b", 0, 9)],
         "word_segments": [word("a", 1, 2, score=0.5), word("b", 2, 3, score=1.0)]},
        [("a", 1, 2), ("b", 2, 3)], [0.5, 1.0],
    ),
    "whisper-timestamped": (
        {"text": " Ahoy!", "segments": [segment(" Ahoy!", 0, 1, confidence=0.9, words=[
            {"text": "Ahoy!", "start": 0.1, "end": 0.5, "confidence": 0.4}])]},
        [("Ahoy!", 0, 0.5)], [0.4],
    ),
    "text alone gets one second a word": ({"text": " How far?"}, [("How", 0, 1), ("far?", 1, 2)], None),
    "nothing said": ({"text": "", "segments": [], "language": "en", "duration": 4.5}, [], []),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str) -> None:
    document, words, expected = LAYOUTS[layout]
    (lattice,) = read(document)
    assert (lattice.utt, timed_words(lattice)) == ("call", words)
    assert expected == (None if lattice.posterior is None else posteriors(lattice))
    assert lattice.origin.times == ("aligned" if "second a word" in layout else "given")
    assert lattice.duration == (4.5 if layout == "nothing said" else words[-1][2])


def cpp(*texts: bytes) -> bytes:
    tokens = b", ".join(
        b'{"text": "%s", "offsets": {"from": %d, "to": %d}, "p": 0.5}' % (text, 100 * n, 100 * n + 100)
        for n, text in enumerate(texts)
    )
    return b'{"transcription": [{"offsets": {"from": 0, "to": 1000}, "text": "", "tokens": [%s]}]}' % tokens


def test_whisper_cpp_scripts_without_spaces() -> None:
    assert read(cpp("你".encode(), "好".encode(), "。".encode(), b" ok"))[0].surfaces == ("你", "好。", "ok")


def test_whisper_cpp_letters_cut_into_bytes() -> None:
    one, two = "é".encode(), "好".encode()
    (lattice,) = read(cpp(b" caf", one[:1], one[1:], b" ", b"!", two[:2], two[2:]))
    assert [surface for surface in lattice.surfaces if surface.strip()] == ["café", "!", "好"]
    (lattice,) = read(cpp(b" caf", b"\xc3"))
    assert lattice.surfaces == ("caf\ufffd",)
    assert read(cpp(rb" a\ud83d"))[0].surfaces == ("a?",)  # half a character


def test_several_documents_are_several_utterances() -> None:
    data = (SAMPLES / "whisper" / "lines.jsonl").read_bytes()
    lattices = read(data, name="lines.jsonl")
    assert [(lattice.utt, lattice.text) for lattice in lattices] == [
        ("lines-1", "Cast off."),
        ("lines-2", "Hold fast."),
    ]


def test_a_bad_document_among_several_is_skipped() -> None:
    good = json.dumps({"segments": [segment(" a", 0, 1)]})
    problems = Problems(skip=True)
    lattices = read("\n".join([good, '{"segments": 3}', good, '{"segm']), problems=problems)
    assert lattices.utts == ("call-1", "call-3")
    assert [str(error).partition(": ")[2][:30] for error in problems.errors] == [
        "segments is the number 3, not ", "not JSON: Unterminated string ",
    ]  # fmt: skip


def test_a_start_that_steps_back_a_little_moves_up() -> None:
    words = [word(" a", 1.0, 2.0), word(" b", 0.5, 2.5), word(" c", 2.5, 3.0)]
    (lattice,) = read({"segments": [segment("", 0, 3, words=words)]})
    assert [text for text, _, _ in timed_words(lattice)] == ["a", "b", "c"]
    assert timed_words(lattice)[1][1:] == (1.5, 2.5)  # 1.0 to 2.5 meets 1.0 to 2.0 in the middle


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"segments": [segment("", 0, 9, words=[word("a", 5, 6), word("b", 2, 3)])]}, r"word 2 starts at 2\.000 s,"),
        ({"segments": [segment("", 0, 9, words=[word("a", 5, 3)])]}, r"word 1 ends at 3\.000 s, before its start"),
        ({"segments": [segment("a", -5, 9)]}, r"word 1 starts at -5\.000 s,"),
        ({"segments": [segment("a", 0, 1e12)]}, r"word 1 \('a'\) lasts from 0 to 1e\+12 s"),
        ({"segments": [segment("", 0, 1, words=[word("a", 0, 1, probability=1.5)])]},
         r"segments\[0\]\.words\[0\]\.probability is 1\.5, not between 0 and 1"),
        ({"segments": [segment("", 0, 1, words=[word("a", 0, "1")])]}, r"segments\[0\]\.words\[0\]\.end is a string"),
        ({"segments": [segment("", 0, 1, words=[{"start": 0}])]}, r"segments\[0\]\.words\[0\]\.word is missing"),
        ({"segments": [segment("", True, 1)]}, r"segments\[0\]\.start is a truth value"),
        ({"segments": [3]}, r"segments\[0\] is the number 3, not an object"),
        ({"transcription": [{"text": 3}]}, r"transcription\[0\]\.text is the number 3, not a string"),
        ({"language": "en"}, "text is missing"),
        ([3], "the record is the number 3, not an object"),
        (3, "the document is the number 3, not an object"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(document: Any, message: str) -> None:
    with pytest.raises(InputError, match=rf"^some/folder/call\.json, utterance call: {message}"):
        read(json.dumps(document))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"segments": [', "not JSON: Expecting value: line 1 column 15"),
        (b"   ", "there is no JSON in the file"),
        (b'{"text": "caf\xe9"}', r"line 1: not UTF-8: byte 13 is b'\\xe9'"),
        (b"[" * 100_000, "JSON nested too deeply"),
        (b'{"segments": [], "duration": 1%s}' % (b"0" * 5000), "not JSON: Exceeds the limit"),
    ],
)
def test_files_that_cannot_be_understood(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(data)


def test_too_many_arcs() -> None:
    with pytest.raises(InputError, match="the lattice has 3 arcs, more than 2"):
        read({"text": "a b c"}, options=ReadOptions(max_arcs=2))


def test_half_characters_and_odd_spaces_do_no_harm() -> None:
    (lattice,) = read('{"text": "a\\ud83d b\\u0000c\\u2028d"}')
    assert len(timed_words(lattice)) >= 2


@pytest.mark.parametrize(
    ("text", "surely"),
    [
        ('{"text": " a", "segments": [{"id": 0, "avg_logprob": -0.1', 1.0),
        ('{"segments": [{"start": 0, "end": 1, "text": "a"}]}', 0.6),
        ('{"segments": [1, 2]}', 0.0),
        ('[{"start": 0, "end": 1, "text": "a"}]', 0.5),
        ('{"text": "%s' % ("long " * 14_000), 0.6),
        ('{"language": "en", "text": "' + r"\"quoted\" { " * 8_000, 0.6),
        ('{"title": "%s' % ("long " * 14_000), 0.0),
        ('{"text": "short"}', 0.0),
        ('{"utt": "u", "segments": [{"avg_logprob": -0.1}]}', 0.0),
        ('{"nbest": [{"text": "a", "segments": [], "avg_logprob": -1}]}', 0.0),
        ('{"text": "the key \\"segments\\": [ is not one, nor is \\"avg_logprob\\":", "id": 3}', 0.0),
        ("segments", 0.0),
    ],
)
def test_sniff(text: str, surely: float) -> None:
    assert FORMAT.sniff(text.encode()[: 1 << 16], "x") == surely


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 100), st.booleans(), st.booleans()), max_size=30))
@settings(max_examples=60, deadline=None)
def test_every_word_survives_with_a_time(rows: list[tuple[int, int, bool, bool]]) -> None:
    """Whatever times and scores are missing, all words come out, in order, at least 10 ms long."""
    now, words = 0, []
    for number, (pause, length, has_times, has_score) in enumerate(rows):
        now += pause
        times = (now / 100, (now + length) / 100) if has_times else ()
        words.append(word(f"w{number}", *times, **({"score": 0.5} if has_score else {})))
        now += length
    (lattice,) = read({"segments": [segment("", 0, now / 100 + 1, words=words)]})
    assert [text for text, _, _ in timed_words(lattice)] == [f"w{number}" for number in range(len(rows))]
    assert all(end - start >= 0.0099 for _, start, end in timed_words(lattice))
    assert (lattice.posterior is None) == (len(rows) > 0 and not any(has_score for *_, has_score in rows))

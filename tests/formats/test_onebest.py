"""1-best formats: samples of all, the JSON of cloud services, and who recognises whose files."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.reading import posteriors, read_bytes, stream_of, timed_words
from tests.helpers.shared import SAMPLES
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats import formats_by_name
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.onebest.json_documents import iterate_documents
from wordtrust.lattices.lattice import Lattice, Lattices

NAMES = ("amazon", "assemblyai", "azure", "ctm", "deepgram", "google", "nemo", "sherpa", "vosk", "whisper")
OURS = {name: formats_by_name()[name] for name in NAMES}


def samples(*names: str) -> list[Path]:
    return [path for name in names for path in sorted((SAMPLES / name).iterdir())]


def read(format_: str, data: Any, **given: Any) -> Lattices:
    return read_bytes(OURS[format_], data, **given)


def sample(name: str, file: str) -> Lattices:
    return read(name, (SAMPLES / name / file).read_bytes(), name=file)


def only(lattices: Lattices) -> Lattice:
    (lattice,) = lattices
    return lattice


Said = list[tuple[str, float, float, float | None]]  # word, start, end, posterior
EXPECTED: dict[str, tuple[float, Said]] = {  # of each sample: duration and words
    # The first alternative of every result counts.
    "google/v1.json": (3.3, [("the", 0, 0.4, 0.95), ("market", 0.4, 1.1, 0.9), ("opens", 1.1, 1.7, 0.85),
                             ("at", 2.5, 2.7, 0.7), ("seven", 2.7, 3.3, 0.99)]),
    # v2 leaves out a zero, and word confidences.
    "google/v2.json": (1.2, [("Fresh", 0, 0.6, 0.81), ("herring!", 0.6, 1.2, 0.81)]),
    # No word times: 11 letters in the first 2 s, then one word up to 3.5 s.
    "google/operation.json": (3.5, [("no", 0, 0.364, 0.6), ("fish", 0.364, 1.091, 0.6), ("today", 1.091, 2, 0.6),
                                    ("sorry", 2, 3.5, 0.9)]),
    # Punctuation joins the word before it.
    "amazon/job.json": (2.1, [("Well,", 0.24, 0.61, 0.914), ("the", 0.9, 1.02, 1), ("crane", 1.02, 1.5, 0.652),
                              ("stopped.", 1.5, 2.1, 0.99)]),
    "amazon/alternatives.json": (1.6, [("The", 0.24, 0.5, 0.99), ("winch", 0.5, 1, 0.6), ("jammed.", 1, 1.6, 0.9)]),
    "amazon/call-analytics.json": (4.7, [("Harbour", 0.44, 1, 0.98), ("office.", 1, 1.5, 0.7), ("An", 4, 4.2, 0.9),
                                         ("hour.", 4.2, 4.7, 0.5)]),
    # What came before it was final does not count; 100 ms of silence are no pause.
    "amazon/stream.jsonl": (2.6, [("Gales", 0, 0.6, 0.9), ("tonight", 0.6, 1.2, 0.8), ("Stay", 2, 2.4, 1),
                                  ("in", 2.4, 2.6, 0.95)]),
    "azure/detailed.json": (1.53, [("the", 0.18, 0.38, 0.9), ("buoy", 0.38, 0.78, 0.75),
                                   ("drifted", 0.78, 1.53, 0.96)]),
    "azure/batch.json": (4, [("rain", 0.5, 1.1, 0.7), ("ahead", 1.1, 1.7, 0.9)]),
    "azure/fast.json": (5, [("Slow", 0.4, 0.8, 0.93), ("ahead.", 0.8, 1.3, 0.93), ("Stop.", 3, 3.5, 0.71)]),
    "deepgram/stereo.json": (3.5, [("Ahoy,", 0.16, 0.56, 0.97), ("captain.", 0.56, 1.06, 0.99)]),
    "deepgram/stream.jsonl": (4, [("Drop", 0.2, 0.6, 0.98), ("anchor.", 0.6, 1.2, 0.9), ("Now!", 3, 3.5, 0.7)]),
    # `Smoke` and `over` are 80 ms apart and meet in the middle.
    "assemblyai/transcript.json": (3, [("Smoke", 0.25, 0.69, 0.9747), ("over", 0.69, 1.022, 0.99),
                                       ("the", 1.022, 1.15, 0.8), ("bay.", 1.15, 1.6, 0.55)]),
    # The mean of exp(-0.5) and exp(-0.2); the last word lasts 0.2 s.
    "sherpa/offline.json": (1.4, [("THE", 0.2, 0.44, 0.9048), ("SHOALS", 0.44, 1.2, 0.7126),
                                  ("SHIFT", 1.2, 1.4, 0.3679)]),
    "nemo/manifest.json": (2.4, [("the", 0.16, 0.32, 0.9), ("pilot", 0.32, 0.8, 0.8), ("is", 0.96, 1.12, 0.95),
                                 ("a", 1.12, 1.2, 0.4), ("board", 1.2, 2, 0.6)]),
    "vosk/results.json": (2.4, [("the", 0.15, 0.48, 0.9152), ("nets", 0.48, 1.02, 1), ("dry", 1.9, 2.4, 0.402)]),
    "vosk/transcriber.json": (1.2, [("rough", 0.3, 0.7, 0.8), ("sea", 0.7, 1.2, 0.6)]),
    # "50" and "%" are one word, with the mean of 0.6 and 0.8.
    "whisper/openai.json": (4.4, [("The", 0, 0.32, 0.91), ("harbour", 0.32, 0.9, 0.72), ("bell", 0.9, 1.3, 0.88),
                                  ("rang.", 1.5, 2.1, 0.97), ("Tickets", 2.6, 3, 0.8), ("cost", 3, 3.3, 0.9),
                                  ("50%", 3.3, 3.9, 0.7), ("less.", 3.9, 4.4, 0.99)]),
    # No words: 15 letters and dots in 1.4 s, then 14 in 2 s after a pause; exp(-0.2) and exp(-0.7) of the segments.
    "whisper/segments-only.json": (4, [("Two", 0, 0.28, 0.8187), ("boats", 0.28, 0.747, 0.8187),
                                       ("came", 0.747, 1.12, 0.8187), ("in.", 1.12, 1.4, 0.8187),
                                       ("Nobody", 2, 2.857, 0.4966), ("saw", 2.857, 3.286, 0.4966),
                                       ("them.", 3.286, 4, 0.4966)]),
    # `the` has no length.
    "whisper/faster.json": (2, [("Low", 0, 0.5, 0.83), ("tide.", 0.5, 1.1, 0.9), ("Mind", 1.4, 1.495, 0.95),
                                ("the", 1.495, 1.505, 0.5), ("ropes!", 1.505, 2, 0.85)]),
    # Numbers have neither times nor scores: they lie between their neighbours, with the mean score of the segment,
    # or of the file where the segment has none: 0.7 both times.
    "whisper/whisperx.json": (4, [("Pier", 0.2, 0.6, 0.8), ("14", 0.6, 1.2, 0.7), ("is", 1.2, 1.4, 0.6),
                                  ("closed.", 1.4, 2, 0.7), ("1987.", 3, 4, 0.7)]),
    "whisper/api.json": (3.25, [("The", 0.2, 0.4, None), ("anchor", 0.4, 0.9, None), ("held", 0.9, 1.4, None)]),
    # " light" + "house": the mean of 0.9 and 0.5; " bl" has no times and begins where the word before ends.
    "whisper/cpp-full.json": (2.4, [("The", 0, 0.3, 0.8), ("lighthouse", 0.3, 1.2, 0.7), ("blinks.", 1.2, 2.4, 0.7)]),
    "whisper/cpp.json": (3, [("Fog", 0.5, 0.833, None), ("again.", 0.833, 1.5, None), ("Wait", 1.5, 2.167, None),
                             ("here.", 2.167, 3, None)]),
}  # fmt: skip


NAMED_OTHERWISE = {
    "deepgram/stereo.json": "stereo-0",
    "amazon/call-analytics.json": "call-analytics-AGENT",
    "nemo/manifest.json": "pilot",
}


@pytest.mark.parametrize("file", EXPECTED)
def test_samples(file: str) -> None:
    name, _, base = file.partition("/")
    lattice = sample(name, base)[0]
    words = timed_words(lattice)
    scores = [None] * len(words) if lattice.posterior is None else posteriors(lattice)
    assert (lattice.duration, [(*word, score) for word, score in zip(words, scores, strict=True)]) == EXPECTED[file]
    assert lattice.origin.times == "given"
    assert lattice.utt == NAMED_OTHERWISE.get(file, Path(file).stem)


def result(*words: tuple[Any, Any, Any], transcript: str = "x", **fields: Any) -> dict[str, Any]:
    """A result of Google."""
    listed = [{"word": word, "startTime": start, "endTime": end} for word, start, end in words]
    return {"alternatives": [{"transcript": transcript, "words": listed}], **fields}


def item(word: str, start: Any, end: Any, **fields: Any) -> dict[str, Any]:
    """A word of Amazon."""
    alternatives = [{"content": word, "confidence": fields.pop("confidence", "0.5")}]
    return {"type": "pronunciation", "start_time": start, "end_time": end, "alternatives": alternatives, **fields}


CHANNELS: dict[str, tuple[Any, dict[str, list[tuple[str, float, float]]]]] = {  # a document, the words by utterance
    "google": (  # with durations as client libraries print them
        {"results": [
            result(("a", {"seconds": "1", "nanos": 500000000}, {"seconds": 2}), channelTag=1),
            result(("b", {"nanos": 0}, 1.25), channelTag=2),
        ]},
        {"call-1": [("a", 1.5, 2)], "call-2": [("b", 0, 1.25)]},
    ),
    "amazon": (
        {"results": {"items": [
            item("a", "0", "1", channel_label="ch_0"),
            item("b", 0.5, 1.5, channel_label="ch_1"),
            {"type": "punctuation", "alternatives": [{"content": "?"}], "channel_label": "ch_0"},
            {"type": "punctuation", "alternatives": [{"content": "."}], "channel_label": "ch_2"},
        ]}},
        {"call-ch_0": [("a?", 0, 1)], "call-ch_1": [("b", 0.5, 1.5)], "call-ch_2": []},
    ),
    "azure": (  # with the earlier names of fields
        {"duration": 2000, "combinedPhrases": [], "phrases": [
            {"channel": 0, "offset": 100, "duration": 500, "text": "a", "confidence": 0.5},
            {"channel": 1, "offset": 700, "duration": 300, "text": "b", "confidence": 0.25},
        ]},
        {"call-0": [("a", 0, 0.6)], "call-1": [("b", 0.7, 1)]},
    ),
    "deepgram": (
        {"results": {"channels": [
            {"alternatives": [{"words": [{"word": "a", "start": 0, "end": 0.5, "confidence": 0.5}]}]},
            {"alternatives": []},
        ]}},
        {"call-0": [("a", 0, 0.5)], "call-1": []},
    ),
    "assemblyai": (
        {"words": [
            {"text": "a", "start": 0, "end": 500, "confidence": 0.5, "channel": "1"},
            {"text": "b", "start": 200, "end": 500, "confidence": 0.5, "channel": "2"},
        ]},
        {"call-1": [("a", 0, 0.5)], "call-2": [("b", 0.2, 0.5)]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANNELS)
def test_every_channel_is_an_utterance(name: str) -> None:
    document, expected = CHANNELS[name]
    assert {lattice.utt: timed_words(lattice) for lattice in read(name, document)} == expected


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("google", {"totalBilledTime": "15s"}),
        ("google", {"results": [{"resultEndTime": "3s"}]}),
        ("deepgram", {"results": {"channels": [{"alternatives": []}]}}),
        ("amazon", {"results": {"items": []}}),
        ("assemblyai", {"words": []}),
    ],
)
def test_nothing_said(name: str, document: Any) -> None:
    lattice = only(read(name, document))
    assert (lattice.utt, lattice.words) == ("call", ("",))


def test_log_probabilities_of_tokens_are_those_of_words() -> None:
    cpp, offline = sample("whisper", "cpp-full.json")[0], sample("sherpa", "offline.json")[0]
    said = [index for index, word in enumerate(offline.words) if word]
    assert offline.extra["logprob"][said] == pytest.approx([-0.1, -0.7, -1.0])
    assert offline.extra["least_token_logprob"][said] == pytest.approx([-0.1, -0.5, -1.0])
    assert offline.extra["tokens"][said].tolist() == [1, 2, 1]
    said = [index for index, word in enumerate(cpp.words) if word]
    assert cpp.extra["tokens"][said].tolist() == [1, 2, 3]
    assert cpp.extra["logprob"][said] == pytest.approx(np.log([0.8, 0.9 * 0.5, 0.6 * 0.7 * 0.8]))
    assert cpp.extra["least_token_logprob"][said] == pytest.approx(np.log([0.8, 0.5, 0.6]))


def test_what_whisper_says_of_segments_is_evidence() -> None:
    lattice = sample("whisper", "segments-only.json")[0]
    said = [index for index, word in enumerate(lattice.words) if word]
    assert lattice.extra["segment_logprob"][said] == pytest.approx([-0.2] * 4 + [-0.7] * 3)
    assert set(lattice.extra) == {"segment_logprob", "no_speech_prob"}
    assert not sample("whisper", "whisperx.json")[0].extra


def test_sherpa_streams_have_final_results_only() -> None:
    (lattice,) = sample("sherpa", "streaming.jsonl")
    assert timed_words(lattice) == [("mind", 1.1, 1.5), ("the", 1.5, 1.75), ("sand", 1.75, 2.2)]
    assert lattice.utt == "streaming-2"


def test_google_without_any_times() -> None:
    lattice = only(read("google", {"results": [{"alternatives": [{"transcript": "a b"}]}]}))
    assert (lattice.origin.times, lattice.posterior, lattice.time.tolist()) == ("aligned", None, [0, 1, 2])


def test_google_repeats_all_words_with_speakers() -> None:
    repeat = result(("a", "0s", "1s"), ("b", "1s", "2s"), transcript="")
    answer = {"results": [result(("a", "0s", "1s")), result(("b", "1s", "2s")), repeat]}
    assert only(read("google", answer)).text == "a b"


def test_google_batch_names_utterances_after_recordings() -> None:
    inside = {"transcript": {"results": [result(("a", "0s", "1s"))]}}
    answer = {"results": {"gs://bucket/day/one.wav": inside, "gs://bucket/two.wav": {"inlineResult": inside}}}
    assert read("google", answer).utts == ("one", "two")


def test_google_takes_a_confidence_of_zero_for_unset() -> None:
    unset = result(("a", "0s", "1s"))
    unset["alternatives"][0]["words"][0]["confidence"] = 0.0
    assert only(read("google", {"results": [unset]})).posterior is None


def test_azure_detailed_results_follow_each_other() -> None:
    line = {"RecognitionStatus": "Success", "Offset": 20000000, "Duration": 10000000, "DisplayText": "Yes, sir."}
    lattice = only(read("azure", (SAMPLES / "azure" / "detailed.json").read_text() + json.dumps(line)))
    assert timed_words(lattice)[3:] == [("Yes,", 2.0, 2.5), ("sir.", 2.5, 3.0)]
    assert lattice.posterior is None


def test_documents_one_a_line_are_utterances_of_their_own() -> None:
    line = (SAMPLES / "assemblyai" / "transcript.json").read_text().replace("\n", " ")
    problems = Problems(skip=True)
    lattices = read("assemblyai", f"{line}\n{{}}\n{line}\n", problems=problems)
    assert lattices.utts == ("call-1", "call-3")
    assert [error.utt for error in problems.errors] == ["call-2"]


@pytest.mark.parametrize(
    ("name", "document", "message"),
    [
        ("google", {"results": 3}, "results is the number 3, not a list"),
        ("google", {"name": "1", "error": {"code": 8, "message": "quota"}}, 'an error of the service: "8: quota"'),
        ("google", {"results": [result(("a", "soon", "1s"))]}, r'startTime is "soon", not a finite number'),
        ("google", {"results": [result(("a", "1s", True))]}, r"words\[0\]\.endTime is a truth value"),
        ("google", {"results": [result((3, "0s", "1s"))]}, r"\.words\[0\]\.word is the number 3"),
        ("google", {"results": [result(channelTag=[1])]}, r"results\[0\]\.channelTag is a list"),
        ("amazon", {"jobName": "x"}, "results is missing"),
        ("amazon", {"results": {"items": [item("a", "x", "1")]}}, r'results\.items\[0\]\.start_time is "x"'),
        ("amazon", {"results": {"items": [item("a", "0", None)]}}, r"results\.items\[0\]\.end_time is null"),
        ("amazon", {"results": {"items": [item("a", "0", "1", confidence="7")]}}, r"\[0\]\.confidence is 7, not"),
        ("azure", {"text": "a"}, "a result has neither NBest nor recognizedPhrases nor phrases"),
        ("azure", {"NBest": [{"Words": [{"Word": "a", "Offset": "0"}]}]}, r"NBest\[0\]\.Words\[0\]\.Offset is a str"),
        ("deepgram", {"results": {}}, r"results\.channels is missing"),
        ("deepgram", {"results": {"channels": [{"alternatives": [{}]}]}}, r"alternatives\[0\]\.words is missing"),
        ("sherpa", {"text": "a", "tokens": ["a"], "timestamps": [0, 1]}, "timestamps has 2 numbers.*1 tokens"),
        ("sherpa", {"text": "a", "tokens": ["a"], "timestamps": [0], "ys_log_probs": [0.5]}, "no log-probability"),
        ("sherpa", {"text": "a", "tokens": ["a"], "timestamps": [0], "ys_log_probs": [None]}, r"probs\[0\] is"),
        ("sherpa", {"text": "a", "tokens": [5], "timestamps": [0]}, r"tokens\[0\] is no string"),
        ("nemo", {"audio_filepath": "a.wav", "pred_text": "a b", "word_confidence": [1]}, "1 numbers.*2 words"),
        ("nemo", {"audio_filepath": "a.wav", "pred_text": "a", "word_confidence": [2]}, "not between 0 and 1"),
        ("assemblyai", {"words": [{"text": "a", "start": 0, "end": None}]}, r"words\[0\]\.end is null"),
        ("assemblyai", {"words": [{"text": "a", "start": 5e15, "end": 5e15}]}, r"word 1 \('a'\) lasts from 5e\+12"),
        ("assemblyai", [], "the answer is a list, not an object"),
        ("assemblyai", {"status": "error", "error": "no audio", "words": None},
         'an error of the service: "no audio"'),
        ("assemblyai", {"status": "queued"}, "status is queued: there are no words yet"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(name: str, document: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(name, document)
    assert str(caught.value).startswith("some/folder/call.json")


ODD: list[Any] = [
    None, True, False, 0, -1, 1, 7, 10**30, 10**400, 2**63, 1e29, -0.5, 1e308, -1e308, 1e-320, "", "x", "1e400",
    "nan", "-3s", "1_0",
    "\ud800", "\u2060", "é" * 50, [], [[]], {}, [None], {"text": 1}, [{"word": "a"}], {"results": []},
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every value in a document."""
    yield path
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from places(inner, (*path, key))


@pytest.mark.parametrize(
    "path", samples("nbest", *sorted(set(OURS) - {"ctm"})), ids=lambda path: f"{path.parent.name}/{path.name}"
)
@given(st.data())
@settings(max_examples=40, deadline=None)
def test_odd_values_anywhere_raise_only_our_error(path: Path, data: st.DataObject) -> None:
    changed = list(iterate_documents(path.read_text("utf-8")))
    for _ in range(data.draw(st.integers(1, 2))):
        *above, last = data.draw(st.sampled_from(list(places(changed))[1:]))
        holder = changed
        for key in above:
            holder = holder[key]
        if data.draw(st.booleans()):
            holder[last] = copy.deepcopy(data.draw(st.sampled_from(ODD)))
        elif isinstance(holder, dict):
            del holder[last]
    problems, options = Problems(skip=True), ReadOptions(pick=data.draw(st.sampled_from(["total", "average"])))
    stream = stream_of("\n".join(json.dumps(document) for document in changed))
    with suppress(InputError):
        for batch in formats_by_name()[path.parent.name].read(stream, options, problems):  # type: ignore[misc]
            assert all(lattice.arcs for lattice in batch)
            assert all(np.all(np.isfinite(values)) for values in batch.arrays().values())
    assert all(error.file and error.utt for error in problems.errors)


@pytest.mark.parametrize(
    "path",
    [path for path in SAMPLES.rglob("*") if path.is_file() and path.suffix != ".parquet"],
    ids=lambda path: str(path.relative_to(SAMPLES)),
)
def test_everyone_recognises_only_their_own(path: Path) -> None:
    owner = path.relative_to(SAMPLES).parts[0]
    head = path.read_bytes()[: 1 << 16]
    sure = {name for name, format_ in OURS.items() if format_.sniff(head, path.name) >= 0.5}
    assert sure == ({owner} & set(OURS))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"jobName": "j", "accountId": "1", "results": {"transcripts": [{"transcript": "%s', "amazon"),
        (
            '{"metadata": {"transaction_key": "k"}, "results": {"channels": [{"alternatives": [{"transcript": "%s',
            "deepgram",
        ),
        ('{"source": "x", "combinedRecognizedPhrases": [{"channel": 0, "lexical": "%s', "azure"),
        ('{"durationMilliseconds": 5, "combinedPhrases": [{"text": "%s', "azure"),
        ('{"id": "t", "status": "completed", "acoustic_model": "a", "audio_url": "u", "text": "%s', "assemblyai"),
        ('{"text": "%s', "whisper"),
        ('{"systeminfo": "", "model": {}, "params": {}, "result": {}, "transcription": [{"text": "%s', "whisper"),
    ],
)
def test_long_transcripts_are_recognised_by_what_stands_before_their_text(text: str, name: str) -> None:
    head = (text % ("lorem ipsum " * 6000)).encode()[: 1 << 16]
    assert [other for other in OURS if OURS[other].sniff(head, "x") >= 0.5] == [name]


@pytest.mark.parametrize(
    "head", [b"{", b"[", b'{"', b'"' * 65536, b'{"' + b'\\"' * 32767, b"{" * 65536, b"\xff" * 99, b""]
)
def test_sniffing_never_fails(head: bytes) -> None:
    assert all(format_.sniff(head, "x") < 0.5 for format_ in OURS.values())


def test_other_services_are_left_alone() -> None:
    watson = {
        "result_index": 0,
        "results": [{"final": True, "alternatives": [{"transcript": "a", "confidence": 0.5}]}],
    }
    rev = {"monologues": [{"speaker": 0, "elements": [{"type": "text", "value": "a", "ts": 0.5}]}]}
    for other in (watson, rev, {"words": [1, 2, 3]}, {"result": 5, "status": "ok"}):
        assert all(format_.sniff(json.dumps(other).encode(), "x") < 0.5 for format_ in OURS.values())

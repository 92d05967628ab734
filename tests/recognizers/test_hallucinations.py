"""Hallucinations are dropped, and words that somebody said are not."""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.shared import SHARED, needs_shared
from tests.helpers.speech import noises, recording_path
from wordtrust.audio.audio_file import AudioFile
from wordtrust.audio.segments import segments
from wordtrust.lattices.lattice import Lattice
from wordtrust.lattices.text import DEFAULT
from wordtrust.recognizers import NOTHING, Recognizer, RecognizerIdentity, loader
from wordtrust.recognizers.hallucinations import drop_hallucinations, hallucination_reason, impossible_reason
from wordtrust.recognizers.serialization import to_lattice

pytestmark = pytest.mark.slow


def hypothesis_of(text: str, average: float = -0.1) -> dict[str, Any]:
    words = [{"word": word, "start": k * 0.3, "end": k * 0.3 + 0.2} for k, word in enumerate(text.split())]
    return {"score": average * (len(words) + 1), "avg_logprob": average, "text": text, "words": words}


def record(*texts: str, average: float = -0.1) -> dict[str, Any]:
    return {"nbest": [hypothesis_of(text, average - 0.01 * k) for k, text in enumerate(texts)]}


SAID = [
    "no no no",
    "bye bye",
    "That that is is.",
    "five five five five",
    "zero zero zero zero zero zero seven",
    "Thank you, thank you, thank you very much.",
    "I know, I know, I know, I know.",
    "very very very very very good",
    "Row, row, row your boat gently down the stream, merrily, merrily, merrily, merrily, life is but a dream.",
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, "
    "it was the epoch of belief, it was the epoch of incredulity, it was the season of Light, it was the season of "
    "Darkness, it was the spring of hope, it was the winter of despair.",
    "A rose is a rose is a rose is a rose.",
    "Ha ha ha ha ha ha!",
    "one two three four five six seven eight nine ten one two three four five six seven eight nine ten",
]

LOOPS = [
    ("the " * 13, "the same word 13 times in a row"),
    ("I'm going to " * 13, "the same 3 words 13 times in a row"),
    ("well then you know " * 7, "the same 4 words 7 times in a row"),
    ("So I said oh oh oh oh oh oh oh oh oh oh oh oh oh oh", "the same word 14 times in a row"),
    ("and a half of it " * 6 + "and so on", "the same 5 words 6 times in a row"),
]


@pytest.mark.parametrize("text", SAID)
def test_what_people_say_stays(text: str) -> None:
    given_ = record(text)
    assert drop_hallucinations(given_, 0.35 * len(text.split()), 0.97) == (given_, None)
    assert impossible_reason(DEFAULT.words(text), 0.35 * len(text.split())) is None


@pytest.mark.parametrize(("text", "reason"), LOOPS)
def test_loops_are_dropped(text: str, reason: str) -> None:
    assert impossible_reason(DEFAULT.words(text), 30.0) == reason
    assert drop_hallucinations(record(text), 30.0, 0.99) == (NOTHING, reason)


@given(st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=12, unique=True), st.integers(1, 30))
def test_how_often_is_too_often(group: list[str], times: int) -> None:
    limit = {1: 10, 2: 6, 3: 5}.get(len(group), 4)
    reason = impossible_reason(["x", *group * times, "y"], 1000.0)
    assert (reason is not None) == (times > limit)
    if reason is not None:
        assert f" {times} times in a row" in reason


def test_repetition_in_another_order_is_dropped() -> None:
    rng = np.random.default_rng(0)
    lines = ["have to go home", "have to go there", "have to go on"]
    words = " ".join(lines[k] for k in rng.permutation([0, 1, 2] * 6)).split()
    assert "repeats itself" in (impossible_reason(words, 60.0) or "")


def test_nobody_speaks_that_fast() -> None:
    words = "nine different words that nobody can say in time".split()
    assert impossible_reason(words, 0.7) == "9 words in 0.7 s: nobody speaks that fast"
    assert impossible_reason(words, 0.8) is None
    assert impossible_reason([], 0.0) is None


def test_a_bad_hypothesis_goes_and_the_others_stay() -> None:
    three = {**record("I see.", "oh " * 20, "I sea."), "best_avg": 2, "empty_logprob": -9.0}
    kept, reason = drop_hallucinations(three, 9.0, 0.97)
    assert reason is None
    assert kept == {"nbest": [three["nbest"][0], three["nbest"][2]], "best_avg": 0, "empty_logprob": -9.0}
    kept, reason = drop_hallucinations(record("oh " * 20, "I see."), 9.0, 0.97)
    assert kept == {"nbest": [hypothesis_of("I see.", -0.11)]}
    assert reason is None  # words stay


def test_what_loops_on_hardly_speech_is_dropped_as_a_whole() -> None:
    assert drop_hallucinations(record("oh " * 20, "I see."), 9.0, 0.7)[0] == NOTHING


@pytest.mark.parametrize("text", ["You", "Thank you.", "Thanks for watching!", "Bye-bye.", "Oh"])
def test_fillers_need_speech(text: str) -> None:
    assert drop_hallucinations(record(text), 1.0, 0.97)[1] is None
    dropped, reason = drop_hallucinations(record(text), 1.0, 0.6)
    assert dropped == NOTHING
    assert "often made up on noise" in str(reason)
    assert drop_hallucinations(record(text, average=-1.2), 1.0, 0.97)[0] == NOTHING


def test_records_without_log_probabilities_and_times() -> None:
    plain = {"nbest": [{"score": -1.0, "text": "A plain sentence."}]}
    assert drop_hallucinations(plain, 2.0, 0.97) == (plain, None)
    assert drop_hallucinations({"nbest": [{"score": -1.0, "text": "you"}]}, 2.0, 0.5)[0] == NOTHING
    absent = {"nbest": [{"score": None, "avg_logprob": None, "words": None, "text": "A plain sentence of words."}]}
    assert drop_hallucinations(absent, 2.0, 0.97) == (absent, None)
    assert drop_hallucinations(NOTHING, 1.0, 0.1) == (NOTHING, None)
    assert drop_hallucinations(plain, 2.0) == (plain, None)
    assert hallucination_reason([], 1.0, 0.0) is None


@pytest.mark.parametrize(
    "bad",
    [
        {}, {"nbest": []}, {"nbest": None}, {"nbest": ["you"]}, {"hypotheses": [{"score": 0, "text": "you"}]},
        None, [], [{"score": 0, "text": "you"}], "you", 1, {"nbest": [{"text": "you", "words": 1}]},
        {"nbest": [{"text": "you", "avg_logprob": "low"}]}, {"nbest": [{"text": "you", "score": {"a": 1}}]},
    ],
)  # fmt: skip
def test_records_of_another_shape_are_left_to_their_reader(bad: Any) -> None:
    assert drop_hallucinations(bad, 1.0, 0.5) == (bad, None)


def test_a_believed_sentence_outweighs_a_filler_with_a_better_score() -> None:
    """Whisper's total score likes short texts: the sentence is what it prints, by the best average."""
    two = record("you", "He also ensured that his campaign was separate.", average=-0.6)
    two["nbest"][0]["avg_logprob"] = -3.0
    two["best_avg"] = 1
    assert drop_hallucinations(two, 5.0, 0.97) == (two, None)
    assert drop_hallucinations(two, 5.0, 0.85)[0] == NOTHING
    two["nbest"][1]["avg_logprob"] = -0.9
    assert drop_hallucinations(two, 5.0, 0.97)[0] == NOTHING


def test_a_filler_that_fills_no_time_is_dropped() -> None:
    assert drop_hallucinations(record("So"), 1.5, 0.97)[1] is None
    assert drop_hallucinations(record("So"), 8.0, 0.97)[0] == NOTHING
    assert drop_hallucinations(record("You"), 0.3, 0.97)[0] == NOTHING


def test_lattices_are_judged_by_their_best_path() -> None:
    def lattice(text: str) -> Lattice:
        (found,) = list(to_lattice(json.dumps(record(text)), "u", RecognizerIdentity("any", "1")))
        return found

    spoken = lattice("a plain sentence")
    assert drop_hallucinations(spoken, 2.0, 0.97) == (spoken, None)
    assert drop_hallucinations(lattice("oh " * 20), 9.0, 0.97) == (NOTHING, "the same word 20 times in a row")
    assert drop_hallucinations(lattice("thank you"), 2.0, 0.6)[0] == NOTHING


@needs_shared
@pytest.mark.parametrize("name", ["moonshine-tiny", "moonshine-base", "whisper-tiny.en", "whisper-base"])
def test_no_real_clip_loses_anything(name: str) -> None:
    """Nothing right is lost of the best hypotheses of 930 clips (dev)."""
    references = {
        row[0]: (float(row[3]), DEFAULT.words(row[5]))
        for row in (line.split("\t") for line in (SHARED / "refs.tsv").read_text("utf-8").splitlines()[1:])
    }
    dropped = []
    with gzip.open(SHARED / name / "dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)
            seconds, said = references[one["utt"]]
            reason = drop_hallucinations(one, seconds, 0.97)[1]
            if reason is not None:
                dropped.append(one["utt"])
                assert not set(DEFAULT.words(one["nbest"][0]["text"])) & set(said), reason
    assert len(dropped) <= 1  # Whisper tiny.en says "Thank you." where somebody says something else


# The real recognizer


@pytest.fixture(scope="module")
def moonshine() -> Recognizer:
    return loader("moonshine")()


@pytest.mark.parametrize("seconds", [0.3, 2.0, 8.0])
def test_noise_gives_no_words(moonshine: Recognizer, seconds: float) -> None:
    for name, noise in noises(seconds).items():
        for level in (0.2, 0.02):
            samples = np.clip(noise * level, -1, 1)
            for segment in segments([samples]):
                kept, _ = drop_hallucinations(moonshine.recognize(segment.samples), segment.seconds, segment.speech)
                assert kept == NOTHING, name


@pytest.mark.parametrize("seconds", [0.3, 2.0])
def test_noise_that_a_detector_let_through_gives_no_words(moonshine: Recognizer, seconds: float) -> None:
    """As if it had been taken for speech, barely."""
    for name, noise in noises(seconds).items():
        kept, _ = drop_hallucinations(moonshine.recognize(np.clip(noise * 0.1, -1, 1)), seconds, 0.6)
        assert not isinstance(kept, Lattice)
        assert not any(DEFAULT.words(each.get("text", "")) for each in kept["nbest"]), name


def test_a_reading_loses_nothing(moonshine: Recognizer) -> None:
    for name, most in (("beckett.wav", 99.0), ("two_cities.wav", 25.0)):
        for segment in segments(AudioFile.open(recording_path(name)).blocks()):
            if segment.end < most:
                heard = moonshine.recognize(segment.samples)
                kept, reason = drop_hallucinations(heard, segment.seconds, segment.speech)
                assert reason is None
                assert kept["nbest"][0] == heard["nbest"][0]  # type: ignore[index]

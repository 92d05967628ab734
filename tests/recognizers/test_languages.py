"""Other languages: told by the recognizer's evidence, and asked for by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.speech import recording
from wordtrust.audio.segments import segments
from wordtrust.base.errors import OptionError
from wordtrust.recognizers import NOTHING, loader
from wordtrust.recognizers.hallucinations import drop_hallucinations
from wordtrust.recognizers.languages import LANGUAGE, foreign_reason, language_warnings
from wordtrust.recognizers.registry import RecognizerEntry, with_language

NOT_ENGLISH = "this is not English, or cannot be understood (--language asks Whisper for another language)"
GERMAN = (
    "Der Zug nach München fährt heute von Gleis sieben ab. "
    "Bitte beachten Sie die Durchsagen am Bahnsteig, und halten Sie Ihre Fahrkarten bereit."
)


def record(text: str, logprob: float | None, best: float = -1.5) -> dict[str, Any]:
    words = [{"word": word, "start": 0.2, "end": 0.4} for word in text.split()]
    first = {"score": -9.0, "words": words} | ({} if logprob is None else {"avg_logprob": logprob})
    return {
        "nbest": [first, {"score": -12.0, "words": words, "avg_logprob": best}],
        "best_avg": 1,
        "empty_logprob": -9.0,
    }


@pytest.mark.parametrize(
    ("text", "logprob", "seconds", "expected"),
    [
        ("The", -5.5, 6.0, f"1 word for 5.3 s of speech: {NOT_ENGLISH}"),
        ("", -5.5, 3.0, f"0 words for 2.3 s of speech: {NOT_ENGLISH}"),
        ("The", -0.5, 6.0, None),  # somebody who says one word, surely
        ("The", -5.5, 1.5, None),  # too short to tell
        ("The train to Munich leaves now", -5.5, 3.0, None),  # as many words as people say
        ("The", None, 6.0, None),  # a recognizer that does not say how sure it is
    ],
)
def test_little_text_for_much_speech_is_made_up(
    text: str, logprob: float, seconds: float, expected: str | None
) -> None:
    heard = record(text, logprob)
    assert foreign_reason(heard, seconds) == expected
    if text:
        assert drop_hallucinations(heard, seconds, 0.99) == ((NOTHING, expected) if expected else (heard, None))


def test_what_whisper_says_about_the_language_is_a_warning() -> None:
    def line(asked: str, likely: str, probability: Any) -> str:
        return json.dumps(
            {**record("x", -0.1), LANGUAGE: {"asked": asked, "likely": likely, "probability": probability}}
        )

    (warning,) = language_warnings(line("en", "de", 0.07), 6.0)
    assert (warning.name, warning.figure) == ("language", 0.07)
    assert "--language de" in warning.message
    quiet = [
        line("en", "en", 0.99),
        line("en", "de", 0.4),
        line("en", "de", "x"),
        json.dumps(record("language", 0.0)),
    ]
    assert [language_warnings(each, 1.0) for each in quiet] == [(), (), (), ()]


def test_a_lattice_with_the_word_language_is_no_list() -> None:
    lattice = json.dumps({"arcs": [{"word": "language", "start": 0.0, "end": 0.5}]})
    assert language_warnings(lattice, 6.0) == ()
    assert foreign_reason({"nbest": record("The", -5.5)["nbest"]}, 6.0) is None  # no record of Moonshine's


def test_few_unlikely_words_are_a_warning() -> None:
    assert foreign_reason(record("The", -5.5, best=-0.4), 6.0) is None  # a longer hypothesis is likely
    for seconds in (6.0, 2.4):
        (warning,) = language_warnings(json.dumps(record("The", -5.5, best=-0.4)), seconds)
        assert (warning.name, warning.figure) == ("language", round(1 / (seconds - 0.66), 2))
        assert "this is not English" in warning.message
    assert language_warnings(json.dumps(record("The", -0.5)), 6.0) == ()


def test_languages_are_passed_on_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecognizerEntry, "missing", property(lambda _: []))
    assert with_language("whisper=tiny", "DE") == "whisper=tiny@de"
    assert with_language("whisper", "de") == with_language("auto", "de") == "whisper=base@de"
    assert with_language("whisper=base", "en") == "whisper=base"
    assert with_language("moonshine", "en") == "moonshine"
    assert with_language("auto", "en") == "auto"
    assert with_language("vosk=model-de", "de") == "vosk=model-de"
    assert with_language("moonshine=folder", None) == "moonshine=folder"
    for name in ("moonshine", "pocketsphinx"):
        with pytest.raises(OptionError, match=f"{name} knows English only, .*--language fr"):
            with_language(name, "fr")
    for bad in ("", "german please", "../x"):
        with pytest.raises(OptionError, match="not a code"):
            with_language("whisper=base", bad)


@pytest.mark.slow
def test_german_is_told_and_english_is_not(tmp_path: Path) -> None:
    """Two German sentences through Moonshine, and English ones of the same kind of voice."""
    pytest.importorskip("moonshine_voice")
    if shutil.which("espeak-ng") is None:
        pytest.skip("needs espeak-ng")
    from tools.sample_sound import speak

    moonshine, reasons = loader("moonshine")(), []
    german = speak(("espeak-ng", "-v", "de", "-s", "140", "-w", "{wav}", "{text}"), GERMAN) * 0.3
    for segment in segments([german.astype(np.float32)]):
        heard = moonshine.recognize(segment.samples)
        reasons.append(drop_hallucinations(heard, segment.seconds, segment.speech)[1])
    assert any("not English" in (reason or "") for reason in reasons)
    for segment in segments([recording()]):
        heard = moonshine.recognize(segment.samples)
        assert drop_hallucinations(heard, segment.seconds, segment.speech)[1] is None

"""A recording in another language than the one that was asked for is told as a whole."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.speech import recording
from wordtrust.audio import RATE, Samples
from wordtrust.formats.transcript.records import SpeechWarning
from wordtrust.recognizers import RecognizerIdentity
from wordtrust.recognizers.languages import foreign_reason, language_warnings
from wordtrust.transcription.spoken_language import SpokenLanguage
from wordtrust.transcription.transcriber import RecognizedSegment

SPARSE = {"empty_logprob": -3.0, "nbest": [{"avg_logprob": -5.0, "words": [{"word": "The"}]}]}
GERMAN = {"asked": "en", "likely": "de", "probability": 0.03}


def segment(start: float, seconds: float, *warnings: SpeechWarning, dropped: str | None = None) -> RecognizedSegment:
    return RecognizedSegment(start, start + seconds, (), dropped, warnings)


def test_most_of_the_speech_decides() -> None:
    reason = foreign_reason(SPARSE, 8.0)
    assert reason
    left_out, english, noisy = (
        segment(0, 8, dropped=reason), segment(8, 6), segment(14, 6, SpeechWarning("noise", 1.0, "noise")),
    )  # fmt: skip
    found = SpokenLanguage.of([left_out, english])
    assert found == SpokenLanguage(2, 1)
    assert found.line.startswith("this is not English, as it seems (1 of 2 stretches of speech): --language CODE")
    assert found.to_dict() == {"foreign_segments": 1, "segments": 2}
    assert SpokenLanguage.of([left_out, english, noisy]) is None
    assert SpokenLanguage.of([segment(0, 3, dropped=reason)]) is None  # too little to tell
    assert SpokenLanguage.of([]) is None


def test_a_recognizer_may_know_which_language_it_is() -> None:
    warnings = language_warnings(json.dumps({"language": GERMAN}), 6.0)
    found = SpokenLanguage.of([segment(0, 6, *warnings)])
    assert found == SpokenLanguage(1, 1, "de")
    assert found.line == "this sounds like the language de (1 of 1 stretches of speech): --language de"


class German:
    """A recognizer that takes everything for German."""

    identity = RecognizerIdentity("german", "1.0")

    def recognize(self, _: Samples) -> dict[str, Any]:
        words = [{"word": "one", "start": 0.1, "end": 0.5}]
        return {"nbest": [{"score": -1.0, "words": words}], "language": GERMAN}


def test_transcripts_say_so() -> None:
    heard = wt.transcribe(np.asarray(recording()), German(), sample_rate=RATE)
    assert heard.about["language"]["likely"] == "de"
    assert heard.about["language"]["foreign_segments"] == heard.about["language"]["segments"] == len(heard)
    assert "language" in {warning.name for warning in heard[0].warnings}


@pytest.mark.parametrize("probability", [0.5, None])
def test_what_is_likely_enough_is_not_told(probability: float | None) -> None:
    assert language_warnings(json.dumps({"language": {**GERMAN, "probability": probability}}), 6.0) == ()

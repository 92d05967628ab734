"""Azure Speech: detailed results (`NBest`), batch (`recognizedPhrases`) and fast transcription (`phrases`).

Times are ticks of 100 ns, in fast transcription milliseconds. The first of NBest is what was said, with its lexical
words, as only these have confidences; the others are branches beside it. Words without a confidence have that of
their phrase. Several detailed results in one file, one a line or in a list, are the consecutive phrases of one
recording; those without success say nothing. Each channel is an utterance of its own when there are several: NAME-0,
NAME-1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...base.errors import InputError
from .json_documents import JsonKeys, JsonObject
from .lattices import by_channel, channel, confidence, flattened, json_format, speaker
from .recognized import RecognizedPhrase, RecognizedTranscript, RecognizedWord, plain_words

_TOP_KEYS = {"NBest", "RecognitionStatus", "recognizedPhrases", "combinedRecognizedPhrases", "combinedPhrases"}
TICKS, MILLISECONDS = 1e7, 1e3  # in a second
_START = {TICKS: ("Offset", "offsetInTicks"), MILLISECONDS: ("offsetMilliseconds", "offset")}
_WORDS, _CONFIDENCE = ("Words", "words", "displayWords"), ("Confidence", "confidence")
_LEXICAL, _DISPLAY = ("Lexical", "lexical"), ("Display", "display", "DisplayText", "text")
_LENGTH = {TICKS: ("Duration", "durationInTicks"), MILLISECONDS: ("durationMilliseconds", "duration")}


def _likelihood(keys: JsonKeys) -> float:
    """How surely this is a result of Azure Speech."""
    if keys.top & _TOP_KEYS:
        return 1.0
    return 0.3 if keys.has("NBest") or keys.has("recognizedPhrases") else 0.0


def _transcripts(documents: Sequence[Any], utt: str) -> Iterator[RecognizedTranscript]:
    results = [JsonObject.of(result, "the result") for result in flattened(documents)]
    channels: dict[str, list[RecognizedPhrase]] = {}
    for result in results:
        if result.get("RecognitionStatus") == "Error":
            raise InputError("the service's RecognitionStatus is Error", remedy="Ask the service again")
        phrases, unit = _phrases(result)
        for phrase in phrases:
            if phrase.get("RecognitionStatus", "recognitionStatus") in (None, "Success", 0):
                name = channel(phrase, "channel", "Channel") or "0"
                channels.setdefault(name, []).append(_phrase(phrase, unit))
    return by_channel(utt, channels, _duration(results))


def _phrases(result: JsonObject) -> tuple[list[JsonObject], float]:
    """The phrases of a result, and the unit of their times."""
    if "recognizedPhrases" in result:
        return result.children("recognizedPhrases"), TICKS
    if "phrases" in result:
        return result.children("phrases"), MILLISECONDS
    if not result.fields.keys() & {"NBest", "DisplayText", "RecognitionStatus"}:
        raise InputError(
            "a result has neither NBest nor recognizedPhrases nor phrases", remedy="Ask for the detailed format"
        )
    return [JsonObject(result.fields, "result[0]")], TICKS


def _duration(results: Sequence[JsonObject]) -> float | None:
    """That of the audio, which only a result for a whole file has."""
    if len(results) != 1 or not {"recognizedPhrases", "phrases"} & results[0].fields.keys():
        return None
    unit = TICKS if "recognizedPhrases" in results[0] else MILLISECONDS
    return _seconds(results[0], _LENGTH[unit], unit)


def _phrase(phrase: JsonObject, unit: float) -> RecognizedPhrase:
    start, end = _span(phrase, unit)
    best, *others = phrase.optional_children("NBest", "nBest") or [phrase]
    words = [_word(word, unit) for word in best.children(*_WORDS)] if best.get(*_WORDS) else []
    texts = _LEXICAL if words else ()  # what can be compared with those
    rest = [
        RecognizedPhrase(plain_words(other.text(*texts, *_DISPLAY)), confidence=confidence(other, *_CONFIDENCE))
        for other in others
    ]
    words = words or plain_words(best.text(*_DISPLAY))
    who = speaker(phrase, "speaker", "Speaker", "SpeakerId")
    return RecognizedPhrase(words, start, end, confidence(best, *_CONFIDENCE), rest, speaker=who)


def _word(word: JsonObject, unit: float) -> RecognizedWord:
    text = word.string("Word", "word", "text", "displayText")
    return RecognizedWord(text, *_span(word, unit), confidence(word, *_CONFIDENCE))


def _span(holder: JsonObject, unit: float) -> tuple[float | None, float | None]:
    """Start and end in seconds, where they are given."""
    start, length = _seconds(holder, _START[unit], unit), _seconds(holder, _LENGTH[unit], unit)
    return start, None if start is None or length is None else start + length


def _seconds(holder: JsonObject, names: tuple[str, ...], unit: float) -> float | None:
    """The field that one of these names has, in seconds; None if there is no such field."""
    value = holder.number_or_none(*names)
    return None if value is None else value / unit


FORMAT = json_format("azure", "Azure Speech JSON", _likelihood, _transcripts, is_one_recording=True)

"""Azure Speech: detailed results (`NBest`), batch (`recognizedPhrases`) and fast transcription (`phrases`).

Times are ticks of 100 ns, in fast transcription milliseconds. The first of NBest counts, with its lexical words, as
only these have confidences; words without one have that of their phrase. Several detailed results in one file, one a
line or in a list, are the consecutive phrases of one recording; those without success say nothing. Each channel is an
utterance of its own when there are several: NAME-0, NAME-1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..base.errors import InputError
from ..base.json_checks import number_or_none, objects_of, record, string, string_or_none
from .json_documents import JsonKeys
from .onebest import (
    RecognizedPhrase,
    RecognizedTranscript,
    RecognizedWord,
    by_channel,
    channel,
    confidence,
    flattened,
    json_format,
    plain_words,
    present,
)

_TOP_KEYS = {"NBest", "RecognitionStatus", "recognizedPhrases", "combinedRecognizedPhrases", "combinedPhrases"}
TICKS, MILLISECONDS = 1e7, 1e3  # in a second
_START = {TICKS: ("Offset", "offsetInTicks"), MILLISECONDS: ("offsetMilliseconds", "offset")}
_LENGTH = {TICKS: ("Duration", "durationInTicks"), MILLISECONDS: ("durationMilliseconds", "duration")}


def _likelihood(keys: JsonKeys) -> float:
    """How surely this is a result of Azure Speech."""
    if keys.top & _TOP_KEYS:
        return 1.0
    return 0.3 if keys.has("NBest") or keys.has("recognizedPhrases") else 0.0


def _transcripts(documents: Sequence[Any], utt: str) -> Iterator[RecognizedTranscript]:
    results = [record(result, "the result") for result in flattened(documents)]
    channels: dict[str, list[RecognizedPhrase]] = {}
    for result in results:
        parts, field, unit = _parts(result)
        for index, part in enumerate(parts):
            where = f"{field}[{index}]"
            if part.get(present(part, "RecognitionStatus", "recognitionStatus")) in (None, "Success", 0):
                name = channel(part, present(part, "channel", "Channel"), where) or "0"
                channels.setdefault(name, []).append(_phrase(part, where, unit))
    return by_channel(utt, channels, _duration(results))


def _parts(result: dict[str, Any]) -> tuple[list[dict[str, Any]], str, float]:
    """The phrases of a result, where they stand, and the unit of their times."""
    if "recognizedPhrases" in result:
        return objects_of(result, "recognizedPhrases"), "recognizedPhrases", TICKS
    if "phrases" in result:
        return objects_of(result, "phrases"), "phrases", MILLISECONDS
    if not result.keys() & {"NBest", "DisplayText", "RecognitionStatus"}:
        raise InputError(
            "a result has neither NBest nor recognizedPhrases nor phrases", remedy="Ask for the detailed format"
        )
    return [result], "result", TICKS


def _duration(results: Sequence[dict[str, Any]]) -> float | None:
    """That of the audio, which only a result for a whole file has."""
    _, name, unit = _parts(results[0]) if len(results) == 1 else ((), "result", TICKS)
    return None if name == "result" else _seconds(results[0], _LENGTH[unit], unit, "")


def _phrase(part: dict[str, Any], where: str, unit: float) -> RecognizedPhrase:
    start, end = _span(part, where, unit)
    best = present(part, "NBest", "nBest")
    hypotheses = objects_of(part, best, where) if part.get(best) is not None else []
    if hypotheses:
        part, where = hypotheses[0], f"{where}.{best}[0]"
    name = present(part, "Words", "words", "displayWords")
    words = _words(part, name, where, unit) if part.get(name) else []
    if not words:
        text = present(part, "Display", "display", "DisplayText", "text")
        words = plain_words(string_or_none(part, text, where) or "")
    return RecognizedPhrase(words, start, end, confidence(part, present(part, "Confidence", "confidence"), where))


def _words(hypothesis: dict[str, Any], name: str, where: str, unit: float) -> list[RecognizedWord]:
    words = []
    for index, word in enumerate(objects_of(hypothesis, name, where)):
        inside = f"{where}.{name}[{index}]"
        text = string(word, present(word, "Word", "word", "text", "displayText"), inside)
        word_confidence = confidence(word, present(word, "Confidence", "confidence"), inside)
        words.append(RecognizedWord(text, *_span(word, inside, unit), word_confidence))
    return words


def _span(holder: dict[str, Any], where: str, unit: float) -> tuple[float | None, float | None]:
    """Start and end in seconds, where they are given."""
    start, length = _seconds(holder, _START[unit], unit, where), _seconds(holder, _LENGTH[unit], unit, where)
    return start, None if start is None or length is None else start + length


def _seconds(holder: dict[str, Any], names: tuple[str, ...], unit: float, where: str) -> float | None:
    """The field that one of these names has, in seconds; None if there is no such field."""
    value = number_or_none(holder, present(holder, *names), where)
    return None if value is None else value / unit


FORMAT = json_format("azure", "Azure Speech JSON", _likelihood, _transcripts, is_one_recording=True)

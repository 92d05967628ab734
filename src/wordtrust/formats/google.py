"""Google Speech-to-Text: REST answers of v1, v1p1beta1 and v2, `results[].alternatives[].words[]`.

Also a finished operation (the answer under `response`) and a v2 batch (one answer for each recording, which names
the utterance). The first alternative counts; only that one has word times. A confidence of 0 means "not set" and is
taken so; words without one have that of their alternative. Results without words have their times by letters between
the ends of the results. Each channel is an utterance of its own when there are several: NAME-1, NAME-2.
With speaker labels, v1 repeats all words in a last result that has no text: that one is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from ..base.errors import InputError
from ..base.json_checks import number, number_in, object_of, objects_of, record, string, string_or_none
from .json_documents import JsonKeys
from .onebest import (
    RecognizedPhrase,
    RecognizedTranscript,
    RecognizedWord,
    by_channel,
    channel,
    confidence,
    json_format,
    plain_words,
    present,
)

_OTHERS = {"channels", "items", "transcripts", "final", "result_index"}  # Deepgram, Amazon, Watson
_TIMES = {"startTime", "endTime", "startOffset", "endOffset", "resultEndTime", "resultEndOffset", "languageCode"}


def _likelihood(keys: JsonKeys) -> float:
    """How surely this is an answer of Google Speech-to-Text."""
    if keys.listed or not keys.top & {"results", "response", "totalBilledTime"}:
        return 0.0
    if "totalBilledTime" in keys.top:
        return 1.0
    if not keys.has("alternatives", "transcript"):
        return 0.1 if keys.has("alternatives") else 0.0
    if keys.keys & _OTHERS:
        return 0.2
    return 1.0 if keys.keys & _TIMES else 0.6


def _transcripts(document: Any, utt: str) -> Iterator[RecognizedTranscript]:
    answer = record(document, "the answer")
    if isinstance(answer.get("error"), dict):
        raise InputError(f"the recognizer failed: {string_or_none(answer['error'], 'message', 'error')}")
    if answer.get("response") is not None:
        answer = object_of(answer, "response")
    if "results" not in answer and "totalBilledTime" in answer:
        yield RecognizedTranscript(utt, ())  # nothing was said
        return
    if not isinstance(answer.get("results"), dict):
        yield from _recording(objects_of(answer, "results"), utt, "results")
        return
    for uri in answer["results"]:  # a batch
        file = object_of(answer["results"], uri, "results")
        file = object_of(file, "inlineResult") if file.get("inlineResult") is not None else file
        inside = object_of(file, "transcript", uri)
        yield from _recording(objects_of(inside, "results", uri), PurePosixPath(uri).stem or utt, f"{uri}: results")


def _recording(results: Sequence[dict[str, Any]], utt: str, where: str) -> Iterator[RecognizedTranscript]:
    channels: dict[str, list[RecognizedPhrase]] = {}
    for index, result in enumerate(_without_repeat(results)):
        inside = f"{where}[{index}]"
        phrases = channels.setdefault(channel(result, present(result, "channelTag", "channel_tag"), inside), [])
        phrases.append(_phrase(result, inside, phrases))
    return by_channel(utt, channels)


def _without_repeat(results: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """The results without the last one where that only says again, with speakers, what the others said."""
    if len(results) > 1:
        first = _first_alternative(results[-1])
        if first.get("words") and not first.get("transcript"):
            return results[:-1]
    return results


def _first_alternative(result: dict[str, Any], where: str = "") -> dict[str, Any]:
    alternatives = objects_of(result, "alternatives", where) if result.get("alternatives") else []
    return alternatives[0] if alternatives else {}


def _phrase(result: dict[str, Any], where: str, before: Sequence[RecognizedPhrase]) -> RecognizedPhrase:
    alternative = _first_alternative(result, where)
    where = f"{where}.alternatives[0]"
    end = _seconds(result, ("resultEndTime", "resultEndOffset", "result_end_time", "result_end_offset"), where)
    start = before[-1].end if before else 0.0
    words: list[RecognizedWord] = []
    if alternative.get("words"):
        is_first = not any(phrase.words for phrase in before)
        words = _words(objects_of(alternative, "words", where), where, is_first)
    elif alternative:
        words = plain_words(string_or_none(alternative, "transcript", where) or "")
    return RecognizedPhrase(words, start if end is not None else None, end, _confidence(alternative, where))


def _words(given: Sequence[dict[str, Any]], where: str, is_first: bool) -> list[RecognizedWord]:
    words: list[RecognizedWord] = []
    for index, word in enumerate(given):
        inside = f"{where}.words[{index}]"
        start = _seconds(word, ("startTime", "startOffset", "start_time", "start_offset"), inside)
        end = _seconds(word, ("endTime", "endOffset", "end_time", "end_offset"), inside)
        if start is None and end is not None and is_first and not words:
            start = 0.0  # v2 does not write a zero
        words.append(RecognizedWord(string(word, "word", inside), start, end, _confidence(word, inside)))
    return words


def _confidence(holder: dict[str, Any], where: str) -> float | None:
    return confidence(holder, "confidence", where) or None


def _seconds(holder: dict[str, Any], names: tuple[str, ...], where: str) -> float | None:
    """A duration as the answers have it ("1.300s"), or as client libraries print it: an object, seconds and nanos."""
    name = present(holder, *names)
    value = holder.get(name)
    if value is None:
        return None
    if isinstance(value, str):
        return number_in(value.removesuffix("s"), f"{where}.{name}")
    if not isinstance(value, dict):
        return number(holder, name, where)
    parts = {key: value.get(key) or 0 for key in ("seconds", "nanos")}
    whole = parts["seconds"]
    seconds = number_in(whole, f"{where}.{name}") if isinstance(whole, str) else number(parts, "seconds", where)
    return seconds + number(parts, "nanos", where) / 1e9


FORMAT = json_format("google", "Google Speech-to-Text JSON", _likelihood, _transcripts)

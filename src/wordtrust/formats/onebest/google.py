"""Google Speech-to-Text: REST answers of v1, v1p1beta1 and v2, `results[].alternatives[].words[]`.

Also a finished operation (the answer under `response`) and a v2 batch (one answer for each recording, which names
the utterance). Only the first alternative has word times; the others are branches beside it. A confidence of 0 means
"not set" and is taken so; words without one have that of their alternative. Results without words have their times by
letters between the ends of the results. Each channel is an utterance of its own when there are several: NAME-1, ...
With speaker labels, v1 repeats all words in a last result that has no text: only its speakers are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from ...base.json_checks import number_in
from .json_documents import JsonKeys, JsonObject
from .lattices import by_channel, channel, confidence, json_format, speaker
from .recognized import RecognizedPhrase, RecognizedTranscript, RecognizedWord, plain_words

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
    if keys.anywhere & _OTHERS:
        return 0.2
    return 1.0 if keys.anywhere & _TIMES else 0.6


def _transcripts(document: Any, utt: str) -> Iterator[RecognizedTranscript]:
    answer = JsonObject.of(document, "the answer")
    if answer.get("response") is not None:
        answer = answer.child("response")
    if "results" not in answer and "totalBilledTime" in answer:
        yield RecognizedTranscript(utt, ())  # nothing was said
    elif not isinstance(answer.get("results"), dict):
        yield from _recording(answer.children("results"), utt)
    else:  # a batch
        batch = answer.child("results")
        for uri in batch.fields:
            file = batch.child(uri)
            file = file.child("inlineResult") if file.get("inlineResult") is not None else file
            results = file.child("transcript").children("results")
            yield from _recording(results, PurePosixPath(uri).stem or utt)


def _recording(results: Sequence[JsonObject], utt: str) -> Iterator[RecognizedTranscript]:
    channels: dict[str, list[RecognizedPhrase]] = {}
    said = _without_repeat(results)
    for result in said:
        phrases = channels.setdefault(channel(result, "channelTag", "channel_tag"), [])
        phrases.append(_phrase(result, phrases))
    if len(said) < len(results) and len(channels) == 1:
        channels = {name: _with_speakers(phrases, results[-1]) for name, phrases in channels.items()}
    return by_channel(utt, channels)


def _with_speakers(phrases: Sequence[RecognizedPhrase], repeat: JsonObject) -> list[RecognizedPhrase]:
    """The phrases with the speakers of the result that says all of it again, where it has as many words."""
    speakers = [_word(word).speaker for word in _alternatives(repeat)[0].children("words")]
    if len(speakers) != sum(len(phrase.words) for phrase in phrases):
        return list(phrases)
    labels = iter(speakers)
    return [
        replace(phrase, words=[word._replace(speaker=next(labels)) for word in phrase.words]) for phrase in phrases
    ]


def _without_repeat(results: Sequence[JsonObject]) -> Sequence[JsonObject]:
    """The results without the last one where that only says again, with speakers, what the others said."""
    if len(results) > 1:
        last = _alternatives(results[-1])[0]
        if last.get("words") and not last.get("transcript"):
            return results[:-1]
    return results


def _alternatives(result: JsonObject) -> list[JsonObject]:
    """At least one, if only an empty one."""
    given = result.children("alternatives") if result.get("alternatives") else []
    return given or [JsonObject({}, f"{result.path}.alternatives[0]")]


def _phrase(result: JsonObject, before: Sequence[RecognizedPhrase]) -> RecognizedPhrase:
    alternative, *others = _alternatives(result)
    end = _seconds(result, "resultEndTime", "resultEndOffset", "result_end_time", "result_end_offset")
    start = before[-1].end if before else 0.0
    if alternative.get("words"):
        words = [_word(word) for word in alternative.children("words")]
        is_first = not any(phrase.words for phrase in before)
        if is_first and words[0].start is None and words[0].end is not None:
            words[0] = words[0]._replace(start=0.0)  # v2 does not write a zero
    else:
        words = plain_words(alternative.text("transcript"))
    rest = [
        RecognizedPhrase(plain_words(other.text("transcript")), confidence=_confidence(other)) for other in others
    ]
    return RecognizedPhrase(words, start if end is not None else None, end, _confidence(alternative), rest)


def _word(word: JsonObject) -> RecognizedWord:
    start = _seconds(word, "startTime", "startOffset", "start_time", "start_offset")
    end = _seconds(word, "endTime", "endOffset", "end_time", "end_offset")
    who = speaker(word, "speakerLabel", "speakerTag", "speaker_label", "speaker_tag")
    return RecognizedWord(word.string("word"), start, end, _confidence(word), speaker=None if who == "0" else who)


def _confidence(holder: JsonObject) -> float | None:
    return confidence(holder, "confidence") or None


def _seconds(holder: JsonObject, *names: str) -> float | None:
    """A duration as the answers have it ("1.300s"), or as client libraries print it: an object, seconds and nanos."""
    value, path = holder.get(*names), holder.path_to(holder.name_of(*names))
    if isinstance(value, str):
        return number_in(value.removesuffix("s"), path)
    if not isinstance(value, dict):
        return holder.number_or_none(*names)
    parts = JsonObject({key: value.get(key) or 0 for key in ("seconds", "nanos")}, path)
    return parts.spelled_number("seconds") + parts.number("nanos") / 1e9


FORMAT = json_format("google", "Google Speech-to-Text JSON", _likelihood, _transcripts)

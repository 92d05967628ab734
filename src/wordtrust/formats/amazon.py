"""Amazon Transcribe: the JSON of a finished job, `results.items[]`.

Items are words (`pronunciation`, with times) and punctuation, which joins the word before it. The first alternative
of an item counts. Each channel is an utterance of its own when items carry several: NAME-ch_0, NAME-ch_1.
`results.segments` (whole alternative texts) is not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .json_documents import JsonKeys, JsonObject
from .onebest import (
    RecognizedPhrase,
    RecognizedTranscript,
    RecognizedWord,
    by_channel,
    channel,
    checked_confidence,
    json_format,
)


def _likelihood(keys: JsonKeys) -> float:
    """How surely this is the result of a job of Amazon Transcribe, by its keys."""
    if not keys.has("results"):
        return 0.0
    if keys.has("items", "alternatives", "content") or keys.has("jobName", "transcripts"):
        return 1.0
    return 0.6 if keys.has("transcripts", "transcript") else 0.0


def _transcripts(document: Any, utt: str) -> Iterator[RecognizedTranscript]:
    channels: dict[str, list[RecognizedWord]] = {}
    for item in JsonObject.of(document, "the job").child("results").children("items"):
        words = channels.setdefault(channel(item, "channel_label"), [])
        alternatives = item.children("alternatives")
        if not alternatives:
            continue
        if item.get("type") != "punctuation":
            words.append(_word(item, alternatives[0]))
        elif words:
            words[-1] = words[-1]._replace(text=words[-1].text + alternatives[0].string("content"))
    return by_channel(utt, {name: [RecognizedPhrase(words)] for name, words in channels.items()})


def _word(item: JsonObject, alternative: JsonObject) -> RecognizedWord:
    confidence = None
    if alternative.get("confidence") is not None:
        value = alternative.spelled_number("confidence")
        confidence = checked_confidence(value, alternative.path_to("confidence"))
    start, end = item.spelled_number("start_time"), item.spelled_number("end_time")
    return RecognizedWord(alternative.string("content"), start, end, confidence)


FORMAT = json_format("amazon", "Amazon Transcribe JSON", _likelihood, _transcripts)

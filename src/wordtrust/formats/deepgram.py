"""Deepgram: the JSON answer for a recorded file, `results.channels[].alternatives[].words[]`.

The first alternative counts. A word is shown with its punctuation (`punctuated_word`) where there is any. Each
channel is an utterance of its own when there are several: NAME-0, NAME-1, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .json_documents import JsonKeys, JsonObject
from .onebest import RecognizedPhrase, RecognizedTranscript, RecognizedWord, by_channel, confidence, json_format


def _likelihood(keys: JsonKeys) -> float:
    """How surely this is an answer of Deepgram."""
    if not keys.top & {"results", "metadata"} or not keys.has("channels"):
        return 0.0
    if keys.has("alternatives", "transcript") or keys.has("transaction_key"):
        return 1.0
    return 0.7 if keys.has("request_id", "sha256") else 0.2


def _transcripts(document: Any, utt: str) -> Iterator[RecognizedTranscript]:
    answer = JsonObject.of(document, "the answer")
    channels = answer.child("results").children("channels")
    duration = answer.child("metadata").number_or_none("duration") if answer.get("metadata") is not None else None
    return by_channel(utt, {str(index): _phrases(channel) for index, channel in enumerate(channels)}, duration)


def _phrases(channel: JsonObject) -> list[RecognizedPhrase]:
    alternatives = channel.children("alternatives")
    return [RecognizedPhrase([_word(word) for word in alternatives[0].children("words")])] if alternatives else []


def _word(word: JsonObject) -> RecognizedWord:
    text = word.string("punctuated_word", "word")
    return RecognizedWord(text, word.number("start"), word.number("end"), confidence(word, "confidence"))


FORMAT = json_format("deepgram", "Deepgram JSON", _likelihood, _transcripts)

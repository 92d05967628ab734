"""Deepgram: the JSON answer for a recorded file, `results.channels[].alternatives[].words[]`.

The first alternative counts. A word is shown with its punctuation (`punctuated_word`) where there is any. Each
channel is an utterance of its own when there are several: NAME-0, NAME-1, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..base.json_checks import number, number_or_none, object_of, objects_of, record, string
from .json_documents import JsonKeys
from .onebest import (
    RecognizedPhrase,
    RecognizedTranscript,
    RecognizedWord,
    by_channel,
    confidence,
    json_format,
    present,
)


def _likelihood(keys: JsonKeys) -> float:
    """How surely this is an answer of Deepgram."""
    if not keys.top & {"results", "metadata"} or not keys.has("channels"):
        return 0.0
    if keys.has("alternatives", "transcript") or keys.has("transaction_key"):
        return 1.0
    return 0.7 if keys.has("request_id", "sha256") else 0.2


def _transcripts(document: Any, utt: str) -> Iterator[RecognizedTranscript]:
    answer = record(document, "the answer")
    results = object_of(answer, "results")
    metadata = object_of(answer, "metadata") if answer.get("metadata") is not None else {}
    duration = number_or_none(metadata, "duration", "metadata")
    channels = objects_of(results, "channels", "results")
    phrases = {str(i): _phrases(channel, f"results.channels[{i}]") for i, channel in enumerate(channels)}
    return by_channel(utt, phrases, duration)


def _phrases(channel: dict[str, Any], where: str) -> list[RecognizedPhrase]:
    alternatives = objects_of(channel, "alternatives", where)
    if not alternatives:
        return []
    where = f"{where}.alternatives[0]"
    words = objects_of(alternatives[0], "words", where)
    return [RecognizedPhrase([_word(word, f"{where}.words[{index}]") for index, word in enumerate(words)])]


def _word(word: dict[str, Any], where: str) -> RecognizedWord:
    text = string(word, present(word, "punctuated_word", "word"), where)
    return RecognizedWord(
        text, number(word, "start", where), number(word, "end", where), confidence(word, "confidence", where)
    )


FORMAT = json_format("deepgram", "Deepgram JSON", _likelihood, _transcripts)

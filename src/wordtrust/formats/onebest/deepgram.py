"""Deepgram: the answer for a recorded file, `results.channels[].alternatives[].words[]`, or messages of a stream.

A word is shown with its punctuation (`punctuated_word`) where there is any. Each channel is an utterance of its own
when there are several: NAME-0, NAME-1, ... Messages of a stream (`"type": "Results"`), one after the other or in a
list, are one recording; interim results are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .json_documents import JsonKeys, JsonObject
from .lattices import by_channel, confidence, flattened, json_format, speaker
from .recognized import RecognizedPhrase, RecognizedTranscript, RecognizedWord


def _likelihood(keys: JsonKeys) -> float:
    """How surely this is an answer of Deepgram."""
    if keys.top & {"is_final", "speech_final", "channel_index"} and keys.has("channel", "alternatives"):
        return 1.0
    if not keys.top & {"results", "metadata"} or not keys.has("channels"):
        return 0.0
    if keys.has("alternatives", "transcript") or keys.has("transaction_key"):
        return 1.0
    return 0.7 if keys.has("request_id", "sha256") else 0.2


def _as_one(documents: list[Any]) -> list[Any]:
    """The messages of a stream are one recording."""
    messages = list(flattened(documents))
    if any(not isinstance(message, dict) or "results" in message for message in messages):
        return documents
    return [messages] if any("type" in message or "channel" in message for message in messages) else documents


def _transcripts(document: Any, utt: str) -> Iterator[RecognizedTranscript]:
    if isinstance(document, list):
        return _streamed([JsonObject.of(message, "the message") for message in document], utt)
    answer = JsonObject.of(document, "the answer")
    channels = answer.child("results").children("channels")
    duration = answer.child("metadata").number_or_none("duration") if answer.get("metadata") is not None else None
    phrases = {str(index): [_phrase(channel)] for index, channel in enumerate(channels)}
    return by_channel(utt, phrases, duration)


def _streamed(messages: Sequence[JsonObject], utt: str) -> Iterator[RecognizedTranscript]:
    """What the final results of a stream say; the last message may tell how long it was."""
    channels: dict[str, list[RecognizedPhrase]] = {}
    duration = None
    for message in messages:
        if message.get("type") == "Metadata":
            duration = message.number_or_none("duration")
        elif message.get("channel") is not None and not isinstance(message.get("channel"), list):
            index = message.get("channel_index")
            name = str(index[0] if isinstance(index, list) and index else 0)
            phrases = channels.setdefault(name, [])
            if message.get("is_final") is not False:
                phrases.append(_phrase(message.child("channel")))
    return by_channel(utt, channels, duration)


def _phrase(channel: JsonObject) -> RecognizedPhrase:
    hypotheses = [[_word(word) for word in one.children("words")] for one in channel.children("alternatives")] or [[]]
    return RecognizedPhrase(hypotheses[0], alternatives=[RecognizedPhrase(words) for words in hypotheses[1:]])


def _word(word: JsonObject) -> RecognizedWord:
    text = word.string("punctuated_word", "word")
    who = speaker(word, "speaker")
    return RecognizedWord(text, word.number("start"), word.number("end"), confidence(word, "confidence"), speaker=who)


FORMAT = json_format("deepgram", "Deepgram JSON", _likelihood, _transcripts, group=_as_one)

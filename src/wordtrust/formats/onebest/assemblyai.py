"""AssemblyAI: the JSON of a finished transcript, `words[]` with times in milliseconds.

`utterances` say the same by speaker and are not needed. Each channel is an utterance of its own when words carry
several: NAME-1, NAME-2, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...base.errors import InputError
from .json_documents import JsonKeys, JsonObject
from .lattices import by_channel, channel, confidence, json_format, speaker
from .recognized import RecognizedPhrase, RecognizedTranscript, RecognizedWord

# What an answer says about itself, most of it before its long texts.
_METADATA = {"acoustic_model", "audio_url", "audio_duration", "language_model", "speech_model", "utterances"}


def _likelihood(keys: JsonKeys) -> float:
    """How surely this is a transcript of AssemblyAI."""
    if keys.listed or keys.top & {"results", "segments"}:
        return 0.0
    if "words" in keys.top and keys.has("text", "start", "end", "confidence"):
        return 1.0 if keys.top & _METADATA else 0.6
    if "status" in keys.top and len(keys.top & _METADATA) > 1:  # the words come after a long text
        return 0.9
    return 0.0


def _transcripts(document: Any, utt: str) -> Iterator[RecognizedTranscript]:
    answer = JsonObject.of(document, "the answer")
    if answer.get("words") is None and answer.get("status") not in (None, "completed"):
        reason = answer.text("error") or "there are no words yet"
        raise InputError(
            f"the transcript's status is {answer.string('status')}: {reason}",
            remedy="Ask for it again when its status is completed",
        )
    channels: dict[str, list[RecognizedWord]] = {}
    for word in answer.children("words"):
        start, end = word.number("start") / 1000, word.number("end") / 1000
        recognized = RecognizedWord(
            word.string("text"), start, end, confidence(word, "confidence"), speaker=speaker(word, "speaker")
        )
        channels.setdefault(channel(word, "channel"), []).append(recognized)
    duration = answer.number_or_none("audio_duration")  # in whole seconds
    return by_channel(utt, {name: [RecognizedPhrase(words)] for name, words in channels.items()}, duration)


FORMAT = json_format("assemblyai", "AssemblyAI JSON", _likelihood, _transcripts)

"""AssemblyAI: the JSON of a finished transcript, `words[]` with times in milliseconds.

`utterances` say the same by speaker and are not needed. Each channel is an utterance of its own when words carry
several: NAME-1, NAME-2, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..base.errors import InputError
from ..base.json_checks import number, number_or_none, objects_of, record, string, string_or_none
from ..lattices.assemble import Problems
from ..lattices.lattice import Lattices
from .base import Format, ReadOptions
from .inputs import Stream
from .json_outline import outline
from .onebest import Phrase, Transcript, Word, by_channel, channel, confidence, read_json

# What an answer says about itself, most of it before its long texts.
_ABOUT = {"acoustic_model", "audio_url", "audio_duration", "language_model", "speech_model", "utterances"}


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # a sniffer
    """How surely these bytes are a transcript of AssemblyAI."""
    found = outline(head)
    if found is None or found.listed or found.top & {"results", "segments"}:
        return 0.0
    if "words" in found.top and found.has("text", "start", "end", "confidence"):
        return 1.0 if found.top & _ABOUT else 0.6
    if "status" in found.top and len(found.top & _ABOUT) > 1:  # the words come after a long text
        return 0.9
    return 0.0


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """One lattice a channel."""
    return read_json(stream, options, problems, "assemblyai", _transcripts)


def _transcripts(document: Any, utt: str) -> Iterator[Transcript]:
    answer = record(document, "the answer")
    if answer.get("words") is None and answer.get("status") not in (None, "completed"):
        reason = string_or_none(answer, "error") or "there are no words yet"
        raise InputError(
            f"the transcript's status is {string(answer, 'status')}: {reason}",
            remedy="Ask for it again when its status is completed",
        )
    channels: dict[str, list[Word]] = {}
    for place, word in enumerate(objects_of(answer, "words")):
        where = f"words[{place}]"
        channels.setdefault(channel(word, "channel", where), []).append(_word(word, where))
    duration = number_or_none(answer, "audio_duration")  # in whole seconds
    return by_channel(utt, {name: [Phrase(words)] for name, words in channels.items()}, duration)


def _word(word: dict[str, Any], where: str) -> Word:
    start, end = number(word, "start", where) / 1000, number(word, "end", where) / 1000
    return Word(string(word, "text", where), start, end, confidence(word, "confidence", where))


FORMAT = Format(name="assemblyai", title="AssemblyAI JSON", suffixes=(".json",), sniff=sniff, read=read)

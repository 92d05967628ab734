"""Deepgram: the JSON answer for a recorded file, `results.channels[].alternatives[].words[]`.

The first alternative counts. A word is shown with its punctuation (`punctuated_word`) where there is any. Each
channel is an utterance of its own when there are several: NAME-0, NAME-1, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..base.json_checks import number, number_or_none, object_of, objects_of, record, string
from ..lattices.assemble import Problems
from ..lattices.lattice import Lattices
from .base import Format, ReadOptions
from .inputs import Stream
from .json_outline import outline
from .onebest import Phrase, Transcript, Word, by_channel, confidence, present, read_json


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # a sniffer
    """How surely these bytes are an answer of Deepgram."""
    found = outline(head)
    if found is None or not found.top & {"results", "metadata"} or not found.has("channels"):
        return 0.0
    if found.has("alternatives", "transcript") or found.has("transaction_key"):
        return 1.0
    return 0.7 if found.has("request_id", "sha256") else 0.2


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """One lattice a channel."""
    return read_json(stream, options, problems, "deepgram", _transcripts)


def _transcripts(document: Any, utt: str) -> Iterator[Transcript]:
    answer = record(document, "the answer")
    results = object_of(answer, "results")
    metadata = object_of(answer, "metadata") if answer.get("metadata") is not None else {}
    duration = number_or_none(metadata, "duration", "metadata")
    channels = objects_of(results, "channels", "results")
    said = {str(place): _phrases(each, f"results.channels[{place}]") for place, each in enumerate(channels)}
    return by_channel(utt, said, duration)


def _phrases(channel: dict[str, Any], where: str) -> list[Phrase]:
    alternatives = objects_of(channel, "alternatives", where)
    if not alternatives:
        return []
    where = f"{where}.alternatives[0]"
    words = objects_of(alternatives[0], "words", where)
    return [Phrase([_word(word, f"{where}.words[{place}]") for place, word in enumerate(words)])]


def _word(word: dict[str, Any], where: str) -> Word:
    text = string(word, present(word, "punctuated_word", "word"), where)
    return Word(text, number(word, "start", where), number(word, "end", where), confidence(word, "confidence", where))


FORMAT = Format(name="deepgram", title="Deepgram JSON", suffixes=(".json",), sniff=sniff, read=read)

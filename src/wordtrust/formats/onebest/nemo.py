"""NeMo: the manifests that `transcribe_speech.py` writes, one recording a line, named after its audio file.

`pred_text` (or `pred_text_MODEL`) with the words and times of `timestamps_word`, where these were asked for, in
seconds or else in frames of `FRAME`; `word_confidence`, a list with a number for each word, where it was added.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from ...base import json_checks
from ...base.errors import InputError
from .json_documents import JsonKeys, JsonObject
from .lattices import checked_confidence, json_format
from .recognized import RecognizedPhrase, RecognizedTranscript, RecognizedWord, plain_words

TEXT = "pred_text"
FRAME = 0.08  # seconds: what Conformer and FastConformer models count in, where there are no seconds


def _likelihood(keys: JsonKeys) -> float:
    """How surely this is a manifest with what NeMo recognised."""
    has_text = any(key == TEXT or key.startswith(f"{TEXT}_") for key in keys.top)
    return 1.0 if has_text and "audio_filepath" in keys.top else 0.0


def _transcripts(document: Any, utt: str) -> Iterator[RecognizedTranscript]:
    line = JsonObject.of(document, "the line")
    name = PurePosixPath(line.text("audio_filepath").replace("\\", "/")).stem or utt
    field = next((key for key in line.fields if key == TEXT or key.startswith(f"{TEXT}_")), TEXT)
    words = [_word(stamp) for stamp in line.optional_children("timestamps_word", "timestamp_word")]
    phrase = RecognizedPhrase(_with_confidences(words or plain_words(line.string(field)), line))
    yield RecognizedTranscript(name, [phrase], line.number_or_none("duration"))


def _word(stamp: JsonObject) -> RecognizedWord:
    start, end = (stamp.number_or_none(name) for name in ("start", "end"))
    if start is None or end is None:
        start, end = (stamp.number(f"{name}_offset") * FRAME for name in ("start", "end"))
    return RecognizedWord(stamp.string("word", "char"), start, end)


def _with_confidences(words: list[RecognizedWord], line: JsonObject) -> list[RecognizedWord]:
    if line.get("word_confidence") is None:
        return words
    values = json_checks.list_of(line.fields, "word_confidence")
    if len(values) != len(words):
        raise InputError(f"word_confidence has {len(values)} numbers, and there are {len(words)} words")
    named = {f"word_confidence[{index}]": value for index, value in enumerate(values)}
    return [
        word._replace(confidence=checked_confidence(json_checks.number(named, name), name))
        for word, name in zip(words, named, strict=True)
    ]


FORMAT = json_format("nemo", "NeMo manifest with predictions", _likelihood, _transcripts)

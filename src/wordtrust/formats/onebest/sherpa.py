"""sherpa-onnx: what its recognizers print, offline (`sherpa-onnx-offline`) and of streams, one document a recording.

`tokens` with the `timestamps` of their beginnings, and `ys_log_probs` (in streams `ys_probs`, natural logarithms as
well) where the decoding gives them. A token that begins with a space begins a word. The confidence of a word is the
mean probability of its tokens, as Whisper's is. `durations` of tokens say where a word ends; without them it lasts
until the next one. Of a stream, results that are not final are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ...base import json_checks
from ...base.errors import InputError
from .json_documents import JsonKeys, JsonObject
from .lattices import json_format, token_logprob
from .recognized import RecognizedPhrase, RecognizedTranscript, RecognizedWord, plain_words

LAST_WORD = 0.2  # seconds from the beginning of the last token to its end, where nobody says so
_LOGPROBS = ("ys_log_probs", "ys_probs")
_WORD_START = "\u2581"  # how SentencePiece writes the space before a word


def _likelihood(keys: JsonKeys) -> float:
    """How surely this was printed by sherpa-onnx."""
    if not {"text", "tokens", "timestamps"} <= keys.top:
        return 0.0
    return 1.0 if keys.top & {*_LOGPROBS, "emotion", "durations", "start_time"} else 0.7


def _transcripts(document: Any, utt: str) -> Iterator[RecognizedTranscript]:
    result = JsonObject.of(document, "the result")
    if result.get("is_final") is False:
        return
    tokens = _strings(result, "tokens")
    if not tokens:
        yield RecognizedTranscript(utt, [RecognizedPhrase(plain_words(result.text("text")))])
        return
    first = result.number_or_none("start_time") or 0.0
    begins = [first + seconds for seconds in _numbers(result, "timestamps", len(tokens))]
    durations = _numbers(result, "durations", len(tokens))
    logprobs = [token_logprob(value, result.path_to(result.name_of(*_LOGPROBS)))
                for value in _numbers(result, result.name_of(*_LOGPROBS), len(tokens))]  # fmt: skip
    starts = [index for index, token in enumerate(tokens) if index == 0 or token[:1] in (" ", _WORD_START)]
    spans = list(pairwise([*starts, len(tokens)]))
    words = [_word(tokens, begins, durations, logprobs, span) for span in spans]
    yield RecognizedTranscript(utt, [RecognizedPhrase([word for word in words if word.text])])


def _word(
    tokens: list[str], begins: list[float], durations: list[float], logprobs: list[float], span: tuple[int, int]
) -> RecognizedWord:
    first, last = span
    text = "".join(tokens[first:last]).replace(_WORD_START, " ").strip()
    own = tuple(logprobs[first:last])
    probability = sum(map(math.exp, own)) / len(own) if own else None
    if not begins:
        return RecognizedWord(text, confidence=probability, token_logprobs=own)
    end = begins[last - 1] + durations[last - 1] if durations else None
    if end is None and last == len(tokens):
        end = begins[-1] + LAST_WORD
    return RecognizedWord(text, begins[first], end, probability, token_logprobs=own)


def _strings(result: JsonObject, name: str) -> list[str]:
    values = json_checks.list_of(result.fields, name)
    for index, value in enumerate(values):
        if not isinstance(value, str):
            raise InputError(f"{name}[{index}] is no string")
    return values


def _numbers(result: JsonObject, name: str, due: int) -> list[float]:
    """One number for each token, or none at all."""
    values = json_checks.list_of(result.fields, name) if result.get(name) is not None else []
    if values and len(values) != due:
        raise InputError(f"{name} has {len(values)} numbers, and there are {due} tokens")
    named = {f"{name}[{index}]": value for index, value in enumerate(values)}
    return [json_checks.number(named, field) for field in named]


FORMAT = json_format("sherpa", "sherpa-onnx JSON", _likelihood, _transcripts)

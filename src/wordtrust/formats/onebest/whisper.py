"""Whisper and its kin: openai-whisper, faster-whisper, whisperX, whisper-timestamped, whisper.cpp, and OpenAI's API.

- Documents with `segments` (or a bare list of these, or one a line), and in them `words` with times and a
  `probability` (`score` in whisperX, `confidence` in whisper-timestamped); words beside the segments
  (`word_segments`, the API's `words`) where the segments have none. Words that are cut (" 50", "%") are joined.
- Without words, times are by letters within the segment, and the confidence is exp(avg_logprob) of the segment.
- `avg_logprob` and `no_speech_prob` of a segment are evidence on its words.
- whisperX leaves out times and score of words that it cannot align (numbers): these have their time between their
  neighbours, and for a score the segment's exp(avg_logprob) or else the mean score of the segment, or of the file.
  Otherwise one number in an hour of speech would take away all scores.
- whisper.cpp (`transcription`, with `tokens` if written by -ojf): a token that begins with a space begins a word, so
  does one in a script written without spaces. The confidence of a word is the mean of its tokens, as openai-whisper
  computes it too; their log-probabilities are evidence, as those of N-best lists are. Special tokens (`[_BEG_]`) are
  left out. Without tokens there is no confidence.

A file with several documents, one a line, has one utterance for each: NAME-1, NAME-2, ...
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...base.json_checks import record
from .json_documents import JsonKeys, JsonObject, decode_utf8
from .lattices import confidence, json_format, speaker, token_logprob
from .recognized import RecognizedPhrase, RecognizedTranscript, RecognizedWord, plain_words

# Thai to Lao, Burmese, Khmer, kana and Han: scripts without spaces. Then the first bytes of such letters, as
# whisper.cpp cuts letters into several tokens, which are no UTF-8 by themselves.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_BEGINS_WORD = re.compile(f"[\\s{_UNSPACED}\udce3-\udce9]")
_SPECIAL = re.compile(r"\[_.*\]|<\|.*\|>", re.DOTALL)
_SMALLEST = 1e-30  # a probability that was rounded to 0 has a logarithm all the same
_SEGMENT = {"avg_logprob", "no_speech_prob", "compression_ratio", "words", "tokens"}


def _likelihood(keys: JsonKeys) -> float:
    """How surely this is the output of a Whisper."""
    if "results" in keys.top:
        return 0.0
    if "word_segments" in keys.top or {"transcription", "systeminfo"} & keys.top:
        return 1.0
    if "segments" in keys.top:
        return 1.0 if keys.anywhere & _SEGMENT else 0.6 if keys.has("start", "end", "text") else 0.0
    return _partial_likelihood(keys)


def _partial_likelihood(keys: JsonKeys) -> float:
    """The same for less than a whole document: segments or words by themselves, or one that is cut in its text."""
    if {"start", "end", "text"} <= keys.top and "confidence" not in keys.top:
        return 0.9 if keys.top & _SEGMENT else 0.5 if keys.listed else 0.3
    if {"start", "end", "word"} <= keys.top and keys.listed:
        return 0.6
    if {"text", "words"} <= keys.top and keys.has("word", "start", "end") and keys.top & {"language", "duration"}:
        return 0.6
    if keys.in_text and "text" in keys.top <= {"task", "language", "duration", "text"}:
        return 0.6  # openai-whisper: all the text of a long recording comes before its segments
    return 0.0


def _as_one(documents: list[Any]) -> list[Any]:
    """Segments, one a line, are one document."""
    are_segments = all(isinstance(document, dict) and _is_segment(document) for document in documents)
    return [documents] if are_segments else documents


def _decode(data: bytes) -> str:
    """The text of a file; of whisper.cpp's also if letters are cut into bytes, which `_joined` puts together."""
    if b'"transcription"' in data:
        return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    return decode_utf8(data)


def _is_segment(document: dict[str, Any]) -> bool:
    return "segments" not in document and {"start", "end"} <= document.keys()


def _transcripts(document: Any, utt: str) -> Iterator[RecognizedTranscript]:
    if isinstance(document, list):
        document = {"words" if any("word" in record(item) for item in document) else "segments": document}
    answer = JsonObject.of(document, "the document")
    phrases = [_cpp_phrase(segment) for segment in answer.optional_children("transcription")]
    phrases += [_phrase(segment) for segment in answer.optional_children("segments")]
    if not any(word.start is not None for phrase in phrases for word in phrase.words):
        words_beside = _words(answer, "word_segments", "words")  # beside the segments, or instead of them
        phrases = [RecognizedPhrase(words_beside)] if words_beside else phrases
    if not phrases and "segments" not in answer and "transcription" not in answer:
        phrases = [RecognizedPhrase(plain_words(answer.string("text")))]
    duration = None if answer.get("duration") is None else answer.spelled_number("duration")
    yield RecognizedTranscript(utt, _scored(phrases), duration)


def _phrase(segment: JsonObject) -> RecognizedPhrase:
    words = _words(segment, "words") or plain_words(segment.text("text"))
    logprob = segment.number_or_none("avg_logprob")
    probability = confidence(segment, "confidence") if logprob is None else math.exp(min(0.0, logprob))
    return RecognizedPhrase(
        words,
        segment.number_or_none("start"),
        segment.number_or_none("end"),
        probability,
        logprob=None if logprob is None else token_logprob(min(logprob, 0.0), segment.path_to("avg_logprob")),
        no_speech=confidence(segment, "no_speech_prob"),
        speaker=speaker(segment, "speaker"),
    )


def _words(holder: JsonObject, *names: str) -> list[RecognizedWord]:
    words = [
        RecognizedWord(
            word.string("word", "text"),
            word.number_or_none("start"),
            word.number_or_none("end"),
            confidence(word, "probability", "score", "confidence"),
            speaker=speaker(word, "speaker"),
        )
        for word in holder.optional_children(*names)
    ]
    are_spaced = any(word.text[:1].isspace() for word in words)  # whisperX has them without
    return _joined(words) if are_spaced else words


def _cpp_phrase(segment: JsonObject) -> RecognizedPhrase:
    tokens = [
        _cpp_token(token)
        for token in segment.optional_children("tokens")
        if not _SPECIAL.fullmatch(token.string("text").strip())
    ]
    words = _joined(tokens) or plain_words(_whole(segment.text("text")))
    return RecognizedPhrase(words, *_offsets(segment))


def _cpp_token(token: JsonObject) -> RecognizedWord:
    probability = confidence(token, "p")
    logprobs = () if probability is None else (math.log(max(probability, _SMALLEST)),)
    return RecognizedWord(token.string("text"), *_offsets(token), probability, token_logprobs=logprobs)


def _offsets(holder: JsonObject) -> tuple[float | None, float | None]:
    """Start and end in seconds; whisper.cpp leaves them out where it could not find any."""
    if holder.get("offsets") is None:
        return None, None
    offsets = holder.child("offsets")
    start, end = offsets.number_or_none("from"), offsets.number_or_none("to")
    return None if start is None else start / 1000, None if end is None else end / 1000


def _joined(parts: Sequence[RecognizedWord]) -> list[RecognizedWord]:
    """Words out of their parts."""
    words: list[list[RecognizedWord]] = []
    for part in parts:
        if not words or _BEGINS_WORD.match(part.text):
            words.append([])
        words[-1].append(part)
    return [_join(word) if len(word) > 1 else word[0]._replace(text=_whole(word[0].text)) for word in words]


def _join(parts: Sequence[RecognizedWord]) -> RecognizedWord:
    given = [part.confidence for part in parts if part.confidence is not None]
    return RecognizedWord(
        _whole("".join(part.text for part in parts)),
        parts[0].start,
        parts[-1].end,
        sum(given) / len(given) if len(given) == len(parts) else None,
        token_logprobs=tuple(logprob for part in parts for logprob in part.token_logprobs)
        if all(part.token_logprobs for part in parts)
        else (),
        speaker=parts[0].speaker,
    )


def _whole(text: str) -> str:
    """A text whose bytes are put together; what is still no letter becomes a replacement character."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # half characters, written as \\ud83d
        return text.encode("utf-8", "replace").decode("utf-8")


def _scored(phrases: Sequence[RecognizedPhrase]) -> list[RecognizedPhrase]:
    """Phrases with a confidence for the words that whisperX could not score; none if it scored no word."""
    scored = [[word.confidence for word in phrase.words if word.confidence is not None] for phrase in phrases]
    everywhere = [score for scores in scored for score in scores]
    return [
        replace(phrase, confidence=_mean(scores or everywhere))
        if phrase.confidence is None and everywhere
        else phrase
        for phrase, scores in zip(phrases, scored, strict=True)
    ]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


FORMAT = json_format("whisper", "Whisper JSON", _likelihood, _transcripts, decode=_decode, group=_as_one)

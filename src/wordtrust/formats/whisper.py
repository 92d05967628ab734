"""Whisper and its kin: openai-whisper, faster-whisper, whisperX, whisper-timestamped, whisper.cpp, and OpenAI's API.

- Documents with `segments` (or a bare list of these, or one a line), and in them `words` with times and a
  `probability` (`score` in whisperX, `confidence` in whisper-timestamped); words beside the segments
  (`word_segments`, the API's `words`) where the segments have none. Words that are cut (" 50", "%") are joined.
- Without words, times are by letters within the segment, and the confidence is exp(avg_logprob) of the segment.
- whisperX leaves out times and score of words that it cannot align (numbers): these have their time between their
  neighbours, and for a score the segment's exp(avg_logprob) or else the mean score of the segment, or of the file.
  Otherwise one number in an hour of speech would take away all scores.
- whisper.cpp (`transcription`, with `tokens` if written by -ojf): a token that begins with a space begins a word, so
  does one in a script written without spaces. The confidence of a word is the mean of its tokens, as openai-whisper
  computes it too. Special tokens (`[_BEG_]`) are left out. Without tokens there is no confidence.

A file with several documents, one a line, has one utterance for each: NAME-1, NAME-2, ...
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..base.json_checks import number_in, number_or_none, object_of, objects_of, record, string, string_or_none
from ..lattices.assemble import Problems
from ..lattices.lattice import Lattices
from .base import Format, ReadOptions
from .inputs import Stream
from .json_outline import Outline, decoded, outline
from .onebest import DOCUMENT, Phrase, Transcript, Word, confidence, lattices, load, named, plain_words, present

# Thai to Lao, Burmese, Khmer, kana and Han: scripts without spaces. Then the first bytes of such letters, as
# whisper.cpp cuts letters into several tokens, which are no UTF-8 by themselves.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_BEGINS_WORD = re.compile(f"[\\s{_UNSPACED}\udce3-\udce9]")
_SPECIAL = re.compile(r"\[_.*\]|<\|.*\|>", re.DOTALL)
_SCORES = ("probability", "score", "confidence")
_SEGMENT = {"avg_logprob", "no_speech_prob", "compression_ratio", "words", "tokens"}


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # a sniffer
    """How surely these bytes are the output of a Whisper."""
    found = outline(head)
    if found is None or "results" in found.top:
        return 0.0
    if "word_segments" in found.top or {"transcription", "systeminfo"} & found.top:
        return 1.0
    if "segments" in found.top:
        return 1.0 if found.keys & _SEGMENT else 0.6 if found.has("start", "end", "text") else 0.0
    return _sniff_parts(found)


def _sniff_parts(found: Outline) -> float:
    """The same for less than a whole document: segments or words by themselves, or one that is cut in its text."""
    if {"start", "end", "text"} <= found.top and "confidence" not in found.top:
        return 0.9 if found.top & _SEGMENT else 0.5 if found.listed else 0.3
    if {"start", "end", "word"} <= found.top and found.listed:
        return 0.6
    if {"text", "words"} <= found.top and found.has("word", "start", "end") and found.top & {"language", "duration"}:
        return 0.6
    if found.in_text and "text" in found.top <= {"task", "language", "duration", "text"}:
        return 0.6  # openai-whisper: all the text of a long recording comes before its segments
    return 0.0


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """One lattice a document."""
    found, broken = load(_text(stream.document(DOCUMENT)))
    if all(isinstance(each, dict) and _is_segment(each) for each in found):
        found = [found]  # segments, one a line, are one document
    yield from lattices(named(found, stream, problems, _transcripts), stream, options, problems, "whisper")
    if broken:
        problems.report(broken.at(file=stream.name))


def _text(data: bytes) -> str:
    """The text of a file; of whisper.cpp's also if letters are cut into bytes, which `_joined` puts together."""
    if b'"transcription"' in data:
        return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    return decoded(data)


def _is_segment(document: dict[str, Any]) -> bool:
    return "segments" not in document and {"start", "end"} <= document.keys()


def _transcripts(document: Any, utt: str) -> Iterator[Transcript]:
    if isinstance(document, list):
        document = {"words" if any("word" in record(item) for item in document) else "segments": document}
    answer = record(document, "the document")
    phrases = [_cpp_phrase(segment, where) for segment, where in _items(answer, "transcription")]
    phrases += [_phrase(segment, where) for segment, where in _items(answer, "segments")]
    if not any(word.start is not None for phrase in phrases for word in phrase.words):
        phrases = _words_beside(answer) or phrases
    if not phrases and "segments" not in answer and "transcription" not in answer:
        phrases = [Phrase(plain_words(string(answer, "text")))]
    yield Transcript(utt, _scored(phrases), _duration(answer))


def _items(holder: dict[str, Any], name: str, where: str = "") -> list[tuple[dict[str, Any], str]]:
    """The objects of a list, each with its place for messages; none if there is no list."""
    if holder.get(name) is None:
        return []
    path = f"{where}.{name}" if where else name
    return [(item, f"{path}[{place}]") for place, item in enumerate(objects_of(holder, name, where))]


def _duration(answer: dict[str, Any]) -> float | None:
    value = answer.get("duration")  # a string in early versions of the API
    return number_in(value, "duration") if isinstance(value, str) else number_or_none(answer, "duration")


def _words_beside(answer: dict[str, Any]) -> list[Phrase]:
    """Words that stand beside the segments, or instead of them."""
    name = present(answer, "word_segments", "words")
    return [Phrase(_words(answer, name))] if answer.get(name) else []


def _phrase(segment: dict[str, Any], where: str) -> Phrase:
    words = _words(segment, "words", where) or plain_words(string_or_none(segment, "text", where) or "")
    start, end = number_or_none(segment, "start", where), number_or_none(segment, "end", where)
    return Phrase(words, start, end, _segment_confidence(segment, where))


def _segment_confidence(segment: dict[str, Any], where: str) -> float | None:
    """The probability of an average token of the segment."""
    logprob = number_or_none(segment, "avg_logprob", where)
    return confidence(segment, "confidence", where) if logprob is None else math.exp(min(0.0, logprob))


def _words(holder: dict[str, Any], name: str, where: str = "") -> list[Word]:
    found: list[Word] = []
    for word, inside in _items(holder, name, where):
        text = string(word, present(word, "word", "text"), inside)
        start, end = number_or_none(word, "start", inside), number_or_none(word, "end", inside)
        found.append(Word(text, start, end, confidence(word, present(word, *_SCORES), inside)))
    are_spaced = any(word.text[:1].isspace() for word in found)  # whisperX has them without
    return _joined(found) if are_spaced else found


def _cpp_phrase(segment: dict[str, Any], where: str) -> Phrase:
    tokens: list[Word] = []
    for token, inside in _items(segment, "tokens", where):
        text = string(token, "text", inside)
        if not _SPECIAL.fullmatch(text.strip()):
            tokens.append(Word(text, *_offsets(token, inside), confidence(token, "p", inside)))
    words = _joined(tokens) or plain_words(_whole(string_or_none(segment, "text", where) or ""))
    return Phrase(words, *_offsets(segment, where))


def _offsets(holder: dict[str, Any], where: str) -> tuple[float | None, float | None]:
    """Start and end in seconds; whisper.cpp leaves them out where it could not find any."""
    if holder.get("offsets") is None:
        return None, None
    offsets, inside = object_of(holder, "offsets", where), f"{where}.offsets"
    start, end = number_or_none(offsets, "from", inside), number_or_none(offsets, "to", inside)
    return None if start is None else start / 1000, None if end is None else end / 1000


def _joined(parts: Sequence[Word]) -> list[Word]:
    """Words out of their parts."""
    words: list[list[Word]] = []
    for part in parts:
        if not words or _BEGINS_WORD.match(part.text):
            words.append([])
        words[-1].append(part)
    return [_join(word) if len(word) > 1 else word[0]._replace(text=_whole(word[0].text)) for word in words]


def _join(parts: Sequence[Word]) -> Word:
    given = [part.confidence for part in parts if part.confidence is not None]
    return Word(
        _whole("".join(part.text for part in parts)),
        parts[0].start,
        parts[-1].end,
        sum(given) / len(given) if len(given) == len(parts) else None,
    )


def _whole(text: str) -> str:
    """A text whose bytes are put together; what is still no letter becomes a replacement character."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # half characters, written as \\ud83d
        return text.encode("utf-8", "replace").decode("utf-8")


def _scored(phrases: Sequence[Phrase]) -> list[Phrase]:
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


FORMAT = Format(name="whisper", title="Whisper JSON", suffixes=(".json",), sniff=sniff, read=read)

"""What a transcript is made of: words with alternatives, and the stretches of a recording that it leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, NamedTuple

from ...base import json_checks as check
from ...base.errors import InputError
from ...lattices.graph import LATEST
from ...lattices.text import DEFAULT
from ..onebest.lattices import checked_confidence

ABOUT = b"wordtrust transcript"  # in the metadata of .parquet: what is known about the recording, as JSON
JOINS = "joins_next"  # written where it is true only
MEAN = "mean_confidence"  # of the words; where it is written, `confidence` is the probability that all is right
MISSING_BEFORE, MISSING_END = "missing_before", "missing_end"  # written where they are known
WARNINGS = "warnings"  # written where there are some
SPEAKER = "speaker"  # written where somebody is named
CHANNEL = "channel"  # of a file with several, each of which has a transcript: written where it is known
MADE_UP, HEARD = "made_up", "heard"  # written where the words of another program were checked
ACCEPTED = "accepted"  # written where somebody asked
REVIEW = "review"  # written where a person has checked words
CHECKED, ORIGINAL = "checked", "original"  # written where a person listened, and where he changed a word
MODELS = "models"  # that gave the words their confidences: of a recording, or on every line
MOST_ERRORS = 1e6  # of a segment
LANGUAGE_MODEL = "language_model"  # that read with them, likewise; of several files a list, with null for none


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another word that may have been said instead."""

    word: str  # as the recognizer wrote it
    confidence: float


@dataclass(frozen=True, slots=True)
class OriginalWord:
    """What the recognizer had where a person wrote something else."""

    word: str  # several words with spaces; "" where nothing was
    confidence: float | None  # None where nothing was

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"word": self.word, "confidence": None if self.confidence is None else round(self.confidence, 6)}


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a transcript."""

    word: str  # as the recognizer wrote it; "" where the word before says it: 42 for forty and two
    norm: str  # normalised
    start: float  # seconds
    end: float
    confidence: float
    alternatives: tuple[Alternative, ...] = ()  # by falling confidence
    joins_next: bool = False  # no space between it and the next word: `Middle-` and `earth.`
    missing_before: float | None = None  # how likely words are missing before it; None if nobody knows
    accepted: bool | None = None  # whether it is sure enough to go unread; None where nobody asked
    heard: float | None = None  # of a checked word: the share of listeners that heard it; alternatives are theirs
    made_up: str | None = None  # of one that nobody seems to have said: "silence" or "loop"
    checked: bool = False  # a person has listened to it; its confidence is 1 then
    original: OriginalWord | None = None  # of a word that a person wrote: what it stands for


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A stretch of a recording that has no words in the transcript, and why."""

    start: float  # seconds
    end: float
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON; times are rounded to milliseconds, as those of words are."""
        return {"start": round(self.start, 3), "end": round(self.end, 3), "reason": self.reason}


@dataclass(frozen=True, slots=True)
class SpeechWarning:
    """Something unusual about an utterance: what, how much of it, and in words. It never changes a confidence."""

    name: str  # noise, quiet, clipping, speed, words, scores, language
    figure: float
    message: str

    @property
    def told(self) -> str:
        """As a comment in files of words."""
        return f"warning: {self.message} ({self.name} {self.figure:g})"

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"name": self.name, "figure": self.figure, "message": self.message}


class Reviewed(NamedTuple):
    """What a person found in the words and gaps of a segment that are checked: evidence about those that are not."""

    expected: float = 0.0  # of them that were wrong, or lacked words, by their confidences
    found: float = 0.0  # that were

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"expected": round(self.expected, 6), "found": round(self.found)}


class TranscriptRecord(NamedTuple):
    """The words of one utterance, or of one segment of the recording `utt`."""

    utt: str
    words: tuple[Word, ...]
    warnings: tuple[SpeechWarning, ...] = ()
    correct: float | None = None  # how likely all of it is right; None if nobody knows
    missing_end: float | None = None  # how likely words are missing after the last
    speaker: str | None = None  # who said it, where that is known
    review: Reviewed | None = None  # None where nobody has checked anything
    channel: str | None = None  # of a file with several


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A file of transcripts: what it says about the recording, and its utterances or segments one by one."""

    records: Iterator[TranscriptRecord]
    about: dict[str, Any] = field(default_factory=dict)  # of lines: what those that were read say
    left_out: Sequence[LeftOut] | None = None  # None: not known


def language_models_of(about: Mapping[str, Any]) -> list[str | None]:
    """The language models that words were scored with; None stands for words that were scored without one."""
    value = about.get(LANGUAGE_MODEL)
    return [None if name is None else str(name) for name in (value if isinstance(value, list) else [value])]


def note_language_models(about: dict[str, Any], names: Sequence[str | None]) -> None:
    """Write down with which language models the words were scored, each once."""
    distinct = list(dict.fromkeys(names))
    about[LANGUAGE_MODEL] = distinct[0] if len(distinct) == 1 else distinct
    if distinct == [None]:
        del about[LANGUAGE_MODEL]


def record_of(value: Any, utt: str) -> TranscriptRecord:
    """The words of a JSON object; `utt` is its name where it has none."""
    record = check.record(value)
    items = check.objects_of(record, "words")
    words = tuple([word_of(item, f"words[{index}]") for index, item in enumerate(items)])
    if not any(JOINS in item for item in items):
        words = _joined_as_in(check.string_or_none(record, "text") or "", words)
    name = check.string(record, "utt") if "utt" in record else utt
    correct = probability_of(record, "confidence", "") if MEAN in record else None  # else it is the mean of the words
    if correct == product_of_words(words):
        correct = None  # no model was asked
    missing_end, speaker = probability_of(record, MISSING_END, ""), check.string_or_none(record, SPEAKER) or None
    known = correct, missing_end, speaker, _review_of(record), channel_of(record)
    return TranscriptRecord(name, words, warnings_of(record), *known)


def channel_of(record: Mapping[str, Any]) -> str | None:
    """The channel that a JSON object or a row of a table names, by a name or a number."""
    value = record.get(CHANNEL)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return check.string_or_none(record, CHANNEL) or None


def warnings_of(record: dict[str, Any]) -> tuple[SpeechWarning, ...]:
    """The warnings that a JSON object has."""
    items = [] if record.get(WARNINGS) is None else check.objects_of(record, WARNINGS)
    return tuple(
        SpeechWarning(check.string(item, "name", path := f"{WARNINGS}[{index}]"), check.number(item, "figure", path),
                      check.string(item, "message", path))
        for index, item in enumerate(items)
    )  # fmt: skip


def _review_of(record: Mapping[str, Any]) -> Reviewed | None:
    if record.get(REVIEW) is None:
        return None
    form = check.object_of(record, REVIEW)
    return reviewed_of(check.number(form, "expected", REVIEW), check.number(form, "found", REVIEW))


def reviewed_of(expected: float, found: float) -> Reviewed:
    """What a file says about checked words; an `InputError` if that cannot be."""
    if not (0 <= expected <= MOST_ERRORS and 0 <= found <= MOST_ERRORS):
        raise InputError(
            f"{REVIEW} says that {found:g} errors were found where {expected:g} were expected",
            remedy="Both are numbers of errors, from 0 on",
        )
    return Reviewed(expected, found)


def left_out_of(document: Mapping[str, Any]) -> tuple[LeftOut, ...] | None:
    """The stretches that a document about a recording says it leaves out."""
    if document.get("left_out") is None:
        return None
    items = check.objects_of(document, "left_out")
    return tuple(
        LeftOut(*_times(item, path := f"left_out[{index}]"), check.string(item, "reason", path))
        for index, item in enumerate(items)
    )


def word_of(item: dict[str, Any], path: str) -> Word:
    """A word that a JSON object or a row of a table holds; `path` says where, for messages."""
    text = check.string(item, "word", path)
    original = _original(item, path)
    norm = text if item.get("norm") is None else check.string(item, "norm", path)
    if original is not None:
        norm = DEFAULT(text) or norm  # whoever wrote it need not know how words are normalised
    others = [] if item.get("alternatives") is None else check.objects_of(item, "alternatives", path)
    alternatives = tuple(
        Alternative(check.string(other, "word", where := f"{path}.alternatives[{index}]"), _confidence(other, where))
        for index, other in enumerate(others)
    )
    joins, accepted, checked = (_flag(item, name, path) for name in (JOINS, ACCEPTED, CHECKED))
    missing = probability_of(item, MISSING_BEFORE, path)
    heard, made_up = probability_of(item, HEARD, path), check.string_or_none(item, MADE_UP, path)
    return Word(
        text,
        norm,
        *_times(item, path),
        _confidence(item, path),
        alternatives,
        bool(joins),
        missing,
        accepted,
        heard,
        made_up,
        bool(checked),
        original,
    )


def _flag(item: Mapping[str, Any], name: str, path: str) -> bool | None:
    value = item.get(name)
    if value is not None and type(value) is not bool:
        raise InputError(f"{path}.{name} is neither true nor false")
    return value


def _original(item: Mapping[str, Any], path: str) -> OriginalWord | None:
    """What a word stands for that a person wrote; None if nobody did."""
    value, where = item.get(ORIGINAL), f"{path}.{ORIGINAL}"
    if value is None:
        return None
    if not isinstance(value, dict):
        raise InputError(f"{where} is no object", remedy='It has what was there before: {"word", "confidence"}')
    return OriginalWord(check.string(value, "word", where), probability_of(value, "confidence", where))


def product_of_words(words: Sequence[Word]) -> float | None:
    """The product of the words' confidences, as files have them; None if there are none."""
    return round(prod(min(round(word.confidence, 6), 1.0) for word in words), 6) if words else None


def probability_of(item: Mapping[str, Any], name: str, path: str) -> float | None:
    """From 0 to 1, or None where there is none."""
    if item.get(name) is None:
        return None
    value = check.number(item, name, path)
    checked_confidence(value, f"{path}.{name}" if path else name)
    return min(value, 1.0)


def _confidence(item: dict[str, Any], path: str) -> float:
    value = check.number(item, "confidence", path)
    checked_confidence(value, f"{path}.confidence")
    return value


def _times(item: Mapping[str, Any], path: str) -> tuple[float, float]:
    start, end = check.number(item, "start", path), check.number(item, "end", path)
    if max(abs(start), abs(end)) > LATEST:
        raise InputError(f"{path} lasts from {start:g} to {end:g} s", remedy="Times are seconds, below 1e9")
    return start, end


def _joined_as_in(text: str, words: Sequence[Word]) -> tuple[Word, ...]:
    """Words of which a file does not say whether they join the next: as its text has them."""
    joined, at = [], 0
    for word in words:
        if not text.startswith(word.word, at):
            return tuple(words)  # the text is of something else
        at += len(word.word)
        joins = bool(word.word) and at < len(text) and text[at] != " "
        at += bool(word.word) and not joins
        joined.append(replace(word, joins_next=joins) if joins else word)
    return tuple(joined)

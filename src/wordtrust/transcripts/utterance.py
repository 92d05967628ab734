"""The words of an utterance: their text, and what files say about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ..base.errors import OptionError
from ..base.visible_text import visible
from ..formats import ctm
from ..formats.transcript.records import (
    ACCEPTED,
    CHANNEL,
    CHECKED,
    HEARD,
    JOINS,
    MADE_UP,
    MEAN,
    MISSING_BEFORE,
    MISSING_END,
    ORIGINAL,
    REVIEW,
    SPEAKER,
    WARNINGS,
    Reviewed,
    SpeechWarning,
    product_of_words,
)
from ..lattices.text import JOINER, join_surfaces
from .words import Word, missing_mark, spelled

SURER = "surer_alternative"  # written where it is true only


@dataclass(frozen=True, slots=True)
class UtteranceWords:
    """What every writer of transcripts is given: the words of an utterance, or of a segment of a recording."""

    utt: str
    words: tuple[Word, ...]
    warnings: tuple[SpeechWarning, ...] = ()  # what is unusual about it; no confidence depends on that
    correct: float | None = None  # how likely all of it is right, by a model; None if none was asked
    missing_end: float | None = None  # how likely words are missing after the last
    speaker: str | None = None  # who said it, where that is known
    review: Reviewed | None = None  # what a person found in it, where some of it was checked
    channel: str | None = None  # of a file with several, each of which has a transcript
    shown: tuple[float, float] | None = None  # seconds from when to when the subtitle that it was read from is shown

    @property
    def recording(self) -> str:
        """The recording that it is of: its name, without the channel."""
        return self.utt.removesuffix(f"-{self.channel}") if self.channel else self.utt

    @property
    def voice(self) -> str:
        """Who said it, to be read: the speaker, or the channel; nothing where neither is known."""
        return self.speaker or (f"Channel {self.channel}" if self.recording != self.utt else "")

    @property
    def text(self) -> str:
        """What was said, with the recognizer's own spelling."""
        return join_surfaces([word.word + JOINER if word.joins_next else word.word for word in self.words])

    @property
    def confidence(self) -> float | None:
        """How likely all of it is right: every word, and none is missing.

        Where nobody knows (words of other programs), the product of the words' confidences; None if there are none.
        """
        if self.correct is not None:
            return self.correct
        return product_of_words(self.words)

    @property
    def mean_confidence(self) -> float | None:
        """The mean confidence of the words; None if there are none."""
        return mean_confidence(self.words)

    @property
    def gaps(self) -> tuple[float, ...] | None:
        """How likely words are missing before the first word, between the words, after the last: one more than words.

        None if nobody knows: the model was trained before there were gaps, or the words are another program's.
        """
        known = self.known_gaps
        return known if len(known) == len(self.words) + 1 else None

    @property
    def known_gaps(self) -> tuple[float, ...]:
        """The same without those that nobody knows, such as the end of a segment that was cut out of a transcript."""
        gaps = (*(word.missing_before for word in self.words), self.missing_end)
        return tuple(gap for gap in gaps if gap is not None)

    def to_dict(self) -> dict[str, Any]:
        """A line of the .jsonl output. Times are rounded to milliseconds, confidences to six decimals."""
        words = [_word_dict(word) for word in self.words]
        return {
            "utt": self.utt,
            **({} if self.speaker is None else {SPEAKER: self.speaker}),
            **({} if self.channel is None else {CHANNEL: self.channel}),
            "text": self.text,
            "confidence": None if self.confidence is None else round(self.confidence, 6),
            MEAN: rounded_mean([word["confidence"] for word in words]),
            "words": words,
            **({} if self.missing_end is None else {MISSING_END: round(self.missing_end, 6)}),
            **({WARNINGS: [warning.to_dict() for warning in self.warnings]} if self.warnings else {}),
            **({} if self.review is None else {REVIEW: self.review.to_dict()}),
        }

    def to_ctm(self, channel: str = "1") -> str:
        """NIST CTM: a line `utt channel start duration word confidence` for each word.

        White space in names and words becomes `_`, a control character U+FFFD. What CTM gives a meaning of its own
        (`;;`, `<ALT>`) is written as the normalised word. An utterance without words is a comment; before a
        gap in which something may be missing there is one that says so; warnings come first.
        """
        if channel.split() != [channel]:
            raise OptionError(f"the channel is {channel!r}, not one word like 1 or A")
        name = ctm.name_field(self.utt)
        words = [
            ctm.word_field(written, word.norm)
            for word, (written, _) in zip(self.words, spelled(self.words), strict=True)
        ]
        start, end = [word.start for word in self.words], [word.end for word in self.words]
        lines = ctm.ctm_text(name, channel, words, start, end, (word.confidence for word in self.words))
        times = [*start, end[-1] if end else 0.0]
        gaps = (*(word.missing_before for word in self.words), self.missing_end)
        marks = [missing_mark(gap) for gap in gaps]
        comments = [
            f";; {name} {channel} {time:.3f} {mark}\n" if mark else ""
            for time, mark in zip(times, marks, strict=True)
        ]
        head = "".join(
            f";; {name} {channel} {max(0.0, times[0]):.3f} {_line(warning.told)}\n" for warning in self.warnings
        )
        if not any(comments) or not self.words:
            return head + lines + comments[-1]
        return head + "".join(chain.from_iterable(zip(comments, [*lines.splitlines(keepends=True), ""], strict=True)))


def _line(text: str) -> str:
    return visible(" ".join(text.split()))


def distinct_warnings(*found: tuple[SpeechWarning, ...]) -> tuple[SpeechWarning, ...]:
    """Warnings from several sides, the first of each name."""
    return tuple({warning.name: warning for warnings in reversed(found) for warning in reversed(warnings)}.values())[
        ::-1
    ]


def mean_confidence(words: Sequence[Word]) -> float | None:
    """The mean confidence of words; None if there are none."""
    return sum(word.confidence for word in words) / len(words) if words else None


def rounded_mean(confidences: Sequence[float]) -> float | None:
    """The mean of confidences as a file has them, so that whoever reads the file finds the same."""
    return round(sum(confidences) / len(confidences), 6) if confidences else None


def _word_dict(word: Word) -> dict[str, Any]:
    confidence = round(word.confidence, 6)
    others = [(other.word, round(other.confidence, 6)) for other in word.alternatives]
    return {
        "word": word.word,
        "norm": word.norm,
        "start": round(word.start, 3),
        "end": round(word.end, 3),
        "confidence": confidence,
        "alternatives": [{"word": text, "confidence": how_sure} for text, how_sure in others],
        **({} if word.missing_before is None else {MISSING_BEFORE: round(word.missing_before, 6)}),
        **({ACCEPTED: word.accepted} if word.accepted is not None else {}),
        **({JOINS: True} if word.joins_next else {}),
        **({} if word.heard is None else {HEARD: round(word.heard, 6)}),
        **({MADE_UP: word.made_up} if word.made_up else {}),
        **({CHECKED: True} if word.checked else {}),
        **({ORIGINAL: word.original.to_dict()} if word.original is not None else {}),
        **({SURER: True} if any(how_sure > confidence for _, how_sure in others) and word.heard is None else {}),
    }

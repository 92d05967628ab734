"""What is said about a checked transcript in a line: its words, how many are likely wrong, and where the most are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from ..base.number_format import counted
from ..transcripts.utterance import UtteranceWords
from ..transcripts.words import Word, clock

BIAS = 0.2  # standard deviation of how far the errors of a recognizer nobody knows are from those expected, relative
FALSE_DOUBTS = (
    0.4  # errors expected in a perfect transcript, for each word that the listener expects to have misheard
)
VAGUE_BIAS = 0.8  # the same where listeners are weak: then authors of all kinds are disagreed with equally often
_LIKELY = 1.96  # standard deviations of an interval that holds 95%
_WINDOW = 10.0  # seconds of a stretch at most
_DOUBTED = 0.5  # confidence: stretches begin and end with such words
_WORST = 3  # stretches that are named


@dataclass(frozen=True, slots=True)
class WorstStretch:
    """Some seconds with many words that are likely wrong."""

    start: float
    end: float
    expected_errors: float
    words: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "start": round(self.start, 3), "end": round(self.end, 3),
            "expected_errors": round(self.expected_errors, 2), "words": self.words,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """A transcript at a glance."""

    words: int
    expected_errors: float
    interval: tuple[float, float]  # that holds the number of wrong words with 95%
    missing_places: float  # gaps in which words are missing, as expected
    made_up: int  # words that nobody seems to have said
    found: float  # share of the words that were heard where they should be
    late: float  # seconds by which its times are late
    worst: tuple[WorstStretch, ...]
    errors_if_recognizer: float  # expected errors, if a recognizer wrote it
    belonging: float = 0.0  # what speaks for it that the transcript is of this recording: below 0, rather against it
    is_vague: bool = False  # whether listeners are too weak to tell how many words are wrong

    @classmethod
    def of(
        cls, segments: Sequence[UtteranceWords], found: float, late: float, belonging: float = 0.0,
        if_recognizer: Sequence[float] | None = None, misheard: float = 0.0, *, is_vague: bool = False,
    ) -> CheckSummary:  # fmt: skip
        """That of a checked transcript; `if_recognizer` and `misheard` (`error_interval`) of one by anybody."""
        words = [word for segment in segments for word in segment.words]
        confidence = [word.confidence for word in words]
        expected = math.fsum(1 - one for one in confidence)
        interval = error_interval(confidence, if_recognizer, misheard, VAGUE_BIAS if is_vague else BIAS)
        strictly = expected if if_recognizer is None else math.fsum(1 - one for one in if_recognizer)
        gaps = [gap for segment in segments for gap in segment.known_gaps]
        made_up = sum(bool(word.made_up) for word in words)
        return cls(
            len(words), expected, interval, math.fsum(gaps), made_up, found, late, _worst(words), strictly, belonging,
            is_vague,
        )  # fmt: skip

    @classmethod
    def together(cls, parts: Sequence[CheckSummary]) -> CheckSummary:
        """That of several recordings by one author, who is better or worse than they seem in all of them alike."""
        words = sum(one.words for one in parts)
        low, high = (sum(one.interval[end] for one in parts) for end in (0, 1))
        found = sum(one.found * one.words for one in parts) / max(1, words)
        return cls(
            words, sum(one.expected_errors for one in parts), (low, high), sum(one.missing_places for one in parts),
            sum(one.made_up for one in parts), found, 0.0, (), sum(one.errors_if_recognizer for one in parts),
            is_vague=any(one.is_vague for one in parts),
        )  # fmt: skip

    @property
    def share_wrong(self) -> float:
        """The share of the words that are likely wrong."""
        return self.expected_errors / max(1, self.words)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "words": self.words, "expected_errors": round(self.expected_errors, 2),
            "errors_if_recognizer": round(self.errors_if_recognizer, 2),
            "interval": [round(end, 2) for end in self.interval], "missing_places": round(self.missing_places, 2),
            "made_up": self.made_up, "found": round(self.found, 4), "late": round(self.late, 3) + 0.0,
            "belonging": round(self.belonging, 2) + 0.0, "vague": self.is_vague,
            "worst": [stretch.to_dict() for stretch in self.worst],
        }  # fmt: skip

    def line(self) -> str:
        """For people."""
        low, high = math.floor(self.interval[0]), math.ceil(self.interval[1])
        parts = [f"{counted(self.words, 'word')}, about {_rough(self.expected_errors)} wrong ({low} to {high})"]
        if self.missing_places >= 1:
            parts.append(f"words missing in about {counted(round(self.missing_places), 'place')}")
        if self.made_up:
            parts.append(f"{self.made_up:,} that nobody seems to have said")
        if self.worst:
            parts.append("worst " + ", ".join(_when(each) for each in self.worst))
        return "; ".join(parts)


def error_interval(
    confidence: Sequence[float], if_recognizer: Sequence[float] | None = None, misheard: float = 0.0,
    bias: float = BIAS,
) -> tuple[float, float]:  # fmt: skip
    """Between which numbers the wrong words of a transcript are with 95%.

    Words err by themselves; and a recognizer that the model does not know is better or worse than it takes it for, in
    all words alike, which matters the more the longer the transcript is. If anybody may have written it, it may also
    be without errors: then all doubts come from what listeners misheard, the share `misheard`; or a recognizer wrote
    it after all, with the confidences `if_recognizer`.
    """
    strict = confidence if if_recognizer is None else if_recognizer
    likely, strictly = _moments(confidence, bias), _moments(strict, bias)
    doubts = 0.0 if if_recognizer is None else FALSE_DOUBTS * misheard * len(confidence)
    low = likely[0] - _LIKELY * likely[1] - doubts
    high = max(likely[0], strictly[0]) + _LIKELY * strictly[1]
    return max(0.0, low), min(float(len(confidence)), high)


def _moments(confidence: Sequence[float], bias: float) -> tuple[float, float]:
    """The expected errors, and how far off they are, as a standard deviation."""
    expected = math.fsum(1 - one for one in confidence)
    return expected, math.sqrt(math.fsum(one * (1 - one) for one in confidence) + (bias * expected) ** 2)


def _when(stretch: WorstStretch) -> str:
    start, end = clock(stretch.start), clock(stretch.end)
    return start if start == end else f"{start} to {end}"


def _rough(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _worst(words: Sequence[Word]) -> tuple[WorstStretch, ...]:
    """Runs of words of some seconds in which the most errors are expected, the worst first.

    Each begins and ends with a word that is more likely wrong than right, and none shares a word with another.
    """
    doubted = [index for index, word in enumerate(words) if word.confidence < _DOUBTED]
    errors = [0.0, *accumulate(1 - word.confidence for word in words)]
    runs = [(errors[last + 1] - errors[first], first, last) for first, last in _runs(words, doubted)]
    chosen: list[tuple[int, int]] = []
    for _, first, last in sorted(runs, key=lambda run: (-run[0], run[1])):
        if len(chosen) < _WORST and all(last < begin or first > end for begin, end in chosen):
            chosen.append((first, last))
    return tuple(
        WorstStretch(
            max(0.0, words[first].start), words[last].end, errors[last + 1] - errors[first], last + 1 - first
        )
        for first, last in chosen
    )


def _runs(words: Sequence[Word], doubted: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The longest run that begins with each doubted word, as its first and last word."""
    after = 0
    for index, first in enumerate(doubted):
        after = max(after, index)
        while after + 1 < len(doubted) and words[doubted[after + 1]].end <= words[first].start + _WINDOW:
            after += 1
        yield first, doubted[after]

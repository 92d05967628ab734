"""Where the words of a text are in a recording that is still being heard.

What was heard lately is matched with the words that come next (`text_to_audio`). Words are settled when others after
them were found in later segments; what was heard last may still change. The whole text is located once more when all
was heard: a passage that only one side has may be recognised late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .checked_recording import LocatedText, Stretch, heard_clock
from .text_to_audio import LocatedWords, TimedWords, locate
from .transcriber import RecognizedSegment
from .written_text import WrittenText

LAG = 2  # segments that may still change where words before them are
_STEP = 2  # segments that are settled at once, at least
_CONTEXT = 2  # settled segments that are looked at again, so that clocks are compared over enough words
_CONFIRMING, _SHARE = 3, 0.4  # words found after what is settled; share of the words that must have been found
_WIDTHS = ((1.2, 10), (3.0, 100))  # words that are looked at: times those that were heard, and some more
_AHEAD = 10.0  # seconds after what was heard, in which words of a text with times are looked at
_NOWHERE = np.iinfo(np.int64).max  # stretch of words that are not settled


class _Tail(NamedTuple):
    """The part of the text that was looked at, and where it is among the segments from `segment` on."""

    word: int
    segment: int
    located: LocatedWords


class TextFollower:
    """Locates the words of a text segment by segment; `located` has what is settled so far."""

    def __init__(self, text: WrittenText) -> None:
        self._text, self._words, count = text, text.timed(), len(text)
        self._stretch, self._times = np.full(count, _NOWHERE), np.zeros((2, count))
        self._next = LAG + 1  # segments that must have been heard before the next look
        self.segments: list[RecognizedSegment] = []
        self.settled_words, self.settled_segments = 0, 0
        self._late = 0.0  # seconds, of the times of the words that were settled last

    def hear(self, segment: RecognizedSegment) -> LocatedText | None:
        """One more segment was heard: the text with the stretches that are settled now, if there are any."""
        self.segments.append(segment)
        if len(self.segments) < self._next or not len(self._words):
            return None
        last = len(self.segments) - LAG
        for tail in self._looks():
            if self._confirms(tail, last):
                self._next = len(self.segments) + _STEP
                return self._settle(tail, last)
        self._next = len(self.segments) + max(_STEP, (len(self.segments) - self.settled_segments) // 2)
        return None

    def _looks(self) -> Iterator[_Tail]:
        """Locate what comes next in what was heard lately: as few words as may do, then more of them."""
        first = max(0, self.settled_segments - _CONTEXT)
        word = int(np.searchsorted(self._stretch[: self.settled_words], 2 * first + 1))
        recent = self.segments[first:]
        bounds = [(segment.start, segment.end) for segment in recent]
        clocks = [
            heard_clock([segment.lattices[index] for segment in recent], bounds)
            for index in range(len(recent[0].lattices))
        ]
        heard = max((len(clock.words) for clock in clocks), default=0)
        ends = [word + int(times * heard) + more for times, more in _WIDTHS]
        if self._words.is_timed:
            until = self.segments[-1].end + self._late + _AHEAD
            ends.insert(0, int(np.searchsorted(np.maximum.accumulate(self._words.start), until)))
        for end in ends if heard else ():
            words = _some(self._words, slice(word, max(word, end)))
            located = max((locate(words, clock) for clock in clocks), key=lambda one: one.matched.sum())
            yield _Tail(word, first, located)

    def _confirms(self, tail: _Tail, last: int) -> bool:
        """Whether enough words were found, and some of them after the segments before `last`."""
        located, after = tail.located, 2 * (last - tail.segment)
        confirming = np.flatnonzero(located.matched & (located.stretch > after))
        if len(confirming) < _CONFIRMING:
            return False
        return bool(located.matched[: confirming[0] + 1].mean() >= _SHARE)

    def _settle(self, tail: _Tail, last: int) -> LocatedText:
        """Keep where words are that were said before segment `last`."""
        before, located = self.settled_segments, tail.located
        stretch = located.stretch + 2 * tail.segment
        end = tail.word + int(np.searchsorted(stretch, 2 * last))
        new = slice(self.settled_words, max(end, self.settled_words))
        of_tail = slice(new.start - tail.word, new.stop - tail.word)
        self._stretch[new] = np.maximum(stretch[of_tail], 2 * before)
        self._times[:, new] = located.start[of_tail], located.end[of_tail]
        self.settled_words, self.settled_segments, self._late = new.stop, last, located.late
        found = LocatedWords(
            self._stretch, self._times[0], self._times[1], located.found, located.late, self._stretch < _NOWHERE,
            located.belonging,
        )  # fmt: skip
        return LocatedText(self._text, found, tuple(self._stretches(before, last, self._stretch[new].tolist())))

    def _stretches(self, first: int, last: int, words: Sequence[int]) -> list[Stretch]:
        """The segments from `first` to `last`, and the pauses before them that are among the stretches of words."""
        edges = [0.0 if first == 0 else self.segments[first - 1].end]
        edges += [edge for segment in self.segments[first:last] for edge in (segment.start, segment.end)]
        used = {*range(2 * first + 1, 2 * last, 2), *words}
        return [
            Stretch(number, edges[index], max(edges[index], edges[index + 1]))
            for index, number in enumerate(range(2 * first, 2 * last))
            if number in used
        ]


def _some(words: TimedWords, part: slice) -> TimedWords:
    return replace(words, words=words.words[part], start=words.start[part], end=words.end[part])

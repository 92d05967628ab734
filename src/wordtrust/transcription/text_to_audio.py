"""Where in a recording the words of a text were said: found by what listeners heard, whose words have times.

Words that a listener heard too (`word_matching`) are where it heard them. Those between have the text's own times, if
it has some, set right by how far its clock is off there; without times they share the speech between their
neighbours by letters. A recording is cut into stretches: the segments that listeners heard, and the pauses between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..lattices.lattice import Flags, Ints, Offsets, Times
from .word_matching import NOWHERE, match_words

_NEAR = 2.5  # seconds: a word that is found farther from its own time is another one
_BESIDE = 0.5  # seconds beside a segment that count to it
_LETTER = 0.1  # seconds that a letter takes at most, where there is more room than words
_FEW = 5  # words by which a clock is set at least
_MEDIAN = 25  # words over which the difference of two clocks is taken


@dataclass(frozen=True, slots=True, eq=False)
class TimedWords:
    """The words of a text, in order. Times may be missing for all of them."""

    word: Ints  # [words] numbers; the same word has the same one in all texts
    letters: Ints  # [words]
    start: Times  # [words] seconds
    end: Times
    is_timed: bool = True

    def __len__(self) -> int:
        return len(self.word)


@dataclass(frozen=True, slots=True, eq=False)
class Clock:
    """Words whose times in the recording are known, and the segments that they are in, by time."""

    words: TimedWords
    segment: Offsets  # [words]
    start: Times  # [segments] seconds
    end: Times

    def stretch_of(self, time: Times, *, pauses: bool) -> Offsets:
        """Which stretch times are in: 2 k + 1 is segment k, 2 k the pause before (without, the nearest segment)."""
        if not len(self.start):
            return np.zeros(len(time), np.int64)
        bounds = np.stack([self.start, np.maximum(self.end, self.start)], 1).ravel()
        stretch = np.searchsorted(np.maximum.accumulate(bounds), time, "right").astype(np.int64)
        after, before = np.minimum(stretch // 2, len(self.start) - 1), np.maximum(stretch // 2 - 1, 0)
        to_next, to_last = np.abs(self.start[after] - time), np.abs(time - self.end[before])
        nearest = np.where(to_next < to_last, 2 * after + 1, 2 * before + 1)
        is_pause = stretch % 2 == 0
        beside = is_pause & ((np.minimum(to_next, to_last) <= _BESIDE) | (not pauses))
        return np.where(beside, nearest, stretch)


class LocatedWords(NamedTuple):
    """Where the words of a text are in a recording."""

    stretch: Offsets  # [words] never falling
    start: Times  # [words] seconds of the recording
    end: Times
    found: float  # share of the words that were heard where they should be; 1 of a text without words
    late: float  # seconds by which the times of the text are late, in the middle; 0 where it has none


def locate(text: TimedWords, clock: Clock, *, pauses: bool = True) -> LocatedWords:
    """Locate the words of a text; without `pauses`, all are in segments."""
    partner = match_words(text.word, clock.words.word)
    if text.is_timed:
        start, end, partner, late = _set_right(text, clock, partner)
    else:
        start, end, late = *_shared(text, clock, partner), 0.0
    matched = partner >= 0
    stretch = clock.stretch_of((start + end) / 2, pauses=pauses and text.is_timed)
    stretch[matched] = 2 * clock.segment[partner[matched]] + 1
    found = float(matched.mean()) if len(text) else 1.0
    return LocatedWords(_in_order(stretch, matched, len(clock.start)), start, end, found, late)


def _in_order(stretch: Offsets, matched: Flags, segments: int) -> Offsets:
    """Stretches that never fall: words that were not found stay between those that were."""
    lowest = np.maximum.accumulate(np.where(matched, stretch, 0))
    highest = np.minimum.accumulate(np.where(matched, stretch, 2 * segments)[::-1])[::-1]
    return np.maximum.accumulate(np.clip(stretch, lowest, highest))


def _set_right(text: TimedWords, clock: Clock, partner: Offsets) -> tuple[Times, Times, Offsets, float]:
    """The text's own times by the clock of the recording, and the partners that are near these."""
    late, matched = np.zeros(len(text)), np.flatnonzero(partner >= 0)
    if len(matched) >= _FEW:
        difference = text.start[matched] - clock.words.start[partner[matched]]
        late = np.interp(text.start, *_rising(text.start[matched], _running_median(difference)))
    start, end = text.start - late, text.end - late
    partner = partner.copy()
    far = np.abs(start[matched] - clock.words.start[partner[matched]]) > _NEAR
    partner[matched[far]] = NOWHERE
    return start, end, partner, float(np.median(late)) if len(text) else 0.0


def _rising(time: Times, value: Times) -> tuple[Times, Times]:
    """Points in the order of time, one for each time."""
    times, first = np.unique(time, return_index=True)
    return times, value[first]


def _running_median(values: Times) -> Times:
    """The median of the values around each."""
    half = min(_MEDIAN // 2, (len(values) - 1) // 2)
    padded = np.pad(values, half, mode="reflect") if half else values
    medians: Times = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1)
    return medians


def _shared(text: TimedWords, clock: Clock, partner: Offsets) -> tuple[Times, Times]:
    """Times of words without any: those of their partners, and what the others share between these."""
    start, end = np.zeros(len(text)), np.zeros(len(text))
    matched = np.flatnonzero(partner >= 0)
    start[matched], end[matched] = clock.words.start[partner[matched]], clock.words.end[partner[matched]]
    last = float(clock.end.max(initial=0.0))
    ends = [0, *(matched + 1).tolist()], [*matched.tolist(), len(text)]
    for first, after in zip(*ends, strict=True):
        if after > first:
            room = end[first - 1] if first else 0.0, start[after] if after < len(text) else last
            start[first:after], end[first:after] = _fill(text.letters[first:after], *room, clock)
    return start, end


def _fill(letters: Ints, begin: float, finish: float, clock: Clock) -> tuple[Times, Times]:
    """Times of words between two others: speech is shared by letters; where there is much, they keep to its ends."""
    speech, known = _speech_time(clock)
    first, last = np.interp([begin, max(begin, finish)], known, speech)
    shares = np.concatenate([[0.0], np.cumsum(np.maximum(letters, 1))])
    needed = _LETTER * shares[-1]
    if last - first > 2 * needed:
        half = int(np.searchsorted(shares, shares[-1] / 2))
        edges = first + _LETTER * shares
        edges_end = last - needed + _LETTER * shares
        starts = np.where(np.arange(len(letters)) < half, edges[:-1], edges_end[:-1])
        ends = np.where(np.arange(len(letters)) < half, edges[1:], edges_end[1:])
    else:
        edges = first + (last - first) * shares / shares[-1]
        starts, ends = edges[:-1], edges[1:]
    return np.interp(starts, speech, known), np.interp(ends, speech, known)


def _speech_time(clock: Clock) -> tuple[Times, Times]:
    """Seconds of speech before the ends of all segments, and the times of these; pauses have next to no length."""
    known = np.maximum.accumulate(np.stack([clock.start, clock.end], 1).ravel()) if len(clock.start) else np.zeros(1)
    steps = np.diff(known, prepend=0.0)
    steps[::2] *= 1e-6
    return np.cumsum(steps + 1e-9), known

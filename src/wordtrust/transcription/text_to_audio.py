"""Where in a recording the words of a text were said: found by what listeners heard, whose words have times.

Words that a listener heard too (`word_matching`) are where it heard them, whatever the spelling: they are compared as
they are read aloud. Those between have the text's own times, if it has some, set right by how far its clock is off
there. Without times they are beside what the listener heard between their neighbours, by letters (`misheard_words`);
where it heard nothing, they share the speech there. A recording is cut into stretches: the segments that listeners
heard, and the pauses between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..lattices.lattice import Flags, Offsets, Times
from .belonging import evidence_of_belonging
from .misheard_words import shared_by_letters, times_beside
from .read_aloud import MatchedWords, match_texts
from .word_matching import NOWHERE

_NEAR = 2.5  # seconds: a word that is found farther from its own time is another one
_BESIDE = 0.5  # seconds beside a segment that count to it
_LETTER = 0.1  # seconds that a letter takes at most, where there is more room than words
_FEW = 5  # words by which a clock is set at least
_MEDIAN = 25  # words over which the difference of two clocks is taken


@dataclass(frozen=True, slots=True, eq=False)
class TimedWords:
    """The words of a text, in order. Times may be missing for all of them."""

    words: tuple[str, ...]  # normalised
    start: Times  # [words] seconds
    end: Times
    is_timed: bool = True

    def __len__(self) -> int:
        return len(self.words)


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
    matched: Flags  # [words] which were heard where they should be
    belonging: float  # what speaks for it that the text is of this recording (`belonging`)


def locate(text: TimedWords, clock: Clock, *, pauses: bool = True) -> LocatedWords:
    """Locate the words of a text; without `pauses`, all are in segments."""
    found = match_texts(text.words, clock.words.words)
    if text.is_timed:
        start, end, partner, late = _set_right(text, clock, found.partner)
    else:
        start, end, partner, late = *_times_of_partners(text, clock, found), found.partner, 0.0
    matched = partner >= 0
    stretch = clock.stretch_of((start + end) / 2, pauses=pauses and text.is_timed)
    stretch[matched] = 2 * clock.segment[partner[matched]] + 1
    share = float(matched.mean()) if len(text) else 1.0
    stretch = _in_order(stretch, matched, len(clock.start))
    return LocatedWords(stretch, start, end, share, late, matched, evidence_of_belonging(found))


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


def _times_of_partners(text: TimedWords, clock: Clock, found: MatchedWords) -> tuple[Times, Times]:
    """Times of words without any: those of their partners, and of the others between these."""
    heard = clock.words
    start, end = found.times(heard.start, heard.end)
    matched = np.flatnonzero(found.partner >= 0)
    last = float(clock.end.max(initial=0.0))
    edges = [(-1, -1), *zip(matched.tolist(), found.last_partner[matched].tolist(), strict=True)]
    nexts = [*zip(matched.tolist(), found.partner[matched].tolist(), strict=True), (len(text), len(heard))]
    for (before, heard_before), (after, heard_after) in zip(edges, nexts, strict=True):
        if after - before <= 1:
            continue
        words, others = slice(before + 1, after), slice(heard_before + 1, heard_after)
        if others.start < others.stop:
            start[words], end[words] = times_beside(
                text.words[words], heard.words[others], heard.start[others], heard.end[others]
            )
        else:
            room = end[before] if before >= 0 else 0.0, start[after] if after < len(text) else last
            start[words], end[words] = _fill(text.words[words], *room, clock)
    return start, end


def _fill(words: tuple[str, ...], begin: float, finish: float, clock: Clock) -> tuple[Times, Times]:
    """Times of words between two others where nothing else was heard: speech is shared by letters."""
    speech, known = _speech_time(clock)
    first, last = np.interp([begin, max(begin, finish)], known, speech).tolist()
    starts, ends = shared_by_letters([len(word) for word in words], first, last, _LETTER)
    return np.interp(starts, speech, known), np.interp(ends, speech, known)


def _speech_time(clock: Clock) -> tuple[Times, Times]:
    """Seconds of speech before the ends of all segments, and the times of these; pauses have next to no length."""
    known = np.maximum.accumulate(np.stack([clock.start, clock.end], 1).ravel()) if len(clock.start) else np.zeros(1)
    steps = np.diff(known, prepend=0.0)
    steps[::2] *= 1e-6
    return np.cumsum(steps + 1e-9), known

"""Words and gaps of transcripts in the order in which they are heard, with times and expected errors.

A segment of n words has 2 n + 1 items: the gap before its first word, that word, the next gap, ..., the gap after the
last word. A gap lasts from word to word; those at both ends of a segment take no time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Offsets, Reals, csr_rows, row_offsets
from ...base.jit import compiled
from ..utterance import UtteranceWords

WORDS_PER_GAP = 1.35  # that are missing where any are
_BACK = 0.05  # seconds that a word may begin before the last one ends, in one track


@dataclass(frozen=True, slots=True, eq=False)
class ReviewItems:
    """All segments end to end."""

    offsets: Offsets  # [segments + 1] of words; the first item of segment s is 2 offsets[s] + s
    start: Reals  # [items] seconds
    end: Reals
    chance: Reals  # [items] that it is wrong, or lacks words; 0 where a person has checked it
    track: Offsets  # [tracks + 1] items that can be played through: of one recording, one after the other
    knows_gaps: bool = True

    @property
    def words(self) -> int:
        """How many words there are."""
        return int(self.offsets[-1])

    @property
    def is_gap(self) -> NDArray[np.bool_]:
        """[items] whether each is a gap."""
        size = 2 * np.diff(self.offsets) + 1
        first = np.repeat(2 * self.offsets[:-1] + np.arange(len(size)), size)
        return np.asarray((np.arange(len(self.start)) - first) % 2 == 0)

    @property
    def errors(self) -> Reals:
        """[items] expected: wrong words, and words that are missing."""
        return np.where(self.is_gap, WORDS_PER_GAP, 1.0) * self.chance

    def checked(self, is_checked: NDArray[np.bool_]) -> ReviewItems:
        """The same after a person has checked some words, [words], and with them the gaps between them."""
        is_gap, segment = self.is_gap, self.segment
        done = np.zeros(len(is_gap), np.bool_)
        done[~is_gap] = is_checked
        beside = np.concatenate([[False], done, [False]])
        edge = np.concatenate([[True], segment[1:] != segment[:-1], [True]])
        heard = (beside[:-2] | edge[:-1]) & (beside[2:] | edge[1:])
        return replace(self, chance=np.where(np.where(is_gap, heard, done), 0.0, self.chance))

    @property
    def segment(self) -> Offsets:
        """[items] the segment of each."""
        return np.repeat(np.arange(len(self.offsets) - 1), 2 * np.diff(self.offsets) + 1)

    @classmethod
    def of_arrays(
        cls, offsets: Offsets, start: Reals, end: Reals, wrong: Reals, missing: Reals, recording: Offsets
    ) -> ReviewItems:
        """Given the times of words, the chances of words and gaps, and the number of each segment's recording."""
        size = 2 * len(start) + len(offsets) - 1
        made = cls(offsets, np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(0, np.int64))
        is_gap, begins = made.is_gap, np.zeros(size + 1, np.bool_)
        made.chance[is_gap], made.chance[~is_gap] = missing, wrong
        begins[-1] = True
        _lay_out(offsets, start, end, recording, made.start, made.end, begins)
        return replace(made, track=np.flatnonzero(begins))


@compiled
def _lay_out(
    offsets: Offsets, start: Reals, end: Reals, recording: Offsets, starts: Reals, ends: Reals,
    begins: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Fill in the times of items, never falling in a track, and where tracks begin."""
    item, now, last = 0, 0.0, -1
    for segment in range(len(offsets) - 1):
        for word in range(offsets[segment], offsets[segment + 1] + 1):
            is_end = word == offsets[segment + 1]
            is_edge = is_end or word == offsets[segment]
            if not is_end and (recording[segment] != last or start[word] < now - _BACK):
                begins[item], is_edge, now, last = True, True, max(0.0, start[word]), recording[segment]
            begin = now if is_end else max(now, start[word])
            starts[item], ends[item] = now if not is_edge else begin, begin
            item += 1
            if is_end:
                break
            stop = max(begin, end[word])
            if word + 1 < offsets[segment + 1] and begin <= start[word + 1] < stop:
                stop = start[word + 1]  # the next one has begun
            starts[item], ends[item], now = begin, stop, stop
            item += 1
    if item:
        begins[0] = True


def review_items(segments: Sequence[UtteranceWords], files: Sequence[str]) -> ReviewItems:
    """The items of transcripts; `files` says where each is from."""
    words = [*chain.from_iterable([segment.words for segment in segments])]
    offsets = row_offsets([segment.words for segment in segments])
    gaps = np.zeros(len(words) + len(segments))
    known = np.array([word.missing_before for word in words], np.float64)  # None becomes NaN
    ends = np.array([segment.missing_end for segment in segments], np.float64)
    gaps[np.arange(len(words)) + csr_rows(offsets)] = np.nan_to_num(known)
    gaps[offsets[1:] + np.arange(len(segments))] = np.where(np.diff(offsets) > 0, np.nan_to_num(ends), 0.0)
    recordings = dict[tuple[str, str], int]()
    names = [(file, segment.utt) for file, segment in zip(files, segments, strict=True)]
    recording = np.array([recordings.setdefault(name, len(recordings)) for name in names], np.int64)
    wrong = 1.0 - np.clip(np.array([word.confidence for word in words], np.float64), 0.0, 1.0)
    start, end = (np.array([getattr(word, name) for word in words], np.float64) for name in ("start", "end"))
    items = ReviewItems.of_arrays(offsets, start, end, wrong, gaps, recording)
    return replace(items, knows_gaps=bool(not np.isnan(known).all()))

"""What a reviewer plays at a time: neighbouring words and gaps with a little before and after them.

For a price of a second of listening, the best choice of stretches is the one with the most expected errors minus the
price of the time that they take, context included. One pass over the words finds it (two states: playing or not).
Prices fall step by step; what was chosen at a higher price is bought, and costs time but gains nothing any more. At
the end everything is chosen. Stretches are then put in order of the errors that they are expected to remove in a
second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Offsets, Reals
from ...base.jit import compiled, inner
from .items import ReviewItems

CONTEXT = 0.5  # seconds that are played before and after
LONGEST = 15.0  # seconds of a stretch, without them
_DEAREST, _CHEAPEST, _FALL = 1.0, 1e-4, 0.6  # prices of a second, in errors

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """In the order in which they are best listened to. Items are words and gaps; a stretch has a range of them."""

    first: Offsets  # [stretches] the first item that is heard as a whole
    last: Offsets  # and the last
    start: Reals  # seconds, context included
    end: Reals
    errors: Reals  # expected, of items that no stretch before it has

    def __len__(self) -> int:
        return len(self.first)

    def some(self, chosen: Flags) -> Stretches:
        """Some of them."""
        return Stretches(
            self.first[chosen], self.last[chosen], self.start[chosen], self.end[chosen], self.errors[chosen]
        )

    @property
    def seconds(self) -> Reals:
        """[stretches] of listening."""
        return self.end - self.start


def find_stretches(items: ReviewItems) -> Stretches:
    """Stretches that have all items with expected errors.

    A gap is heard as a whole with the words on both sides of it, so stretches begin and end with words, or at the
    ends of a segment.
    """
    start, end, track, is_gap = items.start, items.end, items.track, items.is_gap
    left, bought = items.errors, np.zeros(len(start), np.bool_)
    parts = []
    prices = _DEAREST * _FALL ** np.arange(np.ceil(np.log(_CHEAPEST / _DEAREST) / np.log(_FALL)))
    for price in [*prices.tolist(), 0.0]:
        if not left.any():
            break
        chosen = np.zeros(len(start), np.bool_)
        _choose(start, end, left, track, is_gap, price, CONTEXT, chosen)
        rows = np.empty((int(chosen.sum()), 5))
        count = _cut(start, end, left, track, is_gap, chosen, CONTEXT, LONGEST, bought, rows)
        left[bought] = 0.0
        parts.append(rows[:count])
    table = np.concatenate([np.empty((0, 5)), *parts])
    table = table[np.lexsort((table[:, 0], -table[:, 4] / np.maximum(table[:, 3] - table[:, 2], 1e-9)))]
    first, last = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    return Stretches(first, last, table[:, 2].copy(), table[:, 3].copy(), table[:, 4].copy())


@compiled
def _choose(
    start: Reals,
    end: Reals,
    errors: Reals,
    track: Offsets,
    is_gap: Flags,
    price: float,
    context: float,
    chosen: Flags,
) -> None:
    """Mark the words that are worth their price: a Viterbi search with two states, playing or not.

    A gap is gained by playing on from the word before it to the word after it; at the ends of a segment, with the
    word beside it.
    """
    came_in = np.empty(len(start), np.bool_)  # the best way to play a word begins with it
    came_out = np.empty(len(start), np.bool_)  # the best way not to play a word ends before it
    for t in range(len(track) - 1):
        playing, silent, before = -np.inf, 0.0, -1
        for j in range(track[t], track[t + 1]):
            if is_gap[j]:
                continue
            between = 0.0
            for i in range(max(before + 1, track[t]), j):
                between += errors[i]
            at_edge = errors[j - 1] if j - 1 >= track[t] and (before < 0 or j - before > 2) else 0.0
            after = errors[j + 1] if j + 1 < track[t + 1] and (j + 2 >= track[t + 1] or is_gap[j + 2]) else 0.0
            begin = silent + at_edge - price * (min(context, start[j]) + end[j] - start[j])
            go_on = -np.inf
            if before >= 0:
                # What the word before has gained at the end of its segment is not gained twice.
                twice = errors[before + 1] if j - before > 2 else 0.0
                go_on = playing + between - twice - price * (end[j] - end[before])
            stop = playing - price * context
            came_out[j] = stop > silent
            silent = max(silent, stop)
            came_in[j] = begin > go_on
            playing = max(begin, go_on) + errors[j] + after
            before = j
        _mark(track[t], track[t + 1], is_gap, came_in, came_out, playing - price * context > silent, chosen)


@inner
def _mark(
    first: int, last: int, is_gap: Flags, came_in: Flags, came_out: Flags, is_playing: bool, chosen: Flags
) -> None:
    """Follow the best way back; a gap is chosen with the words around it."""
    for j in range(last - 1, first - 1, -1):
        if is_gap[j]:
            continue
        chosen[j] = is_playing
        is_playing = not came_in[j] if is_playing else came_out[j]


@compiled
def _cut(
    start: Reals, end: Reals, errors: Reals, track: Offsets, is_gap: Flags, chosen: Flags, context: float,
    longest: float, bought: Flags, rows: Reals,
) -> int:  # fmt: skip
    """Make stretches of chosen words: not too long, with all items that are heard as a whole in their context."""
    count = 0
    for t in range(len(track) - 1):
        low, high = track[t], track[t + 1]
        j = low
        while j < high:
            if not chosen[j]:
                j += 1
                continue
            first, last = j, _last_of(j, high, start, end, is_gap, chosen, longest)
            begin, stop = max(0.0, start[first] - context), end[last] + context
            first, last = _heard(first, last, low, high, start, end, is_gap, begin, stop)
            gain = 0.0
            for i in range(first, last + 1):
                if not bought[i]:
                    gain += errors[i]
                    bought[i] = True
            if gain > 0.0:
                rows[count, 0], rows[count, 1], rows[count, 2], rows[count, 3], rows[count, 4] = (
                    first, last, begin, stop, gain,
                )  # fmt: skip
                count += 1
            j = last + 1
    return count


@inner
def _last_of(first: int, high: int, start: Reals, end: Reals, is_gap: Flags, chosen: Flags, longest: float) -> int:
    """The last word of a stretch that begins here."""
    last, j = first, first + 1
    while j < high and (is_gap[j] or chosen[j]) and end[j] - start[first] <= longest:
        if not is_gap[j]:
            last = j
        j += 1
    return last


@inner
def _heard(
    first: int, last: int, low: int, high: int, start: Reals, end: Reals, is_gap: Flags, begin: float, stop: float
) -> tuple[int, int]:
    """The items that are heard as a whole: words within the context, and gaps with a word at both ends, or none."""
    while first > low and start[first - 1] >= begin:
        first -= 1
    while last + 1 < high and end[last + 1] <= stop:
        last += 1
    if is_gap[first] and first > low and not is_gap[first - 1]:
        first += 1  # the word before it is not heard
    if is_gap[last] and last + 1 < high and not is_gap[last + 1]:
        last -= 1
    return first, last

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
from ...base.jit import compiled

CONTEXT = 0.5  # seconds that are played before and after
LONGEST = 15.0  # seconds of a stretch, without them
_DEAREST, _CHEAPEST, _FALL = 1.0, 1e-4, 0.8  # prices of a second, in errors

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

    @property
    def seconds(self) -> Reals:
        """[stretches] of listening."""
        return self.end - self.start


def find_stretches(start: Reals, end: Reals, errors: Reals, track: Offsets) -> Stretches:
    """Stretches that have all items with expected errors.

    `start` and `end` do not fall inside a track, and tracks (`track` has where each begins, and the end) are not
    played through: other files, or other channels.
    """
    left, bought = errors.copy(), np.zeros(len(errors), np.bool_)
    parts = []
    prices = _DEAREST * _FALL ** np.arange(np.ceil(np.log(_CHEAPEST / _DEAREST) / np.log(_FALL)))
    for price in [*prices.tolist(), 0.0]:
        if not left.any():
            break
        chosen = np.zeros(len(errors), np.bool_)
        _choose(start, end, left, track, price, CONTEXT, chosen)
        rows = np.empty((int(chosen.sum()), 5))
        count = _cut(start, end, left, track, chosen, CONTEXT, LONGEST, bought, rows)
        left[bought] = 0.0
        parts.append(rows[:count])
    table = np.concatenate([np.empty((0, 5)), *parts])
    table = table[np.lexsort((table[:, 0], -table[:, 4] / np.maximum(table[:, 3] - table[:, 2], 1e-9)))]
    first, last = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    return Stretches(first, last, table[:, 2].copy(), table[:, 3].copy(), table[:, 4].copy())


@compiled
def _choose(
    start: Reals, end: Reals, errors: Reals, track: Offsets, price: float, context: float, chosen: Flags
) -> None:
    """Mark the items that are worth their price: a Viterbi search with two states, playing or not."""
    came_in = np.empty(len(start), np.bool_)  # the best way to play an item begins with it
    came_out = np.empty(len(start), np.bool_)  # the best way not to play an item ends before it
    for t in range(len(track) - 1):
        playing, silent = -np.inf, 0.0
        for j in range(track[t], track[t + 1]):
            begin = silent - price * (min(context, start[j]) + end[j] - start[j])
            go_on = playing - price * (end[j] - end[j - 1]) if j > track[t] else -np.inf
            stop = playing - price * context
            came_out[j] = stop > silent
            silent = max(silent, stop)
            came_in[j] = begin > go_on
            playing = max(begin, go_on) + errors[j]
        is_playing = playing - price * context > silent
        for j in range(track[t + 1] - 1, track[t] - 1, -1):
            chosen[j] = is_playing
            is_playing = not came_in[j] if is_playing else came_out[j]


@compiled
def _cut(
    start: Reals, end: Reals, errors: Reals, track: Offsets, chosen: Flags, context: float, longest: float,
    bought: Flags, rows: Reals,
) -> int:  # fmt: skip
    """Make stretches of chosen items: not too long, with all items that are heard as a whole in their context."""
    count = 0
    for t in range(len(track) - 1):
        low, high = track[t], track[t + 1]
        j = low
        while j < high:
            if not chosen[j] or bought[j]:
                j += 1
                continue
            first = last = j
            while last + 1 < high and chosen[last + 1] and end[last + 1] - start[first] <= longest:
                last += 1
            while last > first and errors[last] == 0.0:  # nothing to gain at its end
                last -= 1
            begin, stop = max(0.0, start[first] - context), end[last] + context
            while first > low and start[first - 1] >= begin:
                first -= 1
            while last + 1 < high and end[last + 1] <= stop:
                last += 1
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

"""When words were said that a listener heard as others: letters of both are aligned, and times go with letters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..lattices.lattice import Ints, Times
from .word_matching import NOWHERE, best_alignment

_MOST_PAIRS = 1 << 22  # pairs of letters that are aligned; more have no text in common
_ROOM = 3  # times as many letters: more were heard than these words can be
_AT_AN_EDGE = 1e-6  # letters: a word begins just after the end of the one before it


def times_beside(words: Sequence[str], heard: Sequence[str], start: Times, end: Times) -> tuple[Times, Times]:
    """Times of words by those of what was heard in their place, `start` and `end`.

    Letters that both have are at the same time, and others between these. Where much more was heard than there are
    words, those that look like nothing of it keep to its ends.
    """
    edges, edges_heard = _edges(words), _edges(heard)
    known = np.stack([edges_heard[:-1] + _AT_AN_EDGE, edges_heard[1:] - _AT_AN_EDGE], 1).ravel()
    times = np.maximum.accumulate(np.stack([start, end], 1).ravel())
    at, at_heard = _same_letters(words, heard)
    if len(at):
        at, at_heard = _to_the_ends(at, at_heard, float(edges[-1]), float(edges_heard[-1]))
        starts, ends = np.interp(edges[:-1], at, at_heard), np.interp(edges[1:], at, at_heard)
    else:
        starts, ends = shared_by_letters(np.diff(edges).tolist(), 0.0, float(edges_heard[-1]), 1.0)
    starts, ends = np.interp(starts + _AT_AN_EDGE, known, times), np.interp(ends - _AT_AN_EDGE, known, times)
    return starts, np.maximum(starts, ends)


def shared_by_letters(letters: Sequence[float], first: float, last: float, most: float) -> tuple[Times, Times]:
    """Starts and ends of words that share a span by letters; where it has more room than that, at its two ends.

    A letter takes `most` then.
    """
    shares = np.concatenate([[0.0], np.cumsum(np.maximum(letters, 1))])
    needed = most * shares[-1]
    if last - first <= _ROOM * needed:
        edges = first + (last - first) * shares / shares[-1]
        return edges[:-1], edges[1:]
    at_first = np.arange(len(letters)) < int(np.searchsorted(shares, shares[-1] / 2))
    edges, edges_last = first + most * shares, last - needed + most * shares
    return np.where(at_first, edges[:-1], edges_last[:-1]), np.where(at_first, edges[1:], edges_last[1:])


def _edges(words: Sequence[str]) -> Times:
    """[words + 1] how many letters are before each."""
    return np.cumsum([0, *(max(1, len(word)) for word in words)]).astype(np.float64)


def _same_letters(words: Sequence[str], heard: Sequence[str]) -> tuple[Times, Times]:
    """Places that are the same in both rows of letters: before and after each letter that they share."""
    ours, theirs = _codes(words), _codes(heard)
    partner = np.full(len(ours), NOWHERE, np.int64)
    if len(ours) * len(theirs) <= _MOST_PAIRS:
        best_alignment(ours, theirs, partner)
    same = np.flatnonzero(partner >= 0)
    places = np.stack([same, same + 1], 1).ravel(), np.stack([partner[same], partner[same] + 1], 1).ravel()
    return places[0].astype(np.float64), places[1].astype(np.float64)


def _codes(words: Sequence[str]) -> Ints:
    text = "".join(word or " " for word in words)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)


def _to_the_ends(at: Times, at_heard: Times, last: float, last_heard: float) -> tuple[Times, Times]:
    """The places with the first and the last ones: the ends of what was heard, if they are not too far."""
    first = 0.0 if at_heard[0] <= _ROOM * (at[0] + 1) else at_heard[0] - at[0]
    end = last_heard if last_heard - at_heard[-1] <= _ROOM * (last - at[-1] + 1) else at_heard[-1] + last - at[-1]
    return np.concatenate([[0.0], at, [last]]), np.concatenate([[first], at_heard, [end]])

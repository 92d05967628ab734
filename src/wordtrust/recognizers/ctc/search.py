"""CTC: the likeliest label sequences by prefix beam search, their exact probabilities, and when each label is said.

A CTC model gives every frame a probability for each label and for "no label", the blank. A sequence is said by every
row of frames that gives it once equal neighbours are merged and blanks dropped; its probability is the sum over them.
All probabilities are natural logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.jit import compiled, inlined

Reals = NDArray[np.float64]
Labels = NDArray[np.int64]

_NEVER = -np.inf
_WINDOW = 100.0  # what is less likely than e ** -100 of the likeliest place in a sequence is left out of sums


def prefix_beam_search(frames: Reals, blank: int, labels: Labels, *, beam: int, cut: float) -> list[Labels]:
    """The likeliest sequences of `labels`, at most `beam` of them, the best first.

    `frames` is [frames, all labels]. Labels less likely than `cut` do not start in a frame. What a beam drops is
    lost for the sums that order the sequences: `score` has the exact ones.
    """
    prefixes = _Prefixes()
    column = np.full(frames.shape[1], -1)  # of a label among those that may start in the frame
    node, blanks, spoken = np.zeros(1, np.int64), np.zeros(1), np.full(1, _NEVER)  # log P, ending in a blank or not
    for frame in frames:
        near = labels[frame[labels] >= cut]
        column[near] = np.arange(len(near))
        last = prefixes.label[node]
        either = np.logaddexp(blanks, spoken)
        stay = np.where(last >= 0, spoken + frame[last], _NEVER)
        onward = np.where(last[:, None] == near, blanks[:, None], either[:, None]) + frame[near]
        # A prefix that is in the beam may also come from one in the beam that is a label shorter.
        place, found = _places(node, prefixes.parent[node])
        grown = np.flatnonzero(found & (last >= 0) & (column[last] >= 0))
        ways = (place[grown], column[last[grown]])
        stay[grown] = np.logaddexp(stay[grown], onward[ways])
        onward[ways] = _NEVER
        column[near] = -1
        blanks = either + frame[blank]
        chosen = _best(np.concatenate([np.logaddexp(blanks, stay), onward.ravel()]), beam)
        old, new = chosen[chosen < len(node)], chosen[chosen >= len(node)] - len(node)
        started = prefixes.longer(node[new // max(1, len(near))], near[new % max(1, len(near))])
        blanks = np.concatenate([blanks[old], np.full(len(new), _NEVER)])
        spoken = np.concatenate([stay[old], onward.ravel()[new]])
        node = np.concatenate([node[old], started])
    order = np.argsort(-np.logaddexp(blanks, spoken), kind="stable")
    return [prefixes.labels(number) for number in node[order].tolist()]


def _places(node: Labels, wanted: Labels) -> tuple[Labels, NDArray[np.bool_]]:
    """Where each wanted node stands among `node`, and whether it is there at all."""
    order = np.argsort(node)
    place = order[np.minimum(np.searchsorted(node, wanted, sorter=order), len(node) - 1)]
    return place, node[place] == wanted


def _best(scores: Reals, count: int) -> Labels:
    """The places of the largest scores, impossible ones left out."""
    few = len(scores) <= count
    chosen = np.arange(len(scores)) if few else np.argpartition(-scores, count - 1)[:count]
    return chosen[scores[chosen] > _NEVER]


class _Prefixes:
    """All prefixes that ever were in the beam: each is its parent and one more label. Number 0 is the empty one."""

    def __init__(self) -> None:
        self.parent, self.label = np.full(1024, -1), np.full(1024, -1)
        self._numbers: dict[tuple[int, int], int] = {}

    def longer(self, parents: Labels, labels: Labels) -> Labels:
        """The numbers of prefixes with one more label; the same prefix always has the same number."""
        numbers = self._numbers
        found = [
            numbers.setdefault(pair, len(numbers) + 1) for pair in zip(parents.tolist(), labels.tolist(), strict=True)
        ]
        made = np.array(found, np.int64)
        while len(numbers) >= len(self.parent):
            self.parent, self.label = (np.concatenate([each, np.full(len(each), -1)]) for each in self._columns())
        self.parent[made], self.label[made] = parents, labels
        return made

    def labels(self, number: int) -> Labels:
        """The labels of a prefix."""
        found = []
        while number:
            found.append(self.label[number])
            number = self.parent[number]
        return np.array(found[::-1], np.int64)

    def _columns(self) -> tuple[Labels, Labels]:
        return self.parent, self.label


@dataclass(frozen=True, slots=True)
class Score:
    """The log-probability of a sequence as a chain: of each label after those before it, and of the end."""

    labels: Reals
    end: float

    @property
    def total(self) -> float:
        """Of the whole sequence."""
        return float(self.labels.sum() + self.end)


def score(frames: Reals, blank: int, labels: Labels) -> Score:
    """How likely a sequence is. Rows of `frames` must be probabilities that sum to 1."""
    starts, total = _prefix_sums(frames, blank, labels, _WINDOW)
    if total == _NEVER:  # all that counts was outside the window
        starts, total = _prefix_sums(frames, blank, labels, np.inf)
    if total == _NEVER:
        raise ValueError(f"{len(labels)} labels do not fit into {len(frames)} frames")
    chain = np.diff(starts, prepend=0.0)
    return Score(np.minimum(chain, 0.0), min(total - float(starts[-1] if len(starts) else 0.0), 0.0))


@inlined
def _add(one: float, other: float) -> float:
    """The logarithm of a sum."""
    if one < other:
        one, other = other, one
    return one if other == -np.inf else one + np.log1p(np.exp(other - one))


@compiled
def _prefix_sums(frames: Reals, blank: int, labels: Labels, window: float) -> tuple[Reals, float]:
    """The log-probability that what is said starts with the first 1, 2, ... labels; that it is all of them.

    The first sums the ways to say label n for the first time in some frame: whatever follows has probability 1.
    """
    count = len(labels)
    starts = np.full(count, -np.inf)
    spoken, blanks = np.full(count + 1, -np.inf), np.full(count + 1, -np.inf)  # after n labels: in one, in a blank
    blanks[0] = 0.0
    low, high = 0, 0  # all else is impossible
    for frame in frames:
        high, top = min(count, high + 1), -np.inf
        for n in range(high, low - 1, -1):  # from the end: each reads what the frame before left in n and n - 1
            rest = _add(blanks[n], spoken[n]) + frame[blank]
            if n:
                label = labels[n - 1]
                before = blanks[n - 1]
                if n > 1 and labels[n - 2] != label:
                    before = _add(before, spoken[n - 1])
                begins = before + frame[label]
                starts[n - 1] = _add(starts[n - 1], begins)
                spoken[n] = _add(spoken[n] + frame[label], begins)
            blanks[n] = rest
            top = max(top, blanks[n], spoken[n])
        while low < high and max(blanks[low], spoken[low]) < top - window:
            blanks[low] = spoken[low] = -np.inf
            low += 1
        while high > low and max(blanks[high], spoken[high]) < top - window:
            blanks[high] = spoken[high] = -np.inf
            high -= 1
    return starts, _add(blanks[count], spoken[count])


def align(frames: Reals, blank: int, labels: Labels) -> tuple[Labels, Labels]:
    """The first frame of each label and the one after its last, on the likeliest row of frames that says them all."""
    first, end = np.zeros(len(labels), np.int64), np.zeros(len(labels), np.int64)
    if len(labels) and not _align(frames, blank, labels, first, end):
        raise ValueError(f"{len(labels)} labels do not fit into {len(frames)} frames")
    return first, end


@compiled
def _align(frames: Reals, blank: int, labels: Labels, first: Labels, end: Labels) -> bool:
    """Viterbi over blank, label, blank, label, ..., blank; False if there is no way."""
    states = 2 * len(labels) + 1
    best = np.full(states, -np.inf)
    back = np.zeros((len(frames), states), np.int8)  # how many states each came from before
    for t in range(len(frames)):
        for state in range(states - 1, -1, -1):
            label = labels[state // 2] if state % 2 else blank
            top, step = best[state], 0
            if state >= 1 and best[state - 1] > top:
                top, step = best[state - 1], 1
            if state >= 3 and state % 2 and labels[state // 2 - 1] != label and best[state - 2] > top:
                top, step = best[state - 2], 2
            if t == 0:
                top = 0.0 if state <= 1 else -np.inf
            best[state] = top + frames[t, label]
            back[t, state] = step
    state = states - 1 if best[states - 1] >= best[states - 2] else states - 2
    if best[state] == -np.inf:
        return False
    for t in range(len(frames) - 1, -1, -1):
        if state % 2:
            if end[state // 2] == 0:
                end[state // 2] = t + 1
            first[state // 2] = t
        state -= back[t, state]
    return True

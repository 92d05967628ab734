"""CTC prefix beam search: the most probable label sequences, their exact probabilities, and N-best records.

A CTC model gives every frame a probability for each label and for "no label", the blank. A frame-by-frame path stands
for the sequence that is left when equal neighbours are merged and blanks dropped; the probability of a sequence is
the sum over its paths. All probabilities are natural logarithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.jit import compiled, inlined
from ..base import NBestRecord
from ..nbest import HypothesisWord, NBestHypothesis, RecognizerNBest, TokenEvidence
from .alphabet import Alphabet, Labels

Reals = NDArray[np.float64]

_IMPOSSIBLE = -np.inf
_WINDOW = 100.0  # states less probable than e ** -100 of the most probable one are left out of sums


@dataclass(slots=True)
class _LabelHypothesis:
    labels: Labels
    score: SequenceScore
    words: list[tuple[str, int, int]]
    total: float  # of all sequences with these words


def nbest(
    frames: Reals, alphabet: Alphabet, *, beam: int, cut: float, hypotheses: int, seconds: float, step: float
) -> NBestRecord:
    """The N-best record of `seconds` of audio, of which each row of `frames` (log-probabilities) covers `step`."""
    sequences = prefix_beam_search(frames, alphabet.blank, alphabet.spoken, beam=beam, cut=cut)
    best = _merge(frames, alphabet, sequences)[:hypotheses]
    members = [_nbest_hypothesis(frames, alphabet, hypothesis, seconds, step) for hypothesis in best]
    return RecognizerNBest(
        members, duration=seconds, empty_logprob=float(frames[:, alphabet.blank].sum())
    ).to_record()


def _merge(frames: Reals, alphabet: Alphabet, sequences: Sequence[Labels]) -> list[_LabelHypothesis]:
    """Hypotheses that differ in words, the most probable first; sequences with the same words add up."""
    merged: dict[tuple[str, ...], _LabelHypothesis] = {}
    for labels in sequences:
        of_labels = score(frames, alphabet.blank, labels)
        hypothesis = _LabelHypothesis(labels, of_labels, alphabet.words(labels), of_labels.total)
        key = tuple(word for word, _, _ in hypothesis.words)
        other = merged.get(key)
        if other is not None:
            total = float(np.logaddexp(hypothesis.total, other.total))
            hypothesis = max(hypothesis, other, key=lambda one: one.score.total)
            hypothesis.total = total
        merged[key] = hypothesis
    return sorted(merged.values(), key=lambda hypothesis: -hypothesis.total)


def _nbest_hypothesis(
    frames: Reals, alphabet: Alphabet, hypothesis: _LabelHypothesis, seconds: float, step: float
) -> NBestHypothesis:
    first, end = align(frames, alphabet.blank, hypothesis.labels)
    is_letter = [label != alphabet.delimiter for label in hypothesis.labels.tolist()]
    words = []
    for word, begin, stop in hypothesis.words:
        letters = [index for index in range(begin, stop) if is_letter[index]]
        words.append(
            HypothesisWord(
                word,
                start=round(min(float(first[letters[0]]) * step, seconds), 4),
                end=round(min(float(end[letters[-1]]) * step, seconds), 4),
                logprob=float(hypothesis.score.labels[begin:stop].sum()),
                tokens=stop - begin,
            )
        )
    return NBestHypothesis(
        score=hypothesis.total,
        text=" ".join(word for word, _, _ in hypothesis.words),
        words=words,
        avg_logprob=hypothesis.total / (len(hypothesis.labels) + 1),
        eot_logprob=hypothesis.score.end,
        token_logprobs=hypothesis.score.labels.tolist(),
        **label_evidence(frames, hypothesis.labels, first, end).to_fields(),
    )


def label_evidence(frames: Reals, labels: Labels, first: Labels, end: Labels) -> TokenEvidence:
    """Of each label in the frame where it is most probable, among those from its `first` to before its `end`.

    A frame's distribution is all that a CTC model chooses from; the blank is one of the others.
    """
    spans = zip(labels.tolist(), first.tolist(), end.tolist(), strict=True)
    peaks = np.array([begin + int(frames[begin:stop, label].argmax()) for label, begin, stop in spans], np.int64)
    chosen, index = frames[peaks], np.arange(len(labels))
    own = chosen[index, labels]
    ranks = np.count_nonzero(chosen > own[:, None], axis=1)
    chosen[index, labels] = _IMPOSSIBLE
    others = chosen.max(axis=1, initial=_IMPOSSIBLE)
    chosen[index, labels] = own
    entropies = -(np.exp(chosen) * np.maximum(chosen, np.finfo(np.float64).min)).sum(axis=1)
    return TokenEvidence(entropies, ranks, own - others)


def prefix_beam_search(frames: Reals, blank: int, labels: Labels, *, beam: int, cut: float) -> list[Labels]:
    """The most probable sequences of `labels`, at most `beam` of them, the best first.

    `frames` is [frames, all labels]. Labels less probable than `cut` do not start in a frame. What the beam drops is
    missing from the sums that order the sequences: `score` has the exact ones.
    """
    prefixes = _Prefixes()
    column = np.full(frames.shape[1], -1)  # of each label among those that may start in the frame
    # The prefixes in the beam, and their log-probabilities of ending in a blank and in a label.
    node, blanks, spoken = np.zeros(1, np.int64), np.zeros(1), np.full(1, _IMPOSSIBLE)
    for frame in frames:
        near = labels[frame[labels] >= cut]
        column[near] = np.arange(len(near))
        last = prefixes.label[node]
        either = np.logaddexp(blanks, spoken)
        stay = np.where(last >= 0, spoken + frame[last], _IMPOSSIBLE)
        onward = np.where(last[:, None] == near, blanks[:, None], either[:, None]) + frame[near]
        # A prefix that is in the beam may also come from one in the beam that is a label shorter.
        parent, is_present = _indices_of(node, prefixes.parent[node])
        grown = np.flatnonzero(is_present & (last >= 0) & (column[last] >= 0))
        cells = (parent[grown], column[last[grown]])
        stay[grown] = np.logaddexp(stay[grown], onward[cells])
        onward[cells] = _IMPOSSIBLE
        column[near] = -1
        blanks = either + frame[blank]
        chosen = _best(np.concatenate([np.logaddexp(blanks, stay), onward.ravel()]), beam)
        old, new = chosen[chosen < len(node)], chosen[chosen >= len(node)] - len(node)
        started = prefixes.longer(node[new // max(1, len(near))], near[new % max(1, len(near))])
        blanks = np.concatenate([blanks[old], np.full(len(new), _IMPOSSIBLE)])
        spoken = np.concatenate([stay[old], onward.ravel()[new]])
        node = np.concatenate([node[old], started])
    order = np.argsort(-np.logaddexp(blanks, spoken), kind="stable")
    return [prefixes.labels(prefix) for prefix in node[order].tolist()]


def _indices_of(node: Labels, wanted: Labels) -> tuple[Labels, NDArray[np.bool_]]:
    """The index of each wanted node in `node`, and whether it is there at all."""
    order = np.argsort(node)
    index = order[np.minimum(np.searchsorted(node, wanted, sorter=order), len(node) - 1)]
    return index, node[index] == wanted


def _best(scores: Reals, count: int) -> Labels:
    """The indices of the largest scores, without impossible ones."""
    chosen = np.arange(len(scores)) if len(scores) <= count else np.argpartition(-scores, count - 1)[:count]
    return chosen[scores[chosen] > _IMPOSSIBLE]


class _Prefixes:
    """All prefixes that ever were in the beam: each is its parent and one more label. Prefix 0 is the empty one."""

    def __init__(self) -> None:
        self.parent, self.label = np.full(1024, -1), np.full(1024, -1)
        self._ids: dict[tuple[int, int], int] = {}

    def longer(self, parents: Labels, labels: Labels) -> Labels:
        """The ids of prefixes with one more label; the same prefix always has the same id."""
        pairs = zip(parents.tolist(), labels.tolist(), strict=True)
        ids = np.array([self._ids.setdefault(pair, len(self._ids) + 1) for pair in pairs], np.int64)
        while len(self._ids) >= len(self.parent):
            self.parent, self.label = (
                np.concatenate([column, np.full(len(column), -1)]) for column in (self.parent, self.label)
            )
        self.parent[ids], self.label[ids] = parents, labels
        return ids

    def labels(self, prefix: int) -> Labels:
        """The labels of a prefix."""
        labels = []
        while prefix:
            labels.append(self.label[prefix])
            prefix = self.parent[prefix]
        return np.array(labels[::-1], np.int64)


@dataclass(frozen=True, slots=True)
class SequenceScore:
    """The log-probability of a sequence as a chain: of each label after those before it, and of the end."""

    labels: Reals
    end: float

    @property
    def total(self) -> float:
        """Of the whole sequence."""
        return float(self.labels.sum() + self.end)


def score(frames: Reals, blank: int, labels: Labels) -> SequenceScore:
    """The exact probability of a sequence. Rows of `frames` must be probabilities that sum to 1."""
    chain = prefix_chain(frames, blank, labels)
    if chain.total == _IMPOSSIBLE:
        raise ValueError(f"{len(labels)} labels do not fit into {len(frames)} frames")
    return chain


def prefix_chain(frames: Reals, blank: int, labels: Labels) -> SequenceScore:
    """The same; from the first label on that does not fit into the frames, minus infinity."""
    starts, total = _prefix_sums(frames, blank, labels, _WINDOW)
    if total == _IMPOSSIBLE:  # every path was outside the window
        starts, total = _prefix_sums(frames, blank, labels, np.inf)
    fits = starts > _IMPOSSIBLE
    chain = np.full(len(labels), _IMPOSSIBLE)
    chain[fits] = np.minimum(np.diff(starts[fits], prepend=0.0), 0.0)
    end = min(total - float(starts[-1] if len(starts) else 0.0), 0.0) if fits.all() else _IMPOSSIBLE
    return SequenceScore(chain, end)


@inlined
def _add(one: float, other: float) -> float:
    """The logarithm of a sum."""
    if one < other:
        one, other = other, one
    return one if other == -np.inf else one + np.log1p(np.exp(other - one))


@compiled
def _prefix_sums(frames: Reals, blank: int, labels: Labels, window: float) -> tuple[Reals, float]:
    """The log-probabilities that the sequence starts with the first 1, 2, ... labels, and that it is all of them.

    The former sum over the frames in which label n may start: whatever follows has probability 1.
    """
    count = len(labels)
    starts = np.full(count, -np.inf)
    # Log-probabilities of having seen n labels, and of being in the last one or in a blank.
    spoken, blanks = np.full(count + 1, -np.inf), np.full(count + 1, -np.inf)
    blanks[0] = 0.0
    low, high = 0, 0  # all other n are impossible
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
    """The first frame of each label and the one after its last, on the most probable path of the sequence."""
    first, end = np.zeros(len(labels), np.int64), np.zeros(len(labels), np.int64)
    if len(labels) and not _align(frames, blank, labels, first, end):
        raise ValueError(f"{len(labels)} labels do not fit into {len(frames)} frames")
    return first, end


@compiled
def _align(frames: Reals, blank: int, labels: Labels, first: Labels, end: Labels) -> bool:
    """Viterbi over blank, label, blank, label, ..., blank; False if there is no path."""
    states = 2 * len(labels) + 1
    best = np.full(states, -np.inf)
    back = np.zeros((len(frames), states), np.int8)  # how many states back each came from
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

"""What every recognizer says about every arc of a union: how sure it is of that word there, and of what else.

Two arcs are about the same word if they carry it and overlap by half of the shorter one, because recognizers cut the
same word at different instants. What a recognizer considers possible in the middle of an arc is evidence against it;
but a word that is spelled alike is also evidence for it, because a recognizer that lacks a word writes one that
sounds like it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base.jit import compiled, inlined, inner
from ...lattices.lattice import Flags, Floats, Ints, Offsets, Times
from .hypotheses import MAX_LETTERS, Codes
from .union import JointLattice, separate_times

MIN_DURATION = 0.01  # seconds that an arc has at least when arcs are compared


class Evidence(NamedTuple):
    """[arcs, recognizers] each. Of silence arcs, `word` is the mass of silence."""

    word: Floats  # confidence of the arc's word there, however it is segmented
    rival: Floats  # the largest confidence of another word there
    words: Floats  # confidence of all words there together
    silence: Floats  # mass of silence there
    in_output: Floats  # whether the word is in the recognizer's output
    posterior: Floats  # the word's posterior
    arc: Floats  # confidence of the word with just these ends
    spelling_similarity: Floats  # how alike the recognizer's words there are spelled, weighted by confidence
    output_similarity: Floats  # how alike its output there is spelled
    in_one_best: Floats  # whether the word is in the recognizer's own 1-best
    mean_confidence: Floats  # mean confidence of the recognizer in its output, the same for a whole utterance
    peer_confidence: Floats  # mean confidence of the other recognizers in that output


def evidence(union: JointLattice) -> Evidence:
    """Gather what every recognizer says about every arc."""
    lattices, shape = union.lattices, union.confidence.shape
    gathered = Evidence(*(np.zeros(shape, np.float32) for _ in Evidence._fields))
    gathered.arc[:] = union.confidence
    _gather(
        lattices.node_offsets, lattices.arc_offsets, separated_times(union), lattices.source, lattices.target,
        lattices.word, *_holders(union), union.confidence, union.posterior, union.in_output, union.in_one_best,
        union.letters.code, union.letters.offsets, gathered,
    )  # fmt: skip
    for values in gathered:
        np.minimum(values, np.float32(1.0), out=values)
    _fill_utterance_confidences(union, gathered)
    return gathered


def separated_times(union: JointLattice) -> Times:
    """The times of nodes, no two of an utterance the same."""
    time = union.lattices.time.copy()
    separate_times(union.lattices.node_offsets, time, MIN_DURATION)
    return time


def _holders(union: JointLattice) -> tuple[Offsets, Offsets]:
    """[arcs] the first recognizer that has each arc, and the one after the last."""
    holds = (union.confidence > 0) | (union.posterior > 0) | union.in_output | union.in_one_best
    first = holds.argmax(axis=1).astype(np.int64)
    end = holds.shape[1] - holds[:, ::-1].argmax(axis=1).astype(np.int64)
    return first, np.where(holds.any(axis=1), end, first)


def _fill_utterance_confidences(union: JointLattice, gathered: Evidence) -> None:
    """`mean_confidence` and `peer_confidence`: over the words of an output and half a word of confidence 0.5."""
    lattices, systems = union.lattices, union.in_output.shape[1]
    owner = lattices.utterance_of_arc
    others = (gathered.word.sum(axis=1, keepdims=True) - gathered.word) / max(1, systems - 1)
    for system in range(systems):
        in_output = union.in_output[:, system] & (lattices.word > 0)
        count = np.bincount(owner[in_output], minlength=len(lattices)) + 0.5
        for mean, values in ((gathered.mean_confidence, gathered.word), (gathered.peer_confidence, others)):
            total = np.bincount(owner[in_output], values[in_output, system], len(lattices)) + 0.25
            mean[:, system] = (total / count)[owner]


@inner
def _spelling_similarity(code: Codes, offsets: Offsets, one: int, other: int, row: Offsets) -> float:
    """1 for the same word, 0 for words without a letter in common: 1 - edit distance / letters of the longer one.

    `row` has room for the letters of a word and one more.
    """
    first, second = offsets[one], offsets[other]
    rows, columns = offsets[one + 1] - first, offsets[other + 1] - second
    for column in range(columns + 1):
        row[column] = column
    for line in range(rows):
        corner = row[0]
        row[0] = line + 1
        for column in range(columns):
            above = row[column + 1]
            changed = corner + (code[first + line] != code[second + column])
            row[column + 1] = min(changed, row[column] + 1, above + 1)
            corner = above
    return float(1.0 - row[columns] / max(rows, columns, 1))


@compiled
def _gather(node_offsets: Offsets, arc_offsets: Offsets, time: Times, source: Ints, target: Ints, word: Ints,
            first: Offsets, end_system: Offsets, confidence: Floats, posterior: Floats, in_output: Flags,
            in_one_best: Flags, code: Codes, letters: Offsets, out: Evidence) -> None:  # fmt: skip
    row = np.empty(MAX_LETTERS + 1, np.int64)
    for u in range(len(node_offsets) - 1):
        n0, a0, a1 = node_offsets[u], arc_offsets[u], arc_offsets[u + 1]
        overlapping = a0  # arcs are sorted by source, so those before this one end before any later arc starts
        for arc in range(a0, a1):
            start, end = time[n0 + source[arc]], time[n0 + target[arc]]
            middle = (start + end) / 2
            while time[n0 + target[overlapping]] <= start:
                overlapping += 1
            for other in range(overlapping, a1):
                begin, finish = time[n0 + source[other]], time[n0 + target[other]]
                if begin >= end:
                    break
                common = min(end, finish) - max(start, begin)
                if common <= 0:
                    continue
                same = word[other] == word[arc] and 2 * common >= min(end - start, finish - begin)
                across = begin <= middle < finish
                similarity = 1.0
                if across and word[arc] != word[other] and word[other] > 0:
                    similarity = _spelling_similarity(code, letters, word[arc], word[other], row)
                for system in range(first[other], end_system[other]):
                    value = confidence[other, system]
                    if same:
                        out.word[arc, system] += value
                        out.in_output[arc, system] += in_output[other, system]
                        out.posterior[arc, system] += posterior[other, system]
                        out.in_one_best[arc, system] += in_one_best[other, system]
                    if across and word[other] == 0:
                        out.silence[arc, system] += value
                    elif across:
                        _add_word(out, arc, system, value, similarity, same, in_output[other, system])


@inlined
def _add_word(
    out: Evidence, arc: int, system: int, value: float, similarity: float, same: bool, in_output: bool
) -> None:
    """Count a word in the middle of an arc."""
    out.words[arc, system] += value
    out.spelling_similarity[arc, system] += value * similarity
    if in_output:
        out.output_similarity[arc, system] = max(out.output_similarity[arc, system], similarity)
    if not same:
        out.rival[arc, system] = max(out.rival[arc, system], value)

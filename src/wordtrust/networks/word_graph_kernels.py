"""The kernels of `word_graph`: the least costly alignment of two graphs, ties decided as sclite does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.jit import compiled, inlined, inner
from ..lattices.lattice import Flags, Ints, Offsets

NO_WORD_FLAG, OPTIONAL_FLAG, UNKNOWN_FLAG = 1, 2, 4

_SUBSTITUTION, _INDEL, _OPTIONAL, _NO_WORD, _BOTH_NO_WORD = 4000, 3000, 2000, 1, 1000
_PAIR, _DELETION, _INSERTION = 0, 1, 2
_MANY = 2**30

Marks = NDArray[np.uint8]
Steps = NDArray[np.uint16]


@inner
def _gap(flags: int) -> int:
    """What leaving out a word costs."""
    if flags & NO_WORD_FLAG:
        return _NO_WORD
    return _OPTIONAL if flags & OPTIONAL_FLAG else _INDEL


@inner
def _is_right(word: int, flags: int, other: int, also: Ints, arc: int) -> bool:
    if word == other:
        return not flags & UNKNOWN_FLAG
    for k in range(len(also)):  # noqa: SIM110  # numba has no `any`
        if also[k] == arc:
            return True
    return False


@inlined
def _least(costs: Ints, arcs: Ints, first: int, last: int) -> tuple[int, int]:
    """The least cost among some arcs, and which of them has it first."""
    least, which = _MANY, 0
    for i in range(first, last):
        if costs[arcs[i]] < least:
            least, which = costs[arcs[i]], i - first
    return least, which


@inlined
def _pair_cost(word: int, flags: int, other: int, other_flags: int, also: Ints, arc: int, beside_nothing: int) -> int:
    if flags & other_flags & NO_WORD_FLAG:
        return _BOTH_NO_WORD
    if (flags | other_flags) & NO_WORD_FLAG:
        return beside_nothing
    return 0 if _is_right(word, flags, other, also, arc) else _SUBSTITUTION


@inner
def _fill_row(a: int, cost: Ints, slot: Ints, before: Ints, first: int, last: int, word: int, flags: int, also: Ints,
              word_b: Ints, flags_b: Marks, before_offsets_b: Offsets, before_b: Ints,
              beside_nothing: int, steps: Steps) -> None:  # fmt: skip
    """The least cost of reaching arc a together with each arc b, and the step that it is reached by.

    The costs of an arc are in the row of `cost` that `slot` says. A step is its kind, and which of the arcs before
    either it comes from.
    """
    own = cost[slot[a]]
    for b in range(len(word_b)):
        first_b, last_b = before_offsets_b[b], before_offsets_b[b + 1]
        delete, pair, delete_from, pair_from, pair_from_b = _MANY, _MANY, 0, 0, 0
        for i in range(first, last):
            row = cost[slot[before[i]]]
            if row[b] < delete:
                delete, delete_from = row[b], i - first
            least, which = _least(row, before_b, first_b, last_b)
            if least < pair:
                pair, pair_from, pair_from_b = least, i - first, which
        insert, insert_from = _least(own, before_b, first_b, last_b)
        delete += _gap(flags)
        insert += _gap(flags_b[b])
        if pair < _MANY:
            pair += _pair_cost(word, flags, word_b[b], flags_b[b], also, b, beside_nothing)
        if pair <= delete and pair <= insert:
            own[b], steps[b] = pair, _PAIR | pair_from << 2 | pair_from_b << 9
        elif delete < insert:
            own[b], steps[b] = delete, _DELETION | delete_from << 2
        else:
            own[b], steps[b] = insert, _INSERTION | insert_from << 9
        if a == 0 and b == 0:
            own[0] = 0


@inner
def _fill(word: Ints, flags: Marks, before_offsets: Offsets, before: Ints, word_b: Ints, flags_b: Marks,
          before_offsets_b: Offsets, before_b: Ints, also_offsets: Offsets, also: Ints, slot: Ints, cost: Ints,
          beside_nothing: int, steps: Steps) -> None:  # fmt: skip
    """The rows of all arcs of the reference."""
    size = len(word_b)
    for a in range(len(word)):
        _fill_row(
            a, cost, slot, before, before_offsets[a], before_offsets[a + 1], word[a], flags[a],
            also[also_offsets[a] : also_offsets[a + 1]], word_b, flags_b, before_offsets_b, before_b,
            beside_nothing, steps[a * size : (a + 1) * size],
        )  # fmt: skip


@inner
def _slots(before_offsets: Offsets, before: Ints, ends: Ints, size: int, slot: Ints) -> int:
    """Give each arc a row for its costs, which another takes over when no later arc needs it; gives how many rows."""
    until = np.zeros(size, np.int32)
    for a in range(size):
        for i in range(before_offsets[a], before_offsets[a + 1]):
            until[before[i]] = a
    for i in range(len(ends)):
        until[ends[i]] = size
    free, count, rows = np.empty(size + 1, np.int32), 0, 0
    due = np.full(size + 1, -1, np.int32)  # for each arc, the last of those whose rows are free after it
    chain = np.full(size, -1, np.int32)
    for a in range(size):
        if count == 0:
            slot[a], rows = rows, rows + 1
        else:
            count -= 1
            slot[a] = free[count]
        last = max(until[a], a)
        chain[a], due[last] = due[last], a
        done = due[a]
        while done >= 0:
            free[count] = slot[done]
            count += 1
            done = chain[done]
    return rows


@inner
def _walk(a: int, b: int, word: Ints, flags: Marks, before_offsets: Offsets, before: Ints, word_b: Ints,
          flags_b: Marks, before_offsets_b: Offsets, before_b: Ints, also_offsets: Offsets, also: Ints,
          keep_nothing: bool, steps: Steps, first: int, reference: Ints, hypothesis: Ints,
          correct: Flags) -> int:  # fmt: skip
    """Write the steps back from a pair of arcs, the last one first; gives the end of what was written."""
    size, end = len(word_b), first
    while a > 0 or b > 0:
        step = steps[a * size + b]
        kind, from_a, from_b = step & 3, (step >> 2) & 127, step >> 9
        is_no_word = (kind != _INSERTION and flags[a] & NO_WORD_FLAG != 0) or (
            kind != _DELETION and flags_b[b] & NO_WORD_FLAG != 0
        )
        if keep_nothing or not is_no_word:
            reference[end] = -1 if kind == _INSERTION else a
            hypothesis[end] = -1 if kind == _DELETION else b
            if kind == _PAIR:
                others = also[also_offsets[a] : also_offsets[a + 1]]
                correct[end] = _is_right(word[a], flags[a], word_b[b], others, b)
            else:
                correct[end] = (flags[a] if kind == _DELETION else flags_b[b]) & OPTIONAL_FLAG != 0
            end += 1
        if kind != _INSERTION:
            a = before[before_offsets[a] + from_a]
        if kind != _DELETION:
            b = before_b[before_offsets_b[b] + from_b]
    return end


@inner
def _reverse(first: int, end: int, reference: Ints, hypothesis: Ints, correct: Flags) -> None:
    last = end - 1
    while first < last:
        reference[first], reference[last] = reference[last], reference[first]
        hypothesis[first], hypothesis[last] = hypothesis[last], hypothesis[first]
        correct[first], correct[last] = correct[last], correct[first]
        first, last = first + 1, last - 1


@compiled
def align_all(
    offsets_a: Offsets, word_a: Ints, flags_a: Marks, before_offsets_a: Offsets, before_a: Ints,
    end_offsets_a: Offsets, ends_a: Ints,
    offsets_b: Offsets, word_b: Ints, flags_b: Marks, before_offsets_b: Offsets, before_b: Ints,
    end_offsets_b: Offsets, ends_b: Ints,
    also_offsets: Offsets, also: Ints, beside_nothing: int, keep_nothing: bool,
    offsets: Offsets, reference: Ints, hypothesis: Ints, correct: Flags,
) -> None:  # fmt: skip
    """Align pairs of graphs, end to end; `also` are arcs that are right because one of both is a fragment."""
    steps, written = np.empty(1, np.uint16), 0
    for u in range(len(offsets_a) - 1):
        a0, a1, b0, b1 = offsets_a[u], offsets_a[u + 1], offsets_b[u], offsets_b[u + 1]
        cells = (a1 - a0) * (b1 - b0)
        if cells > len(steps):
            steps = np.empty(cells, np.uint16)
        last_a, last_b = (
            ends_a[end_offsets_a[u] : end_offsets_a[u + 1]],
            ends_b[end_offsets_b[u] : end_offsets_b[u + 1]],
        )
        links_a, links_b = before_offsets_a[a0 : a1 + 1], before_offsets_b[b0 : b1 + 1]
        others = also_offsets[a0 : a1 + 1]
        slot = np.empty(a1 - a0, np.int32)
        cost = np.empty((_slots(links_a, before_a, last_a, a1 - a0, slot), b1 - b0), np.int32)
        _fill(word_a[a0:a1], flags_a[a0:a1], links_a, before_a, word_b[b0:b1], flags_b[b0:b1], links_b, before_b,
              others, also, slot, cost, beside_nothing, steps)  # fmt: skip
        best, a, b = _MANY, 0, 0
        for i in range(len(last_a)):
            for j in range(len(last_b)):
                if cost[slot[last_a[i]], last_b[j]] < best:
                    best, a, b = cost[slot[last_a[i]], last_b[j]], last_a[i], last_b[j]
        end = _walk(a, b, word_a[a0:a1], flags_a[a0:a1], links_a, before_a, word_b[b0:b1], flags_b[b0:b1], links_b,
                    before_b, others, also, keep_nothing, steps, written, reference, hypothesis, correct)  # fmt: skip
        _reverse(written, end, reference, hypothesis, correct)
        written = end
        offsets[u + 1] = written

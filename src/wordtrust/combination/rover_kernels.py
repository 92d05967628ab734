"""The loops of ROVER: aligning outputs into a word transition network, voting, counting errors.

A network is a row of slots; slot s holds, for each of its systems, the index of its word among all words, or
`NOTHING`. Outputs are aligned in the given order, so the network of some systems is that of all but the last of them
with one output more: subsets that begin alike share it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.jit import compiled, inner
from ..lattices.lattice import Ints, Offsets
from ..lattices.weights import Reals

Slots = NDArray[np.int32]  # [slots, systems] indices of words
Steps = NDArray[np.uint8]

NOTHING = -1
# NIST's costs, in thousandths: a match is free, a word beside another costs 4, beside nothing 1 where the slot can
# be empty already, and a new or an empty slot costs 3, or 0.001 where the slot can be empty already.
WRONG, BESIDE_NOTHING, GAP, EMPTY_GAP = 4000, 1000, 3000, 1
BESIDE, NEW, SKIP = 0, 1, 2
MAX_CELLS = 1 << 30  # (slot, word) pairs that one alignment may keep, a byte each
FREQUENCY, AVERAGE, MAXIMUM = 0, 1, 2
TIE = 1e-9  # scores closer than this are equal


@inner
def _distinct(slot: Ints, members: int, word: Ints, distinct: Ints) -> tuple[int, bool]:
    """The distinct words of a slot: how many, and whether one of its systems has no word there."""
    count, empty = 0, False
    for member in range(members):
        if slot[member] == NOTHING:
            empty = True
            continue
        own, is_listed = word[slot[member]], False
        for other in range(count):
            is_listed = is_listed or distinct[other] == own
        if not is_listed:
            distinct[count] = own
            count += 1
    return count, empty


@inner
def _align(slots: Slots, size: int, members: int, word: Ints, first: int, last: int, steps: Steps) -> None:
    """Fill in how each (slot, word of the next output) is best reached: ties go to beside, then new, then skip."""
    words = last - first
    cost, distinct = np.empty(words + 1, np.int64), np.empty(max(1, members), np.int32)
    for j in range(words + 1):
        cost[j] = GAP * j
        steps[j] = NEW
    for s in range(size):
        count, empty = _distinct(slots[s], members, word, distinct)
        skip, row = EMPTY_GAP if empty else GAP, (s + 1) * (words + 1)
        diagonal = cost[0]
        cost[0] += skip
        steps[row] = SKIP
        for j in range(1, words + 1):
            beside = diagonal + (BESIDE_NOTHING if empty else WRONG)
            for other in range(count):
                if distinct[other] == word[first + j - 1]:
                    beside = diagonal
            above, new = cost[j] + skip, cost[j - 1] + GAP
            diagonal = cost[j]
            if beside <= above and beside <= new:
                cost[j], steps[row + j] = beside, BESIDE
            elif above < new:
                cost[j], steps[row + j] = above, SKIP
            else:
                cost[j], steps[row + j] = new, NEW


@inner
def extend(slots: Slots, size: int, members: int, word: Ints, first: int, last: int, steps: Steps, out: Slots) -> int:
    """Write the network of `members` systems with the words first to last of one more to `out`; return its size."""
    _align(slots, size, members, word, first, last, steps)
    s, j, total = size, last - first, 0
    while s > 0 or j > 0:  # how many slots there will be, to write them from the end
        step = steps[s * (last - first + 1) + j]
        s, j, total = s - (step != NEW), j - (step != SKIP), total + 1
    s, j, slot = size, last - first, total
    while slot > 0:
        step = steps[s * (last - first + 1) + j]
        slot -= 1
        for member in range(members):
            out[slot, member] = slots[s - 1, member] if step != NEW else NOTHING
        out[slot, members] = first + j - 1 if step != SKIP else NOTHING
        s, j = s - (step != NEW), j - (step != SKIP)
    return total


@inner
def _same_word(word: Ints, one: int, other: int) -> bool:
    """Whether two indices of words stand for the same word, or both for none."""
    return one == other or (min(one, other) > NOTHING and word[one] == word[other])


@inner
def _weigh(
    slots: Slots, size: int, members: int, word: Ints, confidence: Reals, votes: Reals, choice: Ints, weight: Reals
) -> int:
    """List the candidates of all slots, those of the first systems first; return how many there are.

    `votes` has the votes of each member. `choice` has, for each candidate, the index of its first word, or `NOTHING`,
    and its slot; the columns of `weight` are its votes, and the weighted sum and the largest of its confidences.
    """
    count, begin = 0, 0
    for s in range(size):
        begin = count
        for member in range(members):
            own = slots[s, member]
            candidate = begin
            while candidate < count and not _same_word(word, own, choice[candidate, 0]):
                candidate += 1
            if candidate == count:
                choice[candidate, 0], choice[candidate, 1] = own, s
                weight[candidate, 0], weight[candidate, 1], weight[candidate, 2] = 0.0, 0.0, 0.0
                count += 1
            value = confidence[own] if own != NOTHING else 0.0
            weight[candidate, 0] += votes[member]
            weight[candidate, 1] += votes[member] * value
            weight[candidate, 2] = max(weight[candidate, 2], value)
    return count


@inner
def _vote(
    choice: Ints, weight: Reals, count: int, total: float, by: int, alpha: float, nothing: float, winners: Ints
) -> int:
    """Write the candidates that win their slots to `winners`, except empty ones; return how many there are."""
    length, winner, best = 0, 0, -1.0
    for candidate in range(count + 1):
        is_new_slot = candidate == count or (candidate > 0 and choice[candidate, 1] != choice[candidate - 1, 1])
        if is_new_slot:  # the slot before it is decided
            if count > 0 and choice[winner, 0] != NOTHING:
                winners[length] = winner
                length += 1
            best = -1.0
        if candidate == count:
            break
        score = weight[candidate, 0] / total
        if by != FREQUENCY:
            value = weight[candidate, 1] / weight[candidate, 0] if by == AVERAGE else weight[candidate, 2]
            score = alpha * score + (1.0 - alpha) * (value if choice[candidate, 0] != NOTHING else nothing)
        if score > best + TIE:  # a tie stays with the earlier system
            winner, best = candidate, score
    return length


@inner
def _errors(reference: Ints, first: int, last: int, hypothesis: Ints, size: int, unknown: int, cost: Ints) -> int:
    """Fewest substitutions, deletions and insertions between reference and hypothesis."""
    for j in range(size + 1):
        cost[j] = j
    for i in range(first, last):
        diagonal = cost[0]
        cost[0] += 1
        for j in range(1, size + 1):
            same = reference[i] == hypothesis[j - 1] and reference[i] != unknown
            best = min(diagonal if same else diagonal + 1, min(cost[j], cost[j - 1]) + 1)
            diagonal = cost[j]
            cost[j] = best
    return int(cost[size])


@inner
def _sizes(offsets: Offsets, u: int) -> tuple[int, int]:
    """How many words the longest output of an utterance has, and how many all have."""
    longest, total = 0, 0
    for k in range(len(offsets)):
        size = offsets[k, u + 1] - offsets[k, u]
        longest, total = max(longest, size), total + size
    return longest, total


@compiled
def count_errors(
    word: Ints, voted: Ints, confidence: Reals, offsets: Offsets, reference: Ints, reference_offsets: Offsets,
    unknown: int, members: Ints, sizes: Ints, shared: Ints, tried: Ints, by: Ints, parameters: Reals, votes: Reals,
    column: Ints, errors: Ints,
) -> int:  # fmt: skip
    """Add the errors of each setting, subset and utterance to errors[setting, subset, column of the utterance].

    The settings of a subset are those from the first to before the second number of its row of `tried`; the first is
    counted in errors[0]. `voted` has the same number for words that are one vote, `parameters` are the alpha and the
    nothing of each setting, `votes` [settings, systems] how many each system has.

    Subsets are rows of `members`, sorted so that those that begin alike follow each other: each has its first
    `shared` members from the one before. Returns an utterance that is too long to align, or -1.
    """
    systems, steps = len(offsets), np.empty(1, np.uint8)
    size, own_votes = np.zeros(systems + 1, np.int64), np.empty(systems)
    for u in range(len(reference_offsets) - 1):
        longest, total = _sizes(offsets, u)
        slots = np.empty((systems + 1, total, systems), np.int32)
        choice, weight = np.empty((total * systems, 2), np.int32), np.empty((total * systems, 3))
        winners, hypothesis = np.empty(total, np.int32), np.empty(total, np.int32)
        cost = np.empty(total + 1, np.int32)
        for subset in range(len(members)):
            for depth in range(shared[subset], sizes[subset]):
                k, cells = members[subset, depth], (size[depth] + 1) * (longest + 1)
                if cells > MAX_CELLS:
                    return u
                if cells > len(steps):
                    steps = np.empty(2 * cells, np.uint8)
                size[depth + 1] = extend(
                    slots[depth], size[depth], depth, voted, offsets[k, u], offsets[k, u + 1], steps, slots[depth + 1]
                )
            depth, count, have = sizes[subset], 0, 0.0
            before, wrong = -1, 0  # settings that choose the same words make the same errors
            for setting in range(tried[subset, 0], tried[subset, 1]):
                alpha, nothing = parameters[setting, 0], parameters[setting, 1]
                is_changed = setting == tried[subset, 0]
                for member in range(depth):
                    given = votes[setting, members[subset, member]]
                    is_changed = is_changed or given != own_votes[member]
                    own_votes[member] = given
                if is_changed:
                    count = _weigh(slots[depth], size[depth], depth, voted, confidence, own_votes, choice, weight)
                    have = 0.0
                    for member in range(depth):
                        have += own_votes[member]
                length = _vote(choice, weight, count, have, by[setting], alpha, nothing, winners)
                same = length == before
                for j in range(length):
                    winner = word[choice[winners[j], 0]]
                    same = same and hypothesis[j] == winner
                    hypothesis[j] = winner
                if not same:
                    wrong = _errors(
                        reference, reference_offsets[u], reference_offsets[u + 1], hypothesis, length, unknown, cost
                    )
                before = length
                errors[setting - tried[subset, 0], subset, column[u]] += wrong
    return -1


@compiled
def write_winners(
    word: Ints, voted: Ints, confidence: Reals, start: Reals, end: Reals, offsets: Offsets, by: int, alpha: float,
    nothing: float, votes: Reals, out_offsets: Offsets, out_word: Ints, out: Reals,
) -> int:  # fmt: skip
    """The winning words of all systems, and of those that are one vote the first system's.

    `out` has their mean confidence, start and end by votes in its rows.

    Returns an utterance that is too long to align, or -1.
    """
    systems, written, have = len(offsets), 0, votes.sum()
    for u in range(len(out_offsets) - 1):
        longest, total = _sizes(offsets, u)
        slots, size = np.empty((2, total, systems), np.int32), 0
        for k in range(systems):
            if (size + 1) * (longest + 1) > MAX_CELLS:
                return u
            steps = np.empty((size + 1) * (longest + 1), np.uint8)
            size = extend(slots[k % 2], size, k, voted, offsets[k, u], offsets[k, u + 1], steps, slots[(k + 1) % 2])
        choice, weight = np.empty((size * systems, 2), np.int32), np.empty((size * systems, 3))
        winners, whole = np.empty(size, np.int32), slots[systems % 2]
        count = _weigh(whole, size, systems, voted, confidence, votes, choice, weight)
        for j in range(_vote(choice, weight, count, have, by, alpha, nothing, winners)):
            winner = winners[j]
            chosen = voted[choice[winner, 0]]
            out_word[written] = word[choice[winner, 0]]
            out[0, written], out[1, written], out[2, written] = weight[winner, 1] / weight[winner, 0], 0.0, 0.0
            for member in range(systems):
                own = whole[choice[winner, 1], member]
                if own != NOTHING and voted[own] == chosen:
                    out[1, written] += votes[member] * start[own] / weight[winner, 0]
                    out[2, written] += votes[member] * end[own] / weight[winner, 0]
            written += 1
        out_offsets[u + 1] = written
    return -1

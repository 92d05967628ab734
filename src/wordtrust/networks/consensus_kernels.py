"""The kernels behind `consensus`: expected edit distance between a word sequence and all paths of a lattice.

The sequence has a *position* for each word and a free one (an epsilon) before, between and after the words: positions
1 to 2 * words + 1, the words at the even ones. A forward pass gives for every node, and every number of positions
used up on the way to it, the expected number of errors so far: an arc takes a position or is inserted without one,
and positions can be dropped. A backward pass follows the choices made there with the posterior mass of the paths,
which says how much of it each word has at each position.

A node is aligned only with positions whose words lie within a window around its time. Past the window of an arc's
source all positions are dropped, at one error a word, so that a long arc costs no more than a short one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.jit import compiled, inlined, inner
from ..lattices.lattice import Ints, Offsets, Times
from ..lattices.weights import Reals

Bytes = NDArray[np.uint8]

TAKE, DROP, INSERT = 0, 1, 2  # what becomes of an arc and a position
# A word without a position costs this much more than one error, so that it takes a free one where it can.
UNPLACED = 1e-6
TIE = 1e-10  # costs and masses closer than this are equal
TINY = 1e-12  # less posterior than this is rounding
GAIN = 1e-9  # errors that a new sequence must save
# For windows every word of a path is at least that many seconds long, so that none of them holds very many words.
SHORTEST = 0.05
MASS, START, END, MIDDLE = 0, 1, 2, 3  # what is known of an entry: its mass and mean times


@compiled
def decode(
    node_offsets: Offsets, arc_offsets: Offsets, time: Times, source: Ints, target: Ints, word: Ints, share: Reals,
    path_offsets: Offsets, path: Ints, window: float, rounds: int, vocabulary: int,
    slot_offsets: Offsets, errors: Reals, taken: Ints,
) -> Reals:  # fmt: skip
    """The confusion networks of a batch, each around the best word sequence found from `path` on.

    `share` is each arc's share of the mass that enters its target. Fills `slot_offsets`, the expected `errors` and
    the rounds `taken`; gives a row for every entry: its slot, its word, its most probable arc (-1 if it has none),
    its mass and its mean start and end. The first entry of a slot is the word of the sequence, the others follow by
    mass. Slots of nothing but epsilon are left out.
    """
    seen, entries = np.zeros(vocabulary, np.int64), np.empty((64, 6))
    slots, written = 0, 0
    for u in range(len(node_offsets) - 1):
        n0, n1, a0, a1 = node_offsets[u], node_offsets[u + 1], arc_offsets[u], arc_offsets[u + 1]
        first, words, arcs, figures, errors[u], taken[u] = _decode_one(
            time[n0:n1], source[a0:a1], target[a0:a1], word[a0:a1], share[a0:a1],
            path[path_offsets[u] : path_offsets[u + 1]], window, rounds, seen,
        )  # fmt: skip
        while written + len(words) > len(entries):
            entries = _doubled(entries)
        order = np.empty(len(words), np.int64)
        for entry in range(len(words)):
            order[entry] = entry
        for slot in range(len(first) - 1):
            begin = written
            _sort_by_mass(order, words, figures, first[slot] + 1, first[slot + 1])
            for entry in order[first[slot] : first[slot + 1]]:
                if entry > first[slot] and figures[entry, MASS] <= TINY:
                    break
                entries[written, 0] = slots
                entries[written, 1] = words[entry]
                entries[written, 2] = -1 if arcs[entry] < 0 else a0 + arcs[entry]
                entries[written, 3] = figures[entry, MASS]
                entries[written, 4] = figures[entry, START]
                entries[written, 5] = figures[entry, END]
                written += 1
            if written == begin + 1 and words[first[slot]] == 0:
                written = begin
            else:
                slots += 1
        slot_offsets[u + 1] = slots
    return entries[:written]


@inner
def _decode_one(
    time: Times, source: Ints, target: Ints, word: Ints, share: Reals, path: Ints, window: float, rounds: int,
    seen: Offsets,
) -> tuple[Offsets, Ints, Ints, Reals, float, int]:  # fmt: skip
    """One utterance: slots around a sequence, then around the best words of these slots, while that saves errors."""
    spaced = _spaced_times(time, source, target, word)
    sequence, middle = _path_words(path, source, target, word, spaced)
    error, taken, changed = np.inf, -1, True
    while changed and taken < rounds:
        new = _slots(time, spaced, source, target, word, share, sequence, middle, window, seen)
        if new[4] > error - GAIN:
            break
        first, words, arcs, figures, error = new
        taken += 1
        changed, sequence, middle = _best_words(first, words, figures)
    return first, words, arcs, figures, error, taken


@inner
def _spaced_times(time: Times, source: Ints, target: Ints, word: Ints) -> Times:
    """Node times with room for every word; like times they do not fall along an arc."""
    spaced = time.copy()
    for arc in range(len(source)):
        length = SHORTEST if word[arc] else 0.0
        spaced[target[arc]] = max(spaced[target[arc]], spaced[source[arc]] + length)
    return spaced


@inner
def _path_words(path: Ints, source: Ints, target: Ints, word: Ints, spaced: Times) -> tuple[Ints, Times]:
    """The words of a path, as positions hold them, and the middle of each word."""
    count = 0
    sequence, middle = np.zeros(2 * len(path) + 2, np.int32), np.empty(len(path))
    for arc in path:
        if word[arc]:
            middle[count] = (spaced[source[arc]] + spaced[target[arc]]) / 2
            count += 1
            sequence[2 * count] = word[arc]
    return sequence[: 2 * count + 2], middle[:count]


@inner
def _best_words(first: Offsets, words: Ints, figures: Reals) -> tuple[bool, Ints, Times]:
    """The most probable word of every slot, and whether any is new; ties go to the word that is there already."""
    slots = len(first) - 1
    sequence, middle = np.zeros(2 * slots + 2, np.int32), np.empty(slots)
    count, changed, latest = 0, False, -np.inf
    for slot in range(slots):
        best = first[slot]
        for entry in range(first[slot] + 1, first[slot + 1]):
            margin = figures[entry, MASS] - figures[best, MASS]
            if margin > TIE or (margin > -TIE and best != first[slot] and words[entry] < words[best]):
                best = entry
        changed |= best != first[slot]
        if words[best]:
            latest = max(latest, figures[best, MIDDLE])
            middle[count] = latest
            count += 1
            sequence[2 * count] = words[best]
    return changed, sequence[: 2 * count + 2], middle[:count]


@inner
def _slots(
    time: Times, spaced: Times, source: Ints, target: Ints, word: Ints, share: Reals, sequence: Ints, middle: Times,
    window: float, seen: Offsets,
) -> tuple[Offsets, Ints, Ints, Reals, float]:  # fmt: skip
    """What each position of a sequence holds of the lattice's paths, and the expected errors of the sequence."""
    low, high, row = _windows(spaced, middle, window)
    how_row = np.empty(len(source) + 1, np.int64)
    how_row[0] = 0
    for arc in range(len(source)):
        how_row[arc + 1] = how_row[arc] + high[source[arc]] + 2 - low[source[arc]]
    how = np.empty(how_row[-1], np.uint8)
    cost = _forward(source, target, word, share, sequence, low, high, row, how, how_row)
    free = np.zeros(len(sequence))
    taken, unplaced = _backward(source, target, word, share, low, high, row, how, how_row, free)
    first, words, best, figures = _grouped(taken, sequence, middle, free, time, spaced, source, target, word, seen)
    return first, words, best, figures, cost - UNPLACED * unplaced


@inner
def _windows(spaced: Times, middle: Times, window: float) -> tuple[Ints, Ints, Offsets]:
    """The fewest and the most positions used up at each node, and where its row of costs starts."""
    nodes = len(spaced)
    low, high, row = np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes + 1, np.int64)
    row[0] = 0
    for node in range(nodes):
        low[node] = 0 if node == 0 else 2 * _count_up_to(middle, spaced[node] - window)
        high[node] = 2 * (len(middle) if node == nodes - 1 else _count_up_to(middle, spaced[node] + window)) + 1
        row[node + 1] = row[node] + high[node] + 1 - low[node]
    return low, high, row


@inner
def _count_up_to(ascending: Times, limit: float) -> int:
    """How many numbers are not over the limit."""
    low, high = 0, len(ascending)
    while low < high:
        half = (low + high) // 2
        if ascending[half] <= limit:
            low = half + 1
        else:
            high = half
    return low


@inner
def _forward(source: Ints, target: Ints, word: Ints, share: Reals, sequence: Ints, low: Ints, high: Ints,
             row: Offsets, how: Bytes, how_row: Offsets) -> float:  # fmt: skip
    """The expected errors. `how` keeps every arc's choices, from the window of its source to one position past it."""
    cost = np.zeros(row[-1])
    for q in range(high[0] + 1):
        cost[q] = q // 2  # nothing was said yet, so all words up to here are dropped
    after = np.empty(len(sequence) + 1)
    for arc in range(len(source)):
        s, t = source[arc], target[arc]
        top = min(high[s] + 1, high[t])
        _read_arc(word[arc], sequence, low[s], high[s], top, cost, row[s], after, how, how_row[arc])
        to = row[t] - low[t]
        for q in range(low[t], top + 1):
            cost[to + q] += share[arc] * after[q - low[s]]
        for q in range(max(top + 1, low[t]), high[t] + 1):
            cost[to + q] += share[arc] * (after[top - low[s]] + q // 2 - top // 2)
    return float(cost[row[-1] - 1])


@inlined
def _read_arc(word: int, sequence: Ints, low: int, high: int, top: int, cost: Reals, row: int, after: Reals,
              how: Bytes, how_row: int) -> None:  # fmt: skip
    """The costs once an arc is read, for `low` to `top` positions used up; ties go to taking, then to dropping."""
    inserted = 1.0 + UNPLACED if word else 0.0
    least = cost[row] + inserted
    after[0], how[how_row] = least, INSERT
    for k in range(1, top - low + 1):
        there = sequence[low + k]
        drop = least + (1.0 if there else 0.0)
        least, choice = cost[row + k - 1] + (0.0 if there == word else 1.0), TAKE
        if drop < least - TIE:
            least, choice = drop, DROP
        if low + k <= high and cost[row + k] + inserted < least - TIE:
            least, choice = cost[row + k] + inserted, INSERT
        after[k], how[how_row + k] = least, choice


@inner
def _backward(
    source: Ints, target: Ints, word: Ints, share: Reals, low: Ints, high: Ints, row: Offsets,
    how: Bytes, how_row: Offsets, free: Reals,
) -> tuple[Reals, float]:  # fmt: skip
    """Which words take positions (rows of position, arc and mass), and the mass of those that take none.

    What has no word at a position (silence, or a position that is dropped) is added to `free`.
    """
    taken, count, unplaced = np.empty((256, 3)), 0, 0.0
    mass, runs = np.zeros(row[-1]), np.zeros(len(free))
    mass[-1] = 1.0
    for arc in range(len(source) - 1, -1, -1):
        s, t = source[arc], target[arc]
        top = min(high[s] + 1, high[t])
        moving = _drop_beyond(low[t], high[t], top, share[arc], mass, row[t], free, runs)
        while count + top - low[s] > len(taken):
            taken = _doubled(taken)
        for q in range(top, low[s] - 1, -1):
            if q >= low[t]:
                moving += share[arc] * mass[row[t] + q - low[t]]
            if moving == 0.0:
                continue
            choice = how[how_row[arc] + q - low[s]]
            if choice == DROP:
                free[q] += moving
                continue
            mass[row[s] + q - low[s] - (choice == TAKE)] += moving
            if choice == INSERT:
                unplaced += moving if word[arc] else 0.0
            elif word[arc]:
                taken[count, 0], taken[count, 1], taken[count, 2] = q, arc, moving
                count += 1
            else:
                free[q] += moving
            moving = 0.0
    _drop_the_rest(mass[: row[1]], runs, free)
    return taken[:count], unplaced


@inlined
def _drop_beyond(low: int, high: int, top: int, share: float, mass: Reals, row: int,
                 free: Reals, runs: Reals) -> float:  # fmt: skip
    """Drop the positions past `top` with the mass that an arc's target has there; gives the mass that comes to `top`.

    Those before the target's window are all dropped with the same mass: `runs` notes where that begins and ends.
    """
    moving = 0.0
    for q in range(high, max(top, low - 1), -1):
        moving += share * mass[row + q - low]
        free[q] += moving
    if top + 1 < low:
        runs[top + 1] += moving
        runs[low] -= moving
    return moving


@inner
def _drop_the_rest(mass: Reals, runs: Reals, free: Reals) -> None:
    """Drop the positions before the first word of a path, and all of the noted runs."""
    moving = 0.0
    for q in range(len(mass) - 1, 0, -1):
        moving += mass[q]
        free[q] += moving
    moving = 0.0
    for q in range(len(free)):
        moving += runs[q]
        free[q] += moving


@inner
def _grouped(
    taken: Reals, sequence: Ints, middle: Times, free: Reals, time: Times, spaced: Times,
    source: Ints, target: Ints, word: Ints, seen: Offsets,
) -> tuple[Offsets, Ints, Ints, Reals]:  # fmt: skip
    """The entries of every slot, one a word: first the word of the sequence, then what else there is."""
    positions = len(sequence) - 1
    order, start = _by_position(taken, positions)
    first, most = np.empty(positions + 1, np.int64), len(taken) + 2 * positions
    words, best = np.empty(most, np.int32), np.empty(most, np.int32)
    figures, largest = np.zeros((most, 4)), np.zeros(most)
    count = 0
    for q in range(1, positions + 1):
        first[q - 1] = count
        words[count], best[count], seen[sequence[q]] = sequence[q], -1, count
        count += 1
        if sequence[q]:
            figures[count - 1, START] = min(middle[q // 2 - 1], time[-1])  # no path may have it here
            figures[count - 1, END] = figures[count - 1, START]
            words[count], best[count] = 0, -1
            count += 1
        figures[count - 1, MASS] = max(free[q], 0.0)  # runs leave rounding behind
        for row in order[start[q] : start[q + 1]]:
            arc, mass = int(taken[row, 1]), taken[row, 2]
            entry = seen[word[arc]]
            if not (first[q - 1] <= entry < count and words[entry] == word[arc]):
                entry = count
                words[entry], best[entry], seen[word[arc]] = word[arc], -1, entry
                count += 1
            s, t = source[arc], target[arc]
            _count_in(figures, entry, mass, time[s], time[t], (spaced[s] + spaced[t]) / 2)
            if mass > largest[entry]:
                largest[entry], best[entry] = mass, arc
    first[positions] = count
    return first, words[:count], best[:count], figures[:count]


@inlined
def _count_in(figures: Reals, entry: int, mass: float, start: float, end: float, middle: float) -> None:
    """Count an arc's mass in, and its times into the means."""
    figures[entry, MASS] += mass
    weight = mass / figures[entry, MASS]
    figures[entry, START] += weight * (start - figures[entry, START])
    figures[entry, END] += weight * (end - figures[entry, END])
    figures[entry, MIDDLE] += weight * (middle - figures[entry, MIDDLE])


@inner
def _by_position(taken: Reals, positions: int) -> tuple[Offsets, Offsets]:
    """The rows in the order of their positions, and where each position's begin."""
    start, order = np.zeros(positions + 3, np.int64), np.empty(len(taken), np.int64)
    for row in range(len(taken)):
        start[int(taken[row, 0]) + 2] += 1
    for q in range(positions + 2):
        start[q + 1] += start[q]
    for row in range(len(taken)):
        q = int(taken[row, 0])
        order[start[q + 1]] = row
        start[q + 1] += 1
    return order, start


@inner
def _sort_by_mass(order: Offsets, words: Ints, figures: Reals, begin: int, end: int) -> None:
    """Entries from `begin` to `end` by falling mass, then by word. A shell sort, as most slots are small."""
    step = (end - begin) // 2
    while step > 0:
        for k in range(begin + step, end):
            entry, i = order[k], k
            mass = figures[entry, MASS]
            while i - step >= begin:
                other = order[i - step]
                if figures[other, MASS] > mass or (figures[other, MASS] == mass and words[other] < words[entry]):
                    break
                order[i] = other
                i -= step
            order[i] = entry
        step //= 2


@inner
def _doubled(rows: Reals) -> Reals:
    """Room for as many rows again."""
    larger = np.empty((2 * len(rows), rows.shape[1]))
    for row in range(len(rows)):
        for column in range(rows.shape[1]):
            larger[row, column] = rows[row, column]
    return larger


@compiled
def make_ascending(offsets: Offsets, values: Times) -> None:
    """Make each utterance's values ascend, in place; those in the wrong order become their mean, block by block."""
    for u in range(len(offsets) - 1):
        begin, end = offsets[u], offsets[u + 1]
        mean, size = np.empty(end - begin), np.empty(end - begin, np.int64)
        blocks = 0
        for k in range(begin, end):
            mean[blocks], size[blocks] = values[k], 1
            while blocks and mean[blocks] < mean[blocks - 1]:
                both = size[blocks - 1] + size[blocks]
                mean[blocks - 1] += (mean[blocks] - mean[blocks - 1]) * size[blocks] / both
                size[blocks - 1] = both
                blocks -= 1
            blocks += 1
        k = begin
        for block in range(blocks):
            for _ in range(size[block]):
                values[k] = mean[block]
                k += 1

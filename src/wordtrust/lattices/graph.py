"""The kernel that checks and orders lattices: everything `Lattice` promises about its graph is made true here.

One call runs over a whole batch; nothing in it is larger than nodes plus arcs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.jit import compiled, inner
from .lattice import Ints, Offsets, Times

OK, EMPTY, DANGLING, BAD_TIME, BACKWARDS, NO_PATH, CYCLE = range(7)
LATEST = 1e9  # seconds: the largest time of a node


@inner
def _by_key(key: Ints, size: int, first: Offsets, order: Offsets) -> None:
    """Counting sort: `order` lists the positions of `key` by value, first[k] is where value k starts."""
    first[: size + 1] = 0
    for value in key:
        first[value + 1] += 1
    for value in range(size):
        first[value + 1] += first[value]
    for k in range(len(key)):
        value = key[k]
        order[first[value]] = k
        first[value] += 1
    for value in range(size, 0, -1):
        first[value] = first[value - 1]
    first[0] = 0


@inner
def _reach(begin: int, other: Ints, first: Offsets, order: Offsets, seen: Ints, bit: int, stack: Offsets) -> None:
    """Mark with `bit` every node that can be reached from `begin` along arcs listed by `first` and `order`."""
    stack[0] = begin
    seen[begin] |= bit
    top = 1
    while top:
        top -= 1
        node = stack[top]
        for i in range(first[node], first[node + 1]):
            following = other[order[i]]
            if not seen[following] & bit:
                seen[following] |= bit
                stack[top] = following
                top += 1


@inner
def _levels(start: int, source: Ints, target: Ints, first: Offsets, order: Offsets, seen: Ints,
            waiting: Ints, level: Ints, queue: Offsets) -> int:  # fmt: skip
    """Longest distance of each kept node from `start` in arcs; gives how many nodes it could order."""
    waiting[:] = 0
    level[:] = 0
    for arc in range(len(source)):
        if seen[source[arc]] == 3 and seen[target[arc]] == 3:
            waiting[target[arc]] += 1
    queue[0] = start
    done, queued = 0, 1 if waiting[start] == 0 else 0
    while done < queued:
        node = queue[done]
        done += 1
        for i in range(first[node], first[node + 1]):
            following = target[order[i]]
            if seen[following] == 3:
                level[following] = max(level[following], level[node] + 1)
                waiting[following] -= 1
                if waiting[following] == 0:
                    queue[queued] = following
                    queued += 1
    return done


@inner
def _check(nodes: int, start: int, end: int, time: Times, source: Ints, target: Ints) -> tuple[int, int]:
    if nodes == 0 or len(source) == 0:
        return EMPTY, 0
    if not (0 <= start < nodes and 0 <= end < nodes):
        return DANGLING, -1
    for arc in range(len(source)):
        if not (0 <= source[arc] < nodes and 0 <= target[arc] < nodes):
            return DANGLING, arc
    for node in range(nodes):
        if not np.isfinite(time[node]) or abs(time[node]) > LATEST:
            return BAD_TIME, node
    return OK, 0


@inner
def _sweep(start: int, end: int, target: Ints, first: Offsets, order: Offsets, seen: Ints, waiting: Ints,
           level: Ints, queue: Offsets) -> bool:  # fmt: skip
    """What `_reach` (both ways) and `_levels` find, in two passes; False, and nothing of use, if there is a cycle.

    Forward in topological order every node is final when it is taken, backward in the same order reversed.
    """
    nodes = len(seen)
    seen[:], waiting[:], level[:] = 0, 0, 0
    for node in target:
        waiting[node] += 1
    done, queued = 0, 0
    for node in range(nodes):
        if waiting[node] == 0:
            queue[queued] = node
            queued += 1
    seen[start] = 2
    while done < queued:
        node = queue[done]
        done += 1
        reached, depth = seen[node], level[node] + 1
        for i in range(first[node], first[node + 1]):
            following = target[order[i]]
            if reached:
                seen[following] = 2
                level[following] = max(level[following], depth)
            waiting[following] -= 1
            if waiting[following] == 0:
                queue[queued] = following
                queued += 1
    seen[end] |= 1
    for i in range(queued - 1, -1, -1):
        node = queue[i]
        for k in range(first[node], first[node + 1]):
            if seen[target[order[k]]] & 1:
                seen[node] |= 1
                break
    return done == nodes


@inner
def _sort_by_time(nodes: Offsets, other: Offsets, time: Times) -> Offsets:
    """Stable merge sort, runs of doubling length; `other` is room for it (numba's own takes seconds to compile)."""
    width, count = 1, len(nodes)
    while width < count:
        for start in range(0, count, 2 * width):
            middle, end = min(start + width, count), min(start + 2 * width, count)
            a, b = start, middle
            for i in range(start, end):
                if a < middle and (b >= end or time[nodes[a]] <= time[nodes[b]]):
                    other[i] = nodes[a]
                    a += 1
                else:
                    other[i] = nodes[b]
                    b += 1
        nodes, other = other, nodes
        width *= 2
    return nodes


@inner
def _order_nodes(time: Times, level: Ints, seen: Ints, kept: int) -> Offsets:
    """Kept nodes by time, then level, then number. Both never fall along an arc, so this is topological."""
    nodes, by_level, highest = np.empty(kept, np.int64), np.empty(kept, np.int64), 0
    i, sorted_already, before = 0, True, -1
    for node in range(len(seen)):
        if seen[node] == 3:
            nodes[i] = node
            i += 1
            highest = max(highest, level[node])
            if before >= 0 and time[node] <= time[before]:
                sorted_already &= time[node] == time[before] and level[node] >= level[before]
            before = node
    if sorted_already:
        return nodes
    first = np.zeros(highest + 2, np.int64)
    for i in range(kept):
        first[level[nodes[i]] + 1] += 1
    for value in range(highest):
        first[value + 1] += first[value]
    for i in range(kept):
        depth = level[nodes[i]]
        by_level[first[depth]] = nodes[i]
        first[depth] += 1
    return _sort_by_time(by_level, nodes, time)


@inner
def _one(start: int, end: int, time: Times, source: Ints, target: Ints, new_time: Times,
         permutation: Offsets, new_source: Ints, new_target: Ints) -> tuple[int, int, int, int]:  # fmt: skip
    """Check and order one lattice. Gives a status, the culprit, and the numbers of nodes and arcs that are kept."""
    nodes, arcs = len(time), len(source)
    status, culprit = _check(nodes, start, end, time, source, target)
    if status != OK:
        return status, culprit, 0, 0
    first, order = np.empty(nodes + 1, np.int64), np.empty(arcs, np.int64)
    seen, stack = np.empty(nodes, np.int32), np.empty(nodes, np.int64)
    level, waiting = np.empty(nodes, np.int32), np.empty(nodes, np.int32)
    _by_key(source, nodes, first, order)
    acyclic = _sweep(start, end, target, first, order, seen, waiting, level, stack)
    if not acyclic:  # it may still be on no path from start to end
        seen[:] = 0
        _by_key(target, nodes, first, order)
        _reach(end, source, first, order, seen, 1, stack)
        _by_key(source, nodes, first, order)
        _reach(start, target, first, order, seen, 2, stack)
    if seen[end] != 3 or start == end:
        return NO_PATH, 0, 0, 0
    kept = 0
    for node in range(nodes):
        kept += seen[node] == 3
    if not acyclic and _levels(start, source, target, first, order, seen, waiting, level, stack) < kept:
        return CYCLE, 0, 0, 0
    for arc in range(arcs):
        if seen[source[arc]] == 3 and seen[target[arc]] == 3 and time[target[arc]] < time[source[arc]]:
            return BACKWARDS, arc, 0, 0
    ordered = _order_nodes(time, level, seen, kept)
    rank = np.full(nodes, -1, np.int32)
    for i in range(kept):
        rank[ordered[i]] = i
        new_time[i] = time[ordered[i]]
    count = 0
    for i in range(kept):
        node = ordered[i]
        for k in range(first[node], first[node + 1]):
            arc = order[k]
            if rank[target[arc]] >= 0:
                permutation[count] = arc
                new_source[count] = i
                new_target[count] = rank[target[arc]]
                count += 1
    return OK, 0, kept, count


class Ordered(NamedTuple):
    """What is kept of a batch, lattice by lattice, in canonical order."""

    nodes: Offsets  # [utterances] how many, 0 for bad ones
    arcs: Offsets
    time: Times  # [nodes kept]
    permutation: Offsets  # [arcs kept] where each was
    source: Ints
    target: Ints


def order(
    node_offsets: Offsets, arc_offsets: Offsets, start: Ints, end: Ints, time: Times, source: Ints, target: Ints,
    status: Ints, culprit: Offsets,
) -> Ordered:  # fmt: skip
    """Check, trim and order every lattice of a batch.

    Lattices whose `status` is not OK are left out; for those found bad here, `status` and `culprit` are filled in.
    """
    nodes, arcs = np.zeros(len(start), np.int64), np.zeros(len(start), np.int64)
    new_time, permutation = np.empty(len(time)), np.empty(len(source), np.int64)
    new_source, new_target = np.empty(len(source), np.int32), np.empty(len(source), np.int32)
    _order(
        node_offsets, arc_offsets, start, end, time, source, target,
        status, culprit, nodes, arcs, new_time, permutation, new_source, new_target,
    )  # fmt: skip
    kept = arcs.sum()
    return Ordered(nodes, arcs, new_time[: nodes.sum()], permutation[:kept], new_source[:kept], new_target[:kept])


@compiled
def _order(
    node_offsets: Offsets, arc_offsets: Offsets, start: Ints, end: Ints, time: Times, source: Ints, target: Ints,
    status: Ints, culprit: Offsets, nodes: Offsets, arcs: Offsets,
    new_time: Times, permutation: Offsets, new_source: Ints, new_target: Ints,
) -> None:  # fmt: skip
    """The results of good lattices are written end to end; what they are, `Ordered` says."""
    node_end, arc_end = 0, 0
    for u in range(len(start)):
        n0, n1, a0, a1 = node_offsets[u], node_offsets[u + 1], arc_offsets[u], arc_offsets[u + 1]
        if status[u] != OK:
            nodes[u], arcs[u] = 0, 0
            continue
        status[u], culprit[u], nodes[u], arcs[u] = _one(
            start[u], end[u], time[n0:n1], source[a0:a1], target[a0:a1],
            new_time[node_end:], permutation[arc_end:], new_source[arc_end:], new_target[arc_end:],
        )  # fmt: skip
        for arc in range(arc_end, arc_end + arcs[u]):
            permutation[arc] += a0
        node_end += nodes[u]
        arc_end += arcs[u]

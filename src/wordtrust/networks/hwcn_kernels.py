"""The compiled loops of `hwcn`. Each runs over a whole batch in time proportional to nodes plus arcs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.jit import compiled, inner
from ..lattices.lattice import Flags, Ints, Offsets, Times
from ..lattices.path_kernels import Numbers
from ..lattices.weights import Reals

ABSORBED = -1
_FREE = np.uint32(0xFFFFFFFF)  # an empty slot of a hash table
_HALF = np.uint64(32)


@compiled
def merge_nodes(node_offsets: Offsets, source: Numbers, target: Numbers, time: Times, word: Ints, tolerance: float,
                merged: Ints, counts: Offsets) -> None:  # fmt: skip
    """Cut the nodes of each lattice, in their order by time and depth, into runs; `merged` is each node's run.

    Nodes of the same time and depth stay together: which of them comes first is an accident of the file.
    """
    depth, word_from = np.zeros(len(time), np.int32), np.full(len(time), -1, np.int64)
    for arc in range(len(source)):
        depth[target[arc]] = max(depth[target[arc]], depth[source[arc]] + 1)
        if word[arc]:
            word_from[target[arc]] = source[arc]  # the latest: arcs are sorted by source
    for u in range(len(counts)):
        begin = node = node_offsets[u]
        run, last = 0, node_offsets[u + 1] - 1
        while node <= last:
            latest, after = word_from[node], node + 1
            while after < last and time[after] == time[node] and depth[after] == depth[node]:
                latest = max(latest, word_from[after])
                after += 1
            only_run = run == 0 and node == last  # start and end must not become one node
            if time[node] - time[begin] > tolerance or latest >= begin or only_run:
                run += 1
                begin = node
            merged[node:after] = run
            node = after
        counts[u] = run + 1


@compiled
def merge_times(node_offsets: Offsets, time: Times, mass: Reals, merged: Ints, new_time: Times) -> None:
    """The mean of the times in each run, by the mass of its nodes; start and end keep theirs.

    Every node has a little more than its mass, for runs where none has any.
    """
    written = 0
    for u in range(len(node_offsets) - 1):
        node, last, run = node_offsets[u], node_offsets[u + 1] - 1, written
        while node <= last:
            begin, weight, moment = node, 0.0, 0.0
            while node <= last and merged[node] == merged[begin]:
                weight += mass[node] + 1e-300
                moment += (mass[node] + 1e-300) * time[node]
                node += 1
            new_time[written] = min(max(moment / weight, time[begin]), time[node - 1])
            written += 1
        new_time[run], new_time[written - 1] = time[node_offsets[u]], time[last]


@compiled
def group_arcs(arc_offsets: Offsets, source: Numbers, target: Numbers, word: Ints, surface: Ints, merged: Ints,
               new_source: Ints, new_target: Ints, new_word: Ints, new_surface: Ints, size: Ints, mixed: Flags,
               group: Ints, counts: Offsets, keys: NDArray[np.uint64]) -> int:  # fmt: skip
    """Group arcs with the same merged ends and the same word; groups are numbered as their first members come.

    `group` is each arc's group, counted through the batch (`ABSORBED` for arcs inside a merged node). Groups get
    their ends, word, the surface of their first member, and their `size`; `mixed` (filled with 0) tells which have
    other surfaces too. `counts` is the number of groups of each utterance. Gives the number of all. `keys` are three
    odd numbers that nobody knows, so that no file has arcs that all fall on the same places of the hash table.
    """
    groups = np.uint32(0)
    for u in range(len(counts)):
        before, room = groups, 4
        while room < 2 * (arc_offsets[u + 1] - arc_offsets[u]):
            room *= 2
        table, mask = np.full(room, _FREE, np.uint32), np.uint64(room - 1)  # a hash table
        for arc in range(arc_offsets[u], arc_offsets[u + 1]):
            begin, end, arc_word = merged[source[arc]], merged[target[arc]], word[arc]
            if begin == end:
                group[arc] = ABSORBED
                continue
            mixed_ends = np.uint64(begin) * keys[0] + np.uint64(end) * keys[1]
            slot = ((mixed_ends + np.uint64(arc_word) * keys[2]) >> _HALF) & mask
            g = table[slot]
            while g != _FREE and (new_word[g] != arc_word or new_target[g] != end or new_source[g] != begin):
                slot = (slot + np.uint64(1)) & mask
                g = table[slot]
            if g == _FREE:
                g = groups
                table[slot] = g
                new_source[g], new_target[g], new_word[g] = begin, end, arc_word
                new_surface[g], size[g] = surface[arc], 0
                groups += np.uint32(1)
            group[arc] = g
            size[g] += 1
            if surface[arc] != new_surface[g]:
                mixed[g] = True
        counts[u] = groups - before
    return int(groups)


@compiled
def list_members(group: Ints, offsets: Offsets, members: Offsets) -> None:
    """The arcs of each group, in their order: group g has members[offsets[g]:offsets[g + 1]]."""
    for g in group:
        if g != ABSORBED:
            offsets[g + 1] += 1
    for g in range(len(offsets) - 1):
        offsets[g + 1] += offsets[g]
    end = offsets[:-1].copy()
    for arc in range(len(group)):
        if group[arc] != ABSORBED:
            members[end[group[arc]]] = arc
            end[group[arc]] += 1


@compiled
def find_leaders(group: Ints, posterior: Reals, leader: Offsets) -> None:
    """The most probable member of each group; ties go to the earlier. `leader` comes filled with -1."""
    for arc in range(len(group)):
        g = group[arc]
        if g != ABSORBED and (leader[g] < 0 or posterior[arc] > posterior[leader[g]]):
            leader[g] = arc


@compiled
def sums(group: Ints, values: Reals, total: Reals) -> None:
    """The sum of the values of each group's members, added to `total`."""
    for arc in range(len(group)):
        if group[arc] != ABSORBED:
            total[np.uint32(group[arc])] += values[arc]


@compiled
def first_words(group: Ints, said: Ints, word: Ints, mixed: Flags) -> None:
    """The word of the first member of each group, and whether others have another."""
    word[:] = -1
    for arc in range(len(group)):
        g = group[arc]
        if g != ABSORBED:
            if word[g] < 0:
                word[g] = said[arc]
            mixed[g] |= word[g] != said[arc]


@compiled
def list_marked(group: Ints, marked: Flags, arcs: Offsets) -> int:
    """The arcs of the groups that are marked, in their order; gives their number."""
    count = 0
    for arc in range(len(group)):
        if group[arc] != ABSORBED and marked[np.uint32(group[arc])]:
            arcs[count] = arc
            count += 1
    return count


@compiled
def log_sums(group: Ints, values: Reals, total: Reals) -> None:
    """Log-sum-exp of the values of each group's members."""
    top, part = np.full(len(total), -np.inf), np.zeros(len(total))
    for arc in range(len(group)):
        if group[arc] != ABSORBED:
            top[group[arc]] = max(top[group[arc]], values[arc])
    for arc in range(len(group)):
        if group[arc] != ABSORBED:
            part[group[arc]] += np.exp(values[arc] - top[group[arc]])
    for g in range(len(total)):
        total[g] = top[g] + np.log(part[g])


@inner
def _add_term(top: Reals, total: Reals, index: int, term: float) -> None:
    """Add exp(term) to a sum that is kept as exp(top) * total, with `top` its largest term."""
    if term > top[index]:
        total[index] = total[index] * np.exp(top[index] - term) + 1.0
        top[index] = term
    else:
        total[index] += np.exp(term - top[index])


@compiled
def log_priors(first: Numbers, target: Numbers, transition: Reals, prior: Reals, reach: Reals) -> None:
    """Forward pass over transition scores alone: log P(v) of every node, and log P(v_i) P(e_i|v_i) of every arc.

    `prior` has 0 at every start, and minus infinity elsewhere.
    """
    total = np.exp(prior)
    for node in range(len(prior)):
        prior[node] += np.log(total[node])
        for arc in range(first[node], first[node + 1]):
            reach[arc] = prior[node] + transition[arc]
            _add_term(prior, total, target[arc], reach[arc])


@compiled
def entering(target: Offsets, reach: Reals, mass: Reals) -> None:
    """The log of the prior mass that enters each node of the networks, on top of what `mass` has."""
    total = np.exp(mass)
    for arc in range(len(target)):
        _add_term(mass, total, target[arc], reach[arc])
    for node in range(len(mass)):
        mass[node] += np.log(total[node])

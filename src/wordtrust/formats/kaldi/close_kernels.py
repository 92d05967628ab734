"""The kernel that makes of Kaldi lattices, with final weights and frame counts, graphs from start to end in time."""

from __future__ import annotations

import numpy as np

from ...base.jit import compiled, inner
from ...lattices.lattice import Floats, Ints, Offsets, Times

OK, EMPTY, DANGLING, FAR_APART, NO_FINAL, TWO_TIMES = range(6)


@compiled
def count_states(source: Ints, target: Ints, final_state: Ints, start: int) -> int:
    """One more than the largest state number."""
    states = start + 1
    for arc in range(len(source)):
        states = max(states, source[arc] + 1, target[arc] + 1)
    for final in range(len(final_state)):
        states = max(states, final_state[final] + 1)
    return int(states)


@compiled
def check_states(states: int, known_states: int, lines: int, target: Ints) -> int:
    """A status. `known_states` is what the file says, or -1; where it says nothing the lines limit the states."""
    if lines == 0:
        return EMPTY
    if known_states < 0:
        # Numbers further apart are damage, and would cost memory.
        return FAR_APART if states > 16 * lines + 4096 else OK
    for arc in range(len(target)):
        if target[arc] < 0:
            return DANGLING
    return DANGLING if states > known_states else OK


@inner
def _number_states(source: Ints, target: Ints, final_state: Ints, start: int, node_of: Ints) -> int:
    """Number the states that occur, without gaps and in their order; gives how many they are."""
    node_of[:] = 0
    node_of[start] = 1
    for arc in range(len(source)):
        node_of[source[arc]] = 1
        node_of[target[arc]] = 1
    for final in range(len(final_state)):
        node_of[final_state[final]] = 1
    count = 0
    for state in range(len(node_of)):
        used = node_of[state]
        node_of[state] = count if used else -1
        count += used
    return count


@inner
def _state_of(node: int, node_of: Ints) -> int:
    """The state that has a number, or -1."""
    for state in range(len(node_of)):
        if node_of[state] == node:
            return state
    return -1


@inner
def _is_zero(graph: float, acoustic: float) -> bool:
    """Whether a weight is the semiring's zero: an arc that no path can take, a state that is not final."""
    return bool(graph == np.inf and acoustic == np.inf)


@inner
def _end_state(source: Ints, final_state: Ints, final_frames: Ints, final_graph: Floats,
               final_acoustic: Floats) -> tuple[int, int]:  # fmt: skip
    """How many states are final, and the one that is the end as it stands, or -1."""
    count, last = 0, -1
    for final in range(len(final_state)):
        if not _is_zero(final_graph[final], final_acoustic[final]):
            count += 1
            last = final
    if count != 1 or final_frames[last] != 0 or final_graph[last] != 0 or final_acoustic[last] != 0:
        return count, -1
    for arc in range(len(source)):
        if source[arc] == final_state[last]:
            return count, -1
    return count, int(final_state[last])


@inner
def _frame_times(start: int, source: Ints, target: Ints, frames: Ints, time: Times) -> tuple[int, int]:
    """Count frames from the start to every node into `time`; nodes that cannot be reached have time 0.

    Where two paths disagree about a node, gives that node and what the second path counts; else -1.
    """
    nodes = len(time)
    first, order = np.zeros(nodes + 2, np.int32), np.empty(len(source), np.int32)
    for arc in range(len(source)):
        first[source[arc] + 2] += 1
    for node in range(nodes):
        first[node + 2] += first[node + 1]
    for arc in range(len(source)):
        order[first[source[arc] + 1]] = arc
        first[source[arc] + 1] += 1
    time[:] = -1
    time[start] = 0
    queue = np.empty(nodes, np.int32)
    queue[0] = start
    done, reached = 0, 1
    while done < reached:
        node = queue[done]
        done += 1
        for leaving in range(first[node], first[node + 1]):
            following = target[order[leaving]]
            at = time[node] + frames[order[leaving]]
            if time[following] < 0:
                time[following] = at
                queue[reached] = following
                reached += 1
            elif time[following] != at:
                return int(following), int(at)
    for node in range(nodes):
        time[node] = max(time[node], 0)
    return -1, 0


@compiled
def close(
    arc_offsets: Offsets, final_offsets: Offsets, start: Ints, known_states: Ints,
    source: Ints, target: Ints, token: Ints, frames: Ints, graph: Floats, acoustic: Floats,
    final_state: Ints, final_frames: Ints, final_graph: Floats, final_acoustic: Floats, frame_length: float,
    status: Ints, about: Offsets, nodes: Offsets, arcs: Offsets, new_start: Ints, new_end: Ints,
    time: Times, new_source: Ints, new_target: Ints, new_token: Ints, new_acoustic: Floats, new_transition: Floats,
) -> None:  # fmt: skip
    """Close all lattices of a batch, written end to end. Where it cannot, an utterance gets a status, and no nodes.

    A single final state without weight, frames and arcs is the end node; else an end node is added, and wordless
    arcs to it that carry the final weights and frames. Costs become scores, frames become node times. Where paths
    disagree about times the status is TWO_TIMES, `about` says state and both times, and all times are 0.
    """
    node_end, arc_end = 0, 0
    new_frames = np.empty(len(new_source), np.int32)
    for u in range(len(start)):
        nodes[u], arcs[u] = 0, 0
        a0, a1, f0, f1 = arc_offsets[u], arc_offsets[u + 1], final_offsets[u], final_offsets[u + 1]
        ends = final_state[f0:f1]
        states = count_states(source[a0:a1], target[a0:a1], ends, start[u])
        finals, end = _end_state(source[a0:a1], ends, final_frames[f0:f1], final_graph[f0:f1], final_acoustic[f0:f1])
        status[u] = check_states(states, known_states[u], a1 - a0 + f1 - f0, target[a0:a1])
        if status[u] == OK and finals == 0:
            status[u] = NO_FINAL
        if status[u] != OK:
            about[u, 0] = states
            continue
        node_of = np.empty(states, np.int32)
        count = _number_states(source[a0:a1], target[a0:a1], ends, start[u], node_of)
        new_start[u], new_end[u] = node_of[start[u]], count if end < 0 else node_of[end]
        arc = arc_end
        for old in range(a0, a1):
            if not _is_zero(graph[old], acoustic[old]):
                new_source[arc], new_target[arc] = node_of[source[old]], node_of[target[old]]
                new_token[arc], new_frames[arc] = token[old], frames[old]
                new_acoustic[arc], new_transition[arc] = 0 - acoustic[old], 0 - graph[old]
                arc += 1
        for final in range(f0, f1 if end < 0 else f0):
            if not _is_zero(final_graph[final], final_acoustic[final]):
                new_source[arc], new_target[arc] = node_of[final_state[final]], count
                new_token[arc], new_frames[arc] = 0, final_frames[final]
                new_acoustic[arc], new_transition[arc] = 0 - final_acoustic[final], 0 - final_graph[final]
                arc += 1
        count += end < 0
        times = time[node_end : node_end + count]
        node, frame = _frame_times(
            new_start[u], new_source[arc_end:arc], new_target[arc_end:arc], new_frames[arc_end:arc], times
        )  # fmt: skip
        if node >= 0:
            status[u] = TWO_TIMES
            about[u, 0], about[u, 1], about[u, 2] = _state_of(node, node_of), times[node], frame
            times[:] = 0
        for index in range(count):  # to the nanosecond: 7 * 0.01 is 0.07
            times[index] = np.rint(times[index] * frame_length * 1e9) / 1e9
        nodes[u], arcs[u] = count, arc - arc_end
        node_end, arc_end = node_end + count, arc

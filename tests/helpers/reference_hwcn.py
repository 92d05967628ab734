"""Forward-backward, HWCN and best path in plain Python, one utterance at a time: the equations of `networks.hwcn`.

It shares no code with the package. Tests compare it with the kernels, `benchmarks/hwcn.py` times it against them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from wordtrust.lattices.lattice import Lattice
from wordtrust.lattices.weights import Scales

ROUNDING = 1e-6  # seconds


def log_sum(values: Iterable[float]) -> float:
    """The log of the sum of exponentials."""
    values = list(values)
    top = max(values)
    if len(values) == 1 or top == -math.inf:
        return top
    return top + math.log(sum(math.exp(value - top) for value in values))


def arc_weights(lattice: Lattice, scales: Scales) -> list[float]:
    """acoustic_scale * acoustic + transition_scale * transition, and a penalty for every word."""
    weights = [scales.word_penalty if word else 0.0 for word in lattice.word.tolist()]
    if lattice.acoustic is not None:
        weights = [w + scales.acoustic * score for w, score in zip(weights, lattice.acoustic.tolist(), strict=True)]
    if lattice.transition is not None:
        weights = [w + scales.transition * s for w, s in zip(weights, lattice.transition.tolist(), strict=True)]
    return weights


def forward(lattice: Lattice, weights: list[float]) -> list[float]:
    """The log weight of all ways from the start to each node."""
    entering = defaultdict(list)
    for source, target, weight in zip(lattice.source.tolist(), lattice.target.tolist(), weights, strict=True):
        entering[target].append((source, weight))
    alpha = [0.0] * lattice.nodes
    for node in range(1, lattice.nodes):
        alpha[node] = log_sum(alpha[source] + weight for source, weight in entering[node])
    return alpha


def backward(lattice: Lattice, weights: list[float]) -> list[float]:
    """The log weight of all ways from each node to the end."""
    leaving = defaultdict(list)
    for source, target, weight in zip(lattice.source.tolist(), lattice.target.tolist(), weights, strict=True):
        leaving[source].append((target, weight))
    beta = [0.0] * lattice.nodes
    for node in range(lattice.nodes - 2, -1, -1):
        beta[node] = log_sum(beta[target] + weight for target, weight in leaving[node])
    return beta


def posteriors(lattice: Lattice, scales: Scales | None = None) -> tuple[list[float], float]:
    """P(e|X) of every arc, and the log weight of all paths."""
    weights = arc_weights(lattice, scales or lattice.scales)
    alpha, beta = forward(lattice, weights), backward(lattice, weights)
    total = beta[0]
    ends = zip(lattice.source.tolist(), lattice.target.tolist(), weights, strict=True)
    return [math.exp(alpha[source] + weight + beta[target] - total) for source, target, weight in ends], total


def push(lattice: Lattice, score: list[float]) -> list[float]:
    """A score pushed in the log semiring: the arcs leaving a node sum to 1."""
    beta = backward(lattice, score)
    ends = zip(lattice.source.tolist(), lattice.target.tolist(), score, strict=True)
    return [value + beta[target] - beta[source] for source, target, value in ends]


def merge_nodes(lattice: Lattice, tolerance: float) -> list[int]:
    """Cut the nodes, by time and then depth, into runs that hold no both ends of a word arc."""
    depth = [0] * lattice.nodes
    words_into = defaultdict(list)
    for source, target, word in zip(
        lattice.source.tolist(), lattice.target.tolist(), lattice.word.tolist(), strict=True
    ):
        depth[target] = max(depth[target], depth[source] + 1)
        if word:
            words_into[target].append(source)
    time = lattice.time.tolist()
    together: dict[tuple[float, int], list[int]] = defaultdict(list)
    for node in range(lattice.nodes):
        together[time[node], depth[node]].append(node)
    runs: list[list[int]] = [[]]
    for (now, _), nodes in sorted(together.items()):
        run = runs[-1]
        said = any(source in run for node in nodes for source in words_into[node])
        all_of_it = runs == [run] and lattice.nodes - 1 in nodes
        if run and (now - time[run[0]] > tolerance + ROUNDING or said or all_of_it):
            runs.append([])
        runs[-1].extend(nodes)
    merged = [0] * lattice.nodes
    for number, run in enumerate(runs):
        for node in run:
            merged[node] = number
    return merged


@dataclass
class MergedArc:
    """What became of the arcs with the same ends and word."""

    members: list[int]
    posterior: float
    spellings: dict[int, float]  # posterior of each surface
    leader: int  # the most probable member
    acoustic: float | None = None
    transition: float | None = None


@dataclass
class MergedNetwork:
    """An HWCN: node times, arcs by (source, target, word), and the merged node of every lattice node."""

    time: list[float]
    merged: list[int]
    arcs: dict[tuple[int, int, int], MergedArc] = field(default_factory=dict)
    picked: set[tuple[int, int, int]] = field(default_factory=set)  # the arcs of the recognizer's own 1-best


def build(
    lattice: Lattice, tolerance: float = 0.1, scales: Scales | None = None, *, pushing: bool = True
) -> MergedNetwork:
    """The HWCN of a lattice."""
    posterior, _ = posteriors(lattice, scales)
    merged = merge_nodes(lattice, tolerance)
    network = MergedNetwork(merge_times(lattice, merged, posterior), merged)
    source, target, word = lattice.source.tolist(), lattice.target.tolist(), lattice.word.tolist()
    members: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for arc in range(lattice.arcs):
        begin, end = merged[source[arc]], merged[target[arc]]
        if begin != end:
            members[begin, end, word[arc]].append(arc)
    surface = lattice.surface.tolist()
    for key, arcs in members.items():
        network.arcs[key] = MergedArc(
            arcs,
            sum(posterior[arc] for arc in arcs),
            spellings(arcs, surface, posterior),
            max(arcs, key=lambda arc: posterior[arc]),
        )
    if lattice.acoustic is not None:
        merge_acoustic(lattice, network, pushing=pushing)
    if lattice.transition is not None:
        merge_transition(lattice, network, pushing=pushing)
    for arc in one_best(lattice):
        begin, end = merged[source[arc]], merged[target[arc]]
        if begin != end:
            network.picked.add((begin, end, word[arc]))
    return network


def one_best(lattice: Lattice) -> list[int]:
    """The path with the best score as given, or the recognizer's own pick; ties go to the earlier arc."""
    weights = arc_weights(lattice, lattice.scales)
    if lattice.picked is not None:
        weights = [1.0 if picked else -1e6 for picked in lattice.picked.tolist()]
    source, target = lattice.source.tolist(), lattice.target.tolist()
    best, back = [-math.inf] * lattice.nodes, [-1] * lattice.nodes
    best[0] = 0.0
    for arc, weight in enumerate(weights):
        if best[source[arc]] + weight > best[target[arc]]:
            best[target[arc]], back[target[arc]] = best[source[arc]] + weight, arc
    path, node = [], lattice.nodes - 1
    while node:
        path.append(back[node])
        node = source[back[node]]
    return path[::-1]


def spellings(arcs: list[int], surface: list[int], posterior: list[float]) -> dict[int, float]:
    """The posterior of each surface among merged arcs, the most probable first."""
    weight: dict[int, float] = defaultdict(float)
    for arc in arcs:
        weight[surface[arc]] += posterior[arc]
    return dict(sorted(weight.items(), key=lambda item: -item[1]))


def merge_times(lattice: Lattice, merged: list[int], posterior: list[float]) -> list[float]:
    """The mean of the times of the nodes merged into each, by their posteriors; start and end keep theirs."""
    mass = [1e-300] * lattice.nodes
    for source, value in zip(lattice.source.tolist(), posterior, strict=True):
        mass[source] += value
    runs = merged[-1] + 1
    weight, moment = [0.0] * runs, [0.0] * runs
    for node, time in enumerate(lattice.time.tolist()):
        weight[merged[node]] += mass[node]
        moment[merged[node]] += mass[node] * time
    times = [moment[run] / weight[run] for run in range(runs)]
    times[0], times[-1] = float(lattice.time[0]), float(lattice.time[-1])
    return times


def merge_acoustic(lattice: Lattice, network: MergedNetwork, *, pushing: bool) -> None:
    """p(X|e) = 1/n sum of p(X|e_i)."""
    assert lattice.acoustic is not None
    acoustic: list[float] = lattice.acoustic.tolist()
    if pushing and lattice.transition is not None:
        acoustic = push(lattice, acoustic)
    for arc in network.arcs.values():
        arc.acoustic = log_sum(acoustic[member] for member in arc.members) - math.log(len(arc.members))


def merge_transition(lattice: Lattice, network: MergedNetwork, *, pushing: bool) -> None:
    """P(e|v) = sum of P(e_i|v_i) P(v_i) / sum of P(v_j); of the latter only what enters v from outside it."""
    assert lattice.transition is not None
    transition: list[float] = lattice.transition.tolist()
    if pushing:
        transition = push(lattice, transition)
    prior = forward(lattice, transition)
    source, target = lattice.source.tolist(), lattice.target.tolist()
    terms: dict[int, list[float]] = defaultdict(list)
    terms[0].append(0.0)
    for arc in range(lattice.arcs):
        begin, end = network.merged[source[arc]], network.merged[target[arc]]
        if begin != end:
            terms[end].append(prior[source[arc]] + transition[arc])
    mass = {node: log_sum(values) for node, values in terms.items()}
    for (begin, _, _), each in network.arcs.items():
        each.transition = log_sum(prior[source[m]] + transition[m] for m in each.members) - mass[begin]


def best_path(network: MergedNetwork, threshold: float = 0.5) -> list[tuple[int, int, int]]:
    """The path with the largest sum of posterior - threshold over its arcs; ties go to the earlier arc."""
    best, back = [-math.inf] * len(network.time), {}
    best[0] = 0.0
    for key, arc in network.arcs.items():  # by source
        total = best[key[0]] + arc.posterior - threshold
        if total > best[key[1]]:
            best[key[1]] = total
            back[key[1]] = key
    path, node = [], len(network.time) - 1
    while node:
        path.append(back[node])
        node = back[node][0]
    return path[::-1]

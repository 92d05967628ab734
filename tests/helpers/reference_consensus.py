"""Minimum Bayes risk decoding in plain Python, an utterance at a time: the recursion for edit distance of Xu, Povey,
Mangu and Zhu (2011), line by line, without windows.

It shares no code with the package. Tests compare it with the kernels, `benchmarks/wcn.py` times it against them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tests.helpers.reference_hwcn import arc_weights, posteriors
from wordtrust.lattices.lattice import Lattice
from wordtrust.lattices.weights import Scales

DELTA = 1e-6  # what an insertion without a position costs on top
TIE = 1e-10


@dataclass
class Sausage:
    """A word sequence with epsilons (0) and what each of its positions holds: word to posterior, and times by it."""

    sequence: list[int]
    slots: list[dict[int, list[float]]]
    errors: float

    @property
    def words(self) -> list[int]:
        """The sequence without epsilons."""
        return [word for word in self.sequence if word]


def decode(lattice: Lattice, scales: Scales | None = None, rounds: int = 100) -> Sausage:
    """Repeat `statistics` and taking the best word of each position, as long as that lowers the expected errors."""
    found = statistics(lattice, with_epsilons(best_path(lattice, scales)), scales)
    for _ in range(rounds):
        better = [best_word(word, slot) for word, slot in zip(found.sequence, found.slots, strict=True)]
        if better == found.sequence:
            break
        new = statistics(lattice, with_epsilons(better), scales)
        if new.errors > found.errors - 1e-9:
            break
        found = new
    return found


def with_epsilons(words: Sequence[int]) -> list[int]:
    """One epsilon before, between and after the words."""
    return [0] + [each for word in words if word for each in (word, 0)]


def best_word(word: int, slot: dict[int, list[float]]) -> int:
    """The most probable word; in ties the old one, else the smallest number."""
    top = max(value[0] for value in slot.values())
    if word in slot and slot[word][0] >= top - TIE:
        return word
    return min(each for each, value in slot.items() if value[0] >= top - TIE)


def best_path(lattice: Lattice, scales: Scales | None) -> list[int]:
    """The words of the path with the best score."""
    weights = arc_weights(lattice, scales or lattice.scales)
    best: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for arc in range(lattice.arcs):
        score, words = best[int(lattice.source[arc])]
        target = int(lattice.target[arc])
        if target not in best or score + weights[arc] > best[target][0]:
            best[target] = (score + weights[arc], [*words, int(lattice.word[arc])])
    return best[lattice.nodes - 1][1]


def statistics(lattice: Lattice, sequence: list[int], scales: Scales | None = None) -> Sausage:
    """Figure 5 of the paper: alpha' forwards, beta' backwards, gamma and the times on the way."""
    entering, part = shares(lattice, scales)
    positions, last = len(sequence), lattice.nodes - 1
    alpha = [[0.0] * (positions + 1) for _ in range(lattice.nodes)]
    for q in range(1, positions + 1):
        alpha[0][q] = alpha[0][q - 1] + (sequence[q - 1] != 0)
    choices: dict[int, list[int]] = {}
    for node in range(1, lattice.nodes):
        for arc in entering[node]:
            costs, choices[arc] = align(alpha[int(lattice.source[arc])], int(lattice.word[arc]), sequence)
            for q in range(positions + 1):
                alpha[node][q] += part[arc] * costs[q]
    beta = [[0.0] * (positions + 1) for _ in range(lattice.nodes)]
    beta[last][positions] = 1.0
    slots: list[dict[int, list[float]]] = [defaultdict(lambda: [0.0, 0.0, 0.0]) for _ in sequence]
    time, inserted = lattice.time.tolist(), 0.0
    for node in range(last, 0, -1):
        for arc in entering[node]:
            source, word = int(lattice.source[arc]), int(lattice.word[arc])
            mass = [part[arc] * value for value in beta[node]]
            for q in range(positions, -1, -1):
                if choices[arc][q] == 1:
                    beta[source][q - 1] += mass[q]
                    add(slots[q - 1][word], mass[q], time[source], time[node])
                elif choices[arc][q] == 2:
                    beta[source][q] += mass[q]
                    inserted += mass[q] if word else 0.0
                else:
                    mass[q - 1] += mass[q]
                    slots[q - 1][0][0] += mass[q]
    mass = beta[0]
    for q in range(positions, 0, -1):
        mass[q - 1] += mass[q]
        slots[q - 1][0][0] += mass[q]
    return Sausage(sequence, [dict(slot) for slot in slots], alpha[last][positions] - DELTA * inserted)


def shares(lattice: Lattice, scales: Scales | None) -> tuple[dict[int, list[int]], list[float]]:
    """The arcs that enter each node, and each arc's part of the posterior mass that does."""
    posterior = [max(value, 1e-30) for value in posteriors(lattice, scales)[0]]
    entering: dict[int, list[int]] = defaultdict(list)
    for arc, target in enumerate(lattice.target.tolist()):
        entering[target].append(arc)
    total = {node: sum(posterior[arc] for arc in arcs) for node, arcs in entering.items()}
    return entering, [posterior[arc] / total[int(lattice.target[arc])] for arc in range(lattice.arcs)]


def align(before: list[float], word: int, sequence: list[int]) -> tuple[list[float], list[int]]:
    """The least of: take position q (1), stay (2), drop position q (3)."""
    stay = 1 + DELTA if word else 0.0
    costs, choices = [before[0] + stay], [2]
    for q, there in enumerate(sequence, start=1):
        cost, choice = before[q - 1] + (word != there), 1
        if costs[q - 1] + (there != 0) < cost - TIE:
            cost, choice = costs[q - 1] + (there != 0), 3
        if before[q] + stay < cost - TIE:
            cost, choice = before[q] + stay, 2
        costs.append(cost)
        choices.append(choice)
    return costs, choices


def add(sums: list[float], mass: float, begin: float, end: float) -> None:
    """One share of a slot."""
    sums[0] += mass
    sums[1] += mass * begin
    sums[2] += mass * end

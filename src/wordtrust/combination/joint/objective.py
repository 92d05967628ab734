"""What fitting minimises: expected word errors and likelihood for words, cross entropy for confidences.

An example is one union with its oracle path. For every example the objective is the logarithm of two things: how
unlikely the oracle path is, which turns potentials into probabilities, and how many errors paths are expected to
have, which is what counts. Logarithms, because the errors of good recognizers are a tenth of those of bad ones and
matter as much.

Expected errors are counted without aligning every path, as in Povey's minimum phone error, for words: the oracle path
says when each reference word was spoken, and an arc is credited by its overlap with one. The right word counts
2 x overlap - 1, so 1 if it is all there; another word counts overlap - 1: 0 in the place of a word, where it is no
worse than nothing, -1 where nothing was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import csr_offsets
from ...base.jit import compiled
from ...lattices.lattice import Flags, Ints, Lattices, Offsets, Times
from ...lattices.path_kernels import Numbers
from ...lattices.posterior import FlatGraph, arc_masses, arc_shares
from ...lattices.weights import Reals
from ...networks.build_store import noted_references
from ...networks.labels import ScoredPaths, score_paths
from ...networks.oracle import oracle_paths
from ...networks.reference_words import ReferenceWords
from .arc_models import ConfidenceModel, Layers, Matrix, PotentialModel, Rows, inputs, rows_of, sigmoid
from .evidence import evidence, separated_times
from .hypotheses import on_paths
from .union import JointHypotheses, JointLattice

MIN_LOSS = 0.3  # nats or errors an utterance: unions with less do not count for more
_MIN_PROBABILITY = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class UnionExample:
    """One union with all that fitting needs of it, as small as possible: making it takes longer than a step."""

    members: tuple[int, ...]
    small: NDArray[np.float16]  # the inputs
    silent: Flags
    flat: FlatGraph
    oracle: Flags  # [arcs] on the oracle path, silence included
    right: Flags  # [arcs] words of the oracle path that are in the reference
    accuracy: Reals
    words: int  # of the references

    @classmethod
    def of(cls, systems: JointHypotheses, members: Sequence[int]) -> UnionExample:
        """Join some recognizers."""
        union = systems.union(members)
        lattices, references = union.lattices, noted_references(union.lattices)
        best = oracle_words(lattices, references)
        right = np.zeros(len(lattices.word), np.bool_)
        right[best.words.arcs_in(lattices)[best.alignments.correct]] = True
        return cls(
            members=tuple(members),
            small=inputs(union, evidence(union)).astype(np.float16),
            silent=lattices.word == 0,
            flat=FlatGraph.of(lattices),
            oracle=on_paths(lattices, best.paths),
            right=right,
            accuracy=accuracies(union, references, best),
            words=len(references.words),
        )

    @property
    def x(self) -> Matrix:
        """[arcs, columns] the inputs."""
        return self.small.astype(np.float32)

    @property
    def utterances(self) -> int:
        """How many utterances it has."""
        return len(self.flat.start)


Batch = tuple[UnionExample, ...]  # the same utterances, joined from different subsets


def examples(
    systems: JointHypotheses, size: int, unions: int, random: np.random.Generator, pool: Executor
) -> list[Batch]:
    """Batches of `size` utterances, each joined from `unions` random subsets."""
    count, batches = len(systems.hypotheses), systems.batches(size)
    subsets = [[random_subset(random, count) for _ in range(unions)] for _ in batches]

    def joined(batch: JointHypotheses, chosen: list[list[int]]) -> Batch:
        return tuple(UnionExample.of(batch, members) for members in chosen)

    return list(pool.map(joined, batches, subsets))


def random_subset(random: np.random.Generator, systems: int) -> list[int]:
    """Half of the time two or three recognizers, where the least can be gained, half of the time any number."""
    most = min(3, systems) if random.random() < 0.5 else systems
    return sorted(random.choice(systems, int(random.integers(2, most + 1)), replace=False).tolist())


def oracle_words(lattices: Lattices, references: ReferenceWords) -> ScoredPaths:
    """The best path there is. Words in another spelling are right, but those of the reference come first.

    Otherwise two words in place of one, which count as one, would be worth more than that.
    """
    return score_paths(lattices, oracle_paths(lattices, references, as_written=True), references)


def accuracies(union: JointLattice, references: ReferenceWords, best: ScoredPaths) -> Reals:
    """[arcs] by how much each arc brings the words of a path closer to the best path; 0 for silence."""
    lattices, time = union.lattices, separated_times(union)
    aligned = best.alignments.reference >= 0
    owner = best.words.utterance_of_arc[aligned]
    arc, first_node = best.words.arcs_in(lattices)[aligned], lattices.node_offsets[owner]
    reference = references.words[references.offsets[owner] + best.alignments.reference[aligned]]
    # A word that is right says what was said, be it in another spelling.
    reference = np.where(best.alignments.correct[aligned], lattices.word[arc], reference)
    offsets = csr_offsets(np.bincount(owner, minlength=len(lattices)))
    accuracy = np.zeros(len(lattices.word))
    _accuracies(
        lattices.node_offsets, lattices.arc_offsets, time, lattices.source, lattices.target, lattices.word, reference,
        time[first_node + lattices.source[arc]], time[first_node + lattices.target[arc]], offsets, accuracy,
    )  # fmt: skip
    return accuracy


@compiled
def _accuracies(node_offsets: Offsets, arc_offsets: Offsets, time: Times, source: Ints, target: Ints, word: Ints,
                reference: Ints, begin: Times, finish: Times, offsets: Offsets, out: Reals) -> None:  # fmt: skip
    for u in range(len(node_offsets) - 1):
        for arc in range(arc_offsets[u], arc_offsets[u + 1]):
            if word[arc] == 0:
                continue
            start, end = time[node_offsets[u] + source[arc]], time[node_offsets[u] + target[arc]]
            out[arc] = -1.0
            for index in range(offsets[u], offsets[u + 1]):
                common = min(end, finish[index]) - max(start, begin[index])
                if common > 0:
                    overlap = common / (finish[index] - begin[index])
                    out[arc] = max(out[arc], (2 * overlap if reference[index] == word[arc] else overlap) - 1)


def expected_accuracy(
    flat: FlatGraph, share: Reals, mass: Reals, node: Reals, accuracy: Reals
) -> tuple[float, Reals]:
    """The accuracy that paths have on average, and its gradient by the potentials.

    `share` is the part of an arc in the mass of its source node, `mass` in all paths; `node` has the masses of nodes.
    """
    slope, (before, after, total) = np.empty(len(share)), np.zeros((3, len(node)))
    _expected(flat.source, flat.target, share, mass, node, accuracy, flat.start, before, after, total, slope)
    return float(after[flat.start].sum()), slope


@compiled
def _expected(source: Numbers, target: Numbers, share: Reals, mass: Reals, node: Reals, accuracy: Reals,
              start: Offsets, before: Reals, after: Reals, total: Reals, slope: Reals) -> None:  # fmt: skip
    """The mean accuracy of paths through an arc is that of paths to it, its own and that of paths from it. By the
    chain rule the gradient is its mass times by how much such paths are better than all of the utterance."""
    for arc in range(len(source) - 1, -1, -1):
        after[source[arc]] += share[arc] * (accuracy[arc] + after[target[arc]])
    for first in start:
        total[first] = after[first]
    for arc in range(len(source)):
        left, entered = source[arc], target[arc]
        so_far = accuracy[arc]
        if node[left] > 0:
            so_far += before[left] / node[left]
        before[entered] += mass[arc] * so_far
        total[entered] = total[left]
        slope[arc] = mass[arc] * (so_far + after[entered] - total[left])


@dataclass(frozen=True, slots=True, eq=False)
class _ForwardPass:
    """What the gradient for one kind of arc needs."""

    layers: Layers
    chosen: Flags  # [arcs] of this kind
    x: Matrix  # their inputs
    rows: Rows
    active: Matrix


def _forward(model: PotentialModel, example: UnionExample) -> tuple[Reals, list[_ForwardPass]]:
    """The potentials of a union, and what `_backward` needs: words, then silence."""
    x, rows = example.x, rows_of(example.members, model.systems)
    potential, passes = np.empty(len(x)), []
    for layers, chosen in ((model.word, ~example.silent), (model.silence, example.silent)):
        part = x[chosen]
        potential[chosen], active = layers.potential(part, rows)
        passes.append(_ForwardPass(layers, chosen, part, rows, active))
    return potential, passes


def _backward(passes: Sequence[_ForwardPass], slope: Reals) -> list[Layers]:
    """The gradients by the weights, given that by the potentials."""
    single: Matrix = slope.astype(np.float32)
    return [one.layers.gradient(one.x, one.rows, one.active, single[one.chosen]) for one in passes]


def word_gradients(model: PotentialModel, example: UnionExample, risk: float) -> tuple[float, list[Layers]]:
    """The objective for words (`risk` weighs expected errors against likelihood), and its gradients."""
    potential, passes = _forward(model, example)
    flat, minimum = example.flat, MIN_LOSS * example.utterances
    share, after = arc_shares(flat, potential)
    mass = share.copy()
    node = arc_masses(flat, mass)
    unlikely = float(after[flat.start].sum() - potential[example.oracle].sum()) + minimum
    accuracy, better = expected_accuracy(flat, share, mass, node, example.accuracy)
    errors = max(example.words - accuracy, 0.0) + minimum
    slope = (1 - risk) * (mass - example.oracle) / unlikely - risk * better / errors
    return float((1 - risk) * np.log(unlikely) + risk * np.log(errors)), _backward(passes, slope)


def confidence_gradients(model: ConfidenceModel, example: UnionExample) -> tuple[float, list[Layers]]:
    """The log of the cross entropy of a union's words, and its gradients: words, silence, right."""
    potential, passes = _forward(model.paths, example)
    share, _ = arc_shares(example.flat, potential)
    mass = share.copy()
    node, words = arc_masses(example.flat, mass), ~example.silent
    x, rows = passes[0].x, passes[0].rows
    odds, active = model.right.potential(x, rows)
    marginal, q, right = np.maximum(mass[words], _MIN_PROBABILITY), sigmoid(odds), example.right[words]
    wrong = np.maximum(1 - marginal * q, _MIN_PROBABILITY)
    loss = -float(np.log(np.where(right, np.maximum(marginal * q, _MIN_PROBABILITY), wrong)).sum())
    loss += MIN_LOSS * example.utterances
    by_marginal = np.zeros(len(mass))
    by_marginal[words] = np.where(right, -1 / marginal, q / wrong)
    slope = expected_accuracy(example.flat, share, mass, node, by_marginal)[1] / loss
    by_odds = np.where(right, q - 1, marginal * q * (1 - q) / wrong) / loss
    return float(np.log(loss)), [
        *_backward(passes, slope), model.right.gradient(x, rows, active, by_odds.astype(np.float32)),
    ]  # fmt: skip

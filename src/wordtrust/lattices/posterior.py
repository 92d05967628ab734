"""Arc posteriors P(e|X) by forward-backward, and what follows from them: pruning, and scores made local.

The weight of a path is the product over its arcs of exp(acoustic scale * acoustic + transition scale * transition +
word penalty); the posterior of an arc is the share of the weight of all paths that is on paths through it.

All of it runs over whole batches. Sums over paths are taken backwards in the log domain, so that scores may differ
by any amount; from them comes the share that each arc has of its node, a plain probability, and multiplying shares
forwards gives posteriors that keep their sum at every node to the last digits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import csr_offsets
from ..base.errors import InputError, OptionError
from ..base.jit import compiled, inner
from . import graph
from .lattice import Flags, Floats, Ints, Lattices, Offsets
from .path_kernels import Numbers, best_through
from .paths import one_best
from .weights import Reals, Scales, log_scores, only_posteriors

_FLOAT32_MAX = float(np.finfo(np.float32).max)
_LEAST_POSTERIOR = 1e-30


@dataclass(frozen=True, slots=True)
class Posteriors:
    """What forward-backward gives for a batch."""

    arc: Reals  # [arcs] P(e|X)
    node: Reals  # [nodes] the mass of all paths through each node
    log_total: Reals | None  # [utterances] log of the summed weight of all paths; None where posteriors were given


class FlatGraph(NamedTuple):
    """A batch as one graph, its nodes numbered through: what kernels run over."""

    first: Numbers  # [nodes + 1] node n is left by the arcs first[n] to first[n + 1]
    source: Numbers  # [arcs]
    target: Numbers
    start: Offsets  # [utterances] first node of each

    @classmethod
    def of(cls, lattices: Lattices) -> FlatGraph:
        """The flat graph of a batch."""
        first = np.zeros(len(lattices.time) + 1, np.uint32)
        source, target = np.empty(len(lattices.source), np.uint32), np.empty(len(lattices.source), np.uint32)
        ends = (lattices.source, lattices.target)
        _flatten(lattices.node_offsets, lattices.arc_offsets, *ends, first, source, target)
        return cls(first, source, target, lattices.node_offsets[:-1])


def posteriors(lattices: Lattices, scales: Scales | None = None, *, flat: FlatGraph | None = None) -> Posteriors:
    """Arc posteriors with the given scales, or those of the lattices.

    Posteriors that a recognizer gave without a language score beside them (1-best with confidences) are kept.
    """
    if only_posteriors(lattices):
        return _given(lattices)
    flat = flat or FlatGraph.of(lattices)
    share, after = arc_shares(flat, log_scores(lattices, scales))
    return Posteriors(share, arc_masses(flat, share), after[flat.start])


def prune(
    lattices: Lattices, *, beam: float | None = None, posterior: float | None = None, scales: Scales | None = None
) -> Lattices:
    """Lattices without their least probable arcs.

    `beam` keeps an arc if the best path through it is at most that much worse than the best of all, `posterior` if
    its posterior is at least that large; with both, both must hold. The best path and what the recognizer itself
    would print always stay.
    """
    for name, value in (("beam", beam), ("posterior", posterior)):
        if value is not None and not value >= 0:
            raise OptionError(f"the {name} to prune with is a number from 0 on, not {value}")
    loss, best = path_losses(lattices, log_scores(lattices, scales))
    keep = np.ones(len(loss), bool)
    if beam is not None:
        keep &= loss <= beam
    if posterior is not None:
        keep &= posteriors(lattices, scales).arc >= posterior
    keep |= loss <= 1e-9 * (1 + np.abs(best))  # the best path itself, up to rounding
    keep[one_best(lattices).arcs_in(lattices)] = True
    return select_arcs(lattices, keep)


def path_losses(lattices: Lattices, score: Reals) -> tuple[Reals, Reals]:
    """[arcs] how much worse than the best path the best one through each is; [arcs] the score of the best path."""
    flat, ends = FlatGraph.of(lattices), lattices.node_offsets[1:] - 1
    through, best = best_through(flat.source, flat.target, score, flat.start, ends, len(lattices.time))
    best_of_utterance = np.repeat(best, np.diff(lattices.arc_offsets))
    return best_of_utterance - through, best_of_utterance


def arc_shares(flat: FlatGraph, score: Reals) -> tuple[Reals, Reals]:
    """[arcs] the share of the weight of all paths from its source to the end that goes by each arc, P(e|v, X).

    [nodes] the log weight of all paths from each node to the end.
    """
    share, after = np.empty(len(score)), np.zeros(len(flat.first) - 1)
    _shares(flat.first, flat.target, score, share, after)
    return share, after


def push_scores(flat: FlatGraph, score: Reals, after: Reals) -> Reals:
    """Scores pushed in the log semiring: the log of each arc's share; `after` is what `arc_shares` gives for them.

    Recognizers move weights along paths (Kaldi to early arcs), so a raw score says little about its own arc. Pushed
    scores are local: the probabilities of the arcs leaving a node sum to 1. Every path of an utterance loses the same
    amount, the log weight of all of its paths. Pushing twice changes nothing.
    """
    pushed: Reals = score + after[flat.target] - after[flat.source]
    return pushed


def arc_masses(flat: FlatGraph, share: Reals) -> Reals:
    """Turn each arc's share of its source node into one of all paths, in place; gives the share of each node."""
    node = np.zeros(len(flat.first) - 1)
    node[flat.start] = 1.0
    _arc_masses(flat.source, flat.target, share, node)
    return node


def select_arcs(lattices: Lattices, keep: Flags) -> Lattices:
    """The lattices with the chosen arcs only, as far as these lie on whole paths; each must have one."""
    chosen, before = np.flatnonzero(keep), csr_offsets(keep)
    status, culprit = np.zeros(len(lattices), np.int32), np.zeros(len(lattices), np.int64)
    # Copies, because numba would compile all of it anew for arrays that are read-only.
    ordered = graph.order(
        lattices.node_offsets.copy(), before[lattices.arc_offsets], np.zeros(len(lattices), np.int32),
        (np.diff(lattices.node_offsets) - 1).astype(np.int32), lattices.time.copy(),
        lattices.source[chosen], lattices.target[chosen], status, culprit,
    )  # fmt: skip
    if status.any():
        raise ValueError(f"no path is left through {lattices.utts[int(np.flatnonzero(status)[0])]}")
    rows = chosen[ordered.permutation]
    kept: dict[str, Any] = {name: values[rows] for name, values in lattices.arrays().items()}
    extra = {name: kept.pop(name) for name in lattices.extra}
    kept |= {"source": ordered.source, "target": ordered.target, "time": ordered.time}
    kept |= {"node_offsets": csr_offsets(ordered.nodes), "arc_offsets": csr_offsets(ordered.arcs)}
    return replace(lattices, extra=extra, **kept)


def to_float32(values: Reals) -> Floats:
    """As scores are stored: half the size, and still finite."""
    return np.clip(values, -_FLOAT32_MAX, _FLOAT32_MAX).astype(np.float32)


def _given(lattices: Lattices) -> Posteriors:
    """A recognizer's own posteriors; they need not be those of paths, so a node has the larger of its two sides."""
    assert lattices.posterior is not None
    arc = lattices.posterior.astype(np.float64)
    sides = [np.bincount(end, arc, len(lattices.time)) for end in (lattices.batch_source, lattices.batch_target)]
    return Posteriors(arc, np.maximum(*sides), None)


@compiled
def _flatten(node_offsets: Offsets, arc_offsets: Offsets, source: Ints, target: Ints, first: Numbers,
             flat_source: Numbers, flat_target: Numbers) -> None:  # fmt: skip
    """Number the nodes of all utterances through, and find the first arc of each; `first` comes filled with 0."""
    for u in range(len(node_offsets) - 1):
        for arc in range(arc_offsets[u], arc_offsets[u + 1]):
            flat_source[arc], flat_target[arc] = node_offsets[u] + source[arc], node_offsets[u] + target[arc]
            first[node_offsets[u] + source[arc] + 1] += 1
    for node in range(len(first) - 1):
        first[node + 1] += first[node]


@compiled
def _shares(first: Numbers, target: Numbers, score: Reals, share: Reals, after: Reals) -> None:
    """Backward pass: one log-sum-exp for each node, taken relative to its first arc unless that overflows."""
    for node in range(len(first) - 2, -1, -1):
        begin, end = first[node], first[node + 1]
        if begin == end:
            continue
        top = score[begin] + after[target[begin]]
        share[begin], total = 1.0, 1.0
        for arc in range(begin + np.uint32(1), end):
            share[arc] = np.exp(score[arc] + after[target[arc]] - top)
            total += share[arc]
        if total == np.inf:
            top, total = _relative_to_largest(begin, end, target, score, after, share)
        if total > 1.0:  # more than one arc, as for one node in four of real lattices
            part = 1.0 / total
            for arc in range(begin, end):
                share[arc] *= part
            top += np.log(total)
        after[node] = top


@inner
def _relative_to_largest(begin: int, end: int, target: Numbers, score: Reals, after: Reals,
                         share: Reals) -> tuple[float, float]:  # fmt: skip
    """The weights of a node's arcs relative to the largest; gives its logarithm and their sum."""
    top, total = -np.inf, 0.0
    for arc in range(begin, end):
        top = max(top, score[arc] + after[target[arc]])
    for arc in range(begin, end):
        share[arc] = np.exp(score[arc] + after[target[arc]] - top)
        total += share[arc]
    return top, total


@compiled
def _arc_masses(source: Numbers, target: Numbers, share: Reals, mass: Reals) -> None:
    """Forward pass; `mass` has 1 at every start."""
    for arc in range(len(share)):
        share[arc] *= mass[source[arc]]
        mass[target[arc]] += share[arc]


def log_shares(networks: Lattices) -> Reals:
    """[arcs] the log of the share that each has of the posteriors of all that leave its node."""
    if networks.posterior is None:
        raise InputError(
            "these lattices have no posteriors", file=networks.origin.file, remedy="Build networks first"
        )
    posterior = np.maximum(networks.posterior, _LEAST_POSTERIOR, dtype=np.float64)
    source = networks.batch_source
    shares: Reals = np.log(posterior / np.bincount(source, posterior)[source])
    return shares

"""The order in which a recurrent network goes through a batch of graphs: level by level, never arc by arc.

The level of a node is the length of the longest path to it. All that enters nodes of one level depends on lower
levels only, so the arcs of one level, of all utterances of a batch, are one operation. For that, nodes are put in the
order of their level and arcs in the order of the node they enter: every level is then a slice, and so are the arcs
that enter a node.

The backward direction is the same with every arc turned round. This module needs nothing but numpy, because training
from a packed file must not.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import csr_offsets, logit

Numbers = NDArray[np.int64]
Floats = NDArray[np.float32]
LEAST_SHARE = 1e-6  # of a node: what is less likely still stays possible


class LevelPlan(NamedTuple):
    """One direction through a batch. Nodes and arcs are those of the plan's own order."""

    arc: Numbers  # [arcs] number of each arc in the batch
    source: Numbers  # [arcs] node that each comes from
    target: Numbers  # [arcs] node that each enters; never falls
    entering: Numbers  # [nodes + 1] node n is entered by the arcs entering[n] to entering[n + 1]
    leaving: Numbers  # [arcs] arcs by the node that they leave
    leaving_offsets: Numbers  # [nodes + 1] node n is left by leaving[leaving_offsets[n] : leaving_offsets[n + 1]]
    node_bounds: Numbers  # [levels + 1] the nodes of each level; those of level 0 are entered by no arc
    arc_bounds: Numbers  # [levels + 1] the arcs that enter them

    @property
    def levels(self) -> int:
        """How many levels there are."""
        return len(self.node_bounds) - 1


def plan_levels(source: Numbers, target: Numbers, level: Numbers) -> LevelPlan:
    """The plan of a batch, out of the nodes that its arcs join and the level of every node."""
    order = np.argsort(level, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    entered = rank[target]
    arc = np.argsort(entered, kind="stable")
    left = rank[source][arc]
    entering = csr_offsets(np.bincount(entered, minlength=len(level)))
    node_bounds = csr_offsets(np.bincount(level))
    return LevelPlan(
        arc=arc,
        source=left,
        target=entered[arc],
        entering=entering,
        leaving=np.argsort(left, kind="stable"),
        leaving_offsets=csr_offsets(np.bincount(left, minlength=len(level))),
        node_bounds=node_bounds,
        arc_bounds=entering[node_bounds],
    )


def merge_weights(kind: str, entered: Numbers, posterior: Floats) -> Floats:
    """[arcs] how much of each arc's state goes into the node it enters, summing to 1 at every node.

    `entered` is the node that each arc enters; `kind` is one of `config.MERGES`.
    """
    weight = np.ones(len(entered)) if kind == "mean" else np.maximum(posterior.astype(np.float64), 1e-30)
    weight /= np.bincount(entered, weight)[entered]
    return weight.astype(np.float32)


def skip_logit(posterior: Floats) -> Floats:
    """The posterior as it goes straight to the output: on the real line, and finite."""
    clipped = np.clip(posterior.astype(np.float64), 1e-7, 1 - 1e-7)
    return logit(clipped).astype(np.float32)


def local_log_posterior(left: Numbers, posterior: Floats) -> Floats:
    """[arcs] the log of the share that each arc has of all that leaves its node, the number `left`.

    With these as scores of arcs, the shares of all paths are the posteriors again.
    """
    values = posterior.astype(np.float64)
    whole = np.bincount(left, values)[left]
    return np.asarray(np.log(np.clip(values / np.maximum(whole, 1e-30), LEAST_SHARE, 1.0)), np.float32)


def in_batches(depth: NDArray[np.integer], arc_offsets: Numbers, arcs: int) -> list[Numbers]:
    """Utterances of similar depth in batches of about so many arcs; every utterance is in one of them."""
    if arc_offsets[-1] <= arcs:
        return [np.arange(len(depth))] if len(depth) else []
    order = np.argsort(depth, kind="stable")
    sizes = np.diff(arc_offsets)[order]
    batch = (np.cumsum(sizes) - sizes) // arcs
    cuts = np.flatnonzero(np.diff(batch)) + 1
    return [order[start:stop] for start, stop in pairwise([0, *cuts.tolist(), len(order)]) if stop > start]

"""What one recognizer holds possible, ready to be joined with others: its network without what it does not believe.

An arc stays if its confidence or posterior is over a least one, if it is on the best-confidence output or on what the
recognizer itself would print, or if it is needed to lead from start to end through an arc that stays. So every word
that stays is on a whole path.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...base.errors import OptionError
from ...base.jit import compiled
from ...lattices.lattice import Flags, Floats, Lattices, Offsets, Vocabulary, renumbered
from ...lattices.paths import Paths, one_best
from ...lattices.posterior import Flat, Numbers, select
from ...lattices.weights import Reals

LEAST = 0.02
CONFIDENCE, PRINTED = "confidence", "printed"  # of each arc, among `Lattices.extra`
_LEAST_POSTERIOR = 1e-30


def hypotheses(
    networks: Lattices, confidence: Floats | Reals, own: Paths, vocabulary: Vocabulary, *, least: float = LEAST
) -> Lattices:
    """The believed part of scored networks; `own` is the best-confidence output, which becomes `picked`.

    Words are numbered by `vocabulary`, which all recognizers that are to be joined share.
    """
    if networks.posterior is None:
        raise OptionError("hypotheses are joined by confidences and posteriors; build networks first")
    if confidence.shape != networks.word.shape or not np.isfinite(confidence).all():
        raise OptionError(f"{len(networks.word)} arcs need one finite confidence each, not {confidence.shape}")
    picked, printed = on_paths(networks, own), on_paths(networks, one_best(networks))
    sure = np.where(networks.word > 0, confidence, networks.posterior).astype(np.float32)
    keep = (np.maximum(sure, networks.posterior) > least) | picked | printed
    _complete(networks, keep)
    kept = replace(
        networks, acoustic=None, transition=None, picked=picked,
        extra={CONFIDENCE: np.clip(sure, 0.0, 1.0), PRINTED: printed.astype(np.float32)},
        word=renumbered(networks.word, networks.vocabulary, vocabulary),
        surface=renumbered(networks.surface, networks.vocabulary, vocabulary), vocabulary=vocabulary,
    )  # fmt: skip
    return select(kept, keep)


def on_paths(networks: Lattices, paths: Paths) -> Flags:
    """[arcs] which are on paths, silence too."""
    found = np.zeros(len(networks.word), bool)
    found[paths.arcs_in(networks)] = True
    return found


def _complete(networks: Lattices, keep: Flags) -> None:
    """Keep what leads from start to end through every arc that is kept already: the most probable way."""
    assert networks.posterior is not None
    flat, nodes = Flat.of(networks), len(networks.time)
    score = np.log(np.maximum(networks.posterior.astype(np.float64), _LEAST_POSTERIOR))
    before, after = np.full(nodes, -np.inf), np.full(nodes, -np.inf)
    before[flat.start] = after[networks.node_offsets[1:] - 1] = 0.0
    ways = np.full((2, nodes), -1, np.int64)
    _keep_ways(flat.source, flat.target, score, before, after, ways[0], ways[1], keep)


@compiled
def _keep_ways(source: Numbers, target: Numbers, score: Reals, before: Reals, after: Reals, way_in: Offsets,
               way_out: Offsets, keep: Flags) -> None:  # fmt: skip
    """`before` has 0 at every start, `after` at every end; `way_in` and `way_out` come filled with -1."""
    arcs, nodes = len(source), len(before)
    for arc in range(arcs):
        total = before[source[arc]] + score[arc]
        if total > before[target[arc]]:
            before[target[arc]], way_in[target[arc]] = total, arc
    for arc in range(arcs - 1, -1, -1):
        total = after[target[arc]] + score[arc]
        if total > after[source[arc]]:
            after[source[arc]], way_out[source[arc]] = total, arc
    entered, left = np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
    for arc in range(arcs):
        if keep[arc]:
            entered[source[arc]] = left[target[arc]] = True
    for node in range(nodes - 1, -1, -1):
        if entered[node] and way_in[node] >= 0:
            keep[way_in[node]] = True
            entered[source[way_in[node]]] = True
    for node in range(nodes):
        if left[node] and way_out[node] >= 0:
            keep[way_out[node]] = True
            left[target[way_out[node]]] = True

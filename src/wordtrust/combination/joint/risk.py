"""How many words of a network are expected to be right, and what moves that: what fitting makes larger.

Which words of any path are right is told without aligning it (Povey's minimum phone error, for words): the oracle
path says when each word of the reference was spoken, and an arc counts by its overlap with one. The right word counts
2 x overlap - 1, so 1 if it is all there; another one overlap - 1: 0 in the place of a word, where it is no worse than
nothing, -1 where nothing was said.
"""

from __future__ import annotations

import numpy as np

from ...base.arrays import csr_offsets
from ...base.jit import compiled
from ...lattices.lattice import Ints, Offsets, Times
from ...lattices.posterior import Flat, Numbers
from ...lattices.weights import Reals
from ...networks.labels import Spoken, oracle_paths, score_paths
from .evidence import spread_times
from .union import Union


def accuracies(union: Union, spoken: Spoken) -> Reals:
    """[arcs] by how much each brings the words of a path nearer to the reference; 0 for silence."""
    lattices, time = union.lattices, spread_times(union)
    best = score_paths(lattices, oracle_paths(lattices, spoken), spoken)
    aligned = best.alignments.reference >= 0
    owner = best.words.utterance_of_arc[aligned]
    arc, node = best.words.arcs_in(lattices)[aligned], lattices.node_offsets[owner]
    said = spoken.words[spoken.offsets[owner] + best.alignments.reference[aligned]]
    offsets = csr_offsets(np.bincount(owner, minlength=len(lattices)))
    found = np.zeros(len(lattices.word))
    _accuracies(
        lattices.node_offsets, lattices.arc_offsets, time, lattices.source, lattices.target, lattices.word, said,
        time[node + lattices.source[arc]], time[node + lattices.target[arc]], offsets, found,
    )  # fmt: skip
    return found


@compiled
def _accuracies(node_offsets: Offsets, arc_offsets: Offsets, time: Times, source: Ints, target: Ints, word: Ints,
                said: Ints, begin: Times, finish: Times, offsets: Offsets, found: Reals) -> None:  # fmt: skip
    for u in range(len(node_offsets) - 1):
        for arc in range(arc_offsets[u], arc_offsets[u + 1]):
            if word[arc] == 0:
                continue
            start, end = time[node_offsets[u] + source[arc]], time[node_offsets[u] + target[arc]]
            found[arc] = -1.0
            for place in range(offsets[u], offsets[u + 1]):
                common = min(end, finish[place]) - max(start, begin[place])
                if common > 0:
                    part = common / (finish[place] - begin[place])
                    found[arc] = max(found[arc], (2 * part if said[place] == word[arc] else part) - 1)


def expected_accuracy(flat: Flat, share: Reals, mass: Reals, node: Reals, accuracy: Reals) -> tuple[float, Reals]:
    """The accuracy that paths have on average, and its gradient by the potentials.

    `share` and `mass` are the parts of each arc in its source node and in all paths, `node` those of nodes.
    """
    slope, (before, after, total) = np.empty(len(share)), np.zeros((3, len(node)))
    _expected(flat.source, flat.target, share, mass, node, accuracy, flat.start, before, after, total, slope)
    return float(after[flat.start].sum()), slope


@compiled
def _expected(source: Numbers, target: Numbers, share: Reals, mass: Reals, node: Reals, accuracy: Reals,
              start: Offsets, before: Reals, after: Reals, total: Reals, slope: Reals) -> None:  # fmt: skip
    """A path through an arc is as accurate as ways to it, it and ways on are on average; the rest is by the chain
    rule: the arc gains what such paths are better than all of the utterance."""
    for arc in range(len(source) - 1, -1, -1):
        after[source[arc]] += share[arc] * (accuracy[arc] + after[target[arc]])
    for first in start:
        total[first] = after[first]
    for arc in range(len(source)):
        here, there = source[arc], target[arc]
        so_far = accuracy[arc]
        if node[here] > 0:
            so_far += before[here] / node[here]
        before[there] += mass[arc] * so_far
        total[there] = total[here]
        slope[arc] = mass[arc] * (so_far + after[there] - total[here])

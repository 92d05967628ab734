"""How likely the whole of an utterance is right: the probability of the text of a path, however it is segmented.

A path has the probability of its arcs, each given the node it leaves; and each of its words is right by its own
chance, or nothing in the network is. Many paths say the same words at other times: the probability of a text is that
of all of them. An empty text has the probability that nothing was said.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base.jit import compiled
from ..lattices.lattice import Ints, Lattices, Offsets
from ..lattices.paths import Paths
from ..lattices.weights import Reals

MAX_CELLS = 1 << 22  # (node, word) pairs kept for one utterance; beyond it the path alone is taken


def text_probability(
    networks: Lattices, share: NDArray[np.floating], paths: Paths, chance: NDArray[np.floating] | None = None
) -> Reals:
    """[utterances] the probability that the words of each path are all that was said.

    `share` is each arc's share of all paths; what leaves a node is divided by it once more, so posteriors that are
    not those of paths will do. `chance` is that of a word to be right if it is on the path; without, it is sure.
    """
    probability, unit = np.zeros(len(networks)), np.ones(len(networks.word))
    _text_probability(
        networks.node_offsets, networks.arc_offsets, networks.source, networks.target, networks.word,
        np.ascontiguousarray(share, np.float64), unit if chance is None else np.ascontiguousarray(chance, np.float64),
        paths.offsets, paths.arcs, MAX_CELLS, probability,
    )  # fmt: skip
    return np.minimum(probability, 1.0)


@compiled
def _text_probability(
    node_offsets: Offsets, arc_offsets: Offsets, source: Ints, target: Ints, word: Ints, share: Reals, chance: Reals,
    offsets: Offsets, path: Ints, most: int, probability: Reals,
) -> None:  # fmt: skip
    for u in range(len(offsets) - 1):
        first, last, nodes = arc_offsets[u], arc_offsets[u + 1], node_offsets[u + 1] - node_offsets[u]
        leaving = np.zeros(nodes)
        for arc in range(first, last):
            leaving[source[arc]] += share[arc]
        text, words, of_path = np.empty(offsets[u + 1] - offsets[u], np.int32), 0, 1.0
        for i in range(offsets[u], offsets[u + 1]):
            arc = first + path[i]
            of_path *= share[arc] / max(leaving[source[arc]], 1e-300)
            if word[arc] > 0:
                of_path *= chance[arc]
                text[words] = word[arc]
                words += 1
        probability[u] = of_path
        if nodes * (words + 1) > most:
            continue
        reached = np.zeros((nodes, words + 1))  # by all paths to a node that say the first so many words
        reached[0, 0] = 1.0
        for arc in range(first, last):  # sorted by source, so what reaches it is final
            s, t, part = source[arc], target[arc], share[arc] / max(leaving[source[arc]], 1e-300)
            if word[arc] == 0:
                for i in range(words + 1):
                    reached[t, i] += part * reached[s, i]
            else:
                for i in range(words):
                    if text[i] == word[arc]:
                        reached[t, i + 1] += part * chance[arc] * reached[s, i]
        probability[u] = reached[nodes - 1, words]

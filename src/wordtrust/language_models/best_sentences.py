"""The best word sequences of networks, by posterior: what a language model reads."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..base.arrays import csr_offsets, csr_rows
from ..lattices.kbest import KBest, k_best
from ..lattices.lattice import Lattices, Offsets
from ..lattices.posterior import log_shares
from .language_model import Sentence


@dataclass(frozen=True, slots=True)
class BestSentences:
    """The best word sequences of networks, as a language model reads them."""

    paths: KBest
    words: list[list[Sentence]]  # of each utterance, of each of its paths
    arc: Offsets  # [words] of all paths, end to end: the arc of each in the batch
    path: Offsets  # [words] the path it is on

    @classmethod
    def of(cls, networks: Lattices, k: int, *, surfaces: bool) -> BestSentences:
        """Of a batch of networks."""
        paths = k_best(networks, log_shares(networks), k)
        arcs = paths.arcs_in(networks)
        spoken = networks.word[arcs] > 0
        arc, path = arcs[spoken], csr_rows(paths.path_offsets)[spoken]
        ids = networks.surface if surfaces else networks.word
        strings = networks.vocabulary.lookup(ids[arc].tolist())
        cuts = csr_offsets(np.bincount(path, minlength=len(paths.score))).tolist()
        sentences = [strings[begin:end] for begin, end in pairwise(cuts)]
        words: list[list[Sentence]] = [list(sentences[begin:end]) for begin, end in pairwise(paths.offsets.tolist())]
        return cls(paths, words, arc, path)

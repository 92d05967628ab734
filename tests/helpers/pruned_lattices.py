"""Lattices as a decoder leaves them: random scores, pruned at the decoder's scale, acoustics written without it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.helpers.strategies import assembled, batch_of
from wordtrust.lattices.lattice import Lattice, Lattices
from wordtrust.lattices.posterior import prune
from wordtrust.lattices.weights import Scales

WORDS = ("a", "b", "c", "d", "e", "f", "g", "h")


def utterance(name: str, rng: np.random.Generator, *, acoustic_scale: float) -> Lattice:
    """One utterance before pruning: some words long, eight to choose from for each."""
    words = int(rng.integers(2, 25))
    ends = [(place, place + 1) for place in range(words) for _ in WORDS]
    size = len(ends)
    return assembled(
        name,
        time=[0.3 * place for place in range(words + 1)],
        ends=ends,
        tokens=list(WORDS) * words,
        acoustic=(-rng.gamma(2.0, 2.0, size) / acoustic_scale).astype(np.float32),
        transition=-rng.gamma(2.0, 2.0, size).astype(np.float32),
    )


def pruned_lattices(utterances: int, *, acoustic_scale: float, beam: float = 6.0, seed: int = 1) -> Lattices:
    """What a decoder with this acoustic scale and lattice beam writes."""
    rng = np.random.default_rng(seed)
    made = batch_of(*(utterance(f"u{number}", rng, acoustic_scale=acoustic_scale) for number in range(utterances)))
    pruned = prune(replace(made, scales=Scales(acoustic_scale)), beam=beam)
    return replace(pruned, scales=Scales())

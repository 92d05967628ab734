"""How fast lattices become networks: forward-backward, HWCN and best path against the plain Python of the tests.

Run with `python -m benchmarks.hwcn`. It takes the developers' real lattices where they are, else made-up ones. Both
sides do the same work: posteriors, score pushing, merging of nodes, arcs and all scores, the 1-best, and the path
with the largest sum of posterior - 0.5.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from tests.helpers import reference_hwcn as reference

from benchmarks import synthetic
from benchmarks.timing import SHARED, best
from wordtrust.base.problems import Problems
from wordtrust.formats import stream
from wordtrust.lattices.assemble import Builder, RawLattice, Tokens
from wordtrust.lattices.lattice import Lattices, Origin, concatenate
from wordtrust.lattices.paths import Paths, best_paths
from wordtrust.lattices.posterior import posteriors
from wordtrust.networks.hwcn import build

REAL = SHARED / "kaldi-small-2020" / "dev.ark.gz"
SIZES = (1_000, 5_000, 20_000, 100_000)  # arcs of one utterance
HOURS = 30_000  # words of a chain, three hours of speech


def _fast(batches: list[Lattices]) -> Paths:
    for batch in batches:
        merged = build(batch).lattices
        assert merged.posterior is not None
        path = best_paths(merged, merged.posterior.astype(np.float64) - 0.5)
    return path


def _plain(batches: list[Lattices]) -> None:
    for batch in batches:
        for lattice in batch:
            reference.best_path(reference.build(lattice))


def _one(arcs: int) -> Lattices:
    """One utterance: a chain, and arcs that skip a few nodes, with the density of real lattices."""
    random = np.random.default_rng(0)
    nodes = max(2, int(0.43 * arcs))
    begin = random.integers(0, nodes - 1, arcs - nodes + 1)
    end = np.minimum(begin + random.geometric(0.15, len(begin)), nodes - 1)
    chain = np.arange(nodes - 1)
    return _assembled(
        time=np.cumsum(random.integers(0, 3, nodes)) * synthetic.FRAME,
        source=np.concatenate([chain, begin]),
        target=np.concatenate([chain + 1, end]),
        token=random.integers(1, 10_000, arcs),
        random=random,
    )


def _chain(words: int) -> Lattices:
    """A recognizer that is sure of everything, for hours."""
    nodes, random = np.arange(words), np.random.default_rng(0)
    return _assembled(
        time=np.arange(words + 1) * 0.36, source=nodes, target=nodes + 1, token=nodes % 9_999 + 1, random=random
    )


def _assembled(time: np.ndarray, source: np.ndarray, target: np.ndarray, token: np.ndarray,
               random: np.random.Generator) -> Lattices:  # fmt: skip
    tokens = Tokens()
    tokens.ids(synthetic.words(10_000))
    builder = Builder(tokens, Problems(), origin=Origin("synthetic", "synthetic"))
    acoustic, transition = random.normal(-20, 25, (2, len(source)))
    made = builder.add(RawLattice(
        utt="one", time=time, source=source, target=target, token=token.astype(np.int32), start=0, end=len(time) - 1,
        acoustic=acoustic, transition=transition,
    ))  # fmt: skip
    return concatenate([*made, *builder.flush()])


def _alike(batch: Lattices) -> Lattices:
    """With scores as near to each other as a decoder's beam leaves them."""
    assert batch.acoustic is not None
    assert batch.transition is not None
    tenth = np.float32(0.1)
    return replace(batch, acoustic=batch.acoustic * tenth, transition=batch.transition * tenth)


def _ratio() -> None:
    batches = list(stream(REAL)) if REAL.is_file() else [_alike(batch) for batch in synthetic.lattices(900)]
    arcs = sum(len(batch.source) for batch in batches)
    _fast(batches)  # compiles the kernels, or loads them
    fast, plain = best(lambda: _fast(batches), lambda: _plain(batches), rounds=4)
    [alone] = best(lambda: [posteriors(batch) for batch in batches])
    print(
        f"{'real' if REAL.is_file() else 'made-up'} lattices, {arcs:,} arcs: forward-backward + HWCN + best path "
        f"{arcs / fast / 1e6:.1f} M arcs/s, plain Python {arcs / plain / 1e6:.3f} M arcs/s: {plain / fast:.0f} times "
        f"faster, on one core; forward-backward alone {arcs / alone / 1e6:.1f} M arcs/s"
    )


def _growth() -> None:
    shown = []
    for size in SIZES:
        [seconds] = best(partial(_fast, [_one(size)]))
        shown.append(f"{size:,} arcs {1e3 * seconds:.2f} ms ({1e9 * seconds / size:.0f} ns an arc)")
    print(f"one utterance of: {', '.join(shown)}")
    [seconds] = best(partial(_fast, [_chain(HOURS)]))
    print(f"three hours of one chain, {HOURS:,} words: {1e3 * seconds:.2f} ms")


def run() -> None:
    """Print the ratio to plain Python, arcs a second, and how the cost grows with the size of an utterance."""
    _ratio()
    _growth()


if __name__ == "__main__":
    run()

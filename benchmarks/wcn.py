"""How fast confusion networks are made, against plain Python in the same run, and how the time grows with the arcs.

Run with `python -m benchmarks.wcn`.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from tests.helpers import reference_consensus

from benchmarks import synthetic
from benchmarks.timing import best_cpu
from wordtrust.base.problems import Problems
from wordtrust.lattices.assemble import Builder, RawLattice, Tokens
from wordtrust.lattices.lattice import Lattices, Origin, concatenate
from wordtrust.lattices.weights import Scales
from wordtrust.networks.consensus import consensus

UTTERANCES = 1_000
SCALES = Scales(
    acoustic=0.05, transition=0.05
)  # made-up scores are wild; this leaves about as much doubt as real ones
PLAIN_LONGEST = 300  # arcs: plain Python takes minutes for more
LONG = ((1_000, 30), (5_000, 150), (20_000, 600), (100_000, 3_000), (360_000, 3 * 3_600))  # arcs, seconds


def utterance(arcs: int, seconds: float) -> Lattices:
    """One long utterance: a node every tenth of a second, arcs over one to six of them, a dozen words at any time."""
    random, nodes = np.random.default_rng(0), int(10 * seconds)
    chain = np.arange(nodes - 1)
    source = np.concatenate([chain, random.integers(0, nodes - 1, arcs - len(chain))])
    target = np.minimum(source + np.concatenate([chain * 0 + 1, random.integers(1, 7, arcs - len(chain))]), nodes - 1)
    tokens = Tokens()
    known = tokens.ids(["<eps>", *synthetic.words(5_000)])
    builder = Builder(tokens, Problems(), origin=Origin("made up", "made up"))
    made = builder.add(RawLattice(
        utt="long", time=np.linspace(0, seconds, nodes), source=source.astype(np.int32),
        target=target.astype(np.int32),
        token=known[(source // 5 * 11 + random.integers(0, 12, arcs)) % len(known)], start=0, end=nodes - 1,
        acoustic=random.normal(-20, 25, arcs).astype(np.float32),
    ))  # fmt: skip
    return concatenate([*made, *builder.flush()])


def _against_plain(lattices: Lattices) -> None:
    short = concatenate(lattice.batch() for lattice in lattices[:60] if lattice.arcs <= PLAIN_LONGEST)
    begin = time.process_time()
    expected = sum(reference_consensus.decode(lattice, SCALES).errors for lattice in short)
    plain = time.process_time() - begin
    fast = best_cpu(partial(consensus, short, SCALES))
    assert abs(expected - consensus(short, SCALES, window=np.inf).errors.sum()) < 1e-6
    print(
        f"confusion networks of {len(short)} utterances ({len(short.source):,} arcs): "
        f"{plain / fast:,.0f} times faster than plain Python ({len(short.source) / plain:,.0f} arcs/s)"
    )


def _growth() -> None:
    for arcs, duration in LONG:
        lattices = utterance(arcs, duration)
        seconds = best_cpu(partial(consensus, lattices, SCALES))
        passes = int(consensus(lattices, SCALES).rounds[0]) + 1
        print(
            f"one utterance of {arcs:,} arcs ({duration:,} s): {seconds:.3f} s, {passes} passes of "
            f"{seconds / arcs / passes * 1e6:.2f} us an arc"
        )


def run() -> None:
    """Print arcs a second, the ratio to plain Python, and the time an arc takes in longer and longer utterances."""
    lattices = concatenate(synthetic.lattices(UTTERANCES))
    consensus(lattices[:1])  # compiles the kernels
    seconds = best_cpu(partial(consensus, lattices, SCALES))
    print(f"confusion networks: {len(lattices.source) / seconds:,.0f} arcs/s ({len(lattices.source):,} arcs)")
    _against_plain(lattices)
    _growth()


if __name__ == "__main__":
    run()

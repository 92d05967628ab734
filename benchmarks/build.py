"""From a store of lattices to a store of networks, on one core: `wordtrust build` without references."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import synthetic
from benchmarks.timing import SHARED, best
from wordtrust import stream, write
from wordtrust.networks.build_store import BuildOptions, build_store

REAL = SHARED / "kaldi-small-2020" / "train.ark.gz"


def run() -> None:
    """Print lattice arcs a second, reading and writing included, against reading the store alone."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "lattices.store", Path(folder) / "networks.store"
        write(stream(REAL) if REAL.is_file() else synthetic.lattices(), source)
        arcs = sum(len(batch.source) for batch in stream(source))
        [seconds] = best(lambda: build_store(stream(source), out, BuildOptions(), jobs=1))
        [reading] = best(lambda: list(stream(source)), rounds=1)
        print(
            f"store to network store ({'real' if REAL.is_file() else 'made up'}, {arcs:,} arcs): "
            f"{arcs / seconds:,.0f} arcs/s with one job, {seconds / reading:.1f} times reading alone"
        )


if __name__ == "__main__":
    run()

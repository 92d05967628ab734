"""From a store of lattices to a store of networks, on one core: `wordtrust build` without references."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks import synthetic
from wordtrust import stream, write
from wordtrust.networks.build_store import BuildOptions, build_store

REAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "kaldi-small-2020" / "train.ark.gz"
ROUNDS = 3


def _seconds(source: Path, out: Path) -> float:
    begin = time.perf_counter()
    build_store(stream(source), out, BuildOptions(), jobs=1)
    return time.perf_counter() - begin


def run() -> None:
    """Print lattice arcs a second, reading and writing included, against reading the store alone."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "lattices.store", Path(folder) / "networks.store"
        write(stream(REAL) if REAL.is_file() else synthetic.lattices(), source)
        arcs = sum(len(batch.source) for batch in stream(source))
        seconds = min(_seconds(source, out) for _ in range(ROUNDS))
        begin = time.perf_counter()
        for _ in stream(source):
            pass
        reading = time.perf_counter() - begin
        print(
            f"store to network store ({'real' if REAL.is_file() else 'made up'}, {arcs:,} arcs): "
            f"{arcs / seconds:,.0f} arcs/s with one job, {seconds / reading:.1f} times reading alone"
        )


if __name__ == "__main__":
    run()

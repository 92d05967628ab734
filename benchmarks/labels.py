"""What equating spellings (`--equate`) costs: in networks with labels, and in all of a build."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from time import process_time

from benchmarks.timing import SHARED, best
from wordtrust import Lattices, stream
from wordtrust.formats.references import read_references
from wordtrust.networks.build_store import BuildOptions, build_networks, build_store

RECOGNIZERS = ("kaldi-small-2020", "whisper-small")


def run() -> None:
    """Print how many times as long equating all spellings takes, for lattices in memory and for files."""
    if not SHARED.is_dir():
        print("labels: needs the developers' shared data folder")
        return
    references = read_references(SHARED / "refs.tsv")
    options = [BuildOptions(references=references, equate=equate) for equate in ("none", "all")]
    for name in RECOGNIZERS:
        file = next(iter(sorted((SHARED / name).glob("dev.*"))))
        batches = list(stream(file))
        arcs = sum(len(batch.source) for batch in batches)
        [strict, lenient] = best(*(partial(_in_memory, batches, each) for each in options), clock=process_time)
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "networks.store"
            works = [partial(_from_file, file, out, each) for each in options]
            [whole, equated] = best(*works, clock=process_time)
        print(
            f"labels of {name} ({arcs:,} arcs): equating spellings takes {lenient / strict:.2f} times as long in "
            f"memory ({arcs / lenient:,.0f} arcs/s), {equated / whole:.2f} times from file to store"
        )


def _in_memory(batches: list[Lattices], options: BuildOptions) -> None:
    for batch in batches:
        build_networks(batch, options)


def _from_file(file: Path, out: Path, options: BuildOptions) -> None:
    build_store(stream(file), out, options, jobs=1)


if __name__ == "__main__":
    run()

"""How long each command takes as the first one after an installation, with nothing compiled yet, and as a later one.

Every command runs in a process of its own, the first time with an empty folder for numba's cache. The sample is
small, so all but a second or two of the first time is compiling.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

from benchmarks import synthetic
from wordtrust.formats import write
from wordtrust.lattices.paths import one_best
from wordtrust.lattices.weights import Scales
from wordtrust.networks.tuned_scales import TunedScales

UTTERANCES = 40  # to tune on


def _kaldi(folder: Path) -> list[str]:
    """Made-up Kaldi lattices with what they would print as references."""
    batches = list(synthetic.lattices(UTTERANCES))
    write(batches, folder / "made.ark.gz", frame_length=synthetic.FRAME)
    lines = ["utt\ttext\n"]
    for lattice in (lattice for batch in batches for lattice in batch):
        said = " ".join(lattice.words[arc] for arc in one_best(lattice.batch()).arcs.tolist() if lattice.word[arc])
        lines.append(f"{lattice.utt}\t{said}\n")
    (folder / "made.tsv").write_text("".join(lines), "utf-8")
    return [str(folder / "made.ark.gz"), "--words", str(folder / "words.txt"), "--ref", str(folder / "made.tsv")]


def _commands(sample: Path, folder: Path) -> Iterator[list[str]]:
    lattices, kaldi = f"{sample / 'lattices'}/*.slf.gz", _kaldi(folder)
    ref, scales, networks = ("--ref", str(sample / "ref.tsv")), folder / "scales.json", str(folder / "networks")
    TunedScales(Scales(), Scales(), Scales(), {}).save(scales)
    yield ["info", lattices, *ref]
    yield ["info", *kaldi]
    yield ["convert", lattices, str(folder / "store"), "--overwrite"]
    yield ["tune", *kaldi, "--out", str(folder / "tuned.json"), "--overwrite"]
    yield ["build", lattices, *ref, "--scales", str(scales), "--out", networks, "--overwrite"]
    yield ["evaluate", networks]
    yield ["demo", "--out", str(folder / "demo")]


def _seconds(command: list[str], cache: str) -> float:
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "wordtrust", *command],
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - begin


def run() -> None:
    """Print the seconds of each command cold and warm."""
    with tempfile.TemporaryDirectory() as folder, as_file(files("wordtrust") / "sample") as sample:
        for command in _commands(sample, Path(folder)):
            with tempfile.TemporaryDirectory() as cache:
                cold, warm = _seconds(command, cache), _seconds(command, cache)
            what = f"{command[0]} ({'Kaldi' if '--words' in command else 'HTK'})"
            print(f"{what}: {cold:.1f} s cold, {warm:.1f} s warm, {cold / warm:.1f} times as long", flush=True)


if __name__ == "__main__":
    run()

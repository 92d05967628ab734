"""How fast models are at work: from lattices in memory to words with confidences, on one thread.

    python -m benchmarks.score [--models FOLDER] [--before CHECKOUT]

FOLDER has models by the name of their recognizer; without it they are those that come with wordtrust. CHECKOUT is a
working tree of an earlier version (`git worktree add CHECKOUT COMMIT`), which is measured in turn with this one, each
with its own code, and with the models that came with it: a ratio over 1 means that this version takes longer. Seconds
are those of the processor, the best of some rounds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.timing import SHARED

FILES = ("kaldi-small-2020/dev.ark.gz", "moonshine-tiny/dev.jsonl.gz", "whisper-base/dev.jsonl.gz")
ROUNDS = 15
# Runs with the code of any version. Every line of stdin is a round; a line of seconds comes back for each.
_WORKER = """
import sys, time
import wordtrust as wt
lattices, scorer = wt.read(sys.argv[1]), wt.load(sys.argv[2])
networks = wt.build(lattices).lattices
works = (lambda: scorer.confidence(networks), lambda: scorer(lattices))
for work in works:
    work()  # compiles, and meets all words
print(len(lattices.source), len(networks.source), flush=True)
for _ in sys.stdin:
    taken = []
    for work in works:
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    print(*taken, flush=True)
"""


class Worker:
    """A process that scores the lattices of one file again and again."""

    def __init__(self, source: Path, file: Path, model: str) -> None:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(file), model],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **threads, "PYTHONPATH": str(source)}, cwd=source,
        )  # fmt: skip
        self.lattice_arcs, self.network_arcs = (int(count) for count in self._line())

    def round(self) -> list[float]:
        """Seconds of networks to confidences, and of lattices to words."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return [float(value) for value in self._line()]

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _line(self) -> list[str]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("scoring failed; what it said stands above")
        return line.split()


def measure(file: Path, models: Path | None, before: Path | None) -> None:
    """Print arcs a second for one recognizer, and the ratio to an earlier version."""
    name, here = file.parent.name, Path(__file__).resolve().parents[1] / "src"
    workers = [Worker(here, file, str(models / name) if models else name)]
    if before:
        workers.append(Worker(before.resolve() / "src", file, name))
    rounds = [[worker.round() for worker in workers] for _ in range(ROUNDS)]
    best = [[min(part) for part in zip(*own, strict=True)] for own in zip(*rounds, strict=True)]
    confidences, words = best[0]
    line = (
        f"{name}: networks to confidences {workers[0].network_arcs / confidences:,.0f} arcs/s, lattices to words "
        f"{workers[0].lattice_arcs / words:,.0f} arcs/s"
    )
    if before:
        line += f"; {confidences / best[1][0]:.2f} and {words / best[1][1]:.2f} times as long as before"
    print(line)
    for worker in workers:
        worker.close()


def run(models: Path | None = None, before: Path | None = None) -> None:
    """Print the speed of models on the developers' data."""
    files = [SHARED / file for file in FILES if (SHARED / file).is_file()]
    if not files:
        print("score: needs the developers' shared data folder")
    for file in files:
        measure(file, models, before)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, help="Models by the name of their recognizer [the shipped ones].")
    parser.add_argument("--before", type=Path, help="A working tree of an earlier version.")
    given = parser.parse_args()
    run(given.models.resolve() if given.models else None, given.before)

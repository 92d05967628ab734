"""Fuzzing all readers: whatever is in a file, only our own error type escapes, in bounded time and memory.

`make fuzz` runs a long one: cases are numbered, each made from its number alone, so a run can be stopped, resumed
(`.fuzz/state.json`) and a failure repeated (`python -m tests.fuzz --case N`). `python -m tests.fuzz --bombs` reads
files that are small and would take much (`tests.helpers.bombs`).
"""

from __future__ import annotations

import argparse
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from tests.helpers.bombs import read_bounded, write_bombs
from tests.helpers.mutate import mutated
from tests.helpers.shared import SAMPLES
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats import read_stream
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.inputs import STORE_FILE, unpacked

SECONDS = 10  # a case that takes longer has hung
BLOCK = 10_000  # cases between two savings of the state
MEMORY = 6 << 30  # bytes that a case may ask for
_SIDE = ("words.txt", "recognizer.json")


@dataclass(frozen=True, slots=True)
class Sample:
    """A good file to damage; a store is a folder of them."""

    format: str
    path: Path

    @property
    def data(self) -> bytes:
        return _bytes(self.path)


@cache
def _bytes(path: Path) -> bytes:
    return path.read_bytes()


@cache
def samples() -> tuple[Sample, ...]:
    """All good files of the test suite, formats in turn."""
    found = []
    for folder in sorted(SAMPLES.iterdir()):
        stores = [path.parent for path in sorted(folder.rglob(STORE_FILE))]
        found += [Sample(folder.name, path) for path in stores]
        if not stores:
            files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in _SIDE]
            found += [Sample(folder.name, path) for path in files]
    return tuple(found)


def try_one(sample: Sample, random: Random, damage: Callable[[bytes, Random], bytes] = mutated) -> str:
    """Read a damaged copy of `sample`: "read", "skipped" or "refused" with our own error. Anything else escapes."""
    if sample.path.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(shutil.copytree(sample.path, Path(folder) / "store"))
            victim = random.choice(sorted(path for path in copy.rglob("*") if path.is_file()))
            victim.write_bytes(damage(victim.read_bytes(), random))
            return _read(sample.format, b"", copy, random)
    return _read(sample.format, damage(sample.data, random), sample.path, random)


def _read(format_name: str, data: bytes, path: Path, random: Random) -> str:
    problems = Problems(skip=random.random() < 0.5)
    name = path.name if random.random() < 0.9 else "unknown.bin"
    # Half the time the format is given: what no longer looks like it would not get to its reader.
    options = ReadOptions(random.choice((None, format_name)), max_arcs=100_000).beside(path)
    try:
        for batch in read_stream(unpacked(io.BytesIO(data), name, path), options, problems):
            for lattice in batch[:3]:
                str(lattice)
    except InputError as error:
        str(error)
        return "refused"
    return "skipped" if problems.errors else "read"


def run_case(number: int) -> tuple[str, str]:
    """One numbered case: its format and what became of it."""
    random = Random(number)
    sample = samples()[number % len(samples())]
    return sample.format, try_one(sample, random)


class Hung(BaseException):
    """A case that takes too long; no reader catches this."""


@contextmanager
def time_limit(seconds: int = SECONDS) -> Iterator[None]:
    """Raise `Hung` where the block takes longer."""

    def stop(signum: int, frame: FrameType | None) -> None:  # a signal handler
        raise Hung(f"a case took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run_block(first: int, last: int, state: Path) -> tuple[dict[str, int], list[int], float]:
    """Run cases `first` to `last`; gives counts, the numbers of failed cases, and the slowest time."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for sample in samples():  # so that kernels are compiled before the clock runs
        _read(sample.format, b"" if sample.path.is_dir() else sample.data, sample.path, Random(0))
    counts: Counter[str] = Counter()
    failed: list[int] = []
    slowest = 0.0
    for number in range(first, last):
        (state / f"running-{first}").write_text(str(number))  # so that a crash can be named
        started = time.perf_counter()
        try:
            with time_limit():
                kind, outcome = run_case(number)
            counts[f"{kind} {outcome}"] += 1
        except BaseException:  # whatever escapes is what we look for
            failed.append(number)
            (state / "failures" / f"{number}.txt").write_text(traceback.format_exc())
        slowest = max(slowest, time.perf_counter() - started)
    return dict(counts), failed, slowest


def _in_process(first: int, state: Path) -> tuple[dict[str, int], list[int], float]:
    """A block in a process of its own; where that crashes, the case is noted and the rest goes on after it."""
    last, crashed, counts, failed, slowest = first + BLOCK, list[int](), Counter[str](), list[int](), 0.0
    while first < last:
        command = [sys.executable, "-m", "tests.fuzz", "--block", str(first), str(last), "--state", str(state)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        running = state / f"running-{first}"
        if done.returncode == 0:
            found, bad, slow = json.loads(done.stdout.splitlines()[-1])
            return dict(counts + Counter(found)), [*crashed, *failed, *bad], max(slowest, slow)
        if not running.exists():
            raise RuntimeError(f"the fuzzer itself failed: {done.stderr[-4000:]}")
        crashed.append(int(running.read_text()))
        (state / "failures" / f"{crashed[-1]}.txt").write_text(f"crashed: {done.returncode}\n{done.stderr[-4000:]}")
        first = crashed[-1] + 1
    return dict(counts), crashed, slowest


def main() -> int:
    """Run numbered cases until there are enough, saving the state on the way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--case", type=int, help="run this one alone and show what escapes")
    parser.add_argument("--bombs", action="store_true", help="read files that would take much time or memory")
    parser.add_argument("--block", type=int, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--state", type=Path, default=Path(".fuzz"))
    arguments = parser.parse_args()
    if arguments.bombs:
        return _run_bombs()
    if arguments.case is not None:
        print(*run_case(arguments.case))  # noqa: T201
        return 0
    (arguments.state / "failures").mkdir(parents=True, exist_ok=True)
    if arguments.block:
        first, last = arguments.block
        print(json.dumps(run_block(first, last, arguments.state)))  # noqa: T201
        return 0
    return _run_all(arguments.cases, arguments.state)


def _run_bombs() -> int:
    with tempfile.TemporaryDirectory() as folder:
        readings = read_bounded(write_bombs(Path(folder)))
        for reading in readings:
            bad = "" if reading.is_bounded else "  TOO MUCH"
            size, peak = Path(reading.file).stat().st_size, reading.peak / 1e6
            print(f"{Path(reading.file).name:28} {size:>9,} bytes: {reading.outcome}, {reading.seconds:.1f} s, "  # noqa: T201
                  f"{peak:.0f} MB{bad}")  # fmt: skip
        return 0 if all(reading.is_bounded for reading in readings) else 1


def _run_all(cases: int, folder: Path) -> int:
    file = folder / "state.json"
    state: dict[str, Any] = {"done": 0, "failed": [], "slowest": 0.0, "counts": {}}
    state |= json.loads(file.read_text()) if file.exists() else {}
    started, before, workers = time.time(), state["done"], os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        while state["done"] < cases:
            blocks = [pool.submit(_in_process, state["done"] + k * BLOCK, folder) for k in range(workers)]
            for block in blocks:
                counts, failed, slowest = block.result()
                state["counts"] = dict(Counter(state["counts"]) + Counter(counts))
                state["failed"] += failed
                state["slowest"] = max(state["slowest"], slowest)
            state["done"] += workers * BLOCK
            temporary = file.with_suffix(".tmp")
            temporary.write_text(json.dumps(state, indent=1))
            temporary.replace(file)
            rate = (state["done"] - before) / (time.time() - started)
            print(f"{state['done']:,} cases, {len(state['failed'])} failed, {rate:.0f} a second", file=sys.stderr)  # noqa: T201
    print(json.dumps(state, indent=1))  # noqa: T201
    return 1 if state["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())

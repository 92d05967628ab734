"""Put small bugs into modules, one at a time, and count how many the tests notice.

    python -m tools.mutants                        all targets, a fixed sample of bugs of each
    python -m tools.mutants posterior --sample 20  one of them
    python -m tools.mutants --again survivors.json the bugs that lived

Nothing is written to src: every bug is run in a process of its own, which loads the changed module from memory. The
kernels run as plain Python there, as compiled ones would take seconds for every bug. Bugs that change nothing anybody
could see are listed in equivalent.txt, with the reason, and are not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .child import BugLoader, run_tests
from .operators import Mutant, mutants
from .targets import TARGETS, Target

ROOT = Path(__file__).resolve().parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
SEED = 13
SAMPLE = 30
_LONGEST = 600  # seconds of tests, of the processor and of the clock


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description="How many bugs do the tests notice?")
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; all of them if none is named")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="bugs for each target (%(default)s)")
    parser.add_argument("--survivors", type=Path, help="write the bugs that lived to this JSON file")
    parser.add_argument("--again", type=Path, help="only the bugs that this file has")
    chosen = parser.parse_args(arguments)
    again = json.loads(chosen.again.read_text()) if chosen.again else None
    lived: dict[str, list[dict[str, object]]] = {}
    for name in chosen.targets or TARGETS:
        if again is not None and name not in again:
            continue
        bugs = [Mutant(**bug) for bug in again[name]] if again else _sample(TARGETS[name], chosen.sample)
        lived[name] = [asdict(bug) for bug in _run(name, TARGETS[name], bugs)]
        if chosen.survivors:
            chosen.survivors.write_text(json.dumps(lived, indent=1) + "\n")
    return 0


def _sample(target: Target, size: int) -> list[Mutant]:
    """The same bugs as long as the code is the same."""
    every = [bug for module in target.modules for bug in mutants(ROOT, f"src/wordtrust/{module}")]
    return random.Random(SEED).sample(every, min(size, len(every)))


def equivalent_bugs() -> set[str]:
    """The names of bugs that change nothing; lines that begin with # say why."""
    lines = EQUIVALENT.read_text("utf-8").splitlines()
    return {line.strip() for line in lines if line and not line.startswith("#")}


def _run(name: str, target: Target, bugs: Sequence[Mutant]) -> list[Mutant]:
    """Run the tests with each bug; gives those that no test noticed."""
    fails, seconds = _run_tests(target, None, _LONGEST)
    if fails:
        print(f"{name}: tests fail without any bug: {' '.join(target.tests)}", flush=True)
        return []
    limit = int(2 * seconds) + 4  # seconds of the processor; a bug that takes more is one that loops
    lived, equivalent = [], equivalent_bugs()
    visible = [bug for bug in bugs if bug.name not in equivalent]
    for number, bug in enumerate(visible, 1):
        if not _run_tests(target, bug, limit)[0]:
            lived.append(bug)
            print(f"  lived {bug.line:4} {bug.name}", flush=True)
        if sys.stderr.isatty():
            print(f"{name} {number}/{len(visible)}, {len(lived)} lived", end="\r", file=sys.stderr)
    killed, total = len(visible) - len(lived), max(1, len(visible))
    left_out = f", {len(bugs) - len(visible)} others change nothing" if len(visible) < len(bugs) else ""
    print(f"{name}: {killed} of {total} bugs noticed, {killed / total:.1%}{left_out}", flush=True)
    return lived


def _run_tests(target: Target, bug: Mutant | None, limit: int) -> tuple[bool, float]:
    """Whether a test fails, or takes too long; and how many seconds of the processor the tests took."""
    loader = BugLoader(ROOT, bug) if bug else None
    process = os.fork()
    if process == 0:
        run_tests(ROOT, target, loader, limit)
    until = time.monotonic() + _LONGEST
    while True:
        done, status, used = os.wait4(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) != 0, used.ru_utime + used.ru_stime
        if time.monotonic() > until:
            os.killpg(process, signal.SIGKILL)
        time.sleep(0.02)


if __name__ == "__main__":
    sys.exit(main())

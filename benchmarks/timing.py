"""How long things take, as the best of some rounds: other work on the machine slows any of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"  # real data of the developers, where they are

Work = Callable[[], object]
Clock = Callable[[], float]


def seconds(work: Work, clock: Clock = time.perf_counter) -> float:
    """What one call takes."""
    begin = clock()
    work()
    return clock() - begin


def best(*works: Work, rounds: int = 3, clock: Clock = time.perf_counter) -> list[float]:
    """What each takes at its best, all of them in turn in every round."""
    taken = [[seconds(work, clock) for work in works] for _ in range(rounds)]
    return [min(times) for times in zip(*taken, strict=True)]


def best_cpu(work: Work, rounds: int = 3) -> float:
    """The seconds of the processor that a call takes at its best."""
    return best(work, rounds=rounds, clock=time.process_time)[0]

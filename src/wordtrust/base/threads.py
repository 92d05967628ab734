"""The number of cores, and threads that work ahead: the next items of an iterator are made while one is used.

Compiled kernels and unpackers release the interpreter lock, so that two cores work.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def workers(count: int) -> Iterator[ThreadPoolExecutor]:
    """Threads for the length of a `with` block, also inside a generator.

    A generator that is left half-way is finalised wherever Python happens to collect garbage: in one of its own
    threads, or in one that is just starting and holds the lock which waiting for a thread needs. So it does not wait.
    """
    pool = ThreadPoolExecutor(count, "ahead")
    wait = True
    try:
        yield pool
    except GeneratorExit:
        wait = False
        raise
    finally:
        pool.shutdown(wait=wait, cancel_futures=True)


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, each made while the one before is used. Errors are raised where they would be without."""
    with workers(1) as worker:
        following = worker.submit(next, items, None)
        while (item := following.result()) is not None:
            following = worker.submit(next, items, None)
            yield item

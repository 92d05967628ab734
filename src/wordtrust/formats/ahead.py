"""Working ahead: the next items of a stream are made by another thread while these are used.

Kernels and unpackers let go of the interpreter, so that both cores work.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from .inputs import Stream

T = TypeVar("T")


@contextmanager
def workers(count: int) -> Iterator[ThreadPoolExecutor]:
    """Threads for a generator. One left half-way may be cleared away by one of them, which must not await itself."""
    members: set[int] = set()
    pool = ThreadPoolExecutor(count, "ahead", initializer=lambda: members.add(threading.get_ident()))
    try:
        yield pool
    finally:
        pool.shutdown(wait=threading.get_ident() not in members, cancel_futures=True)


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, each made while the one before is used. Errors come out where they would have without."""
    with workers(1) as worker:
        following = worker.submit(next, items, None)
        while (item := following.result()) is not None:
            following = worker.submit(next, items, None)
            yield item


def pieces(stream: Stream, size: int) -> Iterator[bytes]:
    """All of a stream in pieces of `size` bytes; only the last one is smaller."""
    while piece := _piece(stream, size):
        yield piece
        if len(piece) < size:
            return


def _piece(stream: Stream, size: int) -> bytes:
    parts, left = [], size
    while left and (part := stream.read(left)):
        parts.append(part)
        left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)

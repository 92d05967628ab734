"""Working ahead: the next items of a stream are made by another thread while these are used.

Kernels and unpackers let go of the interpreter, so that both cores work.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from .inputs import Stream

T = TypeVar("T")


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, each made while the one before is used. Errors come out where they would have without."""
    with ThreadPoolExecutor(1, "ahead") as worker:
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

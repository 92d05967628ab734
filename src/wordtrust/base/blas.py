"""Matrix products on one thread each: the scorer keeps all cores busy with parts, which small products cannot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_lock = Lock()
_before: list[list[int]] = []  # the threads of each library, as each who is inside found them


@cache
def libraries() -> list[Any]:
    """What numpy (and whoever else was there at first) has its products from."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """While anybody is inside; the last one out restores what the first one found."""
    with _lock:
        _before.append([library.get_num_threads() for library in libraries()])
        _set([1] * len(_before[0]))
    try:
        yield
    finally:
        with _lock:
            if len(_before) == 1:
                _set(_before[0])
            _before.pop()


def _set(threads: list[int]) -> None:
    for library, count in zip(libraries(), threads, strict=True):
        library.set_num_threads(count)

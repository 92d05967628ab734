"""Matrix products on one thread each: the scorer keeps all cores busy with batches, which small products cannot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any


@cache
def libraries() -> list[Any]:
    """The BLAS libraries that numpy (and others that were loaded before the first call) use."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


class _ThreadLimit:
    """The limit of the whole process, as the libraries keep it: it holds while any thread needs it."""

    def __init__(self) -> None:
        self._lock, self._users, self._threads_before = Lock(), 0, [0]

    def enter(self) -> None:
        with self._lock:
            if not self._users:
                self._threads_before = [library.get_num_threads() for library in libraries()]
            self._users += 1
            self._set([1] * len(self._threads_before))

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._set(self._threads_before)

    @staticmethod
    def _set(threads: list[int]) -> None:
        for library, count in zip(libraries(), threads, strict=True):
            library.set_num_threads(count)


_limit = _ThreadLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit products to one thread; the last of several that are in here restores what the first one found."""
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()

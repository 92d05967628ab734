"""Compiled kernels: numba's `njit`, typed, cached on disk, without the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

import numba
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile `function` on first use; later processes load it from numba's cache."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: F) -> F:
    """Like `compiled`, and put into every kernel that calls it: for small parts of hot loops."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(function))


class _CompileListener(event.Listener):
    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell: Callable[[], None] | None = tell

    def on_start(self, event: object) -> None:  # noqa: ARG002  # numba's signature
        if self._tell:
            self._tell()
        self._tell = None

    def on_end(self, event: object) -> None:
        """Nothing to do."""


@cache
def tell_before_compiling(tell: Callable[[], None]) -> None:
    """Call `tell` once if a kernel has to be compiled, so that a person knows why it takes a while."""
    event.register("numba:compile", _CompileListener(tell))

"""Compiled kernels: numba's `njit`, typed, cached on disk, without the interpreter lock.

The first command on a machine has to wait for them, so compile time counts. What costs most in a kernel: assigning an
array or a tuple to a slice, `np.diff`, `np.max` and sorts (seconds each), and being called by kernels that are called
by kernels (what is inside is optimised again in each).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])
Turn = Callable[[str], AbstractContextManager[None]]

_ONE_ROUNDING = {"contract"}  # nothing else of fast arithmetic: NaN stays NaN, and sums keep their order
_turns: list[Turn] = []
_listeners: list[event.Listener] = []


def compiled(function: F) -> F:
    """Compile `function` on first use; later processes load it from numba's cache."""
    return _in_turn(function, _kernel(function))


def arithmetic(function: F) -> F:
    """Like `compiled`, and may multiply and add with one rounding: for loops over rows of numbers."""
    return _in_turn(function, _kernel(function, fastmath=_ONE_ROUNDING))


def _in_turn(function: F, made: Any) -> F:
    name, compile_now = f"{function.__module__}.{function.__qualname__}", made.compile

    def compile_in_turn(signature: Any) -> Any:
        with ExitStack() as turns:
            for turn in _turns:
                turns.enter_context(turn(f"{name} {signature}"))
            return compile_now(signature)

    made.compile = compile_in_turn
    return cast(F, made)


def inner(function: F) -> F:
    """Like `compiled`, for what only kernels call: it cannot be called from Python, and compiles faster for it."""
    return cast(F, _kernel(function, no_cpython_wrapper=True))


def inlined(function: F) -> F:
    """Like `inner`, and put into every kernel that calls it: for small parts of hot loops."""
    return cast(F, _kernel(function, no_cpython_wrapper=True, forceinline=True))


def inlined_arithmetic(function: F) -> F:
    """Like `inlined`, with arithmetic like that of `arithmetic`."""
    return cast(F, _kernel(function, no_cpython_wrapper=True, forceinline=True, fastmath=_ONE_ROUNDING))


def _kernel(function: F, **options: object) -> Any:
    njit = cast(Any, numba.njit)  # its types leave out the options about wrappers
    made = njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    find = made.get_call_template

    def find_by_type(args: Sequence[Any], kws: Mapping[str, Any]) -> Any:
        """A call with a constant in a kernel is one with a number: numba would compile it for every constant."""
        plain = {name: types.unliteral(kind) for name, kind in kws.items()}
        return find(tuple(types.unliteral(kind) for kind in args), plain)

    made.get_call_template = find_by_type
    return made


def take_turns(turn: Turn) -> None:
    """Enter `turn(kernel and signature)` around every compilation from now on: it may wait for another process."""
    _turns.append(turn)


class _CompileListener(event.Listener):
    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell: Callable[[], None] | None = tell

    def on_start(self, event: object) -> None:  # noqa: ARG002  # numba's signature
        tell, self._tell = self._tell, None
        if tell:
            tell()

    def on_end(self, event: object) -> None:
        """Nothing to do."""


def tell_before_compiling(tell: Callable[[], None]) -> None:
    """Call `tell` once if a kernel has to be compiled, so that a person knows why it takes a while.

    A process is told once: a verb that runs others says it for all of them.
    """
    if not _listeners:
        _listeners.append(_CompileListener(tell))
        event.register("numba:compile", _listeners[0])

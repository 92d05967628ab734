"""Compiled kernels: numba's `njit`, typed, cached on disk, without the interpreter lock.

The first command on a machine has to wait for them, so compile time counts. What costs most in a kernel: assigning an
array or a tuple to a slice, `np.diff`, `np.max` and sorts (seconds each), and being called by kernels that are called
by kernels (what is inside is optimised again in each).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])
Turn = Callable[[str], AbstractContextManager[None]]

_ONE_ROUNDING = {"contract"}  # nothing else of fast arithmetic: NaN stays NaN, and sums keep their order
_uncached: list[Any] = []  # the first kernel for which no cache could be written
_turns: list[Turn] = []  # of this process, in all of its threads: numba's dispatchers are its own as well


def compiled(function: F) -> F:
    """Compile `function` on first use; later processes load it from numba's cache."""
    return _compiled_in_turn(function, _kernel(function))


def arithmetic(function: F) -> F:
    """Like `compiled`, and may multiply and add with one rounding: for loops over rows of numbers."""
    return _compiled_in_turn(function, _kernel(function, fastmath=_ONE_ROUNDING))


def _compiled_in_turn(function: F, kernel: Any) -> F:
    name, compile_now = f"{function.__module__}.{function.__qualname__}", kernel.compile

    def compile_in_turn(signature: Any) -> Any:
        with ExitStack() as turns:
            for turn in _turns:
                turns.enter_context(turn(f"{name} {signature}"))
            return compile_now(signature)

    kernel.compile = compile_in_turn
    return cast(F, kernel)


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
    kernel = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
    if _enable_cache(kernel):
        _forgive_stale_cache(kernel._cache)
    find_template = kernel.get_call_template

    def find_by_type(args: Sequence[Any], kws: Mapping[str, Any]) -> Any:
        """A call with a constant in a kernel is one with a number: numba would compile it for every constant."""
        plain = {name: types.unliteral(kind) for name, kind in kws.items()}
        return find_template(tuple(types.unliteral(kind) for kind in args), plain)

    kernel.get_call_template = find_by_type
    return kernel


def _enable_cache(kernel: Any) -> bool:
    """Keep what is compiled where numba does, or in a temporary folder; False where nothing can be written.

    numba writes beside the source, or else below the home folder: a container may allow neither.
    """
    if not _uncached:
        try:
            kernel.enable_caching()
            return True
        except RuntimeError:  # no place that can be written
            settings = cast(Any, numba.config)
            if not settings.CACHE_DIR and (folder := _temporary_cache()):
                settings.CACHE_DIR = folder
                return _enable_cache(kernel)
            _uncached.append(kernel)
    return False


def _temporary_cache() -> str | None:
    """A folder for this user alone: who could write to it could run code as this user."""
    try:
        folder = Path(gettempdir()) / f"wordtrust-kernels-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.lstat()
    except (OSError, AttributeError):  # no temporary folder, or a system without user ids
        return None
    is_ours = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o077
    return str(folder) if is_ours else None


def is_cached() -> bool:
    """Whether what is compiled is kept for later processes."""
    return not _uncached


def unusual_cache() -> str | None:
    """What to say to people about the cache where it cannot be in its usual places."""
    if _uncached:
        return "nothing can be kept for the next command: set NUMBA_CACHE_DIR to a folder that can be written"
    folder = str(cast(Any, numba.config).CACHE_DIR)
    return f"kept in {folder}, as no usual folder can be written" if folder == _temporary_cache() else None


def _forgive_stale_cache(cache: Any) -> None:
    """A cache on disk may name types that this version of the package does not have, or be on a disk that is full.

    The one is emptied, to the other nothing is written; neither is an error.
    """
    load, save = cache.load_overload, cache.save_overload

    def load_or_empty(signature: Any, target: Any) -> Any:
        try:
            return load(signature, target)
        except (AttributeError, ImportError):
            cache.flush()
            return None

    def save_if_possible(signature: Any, compiled_kernel: Any) -> None:
        with suppress(OSError):
            save(signature, compiled_kernel)

    cache.load_overload = load_or_empty
    cache.save_overload = save_if_possible


@contextmanager
def compiling_in_turn(turn: Turn) -> Iterator[None]:
    """Enter `turn(kernel and signature)` around every compilation in here: it may wait for another process."""
    _turns.append(turn)
    try:
        yield
    finally:
        _turns.remove(turn)


@contextmanager
def notified_of_compiling(notify: Callable[[], None]) -> Iterator[None]:
    """Call `notify` before the first compilation in here, so that a person knows why it takes a while."""
    listener = _CompileListener(notify)
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)


class _CompileListener(event.Listener):
    def __init__(self, notify: Callable[[], None]) -> None:
        self._notify: Callable[[], None] | None = notify

    def on_start(self, event: object) -> None:  # noqa: ARG002  # numba's signature
        notify, self._notify = self._notify, None
        if notify:
            notify()

    def on_end(self, event: object) -> None:
        """Nothing to do."""

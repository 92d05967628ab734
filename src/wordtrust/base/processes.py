"""How processes end: SIGTERM and SIGHUP clean up as Ctrl-C does, and helpers do not outlive who started them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

PARENT = "WORDTRUST_PARENT"  # in the environment of a helper: the process that it works for
_SECONDS = 0.5  # between looks at the parent


class Terminated(KeyboardInterrupt):
    """The process was asked to end by a signal; what it was doing ends as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def raising_when_terminated() -> Iterator[None]:
    """In here SIGTERM and SIGHUP raise `Terminated`, once, unless they are ignored (nohup)."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    is_main = threading.current_thread() is threading.main_thread()  # signals go to no other
    caught = [number for number in numbers if is_main and signal.getsignal(number) == signal.SIG_DFL]
    for number in caught:
        signal.signal(number, _terminate)
    try:
        yield
    finally:
        for number in caught:
            if signal.getsignal(number) == _terminate:
                signal.signal(number, signal.SIG_DFL)


def _terminate(number: int, _: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # cleaning up is not interrupted
    raise Terminated(number)


def exit_code(error: BaseException | None) -> int:
    """What an interrupted process exits with: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP."""
    return 128 + (error.number if isinstance(error, Terminated) else int(signal.SIGINT))


def helper_environment() -> dict[str, str]:
    """The environment of a process that is to end with this one (`exit_with_parent`)."""
    return {**os.environ, PARENT: str(os.getpid())}


def exit_with_parent() -> None:
    """In a helper: end when the process that started it is gone, however that ended."""
    parent = os.environ.get(PARENT, "")
    if parent.isdecimal():
        threading.Thread(target=_watch, args=(int(parent),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS)
    os._exit(1)

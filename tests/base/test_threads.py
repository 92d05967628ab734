"""Items made by another thread: the same, in order, with their errors, and no more than one ahead."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

from wordtrust.base.errors import InputError
from wordtrust.base.threads import ahead


def counted(made: list[int], last: int = 5) -> Iterator[int]:
    for number in range(1, last + 1):
        made.append(number)
        yield number


def test_the_same_items_one_ahead_at_most() -> None:
    made: list[int] = []
    for number in ahead(counted(made)):
        assert len(made) <= number + 1
    assert made == [1, 2, 3, 4, 5]


def test_errors_come_out_in_their_place() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise InputError("broken")

    items = ahead(broken())
    assert next(items) == 1
    with pytest.raises(InputError, match="broken"):
        next(items)


def test_the_thread_ends_with_its_user() -> None:
    before = set(threading.enumerate())
    items = ahead(counted([]))
    next(items)
    items.close()  # type: ignore[attr-defined]
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


def test_one_left_in_the_middle_does_not_wait_for_its_thread() -> None:
    """It may be cleared away by a thread that is just starting, and holds what waiting for another one needs."""
    go_on, waited = threading.Event(), threading.Event()

    def items() -> Iterator[int]:
        yield 1
        waited.set()
        go_on.wait(10)
        yield 2

    stream = ahead(items())
    next(stream)
    assert waited.wait(10)
    closing = threading.Thread(target=stream.close)  # type: ignore[attr-defined]
    closing.start()
    closing.join(5)
    ended = not closing.is_alive()
    go_on.set()
    assert ended


def test_one_left_in_the_middle_may_be_cleared_away_by_its_own_thread() -> None:
    """pytest turns what goes wrong in there into an error of this test."""
    dropped, cleared = threading.Event(), threading.Event()

    def items() -> Iterator[int]:
        yield 1
        dropped.wait(10)
        gc.collect()
        cleared.set()
        yield 2

    stream = ahead(items())
    next(stream)
    cycle: list[object] = [stream]
    cycle.append(cycle)
    del stream, cycle
    dropped.set()
    assert cleared.wait(10)
    gc.collect()

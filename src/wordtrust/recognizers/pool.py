"""Recognizers at work beside the rest of the program: one in a thread, or one in each of several processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar

from ..audio import RATE, Samples
from ..base.errors import InputError, WordtrustError
from ..lattices.lattice import Lattice
from .answers import to_line
from .base import Identity, Recognizer, Record
from .registry import loader

Item = TypeVar("Item")
T = TypeVar("T")
# What was heard, in how many seconds, how surely speech: what is kept of it, and why the rest is not.
Guard = Callable[[Record | Lattice, float, float], tuple[Record | Lattice, str | None]]


@dataclass(frozen=True, slots=True)
class Speech:
    """Samples to recognise, and how sure a detector is that they are speech (1 where none was asked)."""

    samples: Samples
    speech: float = 1.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a recognizer heard, as a line of JSON (see `heard`); or an error."""

    line: str = ""
    dropped: str | None = None  # why words were taken for invented
    error: WordtrustError | None = None


class Pool:
    """A recognizer that is asked for several pieces of speech at once and answers in their order.

        with Pool("moonshine", jobs=2) as pool:
            for item, answer in pool.map(items, speech_of): ...

    With one job it is a thread of this process. A process that is killed is an error, not a hang.
    """

    def __init__(self, spec: str, *, jobs: int = 1, guard: Guard | None = None) -> None:
        self._spec, self._jobs = spec, jobs
        worker = _Worker(spec, guard)  # names that are wrong are told here
        self._pool: Executor
        if jobs == 1:
            self._pool = ThreadPoolExecutor(1, "recognizer")
            self._identify, self._answer = worker.identity, worker.answer
        else:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(jobs, context, initializer=_start, initargs=(spec, guard))
            self._identify, self._answer = _identity, _answer
        self._identity: Identity | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
        for process in processes if kind is not None else ():
            process.terminate()  # nobody waits for what it does

    @property
    def identity(self) -> Identity:
        """Who recognises; loads it if that has not happened yet."""
        if self._identity is None:
            found = self._result(self._pool.submit(self._identify))
            if isinstance(found, WordtrustError):
                raise found
            self._identity = found
        return self._identity

    def map(self, items: Iterable[Item], speech_of: Callable[[Item], Speech]) -> Iterator[tuple[Item, Answer]]:
        """Each item with the answer to its speech. The first is not kept waiting; then a few are asked ahead."""
        waiting: deque[tuple[Item, Future[Answer]]] = deque()
        ahead = 0
        for item in items:
            waiting.append((item, self._pool.submit(self._answer, speech_of(item))))
            while len(waiting) > ahead or (waiting and waiting[0][1].done()):
                first, answer = waiting.popleft()
                yield first, self._result(answer)
            ahead = self._jobs + 1
        while waiting:
            first, answer = waiting.popleft()
            yield first, self._result(answer)

    def _result(self, future: Future[T]) -> T:
        try:
            return future.result()
        except BrokenProcessPool:
            raise InputError(
                f"a process with the recognizer {self._spec} was killed",
                remedy="Is there enough memory? Try fewer: --jobs 1",
            ) from None


class _Worker:
    """A recognizer, loaded when it is first needed, whose errors are values."""

    def __init__(self, spec: str, guard: Guard | None) -> None:
        self._spec, self._guard = spec, guard
        self._load = loader(spec)
        self._loaded: Recognizer | None = None

    def _recognizer(self) -> Recognizer:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def identity(self) -> Identity | WordtrustError:
        try:
            return self._recognizer().identity
        except WordtrustError as error:
            return error
        except (Exception, SystemExit) as error:  # an engine may raise anything
            return self._failed(error)

    def answer(self, speech: Speech) -> Answer:
        try:
            heard, dropped = self._recognizer().recognize(speech.samples), None
            if self._guard is not None:
                heard, dropped = self._guard(heard, len(speech.samples) / RATE, speech.speech)
            return Answer(to_line(heard), dropped)
        except WordtrustError as error:
            return Answer(error=error)
        except (Exception, SystemExit) as error:  # an engine may raise anything
            return Answer(error=self._failed(error))

    def _failed(self, error: BaseException) -> InputError:
        told = " ".join(str(error).split())
        return InputError(f"the recognizer {self._spec} failed: {type(error).__name__}: {told}")


_worker: _Worker | None = None  # of this process, if it is one of a pool


def _start(spec: str, guard: Guard | None) -> None:
    global _worker  # noqa: PLW0603  # what an initializer is for
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = _Worker(spec, guard)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _identity() -> Identity | WordtrustError:
    assert _worker is not None
    return _worker.identity()


def _answer(speech: Speech) -> Answer:
    assert _worker is not None
    return _worker.answer(speech)

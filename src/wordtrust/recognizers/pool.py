"""Recognizers working beside the rest of the program: one in a thread, or one in each of several processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache, cached_property, partial
from types import TracebackType
from typing import Self, TypeVar

from ..audio import RATE, Samples
from ..base.errors import InputError, OptionError, WordtrustError
from ..lattices.lattice import Lattice
from .base import ForcedScorer, NBestRecord, Recognizer, RecognizerIdentity
from .forced import score_words
from .kept_encodings import KeptEncodings, fingerprint
from .registry import loader
from .serialization import scores_to_line, to_line

Item = TypeVar("Item")
Result = TypeVar("Result")
# From what was recognised, its seconds, and its mean speech probability, to what is kept, and why the rest is not.
Filter = Callable[[NBestRecord | Lattice, float, float], tuple[NBestRecord | Lattice, str | None]]


@dataclass(frozen=True, slots=True)
class RecognitionRequest:
    """Samples to recognise, and their mean speech probability (1 where no detector was used)."""

    samples: Samples
    speech: float = 1.0


@dataclass(frozen=True, slots=True)
class ScoringRequest:
    """Texts to score, as normalised words, of samples that were recognised before."""

    samples: Samples
    texts: Sequence[Sequence[str]]
    line: str  # what was recognised


@dataclass(frozen=True, slots=True)
class RecognitionResult:
    """What a recognizer made of a request, as lines of JSON (see `serialization`), or an error."""

    line: str = ""
    dropped: str | None = None  # why words were taken for hallucinated
    error: WordtrustError | None = None
    scores: str = ""  # of the texts; empty where none were asked for, or the recognizer cannot score any


Request = RecognitionRequest | ScoringRequest


class RecognizerPool:
    """A recognizer that works on several requests at once and returns the results in their order.

        with RecognizerPool("moonshine", jobs=2) as pool:
            for item, result in pool.map(items, request_of): ...

    It is named, or loaded already. With one job it is a thread of this process. A process that is killed is an error,
    not a hang. With `encodings`, what the encoder made of so many of the last segments is kept, and texts of them are
    scored by the process that has them.
    """

    def __init__(
        self, spec: str | Recognizer, *, jobs: int = 1, keep: Filter | None = None, encodings: int = 1
    ) -> None:
        self._spec, self._jobs = spec, jobs
        worker = _RecognizerWorker(spec, keep, encodings)  # raises an error if there is no such recognizer
        self._executors: list[Executor]
        if jobs > 1 and not isinstance(spec, str):
            raise OptionError("a recognizer that is loaded already works in one job: leave `jobs` out")
        if jobs == 1 or not isinstance(spec, str):
            self._executors = [ThreadPoolExecutor(1, "recognizer")]
            self._identify, self._answer = worker.identity, worker.answer
        else:
            context, sizes = multiprocessing.get_context("spawn"), [1] * jobs if encodings > 1 else [jobs]
            self._executors = [ProcessPoolExecutor(size, context, initializer=_prepare_process) for size in sizes]
            self._identify = partial(_identity_in_process, spec, keep, encodings)
            self._answer = partial(_answer_in_process, spec, keep, encodings)
        self._waiting = [set[Future[RecognitionResult]]() for _ in self._executors]
        self._last = dict[bytes, int]()  # which of several executors recognised the last segments
        self._most_last = encodings * len(self._executors)
        self._identity: RecognizerIdentity | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for executor in self._executors:
            processes = list((getattr(executor, "_processes", None) or {}).values())
            executor.shutdown(wait=kind is None, cancel_futures=True)
            for process in processes if kind is not None else ():
                process.terminate()  # nobody waits for its results

    @property
    def identity(self) -> RecognizerIdentity:
        """Who recognises; loads the recognizer if that has not happened yet."""
        if self._identity is None:
            identity = self.result(self._executors[0].submit(self._identify))
            if isinstance(identity, WordtrustError):
                raise identity
            self._identity = identity
        return self._identity

    def map(
        self, items: Iterable[Item], request_of: Callable[[Item], RecognitionRequest]
    ) -> Iterator[tuple[Item, RecognitionResult]]:
        """Each item with the result of its request. The first is returned at once; then a few are requested ahead."""
        return self._answers(items, request_of)

    def score(
        self, items: Iterable[Item], request_of: Callable[[Item], ScoringRequest]
    ) -> Iterator[tuple[Item, RecognitionResult]]:
        """Each item with the scores of its texts, as `map` does it; without `scores` if the recognizer has none."""
        return self._answers(items, request_of)

    def submit(self, request: Request) -> Future[RecognitionResult]:
        """Put a request behind those that wait already; `result` of what comes back is its result."""
        which = self._executor_for(request)
        future = self._executors[which].submit(self._answer, request)
        self._waiting[which] = {one for one in self._waiting[which] if not one.done()} | {future}
        return future

    def _executor_for(self, request: Request) -> int:
        """The executor that recognised the samples that texts are to be scored of, else the one with least to do."""
        if len(self._executors) == 1:
            return 0
        key = fingerprint(request.samples)
        if isinstance(request, ScoringRequest) and key in self._last:
            return self._last[key]
        busy = [sum(not one.done() for one in waiting) for waiting in self._waiting]
        self._last[key] = which = busy.index(min(busy))
        while len(self._last) > self._most_last:
            del self._last[next(iter(self._last))]
        return which

    def _answers(
        self, items: Iterable[Item], request_of: Callable[[Item], Request]
    ) -> Iterator[tuple[Item, RecognitionResult]]:
        waiting: deque[tuple[Item, Future[RecognitionResult]]] = deque()
        ahead = 0
        for item in items:
            waiting.append((item, self.submit(request_of(item))))
            while len(waiting) > ahead or (waiting and waiting[0][1].done()):
                first, future = waiting.popleft()
                yield first, self.result(future)
            ahead = self._jobs + 1
        for last, future in waiting:
            yield last, self.result(future)

    def result(self, future: Future[Result]) -> Result:
        """What was answered, when it is; InputError if the process is gone."""
        try:
            return future.result()
        except BrokenProcessPool:
            raise InputError(
                f"a process with the recognizer {_name(self._spec)} was killed",
                remedy="Is there enough memory? Try fewer: --jobs 1",
            ) from None


class _RecognizerWorker:
    """A recognizer, loaded when it is first needed, whose errors are values."""

    def __init__(self, spec: str | Recognizer, keep: Filter | None, encodings: int) -> None:
        self._spec, self._keep, self._encodings = spec, keep, encodings
        self._load = loader(spec) if isinstance(spec, str) else lambda: spec

    @cached_property
    def _recognizer(self) -> Recognizer:
        recognizer = self._load()
        kept = getattr(recognizer, "encodings", None)
        if isinstance(kept, KeptEncodings):
            kept.most = self._encodings
        return recognizer

    def identity(self) -> RecognizerIdentity | WordtrustError:
        try:
            return self._recognizer.identity
        except (Exception, SystemExit) as error:  # an engine may raise anything
            return self._failure(error)

    def answer(self, request: Request) -> RecognitionResult:
        try:
            return self._recognize(request) if isinstance(request, RecognitionRequest) else self._score(request)
        except (Exception, SystemExit) as error:
            return RecognitionResult(error=self._failure(error))

    def _recognize(self, request: RecognitionRequest) -> RecognitionResult:
        recognized, dropped = self._recognizer.recognize(request.samples), None
        if self._keep is not None:
            recognized, dropped = self._keep(recognized, len(request.samples) / RATE, request.speech)
        return RecognitionResult(to_line(recognized), dropped)

    def _score(self, request: ScoringRequest) -> RecognitionResult:
        scorer, heard = self._recognizer, json.loads(request.line)
        if not isinstance(scorer, ForcedScorer) or "nbest" not in heard:
            return RecognitionResult()
        return RecognitionResult(scores=scores_to_line(score_words(scorer, request.samples, request.texts, heard)))

    def _failure(self, error: BaseException) -> WordtrustError:
        if isinstance(error, WordtrustError):
            return error
        message = " ".join(str(error).split())
        return InputError(f"the recognizer {_name(self._spec)} failed: {type(error).__name__}: {message}")


def _name(spec: str | Recognizer) -> str:
    return spec if isinstance(spec, str) else type(spec).__name__


def _prepare_process() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


_worker_of_process = cache(_RecognizerWorker)  # a process of a pool serves one recognizer, loaded once


def _identity_in_process(spec: str, keep: Filter | None, encodings: int) -> RecognizerIdentity | WordtrustError:
    return _worker_of_process(spec, keep, encodings).identity()


def _answer_in_process(spec: str, keep: Filter | None, encodings: int, request: Request) -> RecognitionResult:
    return _worker_of_process(spec, keep, encodings).answer(request)

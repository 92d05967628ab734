"""Progress bars: on stderr, and only where a person is watching."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import RenderableType


@contextmanager
def byte_progress(task: str, paths: Sequence[str]) -> Iterator[Callable[[int], None]]:
    """A bar over the bytes of all files; gives the function to call with the number of bytes read."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        row = bar.add_task(task, total=_bytes(paths))
        yield lambda count: bar.advance(row, count)


def _bytes(paths: Sequence[str]) -> int | None:
    files = [file for path in paths for file in ([Path(path)] if Path(path).is_file() else Path(path).rglob("*"))]
    return sum(file.stat().st_size for file in files if file.is_file()) or None


class AudioProgress:
    """A bar over seconds of audio (or over utterances), with the time left; results are printed above it."""

    def __init__(
        self,
        task: str,
        seconds: Sequence[float | None],
        *,
        utterances: int | None = None,
        shows_results: bool = True,
    ) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self.is_read = True  # until the other end of a pipe is closed
        self._shows_results = shows_results
        self._out = Console(soft_wrap=not sys.stdout.isatty(), highlight=False)
        setattr(self._out, "on_broken_pipe", self._nobody_reads)  # noqa: B010  # rich would end the program
        shared = self._out if sys.stdout.isatty() else Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=shared, transient=True, disable=not sys.stderr.isatty())
        self._lengths, self._done = list(seconds), 0.0
        total = None if None in self._lengths else sum(length or 0.0 for length in self._lengths)
        self._row = self._bar.add_task(task, total=total if utterances is None else utterances)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def print(self, result: RenderableType) -> None:
        """Show a result, as long as somebody reads."""
        if self.is_read and self._shows_results:
            self._out.print(result, markup=False)
            with suppress(BrokenPipeError):
                self._out.file.flush()

    def _nobody_reads(self) -> None:
        self.is_read = False
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def at(self, seconds: float) -> None:
        """So many seconds of the current recording are done."""
        self._bar.update(self._row, completed=self._done + seconds)

    def finish_recording(self) -> None:
        """The current recording is done."""
        self._done += self._lengths.pop(0) or 0.0
        self._bar.update(self._row, completed=self._done)

    def one_more(self, seconds: float) -> None:  # noqa: ARG002  # `corpus_job` calls it so
        """One more utterance is done."""
        self._bar.advance(self._row)

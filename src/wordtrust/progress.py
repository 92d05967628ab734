"""Progress bars: on stderr, and only where a person is watching."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def byte_progress(task: str, paths: Sequence[str]) -> Iterator[Callable[[int], None]]:
    """A bar over the bytes of all files; gives the function to call with every number of bytes read."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        row = bar.add_task(task, total=_bytes(paths))
        yield lambda number: bar.advance(row, number)


def _bytes(paths: Sequence[str]) -> int | None:
    files = [file for path in paths for file in ([Path(path)] if Path(path).is_file() else Path(path).rglob("*"))]
    return sum(file.stat().st_size for file in files if file.is_file()) or None

"""A folder that `wordtrust recognize` and `wordtrust study` take: audio/UTT.flac and refs.tsv."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import soundfile

from tools.sample_sound import RATE, Samples
from wordtrust.base.files import atomic_folder, require_new


@dataclass(frozen=True)
class Row:
    """A line of refs.tsv."""

    utt: str
    split: str
    speaker: str
    duration: float  # seconds
    condition: str
    detail: str
    text: str

    def __str__(self) -> str:
        values = (self.utt, self.split, self.speaker, f"{self.duration:.2f}", self.condition, self.detail, self.text)
        return "\t".join(values) + "\n"


Maker = Callable[[Any], tuple[Row, Samples]]


class _Writing:
    """Makes an utterance and writes its audio; what a worker does."""

    def __init__(self, maker: Maker, folder: Path) -> None:
        self.maker, self.folder = maker, folder

    def __call__(self, task: object) -> Row:
        row, samples = self.maker(task)
        soundfile.write(self.folder / f"{row.utt}.flac", samples, RATE, subtype="PCM_16")
        return row


_worker: _Writing | None = None


def _begin(writing: _Writing) -> None:
    global _worker  # noqa: PLW0603
    _worker = writing


def _work(task: object) -> Row:
    assert _worker is not None
    return _worker(task)


def write_corpus(out: Path, maker: Maker, tasks: Sequence[object], *, jobs: int, overwrite: bool) -> list[Row]:
    """Make all utterances, in parallel, and write them; the folder appears when all of it is done."""
    require_new(out, overwrite=overwrite)
    with atomic_folder(out) as draft:
        (draft / "audio").mkdir()
        rows = []
        for row in _rows(_Writing(maker, draft / "audio"), tasks, jobs):
            rows.append(row)
            if len(rows) % 500 == 0:
                print(f"{len(rows)} of {len(tasks)}", flush=True)
        header = "\t".join(field.name for field in fields(Row)) + "\n"
        (draft / "refs.tsv").write_text(header + "".join(map(str, rows)), "utf-8")
    return rows


def _rows(writing: _Writing, tasks: Iterable[object], jobs: int) -> Iterator[Row]:
    if jobs == 1:
        yield from map(writing, tasks)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, _begin, (writing,)) as pool:
        yield from pool.imap(_work, tasks, chunksize=8)

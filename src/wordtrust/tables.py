"""Tables for people, on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .counts import Counts, total

if TYPE_CHECKING:
    from .formats.base import Format

_MOST_ROWS = 25
_WIDTH_OF_FILES = 140  # when the output is not a terminal


def console() -> Console:
    """Where tables are printed."""
    return Console() if sys.stdout.isatty() else Console(width=_WIDTH_OF_FILES)


def print_counts(files: Mapping[str, Counts]) -> None:
    """What `wordtrust info` shows."""
    rows = _grouped(files)
    table = _table("input", "format", *_NUMBERS)
    for name, counts in rows.items():
        table.add_row(Text(name), *_cells(counts))
    everything = total(files.values())
    if len(rows) > 1:
        table.add_section()
        table.add_row("all", *_cells(everything), style="bold")
    out = console()
    out.print(table)
    for line in _remarks(everything):
        out.print(Text(line))


_NUMBERS = ("utterances", "nodes", "arcs", "arcs/s", "arcs/word", "hours", "1-best words")


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        numeric = column in _NUMBERS
        table.add_column(column, justify="right" if numeric else "left", overflow="fold", no_wrap=numeric)
    return table


def _grouped(files: Mapping[str, Counts]) -> dict[str, Counts]:
    """One row a file; one row a folder or archive where there would be too many."""
    for name_of in (str, _archive, _folder):
        rows: dict[str, Counts] = {}
        for file, counts in files.items():
            rows[name_of(file)] = rows.get(name_of(file), Counts()) + counts
        if len(rows) <= _MOST_ROWS:
            break
    return rows


def _archive(file: str) -> str:
    path = file.partition(":")[0]
    return path if Path(path).is_file() else file


def _folder(file: str) -> str:
    return str(Path(_archive(file)).parent)


def _cells(counts: Counts) -> tuple[str, ...]:
    return (
        ", ".join(counts.formats),
        f"{counts.utterances:,}",
        f"{counts.nodes:,}",
        f"{counts.arcs:,}",
        f"{counts.arcs_per_second:.1f}",
        f"{counts.arcs_per_word:.1f}",
        f"{counts.duration / 3600:.2f}",
        f"{counts.words:,}",
    )


def _remarks(counts: Counts) -> Iterable[str]:
    """What a person should know before trusting the numbers."""
    for name in ("acoustic", "transition", "posterior"):
        having = counts.scores[name]
        if having:
            share = "all" if having == counts.utterances else f"{having:,} of {counts.utterances:,}"
            yield f"{name} scores: {share} utterances"
    if not counts.scores:
        yield "no scores: nothing tells the hypotheses apart"
    yield f"largest lattice: {counts.largest:,} arcs"
    if counts.trimmed_nodes or counts.trimmed_arcs:
        yield f"left out, on no path from start to end: {counts.trimmed_nodes:,} nodes, {counts.trimmed_arcs:,} arcs"
    if counts.spread_words:
        yield f"words of zero length, given time by their neighbours: {counts.spread_words:,}"
    if counts.aligned:
        yield f"without word times (one second a word): {counts.aligned:,} utterances"


def print_formats(formats: Iterable[Format]) -> None:
    """What `wordtrust formats` shows."""
    table = _table("name", "what it is", "endings", "read", "written")
    for each in formats:
        marks = ("yes" if each.read else "", "yes" if each.write else "")
        table.add_row(each.name, each.title, " ".join(each.suffixes), *marks)
    console().print(table)

"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, without a line end behind its last row."""
    lines = [table_row(head), "|" + "---|" * len(head), *map(table_row, rows)]
    return "\n".join(lines)


def table_row(cells: Sequence[str]) -> str:
    """One row of it."""
    return "| " + " | ".join(cells) + " |"

"""The main tables of a study on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as Shown
from rich.text import Text

from .combined_tables import ways_table
from .files import remarks
from .table import Table
from .tables import summary_table, words_table

WIDTH = 100  # where the output is not a terminal


def print_study(study: Mapping[str, Any]) -> None:
    """Words, confidences, and combination, a line for each recognizer or way."""
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    tables = [summary_table(study), words_table(study)] + ([ways_table(study)] if study["subsets"] else [])
    for table in tables:
        console.print(Text(table.title, style="bold"))
        console.print(_shown(table))
        console.print(Text(table.note, style="dim"))
        console.print()
    for line in remarks(study):
        console.print(Text(line, style="bold"))


def _shown(table: Table) -> Shown:
    made = Shown(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for number, column in enumerate(table.columns):
        made.add_column(column, justify="right" if number else "left", no_wrap=bool(number), overflow="fold")
    for row in table.rows:
        made.add_row(*map(Text, row))
    return made

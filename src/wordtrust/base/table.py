"""A table of results as rows of text, for terminals, Markdown and pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .visible_text import visible

if TYPE_CHECKING:
    from rich.table import Table as RichTable


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text; the first column holds names, the others numbers unless `texts` lists them.

    A second line in a cell is the interval of the number on the first.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    texts: tuple[int, ...] = ()  # columns of text besides the first
    strong: tuple[int, ...] = ()  # rows that stand out
    grouped: bool = False  # rows with the same first cell belong together

    def is_text(self, column: int) -> bool:
        """Whether a column holds text, which is aligned to the left."""
        return column == 0 or column in self.texts

    def _one_line(self, row: Sequence[str]) -> list[str]:
        """Cells without line ends: intervals are in parentheses."""
        joined = [
            cell.replace("\n", " ") if self.is_text(column) or "\n" not in cell else cell.replace("\n", " (") + ")"
            for column, cell in enumerate(row)
        ]
        return [visible(cell) for cell in joined]

    def to_markdown(self) -> str:
        """The table with its title and note."""
        head, *rows = ([*map(_escaped, self._one_line(row))] for row in (self.columns, *self.rows))
        rule = ["---" if self.is_text(column) else "---:" for column in range(len(self.columns))]
        text = "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))
        return f"## {self.title}\n\n{text}\n" + (f"\n{self.note}\n" if self.note else "")

    def to_rich(self) -> RichTable:
        """The table alone, for a terminal."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=SIMPLE_HEAD, pad_edge=False)
        for index, column in enumerate(self.columns):
            is_text = self.is_text(index)
            table.add_column(column, justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text)
        for index, row in enumerate(self.rows):
            style = "bold" if index in self.strong else None
            table.add_row(*map(Text, self._one_line(row)), style=style)
        return table


def _escaped(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|")

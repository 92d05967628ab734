"""A table of results as rows of text, and how numbers are written in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Study = Mapping[str, Any]  # what study.json holds
NONE = "-"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text; the first column is a name, the others are numbers, unless they are said to be texts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    texts: tuple[int, ...] = ()


def percent(rate: float | None) -> str:
    """A rate, in percent."""
    return NONE if rate is None else f"{100 * rate:.2f}"


def decimal(value: float | None) -> str:
    """A measure, or the p of a test."""
    return NONE if value is None else f"{value:.3f}"


def signed(value: float | None) -> str:
    """A difference."""
    return NONE if value is None else f"{value:+.3f}"


def span(ends: Sequence[float] | None) -> str:
    """From and to, in percent."""
    return NONE if ends is None else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}"

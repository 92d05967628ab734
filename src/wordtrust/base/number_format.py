"""How numbers are written for people, in tables, sentences and plots."""

from __future__ import annotations

import math
from collections.abc import Sequence

NONE = "-"  # where there is no number


def percent(rate: float | None, decimals: int = 2) -> str:
    """A rate in percent, without the sign."""
    return NONE if rate is None else f"{100 * rate:.{decimals}f}"


def percentage(rate: float, decimals: int | None = None) -> str:
    """A rate in percent, with the sign; without `decimals`, as many as it takes."""
    return f"{100 * rate:.4g}%" if decimals is None else f"{100 * rate:.{decimals}f}%"


def decimal(value: float | None) -> str:
    """A measure, or the p of a test."""
    return NONE if value is None else f"{value:.3f}"


def signed(value: float | None) -> str:
    """A difference."""
    return NONE if value is None else f"{value:+.3f}"


def span(ends: Sequence[float] | None) -> str:
    """An interval of rates, in percent."""
    return NONE if ends is None else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}"


def rounded_up(threshold: float, decimals: int = 3) -> str:
    """A threshold, never lower than it was."""
    unit = 10**decimals
    return f"{math.ceil(round(threshold * unit, 6)) / unit:.{decimals}f}"


def counted(count: int, thing: str) -> str:
    """`1 word`, `2,000 words`."""
    return f"{count:,} {thing if count == 1 else thing + 's'}"

"""The description of a plot: `svg` draws it on the page, `figures` with matplotlib for papers.

Scales are linear; a curve on another scale brings its numbers transformed and its ticks with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..base.number_format import percentage

Reals = NDArray[np.float64]
Anchor = Literal["start", "middle", "end"]
Ticks = tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """Title, range and labelled ticks of one direction."""

    title: str
    low: float
    high: float
    ticks: Ticks


@dataclass(frozen=True, slots=True, eq=False)
class LineSeries:
    """A curve."""

    x: Reals
    y: Reals
    role: str


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Rectangles; `hints` are shown when one is pointed at."""

    left: Reals
    right: Reals
    bottom: Reals
    top: Reals
    role: str
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Dots:
    """Points, with an interval from `low` to `high` where there is one (NaN: none)."""

    x: Reals
    y: Reals
    role: str
    radius: float = 3.5
    hints: tuple[str, ...] = ()
    low: Reals | None = None
    high: Reals | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """Text at a point, moved by (right, down) in pixels."""

    x: float
    y: float
    text: str
    role: str = "plain"
    anchor: Anchor = "start"
    moved: tuple[float, float] = (0, 0)


Mark = LineSeries | Bars | Dots | Note


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """A plot: `caption` says what it shows and what is good."""

    name: str  # of its files
    title: str
    caption: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    key: tuple[tuple[str, str], ...] = ()  # role and text of each curve


def share_axis(title: str) -> Axis:
    """From 0 to 100%."""
    return Axis(title, 0.0, 1.0, tuple((tick / 5, f"{20 * tick}%") for tick in range(6)))


def probability_axis(title: str) -> Axis:
    """From 0 to 1."""
    return Axis(title, 0.0, 1.0, tuple((tick / 5, f"{tick / 5:g}") for tick in range(6)))


def fitted_axis(title: str, values: Reals, *, shares: bool = False, count: int = 5) -> Axis:
    """Round ticks around these values, with a little room."""
    low, high = float(values.min()), float(values.max())
    room = 0.1 * (high - low) or 0.05 * abs(high) or 1.0
    low, high = low - room, high + room
    step = round_step((high - low) / count)
    first, last = math.ceil(low / step), math.floor(high / step)
    return Axis(
        title,
        low,
        high,
        tuple((step * n, percentage(step * n) if shares else f"{step * n:.4g}") for n in range(first, last + 1)),
    )


def round_step(rough: float) -> float:
    """1, 2 or 5 times a power of ten, at least as large as given."""
    power = float(10.0 ** math.floor(math.log10(rough)))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))

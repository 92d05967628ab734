"""Plots for the page: small SVG pictures that take their colours from the page's style sheet.

They hold no style, script or link of their own, so the page can forbid all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from html import escape

import numpy as np

from ..base.visible_text import visible
from .chart import Bars, Chart, Dots, LineSeries, Mark, Note

WIDTH, HEIGHT = 360, 290
LEFT, RIGHT, TOP, BOTTOM = 44, 18, 28, 44
_OVER = 5  # a dot at the edge is not cut
_LINE_HEIGHT = 16  # of the key
SIZE = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM)  # of the area inside the axes

Scale = Callable[[float], float]  # from values to pixels


def draw(chart: Chart) -> str:
    """The chart as an <svg> element."""
    x, y = _scales(chart)
    width, height = (side + 2 * _OVER for side in SIZE)
    body = "".join(part for mark in chart.marks for part in _DRAW[type(mark)](mark, x, y))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT + _LINE_HEIGHT * len(chart.key)}" role="img" '
        f'aria-label="{_text(f"{chart.title}. {chart.caption}")}">'
        f"{''.join(_axes(chart, x, y))}"
        f'<svg x="{LEFT - _OVER}" y="{TOP - _OVER}" width="{width}" height="{height}" '
        f'viewBox="{-_OVER} {-_OVER} {width} {height}">{body}</svg>'
        f"{''.join(_key(chart))}</svg>"
    )


def _text(text: str) -> str:
    return escape(visible(text))


def _scales(chart: Chart) -> tuple[Scale, Scale]:
    (width, height), across, up = SIZE, chart.x, chart.y
    return (
        lambda value: (value - across.low) / (across.high - across.low) * width,
        lambda value: height - (value - up.low) / (up.high - up.low) * height,
    )


def _axes(chart: Chart, x: Scale, y: Scale) -> Iterator[str]:
    width, height = SIZE
    for value, name in chart.y.ticks:
        at = TOP + y(value)
        yield f'<path class="grid" d="M{LEFT},{at:.1f}h{width}"/>'
        yield f'<text class="tick" x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{_text(name)}</text>'
    for value, name in chart.x.ticks:
        at = LEFT + x(value)
        yield f'<path class="grid" d="M{at:.1f},{TOP}v{height}"/>'
        yield f'<text class="tick" x="{at:.1f}" y="{TOP + height + 16}" text-anchor="middle">{_text(name)}</text>'
    yield f'<text class="axis" x="4" y="14">{_text(chart.y.title)}</text>'
    yield f'<text class="axis" x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end">{_text(chart.x.title)}</text>'


def _line(mark: LineSeries, x: Scale, y: Scale) -> Iterator[str]:
    points = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(mark.x.tolist(), mark.y.tolist(), strict=True))
    yield f'<polyline class="line r-{mark.role}" points="{points}"/>'


def _bars(mark: Bars, x: Scale, y: Scale) -> Iterator[str]:
    sides = np.stack([mark.left, mark.right, mark.bottom, mark.top], axis=1).tolist()
    for index, (left, right, bottom, top) in enumerate(sides):
        start, up = x(left) + 0.5, y(top)
        yield (
            f'<rect class="bar r-{mark.role}" x="{start:.1f}" y="{up:.1f}" width="{x(right) - start - 0.5:.1f}" '
            f'height="{y(bottom) - up:.1f}">{_hint(mark.hints, index)}</rect>'
        )


def _dots(mark: Dots, x: Scale, y: Scale) -> Iterator[str]:
    if mark.low is not None and mark.high is not None:
        for at, low, high in zip(mark.x.tolist(), mark.low.tolist(), mark.high.tolist(), strict=True):
            if not (math.isnan(low) or math.isnan(high)):
                yield f'<path class="range r-{mark.role}" d="M{x(at):.1f},{y(low):.1f}V{y(high):.1f}"/>'
    for index, (a, b) in enumerate(zip(mark.x.tolist(), mark.y.tolist(), strict=True)):
        yield (
            f'<circle class="dot r-{mark.role}" cx="{x(a):.1f}" cy="{y(b):.1f}" r="{mark.radius:g}">'
            f"{_hint(mark.hints, index)}</circle>"
        )


def _note(mark: Note, x: Scale, y: Scale) -> Iterator[str]:
    across, down = x(mark.x) + mark.moved[0], y(mark.y) + mark.moved[1]
    yield (
        f'<text class="note r-{mark.role}" x="{across:.1f}" y="{down:.1f}" text-anchor="{mark.anchor}">'
        f"{_text(mark.text)}</text>"
    )


def _hint(hints: tuple[str, ...], index: int) -> str:
    return f"<title>{_text(hints[index])}</title>" if index < len(hints) else ""


_DRAW: dict[type[Mark], Callable[..., Iterator[str]]] = {LineSeries: _line, Bars: _bars, Dots: _dots, Note: _note}


def _key(chart: Chart) -> Iterator[str]:
    """The names of the curves, in their colours, below the plot: no corner inside is always free."""
    for index, (role, text) in enumerate(chart.key):
        at = HEIGHT + (index + 0.75) * _LINE_HEIGHT
        yield f'<path class="line r-{role}" d="M{LEFT},{at - 4:.1f}h22"/>'
        yield f'<text class="note key r-{role}" x="{LEFT + 28}" y="{at:.1f}">{_text(text)}</text>'

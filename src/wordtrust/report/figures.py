"""Every plot as PNG and SVG files, for papers. Drawn with matplotlib, in the light colours."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ..base.errors import OptionError
from ..base.files import atomic
from ..base.installation import install_command
from ..base.visible_text import visible
from ..transcripts.page.style import PAGE, ROLES
from .chart import Bars, Chart, Dots, LineSeries, Mark, Note

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INCHES, _DPI = (3.8, 3.0), 200
_PLACE = (0.18, 0.14, 0.77, 0.83)  # left, bottom, width, height of the axes: as good as a layout engine, and fast
_PIXEL = 0.72  # of the page, in points
_STYLE = {
    "font.size": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelsize": 8,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "wordtrust",  # the same names inside for the same plot
    "text.parse_math": False,  # a name like $x^$ is a name
}


def save_figures(charts: Iterable[Chart], folder: Path) -> list[Path]:
    """Write each chart to `folder` as NAME.png and NAME.svg; returns the files."""
    matplotlib = _matplotlib()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"{folder}: cannot be made: {error.strerror}") from None
    written = []
    with matplotlib.rc_context(_STYLE):
        for chart in charts:
            figure = _figure(chart)
            for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
                held = io.BytesIO()
                figure.savefig(held, format=kind, dpi=_DPI, metadata=metadata)
                path = folder / f"{re.sub(r'[^A-Za-z0-9_-]', '_', chart.name)[:100]}.{kind}"
                with atomic(path) as file:
                    file.write(held.getvalue())
                written.append(path)
    return written


def _matplotlib() -> ModuleType:
    try:
        import matplotlib
    except ImportError:
        raise OptionError(f"figures need matplotlib: {install_command('report')}") from None
    return matplotlib


def _figure(chart: Chart) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(_INCHES)
    axes = figure.add_axes(_PLACE)
    for mark in chart.marks:
        _DRAW[type(mark)](axes, mark)
    axes.set(xlim=(chart.x.low, chart.x.high), ylim=(chart.y.low, chart.y.high))
    axes.set_xlabel(visible(chart.x.title))
    axes.set_ylabel(visible(chart.y.title))
    axes.set_xticks([value for value, _ in chart.x.ticks], [name for _, name in chart.x.ticks])
    axes.set_yticks([value for value, _ in chart.y.ticks], [name for _, name in chart.y.ticks])
    axes.grid(color=PAGE["rule"].light, linewidth=0.6)
    axes.set_axisbelow(True)
    _key(axes, chart)
    return figure


def _line(axes: Axes, mark: LineSeries) -> None:
    colour = ROLES[mark.role]
    style = (0, colour.dash) if colour.dash else "-"
    axes.plot(mark.x, mark.y, color=colour.light, linewidth=1.2, linestyle=style)


def _bars(axes: Axes, mark: Bars) -> None:
    axes.bar(mark.left, mark.top - mark.bottom, mark.right - mark.left, mark.bottom, align="edge",
             color=ROLES[mark.role].light, alpha=0.75, edgecolor="white", linewidth=0.5)  # fmt: skip


def _dots(axes: Axes, mark: Dots) -> None:
    colour = ROLES[mark.role].light
    if mark.low is not None and mark.high is not None:
        axes.vlines(mark.x, mark.low, mark.high, color=colour, linewidth=1)
    axes.plot(mark.x, mark.y, "o", color=colour, markersize=2 * mark.radius * _PIXEL, markeredgewidth=0)


def _note(axes: Axes, mark: Note) -> None:
    side = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
    moved = (mark.moved[0] * _PIXEL, -mark.moved[1] * _PIXEL)
    axes.annotate(visible(mark.text), (mark.x, mark.y), moved, textcoords="offset points", ha=side, fontsize=6.5,
                  color=ROLES[mark.role].light)  # fmt: skip


_DRAW: dict[type[Mark], Callable[..., None]] = {LineSeries: _line, Bars: _bars, Dots: _dots, Note: _note}


def _key(axes: Axes, chart: Chart) -> None:
    from matplotlib.lines import Line2D

    lines = [
        Line2D([], [], color=ROLES[role].light, linestyle=(0, ROLES[role].dash) if ROLES[role].dash else "-")
        for role, _ in chart.key
    ]
    if lines:
        names = [visible(text) for _, text in chart.key]
        legend = axes.legend(lines, names, loc=0, frameon=False, fontsize=7)  # where there is most room
        for text, (role, _) in zip(legend.get_texts(), chart.key, strict=True):
            text.set_color(ROLES[role].light)

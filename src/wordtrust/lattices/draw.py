"""Pictures of lattices: Graphviz text, and an SVG drawn here, made to be read.

A large lattice is cut down to the arcs on its best paths; the picture says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

import numpy as np

from ..base.number_format import counted
from .text import JOINER
from .weights import Reals

MOST_ARCS = 60
_LETTER, _LANE, _MARGIN, _BEND = 7.5, 34, 30, 26
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2933; text-anchor: middle; }
.arc { fill: none; stroke: #9aa5b1; stroke-width: 1.2; } .silent { stroke-dasharray: 3 3; }
.best { stroke: #0b69a3; stroke-width: 2.4; } text.best { stroke: none; fill: #0b4f80; font-weight: 600; }
text.silent { fill: #7b8794; font-style: italic; }
.node { fill: #fff; stroke: #52606d; stroke-width: 1.3; } .time { font-size: 10px; fill: #616e7c; }
.label { fill: #fff; opacity: .9; }
""".strip()


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a picture shows of a lattice. Arcs are sorted by source, and lead to larger node numbers."""

    name: str
    time: list[float]  # [nodes] seconds
    ends: list[tuple[int, int]]  # [arcs] source and target node
    labels: list[str]  # [arcs] what is written on each
    silent: list[bool]  # [arcs] whether no word is said
    one_best: frozenset[int]  # the arcs of what the recognizer itself would print
    worth: Reals  # [arcs] the score of the best path through each
    scores: list[list[float]]  # for each kind of score that there is: [arcs]

    def shown_arcs(self, most: int = MOST_ARCS) -> list[int]:
        """The arcs on the best paths, about `most` of them, the recognizer's own choice included.

        An arc's worth is that of the best path through it, so what is kept consists of whole paths.
        """
        if len(self.ends) <= most:
            return list(range(len(self.ends)))
        least = np.sort(self.worth)[-most]
        keep = self.worth >= least
        if keep.sum() > 2 * most:  # many ties: better one path less than a picture nobody can read
            keep = self.worth > least
        keep[list(self.one_best)] = True
        return [int(arc) for arc in np.flatnonzero(keep)]


def label(surface: str, word: str) -> str:
    """What is written on an arc: its surface form, else its word, else a dash."""
    return printable(surface.replace(JOINER, "")) or word or "\u2013"


def printable(text: str) -> str:
    """Text without control characters and the like."""
    return "".join(character if character.isprintable() else "�" for character in text)


def to_dot(drawing: Drawing) -> str:
    """The whole lattice as a Graphviz file, node times and the scores that there are on it."""
    lines = [f"digraph {_quoted(drawing.name)} {{", "  rankdir=LR; node [shape=circle, fontsize=10];"]
    lines += [f'  {node} [label="{time:.2f}"];' for node, time in enumerate(drawing.time)]
    for arc, (source, target) in enumerate(drawing.ends):
        style = ", style=bold" if arc in drawing.one_best else ", style=dashed" if drawing.silent[arc] else ""
        text = f"{drawing.labels[arc]} {'/'.join(f'{values[arc]:.4g}' for values in drawing.scores)}".strip()
        lines.append(f"  {source} -> {target} [label={_quoted(text)}{style}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    return '"' + printable(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things stand: x of each node, lane of each arc (0 in the middle), lane of each node."""

    arcs: list[int]
    x: dict[int, float]
    lane: dict[int, int]
    node_lane: dict[int, float]

    @property
    def lanes(self) -> tuple[int, int]:
        """The first and the last lane."""
        return min(self.lane.values()), max(self.lane.values())


def _layout(drawing: Drawing) -> Layout:
    arcs = drawing.shown_arcs()
    x = {0: 0.0}
    for arc in arcs:  # sorted by source, so x[source] is final
        source, target = drawing.ends[arc]
        seconds = drawing.time[target] - drawing.time[source]
        room = max(len(drawing.labels[arc]) * _LETTER + 2.4 * _BEND, min(seconds, 3.0) * 60)
        x[target] = max(x.get(target, 0.0), x[source] + room)
    return Layout(arcs, x, *_lanes(drawing, arcs, x))


def _lanes(drawing: Drawing, arcs: list[int], x: dict[int, float]) -> tuple[dict[int, int], dict[int, float]]:
    """The lane of every arc and node: the best path in the middle, others near it and as straight as there is room.

    Arcs that overlap go to different lanes; a node lies in the lane of the first arc that enters it.
    """
    ends = drawing.ends
    span = {arc: (x[ends[arc][0]], x[ends[arc][1]]) for arc in arcs}
    lane = {arc: 0 for arc in arcs if arc in drawing.one_best}
    node_lane = {node: 0 for arc in lane for node in ends[arc]}
    taken = {0: [span[arc] for arc in lane]}
    for arc in sorted(set(arcs) - drawing.one_best, key=lambda arc: (*span[arc], arc)):
        source, target = ends[arc]
        free = (n for n in _nearest(node_lane[source], len(arcs)) if _is_free(taken.get(n, []), span[arc]))
        lane[arc] = next(free)
        taken.setdefault(lane[arc], []).append(span[arc])
        node_lane.setdefault(target, lane[arc])
    return lane, {node: float(n) for node, n in node_lane.items()}


def _nearest(lane: int, most: int) -> list[int]:
    """Lanes to try: those near `lane` first, and of these the one nearer to the middle."""
    return sorted(range(-most, most + 1), key=lambda n: (abs(n - lane), abs(n), n))


def _is_free(taken: list[tuple[float, float]], span: tuple[float, float]) -> bool:
    return all(span[1] <= left or right <= span[0] for left, right in taken)


def to_svg(drawing: Drawing) -> str:
    """The lattice as an SVG picture: time runs to the right, the recognizer's own choice is in the middle."""
    layout = _layout(drawing)
    low, high = layout.lanes
    nodes, arcs, seconds = len(drawing.time), len(drawing.ends), drawing.time[-1] - drawing.time[0]
    title = f"{drawing.name}: {counted(nodes, 'node')}, {counted(arcs, 'arc')}, {seconds:.2f} s"
    if len(layout.arcs) < arcs:
        title += f" (the {len(layout.arcs)} arcs on the best paths are shown)"
    width = max(max(layout.x.values()) + 2 * _MARGIN, len(title) * 7.0)
    height = (high - low) * _LANE + 2 * _MARGIN + 44
    body = [*draw_arcs(drawing, layout), *draw_nodes(drawing, layout)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img"><style>{STYLE}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="{_MARGIN}" y="20" style="text-anchor:start">{escape(printable(title))}</text>'
        f'<g transform="translate({_MARGIN},{_MARGIN + 24 - low * _LANE:.0f})">{"".join(body)}</g></svg>'
    )


def draw_arcs(drawing: Drawing, layout: Layout) -> Iterable[str]:
    """The arcs as SVG elements, those of the best path last and so above the others."""
    for arc in sorted(layout.arcs, key=lambda arc: arc in drawing.one_best):
        (source, target), y = drawing.ends[arc], layout.lane[arc] * _LANE
        left, right = layout.x[source], layout.x[target]
        above, below = layout.node_lane[source] * _LANE, layout.node_lane[target] * _LANE
        kind = ("best " if arc in drawing.one_best else "") + ("silent" if drawing.silent[arc] else "")
        yield (
            f'<path class="arc {kind}" d="M{left:.1f},{above:.1f} C{left + _BEND / 2:.1f},{above:.1f} '
            f"{left + _BEND / 2:.1f},{y:.1f} {left + _BEND:.1f},{y:.1f} L{right - _BEND:.1f},{y:.1f} "
            f'C{right - _BEND / 2:.1f},{y:.1f} {right - _BEND / 2:.1f},{below:.1f} {right:.1f},{below:.1f}"/>'
        )
        text, middle = drawing.labels[arc], (left + right) / 2
        half = len(text) * _LETTER / 2 + 3
        yield f'<rect class="label" x="{middle - half:.1f}" y="{y - 9:.1f}" width="{2 * half:.1f}" height="18"/>'
        yield f'<text class="{kind}" x="{middle:.1f}" y="{y + 4.5:.1f}">{escape(text)}</text>'


def draw_nodes(drawing: Drawing, layout: Layout) -> Iterable[str]:
    """The nodes as SVG elements, with their times below them."""
    for node, x in layout.x.items():
        y = layout.node_lane[node] * _LANE
        yield f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="5"><title>node {node}</title></circle>'
        yield f'<text class="time" x="{x:.1f}" y="{y + 18:.1f}">{drawing.time[node]:.2f}</text>'

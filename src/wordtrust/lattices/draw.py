"""Pictures of lattices: Graphviz text, and an SVG drawn here, made to be read.

A large lattice is cut down to the arcs on its best paths; the picture says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

import numpy as np

from .lattice import Flags, Lattice
from .text import JOINER

MOST_ARCS = 60
_LETTER, _LANE, _MARGIN, _BEND = 7.5, 34, 30, 26
_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2933; text-anchor: middle; }
.arc { fill: none; stroke: #9aa5b1; stroke-width: 1.2; } .silent { stroke-dasharray: 3 3; }
.best { stroke: #0b69a3; stroke-width: 2.4; } text.best { stroke: none; fill: #0b4f80; font-weight: 600; }
text.silent { fill: #7b8794; font-style: italic; }
.node { fill: #fff; stroke: #52606d; stroke-width: 1.3; } .time { font-size: 10px; fill: #616e7c; }
.label { fill: #fff; opacity: .9; }
""".strip()


def shown_arcs(lattice: Lattice, most: int = MOST_ARCS) -> Flags:
    """The arcs on the best paths, about `most` of them, the recognizer's own choice included.

    An arc's worth is that of the best path through it, so what is kept consists of whole paths.
    """
    if lattice.arcs <= most:
        return np.ones(lattice.arcs, bool)
    worth = _best_through(lattice)
    keep: Flags = worth >= np.sort(worth)[-most]
    if keep.sum() > 2 * most:  # many ties: better one path less than a picture nobody can read
        keep = worth > np.sort(worth)[-most]
    keep[list(lattice.one_best())] = True
    return keep


def _best_through(lattice: Lattice) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    scores = lattice.scores().tolist()
    source, target = lattice.source.tolist(), lattice.target.tolist()
    ahead, behind = [-np.inf] * lattice.nodes, [-np.inf] * lattice.nodes
    ahead[0] = behind[-1] = 0.0
    for s, t, score in zip(source, target, scores, strict=True):
        ahead[t] = max(ahead[t], ahead[s] + score)
    for s, t, score in zip(reversed(source), reversed(target), reversed(scores), strict=True):
        behind[s] = max(behind[s], behind[t] + score)
    return np.array([ahead[s] + score + behind[t] for s, t, score in zip(source, target, scores, strict=True)])


def label(lattice: Lattice, arc: int) -> str:
    """What is written on an arc."""
    surface = _printable(lattice.surfaces[arc].replace(JOINER, ""))
    return surface or (lattice.words[arc] or "\u2013")


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "�" for character in text)


def to_dot(lattice: Lattice) -> str:
    """The whole lattice as a Graphviz file, node times and the scores that there are on it."""
    best = set(lattice.one_best())
    lines = [f"digraph {_quoted(lattice.utt)} {{", "  rankdir=LR; node [shape=circle, fontsize=10];"]
    lines += [f'  {node} [label="{time:.2f}"];' for node, time in enumerate(lattice.time.tolist())]
    for arc, (source, target) in enumerate(zip(lattice.source.tolist(), lattice.target.tolist(), strict=True)):
        style = ", style=bold" if arc in best else ", style=dashed" if not lattice.word[arc] else ""
        lines.append(f"  {source} -> {target} [label={_quoted(_scored(lattice, arc))}{style}];")
    return "\n".join([*lines, "}"]) + "\n"


def _scored(lattice: Lattice, arc: int) -> str:
    given = (lattice.acoustic, lattice.transition, lattice.posterior)
    return f"{label(lattice, arc)} {'/'.join(f'{values[arc]:.4g}' for values in given if values is not None)}".strip()


def _quoted(text: str) -> str:
    return '"' + _printable(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things stand: x of each node, lane of each arc (0 in the middle), y of each node."""

    arcs: list[int]
    x: dict[int, float]
    lane: dict[int, int]
    y: dict[int, float]

    @property
    def lanes(self) -> tuple[int, int]:
        return min(self.lane.values()), max(self.lane.values())


def _layout(lattice: Lattice, best: set[int]) -> _Layout:
    arcs = np.flatnonzero(shown_arcs(lattice)).tolist()
    x = {0: 0.0}
    for arc in arcs:  # sorted by source, so x[source] is final
        source, target = int(lattice.source[arc]), int(lattice.target[arc])
        length = float(lattice.time[target] - lattice.time[source])
        room = max(len(label(lattice, arc)) * _LETTER + 2.4 * _BEND, min(length, 3.0) * 60)
        x[target] = max(x.get(target, 0.0), x[source] + room)
    return _Layout(arcs, x, *_lanes(lattice, arcs, x, best))


def _lanes(
    lattice: Lattice, arcs: list[int], x: dict[int, float], best: set[int]
) -> tuple[dict[int, int], dict[int, float]]:
    """The lane of every arc and node: the best path in the middle, others near it and as straight as there is room.

    Arcs that overlap go to different lanes; a node lies in the lane of the first arc that enters it.
    """
    ends = {arc: (int(lattice.source[arc]), int(lattice.target[arc])) for arc in arcs}
    span = {arc: (x[source], x[target]) for arc, (source, target) in ends.items()}
    lane = {arc: 0 for arc in arcs if arc in best}
    height = {node: 0 for arc in lane for node in ends[arc]}
    taken = {0: [span[arc] for arc in lane]}
    for arc in sorted(set(arcs) - best, key=lambda arc: (*span[arc], arc)):
        source, target = ends[arc]
        free = (n for n in _nearest(height[source], len(arcs)) if _is_free(taken.get(n, []), span[arc]))
        lane[arc] = next(free)
        taken.setdefault(lane[arc], []).append(span[arc])
        height.setdefault(target, lane[arc])
    return lane, {node: float(number) for node, number in height.items()}


def _nearest(lane: int, most: int) -> list[int]:
    """Lanes to try: those near `lane` first, and of these the one nearer to the middle."""
    return sorted(range(-most, most + 1), key=lambda number: (abs(number - lane), abs(number), number))


def _is_free(taken: list[tuple[float, float]], span: tuple[float, float]) -> bool:
    return all(span[1] <= left or right <= span[0] for left, right in taken)


def to_svg(lattice: Lattice) -> str:
    """The lattice as an SVG picture: time runs to the right, the recognizer's own choice is in the middle."""
    best = set(lattice.one_best())
    layout = _layout(lattice, best)
    low, high = layout.lanes
    width = max(layout.x.values()) + 2 * _MARGIN
    height = (high - low) * _LANE + 2 * _MARGIN + 44
    title = f"{lattice.utt}: {lattice.nodes} nodes, {lattice.arcs} arcs, {lattice.duration:.2f} s"
    if len(layout.arcs) < lattice.arcs:
        title += f" (the {len(layout.arcs)} arcs on the best paths are shown)"
    width = max(width, len(title) * 7.0)
    body = [*_draw_arcs(lattice, layout, best), *_draw_nodes(lattice, layout)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img"><style>{_STYLE}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="{_MARGIN}" y="20" style="text-anchor:start">{escape(_printable(title))}</text>'
        f'<g transform="translate({_MARGIN},{_MARGIN + 24 - low * _LANE:.0f})">{"".join(body)}</g></svg>'
    )


def _draw_arcs(lattice: Lattice, layout: _Layout, best: set[int]) -> Iterable[str]:
    for arc in sorted(layout.arcs, key=lambda arc: arc in best):
        source, target, y = int(lattice.source[arc]), int(lattice.target[arc]), layout.lane[arc] * _LANE
        left, right = layout.x[source], layout.x[target]
        above, below = layout.y[source] * _LANE, layout.y[target] * _LANE
        kind = ("best " if arc in best else "") + ("silent" if not lattice.word[arc] else "")
        yield (
            f'<path class="arc {kind}" d="M{left:.1f},{above:.1f} C{left + _BEND / 2:.1f},{above:.1f} '
            f"{left + _BEND / 2:.1f},{y:.1f} {left + _BEND:.1f},{y:.1f} L{right - _BEND:.1f},{y:.1f} "
            f'C{right - _BEND / 2:.1f},{y:.1f} {right - _BEND / 2:.1f},{below:.1f} {right:.1f},{below:.1f}"/>'
        )
        text, middle = label(lattice, arc), (left + right) / 2
        half = len(text) * _LETTER / 2 + 3
        yield f'<rect class="label" x="{middle - half:.1f}" y="{y - 9:.1f}" width="{2 * half:.1f}" height="18"/>'
        yield f'<text class="{kind}" x="{middle:.1f}" y="{y + 4.5:.1f}">{escape(text)}</text>'


def _draw_nodes(lattice: Lattice, layout: _Layout) -> Iterable[str]:
    for node, x in layout.x.items():
        y = layout.y[node] * _LANE
        yield f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="5"><title>node {node}</title></circle>'
        yield f'<text class="time" x="{x:.1f}" y="{y + 18:.1f}">{lattice.time[node]:.2f}</text>'

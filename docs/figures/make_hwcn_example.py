"""Draws hwcn.svg: the worked example of the docs as a lattice, as a classic confusion network, and as an HWCN.

Run it from anywhere: `python docs/figures/make_hwcn_example.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from wordtrust.base.problems import Problems
from wordtrust.lattices import draw
from wordtrust.lattices.assemble import Builder, RawLattice, Tokens
from wordtrust.lattices.lattice import Lattice, Origin, drawing_of
from wordtrust.lattices.posterior import posteriors
from wordtrust.networks.consensus import consensus
from wordtrust.networks.hwcn import build

OUT = Path(__file__).with_name("hwcn.svg")
SECOND, LANE, MARGIN, HEAD = 780, 34, 34, 40  # pixels

# Ends, word, probability given the start node, and the lane to draw it in (0 is the middle).
ARCS = (
    (0, 1, "I", 0.4, 0), (0, 2, "it", 0.2, -1), (0, 3, "I'll", 0.25, 1), (0, 4, "aisle", 0.15, 3),
    (1, 5, "will", 1.0, 0), (2, 6, "will", 1.0, -1), (3, 8, "sit", 0.6, 1), (3, 9, "simmer", 0.4, 2),
    (4, 7, "seat", 1.0, 3), (5, 8, "sit", 1.0, 0), (6, 9, "simmer", 1.0, -1), (7, 9, "here", 1.0, 3),
    (8, 9, "there", 1.0, 0),
)  # fmt: skip
FRAMES = (0, 12, 12, 30, 30, 30, 30, 68, 68, 94)  # of 10 ms, one for each node
LANES = (0, 0, -1, 1, 3, 0, -1, 3, 0, 0)  # of each node
NETWORK_LANES = {"it": -1, "aisle": -2, "i'll": 1, "seat": -1, "simmer": 1, "here": -1}


def example() -> Lattice:
    """Five ways to hear a sentence: "I will sit there" is the recognizer's own."""
    builder = Builder(Tokens(), Problems(), origin=Origin("worked example", "example"))
    lattice = RawLattice(
        utt="example",
        time=np.array(FRAMES) / 100,
        source=[arc[0] for arc in ARCS],
        target=[arc[1] for arc in ARCS],
        token=[arc[2] for arc in ARCS],
        start=0,
        end=len(FRAMES) - 1,
        transition=np.log([arc[3] for arc in ARCS]),
    )
    [batch] = [*builder.add(lattice), *builder.flush()]
    return batch[0]


@dataclass(frozen=True)
class Panel:
    """One picture: what it shows, and in which lane each arc and node goes."""

    title: str
    lattice: Lattice
    arc_lanes: Sequence[int]
    node_lanes: Sequence[float]


def panels() -> list[Panel]:
    """All panels, from top to bottom."""
    lattice = example()
    lattice = replace(lattice, posterior=posteriors(lattice.batch()).arc.astype(np.float32))
    network, sausage = build(lattice)[0].lattice, classic(lattice)
    return [
        Panel(
            "The lattice: 10 nodes, 13 arcs, 5 paths; beside each word its posterior",
            lattice,
            [arc[4] for arc in ARCS],
            LANES,
        ),
        Panel(
            "The classic confusion network: one segmentation; words in slots they do not fit, and nothing said (-)",
            sausage,
            _stacked(sausage),
            [0] * sausage.nodes,
        ),
        Panel(
            "The HWCN: nodes of one time are merged, then equal words; 4 segmentations, 20 paths",
            network,
            [NETWORK_LANES.get(word, 0) for word in network.words],
            [0] * network.nodes,
        ),
    ]


def classic(lattice: Lattice) -> Lattice:
    """The confusion network of a lattice, its slots as wide as each other."""
    slots = consensus(lattice.batch())[0].slots
    entries = [(number, entry) for number, slot in enumerate(slots) for entry in slot.entries]
    builder = Builder(Tokens(), Problems(), origin=Origin("worked example", "example"))
    lattice = RawLattice(
        utt="example",
        time=np.arange(len(slots) + 1) * FRAMES[-1] / 100 / len(slots),
        source=[number for number, _ in entries],
        target=[number + 1 for number, _ in entries],
        token=[entry.surface or "<eps>" for _, entry in entries],
        start=0,
        end=len(slots),
        posterior=[entry.posterior for _, entry in entries],
    )
    [batch] = [*builder.add(lattice), *builder.flush()]
    return batch[0]


def _stacked(lattice: Lattice) -> list[int]:
    """The lane of each arc of a confusion network: what it says in the middle, the others below it."""
    best, lanes = set(lattice.one_best()), []
    for arc in range(lattice.arcs):
        beside = [k for k in range(lattice.arcs) if lattice.source[k] == lattice.source[arc] and k not in best]
        lanes.append(0 if arc in best else 1 + beside.index(arc))
    return lanes


def with_posteriors(lattice: Lattice) -> draw.Drawing:
    """The lattice with posteriors written beside the words."""
    assert lattice.posterior is not None
    said = [word if word and word != "<eps>" else "-" for word in lattice.surfaces]
    named = [f"{word} {value:.2f}" for word, value in zip(said, lattice.posterior, strict=True)]
    return replace(drawing_of(lattice), labels=named)


def body(panel: Panel) -> tuple[str, int]:
    """A panel as SVG, and its height."""
    drawing = with_posteriors(panel.lattice)
    layout = draw.Layout(
        arcs=list(range(len(drawing.ends))),
        x={node: SECOND * time for node, time in enumerate(drawing.time)},
        lane=dict(enumerate(panel.arc_lanes)),
        node_lane=dict(enumerate(panel.node_lanes)),
    )
    low, high = layout.lanes
    parts = [*draw.draw_arcs(drawing, layout), *draw.draw_nodes(drawing, layout)]
    head = f'<text x="0" y="0" style="text-anchor:start;font-weight:600">{panel.title}</text>'
    return f'{head}<g transform="translate(0,{HEAD - low * LANE})">{"".join(parts)}</g>', (
        high - low
    ) * LANE + 2 * HEAD


def picture() -> str:
    """All panels as one SVG file."""
    drawn, top = [], MARGIN
    for panel in panels():
        part, height = body(panel)
        drawn.append(f'<g transform="translate({MARGIN},{top})">{part}</g>')
        top += height
    width = SECOND * FRAMES[-1] // 100 + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" width="{width}" height="{top}" '
        f'role="img"><title>A lattice and its heterogeneous word confusion network</title>'
        f'<style>{draw.STYLE}</style><rect width="100%" height="100%" fill="#fff"/>{"".join(drawn)}</svg>\n'
    )


if __name__ == "__main__":
    OUT.write_text(picture(), "utf-8")

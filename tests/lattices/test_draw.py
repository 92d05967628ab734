"""Pictures: well-formed, complete, and safe whatever the words are."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.strategies import all_paths, assembled, lattices, rivals
from wordtrust.lattices.draw import MOST_ARCS
from wordtrust.lattices.lattice import Lattice, drawing_of

_SVG = "{http://www.w3.org/2000/svg}"


@given(lattices())
def test_svg_shows_every_arc_and_node(lattice: Lattice) -> None:
    root = ElementTree.fromstring(lattice.to_svg())
    assert len(root.findall(f".//{_SVG}path")) == lattice.arcs
    assert len(root.findall(f".//{_SVG}circle")) == lattice.nodes
    texts = [element.text for element in root.iter(f"{_SVG}text")]
    assert set(drawing_of(lattice).labels) <= set(texts)


@given(st.text(max_size=20), st.text(max_size=20))
def test_hostile_words_stay_text(word: str, utt: str) -> None:
    lattice = assembled(utt, time=[0, 1], ends=[(0, 1)], tokens=[word + "<script>alert(1)</script>"])
    root = ElementTree.fromstring(lattice.to_svg())
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    assert "\n" not in lattice.to_dot().split("\n")[0].removesuffix("{").replace('\\"', "")


def test_dot_has_every_node_and_arc() -> None:
    lattice = rivals(['ab"', "c"], acoustic=[-1.5, 0], posterior=[0.5, 1])
    dot = lattice.to_dot()
    assert '0 -> 1 [label="ab\\" -1.5/0.5"]' in dot
    assert '0 -> 1 [label="c 0/1", style=bold]' in dot
    assert dot.startswith('digraph "u" {')


def test_large_lattices_are_cut_down_to_whole_paths() -> None:
    random = np.random.default_rng(7)
    nodes = 120
    ends = [(k, k + 1) for k in range(nodes - 1)] + [(k, k + 3) for k in range(0, nodes - 3, 2)]
    lattice = assembled(
        "u", time=np.arange(nodes) / 10, ends=ends, tokens=["w"] * len(ends), acoustic=random.normal(0, 5, len(ends))
    )
    keep = np.zeros(lattice.arcs, bool)
    keep[drawing_of(lattice).shown_arcs()] = True
    assert 0 < keep.sum() < lattice.arcs
    assert keep[list(lattice.one_best())].all()
    for arc in np.flatnonzero(keep):
        into = lattice.source[arc] == 0 or keep[lattice.target == lattice.source[arc]].any()
        out = lattice.target[arc] == nodes - 1 or keep[lattice.source == lattice.target[arc]].any()
        assert into
        assert out
    assert f"(the {keep.sum()} arcs on the best paths are shown)" in lattice.to_svg()
    assert MOST_ARCS <= keep.sum() <= 2 * MOST_ARCS or keep.sum() == len(lattice.one_best())


@given(lattices(max_nodes=5, max_arcs=8))
def test_what_is_shown_of_a_small_lattice_is_all_of_it(lattice: Lattice) -> None:
    drawing = drawing_of(lattice)
    assert drawing.shown_arcs(MOST_ARCS) == list(range(lattice.arcs))
    used = {arc for path in all_paths(lattice) for arc in path}
    assert set(drawing.shown_arcs(most=3)) <= used

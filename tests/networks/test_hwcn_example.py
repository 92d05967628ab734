"""The worked example of the docs, by hand, and its picture."""

from __future__ import annotations

import math
import runpy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.helpers.strategies import all_paths
from wordtrust.lattices.lattice import Lattice
from wordtrust.networks.hwcn import build

FIGURE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "figures" / "make_hwcn_example.py"))


def worked_example() -> Lattice:
    """The lattice that the docs draw: five paths, with probabilities made to be added up."""
    lattice: Lattice = FIGURE["example"]()
    return lattice


def test_the_picture_in_the_docs_is_up_to_date() -> None:
    assert FIGURE["OUT"].read_text("utf-8") == FIGURE["picture"](), "run docs/figures/make_hwcn_example.py again"


def arcs_of(lattice: Lattice) -> Iterator[tuple[int, int, str, float, float]]:
    """Ends, surface, posterior and transition score of every arc."""
    assert lattice.posterior is not None
    assert lattice.transition is not None
    ends = zip(lattice.source.tolist(), lattice.target.tolist(), lattice.surfaces, strict=True)
    scores = zip(lattice.posterior.tolist(), lattice.transition.tolist(), strict=True)
    return ((*end, *score) for end, score in zip(ends, scores, strict=True))


def path_texts(lattice: Lattice) -> Counter[str]:
    """What each path says."""
    return Counter(" ".join(lattice.surfaces[arc] for arc in path) for path in all_paths(lattice))


def test_the_worked_example() -> None:
    lattice = worked_example()
    assert lattice.text == "I will sit there"
    assert path_texts(lattice) == Counter(
        ["I will sit there", "it will simmer", "I'll sit there", "I'll simmer", "aisle seat here"]
    )
    assert [round(100 * time) for time in lattice.time] == [0, 12, 12, 30, 30, 30, 30, 68, 68, 94]
    merged = build(lattice)[0].lattice
    assert merged.time.tolist() == [0, 0.12, 0.3, 0.68, 0.94]
    frames = [round(100 * time) for time in merged.time]
    scores = {
        (frames[source], frames[target], surface): (round(posterior, 6), round(math.exp(transition), 6))
        for source, target, surface, posterior, transition in arcs_of(merged)
    }
    assert scores == {
        (0, 12, "I"): (0.4, 0.4), (0, 12, "it"): (0.2, 0.2), (0, 30, "I'll"): (0.25, 0.25),
        (0, 30, "aisle"): (0.15, 0.15), (12, 30, "will"): (0.6, 1.0), (30, 68, "sit"): (0.55, 0.55),
        (30, 68, "seat"): (0.15, 0.15), (30, 94, "simmer"): (0.3, 0.3),
        (68, 94, "there"): (0.55, round(0.55 / 0.7, 6)), (68, 94, "here"): (0.15, round(0.15 / 0.7, 6)),
    }  # fmt: skip


def test_the_worked_example_has_four_segmentations_and_new_paths() -> None:
    lattice = worked_example()
    merged = build(lattice)[0].lattice
    frames = [round(100 * time) for time in merged.time]
    segmentations = {(0, *(frames[merged.target[arc]] for arc in path)) for path in all_paths(merged)}
    assert segmentations == {(0, 12, 30, 94), (0, 12, 30, 68, 94), (0, 30, 94), (0, 30, 68, 94)}
    both = path_texts(merged)
    assert set(path_texts(lattice)) < set(both)
    assert {"I will simmer", "aisle sit there", "I will sit here"} <= set(both) - set(path_texts(lattice))
    assert both.total() == len(both) == 20
    assert merged.text == "I will sit there"


def test_the_worked_example_names_its_members() -> None:
    lattice = worked_example()
    network = build(lattice)[0]
    members = {
        (network.lattice.surfaces[arc]): sorted(int(lattice.source[member]) for member in network.members[arc])
        for arc in range(network.lattice.arcs)
    }
    assert members["will"] == [1, 2]
    assert len(members["sit"]) == len(members["simmer"]) == 2
    assert sum(map(len, members.values())) == lattice.arcs

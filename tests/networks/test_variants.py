"""Lattices as other recognizers would have left them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.nbest_records import hypothesis, read
from tests.helpers.strategies import all_paths, lattices
from wordtrust.lattices.lattice import Lattice
from wordtrust.lattices.weights import Scales
from wordtrust.networks.variants import Variant


def texts(lattice: Lattice) -> set[tuple[str, ...]]:
    return {tuple(lattice.words[arc] for arc in path if lattice.words[arc]) for path in all_paths(lattice)}


@settings(max_examples=60)
@given(lattices(), st.integers(0, 10_000))
def test_a_variant_says_nothing_new_and_always_something(lattice: Lattice, seed: int) -> None:
    scored = replace(lattice, posterior=None, acoustic=np.linspace(-5, 0, lattice.arcs).astype(np.float32))
    varied = Variant.drawn(np.random.default_rng(seed)).of(scored.batch())
    assert len(varied) == 1
    assert set() < texts(varied[0]) <= texts(scored)


def test_nothing_changes_without_a_change() -> None:
    lattice = read({"nbest": [hypothesis(-1, ("a", 0, 1, -0.1)), hypothesis(-2, ("b", 0, 1, -0.2))]})
    same = Variant().of(lattice)[0]
    assert replace(same, picked=lattice[0].picked).equals(lattice[0])


def test_scales_lists_and_vocabularies() -> None:
    words = [hypothesis(-index, (word, 0, 1, -0.1)) for index, word in enumerate("abcdef", 1)]
    lattice = read({"nbest": words})
    assert texts(Variant(hypotheses=2).of(lattice)[0]) == {("a",), ("b",)}
    assert texts(Variant(beam=2.5).of(lattice)[0]) == {("a",), ("b",), ("c",)}
    assert Variant(sharpness=2, balance=9).of(lattice).scales == Scales(2.0, 2.0)  # nothing to balance with
    left = {word for seed in range(40) for (word,) in texts(Variant(unknown=0.5, seed=seed).of(lattice)[0])}
    assert left == set("abcdef")
    some = texts(Variant(unknown=0.5, seed=3).of(lattice)[0])
    assert set() < some < texts(lattice[0])
    assert texts(Variant(unknown=1.0).of(lattice)[0]) == texts(lattice[0])  # there is nothing else to say


def test_a_recognizer_may_print_what_its_scores_do_not_say() -> None:
    """As Whisper does, which picks by the mean of a list's scores."""
    lattice = read({"nbest": [hypothesis(-1, ("a", 0, 1, -0.1)), hypothesis(-2, ("b", 0, 0.5, 0), ("c", 0.5, 1, 0))]})
    longer = Variant(penalty=3.0)
    assert longer.of(lattice).picked is None
    varied = replace(longer, other_pick=True, beam=0.5).of(lattice)
    assert varied.picked is not None
    printed = [word for word, picked in zip(varied[0].words, varied.picked, strict=True) if picked]
    assert printed == ["a"]
    assert texts(varied[0]) == {("a",), ("b", "c")}


@pytest.mark.parametrize("seed", range(3))
def test_the_same_draw_is_the_same_variant(seed: int) -> None:
    first, again = (Variant.drawn(np.random.default_rng(seed)) for _ in range(2))
    assert first == again


@settings(max_examples=60)
@given(lattices(), st.integers(0, 10_000))
def test_a_change_in_the_scores_is_the_change_of_the_scales(lattice: Lattice, seed: int) -> None:
    scored = replace(
        lattice, posterior=None, acoustic=np.linspace(-5, 0, lattice.arcs).astype(np.float32),
        transition=np.linspace(0, -3, lattice.arcs).astype(np.float32), scales=Scales(0.5, 2.0),
    )  # fmt: skip
    variant = Variant.of_same_recognizer(np.random.default_rng(seed))
    varied = variant.in_scores(scored.batch())[0]
    assert varied.scales == scored.scales
    assert set() < texts(varied) <= texts(scored)
    assert scored.acoustic is not None
    assert scored.transition is not None
    assert varied.acoustic is not None
    assert varied.transition is not None
    before = set(zip(scored.acoustic.tolist(), scored.transition.tolist(), strict=True))
    words = np.array([bool(word) for word in varied.words])
    acoustic = varied.acoustic / (variant.sharpness * variant.balance)
    transition = (varied.transition - variant.penalty * words) / variant.sharpness
    for pair in zip(acoustic.tolist(), transition.tolist(), strict=True):
        assert min(np.abs(np.subtract(pair, each)).max() for each in before) < 1e-4
    narrow = replace(variant, beam=0.0, sharpness=1.0, balance=1.0, penalty=0.0).in_scores(scored.batch())[0]
    assert scored.text == narrow.text

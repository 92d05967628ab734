"""Unscaled scores: recognised in what a decoder with a known scale has pruned, and only there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.helpers.pruned_lattices import pruned_lattices
from tests.helpers.shared import SHARED, needs_shared
from tests.helpers.strategies import assembled
from wordtrust import read
from wordtrust.lattices.unscaled import DEFAULT_LMWT, find_scales
from wordtrust.lattices.weights import Scales

LATTICES = ("kaldi-small-2020", "kaldi-small-2019", "kaldi-comprise", "kaldi-zamia", "out-of-domain/kaldi-domain-lm")


@pytest.mark.parametrize("lmwt", [7, 10, 12, 17])
@pytest.mark.parametrize("beam", [6.0, 10.0])
def test_the_decoders_scale_is_found_in_what_it_pruned(lmwt: int, beam: float) -> None:
    found = find_scales([pruned_lattices(40, acoustic_scale=1 / lmwt, beam=beam)])
    assert found is not None
    assert 1 / found.scales.acoustic == pytest.approx(lmwt, rel=0.1)
    assert found.scales.transition == 1
    assert f"read with LMWT {round(1 / found.scales.acoustic)};" in found.message


@pytest.mark.parametrize("beam", [4.0, 8.0, 20.0])
@pytest.mark.parametrize("acoustic_scale", [0.5, 1.0])
def test_scaled_scores_stay(acoustic_scale: float, beam: float) -> None:
    assert find_scales([pruned_lattices(40, acoustic_scale=acoustic_scale, beam=beam)]) is None


def test_wide_lattices_stay_where_no_lmwt_makes_them_narrow() -> None:
    """A beam of 60 at scale 1: wide, but not for want of a scale."""
    assert find_scales([pruned_lattices(40, acoustic_scale=1.0, beam=60.0)]) is None


@pytest.mark.parametrize(("times", "is_unscaled"), [(1, False), (2, False), (6, True)])
def test_narrow_lattices_stay_whatever_would_make_them_narrower(times: float, is_unscaled: bool) -> None:
    """With next to no language scores, any lattice gets as many times narrower as the LMWT says: beams end at 25."""
    made = pruned_lattices(40, acoustic_scale=1.0, beam=10.0)
    assert made.acoustic is not None
    assert made.transition is not None
    loud = replace(made, acoustic=np.float32(times) * made.acoustic, transition=np.float32(0.01) * made.transition)
    assert (find_scales([loud]) is not None) == is_unscaled


def test_few_lattices_are_recognised_and_read_as_most_people_would() -> None:
    found = find_scales([pruned_lattices(1, acoustic_scale=1 / 14)])
    assert found is not None
    assert found.scales == Scales(1 / DEFAULT_LMWT)


def test_batches_are_looked_at_together() -> None:
    made = pruned_lattices(40, acoustic_scale=1 / 14)
    assert find_scales([made[:5], made[5:9], made[9:]]) == find_scales([made])


def test_a_weight_in_the_header_is_what_all_is_divided_by() -> None:
    """HTK: `lmscale=14 wdpenalty=-7`, acoustics as they are."""
    made = replace(pruned_lattices(40, acoustic_scale=1 / 14), scales=Scales(1.0, 14.0, -7.0))
    found = find_scales([made])
    assert found is not None
    assert found.scales == Scales(1 / 14, 1.0, -0.5)
    assert "lmscale 14" in found.message
    narrow = replace(made, scales=Scales(1 / 14, 1.0, -0.5))
    assert find_scales([narrow]) is None


def test_single_paths_say_nothing() -> None:
    made = assembled("a", time=[0, 1, 2], ends=[(0, 1), (1, 2)], tokens=["a", "b"], acoustic=[-900, -800],
                     transition=[-1, -2])  # fmt: skip
    assert find_scales([made.batch()]) is None


def test_what_has_no_ratio_is_left_alone() -> None:
    """N-best lists have one score; of 1-best with confidences and of networks no score is weighed."""
    made = pruned_lattices(20, acoustic_scale=1 / 12)
    assert find_scales([made]) is not None
    assert find_scales([replace(made, transition=None)]) is None
    assert find_scales([replace(made, origin=replace(made.origin, tolerance=0.1))]) is None
    assert find_scales([replace(made, picked=np.zeros(len(made.source), bool))]) is None


def test_language_scores_that_are_all_zero_are_none() -> None:
    """Kaldi archives of N-best lists and CTC models: the total stands as acoustic cost, and is no unscaled one."""
    made = pruned_lattices(40, acoustic_scale=1 / 12)
    assert find_scales([replace(made, transition=np.zeros_like(made.transition))]) is None


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("name", LATTICES)
def test_real_lattices_stay_as_they_are_and_are_found_back_when_they_are_multiplied(name: str) -> None:
    lattices = read(SHARED / name / "dev.ark.gz")
    assert find_scales([lattices]) is None
    for start in range(0, 200, 20):
        assert find_scales([lattices[start : start + 20]]) is None
        assert find_scales([lattices[start : start + 1]]) is None
    assert lattices.acoustic is not None
    for factor in (5, 7, 10, 12, 15):
        found = find_scales([replace(lattices, acoustic=lattices.acoustic * np.float32(factor))])
        assert found is not None
        assert 1 / found.scales.acoustic == pytest.approx(factor / 0.9, rel=0.36)  # graph costs are scaled by 0.9

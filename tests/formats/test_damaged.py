"""Damaged input, for every format that is read: a result or an `InputError`, no other exception, no hang.

This covers all files of tests/samples: a new format needs no test of its own for damage, only a sample there. What an
error says about a particular mistake is tested with its format. `make fuzz` runs many more of the random cases.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz import Sample, samples, time_limit, try_one
from tests.helpers.mutate import mutated, noise, truncated
from wordtrust.formats import formats_by_name

pytestmark = pytest.mark.slow

OUTCOMES = {"read", "skipped", "refused"}
each_sample = pytest.mark.parametrize(
    "sample", samples(), ids=lambda sample: f"{sample.format}/{sample.path.name}"
)  # fmt: skip


def test_every_format_that_is_read_has_a_sample() -> None:
    assert {sample.format for sample in samples()} == {name for name, each in formats_by_name().items() if each.read}


@each_sample
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_changed_bytes(sample: Sample, seed: int) -> None:
    with time_limit(60):
        assert try_one(sample, Random(seed), mutated) in OUTCOMES


@each_sample
@pytest.mark.parametrize("damage", [truncated, noise])
def test_cut_off_at_any_place_or_garbage(sample: Sample, damage: Callable[[bytes, Random], bytes]) -> None:
    random = Random(0)
    with time_limit(60):
        assert {try_one(sample, random, damage) for _ in range(25)} <= OUTCOMES

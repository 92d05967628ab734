"""A short fuzz run over every format; `make fuzz` is the long one."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz import Sample, samples, try_one


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: f"{sample.format}/{sample.path.name}")
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_only_our_own_errors_escape(sample: Sample, seed: int) -> None:
    assert try_one(sample, Random(seed)) in {"read", "skipped", "refused"}

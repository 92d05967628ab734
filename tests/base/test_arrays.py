"""Rows of items end to end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtrust.base.arrays import concatenate_offsets, csr_offsets, csr_rows, logit, row_offsets

COUNTS = st.lists(st.integers(0, 4), max_size=6)


@given(COUNTS, COUNTS)
def test_offsets_cut_items_into_rows(first: list[int], second: list[int]) -> None:
    counts = first + second
    rows = [[row] * count for row, count in enumerate(counts)]
    offsets = csr_offsets(counts)
    assert offsets.dtype == np.int64
    assert csr_rows(offsets).tolist() == [row for items in rows for row in items]
    assert row_offsets(rows).tolist() == offsets.tolist()
    assert concatenate_offsets([csr_offsets(first), csr_offsets(second)]).tolist() == offsets.tolist()


def test_the_log_odds_of_what_is_certain_are_infinite() -> None:
    assert logit(np.array([0.0, 0.5, 1.0])).tolist() == [-np.inf, 0.0, np.inf]
    assert logit(np.array([0.9]))[0] == pytest.approx(np.log(9))

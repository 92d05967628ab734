"""Encodings that are kept: the last ones, each computed once as long as it is kept."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wordtrust.audio import Samples
from wordtrust.recognizers.kept_encodings import KeptEncodings, fingerprint


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 4))
def test_what_was_used_last_is_kept(asked: list[int], most: int) -> None:
    encoded: list[int] = []

    def encode(samples: Samples) -> int:
        encoded.append(int(samples[0]))
        return int(samples[0])

    kept = KeptEncodings(encode, most)
    expected, recent = list[int](), list[int]()
    for one in asked:
        assert kept.of(np.full(3, one, np.float32)) == one
        if one not in recent:
            expected.append(one)
        recent = [one, *(other for other in recent if other != one)][:most]
    assert encoded == expected


def test_samples_are_told_apart() -> None:
    samples = np.arange(8, dtype=np.float32)
    assert fingerprint(samples) == fingerprint(np.arange(16, dtype=np.float32)[:8])
    assert fingerprint(samples[::2]) == fingerprint(samples[::2].copy())
    assert len({fingerprint(one) for one in (samples, samples[:7], samples[::-1], -samples)}) == 4

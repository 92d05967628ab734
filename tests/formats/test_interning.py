"""Words to numbers, whatever the words are."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wordtrust.formats.interning import _intern, _intern_safely, intern


def colliding(count: int) -> list[bytes]:
    """Different words that fall on few places of a table: those with the lowest FNV-1a codes, found by trying."""
    size = 1 << (2 * count - 1).bit_length()
    codes, words = np.array([14695981039346656037], np.uint64), np.zeros((1, 0), np.uint8)
    for letters in (np.arange(256), np.arange(256), np.arange(32)):
        codes = ((codes[:, None] ^ letters.astype(np.uint64)) * np.uint64(1099511628211)).ravel()
        added = np.tile(letters.astype(np.uint8), len(words))[:, None]
        words = np.concatenate([np.repeat(words, len(letters), 0), added], 1)
    place = (codes ^ (codes >> np.uint64(32))) & np.uint64(size - 1)
    return [words[row].tobytes() for row in np.argsort(place)[:count]]


def interned(words: list[bytes], number: object) -> tuple[list[int], list[int]]:
    assert callable(number)
    data = np.frombuffer(b" ".join(words) + b" ", np.uint8)
    lengths = np.array([len(word) + 1 for word in words], np.int64)
    ends = np.cumsum(lengths) - 1
    ids, first = np.empty(len(words), np.int32), np.empty(len(words), np.int64)
    starts = np.where(np.array([word == b"-" for word in words]), -1, ends - lengths + 1)
    count = number(data, starts, ends, ids, first)
    return ids.tolist(), first[:count].tolist() if count >= 0 else []


@given(st.lists(st.sampled_from([b"", b"a", b"b", b"ab", b"-", b"abc", b"abd"]), min_size=1, max_size=30))
def test_both_ways_number_alike(words: list[bytes]) -> None:
    distinct = [word for word in dict.fromkeys(words) if word != b"-"]
    ids = [-1 if word == b"-" else distinct.index(word) for word in words]
    expected = ids, [words.index(word) for word in distinct]
    assert interned(words, _intern) == interned(words, _intern_safely) == interned(words, intern) == expected


def test_words_that_collide_take_no_longer() -> None:
    words = colliding(20_000)
    interned(words[:2], intern)
    began = time.perf_counter()
    ids, first = interned(words, intern)
    assert time.perf_counter() - began < 1
    assert ids == first == list(range(len(words)))
    assert interned(words, _intern)[1] == []  # the kernel gave up

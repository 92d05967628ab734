"""The prefixes of several texts, each once: a decoder computes what texts have in common only once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class PrefixTree(NamedTuple):
    """All prefixes of some texts (token ids), each once; a prefix comes after the shorter ones of its text."""

    token: Ints  # [prefixes] the last token of each
    position: Ints  # [prefixes] of that token
    rows: Ints  # [texts, positions] the prefix that ends there; 0 after the end of the text
    first: Ints  # [prefixes] an index into `rows`, flattened, where each prefix is found


def prefix_tree(texts: Sequence[Sequence[int]]) -> PrefixTree:
    """The tree of some texts."""
    rows = np.zeros((len(texts), max(map(len, texts))), np.int64)
    prefixes: dict[tuple[int, int], int] = {}  # by the prefix that is one shorter, and the last token
    first: list[int] = []
    for row, tokens in enumerate(texts):
        prefix = -1
        for position, token in enumerate(tokens):
            rows[row, position] = prefix = prefixes.setdefault((prefix, token), len(prefixes))
            if prefix == len(first):
                first.append(row * rows.shape[1] + position)
    flat = np.array(first, np.int64)
    return PrefixTree(np.array([token for _, token in prefixes], np.int64), flat % rows.shape[1], rows, flat)

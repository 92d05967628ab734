"""Names of speakers as numbers, so that results of several shards can be put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ...lattices.lattice import Ints

Names = tuple[str, ...]


def numbered(names: Sequence[str]) -> tuple[Names, Ints]:
    """The distinct names in order, and the number of each given one."""
    distinct = tuple(sorted(set(names)))
    return distinct, places(names, distinct)


def joined(first: Iterable[str], second: Iterable[str]) -> Names:
    """All names of both, in order."""
    return tuple(sorted({*first, *second}))


def places(names: Iterable[str], among: Names) -> Ints:
    """Where each name stands among these."""
    number = {name: place for place, name in enumerate(among)}
    return np.array([number[name] for name in names], np.int32)

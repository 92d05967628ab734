"""Hypothesis strategies: random lattices of any shape."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from wordtrust.base.problems import Problems
from wordtrust.lattices.assemble import Builder, RawLattice, Tokens
from wordtrust.lattices.lattice import Lattice, Lattices, Origin, concatenate

WORDS = (*"I will sit there I'll aisle Middle-earth. naïve <sil> [NOISE] <unk> C++".split(), "")
SCORE_SETS = ((), ("acoustic",), ("transition",), ("acoustic", "transition"), ("posterior",))


@st.composite
def lattices(
    draw: st.DrawFn,
    *,
    words: tuple[str, ...] = WORDS,
    score_sets: tuple[tuple[str, ...], ...] = SCORE_SETS,
    max_nodes: int = 8,
    max_arcs: int = 20,
    frame: float | None = None,
    utt: str = "utt",
) -> Lattice:
    """One lattice: a chain from start to end plus random forward arcs. `frame` puts times on a grid."""
    nodes = draw(st.integers(2, max_nodes))
    step = st.integers(0, 40).map(lambda k: k * (frame or 0.01))
    time = np.cumsum([0.0, *draw(st.lists(step, min_size=nodes - 1, max_size=nodes - 1))])
    pair = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(lambda ends: ends[0] < ends[1])
    ends = [(k, k + 1) for k in range(nodes - 1)] + draw(st.lists(pair, max_size=max_arcs - nodes + 1))
    names = draw(st.sampled_from(score_sets))
    arrays = {name: draw(_scores(name, len(ends))) for name in names}
    tokens = draw(st.lists(st.sampled_from(words), min_size=len(ends), max_size=len(ends)))
    return assembled(utt, time=np.round(time, 9), ends=ends, tokens=tokens, **arrays)


def _scores(name: str, size: int) -> st.SearchStrategy[list[float]]:
    low, high = (0.0, 1.0) if name == "posterior" else (-1e4, 1e3)
    return st.lists(st.floats(low, high, width=32, allow_subnormal=False), min_size=size, max_size=size)


def assembled(utt: str, *, time: Any, ends: list[tuple[int, int]], tokens: list[str], **arrays: Any) -> Lattice:
    """A checked lattice out of plain lists; the first node is the start, the last the end.

    `arrays` are fields of `RawLattice`, or evidence by any other name.
    """
    source, target = zip(*ends, strict=True)
    extra = {name: arrays.pop(name) for name in arrays.keys() - RawLattice.__dataclass_fields__.keys()}
    raw = RawLattice(
        utt=utt, time=time, source=source, target=target, token=tokens, start=0, end=len(time) - 1, extra=extra,
        **arrays,
    )  # fmt: skip
    return concatenate(built([raw]))[0]


def built(raws: Iterable[RawLattice], problems: Problems | None = None) -> list[Lattices]:
    """Batches of checked lattices."""
    builder = Builder(Tokens(), problems or Problems(), origin=Origin("test", "test"))
    return [*itertools.chain.from_iterable(map(builder.add, raws)), *builder.flush()]


def rivals(tokens: list[str], *, utt: str = "u", **arrays: Any) -> Lattice:
    """A lattice of a second with an arc for each token, all beside each other."""
    return assembled(utt, time=[0, 1], ends=[(0, 1)] * len(tokens), tokens=tokens, **arrays)


def all_paths(lattice: Lattice) -> set[tuple[int, ...]]:
    """All paths from start to end as arc numbers, by plain enumeration."""
    return graph_paths(lattice.source, lattice.target, 0, lattice.nodes - 1)


def graph_paths(source: Any, target: Any, start: int, end: int) -> set[tuple[int, ...]]:
    """The same for any graph without cycles."""
    complete: set[tuple[int, ...]] = set()
    stack: list[tuple[int, tuple[int, ...]]] = [(start, ())]
    while stack:
        node, path = stack.pop()
        if node == end:
            complete.add(path)
            continue
        stack += [(int(target[arc]), (*path, arc)) for arc in range(len(source)) if source[arc] == node]
    return complete


def batch_of(*parts: Lattice) -> Lattices:
    """Several lattices of one layout as a batch."""
    return concatenate(part.batch() for part in parts)

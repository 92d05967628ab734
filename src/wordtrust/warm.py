"""Compiling on two cores: a second process compiles the kernels of networks while the first compiles those that read.

Kernels are compiled once on every machine and then come from numba's cache, which processes share. numba compiles one
kernel at a time, so without this the first `wordtrust build` would take as long as both together.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np

T = TypeVar("T")

_running: list[subprocess.Popen[bytes]] = []


def start() -> None:
    """Begin to compile in the background."""
    command = [sys.executable, "-m", __name__]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603  # ourselves
    _running.append(child)


def after(items: Iterable[T]) -> Iterator[T]:
    """The same items, the first one held back until what was begun is compiled."""
    for item in items:
        while _running:
            _running.pop().wait()
        yield item


def compile_all() -> None:
    """Take a tiny lattice through all that `build` does."""
    from .lattice import Facts, Lattices, Scales, Vocabulary
    from .networks import BuildOptions, build_networks
    from .references import Reference
    from .tune import Tuned

    ints, floats = np.array([0, 0, 1], np.int32), np.array([-1.0, -2.0, -1.0], np.float32)
    lattices = Lattices(
        utts=("u",), node_offsets=np.array([0, 3]), arc_offsets=np.array([0, 3]), time=np.array([0.0, 0.5, 1.0]),
        source=ints, target=np.array([1, 1, 2], np.int32), word=np.array([1, 2, 1], np.int32),
        surface=np.array([1, 2, 1], np.int32), vocabulary=Vocabulary(["a", "b"]), acoustic=floats,
        transition=floats.copy(), facts=Facts.none(1),
    )  # fmt: skip
    tuned = Tuned(Scales(), Scales(), Scales(), {})
    references = {"u": Reference("u", "a b", ("a", "b"))}
    build_networks(lattices, BuildOptions(tuned=tuned, references=references))


if __name__ == "__main__":
    compile_all()

"""Compiling on two cores: the steps that kernels are needed for, and whose turn it is to compile which.

numba compiles one kernel at a time in a process, and keeps it in a cache that processes share. Two processes take
turns: a kernel that the one has begun to compile the other waits for, and loads (cli/first_run.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..lattices.lattice import Lattices
    from ..networks.reference_words import ReferenceWords

_POLL = 0.01  # seconds


class Turns:
    """Which kernels this process compiles and which the other one: marks in a folder that both know."""

    def __init__(self, folder: Path, is_alone: Callable[[], bool]) -> None:
        self._folder, self._is_alone, self._mine = folder, is_alone, set[Path]()

    @contextmanager
    def __call__(self, kernel: str) -> Iterator[None]:
        """Compile a kernel in here. If the other process has begun it, this waits until it is done."""
        mark = self._folder / sha256(kernel.encode()).hexdigest()[:32]
        done = mark.with_suffix(".done")
        try:
            mark.touch(exist_ok=False)
        except OSError:  # it is marked already, or the folder is gone, and with it the other process
            while mark not in self._mine and mark.exists() and not done.exists() and not self._is_alone():
                sleep(_POLL)
            yield
            return
        self._mine.add(mark)
        try:
            yield
        finally:
            with suppress(OSError):
                done.touch()


def warm_up(steps: Sequence[str]) -> None:
    """Take tiny lattices through these steps, so that their kernels are ready in this process."""
    for step in steps:
        STEPS[step]()


@cache
def _lattices() -> Lattices:
    """One utterance, with words in two spellings."""
    from ..lattices.lattice import Lattices, ReadingFacts
    from ..lattices.vocabulary import Vocabulary

    ends, scores = np.array([0, 0, 0, 1, 1, 1, 1, 2], np.int32), np.array([-1, -2, -2, -1], np.float32)
    return Lattices(
        utts=("u",), node_offsets=np.array([0, 3]), arc_offsets=np.array([0, 4]), time=np.array([0.0, 0.5, 1.0]),
        source=ends[:4], target=ends[4:], word=np.array([1, 2, 1, 1], np.int32),
        surface=np.array([1, 2, 2, 1], np.int32), vocabulary=Vocabulary(["color", "colour"]), acoustic=scores,
        transition=scores.copy(), facts=ReadingFacts.none(1),
    )  # fmt: skip


@cache
def _networks() -> Lattices:
    from ..networks.hwcn import build

    build(_lattices(), push=False)
    return build(_lattices(), equate="all").lattices


def _spoken() -> ReferenceWords:
    from ..networks.equivalents import ALL
    from ..networks.reference_words import ReferenceWords

    return ReferenceWords.of([("color", "colour")], _lattices(), ALL)


def _graph() -> None:
    from ..base.problems import Problems
    from ..lattices.assemble import Builder, RawLattice, Tokens
    from ..lattices.lattice import Origin

    tokens, one = Tokens(), np.array([0], np.int32)
    builder = Builder(tokens, Problems(), origin=Origin(""))
    word = np.array([tokens.id("a")], np.int32)
    lattice = RawLattice(utt="u", time=np.array([0.0, 1.0]), source=one, target=one + 1, token=word, start=0, end=1)
    list(builder.add(lattice))
    list(builder.flush())


def _paths() -> None:
    from ..lattices.paths import one_best
    from ..lattices.posterior import path_losses
    from ..lattices.weights import log_scores

    one_best(_lattices())
    path_losses(_lattices(), log_scores(_lattices()))


def _labels() -> None:
    from ..networks.gaps import missing_words
    from ..networks.labels import score_paths
    from ..networks.oracle import oracle_paths

    scored = score_paths(_lattices(), oracle_paths(_lattices(), _spoken()), _spoken())
    missing_words(scored.alignments, _spoken().offsets)


def _segments() -> None:
    from ..networks.word_graph import WordGraph, align_graphs

    align_graphs([WordGraph()], [WordGraph()])


def _network_labels() -> None:
    from ..networks.labels import label_arcs

    label_arcs(_networks(), _spoken(), "one-best")


def _consensus() -> None:
    from ..networks.consensus import consensus

    consensus(_lattices())


def _confidence() -> None:
    from ..lattices.paths import best_confidence
    from ..networks.gaps import Gaps
    from ..networks.text_probability import text_probability
    from ..networks.word_confidence import word_confidence

    networks = _networks()
    assert networks.posterior is not None
    paths = best_confidence(networks, networks.posterior)
    word_confidence(networks, networks.posterior, paths)
    text_probability(networks, networks.posterior, paths)
    Gaps.of(networks, paths)


def _metrics() -> None:
    from ..evaluation.metrics import Scores

    Scores.of([0.2, 0.8], [False, True]).metrics()


STEPS: dict[str, Callable[[], object]] = {
    "graph": _graph,
    "paths": _paths,
    "labels": _labels,
    "segments": _segments,
    "networks": _networks,
    "network labels": _network_labels,
    "consensus": _consensus,
    "confidence": _confidence,
    "metrics": _metrics,
}

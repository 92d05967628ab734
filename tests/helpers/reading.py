"""Reading bytes with one format, without its being recognised, and what small lattices say."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.helpers.strategies import all_paths
from wordtrust.base.problems import Problems
from wordtrust.formats.format import Format, ReadOptions
from wordtrust.formats.inputs import Stream
from wordtrust.lattices.lattice import Lattice, Lattices, concatenate


def read_bytes(
    format_: Format,
    data: bytes | str | dict[str, Any] | list[Any],
    *,
    name: str = "some/folder/call.json",
    problems: Problems | None = None,
    options: ReadOptions = ReadOptions(),
) -> Lattices:
    """All lattices in these bytes, or in the JSON of this value."""
    return concatenate(format_.read(stream_of(data, name), options, problems or Problems()))  # type: ignore[misc]


def stream_of(data: bytes | str | dict[str, Any] | list[Any], name: str = "some/folder/call.json") -> Stream:
    """A stream over bytes, text, or the JSON of a value."""
    if not isinstance(data, bytes | str):
        data = json.dumps(data)
    return Stream(io.BytesIO(data.encode() if isinstance(data, str) else data), name, Path(name))


def timed_words(lattice: Lattice) -> list[tuple[str, float, float]]:
    """Surface, start and end of the words of a linear lattice, or of the picked path, to the millisecond."""
    start, end = lattice.time[lattice.source].round(3).tolist(), lattice.time[lattice.target].round(3).tolist()
    words, surfaces = lattice.words, lattice.surfaces
    return [(surfaces[arc], start[arc], end[arc]) for arc in path_arcs(lattice) if words[arc]]


def path_arcs(lattice: Lattice) -> list[int]:
    """The arcs of a linear lattice, or of the picked path, from the first node to the last."""
    picked = np.ones(lattice.arcs, bool) if lattice.picked is None else lattice.picked
    arcs = np.flatnonzero(picked)
    ends = lattice.target[arcs].tolist()
    assert [*lattice.source[arcs].tolist(), lattice.nodes - 1] == [0, *ends]
    return arcs.tolist()


def posteriors(lattice: Lattice) -> list[float]:
    """The posteriors of the words of a linear lattice, or of the picked path; those of all else there must be 1."""
    assert lattice.posterior is not None
    arcs = np.array(path_arcs(lattice), int)
    is_silent = lattice.silence[arcs]
    assert np.all(lattice.posterior[arcs[is_silent]] == 1)
    return [round(value, 4) for value in lattice.posterior[arcs[~is_silent]].tolist()]


def paths_by_text(lattice: Lattice) -> dict[str, list[int]]:
    """The arcs of every path by its normalised text; no two paths may say the same."""
    paths = list(map(list, all_paths(lattice)))
    texts = {" ".join(lattice.words[arc] for arc in path if lattice.words[arc]): path for path in paths}
    assert len(texts) == len(paths)
    return texts


def path_scores(lattice: Lattice) -> dict[str, float]:
    """The total acoustic score of every path by its text."""
    assert lattice.acoustic is not None
    scores = lattice.acoustic.astype(np.float64)
    return {text: float(scores[path].sum()) for text, path in paths_by_text(lattice).items()}

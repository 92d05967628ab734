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
    """Surface, start and end of the words of a linear lattice, to the millisecond."""
    assert lattice.source.tolist() == list(range(lattice.arcs))
    assert lattice.target.tolist() == list(range(1, lattice.nodes))
    start, end = lattice.time[lattice.source].round(3).tolist(), lattice.time[lattice.target].round(3).tolist()
    return [
        (surface, start[arc], end[arc])
        for arc, (word, surface) in enumerate(zip(lattice.words, lattice.surfaces, strict=True))
        if word
    ]


def posteriors(lattice: Lattice) -> list[float]:
    """The posteriors of the words of a linear lattice; those of all else must be 1."""
    assert lattice.posterior is not None
    assert np.all(lattice.posterior[lattice.silence] == 1)
    return [round(value, 4) for value in lattice.posterior[~lattice.silence].tolist()]


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

"""The networks of a corpus as a few arrays: what training sees. Needs nothing but numpy."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ..features import Statistics
from ..word_table import WordTable
from .levels import in_batches


def speaker_number(name: str) -> int:
    """The same number for the same speaker, everywhere: what folds are made by."""
    return crc32(name.encode("utf-8", "replace"))


_OF_ARCS = "source target features posterior label word"


@dataclass(frozen=True)
class Dataset:
    """Networks with features and labels, their arrays end to end."""

    node_offsets: NDArray[np.int64]  # [utterances + 1]
    arc_offsets: NDArray[np.int64]
    source: NDArray[np.int32]  # [arcs] nodes within the utterance
    target: NDArray[np.int32]
    level: NDArray[np.int32]  # [nodes] from the start
    level_back: NDArray[np.int32]  # [nodes] from the end
    features: NDArray[np.float16]  # [arcs, columns] normalised
    posterior: NDArray[np.float32]  # [arcs]
    label: NDArray[np.int8]  # [arcs] 1 right, 0 wrong, -1 does not count
    word: NDArray[np.int32]  # [arcs] row of the word table, -1 for silence
    speaker: NDArray[np.uint32]  # [utterances] a number that follows from the speaker's name (see `speaker_number`)

    def __len__(self) -> int:
        return len(self.arc_offsets) - 1

    def check(self, columns: int, words: int) -> None:
        """Raise a `ValueError` unless all arrays fit together: kernels trust them."""
        for offsets, arrays in ((self.node_offsets, "level level_back"), (self.arc_offsets, _OF_ARCS)):
            if offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0 or not (np.diff(offsets) > 0).all():
                raise ValueError("offsets do not rise from 0")
            for name in arrays.split():
                shape = getattr(self, name).shape
                if shape[:1] != (offsets[-1],) or len(shape) != (2 if name == "features" else 1):
                    raise ValueError(f"{name} has the shape {shape}, {offsets[-1]} are due")
        utterances = {self.node_offsets.shape, self.arc_offsets.shape, (self.speaker.size + 1,)}
        if len(utterances) > 1 or self.speaker.ndim != 1 or self.features.shape[1:] != (columns,):
            raise ValueError("the numbers of utterances or columns differ")
        owner = np.repeat(np.arange(len(self)), np.diff(self.arc_offsets))
        nodes, first = np.diff(self.node_offsets)[owner], self.node_offsets[:-1][owner]
        if not ((self.source >= 0) & (self.source < self.target) & (self.target < nodes)).all():
            raise ValueError("an arc leads nowhere, or backwards")
        source, target = self.source + first, self.target + first
        for level, low, high in ((self.level, source, target), (self.level_back, target, source)):
            if level.min() < 0 or level.max() >= nodes.max() or not (level[low] < level[high]).all():
                raise ValueError("levels do not rise along the arcs")
        if not (np.isfinite(self.features).all() and ((self.posterior >= 0) & (self.posterior <= 1)).all()):
            raise ValueError("a feature is not finite, or a posterior no probability")
        if not ((self.label >= -1) & (self.label <= 1)).all():
            raise ValueError("a label is not 1, 0 or -1")
        if not ((self.word >= -1) & (self.word < words)).all():
            raise ValueError("a word is not in the table")

    def checksum(self, start: int = 0) -> int:
        """A number that follows from everything in it."""
        for each in fields(self):
            start = crc32(np.ascontiguousarray(getattr(self, each.name)).view(np.uint8).data, start)
        return start

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """[utterances] how many levels each has."""
        last = self.node_offsets[1:] - 1
        return self.level[last]

    def batches(self, arcs: int, chosen: NDArray[np.int64] | None = None) -> list[NDArray[np.int64]]:
        """The chosen utterances, or all, in batches of similar depth and of about so many arcs."""
        numbers = np.arange(len(self)) if chosen is None else chosen
        offsets = np.concatenate([[0], np.cumsum(np.diff(self.arc_offsets)[numbers])])
        return [numbers[batch] for batch in in_batches(self.depth[numbers], offsets, arcs)]


def in_fold(speaker: NDArray[np.uint32], folds: int, fold: int) -> NDArray[np.bool_]:
    """[utterances] whose speakers belong to one of several folds."""
    found: NDArray[np.bool_] = speaker % np.uint32(folds) == fold
    return found


@dataclass(frozen=True, slots=True)
class TrainingData:
    """All that training needs, and all of it that a model keeps."""

    train: Dataset
    dev: Dataset
    table: WordTable
    statistics: Statistics
    about: dict[str, Any]  # provenance: feature set, absent columns, labels, recognizer, how networks were built

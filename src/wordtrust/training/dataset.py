"""The networks of a corpus as a few arrays: what training sees. Needs nothing but numpy."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import csr_offsets, csr_rows
from ..confidence.features import Statistics
from ..confidence.levels import in_batches
from ..confidence.model_card import ModelCard
from ..confidence.word_table import WordTable

_OF_ARCS = "source target features posterior label path word"


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
    path: NDArray[np.int8]  # [arcs] 1 on the path with the fewest errors
    word: NDArray[np.int32]  # [arcs] row of the word table, -1 for silence
    speaker: NDArray[np.uint32]  # [utterances] a number that follows from the speaker's name (see `speaker_number`)
    taught: NDArray[np.float16] | None = None  # [arcs, 2] what other models think: share of all paths, confidence

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
        owner = csr_rows(self.arc_offsets)
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
        self._check_paths(source, target)
        self._check_taught()
        if not ((self.word >= -1) & (self.word < words)).all():
            raise ValueError("a word is not in the table")

    def _check_paths(self, source: NDArray[np.integer], target: NDArray[np.integer]) -> None:
        """What goes into a node on a path leaves it again, but at the start and the end of each utterance."""
        if not ((self.path == 0) | (self.path == 1)).all():
            raise ValueError("a path is not made of 1 and 0")
        nodes = int(self.node_offsets[-1])
        flow = np.bincount(source, self.path, nodes) - np.bincount(target, self.path, nodes)
        flow[self.node_offsets[:-1]] -= 1
        flow[self.node_offsets[1:] - 1] += 1
        if flow.any():
            raise ValueError("a path does not lead from start to end")

    def _check_taught(self) -> None:
        if self.taught is None:
            return
        if self.taught.shape != (len(self.source), 2) or not ((self.taught >= 0) & (self.taught <= 1)).all():
            raise ValueError("what other models think is no share and no confidence")

    def checksum(self, start: int = 0) -> int:
        """A number that follows from everything in it."""
        for each in fields(self):
            values = getattr(self, each.name)
            if values is not None:
                start = crc32(np.ascontiguousarray(values).view(np.uint8).data, start)
        return start

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """[utterances] how many levels each has."""
        last = self.node_offsets[1:] - 1
        return self.level[last]

    def batches(self, arcs: int, chosen: NDArray[np.int64] | None = None) -> list[NDArray[np.int64]]:
        """The chosen utterances, or all, in batches of similar depth and of about so many arcs."""
        numbers = np.arange(len(self)) if chosen is None else chosen
        offsets = csr_offsets(np.diff(self.arc_offsets)[numbers])
        return [numbers[batch] for batch in in_batches(self.depth[numbers], offsets, arcs)]


@dataclass(frozen=True, slots=True)
class TrainingData:
    """All that training needs, and all of it that a model keeps."""

    train: Dataset
    dev: Dataset
    table: WordTable
    statistics: Statistics
    card: ModelCard  # provenance: feature set, absent columns, labels, recognizer, how networks were built

"""Training data: the networks of a corpus as a few arrays, in memory or packed into one file.

Needs nothing but numpy and safetensors: a packed file is for machines that have no more than these and torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import concatenate_offsets, csr_offsets, csr_rows
from ..base.errors import InputError, OptionError
from ..base.tensors import read_tensors, typed, write_tensors
from ..confidence.features import Statistics, check_columns
from ..confidence.levels import in_batches
from ..confidence.model_card import ModelCard
from ..confidence.tensors import statistics_arrays, statistics_from, table_arrays, table_from
from ..confidence.word_table import WordTable
from .gap_data import GapData

KIND = "wordtrust training data"
VERSION = 2
_ARC_ARRAYS = ("source", "target", "features", "posterior", "label", "path", "word")
_SMALL = {"source", "target", "level", "level_back"}  # two bytes do, unless an utterance is huge
_PACKED: Mapping[str, tuple[str, type[np.generic]]] = {  # by field of `Dataset`: name and type in a packed file
    "node_offsets": ("node_offsets", np.int64), "arc_offsets": ("arc_offsets", np.int64),
    "source": ("source", np.int32), "target": ("target", np.int32),
    "level": ("level", np.int32), "level_back": ("level_back", np.int32),
    "features": ("features", np.float16), "posterior": ("posterior", np.float32),
    "label": ("label", np.int8), "path": ("path", np.int8), "word": ("word", np.int32),
    "speaker": ("speaker", np.uint32), "teacher_targets": ("taught", np.float16),
}  # fmt: skip


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
    speaker: NDArray[np.uint32]  # [utterances] checksum of the speaker's name (`base.folds.speaker_id`)
    teacher_targets: NDArray[np.float16] | None = None  # [arcs, 2] share of all paths and confidence, by teachers
    gaps: GapData | None = None  # None: data of versions that did not look for missing words

    def __len__(self) -> int:
        return len(self.arc_offsets) - 1

    @classmethod
    def concatenated(cls, datasets: Sequence[Dataset]) -> Dataset:
        """All utterances; what one of them lacks (teachers' targets, gaps) all lack."""
        joined: dict[str, Any] = {}
        for column in fields(cls):
            arrays = [getattr(data, column.name) for data in datasets]
            if any(array is None for array in arrays):
                joined[column.name] = None
            elif column.name == "gaps":
                joined[column.name] = GapData.concatenated(arrays)
            elif column.name.endswith("offsets"):
                joined[column.name] = concatenate_offsets(arrays)
            else:
                joined[column.name] = np.concatenate(arrays)
        return cls(**joined)

    def check(self, columns: int, words: int) -> None:
        """Raise a `ValueError` unless all arrays fit together: kernels trust them."""
        self._check_shapes(columns)
        utterance = csr_rows(self.arc_offsets)
        nodes, first = np.diff(self.node_offsets)[utterance], self.node_offsets[:-1][utterance]
        if not ((self.source >= 0) & (self.source < self.target) & (self.target < nodes)).all():
            raise ValueError("an arc leads nowhere, or backwards")
        source, target = self.source + first, self.target + first
        for level, low, high in ((self.level, source, target), (self.level_back, target, source)):
            if level.min() < 0 or level.max() >= nodes.max() or not (level[low] < level[high]).all():
                raise ValueError("levels do not rise along the arcs")
        self._check_paths(source, target)
        self._check_values(words)
        if self.gaps is not None:
            self.gaps.check(np.diff(self.arc_offsets))

    def _check_shapes(self, columns: int) -> None:
        for offsets, names in ((self.node_offsets, ("level", "level_back")), (self.arc_offsets, _ARC_ARRAYS)):
            if offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0 or not (np.diff(offsets) > 0).all():
                raise ValueError("offsets do not rise from 0")
            for name in names:
                shape = getattr(self, name).shape
                if shape[:1] != (offsets[-1],) or len(shape) != (2 if name == "features" else 1):
                    raise ValueError(f"{name} has the shape {shape}, {offsets[-1]} are due")
        utterances = {self.node_offsets.shape, self.arc_offsets.shape, (self.speaker.size + 1,)}
        if len(utterances) > 1 or self.speaker.ndim != 1 or self.features.shape[1:] != (columns,):
            raise ValueError("the numbers of utterances or columns differ")

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

    def _check_values(self, words: int) -> None:
        if not (np.isfinite(self.features).all() and ((self.posterior >= 0) & (self.posterior <= 1)).all()):
            raise ValueError("a feature is not finite, or a posterior no probability")
        if not ((self.label >= -1) & (self.label <= 1)).all():
            raise ValueError("a label is not 1, 0 or -1")
        if not ((self.word >= -1) & (self.word < words)).all():
            raise ValueError("a word is not in the table")
        targets = self.teacher_targets
        if targets is not None and (
            targets.shape != (len(self.source), 2) or not ((targets >= 0) & (targets <= 1)).all()
        ):
            raise ValueError("a teacher's target is no share or no confidence")

    def checksum(self, start: int = 0) -> int:
        """A number that follows from everything in it."""
        arrays = [getattr(self, column.name) for column in fields(self) if column.name != "gaps"]
        arrays += [] if self.gaps is None else self.gaps.arrays("").values()
        for values in arrays:
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
        utterances = np.arange(len(self)) if chosen is None else chosen
        offsets = csr_offsets(np.diff(self.arc_offsets)[utterances])
        return [utterances[batch] for batch in in_batches(self.depth[utterances], offsets, arcs)]


@dataclass(frozen=True, slots=True)
class TrainingData:
    """All that training needs, and all of it that a model keeps."""

    train: Dataset
    dev: Dataset
    table: WordTable
    statistics: Statistics
    card: ModelCard  # provenance: feature set, absent columns, labels, recognizer, how networks were built

    def with_dev_to_train_on(self) -> TrainingData:
        """The same with the utterances of dev among those of train."""
        return replace(self, train=Dataset.concatenated([self.train, self.dev]))


def write_pack(path: Path, data: TrainingData) -> None:
    """Write training data."""
    arrays = table_arrays(data.table) | statistics_arrays(data.statistics)
    for split, dataset in (("train", data.train), ("dev", data.dev)):
        for field, (name, _) in _PACKED.items():
            array = getattr(dataset, field)
            if array is None:
                continue
            if field in _SMALL and array.max(initial=0) < 1 << 16:
                array = array.astype(np.uint16)
            arrays[f"{split}.{name}"] = array
        if dataset.gaps is not None:
            arrays |= dataset.gaps.arrays(f"{split}.")
    columns, card = list(data.statistics.columns), data.card.to_json()
    write_tensors(path, arrays, {"kind": KIND, "version": VERSION, "columns": columns, "about": card})


def read_pack(path: Path) -> TrainingData:
    """Read training data; what does not fit together is an `InputError`."""
    try:
        arrays, header = read_tensors(path)
    except InputError as error:
        remedy = "Training takes a store that `wordtrust build --ref` made, or a file of `wordtrust train --pack`"
        raise InputError(f"no packed training data: {error.found}", file=str(path), remedy=remedy) from None
    if header.get("kind") != KIND or header.get("version") != VERSION:
        remedy = "Make it with: wordtrust train STORE --dev STORE --pack FILE"
        raise InputError(f"no {KIND} of version {VERSION}", file=str(path), remedy=remedy)
    try:
        columns = check_columns(list(map(str, header["columns"])))
        table = table_from(arrays)
        train, dev = (_dataset(arrays, split, len(columns), len(table.words)) for split in ("train", "dev"))
        card = ModelCard.from_json(dict(header["about"]))
        return TrainingData(train, dev, table, statistics_from(arrays, columns), card)
    except InputError as error:
        raise InputError(f"damaged: {error.found}", file=str(path), remedy="Pack it again") from None
    except (OptionError, KeyError, ValueError, TypeError) as error:
        raise InputError(f"damaged: {error}", file=str(path), remedy="Pack it again") from None


def _dataset(arrays: dict[str, Any], split: str, columns: int, words: int) -> Dataset:
    packed = {
        field: typed(arrays, f"{split}.{name}", kind)
        for field, (name, kind) in _PACKED.items()
        if field != "teacher_targets" or f"{split}.{name}" in arrays
    }
    dataset = Dataset(**packed, gaps=GapData.from_arrays(arrays, f"{split}."))
    dataset.check(columns, words)
    return dataset

"""Batches of networks on the device. Needs numpy and torch only: training from a packed file has no more."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ..base.arrays import csr_offsets
from ..confidence.config import Config
from ..confidence.levels import LevelPlan, Numbers, local_log_posterior, plan_levels, skip_logit
from ..confidence.word_table import WordTable, ngram_buckets
from .dataset import Dataset
from .gap_data import GapData
from .gap_head import GapBatch
from .lattice_rnn import Batch, Traversal


def make_batch(
    data: Dataset,
    utterances: NDArray[np.int64],
    words: WordInputs,
    merge: str,
    device: torch.device,
    teacher_weight: float = 0.0,
) -> Batch:
    """Some utterances as a batch on the device; `teacher_weight` is that of the teachers' targets among all."""
    arcs, owner, source, target, forward = _planned(data, utterances)
    gaps = None if data.gaps is None else _gaps(data, data.gaps, utterances, forward.arc, device, teacher_weight)
    nodes, _ = _rows(data.node_offsets, utterances)
    order, identity = forward.arc, np.arange(len(arcs))
    backward = plan_levels(target[order], source[order], data.level_back[nodes].astype(np.int64))
    arcs = arcs[order]
    backward_index = np.empty_like(identity)
    backward_index[backward.arc] = identity
    posterior, label = data.posterior[arcs], data.label[arcs]
    targets = np.stack([data.path[arcs], label == 1], axis=1).astype(np.float32)
    if data.teacher_targets is not None:
        targets = (1 - teacher_weight) * targets + teacher_weight * data.teacher_targets[arcs]
    rows, word = np.unique(data.word[arcs], return_inverse=True)
    buckets, bucket_offsets, vectors = words.of(rows)

    def put(array: NDArray[np.generic]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    return Batch(
        features=put(data.features[arcs]).float(),
        logit=put(skip_logit(posterior)),
        label=put(targets[:, 1]),
        local=put(local_log_posterior(source[order], posterior)),
        path=put(targets[:, 0]),
        counts=put((label >= 0).astype(np.float32)),
        word=put(word),
        buckets=put(buckets),
        bucket_offsets=put(bucket_offsets),
        vectors=put(vectors),
        forward=Traversal.of(forward._replace(arc=identity), merge, posterior, device),
        backward=Traversal.of(backward, merge, posterior, device),
        backward_index=put(backward_index),
        arcs=int(np.count_nonzero(label >= 0)),
        utterance=put(owner[order]),
        utterances=len(utterances),
        gaps=gaps,
    )


def _gaps(
    data: Dataset,
    gaps: GapData,
    utterances: NDArray[np.int64],
    order: Numbers,
    device: torch.device,
    teacher_weight: float,
) -> GapBatch:
    """The gaps of these utterances; `order` is that of the batch's arcs."""
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    sizes = np.diff(data.arc_offsets)[utterances]
    return GapBatch.of(gaps.of(utterances, np.cumsum(sizes) - sizes), position, device, teacher_weight)


def batch_arcs(data: Dataset, utterances: NDArray[np.int64]) -> NDArray[np.int64]:
    """The arcs of a batch of these utterances, in its order."""
    arcs, _, _, _, forward = _planned(data, utterances)
    ordered: NDArray[np.int64] = arcs[forward.arc]
    return ordered


def _planned(data: Dataset, utterances: NDArray[np.int64]) -> tuple[Numbers, Numbers, Numbers, Numbers, LevelPlan]:
    """The arcs of these utterances, whose they are, the nodes they join, and the order of the forward direction."""
    arcs, owner = _rows(data.arc_offsets, utterances)
    nodes, _ = _rows(data.node_offsets, utterances)
    sizes = np.diff(data.node_offsets)[utterances]
    first = (np.cumsum(sizes) - sizes)[owner]
    source, target = data.source[arcs] + first, data.target[arcs] + first
    return arcs, owner, source, target, plan_levels(source, target, data.level[nodes].astype(np.int64))


def _rows(offsets: NDArray[np.int64], chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of the chosen slices, one after the other, and which slice each is in."""
    sizes = np.diff(offsets)[chosen]
    owner = np.repeat(np.arange(len(chosen)), sizes)
    begin = offsets[:-1][chosen] - (np.cumsum(sizes) - sizes)
    return begin[owner] + np.arange(len(owner)), owner


class WordInputs:
    """The words of a table as a network sees them: as hashed n-grams, or as vectors from a file."""

    def __init__(self, table: WordTable, config: Config) -> None:
        self._vectors = table.vectors if config.embedding == "table" else None
        self._dimension = config.dimension
        self._offsets, self._buckets = np.zeros(len(table.words) + 1, np.int64), np.zeros(0, np.int32)
        if config.embedding == "hashed":
            self._offsets, self._buckets = ngram_buckets(table.words, config.buckets)

    def of(self, rows: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Buckets, where those of each word begin, and vectors; row -1 is silence, which has none."""
        is_word = rows >= 0
        buckets, _ = _rows(self._offsets, rows[is_word].astype(np.int64))
        sizes = np.zeros(len(rows), np.int64)
        sizes[is_word] = np.diff(self._offsets)[rows[is_word]]
        vectors = np.zeros((len(rows), self._dimension), np.float32)
        if self._vectors is not None:
            vectors[is_word] = self._vectors[rows[is_word]]
        return self._buckets[buckets].astype(np.int64), np.cumsum(sizes) - sizes, vectors


class DeviceBatches:
    """The batches of a dataset, made when first asked for and kept on the device."""

    def __init__(
        self,
        data: Dataset,
        arcs: int,
        words: WordInputs,
        merge: str,
        device: torch.device,
        chosen: NDArray[np.int64] | None = None,
        teacher_weight: float = 0.0,
    ) -> None:
        self.data, self._words, self._merge, self._device = data, words, merge, device
        self._teacher_weight = teacher_weight
        self._utterances = data.batches(arcs, chosen)
        n_counted = np.diff(csr_offsets(data.label >= 0)[data.arc_offsets])
        self._n_counted = [int(n_counted[utterances].sum()) for utterances in self._utterances]
        self._made: dict[int, Batch] = {}

    def __len__(self) -> int:
        return len(self._utterances)

    def n_counted(self, index: int) -> int:
        """How many arcs of a batch carry loss."""
        return self._n_counted[index]

    def __getitem__(self, index: int) -> Batch:
        if index not in self._made:
            utterances = self._utterances[index]
            self._made[index] = make_batch(
                self.data, utterances, self._words, self._merge, self._device, self._teacher_weight
            )
        return self._made[index]

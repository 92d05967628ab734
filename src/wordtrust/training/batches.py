"""Batches of networks on the device. Needs numpy and torch only: training from a packed file has no more."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ..confidence.config import Config
from ..confidence.levels import LevelPlan, Numbers, local_log_posterior, plan_levels, skip_logit
from ..confidence.word_table import WordTable, ngram_buckets
from .dataset import Dataset
from .lattice_rnn import Batch, Traversal


def make_batch(
    data: Dataset, utterances: NDArray[np.int64], words: Words, merge: str, device: torch.device, taught: float = 0.0
) -> Batch:
    """Some utterances as a batch on the device; `taught` is the weight of what other models think."""
    arcs, source, target, forward = _planned(data, utterances)
    nodes, _ = _rows(data.node_offsets, utterances)
    order, identity = forward.arc, np.arange(len(arcs))
    backward = plan_levels(target[order], source[order], data.level_back[nodes].astype(np.int64))
    arcs = arcs[order]
    place = np.empty_like(identity)
    place[backward.arc] = identity
    posterior, label = data.posterior[arcs], data.label[arcs]
    targets = np.stack([data.path[arcs], label == 1], axis=1).astype(np.float32)
    if data.taught is not None:
        targets = (1 - taught) * targets + taught * data.taught[arcs]
    local = local_log_posterior(source[order], posterior)
    known, word = np.unique(data.word[arcs], return_inverse=True)
    buckets, bucket_offsets, vectors = words.of(known)

    def put(array: NDArray[np.generic]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    return Batch(
        features=put(data.features[arcs]).float(),
        logit=put(skip_logit(posterior)),
        label=put(targets[:, 1]),
        local=put(local),
        path=put(targets[:, 0]),
        counts=put((label >= 0).astype(np.float32)),
        word=put(word),
        buckets=put(buckets),
        bucket_offsets=put(bucket_offsets),
        vectors=put(vectors),
        forward=Traversal.of(forward._replace(arc=identity), merge, posterior, device),
        backward=Traversal.of(backward, merge, posterior, device),
        backward_index=put(place),
        arcs=int(np.count_nonzero(label >= 0)),
    )


def rows_of(data: Dataset, utterances: NDArray[np.int64]) -> NDArray[np.int64]:
    """The arcs of a batch of these utterances, in its order."""
    arcs, _, _, forward = _planned(data, utterances)
    found: NDArray[np.int64] = arcs[forward.arc]
    return found


def _planned(data: Dataset, utterances: NDArray[np.int64]) -> tuple[Numbers, Numbers, Numbers, LevelPlan]:
    """The arcs of these utterances, the nodes that they join, and the order of the forward direction."""
    arcs, owner = _rows(data.arc_offsets, utterances)
    nodes, _ = _rows(data.node_offsets, utterances)
    sizes = np.diff(data.node_offsets)[utterances]
    first = (np.cumsum(sizes) - sizes)[owner]
    source, target = data.source[arcs] + first, data.target[arcs] + first
    return arcs, source, target, plan_levels(source, target, data.level[nodes].astype(np.int64))


def _rows(offsets: NDArray[np.int64], chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of the chosen slices, one after the other, and which slice each is in."""
    sizes = np.diff(offsets)[chosen]
    owner = np.repeat(np.arange(len(chosen)), sizes)
    begin = offsets[:-1][chosen] - (np.cumsum(sizes) - sizes)
    return begin[owner] + np.arange(len(owner)), owner


class Words:
    """The words of a table as a model sees them: as n-grams, or as vectors from a file."""

    def __init__(self, table: WordTable, config: Config) -> None:
        self._vectors = table.vectors if config.embedding == "table" else None
        self._dimension = config.dimension
        self._offsets, self._buckets = np.zeros(len(table.words) + 1, np.int64), np.zeros(0, np.int32)
        if config.embedding == "hashed":
            self._offsets, self._buckets = ngram_buckets(table.words, config.buckets)

    def of(self, rows: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Buckets, where those of each word begin, and vectors; row -1 is silence, which has none."""
        known = rows >= 0
        numbers, _ = _rows(self._offsets, rows[known].astype(np.int64))
        sizes = np.zeros(len(rows), np.int64)
        sizes[known] = np.diff(self._offsets)[rows[known]]
        vectors = np.zeros((len(rows), self._dimension), np.float32)
        if self._vectors is not None:
            vectors[known] = self._vectors[rows[known]]
        return self._buckets[numbers].astype(np.int64), np.cumsum(sizes) - sizes, vectors

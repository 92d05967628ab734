"""What models think of networks they were not trained on, for another to learn from: many distilled into one.

The target of a student is a mixture of what was said and of what the mean of its teachers holds likely. Mean shares
of all paths are the shares of a mixture of the teachers' paths, so learning them is learning that mixture. Each
speaker is judged by the teachers that were trained without them: others would only repeat what was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ..base.errors import OptionError
from ..base.folds import in_fold
from ..confidence.model_file import Model, load_model
from .batches import Words, make_batch, rows_of
from .dataset import TrainingData
from .heads import opinions_of
from .lattice_rnn import LatticeRNN
from .machine import Machine

BATCH = 20_000  # arcs


class Teacher(NamedTuple):
    """A network, and the fold of speakers that it never saw."""

    network: LatticeRNN
    folds: int
    fold: int

    @classmethod
    def of(cls, model: Model) -> Teacher:
        """Of a model that was trained without a fold of speakers."""
        fold = model.card.training.left_out_fold
        if fold is None or model.config.head != "normalised":
            raise OptionError("a teacher has normalised confidences and was trained without a fold of speakers")
        network = LatticeRNN(model.config)
        network.load_state_dict({name: torch.from_numpy(weight.copy()) for name, weight in model.weights.items()})
        return cls(network, *fold)


def taught_by(data: TrainingData, teachers: Sequence[Teacher], machine: Machine) -> TrainingData:
    """The data with the mean of what those teachers think of each speaker who never saw them."""
    total = np.zeros((len(data.train.source), 2))
    count = np.zeros(len(data.train), np.int64)
    for teacher in teachers:
        theirs = np.flatnonzero(in_fold(data.train.speaker, teacher.folds, teacher.fold))
        _add_opinions(data, teacher.network, theirs, total, machine)
        count[theirs] += 1
    if not count.all():
        raise OptionError(
            f"{np.count_nonzero(count == 0):,} utterances have no teacher that never heard their speaker"
        )
    mean = total / np.repeat(count, np.diff(data.train.arc_offsets))[:, None]
    return replace(data, train=replace(data.train, taught=np.clip(mean, 0, 1).astype(np.float16)))


def teachers_of(name: str, folders: Sequence[Path]) -> list[Teacher]:
    """The models of one recognizer in folders of models that were trained together."""
    return [Teacher.of(load_model(folder / name)) for folder in folders]


@torch.no_grad()
def _add_opinions(
    data: TrainingData, network: LatticeRNN, chosen: NDArray[np.int64], total: NDArray[np.float64], machine: Machine
) -> None:
    network = network.to(machine.device).eval()
    words = Words(data.table, network.config)
    for utterances in data.train.batches(BATCH, chosen):
        batch = make_batch(data.train, utterances, words, network.config.merge, machine.device)
        opinions = opinions_of(batch, network(batch)).cpu().numpy()
        total[rows_of(data.train, utterances)] += opinions

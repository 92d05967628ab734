"""One epoch of training over as many utterances as the paper had, from a packed file: for GPU machines.

    python benchmarks/epoch.py PACK [--utterances 83860] [--device auto]

Replicates what the file has. The first epoch also makes the batches; later ones find them on the device. Needs numpy,
torch and safetensors only, so it is not part of `python -m benchmarks`.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from wordtrust.training.dataset import Dataset, read_pack
from wordtrust.training.options import TrainOptions
from wordtrust.training.trainer import Progress, Trainer
from wordtrust.training.worker import training_worker


def replicate(data: Dataset, utterances: int) -> Dataset:
    """The same utterances over and over, until there are so many."""
    rounds, rest = divmod(utterances, len(data))
    arrays: dict[str, Any] = {}
    for column in fields(Dataset):
        array = getattr(data, column.name)
        if array is None:  # there are no teachers
            continue
        if column.name == "gaps":
            chosen = np.concatenate([np.tile(np.arange(len(data)), rounds), np.arange(rest)])
            arrays[column.name] = array.of(chosen, np.zeros(len(chosen), np.int64))
            continue
        if column.name.endswith("offsets"):
            sizes = np.diff(array)
            arrays[column.name] = np.concatenate(
                [[0], np.cumsum(np.concatenate([np.tile(sizes, rounds), sizes[:rest]]))]
            )
        elif column.name == "speaker":
            arrays[column.name] = np.concatenate([array] * rounds + [array[:rest]])
        else:
            offsets = data.node_offsets if column.name.startswith("level") else data.arc_offsets
            arrays[column.name] = np.concatenate([array] * rounds + [array[: offsets[rest]]])
    return Dataset(**arrays)


def main() -> None:
    """Time three epochs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pack", type=Path)
    parser.add_argument("--utterances", type=int, default=83_860)
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    data = read_pack(given.pack)
    data = replace(data, train=replicate(data.train, given.utterances))
    with training_worker(given.device) as here:
        trainer = Trainer(data, TrainOptions(), here)
        arcs = len(data.train.source)
        name = torch.cuda.get_device_name() if here.device.type == "cuda" else "CPU"
        print(f"{name}: {len(data.train):,} utterances, {arcs:,} arcs, {len(trainer.train)} batches, state 128")
        for epoch in range(1, 4):
            began = time.perf_counter()
            loss = trainer.run_epoch(Progress())
            seconds = time.perf_counter() - began
            print(f"epoch {epoch}: {seconds:.2f} s, {arcs / seconds:,.0f} arcs/s, loss {loss:.4f}")


if __name__ == "__main__":
    main()

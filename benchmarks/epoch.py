"""One epoch of training over as many utterances as the paper had, from a packed file: for GPU machines.

    python benchmarks/epoch.py PACK [--utterances 83860] [--device auto] [--head independent] [--profile]

Replicates what the file has. The first epoch also makes the batches; later ones find them on the device. `--profile`
tells where the time goes: how many operations a batch has, how long the host takes to launch them, and how long the
device takes. Needs numpy, torch and safetensors only, so it is not part of `python -m benchmarks`.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from wordtrust.training import lattice_rnn
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


def count_operations(trainer: Trainer) -> tuple[int, int]:
    """The operations of a batch of middling depth as a GPU gets them, views not counted, and its levels."""
    from torch.utils._python_dispatch import TorchDispatchMode

    views = "view slice select t.default transpose expand squeeze detach split alias empty".split()

    class Count(TorchDispatchMode):  # type: ignore[no-untyped-call]
        total = 0

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.total += not any(view in str(function) for view in views)
            return function(*args, **(kwargs or {}))

    index = len(trainer.train) // 2  # batches are sorted by depth
    batch, compiled = trainer.train[index], lattice_rnn._compiled_lstm
    lattice_rnn._compiled_lstm = None
    try:
        with Count() as count:  # type: ignore[no-untyped-call]
            trainer._step(index, 1e-4)
    finally:
        lattice_rnn._compiled_lstm = compiled
    return count.total, len(batch.forward.levels) - 1


def profile(trainer: Trainer, batches: int = 10) -> None:
    """Print operations, host and device time of some batches, spread over all depths."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as torch_profile

    on_gpu = trainer.worker.device.type == "cuda"
    chosen = np.linspace(0, len(trainer.train) - 1, batches).astype(int).tolist()
    levels = [len(trainer.train[index].forward.levels) for index in chosen]
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    began = time.perf_counter()
    for index in chosen:
        trainer._step(index, 1e-4)
    if on_gpu:
        torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    with torch_profile(activities=activities) as watch:
        for index in chosen:
            trainer._step(index, 1e-4)
        if on_gpu:
            torch.cuda.synchronize()
    events = watch.key_averages()
    launches = sum(event.count for event in events if event.key in ("cudaLaunchKernel", "cuLaunchKernel"))
    operations = sum(event.count for event in events if event.key.startswith("aten::"))
    kernels = [event for event in events if event.device_type.name == "CUDA" and not event.is_user_annotation]
    busy = sum(event.self_device_time_total for event in kernels) / 1e6
    total, deep = count_operations(trainer)
    print(f"a batch of {deep} levels: {total:,} operations, {total / deep:.0f} a level")
    print(f"{batches} batches, {sum(levels)} levels: {seconds:.3f} s; {operations:,} operations as torch counts them")
    if on_gpu:
        print(
            f"{launches:,} launches, {1e6 * seconds / max(launches, 1):.1f} us each; the device was busy {busy:.3f} s"
        )
    print(events.table(sort_by="self_device_time_total" if on_gpu else "self_cpu_time_total", row_limit=15))


def main() -> None:
    """Time three epochs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pack", type=Path)
    parser.add_argument("--utterances", type=int, default=83_860)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--head", default=TrainOptions().head)
    parser.add_argument("--profile", action="store_true", help="Look into some batches after the epochs.")
    given = parser.parse_args()
    data = read_pack(given.pack)
    data = replace(data, train=replicate(data.train, given.utterances))
    with training_worker(given.device) as here:
        trainer = Trainer(data, TrainOptions(head=given.head), here)
        arcs = len(data.train.source)
        name = torch.cuda.get_device_name() if here.device.type == "cuda" else "CPU"
        print(f"{name}: {len(data.train):,} utterances, {arcs:,} arcs, {len(trainer.train)} batches, state 128")
        for epoch in range(1, 4):
            began = time.perf_counter()
            loss = trainer.run_epoch(Progress())
            seconds = time.perf_counter() - began
            print(f"epoch {epoch}: {seconds:.2f} s, {arcs / seconds:,.0f} arcs/s, loss {loss:.4f}")
        if given.profile:
            profile(trainer)


if __name__ == "__main__":
    main()

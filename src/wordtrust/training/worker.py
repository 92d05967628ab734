"""Where training runs: a CPU, a GPU, or several of them started by torchrun."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ..base.errors import OptionError

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # glibc's numbers for mallopt
_NEVER = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Worker:
    """The device of this process, and its rank among the processes that train one network."""

    device: torch.device
    rank: int = 0
    world_size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and reports progress."""
        return self.rank == 0

    def wrap(self, network: nn.Module) -> nn.Module:
        """The network as each of several processes runs it: gradients are those of all."""
        return network if self.world_size == 1 else DistributedDataParallel(network)

    def sums(self, *values: float | Tensor) -> list[float]:
        """Values added up over all processes."""
        totals = torch.tensor([float(value) for value in values], dtype=torch.float64, device=self.device)
        if self.world_size > 1:
            torch.distributed.all_reduce(totals)
        return [float(total) for total in totals]

    def wait_for_all(self) -> None:
        """Go on when every process has come this far: what the first one writes, others read."""
        if self.world_size > 1:
            torch.distributed.barrier()

    def steps(self, order: NDArray[np.int64]) -> Iterator[list[int]]:
        """The batches of each step, one for each process; the last step may have fewer."""
        for start in range(0, len(order), self.world_size):
            yield order[start : start + self.world_size].tolist()


@contextmanager
def training_worker(device_name: str = "auto", threads: int | None = None) -> Iterator[Worker]:
    """This process as a worker on the named device: `auto` takes a GPU where there is one."""
    device = _device(device_name)
    if device.type == "cpu":
        torch.set_num_threads(threads or 1)
        keep_freed_memory()
    world_size, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    if world_size == 1:
        yield Worker(device)
        return
    torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Worker(device, rank, world_size)
    finally:
        torch.distributed.destroy_process_group()


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        if device.type == "cuda":
            device = torch.device("cuda", device.index or int(os.environ.get("LOCAL_RANK", "0")))
            torch.cuda.set_device(device)
            torch.set_float32_matmul_precision("high")  # tensor cores, with 10 bits of mantissa in products
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, AttributeError, ValueError) as error:
        raise OptionError(f"cannot train on {name!r}: {str(error).splitlines()[0]}") from None
    return device


def keep_freed_memory() -> None:
    """Let this process keep what it frees, until it ends.

    Every batch of training takes and frees the same hundreds of megabytes. glibc gives arrays of that size back to
    the system at once, and having them again costs a page fault for each 4 KB: a fifth of the time of training.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # other C libraries have none
        mallopt(_MMAP_MAX, 0)
        mallopt(_TRIM_THRESHOLD, _NEVER)

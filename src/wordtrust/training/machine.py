"""Where training runs: a CPU, a GPU, or several of them started by torchrun."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ..base.errors import OptionError
from .memory import keep_freed_memory


@dataclass(frozen=True, slots=True)
class Machine:
    """The device of this process, and its place among the processes that train together."""

    device: torch.device
    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and talks."""
        return self.rank == 0

    def wrap(self, network: nn.Module) -> nn.Module:
        """The network as each of several processes runs it: gradients are those of all."""
        return network if self.size == 1 else DistributedDataParallel(network)

    def sums(self, *numbers: float | Tensor) -> list[float]:
        """Numbers added up over all processes."""
        found = torch.tensor([float(number) for number in numbers], dtype=torch.float64, device=self.device)
        if self.size > 1:
            torch.distributed.all_reduce(found)
        return [float(number) for number in found]

    def wait_for_all(self) -> None:
        """Go on when every process has come this far: what the first one writes, others read."""
        if self.size > 1:
            torch.distributed.barrier()

    def shares(self, order: NDArray[np.int64]) -> Iterator[list[int]]:
        """The numbers of the batches of each step, one for each process; the last step may have fewer."""
        for start in range(0, len(order), self.size):
            yield order[start : start + self.size].tolist()


@contextmanager
def machine(name: str = "auto", threads: int | None = None) -> Iterator[Machine]:
    """The machine to train on: `auto` takes a GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    size, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    try:
        device = torch.device(name)
        if device.type == "cuda":
            device = torch.device("cuda", device.index or int(os.environ.get("LOCAL_RANK", "0")))
            torch.cuda.set_device(device)
            torch.set_float32_matmul_precision("high")  # tensor cores, with 10 bits of mantissa in products
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, AttributeError, ValueError) as error:
        raise OptionError(f"cannot train on {name!r}: {str(error).splitlines()[0]}") from None
    if device.type == "cpu":
        torch.set_num_threads(threads or 1)
        keep_freed_memory()
    if size == 1:
        yield Machine(device)
        return
    torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Machine(device, rank, size)
    finally:
        torch.distributed.destroy_process_group()

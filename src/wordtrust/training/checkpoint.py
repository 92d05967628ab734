"""Checkpoints: all that training needs to go on, in one file that is replaced as a whole."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..base.errors import InputError, OptionError
from ..confidence.model_file import LOG
from ..confidence.tensors import read_tensors, write_tensors

if TYPE_CHECKING:
    from .lattice_rnn import LatticeRNN
    from .loop import Trainer

NAME = "checkpoint.safetensors"
_MOMENTS = ("exp_avg", "exp_avg_sq", "step")


def weights_of(network: LatticeRNN) -> dict[str, NDArray[np.float32]]:
    """A copy of the weights by name."""
    return {name: weight.detach().cpu().numpy().copy() for name, weight in network.state_dict().items()}


def save(path: Path, trainer: Trainer) -> None:
    """Write the state of training after an epoch."""
    arrays: dict[str, NDArray[Any]] = {f"best.{name}": weight for name, weight in trainer.best.items()}
    arrays |= {f"weight.{name}": weight for name, weight in weights_of(trainer.network).items()}
    arrays |= {f"average.{name}": weight.cpu().numpy() for name, weight in trainer.average.items()}
    for name, weight in trainer.network.named_parameters():
        for moment in _MOMENTS:
            arrays[f"{moment}.{name}"] = trainer.adam.state[weight][moment].cpu().numpy()
    about = {"options": asdict(trainer.options), "data": trainer.fingerprint, "state": asdict(trainer.state)}
    write_tensors(path, arrays, about)
    lines = "".join(json.dumps(line) + "\n" for line in trainer.state.log)
    path.with_name(LOG).write_text(lines, "utf-8")  # for those who watch; a model's own is written at the end


def load(path: Path, trainer: Trainer) -> None:
    """Go on where the checkpoint was made."""
    arrays, about = read_tensors(path)
    try:
        changed = _changed(about["options"], asdict(trainer.options))
        if changed:
            raise ValueError(f"it was made with other options: {changed}")
        if about["data"] != trainer.fingerprint:
            raise ValueError("it was made on other data")
        trainer.network.load_state_dict({name: _tensor(arrays, "weight", name) for name in trainer.best})
        trainer.best = {name: arrays[f"best.{name}"] for name in trainer.best}
        for name, weight in trainer.network.named_parameters():
            trainer.average[name] = _tensor(arrays, "average", name).to(weight.device)
            moments = {moment: _tensor(arrays, moment, name) for moment in _MOMENTS}
            trainer.adam.state[weight] = {
                moment: value if moment == "step" else value.to(weight.device) for moment, value in moments.items()
            }
        trainer.state = type(trainer.state)(**about["state"])
    except (KeyError, ValueError, TypeError, RuntimeError) as error:
        raise InputError(
            f"training cannot go on from this checkpoint: {error}", file=str(path), remedy="Remove it to start anew"
        ) from None


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """One training at a time: one that was orphaned by a kill may still be at it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise OptionError(f"{folder}: another training is at work here; wait for it, or end it") from None
        yield


def _changed(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Which options differ; how many epochs there may be is no matter."""
    names = [name for name in now if name != "epochs" and before.get(name) != now[name]]
    return ", ".join(f"{name} {before.get(name)} then, {now[name]} now" for name in names)


def _tensor(arrays: dict[str, NDArray[Any]], kind: str, name: str) -> torch.Tensor:
    return torch.from_numpy(arrays[f"{kind}.{name}"].copy())

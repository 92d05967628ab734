"""Training: epochs over batches, the best one on dev kept, every epoch a checkpoint.

All that is random follows from the seed, the epoch and the number of the batch, so training that was killed and goes
on from its checkpoint sees the same numbers as one that never stopped, and on a CPU ends with the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..base.arrays import csr_offsets
from ..base.errors import InputError, OptionError
from ..base.folds import in_fold
from ..confidence.config import IDENTITY, Config
from ..confidence.model_file import load_model
from ..evaluation.eer_nce import eer_and_nce
from . import checkpoint
from .batches import Words, make_batch
from .dataset import Dataset, TrainingData
from .heads import confidence_of, loss_of
from .lattice_rnn import Batch, LatticeRNN
from .machine import Machine
from .options import TrainOptions

BATCHES = 80  # an epoch, unless said otherwise
LEAST_ARCS, LARGE_ARCS, MOST_ARCS = 500, 9_000, 50_000  # in a batch that we choose
SLOWEST = 1 / 64  # of the first learning rate
INPUTS = ("forwards.input.weight", "backwards.input.weight")  # have a number for every column, then for word vectors

_OFTEN = 0.5  # seconds between looks at an epoch that runs

Tell = Callable[[dict[str, Any]], None]
Step = Callable[[float, float], None]


@dataclass(slots=True)
class State:
    """Where training stands; with weights and moments, all of a checkpoint."""

    epoch: int = 0
    rate: float = 0.0
    best: float = -np.inf
    best_epoch: int = 0
    stale: int = 0  # epochs since the rate or the best changed
    log: list[dict[str, Any]] = field(default_factory=list)


def config_of(data: TrainingData, options: TrainOptions) -> Config:
    """The network that fits the data and the options."""
    embedding, dimension = options.embedding, options.dimension
    if embedding == "auto":
        embedding = "hashed" if data.table.vectors is None else "table"
    if embedding == "table":
        if data.table.vectors is None:
            raise OptionError("embedding `table` needs an embedding file when the data are prepared")
        dimension = data.table.vectors.shape[1]
    return Config(
        merge=options.merge, state=options.state, hidden=options.hidden, embedding=embedding,
        dimension=dimension, buckets=options.buckets, columns=data.statistics.columns, skip=options.skip,
        head=options.head,
    )  # fmt: skip


class Trainer:
    """One training run; `run` gives the weights of the best epoch."""

    def __init__(
        self, data: TrainingData, options: TrainOptions, machine: Machine, folder: Path | None = None
    ) -> None:
        self.options, self.config, self.machine = options, config_of(data, options), machine
        torch.manual_seed(options.seed)
        self.network = LatticeRNN(self.config, options.drop, options.word_drop).to(machine.device)
        if options.start:
            _begin_with(self.network, Path(options.start))
        self.parallel = machine.wrap(self.network)
        self.average = {name: weight.detach().clone() for name, weight in self.network.named_parameters()}
        self.adam = torch.optim.AdamW(_groups(self.network, options), weight_decay=options.decay)
        self.state = State(rate=options.rate)
        self.best = checkpoint.weights_of(self.network)
        words = Words(data.table, self.config)
        arcs = options.batch_arcs or _batch_arcs(len(data.train.source))
        chosen = _kept(data.train, options)
        self.train = _Batches(data.train, arcs, words, self.config.merge, machine, chosen, options.taught)
        self.dev = _Batches(data.dev, max(arcs, 20_000), words, self.config.merge, machine)
        self._file = None if folder is None else folder / checkpoint.NAME
        if self._file and self._file.is_file():
            checkpoint.load(self._file, self)

    def run(self, tell: Tell, step: Step = lambda *_: None) -> dict[str, NDArray[np.float32]]:
        """Train until dev gets no better; `tell` hears of every epoch, `step` of its share done and its loss."""
        if self.options.start and not self.state.epoch:
            self._decide({"epoch": 0, "rate": 0.0, **self._judge()})  # what it begins with may stay the best
        while not self.finished:
            began = time.perf_counter()
            loss = self._epoch(step)
            found = self._judge()
            found = {"epoch": self.state.epoch, "loss": loss, "rate": self.state.rate, **found}
            self._decide(found)
            seconds = time.perf_counter() - began
            tell({**found, "seconds": seconds, "arcs_per_second": len(self.train.data.source) / seconds})
            if self._file and self.machine.is_first:
                checkpoint.save(self._file, self)
        return self.best

    @cached_property
    def fingerprint(self) -> int:
        """A number that other data would not have: what a checkpoint is good for."""
        return self.dev.data.checksum(self.train.data.checksum())

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        state = self.state
        return state.epoch >= self.options.epochs or state.epoch - state.best_epoch >= self.options.patience

    def _epoch(self, step: Step) -> float:
        self.network.train()
        self.state.epoch += 1
        for group in self.adam.param_groups:
            group["lr"] = self.state.rate * group["share"]
        order = np.random.default_rng([self.options.seed, self.state.epoch]).permutation(len(self.train))
        losses, arcs, shown = 0.0, 0.0, time.perf_counter()
        for place, numbers in enumerate(self.machine.shares(order)):
            torch.manual_seed(_seed(self.options.seed, self.state.epoch, place, self.machine.rank))
            total = sum(self.train.counted(number) for number in numbers)
            mine = numbers[self.machine.rank % len(numbers)]
            has_one = self.machine.rank < len(numbers)  # who has no batch of its own left goes along, for nothing
            loss = self._step(self.train[mine], mine, has_one * self.machine.size / max(total, 1))
            losses, arcs = losses + has_one * loss, arcs + has_one * self.train.counted(mine)
            if time.perf_counter() - shown > _OFTEN:  # to see the loss, one has to wait for the GPU
                shown = time.perf_counter()
                step((place + 1) * self.machine.size / len(self.train), float(losses) / max(arcs, 1))
        losses, arcs = self.machine.sums(losses, arcs)
        return losses / max(arcs, 1)

    def _step(self, batch: Batch, number: int, weight: float) -> Any:
        """One batch; gives its summed loss, still on the device."""
        self.adam.zero_grad(set_to_none=True)
        loss = loss_of(batch, self.parallel(self._anonymous(batch)), self.options.path_weight)
        (loss * weight).backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.options.clip)
        if not torch.isfinite(norm):
            raise self._blown_up(number, float(loss.detach()))
        self.adam.step()
        if self.options.average:
            self._take_average()
        return loss.detach()

    def _anonymous(self, batch: Batch) -> Batch:
        """Now and then a batch that does not tell whose it is, where that is known."""
        first = next((n for n, name in enumerate(self.config.columns) if name.startswith(IDENTITY)), None)
        if first is None or torch.rand(()).item() >= self.options.identity_drop:
            return batch
        kept = torch.arange(batch.features.shape[1], device=batch.features.device) < first
        return replace(batch, features=batch.features * kept)

    @torch.no_grad()
    def _take_average(self) -> None:
        """Let the averaged weights follow; in the beginning faster, as there is little to average."""
        steps = float(self.adam.state[next(self.network.parameters())]["step"])
        share = 1 - min(self.options.average, steps / (steps + 10))
        weights = dict(self.network.named_parameters())
        torch._foreach_lerp_(list(self.average.values()), [weights[name] for name in self.average], share)

    def _blown_up(self, number: int, loss: float) -> InputError:
        return InputError(
            f"training broke down in epoch {self.state.epoch}: batch {number} of {len(self.train)} gave a loss of "
            f"{loss:g} and a gradient that is no number",
            remedy=f"Try a smaller rate (--rate {self.state.rate / 4:g}); what came before is kept in the checkpoint",
        )

    @torch.no_grad()
    def _judge(self) -> dict[str, float]:
        """Loss, EER and NCE on dev."""
        self.network.eval()
        found, labels, loss = [], [], 0.0
        with self._averaged():
            for number in range(len(self.dev)):
                batch = self.dev[number]
                counted, outputs = batch.counts > 0, self.network(batch)
                loss += float(loss_of(batch, outputs, self.options.path_weight))
                found.append(confidence_of(batch, outputs)[counted])
                labels.append(batch.label[counted] > 0)
        confidence, label = torch.cat(found), torch.cat(labels)
        if not np.isfinite(loss):
            raise self._blown_up(-1, loss)
        measured = eer_and_nce(confidence.cpu().numpy(), label.cpu().numpy())
        measures = {} if measured is None else dict(zip(("dev_eer", "dev_nce"), measured, strict=True))
        return {"dev_loss": loss / max(len(label), 1), **measures}

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """With the averaged weights in place of those of the last batch, where there are such."""
        if not self.options.average:
            yield
            return
        own = {name: weight.detach().clone() for name, weight in self.network.named_parameters()}
        try:
            self._put(self.average)
            yield
        finally:
            self._put(own)

    def _put(self, weights: Mapping[str, torch.Tensor]) -> None:
        for name, weight in self.network.named_parameters():
            weight.data.copy_(weights[name])

    def _decide(self, found: dict[str, Any]) -> None:
        """Keep the weights if they are the best so far; go slower where they have not been for a while."""
        state = self.state
        worth = found.get("dev_nce", -found["dev_loss"]) if self.options.stop == "nce" else -found.get("dev_eer", 0.5)
        state.stale += 1
        if worth > state.best:
            state.best, state.best_epoch, state.stale = worth, state.epoch, 0
            with self._averaged():
                self.best = checkpoint.weights_of(self.network)
        elif state.stale * 3 >= self.options.patience and state.rate > self.options.rate * SLOWEST:
            state.rate, state.stale = state.rate / 2, 0
        found["best"] = state.best_epoch == state.epoch
        state.log.append(found)


def _begin_with(network: LatticeRNN, folder: Path) -> None:
    """Take the weights of a model of the same sizes; features that it does not know begin with none."""
    model = load_model(folder)
    if replace(model.config, columns=network.config.columns) != network.config:
        here, there = network.config.to_dict(), model.config.to_dict()
        differ = ", ".join(
            f"{name} {there[name]} there, {here[name]} here"
            for name in here
            if here[name] != there[name] and name != "columns"
        )
        raise OptionError(f"{folder}: training cannot begin with this model: {differ}"[:500])
    weights = {
        name: _for_columns(weight, model.config.columns, network.config.columns) if name in INPUTS else weight.copy()
        for name, weight in model.weights.items()
    }
    network.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()})


def _for_columns(weight: NDArray[np.float32], there: tuple[str, ...], here: tuple[str, ...]) -> NDArray[np.float32]:
    """The weights of these columns, 0 for new ones; those of word vectors stand behind them."""
    made = np.zeros((len(weight), len(here)), np.float32)
    for place, column in enumerate(here):
        if column in there:
            made[:, place] = weight[:, there.index(column)]
    return np.concatenate([made, weight[:, len(there) :]], axis=1)


def _groups(network: LatticeRNN, options: TrainOptions) -> list[dict[str, Any]]:
    """Weights by how fast they learn: word vectors as fast as the rest would learn the training data by heart."""
    embedding = [] if network.embedding is None else [network.embedding.weight]
    rest = [weight for weight in network.parameters() if not any(weight is each for each in embedding)]
    pairs = ((rest, 1.0), (embedding, options.embedding_rate))
    return [{"params": weights, "lr": options.rate, "share": share} for weights, share in pairs if weights]


def _batch_arcs(arcs: int) -> int:
    """So many batches an epoch, or twice as many where they would be large: steps are worth more than their size."""
    most = min(MOST_ARCS, max(LARGE_ARCS, arcs // (2 * BATCHES)))
    return int(np.clip(arcs // BATCHES, LEAST_ARCS, most))


def _kept(data: Dataset, options: TrainOptions) -> NDArray[np.int64] | None:
    """The utterances to train on: all, or those whose speakers are not in the fold that is left out."""
    if not options.folds:
        return None
    kept = np.flatnonzero(~in_fold(data.speaker, options.folds, options.fold))
    if not len(kept) or options.fold >= options.folds:
        raise OptionError(f"fold {options.fold} of {options.folds} leaves nobody to train on, or is no fold")
    return kept


class _Batches:
    """The batches of a dataset, made when first asked for and kept on the device."""

    def __init__(
        self,
        data: Dataset,
        arcs: int,
        words: Words,
        merge: str,
        machine: Machine,
        chosen: NDArray[np.int64] | None = None,
        taught: float = 0.0,
    ) -> None:
        self.data, self._words, self._merge, self._machine, self._taught = data, words, merge, machine, taught
        self._utterances = data.batches(arcs, chosen)
        counted = csr_offsets(data.label >= 0)[data.arc_offsets]
        self._counted = [int(np.diff(counted)[each].sum()) for each in self._utterances]
        self._made: dict[int, Batch] = {}

    def __len__(self) -> int:
        return len(self._utterances)

    def counted(self, number: int) -> int:
        """How many arcs of a batch carry loss."""
        return self._counted[number]

    def __getitem__(self, number: int) -> Batch:
        found = self._made.get(number)
        if found is None:
            found = make_batch(
                self.data, self._utterances[number], self._words, self._merge, self._machine.device, self._taught
            )
            self._made[number] = found
        return found


def _seed(*parts: int) -> int:
    """A seed of its own for every batch of every epoch."""
    return int(np.random.SeedSequence(parts).generate_state(1)[0])

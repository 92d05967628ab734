"""The training loop: epochs over batches, the best one on dev kept, every epoch a checkpoint.

All that is random follows from the seed, the epoch and the index of the batch, so training that was killed and
resumes from its checkpoint sees the same numbers as one that never stopped, and on a CPU ends with the same bits.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..base.errors import InputError, OptionError
from ..base.files import atomic_text
from ..base.folds import in_fold
from ..base.locks import claimed
from ..base.tensors import read_tensors, write_tensors
from ..confidence.config import IDENTITY, Config
from ..confidence.features import optional_groups
from ..confidence.model_card import TrainingRecord
from ..confidence.model_file import LOG, load_model
from ..evaluation.eer_nce import eer_and_nce
from .augmentation import varied
from .batches import DeviceBatches, WordInputs
from .dataset import Dataset, TrainingData
from .lattice_rnn import Batch, LatticeRNN, Measures
from .optimizer import optimizer_of
from .options import EIGHTHS, TrainOptions
from .worker import Worker

CHECKPOINT = "checkpoint.safetensors"
BATCHES = 80  # an epoch, unless an option says otherwise
LEAST_ARCS, LARGE_ARCS, MOST_ARCS = 500, 9_000, 50_000  # in a batch that we choose
DEV_ARCS = 20_000  # in a batch of dev, at least
SLOWEST = 1 / 64  # of the first learning rate
INPUTS = ("forwards.input.weight", "backwards.input.weight")  # [gates, columns and then word vectors]

_MOMENTS = ("exp_avg", "exp_avg_sq", "step")  # of Adam
_PROGRESS_SECONDS = 0.5  # between looks at an epoch that runs

Weights = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """How an epoch went. Of epoch 0, the model that training starts with, there is no training loss."""

    epoch: int
    rate: float
    dev_loss: float
    dev_eer: float | None  # None where no word of dev is right, or none wrong
    dev_nce: float | None
    dev_gap_nce: float | None = None  # of the probabilities that words are missing
    loss: float | None = None
    best: bool = False  # the best one so far
    seconds: float = 0.0
    arcs_per_second: float = 0.0
    trial: Mapping[str, Any] = field(default_factory=dict)  # the sizes that a search is trying

    def to_json(self) -> dict[str, Any]:
        """A line of the training log."""
        names = ("epoch", "loss", "rate", "dev_loss", "dev_eer", "dev_nce", "dev_gap_nce", "best")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


class _Scored:
    """Probabilities of dev with their labels, batch by batch."""

    def __init__(self) -> None:
        self._probabilities: list[torch.Tensor] = []
        self._labels: list[torch.Tensor] = []

    def add(self, probability: torch.Tensor, label: torch.Tensor) -> None:
        """Those of a batch; a label over 0 is right."""
        self._probabilities.append(probability)
        self._labels.append(label > 0)

    def __len__(self) -> int:
        return sum(map(len, self._labels))

    def eer_and_nce(self) -> tuple[float | None, float | None]:
        """None where nothing is right, or nothing wrong."""
        if not len(self):
            return None, None
        probability, label = (torch.cat(parts).cpu().numpy() for parts in (self._probabilities, self._labels))
        return eer_and_nce(probability, label) or (None, None)


@dataclass(frozen=True, slots=True)
class Progress:
    """Callbacks about the progress of training."""

    on_epoch: Callable[[EpochRecord], None] = lambda _: None
    on_batch: Callable[[float, float], None] = lambda *_: None  # share of the epoch done, and its loss so far


@dataclass(slots=True)
class TrainingState:
    """Where training stands; with weights and moments, all of a checkpoint."""

    epoch: int = 0
    rate: float = 0.0
    best: float = -np.inf  # the measure that decides, at its best
    best_epoch: int = 0
    stale: int = 0  # epochs since the rate or the best changed
    log: list[dict[str, Any]] = field(default_factory=list)  # `EpochRecord`s as JSON


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
        merge=options.merge, state=options.state, hidden=options.hidden, embedding=embedding, dimension=dimension,
        buckets=options.buckets, columns=data.statistics.columns, skip=options.skip, head=options.head,
        gap=options.gap if data.train.gaps is not None and options.gap_weight else 0,
    )  # fmt: skip


class Trainer:
    """One training run; `run` gives the weights of the best epoch."""

    def __init__(self, data: TrainingData, options: TrainOptions, worker: Worker, folder: Path | None = None) -> None:
        self.options, self.config, self.worker = options, config_of(data, options), worker
        torch.manual_seed(options.seed)
        self.network = LatticeRNN(self.config, options.drop, options.word_drop).to(worker.device)
        if options.start:
            _start_from(self.network, Path(options.start))
        self._parallel = worker.wrap(self.network)
        self._average = {name: weight.detach().clone() for name, weight in self.network.named_parameters()}
        self._adam = optimizer_of(self.network, options)
        self.state = TrainingState(rate=options.rate)
        self.best = self._weights()
        words, merge = WordInputs(data.table, self.config), self.config.merge
        arcs = options.batch_arcs or _default_batch_arcs(len(data.train.source))
        chosen = chosen_utterances(data.train, options)
        self.train = DeviceBatches(data.train, arcs, words, merge, worker.device, chosen, options.taught)
        self.dev = DeviceBatches(data.dev, max(arcs, DEV_ARCS), words, merge, worker.device)
        self._checkpoint = None if folder is None else folder / CHECKPOINT
        if self._checkpoint and self._checkpoint.is_file():
            self._load_checkpoint(self._checkpoint)

    def run(self, progress: Progress) -> Weights:
        """Train until dev gets no better."""
        if self.options.start and not self.state.epoch:
            self._decide(self._evaluate(0.0))  # the model to start with may stay the best
        while not self.finished:
            began = time.perf_counter()
            loss = self.run_epoch(progress)
            record = self._decide(self._evaluate(self.state.rate, loss))
            seconds = time.perf_counter() - began
            progress.on_epoch(replace(record, seconds=seconds, arcs_per_second=len(self.train.data.source) / seconds))
            if self._checkpoint and self.worker.is_first:
                self._save_checkpoint(self._checkpoint)
        return self.best

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        state = self.state
        if self.options.train_on_dev:
            return state.epoch >= self.options.epochs
        return state.epoch >= self.options.epochs or state.epoch - state.best_epoch >= self.options.patience

    @property
    def record(self) -> TrainingRecord:
        """For the card of the model."""
        run = {"epochs_run": self.state.epoch, "best_epoch": self.state.best_epoch}
        return TrainingRecord(asdict(self.options) | run)

    @property
    def best_metrics(self) -> dict[str, float]:
        """Measures of the best epoch on dev, by name."""
        best = next((line for line in self.state.log if line["epoch"] == self.state.best_epoch), {})
        return {name: value for name, value in best.items() if name.startswith("dev_")}

    def run_epoch(self, progress: Progress) -> float:
        """Go through all batches once, in a new order; gives the mean loss of an arc."""
        self.network.train()
        self.state.epoch += 1
        for group in self._adam.param_groups:
            group["lr"] = self.state.rate * group["share"]
        order = np.random.default_rng([self.options.seed, self.state.epoch]).permutation(len(self.train))
        losses, arcs, shown = 0.0, 0.0, time.perf_counter()
        for step, indices in enumerate(self.worker.steps(order)):
            torch.manual_seed(_seed(self.options.seed, self.state.epoch, step, self.worker.rank))
            total = sum(self.train.n_counted(index) for index in indices)
            mine = indices[self.worker.rank % len(indices)]
            has_one = self.worker.rank < len(indices)  # who has no batch of its own left goes along, for nothing
            loss = self._step(mine, has_one * self.worker.world_size / max(total, 1))
            losses, arcs = losses + has_one * loss, arcs + has_one * self.train.n_counted(mine)
            if time.perf_counter() - shown > _PROGRESS_SECONDS:  # to see the loss, one has to wait for the GPU
                shown = time.perf_counter()
                progress.on_batch((step + 1) * self.worker.world_size / len(self.train), float(losses) / max(arcs, 1))
        losses, arcs = self.worker.sums(losses, arcs)
        return losses / max(arcs, 1)

    def _step(self, index: int, weight: float) -> Any:
        """One batch; gives its summed loss, still on the device."""
        batch = self.train[index]
        self._adam.zero_grad(set_to_none=True)
        seen = varied(self._with_evidence_dropped(self._anonymous(batch)), self.config.columns, self.options)
        loss = self._loss(batch, self.network.measures(batch, self._parallel(seen)))
        (loss * weight).backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.options.clip)
        if not torch.isfinite(norm):
            raise self._diverged(index, float(loss.detach()))
        self._adam.step()
        if self.options.average:
            self._update_average()
        return loss.detach()

    def _loss(self, batch: Batch, measures: Measures) -> torch.Tensor:
        options = self.options
        return measures.loss(batch, options.path_weight, options.gap_weight, options.share_weight)

    def _anonymous(self, batch: Batch) -> Batch:
        """Now and then a batch without the columns that name its recognizer, where there are such columns."""
        first = next((i for i, name in enumerate(self.config.columns) if name.startswith(IDENTITY)), None)
        if first is None or torch.rand(()).item() >= self.options.identity_drop:
            return batch
        kept = torch.arange(batch.features.shape[1], device=batch.features.device) < first
        return replace(batch, features=batch.features * kept)

    def _with_evidence_dropped(self, batch: Batch) -> Batch:
        """The batch with each optional group of columns hidden in some utterances, where there are such groups."""
        groups = optional_groups(self.config.columns)
        if not groups or not self.options.evidence_drop:
            return batch
        kept = torch.ones(batch.utterances, len(self.config.columns))
        for group in groups:
            kept[:, group] = (torch.rand(batch.utterances, 1) >= self.options.evidence_drop).float()
        return replace(batch, features=batch.features * kept.to(batch.features.device)[batch.utterance])

    @torch.no_grad()
    def _update_average(self) -> None:
        """Let the averaged weights follow; in the beginning faster, as there is little to average."""
        steps = float(self._adam.state[next(self.network.parameters())]["step"])
        share = 1 - min(self.options.average, steps / (steps + 10))
        weights = dict(self.network.named_parameters())
        torch._foreach_lerp_(list(self._average.values()), [weights[name] for name in self._average], share)

    def _diverged(self, index: int, loss: float) -> InputError:
        return InputError(
            f"training broke down in epoch {self.state.epoch}: batch {index} of {len(self.train)} gave a loss of "
            f"{loss:g} and a gradient that is no number",
            remedy=f"Try a smaller rate (--rate {self.state.rate / 4:g}); what came before is kept in the checkpoint",
        )

    @torch.no_grad()
    def _evaluate(self, rate: float, train_loss: float | None = None) -> EpochRecord:
        """Loss, EER and NCE on dev."""
        self.network.eval()
        words, gaps, loss = _Scored(), _Scored(), 0.0
        with self._averaged():
            for index in range(len(self.dev)):
                batch = self.dev[index]
                measures, counted = self.network.measures(batch, self.network(batch)), batch.counts > 0
                loss += float(self._loss(batch, measures))
                words.add(measures.confidence[counted], batch.label[counted])
                if measures.gaps is not None and batch.gaps is not None:
                    gaps.add(torch.sigmoid(measures.gaps.double()), batch.gaps.missing)
        if not np.isfinite(loss):
            raise self._diverged(-1, loss)
        eer, nce = words.eer_and_nce()
        _, gap_nce = gaps.eer_and_nce()
        return EpochRecord(self.state.epoch, rate, loss / max(len(words), 1), eer, nce, gap_nce, train_loss)

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """With the averaged weights in place of those of the last batch, where there are such."""
        if not self.options.average:
            yield
            return
        own = {name: weight.detach().clone() for name, weight in self.network.named_parameters()}
        try:
            self._assign(self._average)
            yield
        finally:
            self._assign(own)

    def _assign(self, weights: Mapping[str, torch.Tensor]) -> None:
        for name, weight in self.network.named_parameters():
            weight.data.copy_(weights[name])

    def _weights(self) -> Weights:
        """A copy of the weights by name."""
        return {name: weight.detach().cpu().numpy().copy() for name, weight in self.network.state_dict().items()}

    def _decide(self, record: EpochRecord) -> EpochRecord:
        """Keep the weights if they are the best so far; halve the rate where they have not been for a while.

        What is trained on dev as well cannot be judged on it: its last weights are the best.
        """
        state = self.state
        if self.options.stop == "nce":
            worth = -record.dev_loss if record.dev_nce is None else record.dev_nce
        else:
            worth = -0.5 if record.dev_eer is None else -record.dev_eer
        state.stale += 1
        if self.options.train_on_dev or worth > state.best:
            state.best, state.best_epoch, state.stale = worth, state.epoch, 0
            with self._averaged():
                self.best = self._weights()
        elif state.stale * 3 >= self.options.patience and state.rate > self.options.rate * SLOWEST:
            state.rate, state.stale = state.rate / 2, 0
        record = replace(record, best=state.best_epoch == state.epoch)
        state.log.append(record.to_json())
        return record

    @cached_property
    def _fingerprint(self) -> int:
        """A number that other data would not have: what a checkpoint is good for."""
        return self.dev.data.checksum(self.train.data.checksum())

    def _save_checkpoint(self, path: Path) -> None:
        """All that training needs to resume, in one file that is replaced as a whole."""
        arrays: dict[str, NDArray[Any]] = {f"best.{name}": weight for name, weight in self.best.items()}
        arrays |= {f"weight.{name}": weight for name, weight in self._weights().items()}
        arrays |= {f"average.{name}": weight.cpu().numpy() for name, weight in self._average.items()}
        for name, weight in self.network.named_parameters():
            for moment in _MOMENTS:
                arrays[f"{moment}.{name}"] = self._adam.state[weight][moment].cpu().numpy()
        header = {"options": asdict(self.options), "data": self._fingerprint, "state": asdict(self.state)}
        write_tensors(path, arrays, header)
        lines = "".join(json.dumps(line) + "\n" for line in self.state.log)
        with atomic_text(path.with_name(LOG)) as file:  # for those who watch; a model's own is written at the end
            file.write(lines)

    def _load_checkpoint(self, path: Path) -> None:
        """Resume where the checkpoint was made."""
        arrays, header = read_tensors(path)

        def tensor(kind: str, name: str) -> torch.Tensor:
            return torch.from_numpy(arrays[f"{kind}.{name}"].copy())

        try:
            changed = _changed_options(header["options"], asdict(self.options))
            if changed:
                raise ValueError(f"it was made with other options: {changed}")
            if header["data"] != self._fingerprint:
                raise ValueError("it was made on other data")
            self.network.load_state_dict({name: tensor("weight", name) for name in self.best})
            self.best = {name: arrays[f"best.{name}"] for name in self.best}
            for name, weight in self.network.named_parameters():
                self._average[name] = tensor("average", name).to(weight.device)
                self._adam.state[weight] = {
                    moment: tensor(moment, name).to("cpu" if moment == "step" else weight.device)
                    for moment in _MOMENTS
                }
            self.state = TrainingState(**header["state"])
        except (KeyError, ValueError, TypeError, RuntimeError) as error:
            message = f"training cannot go on from this checkpoint: {error}"
            raise InputError(message, file=str(path), remedy="Remove it to start anew") from None


def _changed_options(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Which options differ; how many epochs there may be is no matter."""
    names = [name for name in now if name != "epochs" and before.get(name) != now[name]]
    return ", ".join(f"{name} {before.get(name)} then, {now[name]} now" for name in names)


@contextmanager
def only_training_in(folder: Path) -> Iterator[None]:
    """Lock the folder: a training that was orphaned by a kill may still be at work there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with claimed(folder):
        if folder.is_symlink():
            raise OptionError(f"{folder}: checkpoints would be kept here, but this is a link; remove it")
        folder.mkdir(exist_ok=True)
        try:
            yield
        finally:
            with suppress(OSError):  # it stays if something is in it
                folder.rmdir()


def _start_from(network: LatticeRNN, folder: Path) -> None:
    """Take the weights of a model of the same sizes; what it does not know (features, gaps) begins anew."""
    model = load_model(folder)
    if replace(model.config, columns=network.config.columns, gap=network.config.gap) != network.config:
        ours, theirs = network.config.to_dict(), model.config.to_dict()
        differ = ", ".join(
            f"{name} {theirs[name]} there, {ours[name]} here"
            for name in ours
            if name not in ("columns", "gap") and ours[name] != theirs[name]
        )
        raise OptionError(f"{folder}: training cannot begin with this model: {differ}"[:500])
    weights = {
        name: _for_columns(weight, model.config.columns, network.config.columns) if name in INPUTS else weight.copy()
        for name, weight in model.weights.items()
    }
    if model.config.gap != network.config.gap:  # the head for missing words begins anew
        weights = {name: weight for name, weight in weights.items() if not name.startswith("gap.")}
        weights |= {name: weight.numpy() for name, weight in network.state_dict().items() if name.startswith("gap.")}
    network.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()})


def _for_columns(weight: NDArray[np.float32], theirs: tuple[str, ...], ours: tuple[str, ...]) -> NDArray[np.float32]:
    """The input weights for our columns, 0 for new ones; those of word vectors stand behind them."""
    weights = np.zeros((len(weight), len(ours)), np.float32)
    for i, column in enumerate(ours):
        if column in theirs:
            weights[:, i] = weight[:, theirs.index(column)]
    return np.concatenate([weights, weight[:, len(theirs) :]], axis=1)


def _default_batch_arcs(arcs: int) -> int:
    """So many batches an epoch, or twice as many where they would be large: steps are worth more than their size."""
    most = min(MOST_ARCS, max(LARGE_ARCS, arcs // (2 * BATCHES)))
    return int(np.clip(arcs // BATCHES, LEAST_ARCS, most))


def chosen_utterances(data: Dataset, options: TrainOptions) -> NDArray[np.int64] | None:
    """The utterances to train on: all, or those of some speakers, who are not in the fold that is left out."""
    if not options.folds and options.eighths == EIGHTHS:
        return None
    kept = (data.speaker >> np.uint32(16)) % np.uint32(EIGHTHS) < options.eighths  # folds go by the lowest bits
    if options.folds:
        kept &= ~in_fold(data.speaker, options.folds, options.fold)
        kept &= ~in_fold(data.speaker, options.folds, options.other_fold)
    chosen = np.flatnonzero(kept)
    if not len(chosen) or (options.folds and max(options.fold, options.other_fold) >= options.folds):
        left_out = str(options.fold) if options.other_fold < 0 else f"{options.fold} and {options.other_fold}"
        raise OptionError(f"fold {left_out} of {options.folds} leaves nobody to train on, or is no fold")
    return chosen


def _seed(*parts: int) -> int:
    """A seed of its own for every batch of every epoch."""
    return int(np.random.SeedSequence(parts).generate_state(1)[0])

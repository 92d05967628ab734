"""The paper's own system within a study: its models beside ours, and its figures beside theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..combination.subset_comparison import compare_subsets
from ..combination.system_output import references_of
from ..confidence.model_file import MODEL_JSON
from ..confidence.word_scorer import load
from ..evaluation.metrics import compare, intervals
from ..formats import stream
from ..training.options import TrainOptions
from ..training.study_training import model_folders
from .layout import DEV, TRAIN, StudyFolder
from .paper import OPTIONS, SIZES, evaluate_paper, paper_pack, paper_system_outputs, train_paper, write_paper_model
from .paper_examples import examples
from .steps import Steps, file_key, key_of

PAPER = "paper"  # in the folder of a final model


@dataclass(frozen=True, slots=True)
class PaperMaker:
    """Makes the paper's models of a study, each unless it is there."""

    out: StudyFolder
    steps: Steps
    training: TrainOptions | None  # epochs and seed count, and a size means that no other is tried
    device: str
    threads: int | None

    @property
    def _folder(self) -> Path:
        return self.out.work / PAPER

    def make(self, networks: Mapping[str, str], vectors: Path | None) -> None:
        """Training data, models of all folds, and final models; `networks` are keys by recognizer."""
        self._folder.mkdir(parents=True, exist_ok=True)
        packs = {name: self._folder / f"{name}.pack" for name in networks}
        keys = {name: key_of(PAPER, networks_key, None if vectors is None else file_key([vectors]))
                for name, networks_key in networks.items()}  # fmt: skip
        files = {name: [folder / MODEL_JSON for folder in model_folders(name, self._folder)] for name in networks}
        are_trained = [
            self.steps.adopt(f"{name}: the paper's training", key_of(keys[name], self.training), files[name])
            for name in networks
        ]
        if not all(are_trained):
            for name, pack in packs.items():
                train, dev = (partial(stream, str(self.out.store(name, split))) for split in (TRAIN, DEV))
                work = partial(paper_pack, train, dev, pack, vectors=vectors)
                self.steps.run(f"{name}: the paper's training data", keys[name], [pack], work)
            made = [path for paths in files.values() for path in paths]
            self.out.require_torch()
            self.steps.run("the paper's training", key_of(sorted(keys.items()), self.training), made,
                           partial(self._train, packs))  # fmt: skip
        for name in networks:
            self._finish(name, keys[name], files[name])

    def _train(self, packs: Mapping[str, Path]) -> None:
        options, sizes = OPTIONS, SIZES
        if self.training is not None:
            chosen = self.training
            options = replace(options, epochs=chosen.epochs, seed=chosen.seed, state=chosen.state)
            sizes = sizes if chosen.state == TrainOptions().state else {"state": (chosen.state,)}
        train_paper(
            packs, self._folder, options=options, sizes=sizes, device=self.device, threads=self.threads,
            notify=self.steps.notify,
        )  # fmt: skip

    def _finish(self, name: str, key: str, files: list[Path]) -> None:
        model, *folds = (path.parent for path in files)
        train, dev = (partial(stream, str(self.out.store(name, split))) for split in (TRAIN, DEV))
        out = self.out.models / name / PAPER
        done = key_of(key, [path.read_bytes() for path in files])
        work = partial(write_paper_model, model, folds, train, dev, out)
        self.steps.run(f"{name}: the paper's final model", done, [out / MODEL_JSON], work)


def evaluate_paper_model(model: Path, store: str) -> dict[str, Any]:
    """The paper's figures of one recognizer; nothing where it has no such model."""
    if not (model / PAPER / MODEL_JSON).is_file():
        return {}
    found = evaluate_paper(load(model / PAPER), stream(store))
    drawn = intervals(found.errors["best_confidence"])["wer"]
    tested = compare(found.errors["best_confidence"], found.errors["one_best"])["wer"]
    record = found.to_dict() | {"interval": [drawn.low, drawn.high], "p": tested.p}
    return {PAPER: record}


def measure_paper(models: Mapping[str, Path], stores: Mapping[str, str]) -> dict[str, Any]:
    """The paper's combination over all subsets of the recognizers that have such a model."""
    scorers = {name: load(model / PAPER) for name, model in models.items() if (model / PAPER / MODEL_JSON).is_file()}
    if len(scorers) < 2:
        return {}
    sources = {name: partial(stream, stores[name]) for name in scorers}
    first = next(iter(sources.values()))
    references = {utt: each for networks in first() for utt, each in references_of(networks).items()}
    outputs = paper_system_outputs(scorers, sources, references)
    record = compare_subsets(outputs).to_dict()
    return {PAPER: record | {"examples": [example.to_dict() for example in examples(outputs)]}}

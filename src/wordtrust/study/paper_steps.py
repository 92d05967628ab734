"""The paper's own system within a study: its models beside ours, and its figures beside theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..combination.subset_comparison import all_subsets, choice_errors, compare_subsets
from ..combination.system_output import references_of
from ..confidence.model_file import MODEL_JSON
from ..confidence.word_scorer import WordScorer, load
from ..confidence.word_vectors import lexicon_coverage
from ..evaluation.metrics import compare, intervals
from ..formats import stream
from ..lattices.lattice import Ints
from ..training.options import TrainOptions
from ..training.paper_training import PAPER as OPTIONS
from ..training.paper_training import SIZES, train_paper
from ..training.study_training import model_folders
from .layout import DEV, TRAIN, StudyFolder
from .paper import OUT_OF_FOLD, calibrated_by, evaluate_paper, paper_pack, paper_system_outputs, write_paper_model
from .steps import Steps, file_key, key_of

PAPER = "paper"  # in the folder of a final model: calibrated as the paper has it
PAPER_OUT_OF_FOLD = "paper-out-of-fold"  # the same model, calibrated out of fold


@dataclass(frozen=True, slots=True)
class PaperMaker:
    """Makes the paper's models of a study, each unless it is there."""

    out: StudyFolder
    steps: Steps
    training: TrainOptions | None  # epochs and seed count, and a size means that no other is tried
    device: str
    threads: int | None
    vectors: Path | None = None
    lexicon: Path | None = None

    @property
    def _folder(self) -> Path:
        return self.out.work / PAPER

    def packs(self, networks: Mapping[str, str]) -> dict[str, Path]:
        """Training data of all recognizers; `networks` are keys by recognizer."""
        self._folder.mkdir(parents=True, exist_ok=True)
        packs = {name: self._folder / f"{name}.pack" for name in networks}
        for name, pack in packs.items():
            key = self._key(networks[name])
            self.steps.run(f"{name}: the paper's training data", key, [pack], partial(self._pack, name, pack))
        return packs

    def make(self, networks: Mapping[str, str]) -> None:
        """Training data, models of all folds, and final models; models that another machine made are found."""
        self._folder.mkdir(parents=True, exist_ok=True)
        keys = {name: self._key(networks_key) for name, networks_key in networks.items()}
        files = {name: [folder / MODEL_JSON for folder in model_folders(name, self._folder)] for name in networks}
        are_trained = [
            self.steps.adopt(f"{name}: the paper's training", key_of(keys[name], self.training), files[name])
            for name in networks
        ]
        if not all(are_trained):
            packs = self.packs(networks)
            made = [path for paths in files.values() for path in paths]
            self.out.require_torch()
            self.steps.run("the paper's training", key_of(sorted(keys.items()), self.training), made,
                           partial(self._train, packs))  # fmt: skip
        for name in networks:
            self._finish(name, keys[name], files[name])

    def _key(self, networks: str) -> str:
        lexicon = () if self.lexicon is None else (file_key([self.lexicon]),)
        return key_of(PAPER, networks, None if self.vectors is None else file_key([self.vectors]), *lexicon)

    def _pack(self, name: str, pack: Path) -> None:
        train, dev = (partial(stream, str(self.out.store(name, split))) for split in (TRAIN, DEV))
        table = paper_pack(train, dev, pack, vectors=self.vectors, lexicon=self.lexicon)
        if coverage := lexicon_coverage(table):
            self.steps.notify(f"{name}: {coverage}")

    def _train(self, packs: Mapping[str, Path]) -> None:
        from ..training.trainer import EpochRecord, Progress

        options, sizes = OPTIONS, SIZES
        if self.training is not None:
            chosen = self.training
            options = replace(options, epochs=chosen.epochs, seed=chosen.seed, state=chosen.state)
            sizes = sizes if chosen.state == TrainOptions().state else {"state": (chosen.state,)}

        def progress_of(folder: Path) -> Progress:
            def on_epoch(record: EpochRecord) -> None:
                trial = ", ".join(f"{size} {value}" for size, value in record.trial.items())
                self.steps.notify(f"the paper's {folder.name} {trial}: epoch {record.epoch}, loss {record.loss:.4f}")

            return Progress(on_epoch)

        train_paper(
            packs, self._folder, options=options, sizes=sizes, device=self.device, threads=self.threads,
            progress=progress_of,
        )  # fmt: skip

    def _finish(self, name: str, key: str, files: list[Path]) -> None:
        """Write the model twice: calibrated as the paper has it, and out of fold."""
        model, *folds = (path.parent for path in files)
        train, dev = (partial(stream, str(self.out.store(name, split))) for split in (TRAIN, DEV))
        done = key_of(key, [path.read_bytes() for path in files])
        for kind, fold_models in ((PAPER, []), (PAPER_OUT_OF_FOLD, folds)):
            out = self.out.models / name / kind
            work = partial(write_paper_model, model, fold_models, train, dev, out)
            what = "final model" if kind == PAPER else "final model, calibrated out of fold"
            self.steps.run(f"{name}: the paper's {what}", key_of(done, kind), [out / MODEL_JSON], work)


def _load(model: Path, kind: str) -> WordScorer | None:
    return load(model / kind) if (model / kind / MODEL_JSON).is_file() else None


def evaluate_paper_model(model: Path, store: str) -> dict[str, Any]:
    """The paper's figures of one recognizer; nothing where it has no such model."""
    scorer = _load(model, PAPER)
    if scorer is None:
        return {}
    found = evaluate_paper(scorer, stream(store), _load(model, PAPER_OUT_OF_FOLD))
    drawn = intervals(found.errors["best_confidence"])["wer"]
    tested = compare(found.errors["best_confidence"], found.errors["one_best"])["wer"]
    size = {"state": scorer.model.config.state, "hidden": scorer.model.config.hidden}
    record = found.to_dict() | {"interval": [drawn.low, drawn.high], "p": tested.p, "size": size}
    return {PAPER: record}


def measure_paper(models: Mapping[str, Path], stores: Mapping[str, str]) -> dict[str, Any]:
    """The paper's combination over all subsets of the recognizers that have such a model."""
    scorers = {name: scorer for name, model in models.items() if (scorer := _load(model, PAPER))}
    if len(scorers) < 2:
        return {}
    sources = {name: partial(stream, stores[name]) for name in scorers}
    first = next(iter(sources.values()))
    references = {utt: each for networks in first() for utt, each in references_of(networks).items()}
    outputs = paper_system_outputs(scorers, sources, references)
    out_of_fold = {name: scorer for name in scorers if (scorer := _load(models[name], PAPER_OUT_OF_FOLD))}
    both: list[dict[str, Ints]] = [{}, {}]
    if len(out_of_fold) == len(scorers):
        for counted, errors in zip((outputs, outputs.leniently), both, strict=True):
            assert counted is not None  # plain references
            chosen = choice_errors(calibrated_by(counted, out_of_fold), all_subsets(len(scorers)))
            errors[OUT_OF_FOLD] = chosen["calibrated"]
    return {PAPER: compare_subsets(outputs, others=both[0], lenient_others=both[1]).to_dict()}

"""Everything that is chosen on train and dev: networks, models, their calibration, and how they are combined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ..base.errors import InputError
from ..base.files import atomic_folder
from ..combination.combination_file import FILE as COMBINATION
from ..combination.combine import fit_combination
from ..confidence.config import GENERIC
from ..confidence.model_file import MODEL_JSON
from ..confidence.word_scorer import load
from ..training.options import MULTI_RECOGNIZER, has_gpu
from ..training.study_training import FOLDS, StudyTraining, model_folders
from ..training.trees import require_sklearn
from .combination import systems_on
from .final_model import TrainedModel, write_final_model, write_generic_model, write_with_trees
from .language_model import StudyLanguageModel, install
from .layout import DEV, JOINT, TRAIN, StudyFolder, StudyOptions
from .paper_steps import PaperMaker
from .steps import Steps, contents_key, key_of, read_json, write_json
from .stores import StoreBuilder

MEMBERS = "members.json"  # beside a fitted combination: which models it was fitted for


@dataclass(frozen=True, slots=True)
class Fitting:
    """The part of a study that never sees the test split."""

    names: tuple[str, ...]
    out: StudyFolder
    options: StudyOptions
    steps: Steps
    maker: StoreBuilder
    lm: StudyLanguageModel | None = None

    def run(self, vectors: Path | None) -> bool:
        """Do it all, as far as is wanted; whether the results are wanted as well."""
        networks = {name: self._networks(name) for name in self.names}
        if self.options.until == "networks":
            return False
        chosen = self.options
        if chosen.with_trees and chosen.until != "packs":
            require_sklearn("or leave them out with --no-trees")
        paper = PaperMaker(
            self.out, self.steps, chosen.training, chosen.device, chosen.threads, vectors, chosen.lexicon
        )
        if chosen.with_paper and chosen.until == "packs":
            paper.packs(networks)
        if not self._train(networks, vectors):
            return False
        for name in self.names:
            if chosen.with_trees:
                self._add_trees(name, networks[name])
            self._finish(name, networks[name])
            if self.lm is not None:
                self._add_lm(name, self.lm)
        self._finish_generic()
        if len(self.names) > 1:
            self._combine()
        if chosen.with_paper:
            paper.make(networks)
        return self.options.until == "results"

    def _networks(self, name: str) -> str:
        self.maker.scales(name)
        return key_of(*(self._split_networks(name, split) for split in (TRAIN, DEV)))

    def _split_networks(self, name: str, split: str) -> str:
        return self.maker.networks(name, split, self.out.scales(name))

    def _train(self, networks: Mapping[str, str], vectors: Path | None) -> bool:
        """Train what is not there, from here or from another machine; whether to go on."""
        files = {
            name: [folder / MODEL_JSON for folder in model_folders(name, self.out.trained)] for name in self.names
        }
        chosen = (self.options.training, self.options.teachers, sorted(self.names))  # all are trained together
        lexicon = self.options.lexicon
        keys = {name: key_of(self.maker.pack_key(networks[name], vectors, lexicon), chosen) for name in files}
        only_packs = self.options.until == "packs"
        there = [only_packs or self.steps.adopt(f"{name}: training", keys[name], files[name]) for name in self.names]
        if all(there) and not only_packs:
            return True
        for name in self.names:
            self.maker.pack(name, vectors, networks[name], lexicon)
        if only_packs:
            return False
        made = [path for paths in files.values() for path in paths]
        self.steps.run("training", key_of(sorted(keys.items())), made, self._train_all)
        return True

    def _train_all(self) -> None:
        self.out.require_torch()
        options, device = self.options, self.options.device
        training = StudyTraining(
            {name: self.out.pack(name) for name in self.names}, self.out.trained, teachers=options.teachers,
            options=options.training or MULTI_RECOGNIZER, device=device, threads=options.threads,
            side_by_side=FOLDS + 1 if has_gpu(device) else 1,
        )  # fmt: skip
        training.run(self.steps.notify)

    def _add_trees(self, name: str, networks: str) -> None:
        """Trees beside the networks of a recognizer, and of each of its folds."""
        trained, folders = self._trained(name, self.out.trained), model_folders(name, self.out.with_trees)
        files = [folder / MODEL_JSON for folder in (trained.model, *trained.folds)]
        made = [folder / MODEL_JSON for folder in folders]
        work = partial(write_with_trees, trained, folders)
        self.steps.run(f"{name}: trees", key_of(networks, contents_key(files)), made, work)

    def _trained(self, name: str, where: Path | None = None) -> TrainedModel:
        """A recognizer's models, with trees if these are wanted."""
        with_trees = self.out.with_trees if self.options.with_trees else self.out.trained
        model, *folds = model_folders(name, where or with_trees)
        train, dev = (str(self.out.store(name, split)) for split in (TRAIN, DEV))
        return TrainedModel(model, tuple(folds), train, dev)

    def _finish(self, name: str, networks: str) -> None:
        trained, scales, out = self._trained(name), self.out.scales(name), self.out.models / name
        files = [folder / MODEL_JSON for folder in (trained.model, *trained.folds)]
        earlier = self.options.baselines
        key = key_of(networks, contents_key([*files, scales]), *([] if earlier is None else [str(earlier)]))
        work = partial(write_final_model, trained, scales, self._plain_stores(name), out)
        self.steps.run(f"{name}: final model", key, [out], work)

    def _plain_stores(self, name: str) -> tuple[str, str]:
        """Train and dev, without what was mixed into them if an earlier study has them so."""
        folder = self.out if self.options.baselines is None else StudyFolder(self.options.baselines)
        return str(folder.store(name, TRAIN)), str(folder.store(name, DEV))

    def _add_lm(self, name: str, lm: StudyLanguageModel) -> None:
        """What the final model has for networks that a language model has read."""
        plain, without_trees = self._trained(name), self._trained(name, self.out.trained)
        train, dev = (lm.read(name, split, self._split_networks(name, split)) for split in (TRAIN, DEV))
        trained, fitted = replace(without_trees, train=str(train), dev=str(dev)), self.out.with_lm / name
        key = key_of(lm.key, contents_key([folder / MODEL_JSON for folder in (plain.model, *plain.folds)]))
        fitted.parent.mkdir(exist_ok=True)
        work = partial(lm.fit_into, fitted, trained, plain)
        self.steps.run(f"{name}: language model", key, [fitted], work)
        install(fitted, self.out.models / name)

    def _finish_generic(self) -> None:
        """The model for other recognizers, where training made one."""
        model, out = self.out.trained / GENERIC, self.out.models / GENERIC
        if (model / MODEL_JSON).is_file():
            stores = [str(self.out.store(name, DEV)) for name in self.names]
            key = key_of(contents_key([model / MODEL_JSON]), self.names)
            self.steps.run("generic: final model", key, [out], lambda: write_generic_model(model, stores, out))

    def _combine(self) -> None:
        """Fit the combination, unless one is there for these models and maybe more: it takes hours."""
        out = self.out.models / JOINT
        members = {name: contents_key([self.out.models / name / MODEL_JSON]) for name in self.names}
        with_joint = self.options.with_joint
        if _is_fitted(out, members, with_joint):
            return

        def work() -> None:
            trained = {name: self._trained(name) for name in self.names}
            scorers = {name: load(self.out.models / name) for name in self.names}
            stores = {name: self._plain_stores(name) for name in self.names}
            folds = {name: each.load_folds() for name, each in trained.items()}
            systems = systems_on(scorers, stores, folds, self.options.equate)
            draft = self.out.work / "joint.draft"
            fitted = fit_combination(
                systems, joint=with_joint, subsets=True, jobs=self.options.jobs, draft=draft,
                notify=lambda message: self.steps.notify(f"joint: {message}"),
            )  # fmt: skip
            with atomic_folder(out) as folder:
                fitted.write(folder)
                write_json(folder / MEMBERS, {"members": members, "joint": with_joint})
            draft.unlink(missing_ok=True)

        key = key_of(sorted(members.items()), with_joint)
        self.steps.run("combination", key, [out / COMBINATION, out / MEMBERS], work)


def _is_fitted(folder: Path, members: Mapping[str, str], with_joint: bool) -> bool:
    try:
        found = read_json(folder / MEMBERS)
    except InputError:
        return False
    known = found.get("members")
    fits = isinstance(known, dict) and all(known.get(name) == key for name, key in members.items())
    return fits and bool(found.get("joint") or not with_joint) and (folder / COMBINATION).is_file()

"""The figures of the test split: recognizers alone, then all subsets of them. Nothing is fitted here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.version import __version__
from ..combination.combination_file import FILE as COMBINATION
from ..combination.combination_file import JOINT as JOINT_FILE
from ..combination.combination_file import FittedCombination
from ..confidence.model_file import MODEL_JSON, SCALES
from ..confidence.word_scorer import load
from .baselines import NAME as BASELINES
from .examples import repair_examples
from .joined import joint_record
from .judge import judge_recognizer
from .layout import JOINT, Output
from .options import StudyOptions
from .paper_examples import examples
from .paper_steps import PAPER, judge_paper, measure_paper
from .results import read_json, write_json
from .steps import Steps, contents_key, key_of
from .stores import Maker
from .together import Measured, counts_against, systems_on


@dataclass(frozen=True, slots=True)
class Figures:
    """Measures final models on one split, recognizer by recognizer."""

    names: tuple[str, ...]
    models: Path
    out: Output
    options: StudyOptions
    steps: Steps
    maker: Maker

    def all(self) -> dict[str, Any]:
        """What study.json holds."""
        test, models = self.options.test, {name: self.models / name for name in self.names}
        stores = {name: self.maker.networks(name, test, models[name] / SCALES) for name in self.names}
        papers = contents_key([model / PAPER / MODEL_JSON for model in models.values()])
        alone = {name: self._judge(name, stores[name]) for name in self.names}
        scored = {name: contents_key([models[name] / MODEL_JSON]) for name in self.names}
        together = self._together(key_of(sorted(scored.items()), sorted(stores.items())), papers)
        return {"recognizers": alone} | together | {"seconds": self.steps.seconds}

    def _judge(self, name: str, networks: str) -> dict[str, Any]:
        test, model = self.options.test, self.models / name
        path, store = self.out.results / f"{test}-{name}.json", self._store(name)
        key = key_of(
            __version__, networks, contents_key([model / MODEL_JSON, model / BASELINES, model / PAPER / MODEL_JSON])
        )

        def work() -> None:
            write_json(path, judge_recognizer(model, store) | judge_paper(model, store))

        self.steps.run(f"{name}: figures of {test}", key, [path], work)
        return read_json(path)

    def _store(self, name: str) -> str:
        return str(self.out.store(name, self.options.test))

    def _together(self, key: str, papers: str) -> dict[str, Any]:
        test, folder = self.options.test, self.models / JOINT
        path = self.out.results / f"{test}-together.json"
        key = key_of(key, contents_key([folder / COMBINATION, folder / JOINT_FILE]), self.options.with_joint)
        self.steps.run(
            f"combination on {test}",
            key_of(__version__, key, papers),
            [path],
            lambda: write_json(path, self._measure(folder, key)),
        )
        return read_json(path)

    def _measure(self, folder: Path, key: str) -> dict[str, Any]:
        fitted = self._fitted(folder)
        names = [name for name in self.names if fitted is None or name in fitted.order]
        systems = systems_on(
            {name: load(self.models / name) for name in names}, {name: (self._store(name),) for name in names}
        )
        counted = self.out.results / f"joint-{key}"
        measured = Measured(systems, fitted, counted, self.options.jobs, self.steps.tell)
        found = _subsets(measured) if len(names) > 1 else _no_subsets()
        models = {name: self.models / name for name in self.names}
        paper = measure_paper(models, {name: self._store(name) for name in self.names})
        return found | paper | {"repairs": repair_examples(measured.together, measured.printed)}

    def _fitted(self, folder: Path) -> FittedCombination | None:
        """What was fitted for the combination, if anything was for two of these recognizers."""
        if len(self.names) < 2:
            return None
        if not (folder / COMBINATION).is_file():
            self.steps.tell(f"{folder} has no fitted combination: joint network and informed choice are left out")
            return None
        fitted = FittedCombination.load(folder, with_joint=self.options.with_joint)
        lacking = [name for name in self.names if name not in fitted.order]
        if lacking:
            self.steps.tell(f"left out of the combination, which was fitted without them: {', '.join(lacking)}")
        return None if len(lacking) > len(self.names) - 2 else fitted


def _no_subsets() -> dict[str, Any]:
    """Of a single recognizer."""
    return {"systems": {}, "subsets": [], "better": {}, "equal": {}, "worse": {}, "examples": []}


def _subsets(measured: Measured) -> dict[str, Any]:
    found = measured.combination().to_dict()
    against = {f"against_{name}": counts_against(found["subsets"], rival) for name, rival in _RIVALS}
    decoded = measured.joint_output()
    joined = {} if decoded is None else {"joint_of_all": joint_record(decoded, measured.together)}
    return found | against | joined | {"examples": [each.to_dict() for each in examples(measured.together)]}


_RIVALS = (("one_best", "best_member_one_best"), ("rover", "rover"))

"""Models that were trained in several ways, measured on dev: mean and standard deviation over their seeds.

    python -m experiments.model_table FOLDER STUDY --out TABLE.md

FOLDER has models as `python -m wordtrust.training` leaves them, WAY/NAME-SEED or WAY-SEED/NAME: a row for each way, a
table for each recognizer. Networks are those of STUDY/work/NAME/dev. What was measured is kept in
FOLDER/measured.jsonl and not measured again. docs/results.md has the commands that train the models. With
`--out-of-fold` every speaker is scored by the model of the fold that leaves them out (WAY/NAME-fold-K): where dev was
trained on, no other is fair.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordtrust.base.errors import WordtrustError
from wordtrust.base.files import atomic_text
from wordtrust.confidence.calibrate_model import OutOfFoldScorer
from wordtrust.confidence.config import GENERIC
from wordtrust.confidence.model_file import MODEL_JSON, checksum, load_model
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.study.layout import DEV, StudyFolder
from wordtrust.training.study_training import model_folders

from .ablation_measures import measure, runs_markdown
from .ablations import keep_run, read_runs

MEASURED = "measured.jsonl"
_SEED = re.compile(r"-[0-9]+\Z")


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """One model of the folder."""

    folder: Path
    way: str
    recognizer: str
    seed: int

    @property
    def key(self) -> str:
        """Another model, or another way, has another."""
        return f"{self.way}/{self.recognizer}-{self.seed} {checksum(self.folder / MODEL_JSON)}"

    def scorer(self, *, out_of_fold: bool) -> OutOfFoldScorer:
        """The model, or those of its folds."""
        folders = model_folders(self.folder.name, self.folder.parent)[1:] if out_of_fold else []
        return OutOfFoldScorer(_scorer(self.folder), [_scorer(folder) for folder in folders])


def _scorer(folder: Path) -> WordScorer:
    return WordScorer(load_model(folder))


def models_in(folder: Path) -> Iterator[TrainedModel]:
    """All models of recognizers, by the names of their folders; the way of training is that of the outer one."""
    for path in sorted(folder.glob(f"*/*/{MODEL_JSON}")):
        model = load_model(path.parent)
        seed = int(model.card.training.options.get("seed", 0))
        name = path.parent.name.removesuffix(f"-{seed}")  # names of recognizers may end in numbers as well
        is_of_a_fold = model.card.training.left_out_fold is not None
        if name != GENERIC and not model.is_generic and not is_of_a_fold:
            yield TrainedModel(path.parent, _SEED.sub("", path.parent.parent.name), name, seed)


def measure_all(
    folder: Path, study: StudyFolder, test: str = DEV, *, out_of_fold: bool = False
) -> list[dict[str, Any]]:
    """A line for every model, measured now or before."""
    file = folder / MEASURED
    known = {run["key"]: run for run in read_runs(file)}
    runs = []
    for trained in models_in(folder):
        key = f"{trained.key} {test}" + (" out of fold" if out_of_fold else "")
        if key not in known:
            scorer = trained.scorer(out_of_fold=out_of_fold)
            store = str(study.store(trained.recognizer, test))
            about = {"recognizer": trained.recognizer, "variant": trained.way, "seed": trained.seed, "key": key}
            known[key] = about | measure(scorer.confidence, scorer.networks(store))
            keep_run(file, known[key])
        runs.append(known[key])
    return runs


def main(arguments: list[str] | None = None) -> int:
    """Run; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("study", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="The table, as Markdown.")
    parser.add_argument("--out-of-fold", action="store_true", help="Score speakers by models without their fold.")
    given = parser.parse_args(arguments)
    try:
        runs = measure_all(given.folder, StudyFolder(given.study), out_of_fold=given.out_of_fold)
    except WordtrustError as error:
        sys.stderr.write(f"wordtrust: {error}\n")
        return 1
    with atomic_text(given.out) as file:
        file.write(runs_markdown(runs, "Ways of training"))
    sys.stdout.write(json.dumps({"models": len(runs), "table": str(given.out)}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

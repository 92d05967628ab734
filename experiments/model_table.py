"""Models that were trained in several ways, measured on dev: mean and standard deviation over their seeds.

    python -m experiments.model_table FOLDER STUDY --out TABLE.md

FOLDER has models as `python -m wordtrust.training` leaves them, WAY/NAME-SEED or WAY-SEED/NAME: a row for each way, a
table for each recognizer. Networks are those of STUDY/work/NAME/dev. What was measured is kept in
FOLDER/measured.jsonl and not measured again. docs/results.md has the commands that train the models.
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
from wordtrust.confidence.config import GENERIC
from wordtrust.confidence.model_file import MODEL_JSON, checksum, load_model
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.formats import stream
from wordtrust.study.layout import DEV, StudyFolder

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


def models_in(folder: Path) -> Iterator[TrainedModel]:
    """All models of recognizers, by the names of their folders; the way of training is that of the outer one."""
    for path in sorted(folder.glob(f"*/*/{MODEL_JSON}")):
        model = load_model(path.parent)
        seed = int(model.card.training.options.get("seed", 0))
        name = path.parent.name.removesuffix(f"-{seed}")  # names of recognizers may end in numbers as well
        if name != GENERIC and not model.is_generic:
            yield TrainedModel(path.parent, _SEED.sub("", path.parent.parent.name), name, seed)


def measure_all(folder: Path, study: StudyFolder, test: str = DEV) -> list[dict[str, Any]]:
    """A line for every model, measured now or before."""
    file = folder / MEASURED
    known = {run["key"]: run for run in read_runs(file)}
    runs = []
    for trained in models_in(folder):
        key = f"{trained.key} {test}"
        if key not in known:
            scorer = WordScorer(load_model(trained.folder))
            store = stream(str(study.store(trained.recognizer, test)))
            about = {"recognizer": trained.recognizer, "variant": trained.way, "seed": trained.seed, "key": key}
            known[key] = about | measure(scorer.confidence, map(scorer.networks, store))
            keep_run(file, known[key])
        runs.append(known[key])
    return runs


def main(arguments: list[str] | None = None) -> int:
    """Run; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("study", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="The table, as Markdown.")
    given = parser.parse_args(arguments)
    try:
        runs = measure_all(given.folder, StudyFolder(given.study))
    except WordtrustError as error:
        sys.stderr.write(f"wordtrust: {error}\n")
        return 1
    with atomic_text(given.out) as file:
        file.write(runs_markdown(runs, "Ways of training"))
    sys.stdout.write(json.dumps({"models": len(runs), "table": str(given.out)}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The generic model on recognizers of families that it never saw, beside their posteriors: a table as Markdown.

    python -m tools.recognizer_variants DATA --study STUDY --out VARIANTS
    python -m experiments.generic_families STUDY VARIANTS --models TRAINED --options "--device cuda"

A family is the first part of a recognizer's name: kaldi, whisper, moonshine. For each, TRAINED/without-FAMILY is
trained on the packs of all others, unless it is there (`python -m wordtrust.training` with `--options`). Its generic
model is calibrated on their dev networks, varied as in training, and measured on the dev networks of the recognizers
that were left out, at their tuned scales (STUDY/work/NAME/dev).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from wordtrust.confidence.adapt import adapt
from wordtrust.confidence.calibrate_model import calibrate_generic
from wordtrust.confidence.calibration import make
from wordtrust.confidence.config import GENERIC
from wordtrust.confidence.evaluate_model import arc_confidences
from wordtrust.confidence.model_file import load_model
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.evaluation.evaluation import evaluate_networks
from wordtrust.formats import stream

# Without word vectors: what words mean to the recognizers of the training misleads about others.
TRAINING = ("--together", "--identity-drop", "1", "--evidence-drop", "0.4", "--embedding", "none")
HEADER = (
    "| left out | recognizer | WER: tuned | generic | NCE 1-best: posterior | calibrated posterior | generic "
    "| ECE: generic | AUC: posterior | generic |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def family_of(name: str) -> str:
    """The family of a recognizer."""
    return name.partition("-")[0]


@dataclass(frozen=True)
class Families:
    """Networks and packs of recognizers, and models that lack a family each."""

    study: Path
    variants: Path
    models: Path

    @property
    def names(self) -> list[str]:
        """The recognizers that there are packs of."""
        return sorted(path.stem for path in self.variants.glob("*.pack"))

    def train(self, family: str, options: Sequence[str]) -> None:
        """Train without a family, unless that was done."""
        out = self.models / f"without-{family}"
        if (out / GENERIC).is_dir():
            return
        packs = [str(self.variants / f"{name}.pack") for name in self.names if family_of(name) != family]
        command = [sys.executable, "-m", "wordtrust.training", *packs, *TRAINING, *options, "--out", str(out)]
        subprocess.run(command, check=True)  # ourselves

    def scorer(self, family: str) -> WordScorer:
        """The generic model without a family, calibrated on the others."""
        model = load_model(self.models / f"without-{family}" / GENERIC)
        others = [str(self.variants / name / "dev") for name in self.names if family_of(name) != family]
        return WordScorer(calibrate_generic(model, [[other] for other in others]).model, allow_mismatch=True)

    def rows(self, family: str) -> Iterator[str]:
        """A row for each recognizer of a family that was left out."""
        scorer = self.scorer(family)
        for name in self.names:
            if family_of(name) == family:
                yield f"| {family} | {name} | {' | '.join(self._cells(name, scorer))} |"

    def _cells(self, name: str, scorer: WordScorer) -> list[str]:
        train, dev = (self.study / "work" / name / split for split in ("train", "dev"))
        own = WordScorer(adapt(scorer.model, stream([str(dev)])), allow_mismatch=True).with_choice(scorer.choice)
        measured = evaluate_networks(stream([str(dev)]), partial(arc_confidences, own), own.choice.paths)
        known = evaluate_networks(stream([str(train)])).scores["one_best", "posterior"]
        posterior, generic = measured.scores["one_best", "posterior"], measured.scores["one_best", "calibrated"]
        calibrator = make("kernel").fit(known.score, known.correct, groups=known.speaker)
        calibrated = replace(posterior, score=calibrator.predict(posterior.score))
        rates = measured.to_dict()["wer"]
        metrics = [scores.metrics() for scores in (posterior, calibrated, generic)]
        return [
            f"{100 * rates['tuned_one_best']:.2f}",
            f"{100 * rates['best_confidence']:.2f}",
            *(f"{one.nce:.3f}" for one in metrics),
            f"{metrics[2].ece:.3f}",
            *(f"{one.auc:.3f}" for one in (metrics[0], metrics[2])),
        ]


def main() -> None:
    """Train what is not there yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path)
    parser.add_argument("variants", type=Path)
    parser.add_argument("--models", type=Path, required=True, help="folder of trained models")
    parser.add_argument("--options", default="", help="of the training, in one string")
    given = parser.parse_args()
    families = Families(given.study, given.variants, given.models)
    print(HEADER, flush=True)
    for family in sorted({family_of(name) for name in families.names}):
        families.train(family, given.options.split())
        for row in families.rows(family):
            print(row, flush=True)


if __name__ == "__main__":
    main()

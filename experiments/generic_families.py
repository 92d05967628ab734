"""The generic model on recognizers of families that it never saw, beside their posteriors: a table as Markdown.

    python -m tools.recognizer_variants DATA --study STUDY --out VARIANTS
    python -m experiments.generic_families STUDY VARIANTS --models TRAINED --options "--device cuda" --json FILE

A family is the first part of a recognizer's name: kaldi, whisper, moonshine. For each, TRAINED/without-FAMILY is
trained on the packs of all others, unless it is there (`python -m wordtrust.training` with `--options`). Its generic
model gets trees and a calibration of the others as well (`tools.generic_model`), and is measured on the dev networks
of the recognizers that were left out, at their tuned scales (STUDY/work/NAME/dev). The calibrated posterior beside
it knows them: it was calibrated on their own training data.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tools.generic_model import finished, recognizers_in

from wordtrust.confidence.adapt import adapt
from wordtrust.confidence.calibration import make
from wordtrust.confidence.config import GENERIC
from wordtrust.confidence.evaluate_model import arc_confidences
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.evaluation.evaluation import Evaluation, evaluate_networks
from wordtrust.evaluation.metrics import ScoreMetrics
from wordtrust.formats import stream
from wordtrust.study.steps import write_json

# Without word vectors: what words mean to the recognizers of the training misleads about others.
TRAINING = (
    "--together", "--head", "independent", "--identity-drop", "1", "--evidence-drop", "0.4", "--embedding", "none",
    "--drop", "0.2", "--rate", "3e-3", "--average", "0.998", "--state", "96", "--epochs", "40",
)  # fmt: skip
HEADER = (
    "| left out | recognizer | WER: 1-best | tuned | generic | NCE 1-best: posterior | calibrated posterior "
    "| generic | ECE: generic | AUC: posterior | generic |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def family_of(name: str) -> str:
    """The family of a recognizer."""
    return name.partition("-")[0]


@dataclass(frozen=True)
class Unseen:
    """A recognizer that the model never saw: what was measured of both."""

    name: str
    wer: dict[str, float]  # of the 1-best, tuned, and of the words that the model chose
    posterior: ScoreMetrics  # over words of the 1-best, as the others
    calibrated_posterior: ScoreMetrics
    generic: ScoreMetrics

    @classmethod
    def of(cls, name: str, measured: Evaluation, known: Evaluation) -> Unseen:
        """From networks scored by the model, and from those of the same recognizer that its posterior learns from."""
        learned = known.scores["one_best", "posterior"]
        posterior, generic = measured.scores["one_best", "posterior"], measured.scores["one_best", "calibrated"]
        calibrator = make("kernel").fit(learned.score, learned.correct, groups=learned.speaker)
        calibrated = replace(posterior, score=calibrator.predict(posterior.score))
        wer = measured.to_dict()["wer"]
        return cls(name, wer, *(scores.metrics() for scores in (posterior, calibrated, generic)))

    def to_json(self) -> dict[str, float]:
        """As the card of a model has it."""
        of_words = {name: float(getattr(self.generic, name)) for name in ("eer", "nce", "ece")}
        return of_words | {"wer": self.wer["best_confidence"], "tuned": self.wer["tuned_one_best"]}

    def __str__(self) -> str:
        rates = [f"{100 * self.wer[name]:.2f}" for name in ("one_best", "tuned_one_best", "best_confidence")]
        measures = [f"{one.nce:.3f}" for one in (self.posterior, self.calibrated_posterior, self.generic)]
        measures += [f"{self.generic.ece:.3f}", f"{self.posterior.auc:.3f}", f"{self.generic.auc:.3f}"]
        return f"| {family_of(self.name)} | {self.name} | {' | '.join([*rates, *measures])} |"


@dataclass(frozen=True)
class Families:
    """Networks and packs of recognizers, and models that lack a family each."""

    study: Path
    variants: Path
    models: Path
    only_trained_on: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        """The recognizers that there are packs of."""
        return recognizers_in(self.variants)

    def train(self, family: str, options: Sequence[str]) -> None:
        """Train without a family, unless that was done."""
        out = self.models / f"without-{family}"
        if (out / GENERIC).is_dir():
            return
        packs = [str(self.variants / f"{name}.pack") for name in self._others(family)]
        command = [sys.executable, "-m", "wordtrust.training", *packs, *TRAINING, *options, "--out", str(out)]
        subprocess.run(command, check=True)  # ourselves

    def _others(self, family: str) -> list[str]:
        return [name for name in self.names if family_of(name) != family]

    def scorer(self, family: str) -> WordScorer:
        """The generic model without a family, with trees and calibrated on the others."""
        trained = self.models / f"without-{family}" / GENERIC
        made = finished(trained, self.variants, self._others(family), self.only_trained_on)
        return WordScorer(made.model, allow_mismatch=True)

    def measured(self, family: str) -> Iterator[Unseen]:
        """Each recognizer of a family that was left out, where the study has it."""
        scorer = self.scorer(family)
        print(f"without {family}: words by {scorer.choice}", file=sys.stderr, flush=True)
        for name in self.names:
            if family_of(name) == family and (self.study / "work" / name / "dev").is_dir():
                yield self._unseen(name, scorer)

    def _unseen(self, name: str, scorer: WordScorer) -> Unseen:
        train, dev = (str(self.study / "work" / name / split) for split in ("train", "dev"))
        own = WordScorer(adapt(scorer.model, stream([dev])), allow_mismatch=True).with_choice(scorer.choice)
        scored = evaluate_networks(stream([dev]), partial(arc_confidences, own), own.choice.paths)
        return Unseen.of(name, scored, evaluate_networks(stream([train])))


def main() -> None:
    """Train what is not there yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path)
    parser.add_argument("variants", type=Path)
    parser.add_argument("--models", type=Path, required=True, help="folder of trained models")
    parser.add_argument("--options", default="", help="of the training, in one string")
    parser.add_argument("--families", type=lambda text: text.split(","), help="to leave out [all of the study]")
    parser.add_argument("--only-trained-on", type=lambda text: text.split(","), default=[], metavar="NAMES",
                        help="recognizers of degraded speech: these are not calibrated on")  # fmt: skip
    parser.add_argument("--json", type=Path, help="a file for what cards say of unseen recognizers")
    given = parser.parse_args()
    families = Families(given.study, given.variants, given.models, given.only_trained_on)
    print(HEADER, flush=True)
    unseen = {}
    for family in given.families or sorted({family_of(name) for name in families.names}):
        families.train(family, given.options.split())
        for measured in families.measured(family):
            unseen[measured.name] = measured.to_json()
            print(measured, flush=True)
    if given.json is not None:
        write_json(given.json, unseen)


if __name__ == "__main__":
    main()

"""What a language model adds where models were not fitted with one, and what it costs: two tables, as Markdown.

    python -m experiments.language_model LM --earnings EARNINGS21 --data DATA

LM is what `wordtrust build --lm` takes. What it adds to models fitted with it, `wordtrust study --lm` tells.

- Earnings calls of 2020 (the folder of Earnings-21): five systems' outputs of a stretch of speech are an N-best list
  whose posteriors are the shares of the systems. Confidences come from logistic regressions over the posterior and
  the first system's choice, and with the language model also over its three columns. The way to choose words is the
  one that makes the fewest errors. Both are cross-validated by call.
- Costs, on networks of the development split of DATA (laid out like the data of `wordtrust study`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray

import wordtrust as wt
from experiments.earnings_calls import call_networks
from wordtrust.base.folds import balanced_folds
from wordtrust.base.table import Table
from wordtrust.confidence.calibration.base import sigmoid
from wordtrust.confidence.calibration.parametric import fit_logistic
from wordtrust.confidence.choice import Choice
from wordtrust.confidence.features import clipped_logit
from wordtrust.language_models.best_sentences import BestSentences
from wordtrust.language_models.evidence import COLUMNS, LanguageEvidence, load_evidence
from wordtrust.lattices.lattice import Lattices
from wordtrust.networks.labels import label_arcs, score_paths
from wordtrust.networks.reference_words import ReferenceWords

Reals = NDArray[np.float64]
RECOGNIZERS = ("kaldi-small-2020", "whisper-base")
FOLDS, RESAMPLES, RIDGE = 5, 1000, 1.0
K_BEST = (4, 8, 16)


@dataclass(frozen=True)
class Material:
    """Networks whose words are known."""

    name: str
    networks: Lattices
    words: ReferenceWords
    speakers: list[str]

    @property
    def folds(self) -> NDArray[np.int64]:
        """[utterances] speakers are together."""
        return balanced_folds(len(self.networks), self.speakers, FOLDS)


def of_calls(folder: Path, most: int) -> Material:
    """Stretches of earnings calls, five systems' outputs each."""
    networks, spoken, calls = call_networks(folder, most)
    return Material("Earnings-21, five systems", networks, ReferenceWords.of(spoken, networks), calls)


@dataclass(frozen=True)
class Sums:
    """Of each speaker: words, right ones, log-likelihood by the confidences; and errors of the chosen words."""

    words: Reals
    right: Reals
    likelihood: Reals
    errors: Reals
    spoken: Reals

    def nce(self, weight: Reals) -> float:
        """Normalised cross entropy, speakers counted so often."""
        words, right = weight @ self.words, weight @ self.right
        share = right / words
        entropy = -(share * np.log(share) + (1 - share) * np.log(1 - share))
        return float(1 + (weight @ self.likelihood) / words / entropy)

    def wer(self, weight: Reals) -> float:
        """Word error rate, likewise, in percent."""
        return float(100 * (weight @ self.errors) / (weight @ self.spoken))


def stacked(material: Material, columns: Reals, chosen: NDArray[np.bool_], right: NDArray[np.bool_]) -> Reals:
    """[arcs] confidences by a logistic regression over the columns, of speakers that it was not fitted on."""
    fold = material.folds[material.networks.utterance_of_arc]
    mean, std = columns[chosen].mean(0), np.maximum(columns[chosen].std(0), 1e-6)
    features = np.column_stack([(columns - mean) / std, np.ones(len(columns))])
    penalty = np.array([RIDGE] * columns.shape[1] + [0.0])
    confidence = np.zeros(len(columns))
    for number in range(FOLDS):
        fitted = chosen & (fold != number)
        weights = fit_logistic(np.ascontiguousarray(features[fitted]), right[fitted], penalty)
        confidence[fold == number] = sigmoid(features[fold == number] @ weights)
    return confidence


def errors_of(material: Material, confidence: Reals) -> Reals:
    """[utterances] errors of the words that are chosen in the way that makes the fewest with other speakers."""
    networks = material.networks
    assert networks.posterior is not None
    kept = np.where(networks.word > 0, confidence, networks.posterior).astype(np.float32)
    ways = [choice.paths(networks, kept) for choice in Choice.all()]
    errors = np.array([score_paths(networks, paths, material.words).alignments.errors for paths in ways])
    best = [errors[:, material.folds != fold].sum(axis=1).argmin() for fold in range(FOLDS)]
    chosen: Reals = errors[np.array(best)[material.folds], np.arange(len(networks))].astype(np.float64)
    return chosen


def sums(material: Material, columns: Reals) -> tuple[Sums, Sums]:
    """Of all arcs and of the words of the 1-best, each by a regression of its own."""
    networks = material.networks
    assert networks.picked is not None
    label = label_arcs(networks, material.words, "oracle")
    right, is_word = label == 1, (label >= 0) & (networks.word > 0)
    index = {speaker: number for number, speaker in enumerate(dict.fromkeys(material.speakers))}
    speaker_of = np.array([index[speaker] for speaker in material.speakers])
    results = []
    for chosen in (is_word, is_word & networks.picked):
        confidence = stacked(material, columns, chosen, right)
        probability = np.clip(np.where(right, confidence, 1 - confidence), 1e-6, 1)
        by = speaker_of[networks.utterance_of_arc][chosen]
        columns_of = (np.ones(len(by)), right[chosen], np.log(probability[chosen]))
        words, correct, likelihood = (np.bincount(by, part, len(index)).astype(np.float64) for part in columns_of)
        utterances = (errors_of(material, confidence), np.diff(material.words.offsets))
        errors, spoken = (np.bincount(speaker_of, part, len(index)).astype(np.float64) for part in utterances)
        results.append(Sums(words, correct, likelihood, errors, spoken))
    return results[0], results[1]


def row(material: Material, evidence: LanguageEvidence) -> tuple[str, ...]:
    """The figures of one material: without, with, and the interval of the difference over resampled speakers."""
    networks = evidence(material.networks)
    assert networks.posterior is not None
    assert networks.picked is not None
    base = [clipped_logit(networks.posterior), networks.picked.astype(float)]
    own = np.column_stack([*base, *(networks.extra[name].astype(float) for name in COLUMNS)])
    before, after = sums(material, np.column_stack(base)), sums(material, own)
    counts = np.random.default_rng(0).multinomial(
        len(before[0].words), np.full(len(before[0].words), 1 / len(before[0].words)), RESAMPLES
    ).astype(float)  # fmt: skip
    cells = [material.name, f"{len(networks):,}"]
    for measure, which, digits in (("wer", 0, 2), ("nce", 0, 3), ("nce", 1, 3)):
        one, other = (getattr(part[which], measure) for part in (before, after))
        whole = np.ones(counts.shape[1])
        low, high = np.quantile([other(weight) - one(weight) for weight in counts], [0.025, 0.975])
        cells += [
            f"{one(whole):.{digits}f}",
            f"{other(whole):.{digits}f}",
            f"{low:+.{digits}f} to {high:+.{digits}f}",
        ]
    return tuple(cells)


def costs(data: Path, evidence: LanguageEvidence, most: int = 16) -> Iterator[tuple[str, ...]]:
    """Utterances a second of a core, by the number of paths."""
    for name in RECOGNIZERS:
        lattices = wt.read(sorted((data / name).glob("dev.*")))
        chosen = np.linspace(0, len(lattices) - 1, most).round().astype(int)
        networks = wt.load(name).networks(lattices[chosen])
        for k in K_BEST:
            began = process_time()
            LanguageEvidence(evidence.model, k)(networks)
            seconds = process_time() - began
            best = BestSentences.of(networks, k, surfaces=evidence.model.reads_surfaces)
            covered = np.isin(np.flatnonzero(networks.word > 0), best.arc).mean()
            yield name, str(k), f"{len(networks) / seconds:.2f}", f"{100 * covered:.0f}%"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lm", help="An ARPA file, a .gguf file, a folder or a name on the hub.")
    parser.add_argument("--data", type=Path, help="Recognizers with a dev split.")
    parser.add_argument("--earnings", type=Path, help="The folder of Earnings-21.")
    parser.add_argument("--stretches", type=int, default=160, help="Of the calls.")
    given = parser.parse_args()
    evidence = load_evidence(given.lm, device="cpu", threads=1)
    if given.earnings:
        header = ("", "stretches", "WER", "with", "difference", "NCE all arcs", "with", "difference",
                  "NCE 1-best", "with", "difference")  # fmt: skip
        cells = row(of_calls(given.earnings, given.stretches), evidence)
        print(Table("What a language model adds to calls", header, (cells,)).to_markdown(), flush=True)
    if given.data:
        columns = ("recognizer", "paths", "utterances a second", "word arcs on them")
        print(Table("What it costs", columns, tuple(costs(given.data, evidence))).to_markdown())


if __name__ == "__main__":
    main()

"""What a joint network knows about outputs of any subset of recognizers: missing words, whole utterances, errors.

    python -m experiments.joint_outputs STUDY [--networks PLAIN] [--joint JOINT] [--split eval] [--each 4]

STUDY is a study's folder with its models, those of their folds, and a combination (models/joint, or JOINT); PLAIN the
study whose networks the combination was fitted on, if that is another one. Without --split: train and dev, everybody
decoded by weights, gap models and estimators that were fitted without them. With --split: the networks of that split,
by the combination as it is. A line for each size of subsets: the mean over `--each` of them, drawn at random.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from wordtrust.base.errors import WordtrustError
from wordtrust.base.table import Table
from wordtrust.combination.combination_file import FittedCombination
from wordtrust.combination.joint import JointDecoding, JointHypotheses, JointModel
from wordtrust.combination.joint.fit import speaker_folds
from wordtrust.combination.joint.model import Members
from wordtrust.confidence.estimation.error_estimator import ErrorEstimator
from wordtrust.confidence.estimation.held_out import KnownOfOutputs
from wordtrust.confidence.word_scorer import load
from wordtrust.evaluation.metrics import Scores
from wordtrust.evaluation.output_words import OutputWords
from wordtrust.networks.build_store import REFERENCE, SPEAKER, noted_references
from wordtrust.networks.gaps import missing_words
from wordtrust.networks.labels import score_paths
from wordtrust.study.combination import systems_on
from wordtrust.study.estimation import estimation_record

COLUMNS = (
    "recognizers", "gaps: AUC", "NCE", "ECE", "missing in %", "whole utterances: AUC", "ECE", "right %", "WER %",
    "estimate off", "correlation", "RMSE", "speakers covered", "utterances covered",
)  # fmt: skip
NOTE = "Means over subsets of a size; 90% intervals. Off: how far the estimate of all speech is from its error rate."


@dataclass(frozen=True, eq=False)
class JudgedOutput:
    """One output beside its references."""

    gaps: Scores
    utterances: Scores
    words: OutputWords

    @classmethod
    def of(cls, decoded: JointDecoding) -> JudgedOutput:
        """Of networks that carry their references."""
        lattices = decoded.lattices
        spoken, speakers = noted_references(lattices), list(lattices.notes[SPEAKER])
        aligned = score_paths(lattices, decoded.paths, spoken).alignments
        shown = np.array([word.confidence for each in decoded.transcripts(alternatives=0) for word in each.words])
        words = OutputWords.of(shown, aligned, speakers, tuple(lattices.notes[REFERENCE]))
        assert decoded.missing is not None
        lacks = missing_words(aligned, spoken.offsets) > 0
        return cls(
            Scores.of(decoded.missing, lacks, speakers, words.offsets + np.arange(len(words.offsets))),
            Scores.of(decoded.correct, aligned.errors == 0, speakers),
            words.with_gaps(decoded.missing),
        )


@dataclass(frozen=True, eq=False)
class JudgedSubset:
    """A subset in every fold of the speakers, or in one part that nothing was fitted on."""

    members: Members
    folds: tuple[JudgedOutput, ...]

    def row(self, known: Sequence[KnownOfOutputs]) -> tuple[float, ...]:
        """Everything but the name, given what is known where each fold is estimated."""
        gaps, whole = (
            sum((getattr(fold, name) for fold in self.folds[1:]), getattr(self.folds[0], name))
            for name in ("gaps", "utterances")
        )
        words = OutputWords.joined([fold.words for fold in self.folds])
        assert words.counts is not None
        records = [
            estimation_record(*pair)["estimation"] for pair in zip(known, (f.words for f in self.folds), strict=True)
        ]
        kinds = ("substitutions", "deletions", "insertions")
        expected, true = np.array([[r["expected_and_true"][k] for k in kinds] for r in records]).sum(axis=(0, 1))
        weight = [len(fold.words) for fold in self.folds]

        def mean(level: str, measure: str) -> float:
            return float(np.average([record[level].get(measure, np.nan) for record in records], weights=weight))

        rate = words.counts[:, 1:].sum() / words.counts[:, :3].sum()
        of_gaps, of_whole = gaps.metrics(), whole.metrics()
        return (
            of_gaps.auc or np.nan, of_gaps.nce or np.nan, of_gaps.ece or np.nan, 100 * float(gaps.correct.mean()),
            of_whole.auc or np.nan, of_whole.ece or np.nan, 100 * float(whole.correct.mean()), 100 * float(rate),
            100 * float(expected / true - 1), mean("utterances", "correlation"), mean("utterances", "rmse"),
            mean("speakers", "coverage"), mean("utterances", "coverage"),
        )  # fmt: skip


def hypotheses_of(
    study: Path, plain: Path, splits: Sequence[str], names: Sequence[str], *, folds: bool
) -> JointHypotheses:
    """The recognizers' hypotheses on these splits, the best recognizer first; with folds, out of fold."""
    scorers = {name: load(study / "models" / name) for name in names}
    trained = study / "work" / "with-trees"
    left_out = {name: tuple(map(load, sorted(trained.glob(f"{name}-fold-*")))) for name in names} if folds else None
    stores = {name: tuple(str(plain / "work" / name / split) for split in splits) for name in names}
    return systems_on(scorers, stores, left_out).hypotheses()


def drawn_subsets(systems: int, each: int) -> list[Members]:
    """So many of every size, where there are that many."""
    chosen = list[Members]()
    for size in range(2, systems + 1):
        every = list(combinations(range(systems), size))
        chosen += sorted(random.Random(size).sample(every, min(each, len(every))))
    return chosen


def judged_out_of_fold(model: JointModel, systems: JointHypotheses, subsets: Iterable[Members]) -> list[JudgedSubset]:
    """Each fold of the speakers by its own weights."""
    folds = speaker_folds(systems, len(model.potential_models))
    own = [
        replace(model, potential_models=(one,), confidence_models=(two,), gap_models=(three,))
        for one, two, three in zip(model.potential_models, model.confidence_models, model.gap_models, strict=True)
    ]
    return [
        JudgedSubset(members, tuple(judged(*pair, members) for pair in zip(own, folds, strict=True)))
        for members in subsets
    ]


def judged(model: JointModel, systems: JointHypotheses, members: Members) -> JudgedOutput:
    """Some recognizers together."""
    return JudgedOutput.of(model.decode(systems.order(members), [model.names[member] for member in members]))


def without_fold(subsets: Sequence[JudgedSubset], fold: int) -> KnownOfOutputs:
    """An estimator of the other folds."""
    others = [output.words for each in subsets for number, output in enumerate(each.folds) if number != fold]
    return KnownOfOutputs(ErrorEstimator.fit(OutputWords.joined(others)))


def table_of(title: str, subsets: Sequence[JudgedSubset], known: Sequence[KnownOfOutputs]) -> Table:
    """A line for each size, and one for all."""
    sizes, values = [len(each.members) for each in subsets], np.array([each.row(known) for each in subsets])
    lines = [(f"{size} ({sizes.count(size)})", values[np.array(sizes) == size]) for size in sorted(set(sizes))]
    formats = (
        "{:.3f}",
        "{:.3f}",
        "{:.4f}",
        "{:.2f}",
        "{:.3f}",
        "{:.3f}",
        "{:.1f}",
        "{:.2f}",
        "{:+.1f}%",
        *["{:.3f}"] * 4,
    )
    rows = tuple(
        (name, *(form.format(value) for form, value in zip(formats, part.mean(axis=0), strict=True)))
        for name, part in [*lines, ("all", values)]
    )
    return Table(title, COLUMNS, rows, NOTE)


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path)
    parser.add_argument("--networks", type=Path)
    parser.add_argument("--joint", type=Path)
    parser.add_argument("--split")
    parser.add_argument("--each", type=int, default=4)
    chosen = parser.parse_args(given)
    model = FittedCombination.load(chosen.joint or chosen.study / "models" / "joint").joint
    if model is None or not model.gap_models:
        raise SystemExit("this combination has no joint network that tells of gaps")
    plain, subsets = chosen.networks or chosen.study, drawn_subsets(len(model.names), chosen.each)
    splits = (chosen.split,) if chosen.split else ("train", "dev")
    systems = hypotheses_of(chosen.study, plain, splits, model.names, folds=not chosen.split)
    if chosen.split:
        outputs = [JudgedSubset(members, (judged(model, systems, members),)) for members in subsets]
        known = [model.known]
    else:
        outputs = judged_out_of_fold(model, systems, subsets)
        known = [without_fold(outputs, fold) for fold in range(len(model.potential_models))]
    print(table_of(chosen.split or "train and dev, out of fold", outputs, known).to_markdown())


if __name__ == "__main__":
    try:
        main()
    except WordtrustError as error:
        sys.exit(f"experiments.joint_outputs: {error}")

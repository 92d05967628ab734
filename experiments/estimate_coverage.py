"""Are estimated error rates right for speakers that nobody has seen, also in noise?

    python -m experiments.estimate_coverage STUDY --recognizers NAME ... [--conditions REFS.tsv ...] [--leave-out]

STUDY is a study's folder with its trained models, those of their folds and networks of train and dev. Every word is
scored by the model that did not see its speaker. The calibration and the estimator are fitted on four fifths of the
speakers and tried on the others, in turn. REFS.tsv are tables with the columns utt and condition (those of
`python -m tools.degraded_speech`): a row for each condition, and one for what is in none of them. With --leave-out,
utterances of a condition are tried on estimators that were fitted without this condition.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordtrust import stream
from wordtrust.base.folds import balanced_folds
from wordtrust.base.table import Table
from wordtrust.confidence.calibrate_model import fit_calibration, held_out_scores
from wordtrust.confidence.calibration import Calibrator, make
from wordtrust.confidence.estimation.accepted import held_out_calibration
from wordtrust.confidence.estimation.error_estimator import ErrorEstimator
from wordtrust.confidence.estimation.held_out import KnownOfOutputs
from wordtrust.confidence.word_scorer import load
from wordtrust.evaluation.evaluation import CONFIDENCE, GAPS
from wordtrust.evaluation.output_words import OutputWords
from wordtrust.study.estimation import estimation_record

PARTS = 5  # of the speakers
AS_RECORDED, DEGRADED = "as recorded", "any of these"
CALIBRATOR = "kernel"
Record = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class HeldOutOutput:
    """The words of one recognizer, scored out of fold, and the condition of each utterance."""

    words: OutputWords
    condition: tuple[str, ...]

    @classmethod
    def of(cls, study: Path, name: str, conditions: Mapping[str, str]) -> HeldOutOutput:
        """Score the networks of train and dev."""
        work = study / "work"
        trained = work / ("with-trees" if (work / "with-trees" / name).is_dir() else "trained")
        stores = tuple(str(work / name / split) for split in ("train", "dev"))
        folds = [load(folder) for folder in sorted(trained.glob(f"{name}-fold-*"))]
        scored = held_out_scores(load(trained / name), stores, fold_scorers=folds).evaluation
        words, gaps = scored.output, scored.beyond_words.get((GAPS, CONFIDENCE))
        assert words is not None
        if gaps is not None:
            calibrator = fit_calibration(scored, "platt").parts["gaps"]
            words = words.with_gaps(calibrator.predict(np.clip(gaps.score.astype(np.float64), 0.0, 1.0)))
        utts = [utt for batch in stream(list(stores)) for utt in batch.utts]
        return cls(words, tuple(conditions.get(utt, AS_RECORDED) for utt in utts))

    @cached_property
    def part(self) -> NDArray[np.int64]:
        """[utterances] the part of the speakers that each belongs to."""
        names, speaker = np.unique(np.array(self.words.speakers), return_inverse=True)
        return np.asarray(balanced_folds(len(names), np.arange(len(names)), PARTS)[speaker], np.int64)

    def own(self, condition: str | None) -> NDArray[np.bool_]:
        """[utterances] which are of a condition, of any but as recorded, or (None) all."""
        wanted = {condition} if condition != DEGRADED else set(self.condition) - {AS_RECORDED}
        return np.array([condition is None or each in wanted for each in self.condition])

    @cache  # noqa: B019  # a few, as long as the program runs
    def fitted(self, part: int, without: str | None) -> tuple[Calibrator, ErrorEstimator]:
        """Calibration and estimator of the other parts, without a condition."""
        known = self.words.some((self.part != part) & np.array([each != without for each in self.condition]))
        held_out = held_out_calibration(known, CALIBRATOR)
        assert held_out is not None
        assert known.correct is not None
        curve = make(CALIBRATOR).fit(known.confidence, known.correct, groups=known.scores.speaker)
        return curve, ErrorEstimator.fit(held_out)

    def tried(self, condition: str | None, *, leave_out: bool) -> Iterator[tuple[int, Record]]:
        """What estimates are worth on each part of the speakers, and how many these are."""
        own = self.own(condition)
        for part in range(PARTS):
            new = self.words.some(own & (self.part == part))
            if not len(new):
                continue
            curve, estimator = self.fitted(
                part, condition if leave_out and condition not in (AS_RECORDED, DEGRADED) else None
            )
            shown = new.with_confidence(np.asarray(curve.predict(new.confidence), np.float64))
            yield len(set(new.speakers)), estimation_record(KnownOfOutputs(estimator), shown)["estimation"]

    def row(self, condition: str | None, *, leave_out: bool) -> tuple[str, ...]:
        """One line of the table; None is everything together."""
        speakers, records = zip(*self.tried(condition, leave_out=leave_out), strict=True)
        assert self.words.counts is not None
        counts = self.words.counts[self.own(condition)].sum(axis=0)

        def mean(level: str, measure: str) -> str:
            values = [record[level].get(measure, np.nan) for record in records]
            return f"{np.average(values, weights=speakers):.3f}"

        def total(*kinds: str) -> tuple[float, float]:
            """Expected and true."""
            pairs = [record["expected_and_true"][kind] for record in records for kind in kinds]
            return sum(expected for expected, _ in pairs), sum(true for _, true in pairs)

        errors, deletions = total("substitutions", "deletions", "insertions"), total("deletions")
        rates = (f"{100 * counts[1:].sum() / counts[:3].sum():.1f}", f"{100 * (errors[0] / errors[1] - 1):+.1f}%")
        measured = (mean("utterances", "correlation"), mean("utterances", "rmse"))
        covered = (mean("speakers", "coverage"), mean("utterances", "coverage"))
        missing = f"{deletions[0]:,.0f} of {deletions[1]:,.0f}"
        return condition or "all", f"{sum(speakers):,}", *rates, missing, *measured, *covered


COLUMNS = (
    "speech", "speakers", "WER %", "estimate off", "missing words", "correlation", "RMSE", "speakers covered",
    "utterances covered",
)  # fmt: skip
NOTE = "90% intervals; fifths of the speakers left out in turn. Missing words: expected, of those that are."


def read_conditions(files: Iterable[Path]) -> dict[str, str]:
    """The condition of each utterance of these tables."""
    rows: dict[str, str] = {}
    for file in files:
        with file.open(encoding="utf-8", newline="") as opened:
            rows |= {row["utt"]: row["condition"] for row in csv.DictReader(opened, delimiter="\t")}
    return rows


def main(given: Sequence[str] | None = None) -> None:
    """Print a table for each recognizer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path)
    parser.add_argument("--recognizers", nargs="+", required=True)
    parser.add_argument("--conditions", type=Path, nargs="*", default=[])
    parser.add_argument("--leave-out", action="store_true")
    arguments = parser.parse_args(given)
    conditions = read_conditions(arguments.conditions)
    for name in arguments.recognizers:
        output = HeldOutOutput.of(arguments.study, name, conditions)
        kinds = sorted(set(output.condition) - {AS_RECORDED})
        listed = [AS_RECORDED, *kinds, *([DEGRADED, None] if kinds else [])]
        rows = tuple(output.row(kind, leave_out=arguments.leave_out) for kind in listed)
        print(Table(name, COLUMNS, rows, NOTE).to_markdown(), flush=True)


if __name__ == "__main__":
    main()

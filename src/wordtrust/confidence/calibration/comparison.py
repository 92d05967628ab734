"""All calibrators side by side, measured on words that they were not fitted on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import OptionError
from ...base.folds import balanced_folds
from ...evaluation.metrics import Interval, Scores, intervals
from ...lattices.lattice import Flags
from .base import BadScores, Calibrator, Groups, Reals, check_labels, check_scores, sigmoid
from .registry import make, names

UNCALIBRATED = "uncalibrated"
MEASURES = ("nce", "ece", "brier")


@dataclass(frozen=True, slots=True)
class Comparison:
    """NCE, ECE and Brier score of every calibrator on words that it was not fitted on."""

    words: int
    groups: int | None  # None where none were given: then there are no intervals either
    folds: int
    rows: dict[str, dict[str, Interval]]  # by calibrator, `uncalibrated` first; then by measure

    @property
    def best(self) -> str:
        """The calibrator with the largest NCE (the smallest Brier score where NCE is undefined)."""
        return max(self.rows, key=lambda name: self._rank(self.rows[name]))

    @staticmethod
    def _rank(row: dict[str, Interval]) -> float:
        nce, brier = row["nce"].value, row["brier"].value
        return -(brier or 0.0) if nce is None else nce

    def to_dict(self) -> dict[str, Any]:
        """For JSON; what is undefined is left out."""
        rows = {name: {measure: _plain(row[measure]) for measure in MEASURES} for name, row in self.rows.items()}
        record: dict[str, Any] = {"words": self.words, "folds": self.folds, "calibrators": rows}
        return record if self.groups is None else record | {"groups": self.groups}

    def __str__(self) -> str:
        lines = [["", "NCE", "ECE", "Brier"]]
        lines += [[name, *(_shown(row[measure]) for measure in MEASURES)] for name, row in self.rows.items()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rows = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
        return "\n".join(row.rstrip() for row in rows)


def compare(
    scores: ArrayLike,
    correct: ArrayLike,
    groups: Groups = None,
    *,
    folds: int = 5,
    calibrators: Iterable[str] | Mapping[str, Calibrator] | None = None,
    domain: str = "probability",
    replicates: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Fit every calibrator on all folds but one, apply it to that one, and measure all folds together.

    `groups` are speakers (or calls, documents): a fold holds all words of each, and intervals resample them. Without
    groups there are no intervals. `calibrators` are names (all where None), or calibrators of your own by any name.
    """
    given, labels = check_scores(scores, domain), check_labels(correct)
    if len(given) != len(labels) or (groups is not None and len(groups) != len(given)):
        raise BadScores(f"{len(given):,} scores do not fit their labels or groups", remedy="Give one for every word")
    fold = _folds(len(given), groups, folds, seed)
    held_out = {UNCALIBRATED: given if domain == "probability" else sigmoid(given)}
    for name, calibrator in _chosen(calibrators, domain).items():
        held_out[name] = _out_of_fold(calibrator, given, labels, groups, fold)
    speakers = None if groups is None else list(map(str, groups))
    rows = {}
    for name, probability in held_out.items():
        measured = intervals(Scores.of(probability, labels, speakers), replicates=replicates, seed=seed)
        rows[name] = {measure: measured[measure] for measure in MEASURES}
    return Comparison(len(given), None if speakers is None else len(set(speakers)), int(fold.max()) + 1, rows)


def _folds(words: int, groups: Groups, folds: int, seed: int) -> NDArray[np.int64]:
    if folds < 2:
        raise OptionError(f"folds is {folds}; held-out data takes at least 2")
    fold = balanced_folds(words, groups, folds, seed)
    if not fold.any():
        raise BadScores(
            f"{words:,} words of one group cannot be split into folds", remedy="Give words of at least two groups"
        )
    return fold


def _chosen(calibrators: Iterable[str] | Mapping[str, Calibrator] | None, domain: str) -> dict[str, Calibrator]:
    if isinstance(calibrators, Mapping):
        if UNCALIBRATED in calibrators or any(kind.domain != domain for kind in calibrators.values()):
            raise OptionError(f"a calibrator is named {UNCALIBRATED!r} or has another domain than {domain!r}")
        # Copies: the user's own stay as they are.
        return {name: make(kind.name, **kind.get_params()) for name, kind in calibrators.items()}
    return {name: make(name, domain=domain) for name in (names() if calibrators is None else calibrators)}


def _out_of_fold(
    calibrator: Calibrator, scores: Reals, correct: Flags, groups: Groups, fold: NDArray[np.int64]
) -> Reals:
    probability = np.empty(len(scores))
    group = None if groups is None else np.asarray(groups)
    for left_out in range(int(fold.max()) + 1):
        held_out = fold == left_out
        calibrator.fit(scores[~held_out], correct[~held_out], None if group is None else group[~held_out])
        probability[held_out] = calibrator.predict(scores[held_out])
    return probability


def _plain(interval: Interval) -> dict[str, float]:
    parts = {"value": interval.value, "low": interval.low, "high": interval.high}
    return {name: value for name, value in parts.items() if value is not None}


def _shown(interval: Interval) -> str:
    if interval.value is None:
        return "-"
    value = f"{interval.value:.4f}"
    return value if interval.low is None else f"{value} ({interval.low:.4f} to {interval.high:.4f})"

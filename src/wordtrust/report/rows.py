"""The tables of the page, as rows of text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..evaluation.evaluate import Evaluation
from ..evaluation.metrics import Interval, Scores, intervals
from .wording import KINDS, POPULATIONS, WAYS, called

_WITH_INTERVALS = ("output", "one_best")  # those people act on; others are far larger, and their intervals narrow
_DRAWN = 20_000_000  # words drawn for the intervals of a population: half a second
_REPLICATES = (200, 1000)  # at least, at most
_MEASURES = ("eer", "nce", "auc", "auc_pr_wrong", "ece", "brier", "errors_caught")
_SHARES = ("wer", "right", "eer", "errors_caught")


@dataclass(frozen=True, slots=True)
class Cell:
    """A number and, where known, its interval."""

    text: str
    interval: str = ""


def error_rows(evaluation: Evaluation) -> list[tuple[str, str, list[Cell]]]:
    """For each way to choose words: WER with interval, errors by kind, and all of them against the 1-best."""
    rows = []
    own = evaluation.errors.get("one_best")
    for way in [*WAYS, *(name for name in evaluation.errors if name not in WAYS)]:
        if way not in evaluation.errors:
            continue
        found, total = evaluation.errors[way], evaluation.errors[way].total
        fewer = None if own is None else own.total.errors - total.errors
        counts = [Cell(f"{count:,}") for count in (total.substitutions, total.deletions, total.insertions)]
        change = Cell("" if fewer is None or way == "one_best" else f"{-fewer:+,}".replace("-", "\u2212"))
        rows.append((way, called(WAYS, way), [_cell("wer", total.wer, intervals(found)["wer"]), *counts, change]))
    return rows


def score_rows(evaluation: Evaluation) -> list[tuple[str, str, list[Cell]]]:
    """For each population and kind of score: how many words, how many of them right, and the measures."""
    order = {name: place for place, name in enumerate(POPULATIONS)}
    keys = sorted(evaluation.scores, key=lambda key: order.get(key[0], len(order)))
    rows = []
    for population, kind in keys:
        scores = evaluation.scores[population, kind]
        known = _intervals(scores) if population in _WITH_INTERVALS else {}
        rows.append((called(POPULATIONS, population), called(KINDS, kind), _cells(scores, known)))
    return rows


def _cells(scores: Scores, known: Mapping[str, Interval]) -> list[Cell]:
    measured = scores.metrics()
    right = measured.correct / measured.words if measured.words else None
    values = [_cell(name, getattr(measured, name), known.get(name)) for name in _MEASURES]
    return [Cell(f"{measured.words:,}"), _cell("right", right), *values]


def _intervals(scores: Scores) -> dict[str, Interval]:
    fewest, most = _REPLICATES
    return intervals(scores, replicates=min(most, max(fewest, _DRAWN // max(1, len(scores)))))


def _cell(name: str, value: float | None, interval: Interval | None = None) -> Cell:
    shares = name in _SHARES
    if value is None:
        return Cell("\u2013")
    return Cell(_shown(value, shares, 2 if shares else 3) + ("%" if shares else ""), _range(interval, shares))


def _shown(value: float, shares: bool, decimals: int) -> str:
    text = f"{100 * value if shares else value:.{decimals}f}"
    return text.replace("-", "\u2212")


def _range(interval: Interval | None, shares: bool) -> str:
    if interval is None or interval.low is None or interval.high is None:
        return ""
    return " to ".join(_shown(end, shares, 1 if shares else 3) for end in (interval.low, interval.high))

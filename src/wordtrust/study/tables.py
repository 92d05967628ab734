"""The results of recognizers as tables, for terminal, results.md and page, made from study.json alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .combined_tables import combination_tables, example_tables, paper_tables
from .table import NONE, Study, Table, decimal, percent, signed, span

_CALLED = {
    "posterior": "posterior",
    "calibrated_posterior": "cal. posterior",
    "logistic": "logistic",
    "confidence": "confidence",
    "calibrated": "calibrated",
}
_RIVALS = ("calibrated_posterior", "logistic")
_SHOWN = {"eer": ("posterior", "logistic", "confidence"), "nce": tuple(_CALLED), "ece": ("calibrated",)}
_ABOUT_SCORES = (
    "EER in %. Cal. posterior: posteriors at their best scales, calibrated; logistic: regression over posterior, "
    "length, frequency, depth and scores; confidence: the model; calibrated: its calibrated confidence."
)


def all_tables(study: Study) -> dict[str, list[Table]]:
    """Every table that has rows, by what it is about."""
    found = {
        "words": [words_table(study)],
        "confidences": _confidence_tables(study),
        "combination": list(combination_tables(study)),
        "paper": list(paper_tables(study)),
        "examples": list(example_tables(study)),
    }
    return {name: [table for table in tables if table.rows] for name, tables in found.items()}


def _confidence_tables(study: Study) -> list[Table]:
    titles = {
        "arcs": "Table 1: confidences of all words of the networks",
        "arcs_paper": "Table 1, labelled by the paper's rule",
        "one_best": "Confidences of the words of the 1-best",
        "output": "Confidences of the words of the output",
    }
    first, *others = (confidence_table(study, name, title) for name, title in titles.items())
    return [replace(first, note=_ABOUT_SCORES), *others, tests_table(study)]


def summary_table(study: Study) -> Table:
    """What became of the posteriors, in one line for each recognizer."""
    rows = []
    for name, each in study["recognizers"].items():
        cells = []
        for population, measure in (("arcs", "eer"), ("arcs", "nce"), ("one_best", "nce")):
            for kind in ("posterior", "calibrated_posterior", "calibrated"):
                if (measure, kind) != ("eer", "calibrated_posterior"):
                    value = each.get(population, {}).get(kind, {}).get(measure)
                    cells.append(percent(value) if measure == "eer" else decimal(value))
        rows.append((name, *cells, decimal(each.get("output", {}).get("calibrated", {}).get("ece"))))
    columns = ("recognizer", "EER", "to", "NCE", "cal.", "to", "NCE 1-best", "cal.", "to", "ECE")
    note = (
        "EER (%) and NCE of posteriors, calibrated posteriors (cal.) and what the model makes of them (to), over all "
        "words of the networks, then NCE over the words of the 1-best; ECE of the calibrated words of the output."
    )
    return Table("Table 1: confidences", columns, tuple(rows), note)


def words_table(study: Study) -> Table:
    """Table 2: the word error rates of every recognizer."""
    rows = []
    for name, each in study["recognizers"].items():
        wer, change = each["wer"], _change(each["wer"])
        ends = each["intervals"]["wer"].get("best_confidence")
        tested = each["differences"]["wer"].get("tuned_one_best", {})
        shown = (percent(wer.get(way)) for way in ("one_best", "tuned_one_best", "tuned_mbr", "best_confidence"))
        rows.append((name, *shown, span(ends), change, decimal(tested.get("p")), percent(wer.get("oracle"))))
    columns = ("recognizer", "1-best", "tuned", "MBR", "output", "95%", "change", "p", "oracle")
    note = (
        "WER in %. Tuned: scales and word penalty (N-best: length exponent, word bonus) chosen on dev; MBR likewise. "
        "Output: the words with the best confidence. Change and p (paired test over speakers) are against tuned. "
        "Oracle: the best path of the network."
    )
    return Table("Table 2: words", columns, tuple(rows), note)


def _change(wer: Mapping[str, float]) -> str:
    """Relative to the tuned 1-best."""
    base, found = wer.get("tuned_one_best", wer.get("one_best")), wer.get("best_confidence")
    return NONE if not base or found is None else f"{100 * (found / base - 1):+.1f}%"


def confidence_table(study: Study, population: str, title: str) -> Table:
    """Table 1: what every score is worth over one population."""
    rows = []
    for name, each in study["recognizers"].items():
        found = each.get(population, {})
        values = [found.get(kind, {}).get(measure) for measure, kinds in _SHOWN.items() for kind in kinds]
        if any(value is not None for value in values):
            shares = len(_SHOWN["eer"])
            rows.append((name, *map(percent, values[:shares]), *map(decimal, values[shares:])))
    columns = [f"{measure.upper()} {_CALLED[kind]}" for measure, kinds in _SHOWN.items() for kind in kinds]
    return Table(title, ("recognizer", *columns), tuple(rows))


def tests_table(study: Study) -> Table:
    """How far the confidences of the model are from their rivals, with intervals."""
    pairs = [(population, rival) for population in ("arcs", "one_best") for rival in _RIVALS]
    rows = []
    for name, each in study["recognizers"].items():
        found = [each["differences"].get(population, {}).get(rival, {}).get("nce", {}) for population, rival in pairs]
        if any(found):
            rows.append((name, *map(_difference, found)))
    columns = [
        f"{'all words' if population == 'arcs' else '1-best'} - {_CALLED[rival]}" for population, rival in pairs
    ]
    note = "NCE of calibrated confidence less that of its rival, with 95% intervals that resample speakers."
    return Table("Differences in NCE", ("recognizer", *columns), tuple(rows), note)


def _difference(found: Mapping[str, Any]) -> str:
    if found.get("value") is None:
        return NONE
    return f"{signed(found['value'])} ({signed(found.get('low'))} to {signed(found.get('high'))})"

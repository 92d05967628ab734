"""The table of ablations: for each recognizer and variant the mean over seeds, and how far seeds differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

# Heading, where it stands in a run, and what it is shown as.
COLUMNS: Sequence[tuple[str, tuple[str, str], float, int]] = (
    ("arcs EER %", ("arcs", "eer"), 100, 2),
    ("arcs NCE", ("arcs", "nce"), 1, 4),
    ("one-best labels: EER %", ("arcs_paper", "eer"), 100, 2),
    ("NCE", ("arcs_paper", "nce"), 1, 4),
    ("1-best words: EER %", ("one_best", "eer"), 100, 2),
    ("NCE", ("one_best", "nce"), 1, 4),
    ("WER %: mean", ("wer", "mean"), 100, 2),
    ("mean-silence", ("wer", "mean-silence"), 100, 2),
    ("gain", ("wer", "gain"), 100, 2),
)
NOTE = (
    "Dev, mean of the seeds and their standard deviation. Arcs of other tolerances and of posteriors that are not "
    "tuned are not the same arcs; 1-best words are the same throughout, and error rates can be compared. Thresholds "
    "of `gain` come from the other half of the speakers.\n"
)


def table(runs: Sequence[Mapping[str, Any]]) -> str:
    """Markdown: a table for each recognizer, variants in the order of their first run."""
    parts = ["# Ablations\n", NOTE]
    for recognizer in dict.fromkeys(str(run["recognizer"]) for run in runs):
        mine = [run for run in runs if run["recognizer"] == recognizer]
        parts += [f"## {recognizer}\n", _one(mine)]
    return "\n".join(parts)


def _one(runs: Sequence[Mapping[str, Any]]) -> str:
    lines = ["| variant | seeds | " + " | ".join(heading for heading, *_ in COLUMNS) + " |"]
    lines.append("|---|" + "---|" * (len(COLUMNS) + 1))
    for name in dict.fromkeys(str(run["variant"]) for run in runs):
        mine = [run for run in runs if run["variant"] == name]
        cells = [_cell([_value(run, *place) for run in mine], times, digits) for _, place, times, digits in COLUMNS]
        lines.append(f"| {name} | {len(mine)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _value(run: Mapping[str, Any], part: str, name: str) -> float | None:
    found = run.get(part)
    value = found.get(name) if isinstance(found, Mapping) else None
    return float(value) if isinstance(value, int | float) else None


def _cell(values: Sequence[float | None], times: float, digits: int) -> str:
    known = [times * value for value in values if value is not None]
    if not known:
        return ""
    shown = f"{fmean(known):.{digits}f}"
    return shown if len(known) < 2 else f"{shown} ± {stdev(known):.{digits}f}"

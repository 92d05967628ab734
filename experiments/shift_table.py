"""The tables of shift.md, from what shift.json holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .markdown import table

_SHOWN = ("EER %", "NCE", "ECE")


def markdown(found: Mapping[str, Any]) -> str:
    """All tables, with what they show."""
    parts = [f"Words of the 1-best, calibrated confidences, split `{found['split']}`."]
    parts += [_accents(name, rows) for name, rows in found["accents"].items()]
    parts.append(_strangers(found["strangers"]))
    if "outside" in found:
        parts.append(_outside(found["outside"]))
    parts.append(_repairs(found["repairs"]))
    return "\n\n".join(part for part in parts if part) + "\n"


def _metrics(found: Mapping[str, Any]) -> list[str]:
    eer, nce, ece = (found.get(name) for name in ("eer", "nce", "ece"))
    return [
        "-" if eer is None else f"{100 * eer:.1f}",
        *("-" if each is None else f"{each:.3f}" for each in (nce, ece)),
    ]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _accents(name: str, rows: Mapping[str, Any]) -> str:
    head = ("accent", "speakers", "words", "right %", "mean confidence %", *_SHOWN)
    cells = [
        [
            accent,
            f"{row['speakers']:,}",
            f"{row['words']:,}",
            _percent(row["right"]),
            _percent(row["mean"]),
            *_metrics(row),
        ]
        for accent, row in rows.items()
    ]
    return f"### Accents: {name}\n\n" + table(head, cells)


def _strangers(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    ways = {"own": "own model", "as_it_is": "as it is", "adapted": "adapted"}
    head = ("model of", "used on", *(f"{way}: EER %, NCE, ECE" for way in ways.values()))
    cells = []
    for row in rows:
        lacking = "lacks " + ", ".join(row.get("lacking", ()))
        shown = [", ".join(_metrics(row[way])) if way in row else lacking for way in ways]
        cells.append([row["model"], row["recognizer"], *shown])
    return "### A model trained for another recognizer\n\n" + table(head, cells)


def _outside(found: Mapping[str, Any]) -> str:
    head = ("words", "score", "right %", "mean %", "0.9 or more, %", "of these right %", *_SHOWN)
    rows = [("in its domain", "calibrated", found["inside"])]
    rows += [("outside", kind.replace("_", " "), each) for kind, each in found["outside"].items()]
    cells = [
        [where, kind, *(_percent(row.get(name)) for name in ("right", "mean", "sure", "sure_right")), *_metrics(row)]
        for where, kind, row in rows
    ]
    return f"### Outside its domain: {found['model']} on {found['recognizer']}\n\n" + table(head, cells)


def _repairs(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    sizes = sorted({int(size) for row in rows for each in row["calibrators"].values() for size in each})
    titles = ["calibration as it was" if size == 0 else f"{size:,} utterances" for size in sizes]
    cells = []
    for row in rows:
        for name, each in row["calibrators"].items():
            cells.append([row["case"], name, *(_cell(each.get(str(size))) for size in sizes)])
    head = ("case", "calibrator", *titles)
    note = "NCE and ECE, mean and standard deviation over draws of speakers."
    return f"### Calibrated on utterances of one's own\n\n{note}\n\n" + table(head, cells)


def _cell(found: Mapping[str, Sequence[float]] | None) -> str:
    if not found:
        return "-"
    return ", ".join(f"{found[name][0]:.3f} ± {found[name][1]:.3f}" for name in ("nce", "ece") if name in found)

"""The tables of shift.md, from what shift.json holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wordtrust.base.table import Table

_SHOWN = ("EER %", "NCE", "ECE")


def markdown(results: Mapping[str, Any]) -> str:
    """All tables, with what they show."""
    parts = [f"Words of the 1-best, calibrated confidences, split `{results['split']}`.\n"]
    parts += [_accents(name, rows) for name, rows in results["accents"].items()]
    parts.append(_strangers(results["strangers"]))
    if "outside" in results:
        parts.append(_outside(results["outside"]))
    parts.append(_repairs(results["repairs"]))
    return "\n".join(part for part in parts if part)


def _metrics(row: Mapping[str, Any]) -> list[str]:
    eer, nce, ece = (row.get(name) for name in ("eer", "nce", "ece"))
    return [
        "-" if eer is None else f"{100 * eer:.1f}",
        *("-" if value is None else f"{value:.3f}" for value in (nce, ece)),
    ]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _accents(name: str, rows: Mapping[str, Any]) -> str:
    head = ("accent", "speakers", "words", "right %", "mean confidence %", *_SHOWN)
    cells = [
        (
            accent,
            f"{row['speakers']:,}",
            f"{row['words']:,}",
            *map(_percent, (row["right"], row["mean"])),
            *_metrics(row),
        )
        for accent, row in rows.items()
    ]
    return Table(f"Accents: {name}", head, tuple(cells)).to_markdown()


def _strangers(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    ways = {"own": "own model", "as_it_is": "as it is", "adapted": "adapted"}
    head = ("model of", "used on", *(f"{way}: EER %, NCE, ECE" for way in ways.values()))
    cells = []
    for row in rows:
        lacking = "lacks " + ", ".join(row.get("lacking", ()))
        shown = [", ".join(_metrics(row[way])) if way in row else lacking for way in ways]
        cells.append((row["model"], row["recognizer"], *shown))
    return Table("A model trained for another recognizer", head, tuple(cells), texts=(1,)).to_markdown()


def _outside(results: Mapping[str, Any]) -> str:
    head = ("words", "score", "right %", "mean %", "0.9 or more, %", "of these right %", *_SHOWN)
    rows = [("in its domain", "calibrated", results["inside"])]
    rows += [("outside", kind.replace("_", " "), row) for kind, row in results["outside"].items()]
    cells = [
        (where, kind, *(_percent(row.get(name)) for name in ("right", "mean", "sure", "sure_right")), *_metrics(row))
        for where, kind, row in rows
    ]
    title = f"Outside its domain: {results['model']} on {results['recognizer']}"
    return Table(title, head, tuple(cells), texts=(1,)).to_markdown()


def _repairs(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    sizes = sorted({int(size) for row in rows for by_size in row["calibrators"].values() for size in by_size})
    titles = ["calibration as it was" if size == 0 else f"{size:,} utterances" for size in sizes]
    cells = []
    for row in rows:
        for name, by_size in row["calibrators"].items():
            cells.append((row["case"], name, *(_cell(by_size.get(str(size))) for size in sizes)))
    head = ("case", "calibrator", *titles)
    note = "NCE and ECE, mean and standard deviation over draws of speakers."
    return Table("Calibrated on utterances of one's own", head, tuple(cells), note, texts=(1,)).to_markdown()


def _cell(measures: Mapping[str, Sequence[float]] | None) -> str:
    if not measures:
        return "-"
    return ", ".join(
        f"{measures[name][0]:.3f} ± {measures[name][1]:.3f}" for name in ("nce", "ece") if name in measures
    )

"""Plots of how a model was trained, and of how combinations of recognizers do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .chart import Axis, Chart, Dots, Line, Mark, Note, Reals, fitted_axis, percent
from .wording import COMBINED, capital

MOST_POINTS = 2000  # of a scatter
_CURVES = (
    ("loss", (("loss", "plain", "training"), ("dev_loss", "confidence", "development")), "lower is better"),
    ("EER", (("dev_eer", "confidence", "development"),), "lower is better"),
    ("NCE", (("dev_nce", "confidence", "development"),), "higher is better"),
)
_ROLES = {
    "raw": "posterior",
    "calibrated": "confidence",
    "informed": "right",
    "rover": "calibrated_posterior",
    "joint": "calibrated",
}


def number(value: object) -> float | None:
    """A finite number, or nothing: what comes from a file can be anything."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) and abs(found) < 1e12 else None


def training_charts(log: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """Loss, EER and NCE over the epochs, as far as the log has them."""
    charts = []
    for name, series, good in _CURVES:
        marks: list[Mark] = []
        key = []
        for column, role, text in series:
            epochs, values = _series(log, column)
            if len(epochs):
                marks += [Line(epochs, values, role), *_best(log, column, epochs, values, role)]
                key.append((role, text))
        drawn = [mark for mark in marks if isinstance(mark, Line)]
        if drawn:
            x, y = (np.concatenate([getattr(line, axis) for line in drawn]) for axis in ("x", "y"))
            charts.append(
                Chart(
                    f"training-{name.lower()}",
                    f"{capital(name)} while training",
                    f"By epoch; {good}. The dot is the model that was kept.",
                    _epochs(x),
                    fitted_axis(f"{name} ({good})", y, shares=name == "EER"),
                    tuple(marks),
                    tuple(key) if len(key) > 1 else (),
                )
            )
    return charts


def _epochs(x: Reals) -> Axis:
    axis = fitted_axis("epoch", x)
    return Axis("epoch", axis.low, axis.high, tuple(tick for tick in axis.ticks if tick[0] == round(tick[0])))


def _series(log: Sequence[Mapping[str, Any]], column: str) -> tuple[Reals, Reals]:
    """The epochs that have this number, at most a thousand of them, and it."""
    pairs = [(number(line.get("epoch")), number(line.get(column))) for line in log if isinstance(line, Mapping)]
    known = sorted((epoch, value) for epoch, value in pairs if epoch is not None and value is not None)
    chosen = np.array(known[:: 1 + len(known) // 1000], np.float64).reshape(-1, 2)
    return chosen[:, 0], chosen[:, 1]


def _best(log: Sequence[Mapping[str, Any]], column: str, epochs: Reals, values: Reals, role: str) -> list[Mark]:
    """The last epoch that was the best so far."""
    kept = [number(line.get("epoch")) for line in log if isinstance(line, Mapping) and line.get("best") is True]
    place = np.flatnonzero(epochs == kept[-1])[:1] if kept and column.startswith("dev") else np.zeros(0, np.int64)
    if not len(place):
        return []
    x, y = epochs[place], values[place]
    shown = percent(round(float(y[0]), 4)) if column == "dev_eer" else f"{y[0]:.3f}"
    return [Dots(x, y, role), Note(float(x[0]), float(y[0]), shown, role, "middle", (0, -9))]


def subset_charts(subsets: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """Raw against calibrated confidences, and each way to combine against the best member."""
    charts = []
    pairs = [("raw", "calibrated"), *(("best_member", way) for way in COMBINED)]
    for first, second in pairs:
        known = [
            (x, y, _members(each))
            for each in subsets
            if isinstance(each, Mapping)
            and (x := number(each.get(first))) is not None
            and (y := number(each.get(second))) is not None
        ][:MOST_POINTS]
        if known:
            charts.append(_scatter(first, second, known))
    return charts


def _members(subset: Mapping[str, Any]) -> str:
    members = subset.get("members", ())
    return " + ".join(str(name)[:40] for name in members)[:200] if isinstance(members, (list, tuple)) else ""


def _scatter(first: str, second: str, known: list[tuple[float, float, str]]) -> Chart:
    x, y = (np.array([each[axis] for each in known]) for axis in (0, 1))
    below, above = int((y < x).sum()), int((y > x).sum())
    axis = fitted_axis("", np.concatenate([x, y]), shares=True, count=7)
    ends = np.array([axis.low, axis.high])
    hints = tuple(f"{members}: {percent(a)} to {percent(b)}" for a, b, members in known)
    base = "with the best member alone" if first == "best_member" else f"combined {COMBINED[first]}"
    name = f"{second} against {first.replace('_', ' ')}".replace("rover", "ROVER")
    return Chart(
        f"subsets-{first}-{second}",
        capital(name),
        f"Each dot is a set of recognizers: {below:,} of {len(known):,} below the line, where the combination makes "
        f"fewer errors than {base}, {len(known) - below - above:,} on it, {above:,} above.",
        Axis(f"WER {base}", axis.low, axis.high, axis.ticks),
        Axis(f"WER combined {COMBINED[second]}", axis.low, axis.high, axis.ticks),
        (Line(ends, ends, "ideal"), Dots(x, y, _ROLES[second], 2.5, hints)),
    )


def subset_counts(subsets: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, int, int]]:
    """For each way to combine: how many subsets are better than, equal to and worse than their best member."""
    rows = []
    for way, name in COMBINED.items():
        pairs = [(number(each.get("best_member")), number(each.get(way))) for each in subsets]
        known = [(best, found) for best, found in pairs if best is not None and found is not None]
        if known:
            better, worse = (sum(test) for test in zip(*((f < b, f > b) for b, f in known), strict=True))
            rows.append((name, better, len(known) - better - worse, worse))
    return rows

"""Plots of training runs, of combinations, and of the recognizers of a study."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.number_format import percentage
from ..combination.subset_comparison import SubsetRates
from .chart import Axis, Chart, Dots, LineSeries, Mark, Note, Reals, fitted_axis
from .curves import Bin
from .population_charts import reliability_chart
from .wording import COMBINED, WORD_SOURCES, capital

_ROWS = (("one_best", "plain", 0.25), ("tuned_one_best", "posterior", 0.0), ("best_confidence", "confidence", -0.25))
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


def finite(value: object) -> float | None:
    """A finite number, or None: what comes from a file can be anything."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and abs(number) < 1e12 else None


def training_charts(log: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """Loss, EER and NCE over the epochs, as far as the log has them."""
    charts = []
    for name, series, good in _CURVES:
        marks: list[Mark] = []
        key = []
        for column, role, text in series:
            epochs, values = _series(log, column)
            if len(epochs):
                marks += [LineSeries(epochs, values, role), *_best(log, column, epochs, values, role)]
                key.append((role, text))
        drawn = [mark for mark in marks if isinstance(mark, LineSeries)]
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
    """The epochs that have this number, at most about a thousand of them, and the numbers."""
    pairs = [(finite(line.get("epoch")), finite(line.get(column))) for line in log if isinstance(line, Mapping)]
    points = sorted((epoch, value) for epoch, value in pairs if epoch is not None and value is not None)
    chosen = np.array(points[:: 1 + len(points) // 1000], np.float64).reshape(-1, 2)
    return chosen[:, 0], chosen[:, 1]


def _best(log: Sequence[Mapping[str, Any]], column: str, epochs: Reals, values: Reals, role: str) -> list[Mark]:
    """A dot at the last epoch that was the best so far."""
    kept = [finite(line.get("epoch")) for line in log if isinstance(line, Mapping) and line.get("best") is True]
    index = np.flatnonzero(epochs == kept[-1])[:1] if kept and column.startswith("dev") else np.zeros(0, np.int64)
    if not len(index):
        return []
    x, y = epochs[index], values[index]
    shown = percentage(round(float(y[0]), 4)) if column == "dev_eer" else f"{y[0]:.3f}"
    return [Dots(x, y, role), Note(float(x[0]), float(y[0]), shown, role, "middle", (0, -9))]


def subset_charts(subsets: Sequence[SubsetRates]) -> list[Chart]:
    """Raw against calibrated confidences, and each way to combine against the best member."""
    charts = []
    rates = [{"best_member": subset.best_member, **subset.methods} for subset in subsets[:MOST_POINTS]]
    hints = [" + ".join(name[:40] for name in subset.members)[:200] for subset in subsets]
    for first, second in [("raw", "calibrated"), *(("best_member", method) for method in COMBINED)]:
        points = [
            (rate[first], rate[second], members)
            for rate, members in zip(rates, hints, strict=False)
            if first in rate and second in rate
        ]
        if points:
            charts.append(_scatter(first, second, points))
    return charts


def _scatter(first: str, second: str, points: list[tuple[float, float, str]]) -> Chart:
    x, y = (np.array([point[axis] for point in points]) for axis in (0, 1))
    below, above = int((y < x).sum()), int((y > x).sum())
    axis = fitted_axis("", np.concatenate([x, y]), shares=True, count=7)
    ends = np.array([axis.low, axis.high])
    hints = tuple(f"{members}: {percentage(a)} to {percentage(b)}" for a, b, members in points)
    base = "with the best member alone" if first == "best_member" else f"combined {COMBINED[first]}"
    name = f"{second} against {first.replace('_', ' ')}".replace("rover", "ROVER")
    return Chart(
        f"subsets-{first}-{second}",
        capital(name),
        f"Each dot is a set of recognizers: {below:,} of {len(points):,} below the line, where the combination makes "
        f"fewer errors than {base}, {len(points) - below - above:,} on it, {above:,} above.",
        Axis(f"WER {base}", axis.low, axis.high, axis.ticks),
        Axis(f"WER combined {COMBINED[second]}", axis.low, axis.high, axis.ticks),
        (LineSeries(ends, ends, "ideal"), Dots(x, y, _ROLES[second], 2.5, hints)),
    )


def error_chart(recognizers: Mapping[str, Mapping[str, Any]]) -> Chart:
    """The word error rates of every recognizer with their intervals, a row for each, the best on top."""
    order = sorted(recognizers, key=lambda name: -recognizers[name]["wer"].get("best_confidence", 0.0))
    reach = [_reach(recognizers[name]) for name in order]
    x = fitted_axis("WER (lower is better)", np.array(reach).ravel(), shares=True)
    marks = [mark for row, name in enumerate(order) for mark in _row(row, recognizers[name])]
    names = [_name(row, name, ends, x) for row, (name, ends) in enumerate(zip(order, reach, strict=True))]
    return Chart(
        "word-errors",
        "Word errors of each recognizer",
        "Dots are word error rates, lines their 95% intervals over speakers.",
        x,
        Axis("", -0.6, len(order) - 0.4, ()),
        (*marks, *names),
        tuple((role, WORD_SOURCES[source]) for source, role, _ in _ROWS),
    )


def _reach(record: Mapping[str, Any]) -> tuple[float, float]:
    """From the lowest to the highest that a row shows."""
    rates = [record["wer"][source] for source, _, _ in _ROWS if source in record["wer"]]
    ends = [end for source, _, _ in _ROWS for end in record["intervals"]["wer"].get(source) or ()]
    return min(rates + ends), max(rates + ends)


def _name(row: int, name: str, ends: tuple[float, float], x: Axis) -> Note:
    """On the side where there is room."""
    if sum(ends) < x.low + x.high:
        return Note(ends[1], row, name[:40], "plain", "start", (8, 3))
    return Note(ends[0], row, name[:40], "plain", "end", (-8, 3))


def _row(row: int, record: Mapping[str, Any]) -> Iterator[Mark]:
    for source, role, moved in _ROWS:
        rate, interval = record["wer"].get(source), record["intervals"]["wer"].get(source)
        if rate is None:
            continue
        at = np.array([row + moved])
        if interval is not None:
            yield LineSeries(np.array(interval), np.repeat(at, 2), role)
        yield Dots(np.array([rate]), at, role, 2.5, (f"{WORD_SOURCES[source]}: {percentage(round(rate, 4))}",))


def reliability_charts(study: Mapping[str, Any]) -> Iterator[Chart]:
    """The reliability of the output words of each recognizer, and of the joint network of all."""
    records = {name: record for name, record in study["recognizers"].items() if record.get("reliability")}
    if "joint_of_all" in study:
        records["all of them joined"] = study["joint_of_all"]
    for index, (name, record) in enumerate(records.items()):
        bins = [Bin.from_dict(each) for each in record["reliability"]]
        yield reliability_chart(f"reliability-{index}", "calibrated", bins, name[:60])

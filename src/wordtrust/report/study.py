"""The page of a study: its tables, and plots of what matters most in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..base.files import atomic_text
from .chart import Axis, Chart, Dots, Line, Mark, Note, fitted_axis, percent
from .curves import Bin
from .history import subset_charts
from .page import frame, template_of
from .plots import reliability_chart
from .wording import MEASURES, WAYS

_ROWS = (("one_best", "plain", 0.25), ("tuned_one_best", "posterior", 0.0), ("best_confidence", "confidence", -0.25))
_SUBSETS = ("subsets-best_member-joint", "subsets-best_member-rover", "subsets-raw-calibrated")
_ABOUT = {"data": "data", "test": "split", "date": "made", "wordtrust": "wordtrust", "command": "by"}


class TextTable(Protocol):
    """A table as rows of text."""

    @property
    def title(self) -> str:
        """What it shows."""

    @property
    def columns(self) -> Sequence[str]:
        """Their heads."""

    @property
    def rows(self) -> Sequence[Sequence[str]]:
        """Its cells."""

    @property
    def note(self) -> str:
        """What to know of it."""

    @property
    def texts(self) -> Sequence[int]:
        """Which columns are texts, not numbers."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the page."""

    title: str
    charts: list[Chart]
    tables: Sequence[TextTable]


def write_study_report(
    path: Path, study: Mapping[str, Any], parts: Mapping[str, Sequence[TextTable]], remarks: Sequence[str] = ()
) -> None:
    """Write the page; `parts` are tables by what they are about: words, confidences, combination, examples."""
    charts = {
        "words": [error_chart(study["recognizers"])],
        "confidences": list(_reliability(study)),
        "combination": [chart for chart in subset_charts(study["subsets"]) if chart.name in _SUBSETS],
    }
    titles = {"words": "Words", "confidences": "Confidences", "combination": "Recognizers combined",
              "paper": "As the paper has it", "examples": "Examples"}  # fmt: skip
    sections = [Part(titles[name], charts.get(name, []), tables) for name, tables in parts.items() if tables]
    about = {shown: str(study["about"][name]) for name, shown in _ABOUT.items()}
    page = template_of("study.html.j2").render(
        frame("Study: how good are the words, and the trust in them?", about),
        remarks=remarks,
        sections=sections,
        measures=MEASURES,
    )
    with atomic_text(path) as file:
        file.write(page)


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
        tuple((role, WAYS[way]) for way, role, _ in _ROWS),
    )


def _reach(found: Mapping[str, Any]) -> tuple[float, float]:
    """From the lowest to the highest that a row shows."""
    rates = [found["wer"][way] for way, _, _ in _ROWS if way in found["wer"]]
    ends = [end for way, _, _ in _ROWS for end in found["intervals"]["wer"].get(way) or ()]
    return min(rates + ends), max(rates + ends)


def _name(row: int, name: str, ends: tuple[float, float], x: Axis) -> Note:
    """On the side where there is room."""
    if sum(ends) < x.low + x.high:
        return Note(ends[1], row, name[:40], "plain", "start", (8, 3))
    return Note(ends[0], row, name[:40], "plain", "end", (-8, 3))


def _row(row: int, found: Mapping[str, Any]) -> Iterator[Mark]:
    for way, role, moved in _ROWS:
        rate, interval = found["wer"].get(way), found["intervals"]["wer"].get(way)
        if rate is None:
            continue
        at = np.array([row + moved])
        if interval is not None:
            yield Line(np.array(interval), np.repeat(at, 2), role)
        yield Dots(np.array([rate]), at, role, 2.5, (f"{WAYS[way]}: {percent(round(rate, 4))}",))


def _reliability(study: Mapping[str, Any]) -> Iterator[Chart]:
    """Of the words that people get, by recognizer, and of all of them joined."""
    records = {name: each for name, each in study["recognizers"].items() if each.get("reliability")}
    if "joint_of_all" in study:
        records["all of them joined"] = study["joint_of_all"]
    for number, (name, each) in enumerate(records.items()):
        bins = [_bin(one) for one in each["reliability"]]
        yield reliability_chart(f"reliability-{number}", "calibrated", bins, name[:60])


def _bin(found: Mapping[str, Any]) -> Bin:
    interval = found["interval"]
    return Bin(
        found["low"], found["high"], found["words"], found["right"], found["claimed"],
        None if interval is None else (interval[0], interval[1]),
    )  # fmt: skip

"""The page itself: gathers numbers, plots and examples and writes them into one file."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

from ..base.errors import OptionError
from ..base.files import atomic_text
from ..base.version import __version__
from ..evaluation.evaluate import Evaluation
from ..evaluation.metrics import Scores
from ..lattices.text import visible
from ..transcripts.page_style import style_sheet
from .chart import Chart
from .examples import Example, pick
from .history import subset_charts, subset_counts, training_charts
from .plots import population_charts
from .rows import error_rows, score_rows
from .sentences import summary, tiles
from .svg import draw
from .utterances import utterance
from .wording import ABOUT_POPULATIONS, MEASURES, NO_PROBABILITIES, POPULATIONS, called, capital

MOST_LETTERS = 300  # of titles and what is said about a report
_SORTS = {
    "worst": ("The most errors", "For the words that were said; utterances of a word or two come later."),
    "misleading": ("The most misleading", "Wrong words with high confidence, right words with low confidence."),
    "best": ("The longest without an error", ""),
}


@dataclass(frozen=True, slots=True)
class Section:
    """The plots of one population."""

    title: str
    about: str
    remark: str
    charts: list[Chart]


def write_report(
    path: Path,
    evaluation: Evaluation,
    *,
    title: str,
    examples: Sequence[Example] = (),
    about: Mapping[str, str] | None = None,
    log: Sequence[Mapping[str, Any]] = (),
    subsets: Sequence[Mapping[str, Any]] = (),
    figures: Path | None = None,
) -> None:
    """Write a page about an evaluation, and its plots to the folder `figures` if one is named.

    `about` are facts to show below the title (recognizer, model, data). `log` are the lines of a model's train.jsonl.
    `subsets` are those of `wordtrust combine --json`. What is empty is left out. The same input gives the same bytes.
    """
    if not (evaluation.utterances or log or subsets):
        raise OptionError(f"{path}: there is nothing to report: no utterances, no training log, no subsets")
    template = template_of("page.html.j2")
    sections = _sections(evaluation)
    combined, training = subset_charts(subsets), training_charts(log)
    if figures is not None:
        from .figures import save_figures

        save_figures([*chain.from_iterable(each.charts for each in sections), *combined, *training], figures)
    page = template.render(
        frame(title, about or {}),
        tiles=tiles(evaluation),
        summary=summary(evaluation),
        errors=error_rows(evaluation),
        scores=score_rows(evaluation),
        sections=sections,
        examples=_groups(examples),
        combined=combined,
        counts=subset_counts(subsets),
        training=training,
        measures=MEASURES,
    )
    with atomic_text(path) as file:
        file.write(page)


def frame(title: str, about: Mapping[str, str]) -> dict[str, Any]:
    """What every page has: title, facts, style, script, and the policy that nothing else may act."""
    style, script = style_sheet(), _part("page.js")
    return {
        "policy": _policy(style, script),
        "style": style,
        "script": script,
        "version": __version__,
        "title": title[:MOST_LETTERS],
        "about": {str(name)[:MOST_LETTERS]: str(value)[:MOST_LETTERS] for name, value in about.items()},
    }


def _sections(evaluation: Evaluation) -> list[Section]:
    populations: dict[str, dict[str, Scores]] = {}
    for (population, kind), scores in evaluation.scores.items():
        populations.setdefault(population, {})[kind] = scores
    order = [*POPULATIONS, *(name for name in populations if name not in POPULATIONS)]
    return [
        Section(
            capital(called(POPULATIONS, name)),
            ABOUT_POPULATIONS.get(name, ""),
            "" if all(scores.are_probabilities for scores in populations[name].values()) else NO_PROBABILITIES,
            population_charts(name, populations[name]),
        )
        for name in order
        if name in populations
    ]


def _groups(examples: Sequence[Example]) -> list[dict[str, Any]]:
    """The examples by sort."""
    groups = [
        {"title": title, "about": text, "utterances": [utterance(each) for each in pick(examples, sort)]}
        for sort, (title, text) in _SORTS.items()
    ]
    return [group for group in groups if group["utterances"]]


def _part(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    """Nothing but this style and this script may act on the page, whatever its words say."""
    hashes = [base64.b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def template_of(name: str) -> Any:
    """A template of this package, which escapes everything that is put into it."""
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise OptionError("a report needs jinja2: pip install 'wordtrust[report]'") from None

    def seen(value: Any) -> Any:
        """What would act (control characters, what turns the direction of text) is seen instead."""
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=seen, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["plot"] = lambda chart: Markup(draw(chart))  # noqa: S704  # draw escapes every text
    environment.filters["own"] = Markup  # the style and the script of this package
    return environment.from_string(_part(name))

"""Pages: tables, plots and examples of an evaluation, or of a study, in one self-contained HTML file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

from ..base.errors import OptionError
from ..base.files import atomic_text
from ..base.installation import install_command
from ..base.number_format import NONE
from ..base.table import Table
from ..base.version import __version__
from ..base.visible_text import visible
from ..combination.subset_comparison import SubsetComparison, SubsetRates
from ..evaluation.evaluation import Evaluation
from ..evaluation.metrics import Scores
from ..transcripts.page.style import security_policy, style_sheet
from .chart import Chart
from .comparison_charts import error_chart, reliability_charts, subset_charts, training_charts
from .examples import ExampleUtterance, page_utterance, pick
from .population_charts import population_charts
from .summary import beyond_words_table, error_table, score_table, subset_table, summary, tiles
from .svg import draw
from .wording import ABOUT_POPULATIONS, ABOUT_WORDS, MEASURES, NO_PROBABILITIES, POPULATIONS, capital, label_for

MOST_LETTERS = 300  # of titles and facts
_CATEGORIES = {
    "worst": ("The most errors", "For the words that were said; utterances of a word or two come later."),
    "misleading": ("The most misleading", "Wrong words with high confidence, right words with low confidence."),
    "best": ("The longest without an error", ""),
}
_STUDY_TITLE = "Study: how good are the words, and the trust in them?"
_STUDY_FACTS = {"data": "data", "test": "split", "date": "made", "wordtrust": "wordtrust", "command": "by"}
_STUDY_SECTIONS = {
    "words": "Words",
    "confidences": "Confidences",
    "estimates": "Errors without references",
    "language model": "With a language model",
    "combination": "Recognizers combined",
    "paper": "As the paper has it",
    "examples": "Examples",
}
_STUDY_SUBSETS = ("subsets-best_member-joint", "subsets-best_member-rover", "subsets-raw-calibrated")


@dataclass(frozen=True, slots=True)
class PopulationSection:
    """The plots of one population."""

    title: str
    about: str
    remark: str
    charts: list[Chart]


@dataclass(frozen=True, slots=True)
class StudySection:
    """The plots and tables of one part of a study."""

    title: str
    charts: list[Chart]
    tables: Sequence[Table]


def write_report(
    path: Path,
    evaluation: Evaluation,
    *,
    title: str,
    examples: Sequence[ExampleUtterance] = (),
    about: Mapping[str, str] | None = None,
    log: Sequence[Mapping[str, Any]] = (),
    comparison: SubsetComparison | None = None,
    figures: Path | None = None,
) -> None:
    """Write a page about an evaluation, and its plots to the folder `figures` if one is named.

    `about` are facts to show below the title (recognizer, model, data). `log` are the lines of a model's train.jsonl.
    `comparison` is that of `wt.combine`. What is empty is left out. The same input gives the same bytes.
    """
    if not (evaluation.utterances or log or comparison):
        raise OptionError(f"{path}: there is nothing to report: no utterances, no training log, no subsets")
    template = _template("evaluation.html.j2")
    sections = _population_sections(evaluation)
    combined, training = subset_charts(comparison.subsets if comparison else ()), training_charts(log)
    if figures is not None:
        from .figures import save_figures

        charts = chain.from_iterable(section.charts for section in sections)
        save_figures([*charts, *combined, *training], figures)
    has_scores = bool(evaluation.scores or log or comparison)
    page = template.render(
        _frame(title, about or {}) | {"measures": MEASURES if has_scores else ABOUT_WORDS},
        tiles=tiles(evaluation),
        summary=summary(evaluation),
        errors=error_table(evaluation),
        scores=score_table(evaluation),
        beyond_words=beyond_words_table(evaluation),
        sections=sections,
        examples=_example_groups(examples),
        has_shades=any(example.has_confidences for example in examples),
        combined=combined,
        counts=subset_table(comparison) if comparison else None,
        training=training,
    )
    with atomic_text(path) as file:
        file.write(page)


def write_study_report(
    path: Path, study: Mapping[str, Any], tables: Mapping[str, Sequence[Table]], remarks: Sequence[str] = ()
) -> None:
    """Write the page of a study; `study` is the content of study.json, `tables` are by section."""
    subsets = [SubsetRates.from_dict(subset) for subset in study["subsets"]]
    charts = {
        "words": [error_chart(study["recognizers"])],
        "confidences": list(reliability_charts(study)),
        "combination": [chart for chart in subset_charts(subsets) if chart.name in _STUDY_SUBSETS],
    }
    sections = [
        StudySection(_STUDY_SECTIONS[name], charts.get(name, []), listed) for name, listed in tables.items() if listed
    ]
    facts = {shown: str(study["about"][name]) for name, shown in _STUDY_FACTS.items()}
    page = _template("study.html.j2").render(_frame(_STUDY_TITLE, facts), remarks=remarks, sections=sections)
    with atomic_text(path) as file:
        file.write(page)


def _frame(title: str, about: Mapping[str, str]) -> dict[str, Any]:
    """What every page has: title, facts, style, script, and the policy that nothing else may act."""
    style, script = style_sheet(), _resource("page.js")
    return {
        "policy": security_policy(style, script),
        "style": style,
        "script": script,
        "version": __version__,
        "title": title[:MOST_LETTERS],
        "about": {str(name)[:MOST_LETTERS]: str(value)[:MOST_LETTERS] for name, value in about.items()},
        "measures": MEASURES,
    }


def _population_sections(evaluation: Evaluation) -> list[PopulationSection]:
    populations: dict[str, dict[str, Scores]] = {}
    for (population, kind), scores in evaluation.scores.items():
        populations.setdefault(population, {})[kind] = scores
    return [
        PopulationSection(
            capital(label_for(POPULATIONS, name)),
            ABOUT_POPULATIONS.get(name, ""),
            "" if all(scores.are_probabilities for scores in populations[name].values()) else NO_PROBABILITIES,
            population_charts(name, populations[name]),
        )
        for name in dict.fromkeys([*POPULATIONS, *populations])
        if name in populations
    ]


def _example_groups(examples: Sequence[ExampleUtterance]) -> list[dict[str, Any]]:
    groups = [
        {"title": title, "about": text, "utterances": [*map(page_utterance, pick(examples, category))]}
        for category, (title, text) in _CATEGORIES.items()
    ]
    return [group for group in groups if group["utterances"]]


def _resource(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


def _template(name: str) -> Any:
    """A template of this package, which escapes everything that is put into it."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise OptionError(f"a report needs jinja2: {install_command('report')}") from None

    def shown(value: Any) -> Any:
        """Control characters and marks that change the direction of text are made visible."""
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=shown, trim_blocks=True, lstrip_blocks=True,
        loader=FunctionLoader(_resource),
    )  # fmt: skip
    environment.filters["plot"] = lambda chart: Markup(draw(chart))  # noqa: S704  # draw escapes every text
    environment.filters["own"] = Markup  # the style and the script of this package
    environment.filters["typeset"] = _typeset
    return environment.get_template(name)


def _typeset(number: str) -> str:
    """A number with a true minus sign; a dash where there is none."""
    return "\u2013" if number == NONE else re.sub(r"(?<!\w)-(?=\d)", "\u2212", number)

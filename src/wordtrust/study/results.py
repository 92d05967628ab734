"""What a study leaves for people and scripts: study.json, results.md, report.html, and tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.files import atomic_text
from ..base.version import __version__
from .steps import write_json
from .tables import all_tables, combination_table, estimation_tables, summary_table, words_table

if TYPE_CHECKING:
    from rich.console import Console


def write_results(out: Path, results: Mapping[str, Any], *, data: Path, test: str, command: str) -> dict[str, Any]:
    """Write study.json, results.md and report.html; returns the content of study.json."""
    about = {
        "wordtrust": __version__,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command,
        "data": str(data),
        "test": test,
    }
    study = {"about": about} | dict(results)
    write_json(out / "study.json", study)
    with atomic_text(out / "results.md") as file:
        file.write(results_markdown(study))
    if find_spec("jinja2"):
        from ..report.page import write_study_report

        write_study_report(out / "report.html", study, all_tables(study), remarks(study))
    return study


def results_markdown(study: Mapping[str, Any]) -> str:
    """All tables as text, with how they were made."""
    about, parts = study["about"], ["# Results\n"]
    first = next(iter(study["recognizers"].values()))
    parts.append(
        f"Split `{about['test']}`: {first['utterances']:,} utterances, {first['speakers']:,} speakers, "
        f"{first['words']:,} words. Made on {about['date']} with wordtrust {about['wordtrust']} by\n\n"
        f"    {about['command']}\n"
    )
    parts += [f"**{line}**\n" for line in remarks(study)]
    parts += [table.to_markdown() for tables in all_tables(study).values() for table in tables]
    took = sum(study["seconds"].values())
    parts.append(f"All steps together took {took / 60:.1f} minutes on this machine (study.json has each).\n")
    return "\n".join(parts)


def remarks(study: Mapping[str, Any]) -> list[str]:
    """Warnings about figures that look better than they are."""
    seen = max(record["model"]["calibrated_on_test"] for record in study["recognizers"].values())
    if not seen:
        return []
    return [
        f"Models and combination were fitted on speakers of this split ({seen:,} of them): these figures look too "
        "good, and are no test."
    ]


def print_study(study: Mapping[str, Any], console: Console) -> None:
    """The main tables: confidences, words and estimated errors of each recognizer, and the combination."""
    from rich.text import Text

    tables = [summary_table(study), words_table(study), *estimation_tables(study)]
    tables += [combination_table(study)] if study["subsets"] else []
    for table in (table for table in tables if table.rows):
        console.print(Text(table.title, style="bold"))
        console.print(table.to_rich())
        console.print(Text(table.note, style="dim"))
        console.print()
    for line in remarks(study):
        console.print(Text(line, style="bold"))

"""What a study leaves for people and scripts: study.json, results.md and report.html."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..base.files import atomic_text
from ..base.version import __version__
from .results import write_json
from .table import Table
from .tables import all_tables


def write_results(out: Path, found: Mapping[str, Any], *, data: Path, test: str, command: str) -> dict[str, Any]:
    """Write all three; gives what is in study.json."""
    about = {
        "wordtrust": __version__,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command,
        "data": str(data),
        "test": test,
    }
    study = {"about": about} | dict(found)
    write_json(out / "study.json", study)
    with atomic_text(out / "results.md") as file:
        file.write(markdown(study))
    if find_spec("jinja2"):
        from ..report.study import write_study_report

        write_study_report(out / "report.html", study, all_tables(study), remarks(study))
    return study


def markdown(study: Mapping[str, Any]) -> str:
    """The results as text, with how they were made."""
    about, parts = study["about"], ["# Results\n"]
    first = next(iter(study["recognizers"].values()))
    parts.append(
        f"Split `{about['test']}`: {first['utterances']:,} utterances, {first['speakers']:,} speakers, "
        f"{first['words']:,} words. Made on {about['date']} with wordtrust {about['wordtrust']} by\n\n"
        f"    {about['command']}\n"
    )
    parts += [f"**{line}**\n" for line in remarks(study)]
    parts += [_markdown(table) for tables in all_tables(study).values() for table in tables]
    took = sum(study["seconds"].values())
    parts.append(f"All steps together took {took / 60:.1f} minutes on this machine (study.json has each).\n")
    return "\n".join(parts)


def remarks(study: Mapping[str, Any]) -> list[str]:
    """What makes figures look better than they are."""
    seen = {name: each["model"]["calibrated_on_test"] for name, each in study["recognizers"].items()}
    known = [name for name, count in seen.items() if count]
    if not known:
        return []
    return [
        f"Models and combination were fitted on speakers of this split ({max(seen.values()):,} of them): these "
        "figures look too good, and are no test."
    ]


def _markdown(table: Table) -> str:
    """A table with its title and note."""
    cells = [table.columns, *table.rows]
    safe = [[cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") for cell in row] for row in cells]
    lines = ["---" if number in (0, *table.texts) else "---:" for number in range(len(table.columns))]
    rows = [safe[0], lines, *safe[1:]]
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"## {table.title}\n\n{text}\n" + (f"\n{table.note}\n" if table.note else "")

"""The verb plan."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .inputs import Inputs, announce_compilation
from .messages import echo, notify
from .options import PATH, claim_output, json_option, out_option, overwrite_option, skip_bad_option

if TYPE_CHECKING:
    from ..transcripts.plan import Plan

_SHARE = click.FloatRange(0, 1, max_open=True)
_MOST_ROWS = 20


@click.command()
@click.argument("transcripts", nargs=-1, required=True, metavar="TRANSCRIPTS...")
@click.option("--target", type=_SHARE, default=0.02, show_default=True, metavar="SHARE",
              help="How many words may be wrong or missing at the end.")  # fmt: skip
@click.option("--sure", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, show_default=True,
              metavar="PROBABILITY", help="How sure that has to be.")  # fmt: skip
@click.option("--reviewers", type=click.IntRange(1, 1000), default=1, show_default=True,
              help="Share the work among so many people.")  # fmt: skip
@click.option("--verdicts", multiple=True, metavar="EXPORT",
              help="What a reviewer exported of the same transcripts (.json): words that are checked.")  # fmt: skip
@out_option(is_folder=True, type=PATH, help="Write a page for each reviewer into this folder.")
@overwrite_option
@skip_bad_option
@json_option
def plan(
    transcripts: tuple[str, ...],
    target: float,
    sure: float,
    reviewers: int,
    verdicts: tuple[str, ...],
    out: Path | None,
    *,
    overwrite: bool,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """What to listen to until few enough errors are left, and for how long.

    TRANSCRIPTS are what `wordtrust score` and `wordtrust transcribe` write (.json, .jsonl, .parquet), or what the
    page exports after some of the words were checked: these are evidence about the others. Stretches come in the
    order of the errors that they are expected to remove in a second of listening.

    \b
    Examples: wordtrust plan talk.json --target 0.02
              wordtrust plan calls/ --target 0.05 --sure 0.9 --reviewers 3 --json
              wordtrust plan talk.json --reviewers 2 --out to-review
              wordtrust plan talk.json --verdicts anna.json --verdicts ben.json
    """
    from ..base.number_format import counted
    from ..formats.format import ReadOptions
    from ..transcripts.plan import plan_of

    announce_compilation()
    if out is not None:
        claim_output(out, overwrite=overwrite, is_folder=True)
    inputs = Inputs(transcripts, ReadOptions(), skip_bad)
    heard = replace(inputs, paths=verdicts).transcripts("reading") if verdicts else ()
    made = plan_of(inputs.transcripts("reading"), heard, target=target, sure=sure, reviewers=reviewers)
    notify(*made.warnings)
    if out is not None:
        pages = made.save_pages(out)
        echo(f"{out}: {counted(len(pages), 'page')}", err=True)
    if as_json:
        echo(json.dumps(made.to_dict()))
        return
    _print(made)


def _print(made: Plan) -> None:
    from ..base.number_format import counted, percentage
    from ..base.table import Table
    from ..transcripts.words import clock
    from .tables import console

    out = console()
    errors = f"{made.expected_errors:,.0f}" if made.expected_errors >= 10 else f"{made.expected_errors:.1f}"
    out.print(
        f"{counted(made.words, 'word')}, {made.minutes_through:.1f} minutes; about {errors} wrong or missing now. "
        f"At most {made.allowed:,} ({percentage(made.target)}): {_sure(made.promise)} sure, wanted "
        f"{percentage(made.sure)}."
    )
    if made.is_enough:
        out.print("Enough: nobody needs to listen any more.")
        return
    rows = tuple(
        (clock(each.start, tenths=True), f"{each.end - each.start:.1f}", f"{each.expected_errors:.2f}",
         *([str(each.reviewer)] if made.reviewers > 1 else []), _name(made, each.file, each.utt), each.text)
        for each in map(made.stretch, range(min(made.needed, _MOST_ROWS)))
    )  # fmt: skip
    columns = ("from", "seconds", "errors", *(["reviewer"] if made.reviewers > 1 else []), "recording", "words")
    out.print(Table("", columns, rows, texts=(len(columns) - 2, len(columns) - 1)).to_rich())
    if made.needed > _MOST_ROWS:
        out.print(f"... and {made.needed - _MOST_ROWS:,} more (--json lists all).")
    low, high = made.minutes_likely
    out.print(
        f"{made.minutes:.1f} minutes of listening ({low:.1f} to {high:.1f} are likely), "
        f"{percentage(made.minutes / max(made.minutes_through, 1e-9), 0)} of all: "
        f"{made.needed:,} {'stretch' if made.needed == 1 else 'stretches'}."
    )
    for reviewer, (count, minutes) in enumerate(made.shares(), 1):
        if made.reviewers > 1:
            out.print(f"Reviewer {reviewer}: {minutes:.1f} minutes, {count:,} of them.")


def _sure(promise: float) -> str:
    """Rounded down: what is shown as 95% is enough."""
    return f"{int(1000 * promise + 1e-9) / 10:g}%"


def _name(made: Plan, file: str, utt: str) -> str:
    return utt if len(set(made.files)) == 1 else f"{file} {utt}"

"""The verb about several recognizers: combine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import OptionError
from .inputs import announce_compilation

if TYPE_CHECKING:
    from ..combine import Combination
    from ..fitted import Fitted
    from ..outputs import Together
    from ..systems import Systems


@click.command()
@click.argument("systems", nargs=-1, required=True, metavar="NAME=MODEL,STORE...")
@click.option("--ref", type=click.Path(path_type=Path), help="References, where systems are NAME=FILE (CTM, JSON).")
@click.option("--subsets", "every", is_flag=True, help="All subsets of two or more, not only all of them together.")
@click.option("--fit", multiple=True, metavar="NAME=STORE", help="Held-out data to fit the combination on first.")
@click.option("--fold-model", multiple=True, metavar="NAME=MODEL", help="With --fit: trained without a fold.")
@click.option("--out", type=click.Path(path_type=Path), help="With --fit: the folder for what was fitted.")
@click.option("--joint", type=click.Path(path_type=Path), help="A folder that --fit wrote.")
@click.option("--report", type=click.Path(path_type=Path), help="Also write a report (HTML).")
@click.option("--allow-mismatch", is_flag=True, help="Also with models that were not trained for these networks.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def combine(
    systems: tuple[str, ...],
    ref: Path | None,
    fit: tuple[str, ...],
    fold_model: tuple[str, ...],
    out: Path | None,
    joint: Path | None,
    report: Path | None,
    *,
    every: bool,
    allow_mismatch: bool,
    as_json: bool,
) -> None:
    """Combine recognizers: which way beats the best of them?

    Each is NAME=MODEL,STORE (a model and networks with references) or NAME=FILE (words with confidences, with --ref).

    \b
    Examples: wordtrust combine a=model.a,dev.a b=model.b,dev.b
              wordtrust combine a=model.a,eval.a b=model.b,eval.b --fit a=dev.a --fit b=dev.b --out joint
              wordtrust combine a=calls-a.ctm b=calls-b.ctm --ref calls.stm
    """
    from ..systems import Systems

    announce_compilation()
    if bool(fit) != (out is not None) or (fit and joint):
        raise OptionError("--fit NAME=STORE goes with --out FOLDER; --joint FOLDER uses what was fitted before")
    named = _named(systems)
    if len(named) < 2:
        raise OptionError("name two recognizers or more")
    given = Systems.of(named, ref, _pairs(fold_model), allow_mismatch=allow_mismatch)
    fitted = _fitted(given, _named(fit), out, joint, every)
    found = _combined(given.together(), given.printed(), fitted, every)
    if report:
        from ..evaluate import Evaluation
        from ..report import write_report

        write_report(report, Evaluation(), title=" + ".join(named), subsets=found.to_dict()["subsets"])
    if as_json:
        click.echo(json.dumps(found.to_dict()))
    else:
        from ..tables import print_combination

        print_combination(found)


def _pairs(given: Sequence[str]) -> list[tuple[str, str]]:
    """NAME=VALUE, each."""
    pairs = [
        (name, value) for name, sign, value in (each.partition("=") for each in given) if sign and name and value
    ]
    if len(pairs) < len(given):
        raise OptionError("recognizers are given as NAME=MODEL,STORE or NAME=FILE")
    return pairs


def _named(given: Sequence[str]) -> dict[str, str]:
    pairs = _pairs(given)
    if len(dict(pairs)) < len(pairs):
        raise OptionError("two recognizers have the same name")
    return dict(pairs)


def _fitted(
    given: Systems, fit: Mapping[str, str], out: Path | None, joint: Path | None, every: bool
) -> Fitted | None:
    from ..fitted import Fitted

    if joint is not None:
        return Fitted.load(joint)
    if not fit or out is None:
        return None
    held_out = given.on(fit).together()
    fitted = Fitted.fit(held_out, _subsets(len(held_out.names), every))
    fitted.save(out)
    click.echo(f"{out}: fitted on {len(held_out):,} utterances", err=True)
    return fitted


def _subsets(systems: int, every: bool) -> list[tuple[int, ...]]:
    from ..combine import all_subsets

    return all_subsets(systems) if every else [tuple(range(systems))]


def _combined(together: Together, printed: Together | None, fitted: Fitted | None, every: bool) -> Combination:
    from ..combine import combine as measure
    from ..rover import RoverSettings

    if fitted is None:
        subsets = _subsets(len(together.names), every)
        return measure(together, subsets, one_best=printed, rover=RoverSettings())
    names = [name for name in fitted.order if name in together.names]
    if len(names) < len(together.names):
        raise OptionError(f"nothing was fitted for {', '.join(set(together.names) - set(names))}")
    ordered = together.subset(names)
    subsets = _subsets(len(names), every)
    settings = fitted.settings(names, subsets)
    one_best = None if printed is None else printed.subset(names)
    return measure(ordered, subsets, one_best=one_best, rover=settings, informed=fitted.informed)

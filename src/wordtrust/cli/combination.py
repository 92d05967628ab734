"""The verb about several recognizers: combine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base.errors import OptionError
from .evaluation import warn_of_missing_outputs
from .inputs import announce_compilation

if TYPE_CHECKING:
    from ..combination.combination_file import FittedCombination
    from ..combination.combine import CombinationResult
    from ..combination.subset_comparison import SubsetComparison
    from ..combination.systems import CombinationInput
    from ..transcripts.transcript import Transcript


@click.command()
@click.argument("systems", nargs=-1, required=True, metavar="NAME=MODEL,STORE...")
@click.option("--ref", type=click.Path(path_type=Path), help="References, where systems are NAME=FILE (CTM, JSON).")
@click.option("--subsets", "every", is_flag=True, help="All subsets of two or more, not only all of them together.")
@click.option("--fit", multiple=True, metavar="NAME=STORE", help="Held-out data to fit the combination on first.")
@click.option("--fold-model", multiple=True, metavar="NAME=MODEL", help="With --fit: trained without a fold.")
@click.option("--out", type=click.Path(path_type=Path), help="With --fit: the folder for what was fitted.")
@click.option("--joint", type=click.Path(path_type=Path), help="A folder that --fit wrote, or a shipped one.")
@click.option("--no-joint", "only_choice", is_flag=True, help="Leave the joint network out: it takes minutes to fit.")
@click.option(
    "--transcripts", "transcripts_file", type=click.Path(path_type=Path), metavar="FILE",
    help="Write the combined words: .ctm, .jsonl, .vtt, .html, ...",
)  # fmt: skip
@click.option("--words", "old_words_file", type=click.Path(path_type=Path), hidden=True)
@click.option("--jobs", type=click.IntRange(min=1), help="Subsets worked on at once [as many as there are cores].")
@click.option("--report", type=click.Path(path_type=Path), help="Also write a report (HTML).")
@click.option("--figures", type=click.Path(path_type=Path), help="Also write its plots here, as PNG and SVG.")
@click.option("--allow-mismatch", is_flag=True, help="Also with models that were not trained for these networks.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def combine(
    systems: tuple[str, ...],
    ref: Path | None,
    fit: tuple[str, ...],
    fold_model: tuple[str, ...],
    out: Path | None,
    joint: Path | None,
    transcripts_file: Path | None,
    old_words_file: Path | None,
    jobs: int | None,
    report: Path | None,
    figures: Path | None,
    *,
    only_choice: bool,
    every: bool,
    allow_mismatch: bool,
    as_json: bool,
) -> None:
    """Combine recognizers, and compare the ways to do so with the best of them.

    Each is NAME=MODEL,STORE (a model and networks with references), or with --ref NAME=FILE or NAME=CALIBRATOR,FILE
    (words that come with confidences). New speech has no references: NAME=MODEL,LATTICES with --joint and
    --transcripts.

    \b
    Examples: wordtrust combine a=model.a,dev.a b=model.b,dev.b
              wordtrust combine a=model.a,eval.a b=model.b,eval.b --fit a=dev.a --fit b=dev.b --out joint
              wordtrust combine whisper-base=whisper-base,w.jsonl.gz moonshine-tiny=moonshine-tiny,m.jsonl.gz \
                --joint joint --transcripts both.ctm
              wordtrust combine a=calls-a.ctm b=calls-b.ctm --ref calls.stm
    """
    from ..combination.combine import combine as combine_systems
    from ..combination.systems import CombinationInput

    announce_compilation()
    if old_words_file:
        click.echo("wordtrust: --words is now called --transcripts (elsewhere, --words is a symbol table)", err=True)
    target = transcripts_file or old_words_file
    _check_options(fit=bool(fit), out=out, joint=joint, folds=bool(fold_model), figures=figures, report=report)
    _check_targets(target, report)
    sources = {name: _source(value) for name, value in _named(systems).items()}
    given = CombinationInput.of(sources, ref, allow_mismatch=allow_mismatch)
    fitted: FittedCombination | Path | None = joint
    if fit and out:
        fitted = _fit(given, _named(fit), _pairs(fold_model), out, every, not only_choice, jobs, allow_mismatch)
    result = combine_systems(
        given, fitted=fitted, joint=not only_choice, subsets=every, transcripts=target is not None, jobs=jobs
    )
    _warn(result)
    if target and result.transcripts is not None:
        _write_transcripts(target, result.transcripts)
    if result.comparison is not None:
        _print(result.comparison, report, figures, as_json)


def _source(value: str) -> str | tuple[str, str]:
    """MODEL,STORE or CALIBRATOR,FILE or FILE."""
    model, comma, data = value.partition(",")
    return (model, data) if comma else value


def _check_options(
    *, fit: bool, out: Path | None, joint: Path | None, folds: bool, figures: Path | None, report: Path | None
) -> None:
    if fit != (out is not None) or (fit and joint):
        raise OptionError("--fit NAME=STORE goes with --out FOLDER; --joint FOLDER uses what was fitted before")
    if folds and not fit:
        raise OptionError("--fold-model goes with --fit")
    if figures and not report:
        raise OptionError("--figures come with a report: --report FILE.html")


def _check_targets(transcripts: Path | None, report: Path | None) -> None:
    """Find out before the work, not after it, whether something cannot be written."""
    from ..transcripts.writer import TranscriptWriter

    if transcripts:
        TranscriptWriter(transcripts)
    for path in (transcripts, report):
        if path and not path.resolve().parent.is_dir():
            raise OptionError(f"{path}: there is no folder {path.resolve().parent}")


def _pairs(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """(NAME, VALUE) of every NAME=VALUE."""
    parts = [argument.partition("=") for argument in arguments]
    if not all(name and sign and value for name, sign, value in parts):
        raise OptionError("recognizers are given as NAME=MODEL,STORE or NAME=FILE")
    return [(name, value) for name, _, value in parts]


def _named(arguments: Sequence[str]) -> dict[str, str]:
    pairs = _pairs(arguments)
    if len(dict(pairs)) < len(pairs):
        raise OptionError("two recognizers have the same name")
    return dict(pairs)


def _fit(
    given: CombinationInput,
    stores: Mapping[str, str],
    fold_models: Sequence[tuple[str, str]],
    out: Path,
    every: bool,
    joint: bool,
    jobs: int | None,
    allow_mismatch: bool,
) -> FittedCombination:
    from ..combination.combine import fit_combination

    folds: dict[str, list[str]] = {}
    for name, model in fold_models:
        folds.setdefault(name, []).append(model)
    data = given.on(stores, folds, allow_mismatch=allow_mismatch)
    fitted = fit_combination(
        data, joint=joint, subsets=every, jobs=jobs,
        notify=lambda message: click.echo(f"wordtrust: {message}", err=True),
    )  # fmt: skip
    fitted.save(out)
    click.echo(f"{out}: fitted on {len(fitted.utterances):,} utterances", err=True)
    return fitted


def _warn(result: CombinationResult) -> None:
    """What makes figures look better than they are."""
    if result.comparison is None:
        return
    if result.n_fitted_on:
        warning = f"the combination was fitted on {result.n_fitted_on:,} of these utterances: it looks too good here"
        click.echo(f"wordtrust: {warning}", err=True)
    warn_of_missing_outputs(result.n_without_output, result.n_references)


def _write_transcripts(path: Path, transcripts: Sequence[Transcript]) -> None:
    from ..transcripts.writer import TranscriptWriter

    with TranscriptWriter(path) as writer:
        writer.add(transcripts)
    click.echo(f"{path}: {len(transcripts):,} utterances", err=True)


def _print(comparison: SubsetComparison, report: Path | None, figures: Path | None, as_json: bool) -> None:
    if report:
        _write_report(report, comparison, figures)
    if as_json:
        click.echo(json.dumps(comparison.to_dict()))
    else:
        from .tables import print_combination

        print_combination(comparison)


def _write_report(path: Path, comparison: SubsetComparison, figures: Path | None) -> None:
    from ..evaluation.evaluation import Evaluation
    from ..report import write_report

    alone = {name: f"{100 * rate:.2f}% word errors alone" for name, rate in comparison.systems.items()}
    subsets = comparison.to_dict()["subsets"]
    write_report(path, Evaluation(), title="Recognizers combined", about=alone, subsets=subsets, figures=figures)
    click.echo(f"{path}: the report" + (f"; its plots are in {figures}" if figures else ""), err=True)

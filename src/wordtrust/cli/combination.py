"""The verb about several recognizers: combine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base.errors import OptionError
from ..base.number_format import counted
from .inputs import announce_compilation
from .messages import echo, notify, notify_report, warn_of_missing_outputs
from .options import (
    claim_output,
    claim_report,
    dash_is_stdout,
    equate_option,
    glm_option,
    jobs_option,
    json_option,
    mismatch_option,
    out_option,
    overwrite_option,
    report_options,
    rules_option,
)  # fmt: skip

if TYPE_CHECKING:
    from ..combination.combination_file import FittedCombination
    from ..combination.combine import CombinationResult
    from ..combination.subset_comparison import SubsetComparison
    from ..combination.systems import CombinationInput
    from ..networks.equivalents import Equate
    from ..transcripts.transcript import Transcript


@click.command()
@click.argument("systems", nargs=-1, required=True, metavar="NAME=MODEL,STORE...")
@click.option("--ref", type=click.Path(path_type=Path), help="References, where systems are NAME=FILE (CTM, JSON).")
@glm_option
@rules_option
@equate_option
@click.option("--subsets", "every", is_flag=True, help="All subsets of two or more, not only all of them together.")
@click.option("--fit", multiple=True, metavar="NAME=STORE", help="Held-out data to fit the combination on first.")
@click.option("--fold-model", multiple=True, metavar="NAME=MODEL", help="With --fit: trained without a fold.")
@out_option(is_folder=True, type=click.Path(path_type=Path), help="With --fit: the folder for what was fitted.")
@click.option("--joint", type=click.Path(path_type=Path), help="A folder that --fit wrote, or a shipped one.")
@click.option("--no-joint", "only_choice", is_flag=True, help="Leave the joint network out: it takes minutes to fit.")
@click.option(
    "--transcripts", "transcripts_file", type=click.Path(path_type=Path), metavar="FILE", callback=dash_is_stdout,
    help="Write the combined words: .ctm, .jsonl, .vtt, .html, ...",
)  # fmt: skip
@click.option("--words", "old_words_file", type=click.Path(path_type=Path), callback=dash_is_stdout, hidden=True)
@jobs_option("Subsets worked on at once [as many as there are cores].")
@report_options
@overwrite_option
@mismatch_option
@json_option
def combine(
    systems: tuple[str, ...],
    ref: Path | None,
    glm: Path | None,
    rules: str | None,
    equate: Equate | None,
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
    overwrite: bool,
    only_choice: bool,
    every: bool,
    allow_mismatch: bool,
    as_json: bool,
) -> None:
    """Combine recognizers, and compare the ways to do so with the best of them.

    Each is NAME=MODEL,STORE (a model and networks with references), or with --ref NAME=FILE or NAME=CALIBRATOR,FILE
    (words that come with confidences). New speech has no references: NAME=MODEL,LATTICES with --joint and
    --transcripts. Words without confidences (CTM) are elected by vote, as NIST's rover does.

    \b
    Examples: wordtrust combine a=model.a,dev.a b=model.b,dev.b
              wordtrust combine a=model.a,eval.a b=model.b,eval.b --fit a=dev.a --fit b=dev.b --out joint
              wordtrust combine whisper-base=whisper-base,w.jsonl.gz moonshine-tiny=moonshine-tiny,m.jsonl.gz \
                --joint joint --transcripts both.ctm
              wordtrust combine a=calls-a.ctm b=calls-b.ctm --ref calls.stm
              wordtrust combine a=a.ctm b=b.ctm c=c.ctm --transcripts rover.ctm
    """
    from ..combination.combine import combine as combine_systems
    from ..combination.systems import CombinationInput

    announce_compilation()
    if old_words_file:
        notify("--words is now called --transcripts (elsewhere, --words is a symbol table)")
    target = transcripts_file or old_words_file
    _check_options(fit=bool(fit), out=out, joint=joint, folds=bool(fold_model))
    _claim(target, out, overwrite=overwrite)
    claim_report(report, figures, overwrite=overwrite)
    sources = {name: _source(value) for name, value in _named(systems).items()}
    given = CombinationInput.of(sources, ref, rules=rules, glm=glm, equate=equate, allow_mismatch=allow_mismatch)
    fitted: FittedCombination | Path | None = joint
    if fit and out:
        fitted = _fit(given, _named(fit), _pairs(fold_model), out, every, not only_choice, jobs, allow_mismatch)
    result = combine_systems(
        given, fitted=fitted, joint=not only_choice, subsets=every, transcripts=target is not None, jobs=jobs
    )
    _warn(result)
    if target and result.transcripts is not None:
        about = {"recognizers": [{"name": name} for name in sources], **result.transcripts.about}
        _write_transcripts(target, result.transcripts, given.channels(), about)
    if result.comparison is not None:
        _print(result.comparison, report, figures, as_json)


def _claim(transcripts_file: Path | None, fitted: Path | None, *, overwrite: bool) -> None:
    """Say at once what could not be written in the end."""
    from ..combination.combination_file import refuse_to_overwrite
    from ..transcripts.writer import TranscriptWriter

    if transcripts_file:
        TranscriptWriter(transcripts_file)  # refuses a name of no known format
        claim_output(transcripts_file, overwrite=overwrite)
    if fitted:
        refuse_to_overwrite(fitted)
        claim_output(fitted, overwrite=overwrite, is_folder=True)


def _source(value: str) -> str | tuple[str, str]:
    """MODEL,STORE or CALIBRATOR,FILE or FILE."""
    model, comma, data = value.partition(",")
    return (model, data) if comma else value


def _check_options(*, fit: bool, out: Path | None, joint: Path | None, folds: bool) -> None:
    if fit != (out is not None) or (fit and joint):
        raise OptionError("--fit NAME=STORE goes with --out FOLDER; --joint FOLDER uses what was fitted before")
    if folds and not fit:
        raise OptionError("--fold-model goes with --fit")


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
    data = given.with_data(stores, folds, allow_mismatch=allow_mismatch)
    fitted = fit_combination(
        data, joint=joint, subsets=every, jobs=jobs,
        notify=notify,
    )  # fmt: skip
    fitted.save(out)
    echo(f"{out}: fitted on {counted(len(fitted.utterances), 'utterance')}", err=True)
    return replace(fitted, name=out.resolve().name)


def _warn(result: CombinationResult) -> None:
    """What makes figures look better than they are."""
    if result.comparison is None:
        return
    if result.n_fitted_on:
        notify(f"the combination was fitted on {result.n_fitted_on:,} of these utterances: it looks too good here")
    warn_of_missing_outputs(result.n_without_output, result.n_references)


def _write_transcripts(
    path: Path,
    transcripts: Sequence[Transcript],
    channels: Mapping[str, tuple[str, str]],
    about: Mapping[str, object],
) -> None:
    from ..transcripts.writer import TranscriptWriter

    with TranscriptWriter(path, about=about, channels=channels) as writer:
        writer.add(transcripts)
    echo(f"{path}: {counted(len(transcripts), 'utterance')}", err=True)


def _print(comparison: SubsetComparison, report: Path | None, figures: Path | None, as_json: bool) -> None:
    if report:
        _write_report(report, comparison, figures)
    if as_json:
        echo(json.dumps(comparison.to_dict()))
    else:
        from .tables import print_combination

        print_combination(comparison)


def _write_report(path: Path, comparison: SubsetComparison, figures: Path | None) -> None:
    from ..evaluation.evaluation import Evaluation
    from ..report import write_report

    alone = {name: f"{100 * rate:.2f}% word errors alone" for name, rate in comparison.systems.items()}
    write_report(
        path, Evaluation(), title="Recognizers combined", about=alone, comparison=comparison, figures=figures
    )
    notify_report(path, figures)

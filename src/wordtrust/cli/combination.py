"""The verb about several recognizers: combine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base.errors import OptionError
from .evaluation import warn_of_missing_outputs
from .inputs import announce_compilation

if TYPE_CHECKING:
    from ..combination.combination_file import FittedCombination
    from ..combination.joint import JointHypotheses
    from ..combination.subset_comparison import SubsetComparison
    from ..combination.system_output import SystemOutputs
    from ..combination.systems import CombinationInput


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
    "--words", "words_file", type=click.Path(path_type=Path), help="Where the combined words go, by the ending."
)
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
    words_file: Path | None,
    jobs: int | None,
    report: Path | None,
    figures: Path | None,
    *,
    only_choice: bool,
    every: bool,
    allow_mismatch: bool,
    as_json: bool,
) -> None:
    """Combine recognizers: which way beats the best of them?

    Each is NAME=MODEL,STORE (a model and networks with references), or with --ref NAME=FILE or NAME=CALIBRATOR,FILE
    (words that come with confidences). New speech has no references: NAME=MODEL,LATTICES with --joint and --words.

    \b
    Examples: wordtrust combine a=model.a,dev.a b=model.b,dev.b
              wordtrust combine a=model.a,eval.a b=model.b,eval.b --fit a=dev.a --fit b=dev.b --out joint
              wordtrust combine whisper-base=whisper-base,w.jsonl.gz moonshine-tiny=moonshine-tiny,m.jsonl.gz \
                --joint joint --words both.ctm
              wordtrust combine a=calls-a.ctm b=calls-b.ctm --ref calls.stm
    """
    from ..combination.systems import CombinationInput

    announce_compilation()
    named = _named(systems)
    if len(named) < 2:
        raise OptionError("name two recognizers or more")
    _check_options(fit=bool(fit), out=out, joint=joint, folds=bool(fold_model), figures=figures, report=report)
    _check_targets(words_file, report)
    given = CombinationInput.of(named, ref, _pairs(fold_model), allow_mismatch=allow_mismatch)
    cores = jobs or os.cpu_count() or 1
    with_joint = given.have_networks and not only_choice
    fitted = _fitted(given, _named(fit), out, joint, every, cores if with_joint else 0)
    together = given.together()
    joined = given.joined() if fitted and fitted.joint and with_joint else None
    if not given.have_references:
        _only_words(words_file, together, fitted, joined)
        return
    _tell_about(given, together, fitted)
    found = _combined(together, given.printed(), fitted, joined, every, cores)
    if words_file:
        write_words(words_file, together, fitted, joined)
    if report:
        _write_report(report, found, figures)
    if as_json:
        click.echo(json.dumps(found.to_dict()))
    else:
        from .tables import print_combination

        print_combination(found)


def _only_words(
    path: Path | None, together: SystemOutputs, fitted: FittedCombination | None, joined: JointHypotheses | None
) -> None:
    """Without references there is nothing to measure, but there are words."""
    if path is None:
        raise OptionError(
            "nobody knows what was said here: write the words (--words FILE), or build networks with --ref REF.tsv"
        )
    if fitted is not None:
        _require_fitted(together.names, fitted)
    write_words(path, together, fitted, joined)


def _require_fitted(names: Sequence[str], fitted: FittedCombination) -> None:
    strange = sorted(set(names) - set(fitted.order))
    if strange:
        raise OptionError(
            f"nothing was fitted for {', '.join(strange)}; names before the = must be among {', '.join(fitted.order)}"
        )


def _check_options(
    *, fit: bool, out: Path | None, joint: Path | None, folds: bool, figures: Path | None, report: Path | None
) -> None:
    if fit != (out is not None) or (fit and joint):
        raise OptionError("--fit NAME=STORE goes with --out FOLDER; --joint FOLDER uses what was fitted before")
    if folds and not fit:
        raise OptionError("--fold-model goes with --fit")
    if figures and not report:
        raise OptionError("--figures come with a report: --report FILE.html")


def _tell_about(given: CombinationInput, together: SystemOutputs, fitted: FittedCombination | None) -> None:
    """What would make figures look better than they are."""
    seen = fitted.seen(together) if fitted else 0
    if seen:
        told = f"the combination was fitted on {seen:,} of these utterances: it looks too good here"
        click.echo(f"wordtrust: {told}", err=True)
    warn_of_missing_outputs(len(given.references) - len(together), len(given.references))


def _write_report(path: Path, found: SubsetComparison, figures: Path | None) -> None:
    from ..evaluation.evaluate import Evaluation
    from ..report import write_report

    alone = {name: f"{100 * rate:.2f}% word errors alone" for name, rate in found.systems.items()}
    subsets = found.to_dict()["subsets"]
    write_report(path, Evaluation(), title="Recognizers combined", about=alone, subsets=subsets, figures=figures)
    click.echo(f"{path}: the report" + (f"; its plots are in {figures}" if figures else ""), err=True)


def _check_targets(words: Path | None, report: Path | None) -> None:
    """What cannot be written is told before the work, not after it."""
    from ..transcripts.writer import TranscriptWriter

    if words:
        TranscriptWriter(words)
    for path in (words, report):
        if path and not path.resolve().parent.is_dir():
            raise OptionError(f"{path}: there is no folder {path.resolve().parent}")


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
    given: CombinationInput,
    fit: Mapping[str, str],
    out: Path | None,
    folder: Path | None,
    every: bool,
    joint_jobs: int,
) -> FittedCombination | None:
    """What was fitted before, or is now; the joint model with so many jobs, none of it with 0."""
    from ..combination.combination_file import FittedCombination
    from ..confidence.shipped import COMBINATION, folder_of

    if folder is not None:
        return FittedCombination.load(folder_of(folder, COMBINATION), with_joint=joint_jobs > 0)
    if not fit or out is None:
        return None
    data = given.on(fit)
    held_out = data.together()
    subsets = _subsets(len(held_out.names), every)
    fitted = FittedCombination.fit(held_out, subsets)
    if joint_jobs:
        from ..combination.joint import fit_joint

        named = [[held_out.names[number] for number in subset] for subset in subsets]
        click.echo("wordtrust: fitting the joint network, which takes minutes ...", err=True)
        model = fit_joint(data.joined(), held_out.names, subsets=named, jobs=joint_jobs, notify=_tell)
        fitted = replace(fitted, joint=model)
    fitted.save(out)
    click.echo(f"{out}: fitted on {len(held_out):,} utterances", err=True)
    return fitted


def _tell(done: str) -> None:
    click.echo(f"wordtrust: fitted {done}", err=True)


def _subsets(systems: int, every: bool) -> list[tuple[int, ...]]:
    from ..combination.subset_comparison import all_subsets

    return all_subsets(systems) if every else [tuple(range(systems))]


def _combined(
    together: SystemOutputs,
    printed: SystemOutputs | None,
    fitted: FittedCombination | None,
    joined: JointHypotheses | None,
    every: bool,
    jobs: int,
) -> SubsetComparison:
    from ..combination.rover import RoverSettings
    from ..combination.subset_comparison import compare_subsets

    if fitted is None:
        subsets = _subsets(len(together.names), every)
        return compare_subsets(together, subsets, one_best=printed, rover=RoverSettings())
    _require_fitted(together.names, fitted)
    names = [name for name in fitted.order if name in together.names]
    ordered, subsets = together.subset(names), _subsets(len(names), every)
    settings = fitted.settings(names, subsets)
    others = {}
    if joined is not None and fitted.joint is not None:
        from ..combination.joint import joint_errors

        numbers = [[together.names.index(names[each]) for each in subset] for subset in subsets]
        others["joint"] = joint_errors(fitted.joint, joined, together.names, numbers, jobs=jobs)
    one_best = None if printed is None else printed.subset(names)
    return compare_subsets(
        ordered, subsets, one_best=one_best, rover=settings, informed=fitted.informed, others=others
    )


def write_words(
    path: Path, together: SystemOutputs, fitted: FittedCombination | None, joined: JointHypotheses | None
) -> None:
    """The words of all together: of the joint network, or else of the recognizer chosen for each utterance."""
    from ..combination.subset_comparison import choose, mean_confidence
    from ..combination.system_output import chosen_transcripts
    from ..transcripts.writer import TranscriptWriter

    if fitted and fitted.joint and joined is not None:
        found = fitted.joint.decode(joined, together.names).transcripts()
    else:
        subset = [tuple(range(len(together.names)))]
        calibrated = all(each.calibrated is not None for each in together.outputs)
        if fitted is not None:
            which = fitted.informed.choose(together, subset)[0]
        else:
            which = choose(mean_confidence(together, calibrated=calibrated), subset)[0]
        found = chosen_transcripts(together, which.tolist())
    with TranscriptWriter(path) as writer:
        writer.add(found)
    click.echo(f"{path}: {len(found):,} utterances", err=True)

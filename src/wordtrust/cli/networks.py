"""Verbs about networks: tune, build, evaluate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..base.errors import OptionError
from .calibration import NOTHING_NAMED, judged
from .inputs import Inputs, announce_compilation, lattice_inputs, load_references, reference_option, tell_if_rough

if TYPE_CHECKING:
    from ..confidence.word_scorer import WordScorer
    from ..evaluation.evaluate import ArcScorer, Choose, Evaluation
    from ..networks.tuned_scales import TunedScales


@click.command()
@lattice_inputs
@click.option("--ref", type=click.Path(path_type=Path), required=True, help="References: REF.tsv, Kaldi text or STM.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where the scales go (SCALES.json).")
@click.option("--json", "as_json", is_flag=True, help="Print the scales as JSON.")
def tune(inputs: Inputs, ref: Path, out: Path, *, as_json: bool) -> None:
    """Choose scales and word penalty (N-best: length exponent and word bonus) on a development set.

    \b
    Example: wordtrust tune dev.ark.gz --ref ref.tsv --out scales.json
    """
    from ..evaluation.tune import tune as choose
    from .tables import print_tuned

    references = load_references(ref)
    assert references is not None
    if not out.resolve().parent.is_dir():
        raise OptionError(f"{out}: there is no folder {out.resolve().parent}")
    tuned = choose(list(inputs.batches("reading", references)), references, tell=_tell)
    tuned.save(out)
    if as_json:
        click.echo(out.read_text("utf-8"), nl=False)
    else:
        print_tuned(tuned)


def _tell(stage: str) -> None:
    click.echo(f"wordtrust: tuning {stage} ...", err=True)


@click.command()
@lattice_inputs
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The store to write.")
@reference_option
@click.option(
    "--labels",
    type=click.Choice(["oracle", "one-best"]),
    default="oracle",
    show_default=True,
    help="Which words count as right: those of the path with the fewest errors, or the paper's rule.",
)
@click.option(
    "--scales", type=click.Path(path_type=Path), help="What `wordtrust tune` wrote, or a model: its scales."
)
@click.option("--tolerance", type=float, default=0.1, show_default=True, help="Seconds within which nodes merge.")
@click.option("--beam", type=click.FloatRange(min=0), help="Prune arcs on no path within this of the best one.")
@click.option("--jobs", type=click.IntRange(min=1), help="Batches worked on at once [as many as there are cores].")
def build(
    inputs: Inputs,
    out: Path,
    ref: Path | None,
    labels: str,
    scales: Path | None,
    tolerance: float,
    beam: float | None,
    jobs: int | None,
) -> None:
    """Turn LATTICES into word networks (HWCNs), labelled where references are given.

    An interrupted build goes on where it was when it is started again.

    \b
    Example: wordtrust build train.ark.gz --ref ref.tsv --scales scales.json --out train.networks
    """
    from ..networks.build_store import BuildOptions, build_store

    references = load_references(ref)
    options = BuildOptions(
        tolerance=tolerance,
        tuned=None if scales is None else _tuned(scales),
        references=references,
        labels=labels,
        beam=beam,
    )
    batches = inputs.batches("building", references)
    done = build_store(batches, out, options, jobs=jobs, key=_key(inputs, options.tuned, ref))
    click.echo(f"{out}: {done.utterances:,} utterances, {done.arcs:,} arcs")


def _tuned(path: Path) -> TunedScales:
    """What `wordtrust tune` wrote; or the scales of a model, by its folder or name."""
    from ..confidence.model_file import SCALES, load_model
    from ..confidence.shipped import folder_of, is_model
    from ..networks.tuned_scales import TunedScales

    if not is_model(path):
        return TunedScales.load(path)
    folder = folder_of(path)
    if (folder / SCALES).is_file():
        return TunedScales.load(folder / SCALES)
    scales = load_model(folder).card.scales
    if scales is None:
        raise OptionError(f"{path}: has no scales of its own; build networks without --scales")
    return TunedScales(scales, scales, scales, {})


def _key(inputs: Inputs, tuned: TunedScales | None, *files: Path | None) -> list[str]:
    """What a build depends on besides its options: another input must not go on where this one was."""
    from ..formats.inputs import side_files

    named = [file for path in inputs.paths for file in side_files(path)]
    named += [file for file in (*files, inputs.options.words) if file and file.is_file()]
    return [repr(inputs), repr(tuned), *(f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in named)]


@click.command()
@click.argument("store", nargs=-1, metavar="[MODEL] STORE...")
@click.option(
    "--criterion",
    type=click.Choice(["mean", "mean-silence", "gain"]),
    help="How the best-confidence words are chosen (docs/networks.md) [as the model says, or mean].",
)
@click.option("--scores", multiple=True, metavar="FILE", help="Words with confidences (CTM, JSON), not a STORE.")
@click.option("--ref", type=click.Path(path_type=Path), help="References for --scores.")
@click.option("--skip-bad", is_flag=True, help="With --scores: leave out what has no reference or no confidence.")
@click.option("--report", type=click.Path(path_type=Path), help="Also write a report (HTML).")
@click.option("--figures", type=click.Path(path_type=Path), help="Also write its plots here, as PNG and SVG.")
@click.option("--allow-mismatch", is_flag=True, help="Also with a model that was not trained for these networks.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def evaluate(
    store: tuple[str, ...],
    criterion: str | None,
    scores: tuple[str, ...],
    ref: Path | None,
    report: Path | None,
    figures: Path | None,
    *,
    skip_bad: bool,
    allow_mismatch: bool,
    as_json: bool,
) -> None:
    """Measure the words and confidences of networks made with references.

    Without a MODEL, posteriors are the confidence. With --scores, those that any recognizer wrote.

    \b
    Examples: wordtrust evaluate eval.networks --json
              wordtrust evaluate model eval.networks --report report.html
              wordtrust evaluate --scores calls.ctm --ref calls.stm
    """
    from .tables import print_evaluation

    announce_compilation()
    if bool(scores) == bool(store):
        raise OptionError(NOTHING_NAMED)
    if figures and not report:
        raise OptionError("--figures come with a report: --report FILE.html")
    facts: dict[str, Any] = {}
    if scores and report:
        from ..report import ExampleKeeper

        keeper = ExampleKeeper()
        found = judged(scores, ref, skip_bad, keeper.add)
        facts = {"examples": keeper.examples}
    elif scores:
        found = judged(scores, ref, skip_bad)
    else:
        found, facts = evaluate_networks(store, criterion, allow_mismatch, report)
    if report:
        from ..report import write_report

        write_report(report, found, title=", ".join(scores or store), figures=figures, **facts)
        click.echo(f"{report}: the report" + (f"; its plots are in {figures}" if figures else ""), err=True)
    if as_json:
        click.echo(json.dumps(found.to_dict()))
    else:
        print_evaluation(found)


def evaluate_networks(
    given: tuple[str, ...], criterion: str | None, allow_mismatch: bool, report: Path | None = None
) -> tuple[Evaluation, dict[str, Any]]:
    """The evaluation, and what a report shows besides."""
    from ..base.progress import byte_progress
    from ..confidence.adapt import adapted_ahead
    from ..confidence.model_file import read_log
    from ..confidence.word_scorer import load
    from ..evaluation.evaluate import evaluate as measure
    from ..formats import stream

    model, stores = _model_and_stores(given)
    scorer = None if model is None else load(model, allow_mismatch=allow_mismatch)
    if scorer and scorer.wants_adapting:
        scorer = adapted_ahead(scorer, stream(stores))[0]
        tell_if_rough(scorer)
    judge, choose = _judge(scorer, criterion)
    keeper = None
    if report:
        from ..report import ExampleKeeper

        curve = scorer.calibration if scorer else None
        keeper = ExampleKeeper(show=curve.parts["words"].predict if curve else None)
        choose = keeper.watching(choose)
    with byte_progress("evaluating", stores) as watch:
        found = measure(stream(stores, watch=watch), judge, choose)
    if not found.utterances:
        raise OptionError("no utterances found")
    if scorer:
        _tell_calibrated_on(scorer, found)
    return found, {} if keeper is None else {"examples": keeper.examples, "log": read_log(model) if model else []}


def _tell_calibrated_on(scorer: WordScorer, found: Evaluation) -> None:
    """Calibrated figures are no test on speakers that the calibration was fitted on."""
    seen = scorer.calibrated_on(found.errors["one_best"].speakers)
    if seen:
        told = f"the model was calibrated on {seen:,} of these speakers: calibrated figures look too good here"
        click.echo(f"wordtrust: {told}", err=True)


def _model_and_stores(given: tuple[str, ...]) -> tuple[Path | None, tuple[str, ...]]:
    """The model, if the first argument is one."""
    from ..confidence.shipped import is_model

    if not is_model(given[0]):
        late = next((each for each in given[1:] if is_model(each)), None)
        if late:
            raise OptionError(f"{late} is a model: it comes first, the stores after it")
        return None, given
    if len(given) == 1:
        raise OptionError(f"{given[0]} is a model; name the store to evaluate it on after it")
    return Path(given[0]), given[1:]


def _judge(scorer: WordScorer | None, criterion: str | None) -> tuple[ArcScorer, Choose]:
    """Whose confidences are measured, and how they choose words."""
    from functools import partial

    from ..confidence.choice import Choice
    from ..confidence.model_calibration import calibrated_judge
    from ..evaluation.evaluate import posterior_confidence

    if scorer is None:
        return posterior_confidence, Choice(criterion or "mean").paths
    choice = Choice(criterion, scorer.choice.threshold) if criterion else scorer.choice
    return partial(calibrated_judge, scorer), choice.paths

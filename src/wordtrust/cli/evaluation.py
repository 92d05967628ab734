"""Verbs that compare confidences with references: evaluate, threshold."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..base.errors import OptionError
from .inputs import announce_compilation, tell_if_rough, tell_skipped

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_NOTHING_NAMED = "name a STORE of networks (after a MODEL, if there is one), or --scores FILE with --ref REF"

if TYPE_CHECKING:
    from ..confidence.word_scorer import WordScorer
    from ..evaluation.evaluate import ArcScorer, Choose, Evaluation
    from ..evaluation.metrics import Scores
    from ..lattices.lattice import Floats, Lattices
    from ..lattices.paths import Paths

    Look = Callable[[Lattices, Floats, Paths], None]


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
        raise OptionError(_NOTHING_NAMED)
    if figures and not report:
        raise OptionError("--figures come with a report: --report FILE.html")
    facts: dict[str, Any] = {}
    if scores and report:
        from ..report import ExampleKeeper

        keeper = ExampleKeeper()
        found = evaluate_scores(scores, ref, skip_bad, keeper.add)
        facts = {"examples": keeper.examples}
    elif scores:
        found = evaluate_scores(scores, ref, skip_bad)
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
    from ..confidence.model_file import read_log
    from ..confidence.word_scorer import load
    from ..evaluation.evaluate import evaluate as measure
    from ..formats import stream

    model, stores = _model_and_stores(given)
    scorer = None if model is None else load(model, allow_mismatch=allow_mismatch)
    if scorer and scorer.wants_adapting:
        scorer = scorer.adapted_ahead(stream(stores))[0]
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

    from ..confidence.calibrate_model import arc_confidences
    from ..confidence.choice import Choice
    from ..evaluation.evaluate import posterior_confidence

    if scorer is None:
        return posterior_confidence, Choice(criterion or "mean").paths
    choice = Choice(criterion, scorer.choice.threshold) if criterion else scorer.choice
    return partial(arc_confidences, scorer), choice.paths


def evaluate_scores(
    scores: tuple[str, ...], ref: Path | None, skip_bad: bool, look: Look | None = None
) -> Evaluation:
    """The words of files with confidences, against references."""
    from ..base.progress import byte_progress
    from ..evaluation.given_confidences import evaluate_words
    from ..formats import stream
    from ..formats.references import read_references
    from ..lattices.assemble import Problems

    if ref is None:
        raise OptionError("--scores needs the references: --ref REF.tsv")
    references, problems = read_references(ref), Problems(skip=skip_bad, tell=tell_skipped)
    with byte_progress("reading", scores) as watch:
        batches = stream(scores, problems=problems, watch=watch)
        found = evaluate_words(batches, references, problems, look)
    if not found.utterances:
        raise OptionError("no utterances found")
    tell_unheard(len(references) - found.utterances, len(references))
    return found


def tell_unheard(missing: int, references: int) -> None:
    """A file of words cannot say that nothing was said: what it lacks counts as no error, which has to be known."""
    if missing > 0:
        click.echo(
            f"wordtrust: {missing:,} of {references:,} references have no output here and are not counted", err=True
        )


@click.command()
@click.argument("store", nargs=-1, metavar="[MODEL] STORE...")
@click.option("--scores", multiple=True, metavar="FILE", help="Words with confidences (CTM, JSON), not a STORE.")
@click.option("--ref", type=click.Path(path_type=Path), help="References for --scores.")
@click.option("--skip-bad", is_flag=True, help="With --scores: leave out what has no reference or no confidence.")
@click.option("--precision", type=_SHARE, default=0.98, show_default=True,
              help="Share of the accepted words that has to be right.")  # fmt: skip
@click.option("--level", type=_SHARE, default=0.95, show_default=True,
              help="How sure that is for speakers nobody has heard yet.")  # fmt: skip
@click.option("--method", type=click.Choice(["betting", "bootstrap"]), default="betting", show_default=True,
              help="Valid for any number of speakers, or approximate but sharper for few.")  # fmt: skip
@click.option("--allow-mismatch", is_flag=True, help="Also with a model that was not trained for these networks.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def threshold(
    store: tuple[str, ...],
    scores: tuple[str, ...],
    ref: Path | None,
    precision: float,
    level: float,
    method: str,
    *,
    skip_bad: bool,
    allow_mismatch: bool,
    as_json: bool,
) -> None:
    """From which confidence on can words be accepted unseen?

    The threshold on these words, the one that also holds for new speakers, and what reviewing the least trusted
    words finds. STORE must not be what the model was trained or calibrated on.

    \b
    Example: wordtrust threshold model eval.networks --precision 0.98
    """
    from ..evaluation.metrics import errors_caught, guaranteed_threshold, operating_point
    from .tables import print_threshold

    announce_compilation()
    if bool(scores) == bool(store):
        raise OptionError(_NOTHING_NAMED)
    words = shown_words(
        evaluate_scores(scores, ref, skip_bad) if scores else evaluate_networks(store, None, allow_mismatch)[0]
    )
    here, sure = operating_point(words, precision), guaranteed_threshold(words, precision, level, method=method)
    review = {f"{share:g}": errors_caught(words, share) for share in (0.05, 0.1, 0.2, 0.3)}
    if as_json:
        on_these = None if here is None else asdict(here)
        click.echo(
            json.dumps({"on_these_words": on_these, "on_new_speakers": sure.to_dict(), "errors_caught": review})
        )
    else:
        print_threshold(len(words), here, sure, review)


def shown_words(found: Evaluation) -> Scores:
    """The words that people get, with the best scores there are."""
    for population in ("output", "one_best"):
        for kind in ("calibrated", "confidence", "posterior"):
            if (population, kind) in found.scores:
                return found.scores[population, kind]
    raise OptionError("no words with confidences found")

"""Verbs that compare confidences with references: evaluate, threshold."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..base.errors import OptionError
from .inputs import announce_compilation
from .messages import notify, notify_report, notify_skipped, warn_if_barely_adapted, warn_of_missing_outputs
from .options import criterion_option, json_option, mismatch_option, report_options

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_NOTHING_NAMED = "name a STORE of networks (after a MODEL, if there is one), or --scores FILE with --ref REF"

if TYPE_CHECKING:
    from ..confidence.word_scorer import WordScorer
    from ..evaluation.evaluation import Evaluation, Inspect
    from ..report import ExampleKeeper


@dataclass(frozen=True, slots=True)
class ScoreFiles:
    """Files of words with confidences, and the references that say which of them are right."""

    paths: tuple[str, ...]
    ref: Path | None
    skip_bad: bool

    def evaluate(self, inspect: Inspect | None = None) -> Evaluation:
        """The words against their references."""
        from ..base.problems import Problems
        from ..base.progress import byte_progress
        from ..confidence.evaluate_model import evaluate as evaluate_model
        from ..formats import stream_files
        from ..formats.references import read_references

        if self.ref is None:
            raise OptionError("--scores needs the references: --ref REF.tsv")
        references, problems = read_references(self.ref), Problems(skip=self.skip_bad, notify=notify_skipped)
        with byte_progress("reading", self.paths) as watch:
            batches = stream_files(self.paths, problems=problems, watch=watch)
            evaluation = evaluate_model(batches, references=references, problems=problems, inspect=inspect)
        warn_of_missing_outputs(len(references) - evaluation.utterances, len(references))
        return evaluation


def score_files(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command --scores with --ref and --skip-bad, as one `scores` argument; None without --scores."""

    @click.option(
        "--scores", multiple=True, metavar="FILE", help="Words with confidences (CTM, JSON) instead of networks."
    )
    @click.option("--ref", type=click.Path(path_type=Path), help="References for --scores.")
    @click.option("--skip-bad", is_flag=True, help="With --scores: leave out what has no reference or no confidence.")
    @wraps(command)
    def wrapped(scores: tuple[str, ...], ref: Path | None, *, skip_bad: bool, **rest: Any) -> None:
        announce_compilation()
        command(scores=ScoreFiles(scores, ref, skip_bad) if scores else None, **rest)

    return wrapped


@click.command()
@click.argument("store", nargs=-1, metavar="[MODEL] STORE...")
@criterion_option
@score_files
@report_options
@mismatch_option
@json_option
def evaluate(
    store: tuple[str, ...],
    criterion: str | None,
    scores: ScoreFiles | None,
    report: Path | None,
    figures: Path | None,
    *,
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
    from ..confidence.word_scorer import load
    from .tables import print_evaluation

    if bool(scores) == bool(store):
        raise OptionError(_NOTHING_NAMED)
    model, stores = _model_and_stores(store)
    scorer = load(model, allow_mismatch=allow_mismatch) if model else None
    keeper = _example_keeper(scorer) if report else None
    inspect = keeper.add if keeper else None
    evaluation = scores.evaluate(inspect) if scores else _evaluate_networks(scorer, stores, criterion, inspect)
    if report and keeper:
        from ..confidence.model_file import read_log
        from ..report import write_report

        log = read_log(model) if model else []
        title = ", ".join(scores.paths if scores else store)
        write_report(report, evaluation, title=title, figures=figures, examples=keeper.examples, log=log)
        notify_report(report, figures)
    if as_json:
        click.echo(json.dumps(evaluation.to_dict()))
    else:
        print_evaluation(evaluation)


def _example_keeper(scorer: WordScorer | None) -> ExampleKeeper:
    from ..report import ExampleKeeper

    calibration = scorer.calibration if scorer else None
    return ExampleKeeper(show=calibration.parts["words"].predict if calibration else None)


def _evaluate_networks(
    scorer: WordScorer | None,
    stores: tuple[str, ...],
    criterion: str | None = None,
    inspect: Inspect | None = None,
) -> Evaluation:
    from ..base.progress import byte_progress
    from ..confidence.evaluate_model import evaluate as evaluate_model
    from ..formats import stream_files

    with byte_progress("evaluating", stores) as watch:
        batches = stream_files(stores, watch=watch)
        if scorer:
            scorer, batches = scorer.adapted_ahead(batches)
            warn_if_barely_adapted(scorer)
        evaluation = evaluate_model(batches, scorer, criterion=criterion, inspect=inspect)
    if scorer:
        _warn_if_calibrated_on(scorer, evaluation)
    return evaluation


def _warn_if_calibrated_on(scorer: WordScorer, evaluation: Evaluation) -> None:
    """Calibrated figures are no test on speakers that the calibration was fitted on."""
    seen = scorer.calibrated_on(evaluation.errors["one_best"].speakers)
    if seen:
        notify(f"the model was calibrated on {seen:,} of these speakers: calibrated figures look too good here")


def _model_and_stores(given: tuple[str, ...]) -> tuple[Path | None, tuple[str, ...]]:
    """The model, if the first argument is one."""
    from ..confidence.shipped import is_model

    if not given:
        return None, ()
    if not is_model(given[0]):
        late = next((path for path in given[1:] if is_model(path)), None)
        if late:
            raise OptionError(f"{late} is a model: it comes first, the stores after it")
        return None, given
    if len(given) == 1:
        raise OptionError(f"{given[0]} is a model; name the store to evaluate it on after it")
    return Path(given[0]), given[1:]


@click.command()
@click.argument("store", nargs=-1, metavar="[MODEL] STORE...")
@score_files
@click.option("--precision", type=_SHARE, default=0.98, show_default=True,
              help="Share of the accepted words that has to be right.")  # fmt: skip
@click.option("--level", type=_SHARE, default=0.95, show_default=True,
              help="How sure that is for speakers nobody has heard yet.")  # fmt: skip
@click.option("--method", type=click.Choice(["betting", "bootstrap"]), default="betting", show_default=True,
              help="Valid for any number of speakers, or approximate but sharper for few.")  # fmt: skip
@mismatch_option
@json_option
def threshold(
    store: tuple[str, ...],
    scores: ScoreFiles | None,
    precision: float,
    level: float,
    method: str,
    *,
    allow_mismatch: bool,
    as_json: bool,
) -> None:
    """Find the confidence from which on words can be accepted without review.

    Prints the threshold for these words, the one that also holds for new speakers, and what reviewing the words of
    lowest confidence finds. STORE must not be what the model was trained or calibrated on.

    \b
    Example: wordtrust threshold model eval.networks --precision 0.98
    """
    from ..confidence.word_scorer import load
    from ..evaluation.threshold import threshold as find_thresholds
    from .tables import print_threshold

    if bool(scores) == bool(store):
        raise OptionError(_NOTHING_NAMED)
    model, stores = _model_and_stores(store)
    scorer = load(model, allow_mismatch=allow_mismatch) if model else None
    evaluation = scores.evaluate() if scores else _evaluate_networks(scorer, stores)
    thresholds = find_thresholds(evaluation, precision, level, method=method)
    if as_json:
        click.echo(json.dumps(thresholds.to_dict()))
    else:
        print_threshold(thresholds)

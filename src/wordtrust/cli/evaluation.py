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
from .inputs import announce_compilation, load_references
from .messages import (
    echo,
    notify,
    notify_report,
    notify_skipped,
    warn_if_barely_adapted,
    warn_of_language_model,
    warn_of_missing_outputs,
    warn_of_odd_references,
)
from .options import (
    claim_report,
    criterion_option,
    equate_option,
    glm_option,
    json_option,
    lm_option,
    mismatch_option,
    overwrite_option,
    report_options,
    rules_option,
)

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_NOTHING_NAMED = "name a STORE of networks (after a MODEL, if there is one), or --scores FILE with --ref REF"

if TYPE_CHECKING:
    from ..confidence.calibration import Calibrator
    from ..confidence.word_scorer import WordScorer
    from ..evaluation.evaluation import Evaluation, Inspect
    from ..evaluation.metrics import Scores
    from ..formats.references import References
    from ..networks.equivalents import Equate
    from ..report import ExampleKeeper


@dataclass(frozen=True, slots=True)
class ScoreFiles:
    """Files of words with confidences, and the references that say which of them are right."""

    paths: tuple[str, ...]
    ref: Path | None
    skip_bad: bool
    rules: str | None = None
    glm: Path | None = None
    equate: Equate | None = None

    def evaluate(self, inspect: Inspect | None = None, calibrator: Calibrator | None = None) -> Evaluation:
        """The words against their references; their confidences also as a calibrator changes them."""
        from ..base.problems import Problems
        from ..base.progress import byte_progress
        from ..confidence.evaluate_model import evaluate as evaluate_model
        from ..formats import stream_files
        from ..formats.format import ReadOptions
        from ..formats.references.glm import read_glm

        if self.ref is None:
            raise OptionError("--scores needs the references: --ref REF.tsv")
        glm = None if self.glm is None else read_glm(self.glm)
        references, heard = load_references(self.ref, glm), set[str]()
        problems = Problems(skip=self.skip_bad, notify=notify_skipped)
        with byte_progress("reading", self.paths) as watch:
            batches = stream_files(self.paths, ReadOptions(for_scoring=True, keep_silent=True), problems, watch=watch)
            evaluation = evaluate_model(
                batches, calibrator, references=references, rules=self.rules, glm=glm, equate=self.equate,
                problems=problems, inspect=inspect, heard=heard,
            )  # fmt: skip
        _warn_of_missing(references, heard)
        warn_of_odd_references(evaluation.errors["one_best"].total.wer, self.ref)
        if not evaluation.scores:
            notify("these words have no confidences: only the words are compared")
        return evaluation

    def scores(self, calibrator: Calibrator | None = None) -> Scores:
        """The words with their confidences; an error if they have none."""
        return self.evaluate(calibrator=calibrator).words


def _warn_of_missing(references: References, heard: set[str]) -> None:
    """Say what counts as deleted, and what is not counted."""
    missing = [reference for utt, reference in references.items() if utt not in heard]
    deleted = sum(reference.channel is not None for reference in missing)
    if deleted:
        notify(f"{deleted:,} of {len(references):,} recordings have no words here: they count as deleted")
    warn_of_missing_outputs(len(missing) - deleted, len(references))


def score_files(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command --scores and what goes with it, as one `scores` argument; None without --scores."""

    @click.option(
        "--scores", multiple=True, metavar="FILE", help="Words with confidences (CTM, JSON) instead of networks."
    )
    @click.option("--ref", type=click.Path(path_type=Path), help="References for --scores.")
    @glm_option
    @rules_option
    @equate_option
    @click.option("--skip-bad", is_flag=True, help="With --scores: leave out what has no reference or no confidence.")
    @wraps(command)
    def wrapped(
        scores: tuple[str, ...],
        ref: Path | None,
        glm: Path | None,
        rules: str | None,
        equate: Equate | None,
        *,
        skip_bad: bool,
        **rest: Any,
    ) -> None:
        announce_compilation()
        if equate is not None and not scores:
            raise OptionError("networks say themselves what their labels equate (wordtrust build --equate)")
        command(scores=ScoreFiles(scores, ref, skip_bad, rules, glm, equate) if scores else None, **rest)

    return wrapped


@click.command()
@click.argument("store", nargs=-1, metavar="[MODEL] STORE...")
@criterion_option
@score_files
@report_options
@overwrite_option
@mismatch_option
@lm_option
@json_option
def evaluate(
    store: tuple[str, ...],
    criterion: str | None,
    scores: ScoreFiles | None,
    report: Path | None,
    figures: Path | None,
    lm: str | None,
    *,
    overwrite: bool,
    allow_mismatch: bool,
    as_json: bool,
) -> None:
    """Measure the words and confidences of networks made with references.

    Without a MODEL, posteriors are the confidence. With --scores, those that any recognizer wrote, or words without;
    a calibrator in place of MODEL changes them. CTM against STM gives the totals of NIST's sclite.

    \b
    Examples: wordtrust evaluate eval.networks --json
              wordtrust evaluate model eval.networks --report report.html
              wordtrust evaluate --scores calls.ctm --ref calls.stm --glm en.glm
              wordtrust evaluate calibrator.json --scores calls.ctm --ref calls.stm
    """
    from .tables import print_evaluation

    calibrator = _calibrator_before(scores, store)
    claim_report(report, figures, overwrite=overwrite)
    model, stores = (None, ()) if scores else _model_and_stores(store)
    scorer = _loaded(None if calibrator else model, allow_mismatch, lm)
    keeper = _example_keeper(scorer, calibrator) if report else None
    inspect = keeper.add if keeper else None
    if scores:
        evaluation = scores.evaluate(inspect, calibrator)
    else:
        evaluation = _evaluate_networks(scorer or calibrator, stores, criterion, inspect)
    if report and keeper:
        from ..confidence.model_file import read_log
        from ..report import write_report

        log = read_log(model) if model and scorer else []
        title = ", ".join(scores.paths if scores else store)
        write_report(report, evaluation, title=title, figures=figures, examples=keeper.examples, log=log)
        notify_report(report, figures)
    if as_json:
        echo(json.dumps(evaluation.to_dict()))
    else:
        print_evaluation(evaluation)


def _loaded(model: Path | None, allow_mismatch: bool, lm: str | None) -> WordScorer | None:
    from ..confidence.word_scorer import load

    if model is None:
        if lm is not None:
            raise OptionError("--lm is for models: name one before the networks")
        return None
    scorer = load(model, allow_mismatch=allow_mismatch, lm=lm)
    warn_of_language_model(scorer)
    return scorer


def _example_keeper(scorer: WordScorer | None, calibrator: Calibrator | None) -> ExampleKeeper:
    from ..report import ExampleKeeper

    if scorer and scorer.calibration:
        calibrator = scorer.calibration.parts["words"]
    return ExampleKeeper(show=calibrator.predict if calibrator else None)


def _evaluate_networks(
    scorer: WordScorer | Calibrator | None,
    stores: tuple[str, ...],
    criterion: str | None = None,
    inspect: Inspect | None = None,
) -> Evaluation:
    from ..base.progress import byte_progress
    from ..confidence.evaluate_model import evaluate as evaluate_model
    from ..confidence.word_scorer import WordScorer
    from ..formats import stream_files

    with byte_progress("evaluating", stores) as watch:
        batches = stream_files(stores, watch=watch)
        if isinstance(scorer, WordScorer):
            scorer, batches = scorer.adapted_ahead(batches)
            warn_if_barely_adapted(scorer)
        evaluation = evaluate_model(batches, scorer, criterion=criterion, inspect=inspect)
    if isinstance(scorer, WordScorer):
        _warn_if_calibrated_on(scorer, evaluation)
    return evaluation


def _warn_if_calibrated_on(scorer: WordScorer, evaluation: Evaluation) -> None:
    """Calibrated figures are no test on speakers that the calibration was fitted on."""
    seen = scorer.calibrated_on(evaluation.errors["one_best"].speakers)
    if seen:
        notify(f"the model was calibrated on {seen:,} of these speakers: calibrated figures look too good here")


def _model_and_stores(given: tuple[str, ...]) -> tuple[Path | None, tuple[str, ...]]:
    """The model, or the calibrator, if the first argument is one."""
    from ..confidence.calibrator_file import is_calibrator
    from ..confidence.shipped import is_model

    if not given:
        return None, ()
    if not is_model(given[0]) and not is_calibrator(Path(given[0])):
        late = next((path for path in given[1:] if is_model(path)), None)
        if late:
            raise OptionError(f"{late} is a model: it comes first, the stores after it")
        return None, given
    if len(given) == 1:
        raise OptionError(
            f"{given[0]} is a model or calibrator; name the store to evaluate it on after it, or words (--scores)"
        )
    return Path(given[0]), given[1:]


def _calibrator_before(scores: ScoreFiles | None, given: tuple[str, ...]) -> Calibrator | None:
    """The calibrator that is named first, if one is; an error if it is not clear what is wanted."""
    from ..confidence.calibrator_file import is_calibrator, load_calibrator

    if given and is_calibrator(Path(given[0])) and (not scores or len(given) == 1):
        return load_calibrator(Path(given[0]))
    if bool(scores) == bool(given):
        raise OptionError(_NOTHING_NAMED)
    return None


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
@lm_option
@json_option
def threshold(
    store: tuple[str, ...],
    scores: ScoreFiles | None,
    precision: float,
    level: float,
    method: str,
    lm: str | None,
    *,
    allow_mismatch: bool,
    as_json: bool,
) -> None:
    """Find the confidence from which on words can be accepted without review.

    Prints what several thresholds accept, with intervals; the threshold for these words, and the one that also holds
    for new speakers (or what that would take, and what can be promised instead); and what reviewing the words of
    lowest confidence finds. STORE must not be what the model was trained or calibrated on.

    \b
    Examples: wordtrust threshold model eval.networks --precision 0.98
              wordtrust threshold calibrator.json --scores calls.ctm --ref calls.stm
    """
    from ..evaluation.threshold import threshold as find_thresholds
    from .tables import print_threshold

    calibrator = _calibrator_before(scores, store)
    if scores:
        if lm is not None:
            raise OptionError("--lm is for models and networks; words of --scores have their confidences")
        words = scores.scores(calibrator)
    else:
        model, stores = _model_and_stores(store)
        scorer = _loaded(None if calibrator else model, allow_mismatch, lm)
        words = _evaluate_networks(scorer or calibrator, stores).words
    thresholds = find_thresholds(words, precision, level, method=method)
    if as_json:
        echo(json.dumps(thresholds.to_dict()))
    else:
        print_threshold(thresholds)

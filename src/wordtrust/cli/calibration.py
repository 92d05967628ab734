"""Verbs about calibration: calibrate, threshold."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base.errors import OptionError
from .inputs import announce_compilation, tell_skipped

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
NOTHING_NAMED = "name a STORE of networks (after a MODEL, if there is one), or --scores FILE with --ref REF"

if TYPE_CHECKING:
    from ..lattices.lattice import Floats, Lattices
    from ..lattices.paths import Paths

    Look = Callable[[Lattices, Floats, Paths], None]
    from ..evaluation.evaluate import Evaluation
    from ..evaluation.metrics import Scores


@click.command()
@click.argument("paths", nargs=-1, metavar="MODEL STORE...")
@click.option("--scores", multiple=True, metavar="FILE", help="Words with confidences (CTM, JSON): no model needed.")
@click.option("--ref", type=click.Path(path_type=Path), help="References for --scores.")
@click.option("--skip-bad", is_flag=True, help="With --scores: leave out what has no reference or no confidence.")
@click.option("--out", type=click.Path(path_type=Path),
              help="Where the calibrator goes (JSON), or the calibrated model [into the MODEL].")  # fmt: skip
@click.option("--fold-model", multiple=True, type=click.Path(path_type=Path), metavar="MODEL",
              help="Trained without a fold of speakers (train --folds): scores those that it never saw.")  # fmt: skip
@click.option("--calibrator", default="kernel", show_default=True, help="Which one (docs/calibration.md).")
@click.option("--keep-choice", is_flag=True, help="Leave how words are chosen as the model has it.")
@click.option("--compare", "comparing", is_flag=True, help="Only compare all calibrators on held-out speakers.")
@click.option("--allow-mismatch", is_flag=True, help="Also with networks that the model was not trained for.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def calibrate(
    paths: tuple[str, ...],
    scores: tuple[str, ...],
    ref: Path | None,
    out: Path | None,
    fold_model: tuple[Path, ...],
    calibrator: str,
    *,
    skip_bad: bool,
    keep_choice: bool,
    comparing: bool,
    allow_mismatch: bool,
    as_json: bool,
) -> None:
    """Make confidences mean what they say: of the words given 0.9, nine in ten are right.

    With a MODEL: fits its calibration, and how it chooses words, on a STORE that it was not trained on, and keeps
    both in the model. With --scores: fits a calibrator on any recognizer's words, which `wordtrust score` applies.

    \b
    Examples: wordtrust calibrate model dev.networks
              wordtrust calibrate --scores calls.ctm --ref calls.stm --out calls.json
    """
    announce_compilation()
    if bool(scores) == bool(paths):
        raise OptionError("name a MODEL and a STORE to calibrate it on, or --scores FILE with --ref REF")
    if scores:
        _calibrate_scores(scores, ref, out, calibrator, skip_bad, comparing, as_json)
        return
    if len(paths) < 2:
        raise OptionError(f"{paths[0]}: name the STORE to calibrate the model on after it")
    model, stores = Path(paths[0]), paths[1:]
    _check_target(model, out, comparing)
    _calibrate_model(model, stores, out, fold_model, calibrator, keep_choice, comparing, allow_mismatch, as_json)


def _calibrate_scores(
    scores: tuple[str, ...],
    ref: Path | None,
    out: Path | None,
    name: str,
    skip_bad: bool,
    comparing: bool,
    as_json: bool,
) -> None:
    from ..confidence.calibration import make
    from ..confidence.model_calibration import save_calibrator
    from ..evaluation.given_confidences import CONFIDENCE, ONE_BEST

    if out is None and not comparing:
        raise OptionError("say where the calibrator goes: --out FILE.json (or --compare)")
    curve = make(name)
    words = judged(scores, ref, skip_bad).scores[ONE_BEST, CONFIDENCE]
    if comparing or out is None:
        _print_comparison(words, as_json)
        return
    save_calibrator(out, curve.fit(words.score, words.correct, groups=words.speaker))
    click.echo(f"{out}: {name}, fitted on {len(words):,} words of {len(words.speakers):,} speakers")


def judged(scores: tuple[str, ...], ref: Path | None, skip_bad: bool, look: Look | None = None) -> Evaluation:
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


def _check_target(model: Path, out: Path | None, comparing: bool) -> None:
    """Models that come with wordtrust stay as they are."""
    from ..confidence.model_file import refuse_to_overwrite
    from ..confidence.shipped import is_shipped

    if out is not None:
        refuse_to_overwrite(out, overwrite=False)
    elif is_shipped(model) and not comparing:
        raise OptionError(f"{model} comes with wordtrust: say where the calibrated model goes with --out FOLDER")


def _calibrate_model(
    model: Path,
    stores: tuple[str, ...],
    out: Path | None,
    fold_models: tuple[Path, ...],
    name: str,
    keep_choice: bool,
    comparing: bool,
    allow_mismatch: bool,
    as_json: bool,
) -> None:
    from ..base.folds import speaker_number
    from ..confidence.choice import choose
    from ..confidence.model_calibration import Folds, fit_calibration, held_out
    from ..confidence.model_card import CalibrationData
    from ..confidence.model_file import read_log, save_model, update_card
    from ..confidence.out_of_domain import learned
    from ..confidence.word_scorer import load
    from ..evaluation.evaluate import path_errors
    from ..formats import stream

    scorer = load(model, allow_mismatch=allow_mismatch)
    folds = Folds(scorer, [load(each, allow_mismatch=allow_mismatch) for each in fold_models])
    card = scorer.model.card
    if not keep_choice:
        scorer.choice, errors = choose(folds.confidence, stream(stores), path_errors)
        card = replace(card, choice=scorer.choice, choice_errors=errors)
    found = held_out(map(scorer.networks, stream(stores)), folds, scorer.choice.paths)
    words = found.scores["output", "confidence"]
    if comparing:
        _print_comparison(words, as_json)
        return
    curve = fit_calibration(found, name)
    speakers = tuple(sorted(speaker_number(name) for name in words.speakers))
    card = replace(
        card,
        calibration=curve.to_dict(),
        usual_features=learned(scorer.model, map(scorer.networks, stream(stores)), found.utterances),
        calibrated_on=CalibrationData(found.utterances, len(words), speakers=speakers),
    )
    if out is None:
        update_card(model, card)
    else:
        save_model(replace(scorer.model, card=card), out, read_log(model))
    told = f"calibrated on {found.utterances:,} utterances, {len(words):,} words; words chosen by {scorer.choice}"
    click.echo(f"{out or model}: {told}")
    before = words.metrics()
    after = replace(words, score=curve.of("words", words.score)).metrics()
    if before.nce is not None and after.nce is not None:
        click.echo(
            f"on these words: NCE {before.nce:.3f} before, {after.nce:.3f} now; ECE {before.ece:.4f}, {after.ece:.4f}"
        )


def _print_comparison(words: Scores, as_json: bool) -> None:
    import numpy as np

    from ..confidence.calibration import compare

    table = compare(np.clip(words.score, 0, 1), words.correct, groups=words.speaker)
    click.echo(json.dumps(table.to_dict()) if as_json else str(table))


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
        raise OptionError(NOTHING_NAMED)
    words = shown_words(judged(scores, ref, skip_bad) if scores else _evaluated(store, allow_mismatch))
    here, sure = operating_point(words, precision), guaranteed_threshold(words, precision, level, method=method)
    review = {f"{share:g}": errors_caught(words, share) for share in (0.05, 0.1, 0.2, 0.3)}
    if as_json:
        on_these = None if here is None else asdict(here)
        click.echo(
            json.dumps({"on_these_words": on_these, "on_new_speakers": sure.to_dict(), "errors_caught": review})
        )
    else:
        print_threshold(len(words), here, sure, review)


def _evaluated(store: tuple[str, ...], allow_mismatch: bool) -> Evaluation:
    from .networks import evaluate_networks

    return evaluate_networks(store, None, allow_mismatch)[0]


def shown_words(found: Evaluation) -> Scores:
    """The words that people get, with the best scores there are."""
    for population in ("output", "one_best"):
        for kind in ("calibrated", "confidence", "posterior"):
            if (population, kind) in found.scores:
                return found.scores[population, kind]
    raise OptionError("no words with confidences found")

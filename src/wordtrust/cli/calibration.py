"""The verb calibrate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base.errors import OptionError
from ..base.number_format import counted
from .evaluation import ScoreFiles, score_files
from .messages import echo, notify, warn_of_language_model
from .options import claim_output, json_option, lm_option, mismatch_option, out_option, overwrite_option

if TYPE_CHECKING:
    from ..confidence.calibrate_model import CalibratedModel
    from ..evaluation.metrics import Scores


@click.command()
@click.argument("paths", nargs=-1, metavar="MODEL STORE...")
@score_files
@out_option(type=click.Path(path_type=Path),
              help="Where the calibrator goes (JSON), or the calibrated model [into the MODEL].")  # fmt: skip
@overwrite_option
@click.option("--fold-model", multiple=True, type=click.Path(path_type=Path), metavar="MODEL",
              help="Trained without a fold of speakers (train --folds): scores those that it never saw.")  # fmt: skip
@click.option("--calibrator", default="kernel", show_default=True, help="Which one (docs/calibration.md).")
@click.option("--keep-choice", is_flag=True, help="Leave how words are chosen as the model has it.")
@click.option("--compare", "comparing", is_flag=True, help="Only compare all calibrators on held-out speakers.")
@mismatch_option
@lm_option
@json_option
def calibrate(
    paths: tuple[str, ...],
    scores: ScoreFiles | None,
    out: Path | None,
    fold_model: tuple[Path, ...],
    calibrator: str,
    lm: str | None,
    *,
    overwrite: bool,
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
    if bool(scores) == bool(paths):
        raise OptionError("name a MODEL and a STORE to calibrate it on, or --scores FILE with --ref REF")
    if out is not None and not comparing:
        _claim(out, overwrite=overwrite, is_model=not scores)
    if lm is not None and (scores or comparing or fold_model):
        raise OptionError("--lm is for a model and networks that it reads, without --compare and --fold-model")
    if scores:
        _calibrate_scores(scores, out, calibrator, comparing, as_json)
        return
    if len(paths) < 2:
        raise OptionError(f"{paths[0]}: name the STORE to calibrate the model on after it")
    _calibrate_model(paths, out, fold_model, calibrator, keep_choice, comparing, allow_mismatch, as_json)
    if not comparing:
        _calibrate_lm_part(paths, out, lm, calibrator, keep_choice, allow_mismatch)


def _calibrate_scores(scores: ScoreFiles, out: Path | None, name: str, comparing: bool, as_json: bool) -> None:
    from ..confidence.calibrate_scores import fit_scores
    from ..confidence.calibration import make

    if out is None and not comparing:
        raise OptionError("say where the calibrator goes: --out FILE.json (or --compare)")
    unfitted = make(name)
    evaluation = scores.evaluate()
    words = evaluation.words
    if out is None or comparing:
        _print_comparison(words, as_json)
        return
    fit_scores(evaluation, unfitted).save(out)
    echo(f"{out}: {name}, fitted on {counted(len(words), 'word')} of {counted(len(words.speakers), 'speaker')}")
    _warn_of_few(words)


def _calibrate_model(
    paths: tuple[str, ...],
    out: Path | None,
    fold_models: tuple[Path, ...],
    name: str,
    keep_choice: bool,
    comparing: bool,
    allow_mismatch: bool,
    as_json: bool,
) -> None:
    from ..confidence.calibrate_model import calibrate_model, held_out_scores
    from ..confidence.model_file import update_card
    from ..confidence.word_scorer import load

    model, stores = Path(paths[0]), paths[1:]
    _refuse_shipped(model, out, comparing)
    scorer = load(model, allow_mismatch=allow_mismatch)
    folds = [load(folder, allow_mismatch=allow_mismatch) for folder in fold_models]
    if comparing:
        held_out = held_out_scores(scorer, stores, fold_scorers=folds, keep_choice=keep_choice)
        _print_comparison(held_out.words, as_json)
        return
    calibrated = calibrate_model(scorer, stores, fold_scorers=folds, calibrator=name, keep_choice=keep_choice)
    if out is None:
        update_card(model, calibrated.model.card)
    else:
        calibrated.save(out, trained=model)
    _tell_calibrated(out or model, calibrated)


def _calibrate_lm_part(
    paths: tuple[str, ...], out: Path | None, lm: str | None, name: str, keep_choice: bool, allow_mismatch: bool
) -> None:
    """What the model has for a language model, likewise, if one is named."""
    from ..confidence.calibrate_model import calibrate_model
    from ..confidence.lm_part import FILE, LanguageModelPart
    from ..confidence.shipped import folder_of
    from ..confidence.word_scorer import load

    model, stores = Path(paths[0]), paths[1:]
    if lm is None:
        if out is None and (model / FILE).is_file():
            notify("with a language model its confidences are calibrated as before; --lm calibrates them as well")
        return
    scorer = load(model, allow_mismatch=allow_mismatch, lm=lm)
    part = LanguageModelPart.load(folder_of(model), scorer.model)
    if part is None:
        return  # the model itself was trained with it
    warn_of_language_model(scorer)
    calibrated = calibrate_model(scorer, stores, calibrator=name, keep_choice=keep_choice)
    another = scorer.another_language_model()
    LanguageModelPart.of(another or part.language_model, calibrated.model).save(out or model)
    echo("with the language model:")
    _tell_calibrated(out or model, calibrated)


def _claim(out: Path, *, overwrite: bool, is_model: bool) -> None:
    from ..confidence.model_file import refuse_to_overwrite

    if is_model:
        refuse_to_overwrite(out, overwrite=overwrite)
    claim_output(out, overwrite=overwrite, is_folder=is_model)


def _refuse_shipped(model: Path, out: Path | None, comparing: bool) -> None:
    """Models that come with wordtrust stay as they are."""
    from ..confidence.shipped import is_shipped

    if out is None and is_shipped(model) and not comparing:
        raise OptionError(f"{model} comes with wordtrust: say where the calibrated model goes with --out FOLDER")


def _tell_calibrated(folder: Path, calibrated: CalibratedModel) -> None:
    words, choice = len(calibrated.held_out.words), calibrated.held_out.choice
    echo(
        f"{folder}: calibrated on {counted(calibrated.utterances, 'utterance')}, {counted(words, 'word')}; "
        f"words chosen by {choice}"
    )
    before, after = calibrated.before, calibrated.after
    if before.nce is not None and after.nce is not None:
        echo(
            f"on these words: NCE {before.nce:.3f} before, {after.nce:.3f} now; ECE {before.ece:.4f}, {after.ece:.4f}"
        )
    _warn_of_few(calibrated.held_out.words)


def _warn_of_few(words: Scores) -> None:
    from ..confidence.calibration.amount import few_words_warning

    warning = few_words_warning(len(words), len(words.speakers))
    if warning:
        notify(warning)


def _print_comparison(words: Scores, as_json: bool) -> None:
    import numpy as np

    from ..confidence.calibration import compare

    table = compare(np.clip(words.score, 0, 1), words.correct, groups=words.speaker)
    echo(json.dumps(table.to_dict()) if as_json else str(table))

"""The verb score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..base.errors import OptionError
from ..base.files import is_stdout, is_stream, require_new, require_parent
from ..base.number_format import counted, rounded_up
from .inputs import Inputs, lattice_inputs
from .messages import echo, notify, warn_if_barely_adapted, warn_of_generic, warn_of_language_model
from .options import (
    accept_option,
    claim_output,
    criterion_option,
    jobs_option,
    lm_option,
    mismatch_option,
    only_one,
    out_option,
    overwrite_option,
    require_model_first,
)  # fmt: skip

if TYPE_CHECKING:
    from ..confidence.calibrate_scores import CalibratedWords
    from ..confidence.estimation.accepted import AcceptedPrecision
    from ..confidence.word_scorer import WordScorer
    from ..lattices.lattice import Lattices
    from ..transcripts.transcript import Transcript

_OUTPUTS = ".txt, .jsonl, .json, .ctm, .vtt, .srt, .html, .parquet"


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@lattice_inputs
@out_option(required=True, multiple=True, metavar="FILE",
              help=f"Where the words go, by the ending: {_OUTPUTS}; - prints .jsonl; "
              "{name} stands for the utterance's name, and each has a file.")  # fmt: skip
@overwrite_option
@criterion_option
@click.option("--alternatives", type=click.IntRange(min=0), default=5, show_default=True, help="At most, for a word.")
@lm_option
@accept_option
@mismatch_option
@jobs_option("Batches scored at once [as many as there are cores].", old_names=("--threads",))
def score(
    model: Path,
    inputs: Inputs,
    out: tuple[str, ...],
    criterion: str | None,
    alternatives: int,
    lm: str | None,
    accept: float | None,
    jobs: int | None,
    *,
    overwrite: bool,
    allow_mismatch: bool,
) -> None:
    """Give the words of LATTICES (or a store of networks) their confidences. Needs no torch.

    MODEL is a folder that `wordtrust train` made, the name of a model that comes with wordtrust (`wordtrust models`;
    a folder here that has such a name too is given by its whole path), or a calibrator (`wordtrust calibrate
    --scores`) for words that come with confidences.

    \b
    Examples: wordtrust score model eval.ark.gz --out words.ctm
              wordtrust score calls.json calls.ctm --out calibrated.ctm
    """
    from ..formats.transcript.records import LANGUAGE_MODEL
    from ..transcripts.warning_summary import WarningSummary
    from ..transcripts.writer import TranscriptFiles, TranscriptPrinter, TranscriptWriter

    require_model_first(model, inputs.paths)
    scorer = load_scorer(model, criterion, allow_mismatch, jobs, lm)
    rule = None if accept is None else _accepted(scorer, accept, model)
    _warn_of_own_scales(scorer, inputs)
    target = Path(only_one("--out", out))
    if not (is_each := "{name}" in target.name):
        _refuse_input(target, inputs)
        TranscriptWriter(target)  # refuses what cannot be written
        claim_output(target, overwrite=overwrite)
    if not is_each and rule is None and (done := _calibrated_ctm(scorer, inputs, target)) is not None:
        echo(f"{target}: {counted(done[0], 'utterance')}, {counted(done[1], 'word')}", err=True)
        return
    inputs = replace(inputs, options=replace(inputs.options, keep_times=model.is_file()))
    utterances, words, unusual, channels = 0, 0, WarningSummary(), dict[str, tuple[str, str]]()
    about: dict[str, Any] = {"models": [model.name]}
    about |= {LANGUAGE_MODEL: read_by} if (read_by := getattr(scorer, LANGUAGE_MODEL, None)) else {}
    about |= {} if rule is None else {"accept": rule.about}
    batches = _noting_origins(inputs.batches("scoring"), channels, about)
    writing: TranscriptPrinter | TranscriptFiles | TranscriptWriter
    if is_each:
        writing = TranscriptFiles(target, partial(_require_free, inputs, overwrite=overwrite), about=about)
    else:
        to_stdout = is_stdout(target)
        writing = TranscriptPrinter(about) if to_stdout else TranscriptWriter(target, about=about, channels=channels)
    with writing as writer:
        for transcripts in scored(scorer, batches, alternatives):
            writer.add(transcripts if rule is None else [each.accepting(rule.threshold) for each in transcripts])
            unusual.add(transcripts)
            utterances, words = utterances + len(transcripts), words + sum(len(each.words) for each in transcripts)
    notify(*unusual.lines())
    if not is_stdout(target):
        echo(f"{target}: {counted(utterances, 'utterance')}, {counted(words, 'word')}", err=True)


def _accepted(scorer: WordScorer | CalibratedWords, precision: float, model: Path) -> AcceptedPrecision:
    """The threshold that --accept asks for, and what it promises."""
    from ..confidence.estimate import known_of
    from ..confidence.estimation.accepted import accepting

    rule = accepting(known_of(scorer).accept, precision, str(model))
    notify(f"words from {rounded_up(rule.threshold, 4)} on are accepted: {rule.told(precision)}")
    return rule


def _refuse_input(target: Path, inputs: Inputs) -> None:
    if not is_stream(target) and any(target.resolve() == Path(path).resolve() for path in inputs.paths):
        raise OptionError(f"{target}: is what is read; name another file")


def _require_free(inputs: Inputs, target: Path, *, overwrite: bool) -> None:
    """Refuse one of many outputs whose place is taken."""
    _refuse_input(target, inputs)
    require_parent(target)
    require_new(target, overwrite=overwrite)


def _calibrated_ctm(scorer: WordScorer | CalibratedWords, inputs: Inputs, out: Path) -> tuple[int, int] | None:
    """A calibrator changes the confidences of CTM and nothing else: utterances and words, None for other outputs."""
    from ..confidence.calibrate_scores import CalibratedWords

    if not isinstance(scorer, CalibratedWords):
        return None
    return inputs.copy_ctm("scoring", out, scorer.calibrator.predict)


def _noting_origins(
    batches: Iterator[Lattices], channels: dict[str, tuple[str, str]], about: dict[str, Any]
) -> Iterator[Lattices]:
    """The batches; `channels` gets the files and channels of CTM, for writing it again, `about` the recognizers."""
    from ..formats.ctm import names_and_channels

    for batch in batches:
        channels |= names_and_channels(batch)
        recognizer = {"name": batch.origin.recognizer}
        if batch.origin.recognizer and recognizer not in about.get("recognizers", ()):
            about.setdefault("recognizers", []).append(recognizer)
        yield batch


def _warn_of_own_scales(scorer: WordScorer | CalibratedWords, inputs: Inputs) -> None:
    """Say that the scales of a model that has some count for its posteriors, whatever the options are."""
    asked = inputs.options.acoustic_weight is not None or inputs.options.word_ins_penalty is not None
    if asked and getattr(scorer, "scales", None) is not None:
        notify("posteriors are made with the model's own scales; the options say what the recognizer's 1-best is")


def load_scorer(
    model: Path,
    criterion: str | None = None,
    allow_mismatch: bool = False,
    jobs: int | None = None,
    lm: str | None = None,
) -> WordScorer | CalibratedWords:
    """The model, or the calibrator, that a path names."""
    if model.is_file():
        if lm is not None:
            raise OptionError("--lm is for models; a calibrator changes nothing but confidences")
        from ..confidence.calibrate_scores import CalibratedWords

        return CalibratedWords.load(model)
    from ..confidence.choice import Choice
    from ..confidence.word_scorer import load

    scorer = load(model, allow_mismatch=allow_mismatch, threads=jobs, lm=lm)
    warn_of_language_model(scorer)
    return scorer.with_choice(Choice(criterion, scorer.choice.threshold)) if criterion else scorer


def scored(
    scorer: WordScorer | CalibratedWords, batches: Iterator[Lattices], alternatives: int
) -> Iterator[list[Transcript]]:
    """The transcripts of each batch."""
    from ..confidence.calibrate_scores import CalibratedWords

    if isinstance(scorer, CalibratedWords):
        for batch in batches:
            yield scorer(batch, alternatives=alternatives)
        return
    is_new = scorer.model.is_generic and scorer.model.card.adapted is None
    scorer, batches = scorer.adapted_ahead(batches)
    for index, batch in enumerate(batches):
        if index == 0 and is_new:
            warn_of_generic(scorer, batch.origin.recognizer)
        elif index == 0:
            warn_if_barely_adapted(scorer)
        yield scorer.score(batch, alternatives=alternatives)

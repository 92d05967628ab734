"""The verb estimate."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base.errors import InputError, OptionError
from ..base.number_format import counted
from .inputs import Inputs, lattice_inputs
from .messages import echo, notify
from .options import PATH, claim_output, dash_is_stdout, json_option, lm_option, mismatch_option, overwrite_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..confidence.drift import Drift
    from ..confidence.estimate import Estimates
    from ..confidence.estimation.held_out import KnownOfOutputs
    from ..lattices.lattice import Lattices
    from ..transcripts.transcript import Transcript

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.command()
@lattice_inputs
@click.option("--speakers", type=PATH, help="Who spoke: utt2spk, or a table with the columns utt and speaker.")
@click.option("--level", type=_SHARE, default=0.9, show_default=True, help="How sure intervals are for new speakers.")
@click.option("--by", type=click.Choice(["speaker", "file", "utterance"]), default="speaker", show_default=True,
              help="What has a line in the table.")  # fmt: skip
@click.option("--against", multiple=True, metavar="OLD", help="Earlier transcripts: has anything changed since?")
@click.option("--select", type=PATH, callback=dash_is_stdout, metavar="FILE",
              help="Write a manifest of chosen utterances (JSON lines).")  # fmt: skip
@click.option("--wer-under", type=click.FloatRange(min=0), metavar="WER",
              help="With --select: those whose estimated WER is at most this, to train on.")  # fmt: skip
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True),
              help="With --select: those to label first in so much time, most errors for each minute.")  # fmt: skip
@click.option("--manifest", type=PATH, help="With --select: choose from this manifest (NeMo's or lhotse's).")
@click.option("--figures", type=PATH, help="Write plots to this folder, as PNG and SVG.")
@overwrite_option
@mismatch_option
@lm_option
@json_option
def estimate(
    inputs: Inputs,
    speakers: Path | None,
    level: float,
    by: str,
    against: tuple[str, ...],
    select: Path | None,
    wer_under: float | None,
    minutes: float | None,
    manifest: Path | None,
    figures: Path | None,
    lm: str | None,
    *,
    overwrite: bool,
    allow_mismatch: bool,
    as_json: bool,
) -> None:
    """Estimate the errors of transcripts without references: [MODEL] TRANSCRIPTS, or MODEL LATTICES.

    TRANSCRIPTS are what `wordtrust score`, `transcribe` and `combine` write (.json, .jsonl, .parquet); they name the
    model, unless an earlier version wrote them. Prints expected substitutions, insertions and deletions, and the word
    error rate with an interval that holds for new speakers.

    \b
    Examples: wordtrust estimate calls.json
              wordtrust estimate ./model words.jsonl --speakers utt2spk --json
              wordtrust estimate june.json --against may.json
              wordtrust estimate model words.jsonl --select train.jsonl --wer-under 0.05 --manifest corpus.jsonl
    """
    from .tables import print_drift, print_estimates

    _check_selection(select, wer_under, minutes, manifest)
    for path in (select, figures):
        if path is not None:
            claim_output(path, overwrite=overwrite, is_folder=path is figures)
    model, inputs = _model_and_inputs(inputs)
    who = _read_speakers(speakers)
    estimates, used = _estimates(model, inputs, who, level, allow_mismatch, lm)
    notify(*estimates.warnings)
    compared = None
    if against:
        old, _ = _estimates(model, replace(inputs, paths=against), who, level, allow_mismatch, lm)
        compared = _drift(estimates, old, used)
    if select is not None:
        _select(estimates, select, wer_under, minutes, manifest)
    if figures is not None:
        _draw(estimates, by, figures)
    if as_json:
        echo(json.dumps(estimates.to_dict() | ({} if compared is None else {"against": compared.to_dict()})))
        return
    print_estimates(estimates, by)
    if compared is not None:
        print_drift(compared)


def _check_selection(
    select: Path | None, wer_under: float | None, minutes: float | None, manifest: Path | None
) -> None:
    wanted = [option for option in (wer_under, minutes) if option is not None]
    if select is None and (wanted or manifest):
        raise OptionError("say where the chosen utterances go: --select FILE.jsonl")
    if select is not None and len(wanted) != 1:
        raise OptionError("--select takes either --wer-under WER (to train on) or --minutes N (to label first)")


def _model_and_inputs(inputs: Inputs) -> tuple[Path | None, Inputs]:
    """The MODEL, if the first argument is one, and the rest."""
    from ..confidence.calibrator_file import is_calibrator
    from ..confidence.joint_outputs import is_combination
    from ..confidence.shipped import is_model

    first, *rest = inputs.paths
    if not any((is_model(first), is_calibrator(Path(first)), is_combination(first))):
        return None, inputs
    if not rest:
        raise OptionError(f"{first} is a model; name the transcripts whose errors are to be estimated after it")
    return Path(first), replace(inputs, paths=tuple(rest))


def _read_speakers(path: Path | None) -> Mapping[str, str]:
    from ..formats.speakers import read_speakers

    return {} if path is None else read_speakers(path)


def _estimates(
    model: Path | None,
    inputs: Inputs,
    speakers: Mapping[str, str],
    level: float,
    allow_mismatch: bool,
    lm: str | None,
) -> tuple[Estimates, Path]:
    """The estimates, and the model that they are by: the one given, or the one that the transcripts name."""
    from ..confidence.estimate import estimates_of, read_outputs
    from ..confidence.estimation.utterances import output_utterances
    from ..transcripts.reader import are_ours

    if not are_ours(inputs.paths, inputs.options):
        used = _required(model, inputs)
        known, scored = _scored(used, inputs, allow_mismatch, lm)
        spoken = [each for file, batch in scored for each in output_utterances(batch, file, speakers)]
        return estimates_of(spoken, known, level), used
    if lm is not None:
        raise OptionError("--lm is for lattices: transcripts say themselves with which language model they were made")
    spoken, made_by = read_outputs(inputs.transcripts("reading"), speakers)
    used = model or Path(made_by.model())
    return estimates_of(spoken, made_by.known(used), level), used


def _required(model: Path | None, inputs: Inputs) -> Path:
    from ..formats.inputs import side_files

    if model is None:
        first = str(inputs.paths[0])
        if not side_files(first):
            raise InputError("no such file, folder or pattern", file=first, remedy="Check the path")
        raise OptionError(
            f"{first}: no transcripts of wordtrust; name the MODEL (or calibrator) that gives its words "
            "confidences first: wordtrust estimate MODEL FILE"
        )
    return model


def _scored(
    model: Path, inputs: Inputs, allow_mismatch: bool, lm: str | None
) -> tuple[KnownOfOutputs, Iterator[tuple[str, list[Transcript]]]]:
    """What the model knows, and the transcripts of what recognizers wrote, by file."""
    from ..confidence.estimate import known_of
    from .score import load_scorer, scored

    scorer, files = load_scorer(model, None, allow_mismatch, None, lm), list[str]()

    def noted() -> Iterator[Lattices]:
        for batch in inputs.batches("scoring"):
            files.append(batch.origin.file)
            yield batch

    transcripts = scored(scorer, noted(), 0)
    return known_of(scorer), ((files.pop(0), batch) for batch in transcripts)


def _drift(new: Estimates, old: Estimates, model: Path) -> Drift:
    from ..confidence.drift import drift
    from ..confidence.shipped import is_model

    vocabulary = None
    if is_model(model):
        from ..confidence.model_file import load_model

        vocabulary = frozenset(load_model(model, allow_mismatch=True).table.words)
    compared = drift(new, old, vocabulary=vocabulary)
    if compared is None:
        raise OptionError("both sides need two speakers or recordings at least: name who spoke with --speakers")
    return compared


def _select(
    estimates: Estimates, out: Path, wer_under: float | None, minutes: float | None, manifest: Path | None
) -> None:
    from ..transcription.selection import candidates, read_lines, to_label, under, write_selection

    lines = None if manifest is None else read_lines(manifest)
    listed = candidates(estimates, lines)
    chosen = to_label(listed, minutes) if minutes is not None else under(listed, wer_under or 0.0)
    write_selection(out, chosen)
    if lines is not None and len(listed) < len(lines):
        notify(f"{len(lines) - len(listed):,} of {len(lines):,} utterances of the manifest have no output here")
    spent = sum(each.duration for each in chosen) / 60
    echo(f"{out}: {counted(len(chosen), 'utterance')} of {len(listed):,}, {spent:.1f} minutes", err=True)


def _draw(estimates: Estimates, by: str, folder: Path) -> None:
    from ..report.estimate_charts import estimate_charts
    from ..report.figures import save_figures

    groups = {"speaker": estimates.speakers, "file": estimates.files, "utterance": estimates.utterances}[by]
    save_figures(estimate_charts(estimates, groups, f"{by}s"), folder)
    echo(f"{folder}: the plots", err=True)

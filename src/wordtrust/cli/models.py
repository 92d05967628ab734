"""Verbs about models: train, score."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..base.errors import OptionError
from .inputs import Inputs, announce_compilation, lattice_inputs, tell_if_rough

if TYPE_CHECKING:
    from ..confidence.calibrate_scores import CalibratedWords
    from ..confidence.model_file import Model
    from ..confidence.word_scorer import WordScorer
    from ..training.trainer import EpochRecord, Progress

_UNFAMILIAR = (
    "utterances here are unlike all that the model knows, so confidences were lowered; where you have references, "
    "calibrate it: wordtrust calibrate MODEL STORE (docs/shift.md)"
)
_MULTI_RECOGNIZER = ("identity_drop", "taught")  # of `python -m wordtrust.training --together`
_OUTPUTS = ".jsonl, .json, .ctm, .vtt, .srt, .html, .parquet"


def once(_: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> str | None:
    """An option that must not be given twice: the first would be forgotten without a word."""
    if len(given) > 1:
        raise OptionError(f"{parameter.opts[0]} names one file, not {len(given)}")
    return given[0] if given else None


def train_options(command: Callable[..., None]) -> Callable[..., None]:
    """Every option of training, as the list of them has it."""
    from ..training.options import TrainOptions

    for option in reversed(fields(TrainOptions)):
        if option.name in _MULTI_RECOGNIZER:
            continue
        name, text, choices = option.name.replace("_", "-"), option.metadata["help"], option.metadata["choices"]
        flags = f"--{name}/--no-{name}" if isinstance(option.default, bool) else f"--{name}"
        metavar = f"[{'|'.join(choices)}]" if choices else None  # `TrainOptions` checks them, for both command lines
        command = click.option(
            flags, option.name, type=type(option.default), default=option.default, show_default=True, help=text,
            metavar=metavar, hidden=not text,
        )(command)  # fmt: skip
    return command


@click.command()
@click.argument("store", nargs=-1, required=True, metavar="STORE...")
@click.option(
    "--dev", multiple=True, metavar="STORE", help="Networks to stop on; needed unless STORE is a packed file."
)
@click.option("--out", type=click.Path(path_type=Path), help="The model folder to write.")
@click.option("--pack", type=click.Path(path_type=Path), help="Write the training data to this file and stop.")
@click.option("--features", default="full", show_default=True, help="Feature set (paper, full), or columns by name.")
@click.option("--labels", type=click.Choice(["store", "oracle", "one-best"]), default="store", show_default=True,
              help="Which words count as right: by the rule the store was built with, or another.")  # fmt: skip
@click.option("--vectors", type=click.Path(path_type=Path), help="Word vectors: GloVe or word2vec text, or a model.")
@click.option("--lexicon", type=click.Path(path_type=Path), help="Pronunciations: lexicon.txt, CMUdict or Sphinx.")
@click.option("--silence-loss", is_flag=True, help="Silence is trained on like a word.")
@click.option("--overwrite", is_flag=True, help="Replace a model that is there already.")
@click.option("--search", is_flag=True, help="Try the paper's grid of sizes and merging; keep the best dev EER.")
@click.option("--device", default="auto", show_default=True, help="cpu, cuda, cuda:1, or auto.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads on a CPU [1].")
@train_options
def train(
    store: tuple[str, ...],
    dev: tuple[str, ...],
    out: Path | None,
    pack: Path | None,
    device: str,
    threads: int | None,
    *,
    overwrite: bool,
    search: bool,
    features: str,
    labels: str,
    vectors: Path | None,
    lexicon: Path | None,
    silence_loss: bool,
    **options: Any,
) -> None:
    """Train a confidence model on networks made with references.

    Interrupted or killed training goes on where it was when it is started again.

    \b
    Examples: wordtrust train train.networks --dev dev.networks --out model
              wordtrust train train.networks --dev dev.networks --start moonshine-tiny --out model
    """
    from ..training.dataset import write_pack
    from ..training.options import TrainOptions, require_torch
    from ..training.prepare import PrepareOptions, read_training_data

    announce_compilation()
    chosen = TrainOptions(**options)
    if (out is None) == (pack is None):
        raise OptionError("say where the model goes (--out MODEL) or where the training data go (--pack FILE)")
    _refuse_target(out, pack, overwrite)
    if out is not None:
        require_torch("--pack FILE needs none")
    prepared = PrepareOptions(features, labels, silence_loss, vectors, lexicon)
    data = read_training_data(store, dev, prepared, chosen.start)
    if pack is not None:
        write_pack(pack, data)
        click.echo(f"{pack}: {len(data.train):,} utterances to train on, {len(data.dev):,} to stop on")
        return
    assert out is not None
    from ..training import pipeline

    if pipeline.has_checkpoint(out):
        click.echo("wordtrust: going on where an earlier training stopped", err=True)
    with _epoch_progress(chosen.epochs) as progress:
        model = pipeline.train(data, chosen, out, device=device, threads=threads, search=search, progress=progress)
    if model is not None:
        click.echo(f"{out}: {_summary(pipeline.choose_on_dev(model, out, dev) if dev else model)}")


def _refuse_target(out: Path | None, pack: Path | None, overwrite: bool) -> None:
    """Say at once what could not be written in the end, or would be lost."""
    from ..confidence.model_file import refuse_to_overwrite

    if out is not None:
        refuse_to_overwrite(out, overwrite=overwrite)
    if pack is not None and not pack.resolve().parent.is_dir():
        raise OptionError(f"{pack}: there is no folder {pack.resolve().parent}")


@contextmanager
def _epoch_progress(most: int) -> Iterator[Progress]:
    """A line for every epoch, and on a terminal a bar over the one that runs, with its loss so far."""
    from ..training.trainer import Progress

    if not sys.stderr.isatty():
        yield Progress(lambda record: click.echo(_epoch_line(record, most), err=True))
        return
    from rich import progress as rich_progress
    from rich.console import Console

    columns = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TextColumn("{task.fields[loss]}"),
        rich_progress.TimeRemainingColumn(),
    )
    bar = rich_progress.Progress(*columns, console=Console(stderr=True), transient=True)
    row = bar.add_task("training", total=1.0, loss="")

    def on_epoch(record: EpochRecord) -> None:
        bar.console.print(_epoch_line(record, most), highlight=False)
        bar.update(row, description=f"epoch {record.epoch + 1}", completed=0.0)

    def on_batch(share: float, loss: float) -> None:
        bar.start()  # not before: of several processes (torchrun) only one has progress to show
        bar.update(row, completed=share, loss=f"loss {loss:.4f}")

    try:
        yield Progress(on_epoch, on_batch)
    finally:
        bar.stop()


def _epoch_line(record: EpochRecord, most: int) -> str:
    trial = " ".join(f"{name} {value}" for name, value in record.trial.items())
    parts = [f"epoch {record.epoch:3}/{most}", f"loss {record.loss:.4f}"]
    if record.dev_eer is not None:
        parts += [f"dev EER {100 * record.dev_eer:.2f}%", f"NCE {record.dev_nce:.4f}"]
    parts += [f"{record.arcs_per_second:,.0f} arcs/s"] + (["best so far"] if record.best else [])
    return (f"{trial}: " if trial else "") + "  ".join(parts)


def _summary(model: Model) -> str:
    """Measures on dev, and how words are chosen, as far as they are known."""
    metrics, choice = model.card.metrics, model.card.choice
    parts = [f"dev EER {100 * metrics['dev_eer']:.2f}%, NCE {metrics['dev_nce']:.3f}"] if "dev_eer" in metrics else []
    parts += [f"words chosen by {choice}"] if choice is not None else []
    return ", ".join(parts or ["trained"])


def _scorer(
    model: Path, criterion: str | None, allow_mismatch: bool, threads: int | None
) -> WordScorer | CalibratedWords:
    """The model, or the calibrator, that a path names."""
    if model.is_file():
        from ..confidence.calibrate_scores import CalibratedWords, load_calibrator

        return CalibratedWords(load_calibrator(model))
    from ..confidence.choice import Choice
    from ..confidence.word_scorer import load

    scorer = load(model, allow_mismatch=allow_mismatch, threads=threads)
    if criterion:
        scorer = scorer.with_choice(Choice(criterion, scorer.choice.threshold))
    return scorer


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@lattice_inputs
@click.option("--out", required=True, callback=once, multiple=True, metavar="FILE",
              help=f"Where the words go, by the ending: {_OUTPUTS}; - prints .jsonl.")  # fmt: skip
@click.option("--criterion", type=click.Choice(["mean", "mean-silence", "gain"]),
              help="How words are chosen [as the model says].")  # fmt: skip
@click.option("--alternatives", type=click.IntRange(min=0), default=5, show_default=True, help="At most, for a word.")
@click.option("--allow-mismatch", is_flag=True, help="Also score what the model was not trained for.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads [as many as there are cores].")
def score(
    model: Path,
    inputs: Inputs,
    out: str,
    criterion: str | None,
    alternatives: int,
    threads: int | None,
    *,
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
    from ..confidence.calibrate_scores import CalibratedWords
    from ..transcripts.json_writer import json_line
    from ..transcripts.writer import TranscriptWriter

    scorer = _scorer(model, criterion, allow_mismatch, threads)
    batches = inputs.batches("scoring")
    if not isinstance(scorer, CalibratedWords):
        scorer, batches = scorer.adapted_ahead(batches)
        tell_if_rough(scorer)
    if out == "-":
        for batch in batches:
            for transcript in scorer(batch, alternatives=alternatives):
                click.echo(json_line(transcript), nl=False)
        return
    if any(Path(out).resolve() == Path(path).resolve() for path in inputs.paths):
        raise OptionError(f"{out}: is what is read; name another file")
    done, words, trust = 0, 0, 1.0
    with TranscriptWriter(Path(out)) as writer:
        for batch in batches:
            networks = batch if isinstance(scorer, CalibratedWords) else scorer.networks(batch)
            trust = trust if isinstance(scorer, CalibratedWords) else min(trust, scorer.domain_factor(networks))
            found = scorer(networks, alternatives=alternatives)
            writer.add(found)
            done, words = done + len(found), words + sum(len(each.words) for each in found)
    if trust < 1:
        click.echo(f"wordtrust: {_UNFAMILIAR}", err=True)
    click.echo(f"{out}: {done:,} utterances, {words:,} words", err=True)

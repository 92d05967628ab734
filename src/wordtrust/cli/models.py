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
    from ..training.dataset import TrainingData
    from ..training.loop import Step, Tell

_UNFAMILIAR = (
    "utterances here are unlike all that the model knows, so confidences were lowered; where you have references, "
    "calibrate it: wordtrust calibrate MODEL STORE (docs/shift.md)"
)
_TOGETHER = ("identity_drop", "taught")  # of `python -m wordtrust.training --together`
_OUTPUTS = ".jsonl, .json, .ctm, .vtt, .srt, .html, .parquet"


def once(_: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> str | None:
    """An option that must not be given twice: the first would be forgotten without a word."""
    if len(given) > 1:
        raise OptionError(f"{parameter.opts[0]} names one file, not {len(given)}")
    return given[0] if given else None


def train_options(command: Callable[..., None]) -> Callable[..., None]:
    """Every option of training, as the list of them has it."""
    from ..training.options import TrainOptions

    for each in reversed(fields(TrainOptions)):
        if each.name in _TOGETHER:
            continue
        name, text, choices = each.name.replace("_", "-"), each.metadata["help"], each.metadata["choices"]
        flags = f"--{name}/--no-{name}" if isinstance(each.default, bool) else f"--{name}"
        metavar = f"[{'|'.join(choices)}]" if choices else None  # `TrainOptions` checks them, for both command lines
        command = click.option(flags, each.name, type=type(each.default), default=each.default, show_default=True,
                               help=text, metavar=metavar, hidden=not text)(command)  # fmt: skip
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
    from ..training.availability import require_torch
    from ..training.options import TrainOptions
    from ..training.prepare import PrepareOptions

    announce_compilation()
    chosen = TrainOptions(**options)
    if (out is None) == (pack is None):
        raise OptionError("say where the model goes (--out MODEL) or where the training data go (--pack FILE)")
    _refuse_target(out, pack, overwrite)
    if out is not None:
        require_torch("--pack FILE needs none")
    if chosen.start and vectors is None:
        vectors = vectors_of(chosen.start)
    data = _training_data(store, dev, PrepareOptions(features, labels, silence_loss, vectors, lexicon))
    if pack is not None:
        from ..training.pack import write_pack

        write_pack(pack, data)
        click.echo(f"{pack}: {len(data.train):,} utterances to train on, {len(data.dev):,} to stop on")
        return
    assert out is not None
    from ..training.checkpoint import NAME as CHECKPOINT
    from ..training.machine import machine
    from ..training.run import draft_of, train_model
    from ..training.run import search as search_grid

    if (draft_of(out) / CHECKPOINT).is_file():
        click.echo("wordtrust: going on where an earlier training stopped", err=True)
    with machine(device, threads) as here:
        with _epochs(chosen.epochs, here.is_first) as (tell, step):
            work = search_grid if search else train_model
            model = work(data, chosen, out, here, tell=tell, step=step)
        if here.is_first:
            _finish(model, out, dev)


def vectors_of(start: str) -> Path | None:
    """The word vectors of a model to begin with are its own, if it has any."""
    from ..confidence.model_file import load_model

    return Path(start) if load_model(Path(start)).table.vectors is not None else None


def _refuse_target(out: Path | None, pack: Path | None, overwrite: bool) -> None:
    """Say at once what could not be written in the end, or would be lost."""
    from ..confidence.model_file import refuse_to_overwrite

    if out is not None:
        refuse_to_overwrite(out, overwrite=overwrite)
    if pack is not None and not pack.resolve().parent.is_dir():
        raise OptionError(f"{pack}: there is no folder {pack.resolve().parent}")


def _training_data(store: tuple[str, ...], dev: tuple[str, ...], options: Any) -> TrainingData:
    from ..confidence.model_card import ModelCard
    from ..formats import stream
    from ..training.pack import read_pack
    from ..training.prepare import PrepareOptions, prepare

    if len(store) == 1 and Path(store[0]).is_file():
        if options != PrepareOptions():
            raise OptionError(
                f"{store[0]}: features, labels, vectors, lexicon and silence loss were settled when it was packed"
            )
        return read_pack(Path(store[0]))
    if not dev:
        raise OptionError("training needs networks to stop on: --dev STORE")
    first = next(iter(stream(store)), None)
    if first is None:
        raise OptionError("no utterances found")
    return prepare(lambda: stream(store), lambda: stream(dev), options, ModelCard.of_networks(first))


@contextmanager
def _epochs(most: int, speaks: bool) -> Iterator[tuple[Tell, Step]]:
    """A line for every epoch, and on a terminal a bar over the one that runs, with its loss so far."""
    if not speaks:
        yield (lambda _: None), (lambda *_: None)
        return
    if not sys.stderr.isatty():
        yield (lambda line: click.echo(_epoch_line(line, most), err=True)), (lambda *_: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[loss]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        row = bar.add_task("training", total=1.0, loss="")

        def tell(line: dict[str, Any]) -> None:
            bar.console.print(_epoch_line(line, most), highlight=False)
            bar.update(row, description=f"epoch {line['epoch'] + 1}", completed=0.0)

        yield tell, lambda share, loss: bar.update(row, completed=share, loss=f"loss {loss:.4f}")


def _epoch_line(line: dict[str, Any], most: int) -> str:
    chosen = " ".join(f"{name} {line[name]}" for name in ("state", "hidden", "merge") if name in line)
    parts = [f"epoch {line['epoch']:3}/{most}", f"loss {line['loss']:.4f}"]
    if "dev_eer" in line:
        parts += [f"dev EER {100 * line['dev_eer']:.2f}%", f"NCE {line['dev_nce']:.4f}"]
    parts += [f"{line['arcs_per_second']:,.0f} arcs/s"] + (["best so far"] if line["best"] else [])
    return (f"{chosen}: " if chosen else "") + "  ".join(parts)


def _finish(model: Model, out: Path, dev: tuple[str, ...]) -> None:
    """Choose how words are read off, if the networks are at hand, and say what came out."""
    if dev:
        model = _with_choice(model, out, dev)
    found = model.card.metrics
    parts = [f"dev EER {100 * found['dev_eer']:.2f}%, NCE {found['dev_nce']:.3f}"] if "dev_eer" in found else []
    parts += [f"words chosen by {model.card.choice}"] if model.card.choice else []
    click.echo(f"{out}: " + ", ".join(parts or ["trained"]))


def _with_choice(model: Model, out: Path, dev: tuple[str, ...]) -> Model:
    from ..confidence.calibrate_model import with_best_choice
    from ..confidence.model_file import update_card
    from ..formats import stream

    chosen = with_best_choice(model, lambda: stream(dev))
    update_card(out, chosen.card)
    return chosen


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

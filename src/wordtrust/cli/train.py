"""The verb train."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..base.errors import OptionError
from ..base.number_format import counted
from .inputs import announce_compilation, resumable
from .messages import echo, notify
from .options import claim_output, jobs_option, out_option, overwrite_option

if TYPE_CHECKING:
    from ..confidence.model_file import Model
    from ..training.trainer import EpochRecord, Progress

# Options of `python -m wordtrust.training --together`.
_MULTI_RECOGNIZER = ("identity_drop", "taught", "train_on_dev", "other_fold")


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
@resumable
@click.argument("store", nargs=-1, required=True, metavar="STORE...")
@click.option(
    "--dev", multiple=True, metavar="STORE", help="Networks to stop on; needed unless STORE is a packed file."
)
@out_option(is_folder=True, type=click.Path(path_type=Path), help="The model folder to write.")
@click.option("--pack", type=click.Path(path_type=Path), help="Write the training data to this file and stop.")
@click.option(
    "--features", default="full", show_default=True, help="Feature set (paper, full, generic), or columns by name."
)
@click.option("--labels", type=click.Choice(["store", "oracle", "one-best"]), default="store", show_default=True,
              help="Which words count as right: by the rule the store was built with, or another.")  # fmt: skip
@click.option("--vectors", type=click.Path(path_type=Path), help="Word vectors: GloVe or word2vec text, or a model.")
@click.option("--lexicon", type=click.Path(path_type=Path), help="Pronunciations: lexicon.txt, CMUdict or Sphinx.")
@click.option("--silence-loss", is_flag=True, help="Silence is trained on like a word.")
@overwrite_option
@click.option("--search", is_flag=True, help="Try the paper's grid of sizes and merging; keep the best dev EER.")
@click.option("--device", default="auto", show_default=True, help="cpu, cuda, cuda:1, or auto.")
@jobs_option("Threads on a CPU [1].", old_names=("--threads",))
@train_options
def train(
    store: tuple[str, ...],
    dev: tuple[str, ...],
    out: Path | None,
    pack: Path | None,
    device: str,
    jobs: int | None,
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

    Interrupted or killed training resumes where it stopped when it is started again.

    \b
    Examples: wordtrust train train.networks --dev dev.networks --out model
              wordtrust train train.networks --dev dev.networks --start moonshine-tiny --out model
    """
    from ..confidence.word_vectors import lexicon_coverage
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
    if lexicon is not None and (coverage := lexicon_coverage(data.table)):
        notify(coverage)
    if pack is not None:
        write_pack(pack, data)
        echo(f"{pack}: {counted(len(data.train), 'utterance')} to train on, {len(data.dev):,} to stop on")
        return
    assert out is not None
    from ..training import pipeline

    _refuse_target(out, None, overwrite)  # again: another training may have ended while the data were read
    if pipeline.has_checkpoint(out):
        notify("going on where an earlier training stopped")
    with _epoch_progress(chosen.epochs) as progress:
        model = pipeline.train(
            data, chosen, out, device=device, threads=jobs, search=search, progress=progress, dev=dev
        )
    if model is not None:
        echo(f"{out}: {_summary(model)}")


def _refuse_target(out: Path | None, pack: Path | None, overwrite: bool) -> None:
    """Say at once what could not be written in the end, or would be lost."""
    from ..confidence.model_file import refuse_to_overwrite

    if out is not None:
        refuse_to_overwrite(out, overwrite=overwrite)
    if pack is not None:
        claim_output(pack, overwrite=overwrite)


@contextmanager
def _epoch_progress(most: int) -> Iterator[Progress]:
    """A line for every epoch, and on a terminal a bar over the one that runs, with its loss so far."""
    from ..training.trainer import Progress

    if not sys.stderr.isatty():
        yield Progress(lambda record: echo(_epoch_line(record, most), err=True))
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
    parts += [f"{len(model.trees.leaf)} trees beside the network"] if model.trees else []
    parts += [f"words chosen by {choice}"] if choice is not None else []
    return ", ".join(parts or ["trained"])

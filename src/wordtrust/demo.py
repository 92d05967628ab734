"""`wordtrust demo`: the commands a newcomer would type, run on the bundled sample."""

from __future__ import annotations

from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path

import click
import numpy as np

from .cli import cli
from .formats import read
from .lattice import Lattice
from .score import load

TOY = ("--state", "32", "--epochs", "12", "--patience", "12")
PICTURE = "flite-slt-05"  # a lattice small enough to read


def run(out: Path) -> None:
    """Show `info`, `convert`, `build`, `evaluate`, `train` and a picture on lattices of synthetic speech."""
    out.mkdir(parents=True, exist_ok=True)
    with as_file(files("wordtrust") / "sample") as sample:
        lattices, references = f"{sample / 'lattices'}/*.slf.gz", str(sample / "ref.tsv")
        click.echo("The sample: PocketSphinx lattices of SYNTHETIC speech (see README.md in the sample folder).\n")
        _command("info", lattices, "--ref", references)
        _command("convert", lattices, str(out / "sample.store"))
        _command("convert", str(out / "sample.store"), str(out / "sample.ctm"))
        _command("build", str(out / "sample.store"), "--ref", references, "--out", str(out / "sample.networks"))
        _command("evaluate", str(out / "sample.networks"), *_report(out))
        if find_spec("torch"):
            _show_model(sample, out)
        _command("convert", lattices, "--utt", PICTURE, str(out / "lattice.svg"))
        _show_lattice(sample / "lattices" / f"{PICTURE}.slf.gz")
    pages = [str(out / name) for name in ("lattice.svg", "report.html") if (out / name).is_file()]
    click.echo(f"\nOpen {' and '.join(pages)} in a browser. Everything written is in {out}.")


def _show_model(sample: Path, out: Path) -> None:
    """A model trained on two voices, at work on the third."""
    click.echo("A model. This one is a toy: it learns from 24 utterances, where 4,000 make a good one.\n")
    ref, (train, dev, model) = str(sample / "ref.tsv"), (str(out / name) for name in ("train", "heard", "model"))
    for name, voices in ((train, ("espeak-us", "flite-rms")), (dev, ("flite-slt",))):
        lattices = [f"{sample / 'lattices'}/{voice}-*.slf.gz" for voice in voices]
        _command("build", *lattices, "--ref", ref, "--out", name)
    _command("train", train, "--dev", dev, "--out", model, "--overwrite", *TOY)
    scorer = load(model)
    click.secho(f'>>> scorer = wordtrust.load("{model}")', bold=True)
    click.echo("Words below 0.9 stand in brackets, below 0.5 with a question mark:")
    for transcript in scorer(read(f"{sample / 'lattices'}/flite-slt-0[1-4].slf.gz")):
        click.echo(f"  {transcript.to_rich().plain}")
    click.echo()


def _report(out: Path) -> list[str]:
    """A report as well, where what it needs is installed."""
    return ["--report", str(out / "report.html")] if find_spec("jinja2") else []


def _command(*words: str) -> None:
    click.secho("$ wordtrust " + " ".join(words), bold=True)
    cli.main(list(words), standalone_mode=False)
    click.echo()


def _show_lattice(path: Path) -> None:
    lattice = read(path)[0]
    click.secho(f'>>> wordtrust.read("{path.name}")[0]', bold=True)
    click.echo(f"{lattice!r}\n\nWhat it said, and the words it weighed against each:")
    for arc in lattice.one_best():
        if lattice.word[arc]:
            start = lattice.time[lattice.source[arc]]
            click.echo(f"  {start:5.2f} s  {lattice.words[arc]:10} {', '.join(_rivals(lattice, arc)) or '-'}")


def _rivals(lattice: Lattice, arc: int) -> list[str]:
    """Other words said while this one is, for at least half of their time."""
    start, end = lattice.time[lattice.source], lattice.time[lattice.target]
    shared = np.minimum(end, end[arc]) - np.maximum(start, start[arc])
    near = (shared > 0) & (shared >= 0.5 * (end - start)) & (lattice.word > 0) & (lattice.word != lattice.word[arc])
    return sorted({lattice.words[rival] for rival in np.flatnonzero(near).tolist()})

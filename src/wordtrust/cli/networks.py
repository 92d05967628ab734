"""Verbs about networks: tune, build."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base.errors import OptionError
from .inputs import Inputs, lattice_inputs, load_references, reference_option, resumable

if TYPE_CHECKING:
    from ..networks.tuned_scales import TunedScales


@click.command()
@lattice_inputs
@click.option("--ref", type=click.Path(path_type=Path), required=True, help="References: REF.tsv, Kaldi text or STM.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where the scales go (SCALES.json).")
@click.option("--json", "as_json", is_flag=True, help="Print the scales as JSON.")
def tune(inputs: Inputs, ref: Path, out: Path, *, as_json: bool) -> None:
    """Choose scales and word penalty (N-best: length exponent and word bonus) on a development set.

    \b
    Example: wordtrust tune dev.ark.gz --ref ref.tsv --out scales.json
    """
    from ..evaluation.tune import tune as choose
    from .tables import print_tuned

    references = load_references(ref)
    assert references is not None
    if not out.resolve().parent.is_dir():
        raise OptionError(f"{out}: there is no folder {out.resolve().parent}")
    tuned = choose(list(inputs.batches("reading", references)), references, notify=_tell)
    tuned.save(out)
    if as_json:
        click.echo(out.read_text("utf-8"), nl=False)
    else:
        print_tuned(tuned)


def _tell(stage: str) -> None:
    click.echo(f"wordtrust: tuning {stage} ...", err=True)


@click.command()
@resumable
@lattice_inputs
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The store to write.")
@reference_option
@click.option(
    "--labels",
    type=click.Choice(["oracle", "one-best"]),
    default="oracle",
    show_default=True,
    help="Which words count as right: those of the path with the fewest errors, or the paper's rule.",
)
@click.option(
    "--scales", type=click.Path(path_type=Path), help="What `wordtrust tune` wrote, or a model: its scales."
)
@click.option("--tolerance", type=float, default=0.1, show_default=True, help="Seconds within which nodes merge.")
@click.option("--beam", type=click.FloatRange(min=0), help="Prune arcs on no path within this of the best one.")
@click.option("--jobs", type=click.IntRange(min=1), help="Batches worked on at once [as many as there are cores].")
def build(
    inputs: Inputs,
    out: Path,
    ref: Path | None,
    labels: str,
    scales: Path | None,
    tolerance: float,
    beam: float | None,
    jobs: int | None,
) -> None:
    """Turn LATTICES into word networks (HWCNs), labelled where references are given.

    An interrupted build resumes where it stopped when it is started again.

    \b
    Example: wordtrust build train.ark.gz --ref ref.tsv --scales scales.json --out train.networks
    """
    from ..networks.build_store import BuildOptions, build_store

    references = load_references(ref)
    options = BuildOptions(
        tolerance=tolerance,
        tuned=None if scales is None else _tuned(scales),
        references=references,
        labels=labels,
        beam=beam,
    )
    batches = inputs.batches("building", references)
    done = build_store(batches, out, options, jobs=jobs, key=_key(inputs, options.tuned, ref))
    click.echo(f"{out}: {done.utterances:,} utterances, {done.arcs:,} arcs")


def _tuned(path: Path) -> TunedScales:
    """What `wordtrust tune` wrote; or the scales of a model, by its folder or name."""
    from ..confidence.model_file import SCALES, load_model
    from ..confidence.shipped import folder_of, is_model
    from ..networks.tuned_scales import TunedScales

    if not is_model(path):
        return TunedScales.load(path)
    folder = folder_of(path)
    if (folder / SCALES).is_file():
        return TunedScales.load(folder / SCALES)
    scales = load_model(folder).card.scales
    if scales is None:
        raise OptionError(f"{path}: has no scales of its own; build networks without --scales")
    return TunedScales(scales, scales, scales, {})


def _key(inputs: Inputs, tuned: TunedScales | None, *files: Path | None) -> list[str]:
    """What a build depends on besides its options: another input must not go on where this one was."""
    from ..formats.inputs import side_files

    named = [file for path in inputs.paths for file in side_files(path)]
    named += [file for file in (*files, inputs.options.words) if file and file.is_file()]
    return [repr(inputs), repr(tuned), *(f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in named)]

"""Verbs about networks: tune, build."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base.errors import OptionError
from ..base.number_format import counted
from .inputs import Inputs, lattice_inputs, resumable
from .messages import echo, notify, warn_of_odd_references
from .options import (
    claim_output,
    equate_option,
    glm_option,
    jobs_option,
    json_option,
    lm_option,
    out_option,
    overwrite_option,
    parsed_equate,
    reference_option,
)

if TYPE_CHECKING:
    from ..language_models.evidence import LanguageEvidence
    from ..networks.equivalents import Equate


@click.command()
@lattice_inputs
@click.option(
    "--ref", type=click.Path(path_type=Path), required=True, help="References: REF.tsv, Kaldi text, STM or TRN."
)
@glm_option
@out_option(type=click.Path(path_type=Path), required=True, help="Where the scales go (SCALES.json).")
@click.option("--equate", callback=parsed_equate, metavar="KINDS",
              help="Spellings that count as the same word while choosing, as for build [none].")  # fmt: skip
@overwrite_option
@json_option
def tune(
    inputs: Inputs, ref: Path, glm: Path | None, out: Path, equate: Equate | None, *, overwrite: bool, as_json: bool
) -> None:
    """Choose scales and word penalty (N-best: length exponent and word bonus) on a development set.

    By the words as they are written, unless --equate says otherwise; error rates are reported both ways.

    \b
    Example: wordtrust tune dev.ark.gz --ref ref.tsv --out scales.json
    """
    from ..evaluation.tune import tune as choose
    from .tables import print_tuned

    claim_output(out, overwrite=overwrite)
    references = inputs.references(ref, glm)
    tuned = choose(
        list(inputs.batches("reading", references)), references, equate="none" if equate is None else equate,
        notify=lambda stage: notify(f"tuning {stage} ..."),
    )  # fmt: skip
    warn_of_odd_references(tuned.dev.get("as_given"), ref)
    tuned.save(out)
    if as_json:
        echo(tuned.to_json(), nl=False)
    else:
        print_tuned(tuned)


@click.command()
@resumable
@lattice_inputs
@out_option(is_folder=True, type=click.Path(path_type=Path), required=True, help="The store to write.")
@overwrite_option
@reference_option
@glm_option
@click.option(
    "--labels",
    type=click.Choice(["oracle", "one-best"]),
    default="oracle",
    show_default=True,
    help="Which words count as right: those of the path with the fewest errors, or the paper's rule.",
)
@equate_option
@click.option(
    "--scales", type=click.Path(path_type=Path), help="What `wordtrust tune` wrote, or a model: its scales."
)
@click.option("--tolerance", type=float, default=0.1, show_default=True, help="Seconds within which nodes merge.")
@click.option("--beam", type=click.FloatRange(min=0), help="Prune arcs on no path within this of the best one.")
@lm_option
@click.option(
    "--lm-paths", type=click.IntRange(min=1, max=100), help="Best sentences of each network that it reads [8]."
)
@jobs_option("Batches worked on at once [as many as there are cores].")
def build(
    inputs: Inputs,
    out: Path,
    ref: Path | None,
    glm: Path | None,
    labels: str,
    equate: Equate | None,
    scales: Path | None,
    tolerance: float,
    beam: float | None,
    lm: str | None,
    lm_paths: int | None,
    jobs: int | None,
    *,
    overwrite: bool,
) -> None:
    """Turn LATTICES into word networks (HWCNs), labelled where references are given.

    With --lm, a language model reads them, and what it says is kept as evidence on the arcs; networks that were built
    before may be given as well then. An interrupted build resumes where it stopped when it is started again.

    \b
    Examples: wordtrust build train.ark.gz --ref ref.tsv --scales scales.json --out train.networks
              wordtrust build train.networks --lm 3gram.arpa.gz --out train-lm.networks
    """
    from ..confidence.model_file import load_scales
    from ..networks.build_store import BuildOptions, build_store, resume_key
    from ..networks.equivalents import ALL

    claim_output(out, overwrite=overwrite)
    if equate and inputs.options.normalizer.as_written:
        raise OptionError("words that are compared as they are written (--as-written) have no --equate")
    references = None if ref is None else inputs.references(ref, glm)
    options = BuildOptions(
        tolerance=tolerance,
        tuned=None if scales is None else load_scales(scales),
        references=references,
        labels=labels,
        beam=beam,
        evidence=_evidence(lm, lm_paths, jobs),
        equate=ALL if equate is None else equate,
    )
    batches = inputs.batches("building", references, once=True)
    files = (ref, glm, inputs.options.words, *([] if lm is None else (Path(lm), *sorted(Path(lm).glob("*")))))
    key = resume_key(inputs.paths, inputs.options, inputs.skip_bad, files=files)
    done = build_store(batches, out, options, jobs=jobs, key=key)
    echo(f"{out}: {counted(done.utterances, 'utterance')}, {counted(done.arcs, 'arc')}")


def _evidence(lm: str | None, paths: int | None, jobs: int | None) -> LanguageEvidence | None:
    if lm is None:
        if paths is not None:
            raise OptionError("--lm-paths is about a language model: name one with --lm")
        return None
    from ..language_models.evidence import load_evidence

    return load_evidence(lm, k=paths, threads=jobs)

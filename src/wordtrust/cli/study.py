"""The verb about all of it: study."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .inputs import announce_compilation, resumable
from .messages import echo, notify
from .options import equate_option, jobs_option, json_option, out_option, skip_bad_option

if TYPE_CHECKING:
    from ..networks.equivalents import Equate

_WIDTH = 100  # of tables, where the output is no terminal
_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
@resumable
@click.argument("data", type=_FOLDER)
@out_option(is_folder=True, type=_FOLDER, required=True, help="Where results, models and all work in progress go.")
@click.option("--test", default="eval", show_default=True, help="The split to report.")
@click.option(
    "--models", type=_FOLDER, help="Models of an earlier study (OUT/models), or `shipped`: nothing is fitted."
)
@click.option("--recognizers", help="Only these, joined by commas [all in DATA].")
@click.option("--vectors", type=click.Path(path_type=Path), help="Word vectors [the file in DATA/embeddings].")
@click.option(
    "--lexicon", type=click.Path(path_type=Path),
    help="Pronouncing dictionary for the phones of words: CMUdict, lexicon.txt or Sphinx [estimated].",
)  # fmt: skip
@click.option(
    "--baselines", type=_FOLDER, help="Scales, baselines and combination as this earlier study has them [of DATA]."
)
@click.option(
    "--no-joint", is_flag=True, help="Leave the joint network out: with nine recognizers it takes half an hour."
)
@click.option("--no-trees", is_flag=True, help="Leave out the trees beside the networks.")
@click.option(
    "--lm", metavar="MODEL",
    help="A language model that reads the networks (docs/language-models.md): models to use with and without it.",
)  # fmt: skip
@click.option("--paper", is_flag=True, help="Also train and report the system just as the paper has it.")
@click.option("--until", type=click.Choice(["networks", "packs", "models", "results"]), default="results",
              show_default=True, help="Stop after this; packs are training data for another machine.")  # fmt: skip
@click.option("--epochs", type=click.IntRange(min=1), help="Train at most so many times over the data.")
@click.option("--state", type=click.IntRange(min=1), help="Size of the models' states.")
@click.option("--seed", type=click.IntRange(min=0), help="The same seed gives the same models.")
@click.option("--start", help="Begin with this model, of a folder or shipped: for a few hundred utterances.")
@click.option("--teachers", type=click.IntRange(min=0), default=1, show_default=True,
              help="Models for each fold of speakers that the final ones learn from as well.")  # fmt: skip
@click.option("--device", default="auto", show_default=True, help="Train on cpu, cuda, cuda:1, or auto.")
@jobs_option("Threads of training on a CPU [1].", "--train-jobs", old_names=("--threads",))
@jobs_option("Batches and subsets worked on at once [all cores].")
@equate_option
@skip_bad_option
@json_option
def study(
    data: Path,
    out: Path,
    test: str,
    models: Path | None,
    recognizers: str | None,
    vectors: Path | None,
    lexicon: Path | None,
    lm: str | None,
    baselines: Path | None,
    until: str,
    teachers: int,
    device: str,
    train_jobs: int | None,
    jobs: int | None,
    equate: Equate | None,
    *,
    no_joint: bool,
    no_trees: bool,
    paper: bool,
    skip_bad: bool,
    as_json: bool,
    **training: int | str | None,
) -> None:
    """Make every table of the paper for the recognizers of a folder, and models to use afterwards.

    DATA has a folder with a recognizer.json for each recognizer, in it train.*, dev.* and the split to report, and
    refs.tsv with the columns utt, split, speaker and text. A study that was interrupted resumes where it stopped.

    \b
    Examples: wordtrust study data --out study
              wordtrust study new-data --test blind --models study/models --out blind
    """
    from ..networks.equivalents import ALL
    from ..study import StudyOptions, run_study
    from ..study.results import write_results

    announce_compilation()
    options = StudyOptions(
        test=test, models=models, until=until, vectors=vectors, lexicon=lexicon, baselines=baselines,
        with_joint=not no_joint, with_paper=paper, with_trees=not no_trees, lm=lm, skip_bad=skip_bad,
        teachers=teachers, device=device, threads=train_jobs, jobs=jobs or os.cpu_count() or 1,
        equate=ALL if equate is None else equate,
    ).with_training(**training)  # fmt: skip
    names = [name.strip() for name in recognizers.split(",") if name.strip()] if recognizers else []
    results = run_study(data, out, options, recognizers=names, notify=notify)
    if results is None:
        echo(f"{out}: done as far as {until}", err=True)
        return
    record = write_results(out, results, data=data, test=test, command=shlex.join(["wordtrust", *sys.argv[1:]]))
    if as_json:
        echo(json.dumps(record))
    else:
        from ..study.results import print_study
        from .tables import console

        print_study(record, console(_WIDTH))
        echo(f"{out}: results.md, report.html and study.json; models are in {models or out / 'models'}")

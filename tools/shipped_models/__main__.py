"""python -m tools.shipped_models: makes the models that come with the package, and the page about them.

python -m tools.shipped_models make STUDY/models --networks STUDY/work --split dev --split eval
       --vectors glove.txt.gz
python -m tools.shipped_models add STUDY/models/NAME --networks STUDY/work --split dev --split eval
python -m tools.shipped_models estimators STUDY --lm SCORES
python -m tools.shipped_models joint STUDY/models/joint --study EVAL/study.json
python -m tools.shipped_models check CHECK
python -m tools.shipped_models docs docs/shipped-models.md
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from wordtrust.base.errors import WordtrustError
from wordtrust.base.files import atomic_text
from wordtrust.confidence import shipped
from wordtrust.confidence.model_file import WORDS
from wordtrust.language_models.evidence import load_evidence
from wordtrust.study.layout import StudyFolder

from .cards import page
from .estimators import refit_estimator
from .make import add_shipped, make_shipped, replace_check, replace_combination
from .small import MOST_WORDS


@click.group()
def main() -> None:
    """Make the models that come with the package, and the page about them."""


@main.command()
@click.argument("models", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=shipped.FOLDER, help="[inside the package]")
@click.option("--networks", type=click.Path(path_type=Path), help="A folder of NAME/SPLIT stores to measure them on.")
@click.option("--split", multiple=True, help="Measured on these.")
@click.option("--words", type=int, default=MOST_WORDS, show_default=True, help="That all models know together.")
@click.option("--vectors", type=click.Path(path_type=Path), help="The file of vectors: words at its top are kept.")
def make(
    models: Path, out: Path, networks: Path | None, split: tuple[str, ...], words: int, vectors: Path | None
) -> None:
    """Make them from the models of a study."""
    names = make_shipped(models, out, networks=networks, splits=split, vectors=vectors, words=words)
    click.echo(f"{out}: {', '.join(names)}")


@main.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=shipped.FOLDER, help="[inside the package]")
@click.option("--networks", type=click.Path(path_type=Path), help="A folder of NAME/SPLIT stores to measure it on.")
@click.option("--split", multiple=True, help="Measured on these.")
def add(model: Path, out: Path, networks: Path | None, split: tuple[str, ...]) -> None:
    """Add one model of another study; those that are there stay as they are."""
    click.echo(f"{out}: {add_shipped(model, out, networks=networks, splits=split)}")


@main.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=shipped.FOLDER, help="[inside the package]")
@click.option("--recognizers", help="Only these, with commas between them [all that the study has].")
@click.option("--lm", help="Also for this language model: the scores of the study's sentences.")
def estimators(study: Path, out: Path, recognizers: str | None, lm: str | None) -> None:
    """Fit how errors are estimated anew, with the networks that a study trained; all else stays."""
    names = recognizers.split(",") if recognizers else sorted(path.parent.name for path in out.glob("*/model.json"))
    evidence = load_evidence(lm) if lm else None
    for name in names:
        if (study / "work" / "trained" / name).is_dir():
            refit_estimator(StudyFolder(study), out / name, evidence)
            click.echo(name)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=shipped.FOLDER, help="[inside the package]")
@click.option("--study", type=click.Path(path_type=Path), help="The study.json that its card has the counts of.")
def joint(folder: Path, out: Path, study: Path | None) -> None:
    """Put a combination in place of the one that is there; models stay as they are."""
    click.echo(f"{out}: {replace_combination(folder, out, study=study)}")


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=shipped.FOLDER, help="[inside the package]")
def check(folder: Path, out: Path) -> None:
    """Put a model that checks transcripts (tools.check_model) in place of the one that is there."""
    click.echo(f"{out}: {replace_check(folder, out)}")


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
def docs(file: Path) -> None:
    """Write the page about them."""
    with atomic_text(file) as opened:
        opened.write(current_page())


def current_page() -> str:
    """The page about the models that are there now."""
    words = shipped.FOLDER / WORDS
    return page(shipped.models(), words.stat().st_size if words.is_file() else 0)


if __name__ == "__main__":
    try:
        main(standalone_mode=False)
    except (WordtrustError, click.ClickException) as error:
        sys.exit(f"tools.shipped_models: {error}")

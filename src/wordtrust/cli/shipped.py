"""Verbs about models that exist already: models, adapt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ..base.errors import OptionError
from .inputs import Inputs, lattice_inputs


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def models(name: str | None, *, as_json: bool) -> None:
    """The models that come with wordtrust; with a NAME, its card: data, licence, measures, limits.

    \b
    Examples: wordtrust models
              wordtrust models whisper-base
    """
    from ..confidence.shipped import models as shipped

    found = shipped()
    if name is not None:
        found = [each for each in found if each.name == name]
        if not found:
            known = ", ".join(each.name for each in shipped()) or "none"
            raise OptionError(f"no model {name!r} comes with wordtrust; there are: {known}")
    if as_json:
        listed: list[dict[str, Any]] = [each.to_dict() for each in found]
        click.echo(json.dumps(listed if name is None else listed[0]))
    elif name is not None:
        from ..confidence.shipped.cards import card_text

        click.echo(card_text(found[0]), nl=False)
    else:
        from .tables import print_models

        print_models(found)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@lattice_inputs
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The model folder to write.")
@click.option("--overwrite", is_flag=True, help="Replace a model that is there already.")
def adapt(model: Path, inputs: Inputs, out: Path, *, overwrite: bool) -> None:
    """Make MODEL one for the recognizer of LATTICES (or a store of networks). No references are needed.

    Takes the statistics of scores from these utterances, a hundred or more. Generic models are made for it; one of a
    related recognizer works too. Calibrate the result where you have references.

    \b
    Example: wordtrust adapt generic mine.ark.gz --words words.txt --out mine.model
    """
    from ..confidence.adapt import ENOUGH
    from ..confidence.adapt import adapt as adapted
    from ..confidence.model_file import load_model, refuse_to_overwrite, save_model

    refuse_to_overwrite(out, overwrite=overwrite)
    found = adapted(load_model(model), inputs.batches("adapting"))
    save_model(found, out)
    assert found.card.adapted is not None
    count = found.card.adapted.utterances
    click.echo(f"{out}: adapted to {count:,} utterances" + (f" of {found.recognizer}" if found.recognizer else ""))
    if count < ENOUGH:
        click.echo(f"wordtrust: with {ENOUGH} utterances or more it would be better adapted", err=True)
    if found.card.calibration is not None:
        told = f"wordtrust: its calibration is another recognizer's; with references: wordtrust calibrate {out} STORE"
        click.echo(told, err=True)

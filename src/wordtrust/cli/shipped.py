"""Verbs about models that exist already: models, adapt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ..base.errors import OptionError
from ..base.number_format import counted
from .inputs import Inputs, lattice_inputs
from .messages import echo, notify
from .options import claim_output, json_option, out_option, overwrite_option, require_model_first


@click.command()
@click.argument("name", required=False)
@json_option
def models(name: str | None, *, as_json: bool) -> None:
    """List the models that come with wordtrust; with a NAME, show its card: data, licence, measures, limits.

    \b
    Examples: wordtrust models
              wordtrust models whisper-base
    """
    from ..confidence.shipped import models as shipped_models

    chosen = shipped_models()
    if name is not None:
        names = ", ".join(model.name for model in chosen) or "none"
        chosen = [model for model in chosen if model.name == name]
        if not chosen:
            raise OptionError(f"no model {name!r} comes with wordtrust; there are: {names}")
    if as_json:
        listed: list[dict[str, Any]] = [model.to_dict() for model in chosen]
        echo(json.dumps(listed if name is None else listed[0]))
    elif name is not None:
        from ..confidence.shipped.cards import card_text

        echo(card_text(chosen[0]), nl=False)
    else:
        from .tables import print_models

        print_models(chosen)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@lattice_inputs
@out_option(is_folder=True, type=click.Path(path_type=Path), required=True, help="The model folder to write.")
@overwrite_option
def adapt(model: Path, inputs: Inputs, out: Path, *, overwrite: bool) -> None:
    """Make MODEL one for the recognizer of LATTICES (or a store of networks). No references are needed.

    Takes the statistics of scores from these utterances, a hundred or more. Generic models are made for it; one of a
    related recognizer works too. Calibrate the result where you have references.

    \b
    Example: wordtrust adapt generic mine.ark.gz --words words.txt --out mine.model
    """
    from ..confidence.adapt import ENOUGH_UTTERANCES
    from ..confidence.adapt import adapt as adapt_model
    from ..confidence.model_file import load_model, refuse_to_overwrite, save_model

    require_model_first(model, inputs.paths)
    refuse_to_overwrite(out, overwrite=overwrite)
    claim_output(out, overwrite=overwrite, is_folder=True)
    adapted_model = adapt_model(load_model(model), inputs.batches("adapting"))
    save_model(adapted_model, out)
    assert adapted_model.card.adapted is not None
    count = adapted_model.card.adapted.utterances
    whose = f" of {adapted_model.recognizer}" if adapted_model.recognizer else ""
    echo(f"{out}: adapted to {counted(count, 'utterance')}{whose}")
    if count < ENOUGH_UTTERANCES:
        notify(f"with {ENOUGH_UTTERANCES} utterances or more it would be better adapted")
    if adapted_model.card.calibration is not None:
        notify(f"its calibration is another recognizer's; with references: wordtrust calibrate {out} STORE")

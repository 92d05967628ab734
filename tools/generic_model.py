"""The generic model, from what was trained on variants of many recognizers: trees and a formula, and calibration.

    python -m tools.recognizer_variants DATA --study STUDY --out VARIANTS
    python -m wordtrust.training VARIANTS/*.pack --together --head independent --identity-drop 1 --evidence-drop 0.4
        --embedding none --drop 0.2 --rate 3e-3 --average 0.998 --state 96 --epochs 40 --out TRAINED
    python -m tools.generic_model VARIANTS TRAINED/generic --unseen FAMILIES.json --out STUDY/models/generic

Trees are trained on the packs; calibrated, and words chosen, is on what was not varied of VARIANTS/NAME/dev.
FAMILIES.json is what `experiments.generic_families --json` measured, each family left out; the model's card keeps it.
The model takes the place of the one that the study leaves in STUDY/models: `tools.shipped_models make` ships it then.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from wordtrust.confidence.calibrate_model import CalibratedModel, calibrate_generic
from wordtrust.confidence.model_file import Model, load_model
from wordtrust.formats import stream
from wordtrust.lattices.lattice import Lattices
from wordtrust.study.layout import DEV, TRAIN
from wordtrust.training.dataset import read_pack
from wordtrust.training.lattice_formula import fit_lattice_formula
from wordtrust.training.trees import generic_trees

POSTERIOR = 0.22  # of its logit, beside the network's and the trees': chosen by leaving out families on dev


def recognizers_in(variants: Path) -> list[str]:
    """The recognizers that `tools.recognizer_variants` made packs of."""
    return sorted(path.stem for path in variants.glob("*.pack"))


def finished(
    trained: Path, variants: Path, names: Sequence[str], only_trained_on: Sequence[str] = (), unseen: Any = None
) -> CalibratedModel:
    """A trained generic network with trees and a calibration, both over these recognizers alike."""
    model = load_model(trained)
    trees = generic_trees((read_pack(variants / f"{name}.pack") for name in names), model.config.columns)
    lattices = fit_lattice_formula(as_it_was(variants, name, TRAIN) for name in names)
    card = replace(model.card, unseen=unseen or {})
    leaning = with_more_posterior(replace(model, trees=trees, lattices=lattices, card=card))
    calibrated_on = [name for name in names if name not in only_trained_on]
    return calibrate_generic(leaning, [list(as_it_was(variants, name, DEV)) for name in calibrated_on])


def with_more_posterior(model: Model) -> Model:
    """The model with some of the posterior added to what its network says: whatever that has learned, it counts."""
    return replace(model, weights={**model.weights, "skip": model.weights["skip"] + np.float32(POSTERIOR)})


def as_it_was(variants: Path, name: str, split: str) -> Iterator[Lattices]:
    """The networks of a recognizer without those that were varied: it is real recognizers that come."""
    for batch in stream([str(variants / name / split)]):
        yield batch[[utt.endswith(".0") for utt in batch.utts]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Make what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tools.generic_model", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("variants", type=Path, help="folder of packs and networks")
    parser.add_argument("trained", type=Path, help="the folder `generic` of the training on them")
    parser.add_argument("--only-trained-on", type=lambda text: text.split(","), default=[], metavar="NAMES",
                        help="recognizers of degraded speech: these are not calibrated on")  # fmt: skip
    parser.add_argument("--unseen", type=Path, help="measures with each family left out, for the card")
    parser.add_argument("--out", type=Path, required=True, help="the model folder")
    given = parser.parse_args(arguments)
    unseen = None if given.unseen is None else json.loads(given.unseen.read_text("utf-8"))
    made = finished(given.trained, given.variants, recognizers_in(given.variants), given.only_trained_on, unseen)
    made.save(given.out, trained=given.trained)
    print(f"{given.out}: words by {made.model.card.choice}, calibrated on {made.utterances:,} utterances")


if __name__ == "__main__":
    main()

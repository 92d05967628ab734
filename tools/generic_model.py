"""The generic model, from what was trained on variants of many recognizers: trees beside the network, calibration.

    python -m tools.recognizer_variants DATA --study STUDY --out VARIANTS
    python -m wordtrust.training VARIANTS/*.pack --together --head independent --identity-drop 1 --evidence-drop 0.4
        --embedding none --drop 0.2 --rate 3e-3 --average 0.998 --state 96 --epochs 40 --out TRAINED
    python -m tools.generic_model VARIANTS TRAINED/generic --unseen FAMILIES.json --out STUDY/models/generic

Trees are trained on the packs, calibration and the choice of words are those of VARIANTS/NAME/dev. FAMILIES.json is
what `experiments.generic_families --json` measured, each family left out; the card of the model keeps it. The model
takes the place of the one that the study leaves in STUDY/models, so `tools.shipped_models make` ships it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wordtrust.confidence.calibrate_model import CalibratedModel, calibrate_generic
from wordtrust.confidence.model_file import load_model
from wordtrust.training.dataset import read_pack
from wordtrust.training.trees import generic_trees


def recognizers_in(variants: Path) -> list[str]:
    """The recognizers that `tools.recognizer_variants` made packs of."""
    return sorted(path.stem for path in variants.glob("*.pack"))


def finished(
    trained: Path,
    variants: Path,
    names: Sequence[str],
    unseen: Mapping[str, Any] | None = None,
    weight: float | None = None,
) -> CalibratedModel:
    """A trained generic network with trees, calibrated: both over these recognizers alike.

    `weight` is how much trees count beside the network [as the library thinks best].
    """
    model = load_model(trained)
    trees = generic_trees((read_pack(variants / f"{name}.pack") for name in names), model.config.columns)
    if weight is not None:
        trees = replace(trees, chance_weight=weight)
    model = replace(model, trees=trees, card=replace(model.card, unseen=unseen or {}))
    return calibrate_generic(model, [[str(variants / name / "dev")] for name in names])


def main(arguments: Sequence[str] | None = None) -> None:
    """Make what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tools.generic_model", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("variants", type=Path, help="folder of packs and networks")
    parser.add_argument("trained", type=Path, help="the folder `generic` of the training on them")
    parser.add_argument("--unseen", type=Path, help="measures with each family left out, for the card")
    parser.add_argument("--out", type=Path, required=True, help="the model folder")
    given = parser.parse_args(arguments)
    unseen = None if given.unseen is None else json.loads(given.unseen.read_text("utf-8"))
    made = finished(given.trained, given.variants, recognizers_in(given.variants), unseen)
    made.save(given.out, trained=given.trained)
    print(f"{given.out}: words by {made.model.card.choice}, calibrated on {made.utterances:,} utterances")


if __name__ == "__main__":
    main()

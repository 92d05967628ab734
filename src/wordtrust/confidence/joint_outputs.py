"""What a joint network (`wordtrust.combination.joint`) knows about its outputs, read without the rest of it."""

from __future__ import annotations

from pathlib import Path

from ..base.errors import InputError
from ..base.json_checks import record
from ..base.tensors import read_tensors
from .estimation.held_out import KnownOfOutputs
from .shipped import COMBINATION, folder_of, names

FILE, OUTPUTS = "joint.safetensors", "outputs"  # in the folder of a combination; and in the card of that file


def is_combination(model: str | Path) -> bool:
    """Whether there is a combination at this path or, where nothing is there, a shipped one of this name."""
    if Path(model).exists():
        return (Path(model) / COMBINATION).is_file()
    return str(model) in names(COMBINATION)


def known_of_joint(model: str | Path) -> KnownOfOutputs:
    """What is known about outputs of the joint network of a combination, which need not be there."""
    path = folder_of(model, COMBINATION) / FILE
    if not path.is_file():
        raise InputError(
            "this combination has no joint network, and nothing is known about words that were chosen without",
            file=str(path.parent),
            remedy="Estimate the transcripts of one recognizer, or fit it anew without --no-joint",
        )
    try:
        return KnownOfOutputs.from_dict(
            record(read_tensors(path)[1].get(OUTPUTS, {}), "what is known of its outputs")
        )
    except InputError as error:
        raise error.at(file=str(path)) from None

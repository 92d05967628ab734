"""The file of a calibrator, for words that come with confidences: it works where a model does."""

from __future__ import annotations

import json
from pathlib import Path

from ..base import json_checks
from ..base.errors import InputError
from ..base.files import atomic_text
from .calibration import Calibrator, calibrator_from_dict
from .estimation.held_out import KnownOfOutputs

KIND = "wordtrust calibrator"  # what the file says it is
_HEAD = 200  # bytes of the file that say so


def save_calibrator(path: Path, calibrator: Calibrator, known: KnownOfOutputs | None = None) -> None:
    """Write a calibrator as a file of its own, for words that come with confidences."""
    record = {"kind": KIND, "words": calibrator.to_dict()} | ({} if known is None else known.to_dict())
    with atomic_text(path) as file:
        file.write(json.dumps(record, indent=1) + "\n")


def is_calibrator(path: Path) -> bool:
    """Whether a file says that it is a calibrator."""
    try:
        with path.open("rb") as file:
            return f'"kind": "{KIND}"'.encode() in file.read(_HEAD)
    except (OSError, ValueError):
        return False


def load_calibrator(path: Path) -> Calibrator:
    """Read one; anything else is an `InputError`."""
    return read_calibrator(path)[0]


def read_calibrator(path: Path) -> tuple[Calibrator, KnownOfOutputs]:
    """The calibrator, and what is known about outputs that it calibrates."""
    remedy = "Make it with: wordtrust calibrate --scores FILE --ref REF --out CALIBRATOR.json"
    try:
        record = json_checks.record(json_checks.load(path), "the calibrator")
        if record.get("kind") != KIND:
            raise InputError(f"does not say that it is a {KIND}", remedy=remedy)
        return calibrator_from_dict(record.get("words")), KnownOfOutputs.from_dict(record)
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", file=str(path), remedy=remedy) from None
    except InputError as error:
        raise InputError(f"no calibrator: {error.found}", file=str(path), remedy=remedy) from None

"""Models that come with wordtrust: found by name wherever a MODEL is taken.

wt.models()                     what there is
wt.load("whisper-base")         one of them, unless there is a folder of that name here
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..model_card import ShippedCard

FOLDER = Path(__file__).parent / "data"
MODEL, COMBINATION = "model.json", "combination.json"  # what is in a folder of either kind
CARD = "card.json"  # of a combination; a model has its card in model.json


def names(kind: str | None = None) -> tuple[str, ...]:
    """The names of all shipped models and combinations, or of those of one kind (`MODEL` or `COMBINATION`)."""
    kinds = (kind,) if kind else (MODEL, COMBINATION)
    return tuple(sorted({file.parent.name for each in kinds for file in FOLDER.glob(f"*/{each}")}))


def folder_of(model: str | Path, kind: str = MODEL) -> Path:
    """The folder that is meant: what exists at this path, else the shipped model of this name, else the path."""
    path = Path(model)
    return FOLDER / path if not path.exists() and str(model) in names(kind) else path


def is_shipped(model: str | Path) -> bool:
    """Whether a shipped model is meant, which must not be changed."""
    return folder_of(model).resolve().parent == FOLDER.resolve()


def is_model(model: str | Path) -> bool:
    """Whether there is a model at this path or of this name."""
    return (folder_of(model) / MODEL).is_file()


@dataclass(frozen=True, slots=True)
class ShippedModel:
    """What is known about a model without loading its weights."""

    name: str
    bytes: int
    card: ShippedCard
    feature_version: int | None = None  # None: a combination, which has none

    @property
    def fits(self) -> bool:
        """Whether this wordtrust makes the features that it was trained with."""
        from ..features import VERSION

        return self.feature_version in (None, VERSION)

    @property
    def recognizer(self) -> str:
        """What it is for, in words."""
        return self.card.recognizer

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"name": self.name, "bytes": self.bytes, "fits": self.fits, "card": self.card.to_json()}


def models() -> list[ShippedModel]:
    """All models that come with wordtrust, in the order of their names."""
    return [_read(FOLDER / name) for name in names()]


def _read(folder: Path) -> ShippedModel:
    size = sum(file.stat().st_size for file in folder.iterdir())
    if (folder / COMBINATION).is_file():
        return ShippedModel(folder.name, size, ShippedCard.from_json(json.loads((folder / CARD).read_text("utf-8"))))
    found = json.loads((folder / MODEL).read_text("utf-8"))
    return ShippedModel(folder.name, size, ShippedCard.from_json(found["card"]), found["feature_version"])

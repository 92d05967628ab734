"""Models that come with wordtrust: found by name wherever a MODEL is taken.

wt.models()                     what there is
wt.load("whisper-base")         one of them
wt.load("./whisper-base")       the folder of that name in the working directory

A bare name means the shipped model, also where there is a folder of that name; where that folder is a model as well,
it would be a guess which of the two is meant, so that is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...base.errors import OptionError
from ..features import VERSION
from ..model_card import ShippedCard

FOLDER = Path(__file__).parent / "data"
MODEL, COMBINATION, CHECK = "model.json", "combination.json", "check.safetensors"  # what is in a folder of each kind
CARD = "card.json"  # of a combination and of what checks transcripts; a model has its card in model.json
_NO_MODELS = {  # what is said where a model is wanted
    COMBINATION: "no model but what joins several recognizers: combine ... --joint {name}",
    CHECK: "no model of a recognizer but what checks transcripts: wordtrust check",
}


def names(kind: str | None = None) -> tuple[str, ...]:
    """The names of all that is shipped, or of one kind: `MODEL`, `COMBINATION` or `CHECK`."""
    kinds = (kind,) if kind else (MODEL, COMBINATION, CHECK)
    return tuple(sorted({file.parent.name for name in kinds for file in FOLDER.glob(f"*/{name}")}))


def folder_of(model: str | Path, kind: str = MODEL) -> Path:
    """The folder of a shipped model if this is its bare name, else the path as it is.

    An `OptionError` if there also is a model of that name in the working directory.
    """
    if str(model) not in names(kind):
        for other, told in _NO_MODELS.items():
            if kind == MODEL and str(model) in names(other) and not Path(model).exists():
                raise OptionError(f"{model}: {told.format(name=model)}")
        return Path(model)
    if (Path(model) / kind).is_file():
        raise OptionError(
            f"{model}: comes with wordtrust, and a folder here has this name too; give the whole path of the folder "
            f"({Path(model).absolute()}), or rename it to use the one that comes with wordtrust"
        )
    return FOLDER / model


def is_shipped(model: str | Path) -> bool:
    """Whether a shipped model is meant, which must not be changed."""
    return folder_of(model).resolve().parent == FOLDER.resolve()


def is_model(model: str | Path) -> bool:
    """Whether there is a model at this path or, where nothing is there, a shipped model of this name."""
    return (Path(model) / MODEL).is_file() if Path(model).exists() else str(model) in names(MODEL)


@dataclass(frozen=True, slots=True)
class ShippedModel:
    """What is known about a model without loading its weights."""

    name: str
    bytes: int
    card: ShippedCard
    feature_version: int | None = None  # None: no model of a recognizer, and without features
    accept: tuple[Mapping[str, Any], ...] = ()  # guaranteed thresholds (`--accept`)

    @property
    def fits(self) -> bool:
        """Whether this wordtrust makes the features that it was trained with."""
        return self.feature_version in (None, VERSION)

    @property
    def recognizer(self) -> str:
        """What it is for, in words."""
        return self.card.recognizer

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        about = {"name": self.name, "bytes": self.bytes, "fits": self.fits, "card": self.card.to_json()}
        return about | ({"accept": [dict(entry) for entry in self.accept]} if self.accept else {})


def models() -> list[ShippedModel]:
    """All models that come with wordtrust, in the order of their names."""
    return [_read(FOLDER / name) for name in names()]


def _read(folder: Path) -> ShippedModel:
    size = sum(file.stat().st_size for file in folder.iterdir())
    if not (folder / MODEL).is_file():
        return ShippedModel(folder.name, size, ShippedCard.from_json(json.loads((folder / CARD).read_text("utf-8"))))
    record = json.loads((folder / MODEL).read_text("utf-8"))
    card, accept = ShippedCard.from_json(record["card"]), tuple(record.get("accept", ()))
    return ShippedModel(folder.name, size, card, record["feature_version"], accept)

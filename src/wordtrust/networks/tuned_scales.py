"""SCALES.json: the scales that `wordtrust tune` chose, one set for each purpose."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ..base import json_checks
from ..base.errors import InputError
from ..base.files import atomic_text
from ..lattices.weights import Scales


@dataclass(frozen=True, slots=True)
class TunedScales:
    """Scales for each purpose, and what they reached on the data they were chosen on."""

    one_best: Scales
    posterior: Scales
    mbr: Scales
    # WER "as_given", "one_best", "mbr", the first two also "lenient_..."; NCE "nce_as_given", "nce"; "utterances"
    dev: Mapping[str, float]

    def to_json(self) -> str:
        """The text of SCALES.json."""
        record = {name: asdict(getattr(self, name)) for name in ("one_best", "posterior", "mbr")}
        return json.dumps(record | {"dev": dict(self.dev)}, indent=1) + "\n"

    def save(self, path: Path) -> None:
        """Write SCALES.json, whole or not at all."""
        with atomic_text(path) as file:
            file.write(self.to_json())

    @classmethod
    def load(cls, path: Path) -> TunedScales:
        """Read SCALES.json."""
        remedy = "Make it with: wordtrust tune LATTICES --ref REF.tsv --out SCALES.json"
        try:
            record = json_checks.record(json_checks.load(path, allow_nan=True), "the file")
            scales = {name: Scales(**_numbers(record[name])) for name in ("one_best", "posterior", "mbr")}
            return cls(**scales, dev=_numbers(record.get("dev", {})))
        except OSError as error:
            raise InputError(f"cannot be opened: {error.strerror}", file=str(path), remedy=remedy) from None
        except InputError as error:
            raise InputError(f"not a file of scales: {error.found}", file=str(path), remedy=remedy) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"not a file of scales: {error}", file=str(path), remedy=remedy) from None


def _numbers(record: Mapping[str, float]) -> dict[str, float]:
    numbers = {str(name): float(value) for name, value in record.items()}
    if not all(np.isfinite(value) for value in numbers.values()):
        raise ValueError("a number is not finite")
    return numbers

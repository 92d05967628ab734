"""The calibration of a model: a calibrator for arcs and one for words that are shown; and both for posteriors.

Models of today also have one for the probability that words are missing in a gap, if they tell it, and one for the
probability that a whole utterance is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.errors import InputError
from ...lattices.lattice import Lattices
from ...networks.word_confidence import capped_confidence
from .base import Calibrator
from .registry import calibrator_from_dict

PARTS = ("arcs", "words", "posterior_arcs", "posterior_words")
MORE_PARTS = ("gaps", "utterances")  # that not all calibrations have


@dataclass(frozen=True)
class ModelCalibration:
    """The calibrators of a model, by part."""

    parts: Mapping[str, Calibrator]

    def of(self, part: str, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """Calibrated probabilities."""
        return np.asarray(self.parts[part].predict(np.clip(scores.astype(np.float64), 0.0, 1.0)))

    def of_part(self, part: str, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """Calibrated probabilities; as they are where this part is not calibrated."""
        return self.of(part, scores) if part in self.parts else np.clip(scores.astype(np.float64), 0.0, 1.0)

    def of_arcs(self, networks: Lattices, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """Calibrated probabilities of the words of networks; those of arcs that rival sum to 1 at most."""
        words = networks.word > 0
        confidence = np.zeros(len(words))
        confidence[words] = self.of("arcs", scores)
        return capped_confidence(networks, confidence)[words]

    def to_dict(self) -> dict[str, Any]:
        """For model.json."""
        return {part: calibrator.to_dict() for part, calibrator in self.parts.items()}

    @classmethod
    def from_dict(cls, record: Any) -> ModelCalibration:
        """What `to_dict` wrote; anything else is an `InputError`."""
        if not isinstance(record, Mapping) or not set(PARTS) <= set(record) <= {*PARTS, *MORE_PARTS}:
            raise InputError(
                f"a calibration has the parts {', '.join(PARTS)}, and maybe {' and '.join(MORE_PARTS)}",
                remedy="Calibrate the model again",
            )
        return cls({part: calibrator_from_dict(record[part]) for part in (*PARTS, *MORE_PARTS) if part in record})

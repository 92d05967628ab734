"""How many utterances with references repair a calibration that does not hold any more.

Speakers are drawn at random and a calibration is fitted on their utterances. It is measured on other speakers: those
of another split, or the half of the speakers that is kept apart. Everything is over the words of the 1-best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordtrust.confidence.calibration import make
from wordtrust.evaluation.evaluate import ArcScorer, evaluate_networks
from wordtrust.evaluation.metrics import Scores
from wordtrust.lattices.lattice import Lattices
from wordtrust.networks.build_store import SPEAKER

SIZES = (50, 200, 1000)  # utterances
DRAWS = 10
CALIBRATORS = ("kernel", "platt")
MEASURES = ("nce", "ece")

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Words:
    """Words of a 1-best: confidences as the model gives them, as its calibration shows them, and who spoke."""

    raw: Scores
    shown: Scores | None
    utterances: NDArray[np.int64]  # [speakers]

    @classmethod
    def of(cls, batches: Sequence[Lattices], judge: ArcScorer) -> Words:
        """Of networks, as this judge sees them."""
        found = evaluate_networks(batches, judge).scores
        raw = found["one_best", "confidence"]
        place = {speaker: number for number, speaker in enumerate(raw.speakers)}
        numbers = [place[speaker] for batch in batches for speaker in batch.notes[SPEAKER]]
        return cls(raw, found.get(("one_best", "calibrated")), np.bincount(numbers, minlength=len(place)))


@dataclass(frozen=True)
class Repair:
    """Mean and spread over draws, by calibrator and number of utterances; 0 is the calibration as it was."""

    case: str
    found: dict[str, dict[int, dict[str, tuple[float, float]]]]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        rows = {
            name: {str(size): {key: list(pair) for key, pair in each.items()} for size, each in sizes.items()}
            for name, sizes in self.found.items()
        }
        return {"case": self.case, "calibrators": rows}


def repaired(
    case: str, own: Words, tested: Words | None = None, *, sizes: Sequence[int] = SIZES, draws: int = DRAWS
) -> Repair:
    """Fit on draws from `own`, measure on `tested`; without it, on a half of the speakers that is kept apart."""
    rows: dict[str, dict[int, dict[str, list[float]]]] = {name: {} for name in CALIBRATORS}
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(len(own.raw.speakers))
        kept = _all(tested.raw) if tested else np.isin(own.raw.speaker, order[: len(order) // 2])
        free = order if tested else order[len(order) // 2 :]
        there = tested or own
        for name, found in rows.items():
            if there.shown is not None:
                _keep(found.setdefault(0, {}), some(there.shown, kept))
            for size, drawn in _drawn(free, own.utterances, sizes):
                seen = some(own.raw, np.isin(own.raw.speaker, drawn))
                _keep(found.setdefault(size, {}), _fitted(name, seen, some(there.raw, kept)))
    return Repair(case, {name: {size: _spread(each) for size, each in found.items()} for name, found in rows.items()})


def _drawn(
    speakers: NDArray[np.int64], utterances: NDArray[np.int64], sizes: Sequence[int]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """The first speakers that have so many utterances together; sizes that all do not have are left out."""
    total = np.cumsum(utterances[speakers])
    for size in sizes:
        if total[-1] >= size:
            yield size, speakers[: int(np.searchsorted(total, size)) + 1]


def some(scores: Scores, keep: Flags) -> Scores:
    """Some of the words."""
    return Scores(scores.score[keep], scores.correct[keep], scores.speaker[keep], scores.speakers)


def _all(scores: Scores) -> Flags:
    return np.ones(len(scores), np.bool_)


def _fitted(name: str, seen: Scores, tested: Scores) -> Scores:
    """The tested words, with a calibration fitted on others."""
    curve = make(name).fit(np.clip(seen.score, 0, 1), seen.correct, groups=seen.speaker)
    return replace(tested, score=np.asarray(curve.predict(np.clip(tested.score, 0, 1))))


def _keep(values: dict[str, list[float]], scores: Scores) -> None:
    found = scores.metrics()
    for name in MEASURES:
        value = getattr(found, name)
        if value is not None:
            values.setdefault(name, []).append(float(value))


def _spread(values: dict[str, list[float]]) -> dict[str, tuple[float, float]]:
    return {name: (float(np.mean(each)), float(np.std(each))) for name, each in values.items()}

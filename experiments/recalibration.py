"""How many utterances with references it takes to calibrate anew where a calibration does not hold any more.

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
from wordtrust.evaluation.evaluation import ArcScorer, evaluate_networks
from wordtrust.evaluation.metrics import Scores
from wordtrust.lattices.lattice import Lattices
from wordtrust.networks.build_store import SPEAKER

SIZES = (50, 200, 1000)  # utterances
DRAWS = 10
CALIBRATORS = ("kernel", "platt")
MEASURES = ("nce", "ece")

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class SpeakerWords:
    """Words of a 1-best: confidences as the model gives them, as its calibration shows them, and who spoke."""

    raw: Scores
    shown: Scores | None
    utterances: NDArray[np.int64]  # [speakers]

    @classmethod
    def of(cls, batches: Sequence[Lattices], judge: ArcScorer) -> SpeakerWords:
        """Of networks, as this judge sees them."""
        scores = evaluate_networks(batches, judge).scores
        raw = scores["one_best", "confidence"]
        index = {speaker: i for i, speaker in enumerate(raw.speakers)}
        speakers = [index[speaker] for batch in batches for speaker in batch.notes[SPEAKER]]
        return cls(raw, scores.get(("one_best", "calibrated")), np.bincount(speakers, minlength=len(index)))


@dataclass(frozen=True)
class Recalibration:
    """Mean and standard deviation of measures over draws; with 0 utterances, of the calibration as it was."""

    case: str
    measures: dict[str, dict[int, dict[str, tuple[float, float]]]]  # by calibrator and number of utterances

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        rows = {
            calibrator: {
                str(size): {name: list(pair) for name, pair in measured.items()} for size, measured in sizes.items()
            }
            for calibrator, sizes in self.measures.items()
        }
        return {"case": self.case, "calibrators": rows}


def recalibrate(
    case: str,
    own: SpeakerWords,
    tested: SpeakerWords | None = None,
    *,
    sizes: Sequence[int] = SIZES,
    draws: int = DRAWS,
) -> Recalibration:
    """Fit on draws from `own`, measure on `tested`; without it, on a half of the speakers that is kept apart."""
    drawn: dict[str, dict[int, dict[str, list[float]]]] = {calibrator: {} for calibrator in CALIBRATORS}
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(len(own.raw.speakers))
        half = len(order) // 2
        held_out = np.ones(len(tested.raw), np.bool_) if tested else np.isin(own.raw.speaker, order[:half])
        speakers, words = order if tested else order[half:], tested or own
        for calibrator, by_size in drawn.items():
            if words.shown is not None:
                _add_measures(by_size.setdefault(0, {}), some(words.shown, held_out))
            for size, chosen in _drawn(speakers, own.utterances, sizes):
                seen = some(own.raw, np.isin(own.raw.speaker, chosen))
                fitted = _fitted(calibrator, seen, some(words.raw, held_out))
                _add_measures(by_size.setdefault(size, {}), fitted)
    measures = {
        calibrator: {size: _mean_and_std(values) for size, values in by_size.items()}
        for calibrator, by_size in drawn.items()
    }
    return Recalibration(case, measures)


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


def _fitted(name: str, seen: Scores, tested: Scores) -> Scores:
    """The tested words, with a calibration fitted on others."""
    curve = make(name).fit(np.clip(seen.score, 0, 1), seen.correct, groups=seen.speaker)
    return replace(tested, score=np.asarray(curve.predict(np.clip(tested.score, 0, 1))))


def _add_measures(values: dict[str, list[float]], scores: Scores) -> None:
    metrics = scores.metrics()
    for name in MEASURES:
        value = getattr(metrics, name)
        if value is not None:
            values.setdefault(name, []).append(float(value))


def _mean_and_std(values: dict[str, list[float]]) -> dict[str, tuple[float, float]]:
    return {name: (float(np.mean(drawn)), float(np.std(drawn))) for name, drawn in values.items()}

"""Scores of words with their labels: the population that all measures of confidence are taken from.

- eer: where the linearly interpolated miss and false alarm rates cross. None when no word is right, or none wrong.
- nce: normalised cross entropy as NIST sclite defines it, probabilities clipped to [1e-7, 1 - 1e-7]. 1 is perfect, 0
  what the share of right words would get as the probability of every word, less is worse than that. None as for eer.
- auc: area under the ROC curve, ties counting half. None as for eer.
- auc_pr_correct, auc_pr_wrong: average precision in finding the right (wrong) words. None when there is none to find.
- ece: expected calibration error, 15 bins of equal count, ties shared out between them. None when there are no words.
- brier: mean squared distance of probability and truth. None when there are no words.
- errors_caught: share of the wrong words in the least trusted 10%, ties shared out. None when no word is wrong.

nce, ece and brier also need probabilities: they are None when a score lies outside [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import InputError
from ...lattices.lattice import Flags, Ints, Offsets
from ..eer_nce import Counts, Values, bits_lost, normalised_cross_entropy
from .errors import Weights
from .kernels import RANK_METRICS, rank_metrics
from .speakers import Names, joined, numbered, places

OF_PROBABILITIES = ("nce", "ece", "brier")
_NEEDS = {  # the labels that a measure cannot do without
    "eer": (True, False),
    "nce": (True, False),
    "auc": (True, False),
    "auc_pr_correct": (True,),
    "auc_pr_wrong": (False,),
    "ece": (),
    "brier": (),
    "errors_caught": (False,),
}
METRICS = tuple(_NEEDS)


@dataclass(frozen=True, slots=True)
class ScoreMetrics:
    """All measures of one population; see the list of this module. None is undefined, `undefined` says why."""

    words: int
    correct: int  # how many of them are right
    eer: float | None = None
    nce: float | None = None
    auc: float | None = None
    auc_pr_correct: float | None = None
    auc_pr_wrong: float | None = None
    ece: float | None = None
    brier: float | None = None
    errors_caught: float | None = None
    undefined: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; what is undefined is left out."""
        named = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "undefined"}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, eq=False)
class Scores:
    """A score, a label and a speaker for each word. `+` joins two populations, `Scores()` is the empty one."""

    # [words] larger is surer; float32 or float64, kept as given
    score: NDArray[np.floating[Any]] = field(default_factory=lambda: np.zeros(0, np.float32))
    correct: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))  # [words]
    speaker: Ints = field(default_factory=lambda: np.zeros(0, np.int32))  # [words] a number among `speakers`
    speakers: Names = ()  # in order; an utterance's own name where its speaker is not known

    @classmethod
    def of(
        cls,
        score: ArrayLike,
        correct: ArrayLike,
        speakers: Sequence[str] | None = None,
        offsets: Offsets | None = None,
    ) -> Scores:
        """Scores and labels of words. Speakers are named one a word, or one an utterance if `offsets` are given.

        Without speakers everything is one speaker's: measures can be had, intervals cannot.
        """
        scores, labels = np.asarray(score), np.asarray(correct)
        if labels.dtype != np.bool_ and not np.isin(labels, (0, 1)).all():
            raise ValueError("a label is neither 0 nor 1")
        scores = scores if scores.dtype in (np.float32, np.float64) else scores.astype(np.float64)
        names, number = numbered(("",) if speakers is None else speakers)
        if speakers is None:
            number = np.zeros(len(scores), np.int32)
        elif offsets is not None:
            number = np.repeat(number, np.diff(offsets))
        return cls(scores, labels.astype(np.bool_), number, names)

    def __post_init__(self) -> None:
        if not self.score.shape == self.correct.shape == self.speaker.shape == (len(self.score),):
            raise ValueError(
                f"{len(self.score)} scores, {len(self.correct)} labels and {len(self.speaker)} speakers do not fit"
            )
        if len(self.speaker) and not 0 <= self.speaker.min() <= self.speaker.max() < len(self.speakers):
            raise ValueError(f"a speaker's number is not among 0 to {len(self.speakers) - 1}")
        bad = len(self.score) - int(np.count_nonzero(np.isfinite(self.score)))
        if bad:
            raise InputError(
                f"{bad:,} of {len(self.score):,} scores are not finite numbers",
                remedy="Leave words without a score out, or score them",
            )
        for name in ("score", "correct", "speaker"):
            view = getattr(self, name).view()  # the caller's own array stays writeable
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    def __len__(self) -> int:
        return len(self.score)

    def __add__(self, other: Scores) -> Scores:
        names = joined(self.speakers, other.speakers)
        if not len(self) or not len(other):  # the empty one does not widen float32 to float64
            return (self if len(self) else other).among(names)
        mine, theirs = self.among(names), other.among(names)
        return Scores(
            np.concatenate([mine.score, theirs.score]),
            np.concatenate([mine.correct, theirs.correct]),
            np.concatenate([mine.speaker, theirs.speaker]),
            names,
        )

    def among(self, speakers: Names) -> Scores:
        """The same words, as part of a larger set of speakers."""
        if speakers == self.speakers:
            return self
        return Scores(self.score, self.correct, places(self.speakers, speakers)[self.speaker], speakers)

    @cached_property
    def are_probabilities(self) -> bool:
        """Whether every score lies in [0, 1]."""
        return not len(self) or bool(self.score.min() >= 0 and self.score.max() <= 1)

    def metrics(self) -> ScoreMetrics:
        """All measures of these words."""
        values = self.values(np.ones((1, len(self.speakers)), np.int32))
        undefined = {name: reason for name in METRICS if (reason := self._undefined(name))}
        defined = {name: float(values[name][0]) for name in METRICS if name not in undefined}
        return ScoreMetrics(len(self), int(np.count_nonzero(self.correct)), **defined, undefined=undefined)

    def _undefined(self, name: str) -> str:
        """Why a measure cannot be had, or nothing."""
        if not len(self):
            return "there are no words"
        for label in _NEEDS[name]:
            if not np.any(self.correct == label):
                return "no word is right" if label else "no word is wrong"
        if name in OF_PROBABILITIES and not self.are_probabilities:
            return "scores outside 0 to 1 are not probabilities"
        return ""

    def values(self, weights: Weights) -> dict[str, Values]:
        """Every measure for each row of `weights`, which says how often each speaker counts; NaN is undefined."""
        ranks = np.empty((len(weights), len(RANK_METRICS)))
        rank_metrics(*self._ranked, np.ascontiguousarray(weights, np.int32), ranks)
        values = dict(zip(RANK_METRICS, ranks.T, strict=True)) | _sums_to_metrics(weights @ self._sums)
        if not self.are_probabilities:
            values |= dict.fromkeys(OF_PROBABILITIES, np.full(len(weights), np.nan))
        return values

    def check_pair(self, other: Scores) -> None:
        """Raise an error if the other has no speaker in common: then there is nothing to pair."""
        if not set(self.speakers) & set(other.speakers):
            raise InputError("the two sets of scores have no speaker in common", remedy="Compare the same utterances")

    def tally(self) -> tuple[Values, Counts, Counts]:
        """The distinct scores, rising, and how many right and wrong words have each."""
        value, place, correct, _ = self._ranked
        right, wrong = (np.bincount(place[chosen], minlength=len(value)) for chosen in (correct, ~correct))
        return value, right, wrong

    @cached_property
    def _ranked(self) -> tuple[Values, Ints, Flags, Ints]:
        """The distinct scores, rising; and for the words in that order: which one, label and speaker."""
        order = np.argsort(self.score)
        ranked = self.score[order]
        is_new = np.ones(len(ranked), np.bool_)
        np.not_equal(ranked[1:], ranked[:-1], out=is_new[1:])
        place = np.cumsum(is_new, dtype=np.int32) - np.int32(1)
        return (
            ranked[is_new].astype(np.float64),
            place,
            self.correct[order],
            self.speaker[order].astype(np.int32, copy=False),
        )

    @cached_property
    def _sums(self) -> Values:
        """[speakers, 4] words, right words, bits lost (NCE) and squared distances (Brier): these simply add up."""
        probability = np.clip(self.score.astype(np.float64), 0.0, 1.0)
        bits = bits_lost(probability, self.correct)
        squares = np.square(probability - self.correct)
        number, size = self.speaker, len(self.speakers)
        sums = [np.bincount(number, each, size) for each in (np.ones(len(self)), self.correct, bits, squares)]
        return np.stack(sums, axis=1)


def _sums_to_metrics(sums: Values) -> dict[str, Values]:
    """NCE and Brier from the sums over all words, a row for each drawing of speakers."""
    words, right, bits, squares = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        return {"nce": normalised_cross_entropy(words, right, bits), "brier": squares / words}

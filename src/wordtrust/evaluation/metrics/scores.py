"""Scores of words with their labels: the population that all measures of confidence are taken from.

- eer: equal error rate, where the miss rate (right words rejected) and the false alarm rate (wrong words accepted)
  cross, linearly interpolated. None if no word is right, or none is wrong.
- nce: normalised cross entropy as NIST sclite defines it, (H_max - H) / H_max, with probabilities clipped to
  [1e-7, 1 - 1e-7]. 1 is perfect; 0 is what the share of right words scores as the probability of every word; worse
  than that is negative. None as for eer.
- auc: area under the ROC curve, ties counting half. None as for eer.
- auc_pr_correct, auc_pr_wrong: average precision in finding the right (wrong) words. None if there is none to find.
- ece: expected calibration error over 15 bins of equal count, ties shared between bins. None if there are no words.
- brier: mean squared difference of probability and label. None if there are no words.
- errors_caught: share of the wrong words among the 10% with the lowest scores, ties shared. None if no word is wrong.

nce, ece and brier need probabilities: they are None if a score lies outside [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import InputError
from ...base.jit import compiled
from ...lattices.lattice import Flags, Ints, Offsets
from ..eer_nce import Counts, Values, bits_lost, equal_error_rate, normalised_cross_entropy
from .resample import Names, Weights, indices, joined, numbered

ECE_BINS = 15
REVIEWED = 0.1  # share of the words, for `errors_caught`
RANK_METRICS = ("eer", "auc", "auc_pr_correct", "auc_pr_wrong", "ece", "errors_caught")
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
    """All measures of one population; defined at the top of this module. None is undefined; `undefined` says why."""

    words: int
    correct: int  # right words
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
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "undefined"}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, eq=False)
class Scores:
    """A score, a label and a speaker for each word. `+` joins two populations, `Scores()` is the empty one."""

    # [words] larger is more confident; float32 or float64, kept as given
    score: NDArray[np.floating[Any]] = field(default_factory=lambda: np.zeros(0, np.float32))
    correct: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))  # [words]
    speaker: Ints = field(default_factory=lambda: np.zeros(0, np.int32))  # [words] an index into `speakers`
    speakers: Names = ()  # sorted; the utterance's name where its speaker is unknown

    @classmethod
    def of(
        cls,
        score: ArrayLike,
        correct: ArrayLike,
        speakers: Sequence[str] | None = None,
        offsets: Offsets | None = None,
    ) -> Scores:
        """Scores and labels of words. `speakers` has one name a word, or one an utterance if `offsets` are given.

        Without speakers all words are one speaker's: there are measures, but no intervals.
        """
        scores, labels = np.asarray(score), np.asarray(correct)
        if labels.dtype != np.bool_ and not np.isin(labels, (0, 1)).all():
            raise ValueError("a label is neither 0 nor 1")
        scores = scores if scores.dtype in (np.float32, np.float64) else scores.astype(np.float64)
        names, speaker = numbered(("",) if speakers is None else speakers)
        if speakers is None:
            speaker = np.zeros(len(scores), np.int32)
        elif offsets is not None:
            speaker = np.repeat(speaker, np.diff(offsets))
        return cls(scores, labels.astype(np.bool_), speaker, names)

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
        left, right = self.among(names), other.among(names)
        return Scores(
            np.concatenate([left.score, right.score]),
            np.concatenate([left.correct, right.correct]),
            np.concatenate([left.speaker, right.speaker]),
            names,
        )

    def among(self, speakers: Names) -> Scores:
        """The same words, as part of a larger set of speakers."""
        if speakers == self.speakers:
            return self
        return Scores(self.score, self.correct, indices(self.speakers, speakers)[self.speaker], speakers)

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
        """Why a measure is undefined, or an empty string."""
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
        value, rank, correct, _ = self._ranked
        right, wrong = (np.bincount(rank[chosen], minlength=len(value)) for chosen in (correct, ~correct))
        return value, right, wrong

    @cached_property
    def _ranked(self) -> tuple[Values, Ints, Flags, Ints]:
        """The distinct scores, rising; and for the words in that order: rank of the score, label and speaker."""
        order = np.argsort(self.score)
        ranked = self.score[order]
        is_new = np.ones(len(ranked), np.bool_)
        np.not_equal(ranked[1:], ranked[:-1], out=is_new[1:])
        rank = np.cumsum(is_new, dtype=np.int32) - np.int32(1)
        return (
            ranked[is_new].astype(np.float64),
            rank,
            self.correct[order],
            self.speaker[order].astype(np.int32, copy=False),
        )

    @cached_property
    def _sums(self) -> Values:
        """[speakers, 4] words, right words, bits lost (NCE) and squared differences (Brier), which add up."""
        probability = np.clip(self.score.astype(np.float64), 0.0, 1.0)
        bits = bits_lost(probability, self.correct)
        squares = np.square(probability - self.correct)
        speakers, columns = len(self.speakers), (np.ones(len(self)), self.correct, bits, squares)
        sums = [np.bincount(self.speaker, column, speakers) for column in columns]
        return np.stack(sums, axis=1)


def _sums_to_metrics(sums: Values) -> dict[str, Values]:
    """NCE and Brier from the sums over all words, a row for each draw of speakers."""
    words, right, bits, squares = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        return {"nce": normalised_cross_entropy(words, right, bits), "brier": squares / words}


# Kernels. All arrays are in rising order of the score; words of equal score are one entry, so ties are exact and the
# order of the words cannot matter. Counts are whole numbers (a speaker drawn twice counts twice). NaN is undefined.
eer = compiled(equal_error_rate)


@compiled
def auc(right: Counts, wrong: Counts) -> float:
    """The chance that a right word scores above a wrong one, ties counting half."""
    pairs, below = 0, 0
    for k in range(len(right)):
        pairs += right[k] * (2 * below + wrong[k])
        below += wrong[k]
    all_pairs = 2 * right.sum() * below
    return pairs / all_pairs if all_pairs else np.nan


@compiled
def average_precision(targets: Counts, others: Counts, from_top: bool) -> float:
    """Area under precision and recall as steps: the mean, over the target words, of the precision at each."""
    total = targets.sum()
    if total == 0:
        return np.nan
    area, targets_so_far, others_so_far, last = 0.0, 0, 0, len(targets) - 1
    for step in range(len(targets)):
        k = last - step if from_top else step
        targets_so_far += targets[k]
        others_so_far += others[k]
        if targets[k]:
            area += targets[k] * (targets_so_far / (targets_so_far + others_so_far))
    return float(area / total)


@compiled
def ece(value: Values, right: Counts, wrong: Counts, bins: int) -> float:
    """Expected calibration error: mean |mean score - share of right words| over bins of equal count.

    Words of equal score are alike, so those on the border of two bins are shared between them. Every word
    counts `bins` units and every bin holds as many units as there are words: whole numbers.
    """
    words = right.sum() + wrong.sum()
    if words == 0:
        return np.nan
    total, gap, room = 0.0, 0.0, words
    for k in range(len(value)):
        tied = right[k] + wrong[k]
        units = tied * bins
        while units > 0:
            taken = min(units, room)
            gap += taken * (value[k] - right[k] / tied)
            units -= taken
            room -= taken
            if room == 0:
                total += abs(gap)
                gap, room = 0.0, words
    return float(total / (bins * words))


@compiled
def caught(right: Counts, wrong: Counts, reviewed: float) -> float:
    """The share of the wrong words among the given share of all words with the lowest scores, ties shared."""
    all_wrong = wrong.sum()
    if all_wrong == 0:
        return np.nan
    left, caught_so_far = reviewed * (right.sum() + all_wrong), 0.0
    for k in range(len(right)):
        tied = right[k] + wrong[k]
        if tied >= left:
            caught_so_far += wrong[k] * (left / tied) if tied else 0.0
            break
        caught_so_far += wrong[k]
        left -= tied
    return float(caught_so_far / all_wrong)


@compiled
def _count(rank: Ints, correct: Flags, speaker: Ints, weight: Ints, right: Counts, wrong: Counts) -> None:
    """How many right and wrong words have each score, when each speaker is drawn `weight` times."""
    right[:] = 0
    wrong[:] = 0
    for word in range(len(rank)):
        if correct[word]:
            right[rank[word]] += weight[speaker[word]]
        else:
            wrong[rank[word]] += weight[speaker[word]]


@compiled
def rank_metrics(value: Values, rank: Ints, correct: Flags, speaker: Ints, weights: Ints, out: Values) -> None:
    """All of RANK_METRICS for each row of `weights`; word w has the score value[rank[w]]."""
    right = np.empty(len(value), np.int64)
    wrong = np.empty(len(value), np.int64)
    for row in range(len(weights)):
        _count(rank, correct, speaker, weights[row], right, wrong)
        out[row, 0] = eer(right, wrong)
        out[row, 1] = auc(right, wrong)
        out[row, 2] = average_precision(right, wrong, True)
        out[row, 3] = average_precision(wrong, right, False)
        out[row, 4] = ece(value, right, wrong, ECE_BINS)
        out[row, 5] = caught(right, wrong, REVIEWED)

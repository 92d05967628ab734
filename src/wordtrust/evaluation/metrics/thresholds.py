"""Thresholds on confidences: what is accepted without review, and what reviewing the rest would find.

`operating_point` finds the threshold that reaches a precision on the data at hand. On new data that precision is
missed about half of the time, and an interval that treats words as independent is too narrow: a speaker who is hard
to understand contributes many wrong words at once. `guaranteed_threshold` finds one whose precision holds for new
speakers with a stated level of confidence; speakers are what is drawn from the population.

At a threshold, a speaker's loss is (wrong accepted words - (1 - precision) * accepted words) / scale. The precision
holds if the mean loss over the population of speakers is at most 0. The scale is the speaker's number of words (`per`
"speaker", the default: a random word of a random speaker), or that of the largest speaker (`per` "word": all words
count alike, which assumes that no new speaker says more and takes more speakers to prove).

Thresholds are tried from high to low until one fails the test of its mean loss at the given level. Such a fixed
sequence needs no correction for multiple tests: a threshold that is too low passes only if the first of those that
are too low does. The sequence begins where so many words are accepted that a result without errors would pass
easily; thresholds are quantiles of the scores. Neither depends on which words are right, and both are taken as given,
though other speakers would have slightly different quantiles.

Two tests:

- `betting`: valid for any number of speakers and any distribution of their losses, as these are bounded. A gambler
  who bets against the null hypothesis (the mean loss exceeds 0) multiplies the stake by 1 - bet * loss at every
  speaker; if the hypothesis is true, a stake of 1 becomes 20 with a probability of at most 1/20. The stake is spread
  over a few bets (Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024).
  Hoeffding-Bentkus bounds, which ignore that most speakers are alike, prove nothing in many cases in which this does.
  Still, 98% at the level of 95% takes 149 speakers even if not a single word is wrong, because a new speaker of whom
  everything is wrong cannot be excluded sooner.
- `bootstrap`: approximate. Speakers are drawn with replacement; it trusts that those at hand represent all, and holds
  less often than stated when they are few. For when there are too few speakers to bet on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.errors import OptionError
from ...lattices.lattice import Flags
from ..eer_nce import Counts, Values
from .resample import LEVEL, REPLICATES, speaker_draws
from .scores import REVIEWED, Scores, caught

METHODS = ("betting", "bootstrap")
PER = ("speaker", "word")
PRECISION = 0.98
MIN_SPEAKERS = 20  # for a bootstrap: fewer do not represent a population
_THRESHOLDS = 200
_CELLS = 1 << 24  # speakers times thresholds, to bound memory
_MAX_SPEAKERS = 5000  # to draw from: more are added up in random groups, which keeps the mean and its variance
_BETS = ((0.98, 0.5), (0.5, 0.3), (0.2, 0.2))  # as a share of the largest there may be, and share of the stake
_EASE = 2.5  # times the words that a result without errors needs: with errors, about the most likely to pass
_BOOTSTRAP_START = 0.1  # share of the words that are accepted at the first threshold
_BOUNDS = 100  # steps between the wanted precision and 1
_SLACK = 1e-9  # a precision like 0.55 has no exact binary form


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Words with a score of at least `threshold` are accepted, the others rejected."""

    threshold: float
    precision: float  # share of the accepted words that are right
    accepted: float  # share of the words
    correct_accepted: float  # share of the right words
    errors_rejected: float | None  # share of the wrong words; None where no word is wrong


def operating_point(scores: Scores, precision: float = PRECISION) -> OperatingPoint | None:
    """The lowest threshold at which at least this share of the accepted words is right; None if there is none.

    Precision need not rise with the threshold; of all that reach the target, the one that accepts most is given.
    """
    if not 0 < precision <= 1:
        raise OptionError(f"the precision is {precision}, it must be over 0 and at most 1")
    value, right, wrong = scores.tally()
    right_above, wrong_above = (np.cumsum(counts[::-1])[::-1] for counts in (right, wrong))
    words_above = right_above + wrong_above
    reached = np.flatnonzero(right_above >= (precision - _SLACK) * words_above)
    if not len(reached):
        return None
    at = reached[0]
    return OperatingPoint(
        threshold=float(value[at]),
        precision=float(right_above[at] / words_above[at]),
        accepted=float(words_above[at] / words_above[0]),
        correct_accepted=float(right_above[at] / right_above[0]),
        errors_rejected=float(1 - wrong_above[at] / wrong_above[0]) if wrong_above[0] else None,
    )


def errors_caught(scores: Scores, reviewed: float = REVIEWED) -> float | None:
    """The share of the errors found by reviewing this share of the words, lowest scores first.

    Words of equal score are reviewed in random order, on average. None where no word is wrong.
    """
    if not 0 <= reviewed <= 1:
        raise OptionError(f"the share to review is {reviewed}, it must be from 0 to 1")
    _, right, wrong = scores.tally()
    return float(caught(right, wrong, reviewed)) if wrong.any() else None


def review_curve(scores: Scores, points: int = 101) -> tuple[Values, Values] | None:
    """Shares of the words reviewed, evenly from 0 to 1, and of the errors caught; None where no word is wrong."""
    _, right, wrong = scores.tally()
    if not wrong.any():
        return None
    reviewed = np.concatenate([[0], np.cumsum(right + wrong)]) / len(scores)
    caught_errors = np.concatenate([[0], np.cumsum(wrong)]) / wrong.sum()
    shares = np.linspace(0, 1, points)
    return shares, np.interp(shares, reviewed, caught_errors)


@dataclass(frozen=True, slots=True)
class GuaranteedThreshold:
    """Words with a score of at least `threshold` are accepted. Without a threshold, `reason` says why."""

    wanted: float  # precision
    level: float  # how sure it is that new speakers have at least that
    speakers: int
    method: str
    per: str
    threshold: float | None = None
    accepted: float | None = None  # share of the words
    precision: float | None = None  # on the data: share of the accepted words that are right
    speaker_precision: float | None = None  # the same with every speaker counting alike
    bound: float | None = None  # the largest precision that the test at this threshold shows; at least the wanted
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For JSON; what is undefined is left out."""
        named = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in named.items() if value not in (None, "")}


def guaranteed_threshold(
    scores: Scores,
    precision: float = PRECISION,
    level: float = LEVEL,
    *,
    method: str = "betting",
    per: str = "speaker",
    seed: int = 0,
) -> GuaranteedThreshold:
    """The lowest threshold at which new speakers have at least this precision, with this level of confidence.

    The scores need speakers, and must not come from a model or calibrator that was fitted on the same words. `seed`
    is that of the bootstrap.
    """
    _check(precision, level, method, per)
    test = _LossTest(precision, 1 - level, method, per, seed)
    table = _AcceptedWords.of(scores)
    reason = test.hopeless(table)
    first = 0 if reason else test.first(table)
    passed = np.zeros(0, np.bool_) if reason else test.passed(table.part(slice(first, None)))
    last = first + (len(passed) if passed.all() else int(np.argmin(passed))) - 1
    common = (precision, level, len(table.words), method, per)
    if reason or last < first:
        return GuaranteedThreshold(*common, reason=reason or _too_imprecise(table, first, precision))
    chosen = table.part(slice(last, last + 1))
    bound = test.bound(chosen)
    return GuaranteedThreshold(*common, float(chosen.threshold[0]), *chosen.summary(), bound)


def _check(precision: float, level: float, method: str, per: str) -> None:
    for name, value in (("precision", precision), ("level", level)):
        if not 0 < value < 1:
            raise OptionError(f"the {name} is {value}, it must be between 0 and 1: nothing finite proves certainty")
    for name, given, known in (("method", method, METHODS), ("per", per, PER)):
        if given not in known:
            raise OptionError(f"{name} is one of {', '.join(known)}, not {given!r}")


def _too_imprecise(table: _AcceptedWords, first: int, precision: float) -> str:
    accepted, right, by_speaker = table.part(slice(first, first + 1)).summary()
    return (
        f"already the highest threshold that was tried, {table.threshold[first]:.6g} (it accepts {accepted:.1%} of "
        f"the words, {right:.2%} of them right, {by_speaker:.2%} with every speaker counting alike), does not show "
        f"{precision:.2%} at this level; ask for a lower precision or level, or bring more speakers"
    )


@dataclass(frozen=True, slots=True, eq=False)
class _AcceptedWords:
    """What is accepted of each speaker at each threshold."""

    threshold: Values  # [thresholds] falling
    accepted: Counts  # [speakers, thresholds]
    wrong: Counts  # of the accepted
    words: Counts  # [speakers] at least 1

    @classmethod
    def of(cls, scores: Scores) -> _AcceptedWords:
        """Count words; speakers without any are left out."""
        words = np.bincount(scores.speaker, minlength=len(scores.speakers))
        index = np.cumsum(words > 0) - 1
        speaker, speakers = index[scores.speaker], int(np.count_nonzero(words))
        threshold = _quantiles(scores, max(10, min(_THRESHOLDS, _CELLS // max(1, speakers))))
        size = len(threshold)
        # The first threshold, counted from the highest, that accepts the word.
        cell = speaker * size + (size - np.searchsorted(threshold[::-1], scores.score, side="right"))
        accepted, wrong = (
            np.bincount(cells, minlength=speakers * size).reshape(speakers, size).cumsum(axis=1)
            for cells in (cell, cell[~scores.correct])
        )
        return cls(threshold, accepted, wrong, words[words > 0])

    def part(self, columns: slice) -> _AcceptedWords:
        """Some of the thresholds."""
        return _AcceptedWords(self.threshold[columns], self.accepted[:, columns], self.wrong[:, columns], self.words)

    def summary(self) -> tuple[float, float, float]:
        """At the first threshold: share of words accepted, precision, precision with speakers counting alike."""
        accepted, wrong = self.accepted[:, 0], self.wrong[:, 0]
        share, wrong_share = (accepted / self.words).sum(), (wrong / self.words).sum()
        return (
            float(accepted.sum() / self.words.sum()),
            float(1 - wrong.sum() / accepted.sum()),
            float(1 - wrong_share / share),
        )


def _quantiles(scores: Scores, size: int) -> Values:
    """Scores that accept even shares of the words, falling; the last accepts all."""
    value, right, wrong = scores.tally()
    if not len(value):
        return np.zeros(0)
    above = np.cumsum((right + wrong)[::-1])
    ranks = np.unique(np.searchsorted(above, np.arange(1, size + 1) / size * above[-1]))
    falling: Values = value[::-1][np.minimum(ranks, len(value) - 1)]
    return falling


@dataclass(frozen=True, slots=True)
class _LossTest:
    """The test that the mean loss over the population of speakers is at most 0."""

    precision: float
    alpha: float  # 1 - level
    method: str
    per: str
    seed: int

    def hopeless(self, table: _AcceptedWords) -> str:
        """Why no result could pass, or an empty string."""
        speakers = len(table.words)
        if not speakers:
            return "there are no words"
        needed = MIN_SPEAKERS
        if self.method == "betting":
            everything = float(np.mean(table.words / self._scale(table)))
            needed = int(np.ceil(-np.log(self.alpha) / np.log1p(everything * (1 / self.precision - 1)) - 1e-9))
        if speakers >= needed:
            return ""
        return f"{speakers:,} speaker{'s are' if speakers > 1 else ' is'} too few: at least {needed:,} are needed" + (
            ", even if no word of theirs is wrong" if self.method == "betting" else " for a bootstrap"
        )

    def first(self, table: _AcceptedWords) -> int:
        """The threshold to begin with; it accepts more than would do if no accepted word were wrong."""
        share = np.mean(table.accepted / self._scale(table)[:, np.newaxis], axis=0)
        if self.method == "bootstrap":
            start = _BOOTSTRAP_START * share[-1]
        else:
            odds = 1 / self.precision - 1
            enough = np.expm1(-np.log(self.alpha) / len(table.words)) / odds
            start = min(_EASE * enough, (enough + share[-1]) / 2)
        return int(np.argmax(share >= start))

    def passed(self, table: _AcceptedWords) -> Flags:
        """Which thresholds pass the test, each for itself."""
        return np.asarray(self._chance(table, np.full(len(table.threshold), self.precision)) <= self.alpha)

    def bound(self, table: _AcceptedWords) -> float:
        """The largest precision that the first threshold passes the test for."""
        wanted = np.linspace(self.precision, 1, _BOUNDS, endpoint=False)
        passed = self._chance(table.part(slice(0, 1)), wanted) <= self.alpha
        return float(wanted[passed][-1])

    def _chance(self, table: _AcceptedWords, precision: Values) -> Values:
        """p-values for the precision of each threshold."""
        loss = (table.wrong - (1 - precision) * table.accepted) / self._scale(table)[:, np.newaxis]
        return _betting(loss, precision) if self.method == "betting" else _bootstrap(loss, self.seed)

    def _scale(self, table: _AcceptedWords) -> Counts:
        return table.words if self.per == "speaker" else np.full_like(table.words, table.words.max())


def _betting(loss: Values, precision: Values) -> Values:
    """One over what a stake of 1 has become, for losses of at most the precision; columns are tests."""
    stakes = [np.log(stake) + np.log1p(loss * (-bet / precision)).sum(axis=0) for bet, stake in _BETS]
    won = np.logaddexp.reduce(stakes, axis=0)
    return np.asarray(np.exp(-np.maximum(won, 0.0)))


def _bootstrap(loss: Values, seed: int) -> Values:
    """How often the mean loss of speakers drawn anew is not under 0; columns are tests."""
    generator = np.random.default_rng(seed)
    if len(loss) > _MAX_SPEAKERS:
        first = np.linspace(0, len(loss), _MAX_SPEAKERS, endpoint=False).astype(np.int64)
        loss = np.add.reduceat(loss[generator.permutation(len(loss))], first)
    over = np.zeros(loss.shape[1])
    for weights in speaker_draws(len(loss), REPLICATES, generator):
        over += np.count_nonzero(weights.astype(np.float64) @ loss >= 0, axis=0)
    return np.asarray((over + 1) / (REPLICATES + 1))

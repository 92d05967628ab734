"""Thresholds whose precision holds for new speakers, with a stated level of confidence.

Speakers are what is drawn from the population: an interval that treats words as independent is too narrow, because a
speaker who is hard to understand contributes many wrong words at once.

At a threshold, a speaker's loss is (wrong accepted words - (1 - precision) * accepted words) / scale. The precision
holds if the mean loss over the population of speakers is at most 0. The scale is the speaker's number of words (`per`
"speaker", the default: a random word of a random speaker), or that of the largest speaker (`per` "word": all words
count alike, which assumes that no new speaker says more and takes more speakers to prove).

Thresholds are tried from high to low until one fails the test of its mean loss at the given level. Such a fixed
sequence needs no correction for multiple tests: a threshold that is too low passes only if the first of those that
are too low does. It begins where a result without errors would pass easily, or earlier: where the scores, taken as
probabilities, let the test expect most (words above the precision win on average, those below lose). Thresholds are
quantiles of the scores. Neither depends on which words are right, and both are taken as given, though other speakers
would have slightly different quantiles.

Two tests:

- `betting`: valid for any number of speakers and any distribution of their losses, as these are bounded. A gambler
  who bets against the null hypothesis (the mean loss exceeds 0) multiplies the stake by 1 - bet * loss at every
  speaker; if the hypothesis is true, a stake of 1 becomes 20 with a probability of at most 1/20 (Waudby-Smith and
  Ramdas, "Estimating means of bounded random variables by betting", 2024). The bet is fixed beforehand: the best one
  for a loss that is only just significant, if ten words of a speaker are as good as independent. Bounds by Hoeffding
  and Bentkus or Bernstein, a stake spread over several bets, and bets that learn as they go accept fewer words
  (`python -m experiments.threshold_bounds` compares them). Still, 98% at the level of 95% takes 152 speakers even if
  not a single word is wrong, because a new speaker of whom everything is wrong cannot be excluded sooner.
- `bootstrap`: approximate. Speakers are drawn with replacement; it trusts that those at hand represent all, and holds
  less often than stated when they are few. For when there are too few speakers to bet on.

`largest_promise` says which precision can be promised where the wanted one cannot: precisions are tried from low to
high, each at the one threshold where it expects most, until one fails. That is a fixed sequence too, so the promise
holds although it was chosen by looking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.errors import OptionError
from ...lattices.lattice import Flags
from ..eer_nce import Counts, Values
from .accepted_words import AcceptedWords
from .resample import LEVEL, REPLICATES, speaker_draws
from .scores import Scores
from .thresholds import PRECISION

METHODS = ("betting", "bootstrap")
PER = ("speaker", "word")
MIN_SPEAKERS = 20  # for a bootstrap: fewer do not represent a population
_MAX_SPEAKERS = 5000  # to draw from: more are added up in random groups, which keeps the mean and its variance
_LARGEST_BET = 0.98  # as a share of the one that a single speaker could lose everything with
_INDEPENDENT_WORDS = (
    10  # of a speaker: their share of errors varies about as much as that of so many independent words
)
_EASE = 2.5  # times the words that a result without errors needs: with errors, about the most likely to pass
_BOOTSTRAP_START = 0.1  # share of the words that are accepted at the first threshold
_BOUNDS = 100  # steps between the wanted precision and 1
_PROMISES = np.arange(100, 200) / 200  # precisions that are tried, from low to high
_POWER = 0.84  # standard deviations: in four studies of five, so many speakers are enough
_NUMBERS_OF_SPEAKERS = np.unique(np.ceil(1.04 ** np.arange(353)).astype(np.int64))  # to a million


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
    test = LossTest(precision, 1 - level, method, per, seed)
    table = AcceptedWords.of(scores)
    reason = test.hopeless(table)
    first = 0 if reason else test.first(table, are_probabilities=scores.are_probabilities)
    passed = np.zeros(0, np.bool_) if reason else test.passed(table.part(slice(first, None)))
    last = first + (len(passed) if passed.all() else int(np.argmin(passed))) - 1
    common = (precision, level, len(table.words), method, per)
    if reason or last < first:
        return GuaranteedThreshold(*common, reason=reason or _too_imprecise(table, first, precision))
    chosen = table.part(slice(last, last + 1))
    bound = test.bound(chosen)
    return GuaranteedThreshold(*common, float(chosen.threshold[0]), *chosen.summary(), bound)


def largest_promise(scores: Scores, level: float = LEVEL, *, per: str = "speaker") -> GuaranteedThreshold | None:
    """The largest precision that these speakers can prove by betting, with its threshold; None if they prove none.

    Of 0.5, 0.505 and so on; each is tried at one threshold, and none after the first that fails.
    """
    _check(PRECISION, level, "betting", per)
    table = AcceptedWords.of(scores)
    if not len(table.words):
        return None
    tests = [LossTest(precision, 1 - level, "betting", per) for precision in _PROMISES.tolist()]
    columns = np.array([test.best(table, are_probabilities=scores.are_probabilities) for test in tests])
    chances = tests[0].chances(table.part(columns), _PROMISES)
    failed = np.flatnonzero(chances > 1 - level)
    last = (int(failed[0]) if len(failed) else len(tests)) - 1
    if last < 0:
        return None
    chosen = table.part(columns[last : last + 1])
    precision, bound = float(_PROMISES[last]), tests[last].bound(chosen)
    threshold = float(chosen.threshold[0])
    return GuaranteedThreshold(
        precision, level, len(table.words), "betting", per, threshold, *chosen.summary(), bound
    )


def speakers_needed(scores: Scores, precision: float = PRECISION, level: float = LEVEL) -> int | None:
    """About how many speakers like these it takes to promise a precision; None if even a million would not do."""
    _check(precision, level, "betting", "speaker")
    table = AcceptedWords.of(scores)
    test = LossTest(precision, 1 - level)
    if not len(table.words):
        return None
    for speakers in _NUMBERS_OF_SPEAKERS.tolist():
        first = test.first(table, are_probabilities=scores.are_probabilities, speakers=speakers)
        growth = test.growth(table.part(slice(first, first + 1)), speakers)
        if speakers * growth.mean() - _POWER * np.sqrt(speakers) * growth.std() >= -np.log(1 - level):
            return int(speakers)
    return None


def _check(precision: float, level: float, method: str, per: str) -> None:
    for name, value in (("precision", precision), ("level", level)):
        if not 0 < value < 1:
            raise OptionError(f"the {name} is {value}, it must be between 0 and 1: nothing finite proves certainty")
    for name, given, known in (("method", method, METHODS), ("per", per, PER)):
        if given not in known:
            raise OptionError(f"{name} is one of {', '.join(known)}, not {given!r}")


def _too_imprecise(table: AcceptedWords, first: int, precision: float) -> str:
    accepted, right, by_speaker = table.part(slice(first, first + 1)).summary()
    return (
        f"already the first threshold that was tried, {table.threshold[first]:.6g} (it accepts {accepted:.1%} of "
        f"the words, {right:.2%} of them right, {by_speaker:.2%} with every speaker counting alike), does not show "
        f"{precision:.2%} at this level; ask for a lower precision or level, or bring more speakers"
    )


@dataclass(frozen=True, slots=True)
class LossTest:
    """The test that the mean loss over the population of speakers is at most 0."""

    precision: float
    alpha: float  # 1 - level
    method: str = "betting"
    per: str = "speaker"
    seed: int = 0

    def hopeless(self, table: AcceptedWords) -> str:
        """Why no result could pass, or an empty string."""
        speakers = len(table.words)
        if not speakers:
            return "there are no words"
        needed = MIN_SPEAKERS
        if self.method == "betting":
            most = _LARGEST_BET * self._everything(table) * (1 / self.precision - 1)  # a speaker without errors wins
            needed = int(np.ceil(-np.log(self.alpha) / np.log1p(most) - 1e-9))
        if speakers >= needed:
            return ""
        return f"{speakers:,} speaker{'s are' if speakers > 1 else ' is'} too few: at least {needed:,} are needed" + (
            ", even if no word of theirs is wrong" if self.method == "betting" else " for a bootstrap"
        )

    def first(self, table: AcceptedWords, *, are_probabilities: bool, speakers: int | None = None) -> int:
        """The threshold to begin with, if there were so many speakers.

        It accepts more than would do if no accepted word were wrong.
        """
        share = self._share(table)
        if self.method == "bootstrap":
            return int(np.argmax(share >= _BOOTSTRAP_START * share[-1]))
        enough = self._enough(speakers or len(table.words))
        easy = int(np.argmax(share >= min(_EASE * enough, (enough + share[-1]) / 2)))
        return min(easy, self.best(table, are_probabilities=are_probabilities, speakers=speakers))

    def best(self, table: AcceptedWords, *, are_probabilities: bool, speakers: int | None = None) -> int:
        """The threshold at which the test expects most, as far as the scores tell."""
        share, enough = self._share(table), self._enough(speakers or len(table.words))
        if not are_probabilities:
            return int(np.argmax(share >= min(_EASE * enough, (enough + share[-1]) / 2)))
        surer = int(np.count_nonzero(table.threshold >= self.precision))
        return max(surer - 1, int(np.argmax(share >= min(enough, share[-1]))))

    def growth(self, table: AcceptedWords, speakers: int) -> Values:
        """[speakers] by how much each lets the logarithm of the stake grow, with the bet for so many of them."""
        precision = np.array([self.precision])
        return np.asarray(np.log1p(-self.bets(table, precision, speakers) * self.losses(table, precision))[:, 0])

    def passed(self, table: AcceptedWords) -> Flags:
        """Which thresholds pass the test, each for itself."""
        return np.asarray(self.chances(table, np.full(len(table.threshold), self.precision)) <= self.alpha)

    def bound(self, table: AcceptedWords) -> float:
        """The largest precision that the first threshold passes the test for."""
        wanted = np.linspace(self.precision, 1, _BOUNDS, endpoint=False)
        passed = self.chances(table.part(slice(0, 1)), wanted) <= self.alpha
        return float(wanted[passed][-1])

    def chances(self, table: AcceptedWords, precision: Values) -> Values:
        """p-values for the precision of each threshold."""
        loss = self.losses(table, precision)
        return (
            betting_chances(loss, self.bets(table, precision))
            if self.method == "betting"
            else bootstrap_chances(loss, self.seed)
        )

    def losses(self, table: AcceptedWords, precision: Values) -> Values:
        """[speakers, thresholds] at most the precision."""
        return np.asarray((table.wrong - (1 - precision) * table.accepted) / self._scale(table)[:, np.newaxis])

    def bets(self, table: AcceptedWords, precision: Values, speakers: int | None = None) -> Values:
        """What is put on each precision: the best bet on a mean loss that is only just significant."""
        variance = precision * (1 - precision) / _INDEPENDENT_WORDS * self._everything(table) ** 2
        just_significant = np.sqrt(-2 * np.log(self.alpha) / ((speakers or len(table.words)) * variance))
        return np.asarray(np.minimum(_LARGEST_BET / precision, just_significant))

    def _enough(self, speakers: int) -> float:
        """The share of words that has to be accepted for a result without errors to pass."""
        return float(np.expm1(-np.log(self.alpha) / speakers) / (1 / self.precision - 1) / _LARGEST_BET)

    def _share(self, table: AcceptedWords) -> Values:
        return np.asarray(np.mean(table.accepted / self._scale(table)[:, np.newaxis], axis=0))

    def _everything(self, table: AcceptedWords) -> float:
        return float(np.mean(table.words / self._scale(table)))

    def _scale(self, table: AcceptedWords) -> Counts:
        return table.words if self.per == "speaker" else np.full_like(table.words, table.words.max())


def betting_chances(loss: Values, bet: Values) -> Values:
    """One over what a stake of 1 has become; columns are tests."""
    won = np.log1p(-bet * loss).sum(axis=0)
    return np.asarray(np.exp(-np.maximum(won, 0.0)))


def bootstrap_chances(loss: Values, seed: int) -> Values:
    """How often the mean loss of speakers drawn anew is not under 0; columns are tests."""
    generator = np.random.default_rng(seed)
    if len(loss) > _MAX_SPEAKERS:
        first = np.linspace(0, len(loss), _MAX_SPEAKERS, endpoint=False).astype(np.int64)
        loss = np.add.reduceat(loss[generator.permutation(len(loss))], first)
    over = np.zeros(loss.shape[1])
    for weights in speaker_draws(len(loss), REPLICATES, generator):
        over += np.count_nonzero(weights.astype(np.float64) @ loss >= 0, axis=0)
    return np.asarray((over + 1) / (REPLICATES + 1))

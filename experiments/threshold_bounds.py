"""Which test proves the lowest thresholds for new speakers: those that could be used, on the same draws of speakers.

    python -m experiments.threshold_bounds whisper-base=STUDY/work/whisper-base/dev ...

The speakers of a store are the population, whose precision at every threshold is known. Samples of them are drawn
with replacement, and each test goes down the thresholds until it fails. It begins where it can: the exact bounds need
more accepted words for a first success than bets do, so they begin where outputs without errors would pass them.
Printed for each: the share of words that are accepted on average, and how often the threshold was too low (of valid
tests at most 1 - level).

Below, speakers on the edge: each threshold has exactly the wanted precision, by a few speakers who have it all wrong,
or by errors that are spread evenly. Whatever is accepted is accepted by mistake.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, t  # type: ignore[import-untyped]

import wordtrust as wt
from wordtrust.base.table import Table
from wordtrust.evaluation.metrics import guarantee
from wordtrust.evaluation.metrics.accepted_words import AcceptedWords

Values = NDArray[np.float64]
Test = Callable[[Values, float], Values]  # losses [speakers, thresholds] and the precision to p-values

ALPHA = 0.05
PRECISIONS = (0.9, 0.95, 0.98)
SPEAKERS = (216, 1354)
EASE = 2.5  # times what would be enough without an error, as `guaranteed_threshold` has it


def bets(*shares: tuple[float, float]) -> Test:
    """A stake spread over fixed bets: the share of the largest bet, and the share of the stake on it."""

    def chances(loss: Values, precision: float) -> Values:
        stakes = [np.log(stake) + np.log1p(loss * (-bet / precision)).sum(axis=0) for bet, stake in shares]
        return np.asarray(np.exp(-np.maximum(np.logaddexp.reduce(stakes, axis=0), 0.0)))

    return chances


def just_significant(loss: Values, precision: float) -> Values:
    """One bet, the best for a mean loss that is only just significant: what `guaranteed_threshold` does."""
    test = guarantee.LossTest(precision, ALPHA)
    words = np.ones(len(loss), np.int64)
    table = AcceptedWords(np.zeros(1), words[:, np.newaxis], words[:, np.newaxis], words)
    return guarantee.betting_chances(loss, test.bets(table, np.array([precision])))


def learning_bets(loss: Values, precision: float) -> Values:
    """Bets by the variance of the speakers before, in random order (predictable plug-in)."""
    shuffled = np.random.default_rng(0).permutation(loss)
    seen = np.arange(1, len(loss) + 1)[:, np.newaxis]
    mean = np.cumsum(shuffled, axis=0) / (seen + 1)
    variance = (0.005 + np.cumsum((shuffled - mean) ** 2, axis=0)) / (seen + 1)
    before = np.vstack([np.full((1, loss.shape[1]), 0.005), variance[:-1]])
    bet = np.minimum(0.95 / precision, np.sqrt(-2 * np.log(ALPHA) / (len(loss) * before)))
    return np.asarray(np.exp(-np.maximum(np.log1p(-bet * shuffled).sum(axis=0), 0.0)))


def hoeffding_bentkus(loss: Values, precision: float) -> Values:
    """The smaller of the two bounds on the chance of so small a mean."""
    risk, most = np.clip(loss.mean(axis=0) + 1 - precision, 1e-12, 1 - 1e-12), 1 - precision
    divergence = risk * np.log(risk / most) + (1 - risk) * np.log((1 - risk) / precision)
    hoeffding = np.where(risk < most, np.exp(-len(loss) * divergence), 1.0)
    bentkus = np.e * binom.cdf(np.ceil(len(loss) * risk), len(loss), most)
    return np.asarray(np.minimum(np.minimum(hoeffding, bentkus), 1.0))


def empirical_bernstein(loss: Values, _: float) -> Values:
    """Maurer and Pontil's; 0 or 1, as it has no p-value of its own."""
    size, spread = len(loss), np.sqrt(2 * loss.var(axis=0, ddof=1) * np.log(2 / ALPHA) / len(loss))
    return np.where(loss.mean(axis=0) + spread + 7 * np.log(2 / ALPHA) / (3 * (size - 1)) <= 0, 0.0, 1.0)


def cluster_robust(loss: Values, _: float) -> Values:
    """A t-test of the mean loss over speakers: approximate."""
    error = np.maximum(loss.std(axis=0, ddof=1) / np.sqrt(len(loss)), 1e-12)
    return np.asarray(t.sf(-loss.mean(axis=0) / error, len(loss) - 1))


def bootstrap(loss: Values, _: float) -> Values:
    """Speakers drawn anew: approximate."""
    return guarantee.bootstrap_chances(loss, 0)


TESTS: Mapping[str, Test] = {
    "one bet, just significant (ours)": just_significant,
    "stake on three bets (before)": bets((0.98, 0.5), (0.5, 0.3), (0.2, 0.2)),
    "one bet, the largest": bets((0.98, 1.0)),
    "bets that learn": learning_bets,
    "Hoeffding-Bentkus": hoeffding_bentkus,
    "empirical Bernstein": empirical_bernstein,
    "cluster-robust t (approximate)": cluster_robust,
    "bootstrap (approximate)": bootstrap,
}


EXACT_BOUNDS = (hoeffding_bentkus, empirical_bernstein)


def measure(table: AcceptedWords, precision: float, speakers: int, draws: int) -> dict[str, tuple[float, float]]:
    """For each test the mean share of words that is accepted, and how often the threshold was too low."""
    generator, words = np.random.default_rng(0), table.words[:, np.newaxis]
    loss, share = (table.wrong - (1 - precision) * table.accepted) / words, (table.accepted / words).mean(axis=0)
    too_low = loss.mean(axis=0) > 1e-12
    found: dict[str, list[tuple[float, bool]]] = {name: [] for name in TESTS}
    for _ in range(draws):
        drawn = generator.integers(0, len(words), speakers)
        sample = AcceptedWords(table.threshold, table.accepted[drawn], table.wrong[drawn], table.words[drawn])
        begin = guarantee.LossTest(precision, ALPHA).first(sample, are_probabilities=True)
        for name, test in TESTS.items():
            first = begin if test not in EXACT_BOUNDS else max(begin, _first_success(test, sample, precision))
            passed = test(loss[drawn, first:], precision) <= ALPHA
            last = first + (len(passed) if passed.all() else int(np.argmin(passed))) - 1
            found[name].append((share[last], too_low[last]) if last >= first else (0.0, False))
    return {name: tuple(np.mean(pairs, axis=0).tolist()) for name, pairs in found.items()}


def _first_success(test: Test, sample: AcceptedWords, precision: float) -> int:
    """Where to begin: more is accepted there than would do if no word of it were wrong. No label is looked at."""
    accepted = sample.accepted / sample.words[:, np.newaxis]
    share, passed = accepted.mean(axis=0), test(-(1 - precision) * accepted, precision) <= ALPHA
    if not passed.any():
        return len(share) - 1
    enough = share[np.argmax(passed)]
    return int(np.argmax(share >= min(EASE * enough, (enough + share[-1]) / 2)))


def on_the_edge(kind: str, precision: float, size: int = 20_000) -> AcceptedWords:
    """A population whose precision is a hair under the wanted one at the one threshold there is."""
    wrong, words = 1 - precision + 1e-6, np.full(size, 40)
    if kind == "some have it all wrong":
        errors = np.where(np.arange(size) < wrong * size, 40, 0)
    else:
        errors = np.random.default_rng(1).binomial(40, wrong, size)
        lacking = max(0, int(np.ceil(wrong * 40 * size)) - int(errors.sum()))
        errors[np.argsort(errors)[:lacking]] += 1
    return AcceptedWords(np.array([precision]), words[:, np.newaxis], errors[:, np.newaxis], words)


def main() -> None:
    """Print a table for each precision and number of speakers."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("outputs", nargs="+", metavar="MODEL=STORE")
    parser.add_argument("--draws", type=int, default=200)
    chosen = parser.parse_args()
    populations = {}
    for output in chosen.outputs:
        model, store = output.split("=", 1)
        populations[model] = AcceptedWords.of(wt.evaluate(store, model).words)
    for precision in PRECISIONS:
        edges = {kind: on_the_edge(kind, precision) for kind in ("some have it all wrong", "errors spread evenly")}
        for speakers in SPEAKERS:
            measured = {
                name: measure(table, precision, speakers, chosen.draws)
                for name, table in (populations | edges).items()
            }
            rows = tuple(
                (name, *(f"{100 * by[name][0]:.1f} ({100 * by[name][1]:.0f})" for by in measured.values()))
                for name in TESTS
            )
            title = f"precision {precision}, {speakers} speakers: accepted % (too low %)"
            print(Table(title, ("test", *measured), rows).to_markdown())


if __name__ == "__main__":
    main()

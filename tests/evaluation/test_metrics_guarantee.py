"""Thresholds that hold on new speakers: worked by hand, and by simulation where the truth is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom  # type: ignore[import-untyped]

from wordtrust.base.errors import OptionError
from wordtrust.evaluation.metrics import (
    Scores,
    guaranteed_threshold,
    largest_promise,
    operating_point,
    precision_table,
    speakers_needed,
)
from wordtrust.evaluation.metrics.accepted_words import AcceptedWords
from wordtrust.evaluation.metrics.guarantee import LossTest, bootstrap_chances
from wordtrust.lattices.lattice import Flags

pytestmark = pytest.mark.slow

WORDS = 200  # of each simulated speaker
LEVEL = 0.9


def speakers(losses: list[tuple[int, int, int]]) -> Scores:
    """For each speaker: right words of score 0.9, wrong ones of score 0.9, and wrong ones of score 0.1."""
    parts = [
        Scores.of([0.9] * (right + wrong) + [0.1] * low, [1] * right + [0] * (wrong + low), [f"{number:04}"] * total)
        for number, (right, wrong, low) in enumerate(losses)
        if (total := right + wrong + low)
    ]
    return sum(parts, Scores())


def simulated(generator: np.random.Generator, count: int) -> Scores:
    """Even scores; a word is wrong with chance 0.4 (1 - score), or four times that for one speaker in ten."""
    score = generator.random((count, WORDS))
    hard = generator.random((count, 1)) < 0.1
    wrong = generator.random((count, WORDS)) < np.minimum(1, np.where(hard, 1.6, 0.4) * (1 - score))
    return Scores(
        score.ravel(), ~wrong.ravel(), np.repeat(np.arange(count, dtype=np.int32), WORDS),
        tuple(f"{number:05}" for number in range(count)),
    )  # fmt: skip


def true_precision(threshold: float) -> float:
    """Of `simulated`, from the integral over the accepted scores."""
    score = np.linspace(threshold, 1, 20_001)
    wrong = 0.9 * 0.4 * (1 - score) + 0.1 * np.minimum(1, 1.6 * (1 - score))
    return float(1 - wrong.mean())


def naive_threshold(scores: Scores, precision: float) -> float | None:
    """The lowest threshold by a binomial bound on words, as if they were independent; the same sequence."""
    order = np.argsort(-scores.score)
    wrong, total = np.cumsum(~scores.correct[order]), np.arange(1, len(order) + 1)
    steps = np.arange(len(order) // 10, len(order), len(order) // 200)
    failed = binom.cdf(wrong[steps], total[steps], 1 - precision) > 1 - LEVEL
    last = int(np.argmax(failed)) - 1 if failed.any() else len(steps) - 1
    return None if last < 0 else float(scores.score[order][steps[last]])


def failures(thresholds: list[float | None], precision: float) -> int:
    return sum(threshold is not None and true_precision(threshold) < precision for threshold in thresholds)


def test_it_holds_on_new_speakers_where_a_bound_on_words_does_not() -> None:
    """150 draws of 400 speakers at 90%, of which 15 may fail."""
    generator, precision = np.random.default_rng(1), 0.88
    drawn = [simulated(generator, 400) for _ in range(150)]
    found = [guaranteed_threshold(scores, precision, LEVEL).threshold for scores in drawn]
    assert sum(threshold is not None for threshold in found) > 140  # it is not safe by saying nothing
    assert failures(found, precision) <= 15
    assert failures([naive_threshold(scores, precision) for scores in drawn], precision) > 24  # 1% if it held


def test_the_bootstrap_holds_about_as_often_as_it_says() -> None:
    """120 draws of 60 speakers at 90%: 12 failures are expected; 21 have a chance of 1%."""
    generator, precision = np.random.default_rng(2), 0.88
    drawn = [simulated(generator, 60) for _ in range(120)]
    found = [guaranteed_threshold(scores, precision, LEVEL, method="bootstrap").threshold for scores in drawn]
    assert sum(threshold is not None for threshold in found) > 110
    assert failures(found, precision) < 21


def test_it_is_worth_having_more_speakers() -> None:
    generator = np.random.default_rng(2)
    points = [guaranteed_threshold(simulated(generator, count), 0.88, LEVEL) for count in (150, 600, 2400)]
    accepted = [point.accepted or 0 for point in points]
    assert accepted == sorted(accepted)
    ideal = operating_point(simulated(generator, 20_000), 0.88)
    assert ideal is not None
    assert 0.9 * ideal.accepted < accepted[-1] < ideal.accepted


def test_worked_by_hand() -> None:
    """Sixty speakers: 4 accepted words each, one of them wrong for a third; one more wrong word each below.

    Losses for precision 0.8 over 5 words: -0.16 for 40 speakers, (1 - 0.8) / 5 = 0.04 for 20. The bet is 0.98 / 0.8.
    """
    scores = speakers([(4, 0, 1)] * 40 + [(3, 1, 1)] * 20)
    stake = (1 + 0.98 * 0.2) ** 40 * (1 - 0.98 * 0.05) ** 20
    for level, holds in ((1 - 1.01 / stake, True), (1 - 0.99 / stake, False)):
        point = guaranteed_threshold(scores, 0.8, level)
        assert (point.threshold == 0.9) is holds
    point = guaranteed_threshold(scores, 0.8, 0.95)
    assert point.bound is not None
    assert (point.wanted, point.level, point.speakers, point.threshold) == (0.8, 0.95, 60, 0.9)
    assert (point.accepted, point.precision, point.speaker_precision) == pytest.approx((0.8, 220 / 240, 220 / 240))
    shown = []
    for wanted in np.linspace(0.8, 1, 100, endpoint=False):
        lost, won = (4 * (1 - wanted) / 5, (1 - 4 * (1 - wanted)) / 5)
        stake = (1 + 0.98 / wanted * lost) ** 40 * (1 - 0.98 / wanted * won) ** 20
        shown += [wanted] if stake >= 20 else []
    assert point.bound == pytest.approx(shown[-1])
    assert guaranteed_threshold(scores, point.bound, 0.95).threshold == 0.9
    assert guaranteed_threshold(scores, point.bound + 0.003, 0.95).threshold is None


def test_the_bet_is_smaller_where_there_are_many_speakers() -> None:
    """Of 3,000 speakers two thirds make no error and a third 39%: 13% on average, for a precision of 86%.

    The largest bet would lose here: the losses vary too much for it.
    """
    wrong = np.repeat([0, 39], [2000, 1000])[:, np.newaxis] > np.arange(100)
    who = np.repeat(np.arange(3000, dtype=np.int32), 100)
    scores = Scores(np.full(300_000, 0.9), ~wrong.ravel(), who, tuple(f"{number:04}" for number in range(3000)))

    def won(bet: float) -> float:
        return float(2000 * np.log1p(bet * 0.14) + 1000 * np.log1p(-bet * (0.39 - 0.14)))

    assert won(0.98 / 0.86) < 0
    for level, holds in ((0.95, True), (0.99, False)):
        bet = np.sqrt(-2 * np.log(1 - level) / (3000 * 0.86 * 0.14 / 10))
        assert bool(won(bet) >= -np.log(1 - level)) is holds
        assert (guaranteed_threshold(scores, 0.86, level).threshold == 0.9) is holds


@pytest.mark.parametrize("method", ["betting", "bootstrap"])
def test_nothing_below_a_threshold_that_failed_is_tried(method: str) -> None:
    """All words of 0.9 are right, three in four of those of 0.5 wrong, and those of 0.1 right again.

    Of the words from 0.5 on 75% are right, of all 85%: at a precision of 80% the first and the last threshold pass,
    each for itself, and the middle one fails. To take the last would be to try until something passes.
    """
    count = 200
    score = np.tile(np.repeat([0.9, 0.5, 0.1], [40, 20, 40]), count)
    correct = np.tile(np.repeat([True, False, True], [40, 15, 45]), count)
    who = np.repeat(np.arange(count, dtype=np.int32), 100)
    scores = Scores(score, correct, who, tuple(f"{number:03}" for number in range(count)))
    assert guaranteed_threshold(scores, 0.8, method=method).threshold == 0.9
    assert guaranteed_threshold(scores, 0.7, method=method).threshold == 0.1
    alone = Scores(np.full_like(score, 0.1), correct, who, scores.speakers)
    assert (
        guaranteed_threshold(alone, 0.8, method=method).threshold == 0.1
    )  # 85% of all words pass where none is before


def test_speakers_or_words_count_alike() -> None:
    """One speaker in four says nine times as much, all of it right; of the others, one word in ten is wrong."""
    scores = speakers([(9, 1, 0)] * 60 + [(90, 0, 0)] * 20)
    point = guaranteed_threshold(scores, 0.85, 0.95)
    assert point.precision == pytest.approx(1 - 60 / 2400)
    assert point.speaker_precision == pytest.approx(1 - 60 * 0.1 / 80)
    for method in ("betting", "bootstrap"):
        by_word = guaranteed_threshold(scores, 0.95, 0.9, method=method, per="word")
        by_speaker = guaranteed_threshold(scores, 0.95, 0.9, method=method)
        assert by_speaker.threshold is None
        assert (by_word.threshold is not None) is (method == "bootstrap")
    assert guaranteed_threshold(scores, 0.75, 0.9, per="word").threshold == 0.9


def ranked(right: Flags) -> Scores:
    """A hundred speakers who say words of the scores 0, 2, 4, ... 98; `right` says which of them are right."""
    count, words = 100, len(right)
    return Scores(
        np.tile(np.arange(words) * 2.0, count), np.tile(right, count),
        np.repeat(np.arange(count, dtype=np.int32), words), tuple(f"{number:03}" for number in range(count)),
    )  # fmt: skip


def test_where_the_thresholds_begin() -> None:
    """Of 50 words, the one of the highest score is wrong for everybody, and all others are right.

    With that word alone accepted nothing could be shown; at a precision of 80%, 100 speakers without an error need
    expm1(log(20) / 100) / 0.25 / 0.98 = 12.4% of their words, and 2.5 times as many come first: 31%, so 16 words.
    """
    rank = np.arange(50)
    assert guaranteed_threshold(ranked(rank < 49), 0.8).threshold == 0.0
    assert guaranteed_threshold(ranked(rank < 49), 0.8, method="bootstrap").threshold == 0.0
    point = guaranteed_threshold(ranked(rank < 40), 0.8)
    assert point.threshold is None
    assert "threshold that was tried, 68 (it accepts 32.0% of the words, 37.50% of them right" in point.reason


def test_probabilities_begin_where_they_expect_most() -> None:
    """At 0.8, if words from there on are enough to show anything; where they are few, as many as are needed."""
    rank = np.arange(50)
    for scale, begins in ((100, "0.8 (it accepts 20.0%"), (125, "0.688 (it accepts 14.0%")):
        scores = ranked(rank < 40)
        point = guaranteed_threshold(replace(scores, score=scores.score / scale), 0.8)
        assert f"threshold that was tried, {begins} of the words" in point.reason


@pytest.mark.parametrize("scale", [1, 100])
def test_the_largest_precision_that_can_be_promised(scale: int) -> None:
    """Precisions one after the other, each at the threshold where it expects most, by plain loops.

    Scores over 1 are no probabilities: then it is where 2.5 times as many words are accepted as would do without an
    error, or half of what is left beyond these.
    """
    scores = simulated(np.random.default_rng(8), 150)
    scores = replace(scores, score=scores.score * scale)
    promised = largest_promise(scores, LEVEL)
    assert promised is not None
    best = None
    for step in range(100, 200):
        wanted = step / 200
        enough = (np.exp(-np.log(1 - LEVEL) / 150) - 1) / (1 / wanted - 1) / 0.98
        share = min(enough, 1) if scale == 1 else min(2.5 * enough, (enough + 1) / 2)
        quantiles = np.sort(scores.score)[::-1][WORDS * 150 // 200 - 1 :: WORDS * 150 // 200]
        surer = int(np.count_nonzero(quantiles >= wanted)) if scale == 1 else 0
        threshold = quantiles[max(surer, int(np.ceil(200 * share - 1e-9))) - 1]
        bet = min(0.98 / wanted, np.sqrt(-2 * np.log(1 - LEVEL) / (150 * wanted * (1 - wanted) / 10)))
        stake = 1.0
        for score, right in zip(scores.score.reshape(150, WORDS), scores.correct.reshape(150, WORDS), strict=True):
            wrong = np.count_nonzero((score >= threshold) & ~right)
            stake *= 1 - bet * (wrong - (1 - wanted) * np.count_nonzero(score >= threshold)) / WORDS
        if stake < 1 / (1 - LEVEL):
            break
        best = (wanted, threshold)
    assert best == pytest.approx((promised.wanted, promised.threshold), abs=1e-4)
    assert promised.bound is not None
    assert promised.bound >= promised.wanted
    asked = guaranteed_threshold(scores, promised.wanted, LEVEL)
    assert asked.threshold is not None


def test_promises_hold_although_they_were_chosen_by_looking() -> None:
    """100 draws of 80 speakers at 90%: of the promises at most 10 may be too high; 18 have a chance of 1%."""
    generator = np.random.default_rng(9)
    promised = [largest_promise(simulated(generator, 80), LEVEL) for _ in range(100)]
    too_high = [
        point for point in promised if point and point.threshold and true_precision(point.threshold) < point.wanted
    ]
    assert all(promised)
    assert len(too_high) < 18


def test_no_speakers_promise_nothing() -> None:
    assert largest_promise(Scores()) is None
    assert largest_promise(speakers([(0, 5, 0)] * 30)) is None
    assert speakers_needed(Scores()) is None
    assert speakers_needed(speakers([(4, 1, 0)] * 30), 0.9) is None


def test_about_how_many_speakers_it_takes() -> None:
    """That many draw a promise four times in five, half as many seldom."""
    generator, precision = np.random.default_rng(10), 0.87
    needed = speakers_needed(simulated(generator, 2000), precision, LEVEL)
    assert needed is not None
    found = {
        count: sum(
            guaranteed_threshold(simulated(generator, count), precision, LEVEL).threshold is not None
            for _ in range(20)
        )
        for count in (needed // 2, needed)
    }
    assert found[needed // 2] < 12 <= found[needed]
    no_errors = speakers_needed(speakers([(5, 0, 0)] * 30), 0.98, 0.95)
    assert no_errors == pytest.approx(152, rel=0.05)


def test_what_thresholds_accept_by_plain_loops() -> None:
    scores = simulated(np.random.default_rng(11), 30)
    table = precision_table(scores, (0.2, 0.9, 2.0), 0.9)
    assert [row.threshold for row in table] == [0.2, 0.9, 2.0]
    for row in table[:2]:
        accepted = scores.score >= row.threshold
        assert row.accepted == pytest.approx(accepted.mean())
        assert row.precision == pytest.approx(scores.correct[accepted].mean())
        assert row.precision is not None
        assert row.accepted_interval is not None
        assert row.precision_interval is not None
        assert row.precision_interval[0] < row.precision < row.precision_interval[1]
        assert row.accepted_interval[0] < row.accepted < row.accepted_interval[1]
    assert (table[2].accepted, table[2].precision, table[2].precision_interval) == (0.0, None, None)
    alone = precision_table(Scores.of([0.3, 0.95], [0, 1]), (0.2, 0.9))
    assert [(row.accepted, row.precision, row.precision_interval) for row in alone] == [
        (1, 0.5, None),
        (0.5, 1, None),
    ]
    assert precision_table(Scores()) == []


def test_how_fine_the_thresholds_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 of them, or as many as there is memory for, and 10 at least."""
    scores = simulated(np.random.default_rng(6), 500)
    for cells, steps in ((1 << 24, 200), (20_000, 40), (1, 10)):
        monkeypatch.setattr("wordtrust.evaluation.metrics.accepted_words._CELLS", cells)
        accepted = guaranteed_threshold(scores, 0.88).accepted
        assert accepted is not None
        assert accepted * steps == pytest.approx(round(accepted * steps), abs=1e-9)
        if steps == 200:
            assert accepted * 40 != pytest.approx(round(accepted * 40), abs=1e-9)


def test_the_surest_that_a_bootstrap_can_be() -> None:
    """Where no draw has a loss, the chance of one is taken to be 1 in 1001."""
    scores = speakers([(5, 0, 0)] * 30)
    for chance, holds in ((1.0001 / 1001, True), (0.9999 / 1001, False)):
        point = guaranteed_threshold(scores, 0.9, 1 - chance, method="bootstrap")
        assert (point.threshold == 0.9) is holds


def test_a_chance_of_just_what_is_left_passes() -> None:
    """1 in 1001 where 1 in 1001 is left: up to the last of the hundred precisions that are tried, 0.999."""
    table = AcceptedWords.of(speakers([(5, 0, 0)] * 30))
    for chance, holds in ((1 / 1001, True), (np.nextafter(1 / 1001, 0), False)):
        assert LossTest(0.9, chance, "bootstrap").passed(table).tolist() == [holds]
    assert LossTest(0.9, 1 / 1001, "bootstrap").bound(table) == pytest.approx(0.999)


def test_the_bound_is_that_of_the_first_threshold() -> None:
    """By the formula of the docstring: of five words four have 0.9 and are right, and the fifth, at 0.1, is wrong."""
    table = AcceptedWords.of(speakers([(4, 0, 1)] * 60))
    wanted = np.linspace(0.8, 1, 100, endpoint=False)
    bet = np.minimum(0.98 / wanted, np.sqrt(-2 * np.log(0.05) / (60 * wanted * (1 - wanted) / 10)))
    shown = wanted[(1 + bet * 4 * (1 - wanted) / 5) ** 60 >= 20]
    assert LossTest(0.8, 0.05).bound(table) == pytest.approx(shown[-1])


def test_a_draw_without_loss_or_gain_speaks_against_the_precision() -> None:
    """One right and one wrong word of each speaker are 50%, neither more nor less: nothing is shown."""
    assert guaranteed_threshold(speakers([(1, 1, 0)] * 30), 0.5, 0.9, method="bootstrap").threshold is None
    assert bootstrap_chances(np.array([[0.0, -1.0, 1.0]] * 5), seed=0).tolist() == [1.0, 1 / 1001, 1.0]


def test_how_many_speakers_it_takes() -> None:
    """(1 + 0.98 * 0.02 / 0.98) ** 152 is the first over 20."""
    few = guaranteed_threshold(speakers([(5, 0, 0)] * 151), 0.98, 0.95)
    assert few.threshold is None
    assert "151 speakers are too few: at least 152 are needed, even if" in few.reason
    assert guaranteed_threshold(speakers([(5, 0, 0)] * 152), 0.98, 0.95).threshold == 0.9


def test_just_as_many_speakers_as_it_takes() -> None:
    """Who stakes 98% on each of two speakers has 1.98 ** 2 times as much; three are needed for four times as much."""
    assert "at least 3 are needed" in guaranteed_threshold(speakers([(5, 0, 0)] * 2), 0.5, 0.75).reason
    assert guaranteed_threshold(speakers([(5, 0, 0)] * 3), 0.5, 0.75).threshold == 0.9
    exactly = 1 - 1 / 1.98**2
    assert "too few" not in guaranteed_threshold(speakers([(5, 0, 0)] * 2), 0.5, exactly).reason


def test_enough_speakers_who_are_all_right() -> None:
    point = guaranteed_threshold(speakers([(5, 0, 0)] * 250), 0.98, 0.95)
    assert (point.threshold, point.accepted, point.precision, point.reason) == (0.9, 1.0, 1.0, "")
    assert point.bound is not None
    assert 0.98 <= point.bound < 1


@pytest.mark.parametrize(
    ("scores", "options", "reason"),
    [
        (Scores(), {}, "there are no words"),
        (speakers([(500, 0, 0)]), {}, "1 speaker is too few: at least 152"),
        (speakers([(500, 0, 0)] * 19), {"method": "bootstrap"}, "19 speakers are too few: at least 20"),
        (speakers([(0, 5, 0)] * 400), {}, "accepts 100.0% of the words, 0.00% of them right"),
        (speakers([(19, 1, 0)] * 400), {"method": "bootstrap"}, "95.00% of them right"),
    ],
)
def test_nothing_can_be_guaranteed(scores: Scores, options: dict[str, Any], reason: str) -> None:
    point = guaranteed_threshold(scores, 0.98, 0.95, **options)
    assert (point.threshold, point.accepted, point.precision, point.bound) == (None, None, None, None)
    assert reason in point.reason
    assert "threshold" not in point.to_dict()


@pytest.mark.parametrize("level", [0.01, 0.3, 0.5])
def test_little_is_asked_and_still_nothing_is_shown(level: float) -> None:
    """Who has lost the stake has shown nothing, at any level."""
    assert guaranteed_threshold(speakers([(1, 4, 0)] * 100), 0.8, level).threshold is None


def test_speakers_without_words_are_none() -> None:
    scores = speakers([(5, 0, 0)] * 300)
    for names in ((*scores.speakers, "silent"), ("silent", *scores.speakers)):
        more = scores.among(names)
        assert guaranteed_threshold(more) == guaranteed_threshold(scores)
        assert guaranteed_threshold(more).speakers == 300


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": 1.0}, "the precision is 1.0"),
        ({"precision": float("nan")}, "the precision is nan"),
        ({"level": 0.0}, "the level is 0.0"),
        ({"method": "binomial"}, "method is one of betting, bootstrap, not 'binomial'"),
        ({"per": "utterance"}, "per is one of speaker, word"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        guaranteed_threshold(speakers([(5, 0, 0)]), **options)


def test_order_and_names_do_not_matter() -> None:
    scores = simulated(np.random.default_rng(3), 200)
    order = np.random.default_rng(4).permutation(len(scores))
    other = Scores(scores.score[order], scores.correct[order], scores.speaker[order], scores.speakers)
    assert guaranteed_threshold(scores, 0.88) == guaranteed_threshold(other, 0.88)


def test_many_speakers_are_drawn_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = simulated(np.random.default_rng(5), 1000)
    one_by_one = guaranteed_threshold(scores, 0.88, method="bootstrap")
    monkeypatch.setattr("wordtrust.evaluation.metrics.guarantee._MAX_SPEAKERS", 300)
    in_groups = guaranteed_threshold(scores, 0.88, method="bootstrap")
    assert in_groups.threshold == pytest.approx(one_by_one.threshold, abs=0.02)
    assert in_groups.bound == pytest.approx(one_by_one.bound, abs=0.003)
    assert in_groups.speakers == 1000


def test_a_stake_beyond_all_numbers() -> None:
    """20,000 speakers without an error win more than a float can hold."""
    count = 20_000
    scores = Scores.of(np.ones(count), np.ones(count, np.bool_), [f"{number}" for number in range(count)])
    assert guaranteed_threshold(scores, 0.5).threshold == 1.0

"""Expected errors against loops and known truth; intervals against simulations in which the truth is known."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.output_words import drawn_output
from wordtrust.base.errors import InputError, OptionError
from wordtrust.confidence.estimation.error_estimator import ErrorEstimator
from wordtrust.confidence.estimation.speaker_intervals import Residuals
from wordtrust.evaluation.output_words import OutputWords

LEVEL = 0.9
ONE = {"speakers": 1, "values": [1]}  # residuals, as JSON


def rates(words: OutputWords) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    assert words.counts is not None
    return words.counts[:, 1:].sum(axis=1), words.counts[:, :3].sum(axis=1)


def covered(ends: np.ndarray[Any, Any] | None, off: np.ndarray[Any, Any]) -> float:
    """How many of the true rates are inside."""
    assert ends is not None
    return float(np.mean((off >= ends[:, 0]) & (off <= ends[:, 1])))


def by_speaker(estimator: ErrorEstimator, words: OutputWords) -> tuple[Any, Any, Any]:
    """Expected errors of each speaker, and the true errors and words."""
    names, group = np.unique(np.array(words.speakers), return_inverse=True)
    errors, said = (np.bincount(group, each) for each in rates(words))
    return estimator.expected(words).summed(group, len(names)), errors, said


@settings(max_examples=30)
@given(st.lists(st.lists(st.floats(0, 1), max_size=5), min_size=1, max_size=6))
def test_expected_errors_by_plain_loops(utterances: list[list[float]]) -> None:
    offsets = np.cumsum([0, *map(len, utterances)])
    words = OutputWords(
        offsets, np.array([c for each in utterances for c in each], np.float64), ("s",) * len(utterances)
    )
    estimator = ErrorEstimator(0.25, (-3.0, 0.5))
    expected = estimator.expected(words)
    for row, confidences in enumerate(utterances):
        wrong, gaps = sum(1 - c for c in confidences), len(confidences) + 1
        deletions = gaps * min(1.0, math.exp(-3 + 0.5 * math.log((0.1 + wrong) / gaps)))
        assert expected.insertions[row] == pytest.approx(wrong / 4)
        assert expected.substitutions[row] == pytest.approx(wrong * 3 / 4)
        assert expected.deletions[row] == pytest.approx(deletions)
        said = len(confidences) - wrong / 4 + deletions
        assert expected.reference_words[row] == pytest.approx(said)
        assert expected.wer[row] == pytest.approx((wrong + deletions) / max(1.0, said))
        assert expected.independent[row] == pytest.approx(sum(c * (1 - c) for c in confidences) + deletions)


def test_what_was_put_in_is_found() -> None:
    """An eighth of the wrong words inserted, 0.15 words missing for each doubtful one."""
    words = drawn_output(np.random.default_rng(1), 600, off=0.0)
    estimator = ErrorEstimator.fit(words)
    assert words.counts is not None
    assert estimator.insertion_share == pytest.approx(0.125, abs=0.02)
    expected, doubt = estimator.expected(words), words.sums(1 - words.confidence)
    assert expected.deletions.sum() == pytest.approx(words.counts[:, 2].sum(), rel=0.01)
    many = doubt > np.median(doubt)
    assert expected.deletions[many].sum() == pytest.approx(0.15 * doubt[many].sum(), rel=0.1)
    assert expected.errors.sum() == pytest.approx(words.counts[:, 1:].sum(), rel=0.05)
    assert estimator.dispersion == pytest.approx(1.0, abs=0.3)
    assert estimator.speaker_variance < 0.02


def test_gaps_say_how_many_words_are_missing() -> None:
    words = drawn_output(np.random.default_rng(2), 100)
    assert words.counts is not None
    generator, gaps = np.random.default_rng(3), words.sizes + 1
    missing = gaps * generator.beta(0.4, 4.0, len(words))
    deletions = gaps * np.exp(1.0) * ((0.02 + missing) / gaps) ** 1.5  # more for each, where many gaps lack words
    counts = words.counts.copy()
    counts[:, 2] = generator.poisson(deletions)
    with_gaps = replace(words, missing=missing, counts=counts)
    estimator = ErrorEstimator.fit(with_gaps)
    assert estimator.deletions_in_gaps == pytest.approx((1.0, 1.5), abs=0.1)
    expected = estimator.expected(with_gaps).deletions
    for some in (missing < np.median(missing), missing >= np.median(missing)):
        assert expected[some].sum() == pytest.approx(deletions[some].sum(), rel=0.15)
    assert np.corrcoef(estimator.expected(words).deletions, deletions)[0, 1] < 0.5  # doubt stands in for gaps


def test_the_same_words_again_are_another_occasion() -> None:
    """A corpus that has everything twice (clean, and over a telephone) does not make speakers more erratic."""
    once = drawn_output(np.random.default_rng(4), 150, off=0.2)
    noted = replace(once, said=tuple(map(str, range(len(once)))))
    twice = noted + noted
    occasion, speaker = twice.occasions()
    assert (occasion[: len(once)] != occasion[len(once) :]).all()
    assert (speaker[occasion[: len(once)]] == speaker[occasion[len(once) :]]).all()
    alone, apart, mixed = map(ErrorEstimator.fit, (once, twice, replace(twice, said=None)))
    assert apart.dispersion == pytest.approx(alone.dispersion, abs=0.05)
    assert mixed.dispersion > 1.5 * alone.dispersion
    assert alone.of_speakers is not None
    assert apart.of_speakers is not None
    assert apart.of_speakers.speakers == alone.of_speakers.speakers == 150
    assert len(apart.of_speakers.value) == 300
    assert apart.of_speakers.interval() == pytest.approx(alone.of_speakers.interval(), abs=0.1)


def test_the_order_of_utterances_does_not_matter() -> None:
    words = drawn_output(np.random.default_rng(3), 60)
    order = np.random.default_rng(4).permutation(len(words))
    parts = [words.some(np.arange(len(words)) == index) for index in order.tolist()]
    shuffled = parts[0]
    for part in parts[1:]:
        shuffled = shuffled + part
    first, second = ErrorEstimator.fit(words), ErrorEstimator.fit(shuffled)
    assert first.insertion_share == second.insertion_share
    assert first.deletions == pytest.approx(second.deletions)
    assert np.allclose(first.expected(words).wer[order], second.expected(shuffled).wer)
    assert first.of_speakers is not None
    assert second.of_speakers is not None
    assert np.allclose(first.of_speakers.value, second.of_speakers.value)


def test_intervals_hold_for_new_speakers_and_their_utterances() -> None:
    """Twelve studies of 120 speakers, each with 150 new ones: nine in ten are inside, in the mean over studies."""
    speakers, utterances = list[float](), list[float]()
    for study in range(12):
        generator = np.random.default_rng([5, study])
        estimator, new = ErrorEstimator.fit(drawn_output(generator, 120)), drawn_output(generator, 150)
        expected, errors, said = by_speaker(estimator, new)
        speakers.append(covered(estimator.off(expected, LEVEL), errors / said - expected.wer))
        alone, (wrong, spoken) = estimator.expected(new), rates(new)
        ends = estimator.off(alone, LEVEL, of_utterances=True)
        utterances.append(covered(ends, wrong / spoken - alone.wer))
    assert 0.875 < np.mean(speakers) < 0.935
    assert 0.875 < np.mean(utterances) < 0.935


def test_intervals_hold_for_low_rates_and_for_high_ones() -> None:
    """Where high rates are farther off, those of all together are too wide for some and too narrow for others."""
    generator = np.random.default_rng(9)

    def drawn(size: int) -> tuple[Any, Any]:
        rate = generator.uniform(0, 1, size)
        return rate, generator.normal(0, 0.3 + 3 * rate)

    (rate, values), speaker = drawn(6000), np.arange(6000) % 1200
    residuals, of_all = Residuals.of(values, speaker, rate=rate), Residuals.of(values, speaker)
    assert residuals is not None
    assert of_all is not None
    rate, values = drawn(20000)
    fifth = (5 * rate).astype(np.int64)
    ends, everywhere = residuals.intervals(rate, LEVEL), of_all.intervals(rate, LEVEL)
    assert ends is not None
    assert everywhere is not None
    inside = [covered(ends[fifth == each], values[fifth == each]) for each in range(5)]
    assert min(inside) > 0.87
    assert max(inside) < 0.93
    together = [covered(everywhere[fifth == each], values[fifth == each]) for each in range(5)]
    assert min(together) < 0.8
    assert max(together) > 0.99


def with_loops(words: OutputWords, every: int) -> OutputWords:
    """Every so many utterances, one of four words that goes on and on, and is trusted."""
    assert words.counts is not None
    parts = []
    for row in range(0, len(words), every):
        parts.append(words.some((np.arange(len(words)) >= row) & (np.arange(len(words)) < row + every)))
        confidence, correct = np.full(47, 0.8), np.arange(47) < 1
        loop = replace(words.some(np.arange(len(words)) == row), offsets=np.array([0, 47]), confidence=confidence)
        parts.append(replace(loop, correct=correct, counts=np.array([[1, 3, 0, 43]], np.int32)))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def test_a_loop_counts_as_many_errors_as_it_made() -> None:
    """Not as its rate of 1,150% of the 47 words of the output: corpora of new speakers stay inside, and near."""
    generator, inside, above = np.random.default_rng(10), list[bool](), list[float]()
    for _ in range(6):
        known, new = (with_loops(drawn_output(generator, speakers), 500) for speakers in (300, 450))
        estimator = ErrorEstimator.fit(known)
        assert estimator.of_speakers is not None
        assert estimator.dispersion < 2
        expected, errors, said = by_speaker(estimator, new)
        group, words = np.arange(450) // 150, expected.reference_words
        ends = estimator.of_speakers.of_groups(estimator.spread(expected) * words, group, 3, LEVEL)
        sums = [np.bincount(group, each) for each in (expected.errors, words, errors, said)]
        off = sums[2] / sums[3] - sums[0] / sums[1]
        inside += ((off >= ends[:, 0] / sums[1]) & (off <= ends[:, 1] / sums[1])).tolist()
        above += (ends[:, 1] / sums[1]).tolist()
    assert np.mean(inside) > 0.75  # of 18, a twentieth of the times by chance
    assert max(above) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("size", [5, 20])
def test_intervals_hold_for_groups_of_new_speakers(size: int) -> None:
    inside = list[bool]()
    for study in range(10):
        generator = np.random.default_rng([6, study])
        estimator, new = ErrorEstimator.fit(drawn_output(generator, 150)), drawn_output(generator, size * 12)
        assert estimator.of_speakers is not None
        expected, errors, said = by_speaker(estimator, new)
        group = np.arange(size * 12) // size
        scale = estimator.spread(expected) * expected.reference_words
        ends = estimator.of_speakers.of_groups(scale, group, 12, LEVEL)
        sums = [np.bincount(group, each) for each in (expected.errors, expected.reference_words, errors, said)]
        off = sums[2] / sums[3] - sums[0] / sums[1]
        inside += ((off >= ends[:, 0] / sums[1]) & (off <= ends[:, 1] / sums[1])).tolist()
    assert 0.82 < np.mean(inside) < 0.96


def test_quantiles_of_residuals_by_hand() -> None:
    """Of 19 speakers, the largest has 95% of 20 at or below it; of 18, none has."""
    values = np.arange(1.0, 20.0)
    nineteen = Residuals.of(values)
    assert nineteen is not None
    assert nineteen.interval(0.9) == (1.0, 19.0)
    eighteen = Residuals.of(values[:18])
    assert eighteen is not None
    assert eighteen.interval(0.9) is None
    assert eighteen.interval(0.5) == (4.0, 15.0)  # 0.75 * 19 = 14.25: the fifteenth
    assert Residuals.of(np.zeros(0)) is None
    with pytest.raises(OptionError, match="the level is 1"):
        eighteen.interval(1.0)


def test_every_speaker_weighs_alike() -> None:
    """One speaker with a hundred bad utterances is one speaker."""
    values = np.concatenate([np.full(100, 9.0), np.zeros(99)])
    speaker = np.concatenate([np.zeros(100, np.int64), np.arange(1, 100)])
    weighed, alike = Residuals.of(values, speaker), Residuals.of(values)
    assert weighed is not None
    assert alike is not None
    assert (weighed.speakers, weighed.quantile(0.95), alike.quantile(0.95)) == (100, 0.0, 9.0)
    assert weighed.quantile(0.985) == 9.0


def test_many_residuals_are_thinned() -> None:
    generator = np.random.default_rng(7)
    values, speaker = generator.normal(size=5000), generator.integers(0, 900, 5000)
    thinned = Residuals.of(values, speaker)
    speakers = Residuals.of(values, scale=np.abs(values) + 1)
    assert thinned is not None
    assert speakers is not None
    assert speakers.scale is not None
    assert len(thinned.value) == 1000
    assert len(speakers.value) == len(speakers.scale) == speakers.speakers == 2000
    assert np.allclose(speakers.scale, np.abs(speakers.value) + 1)
    assert thinned.interval(0.9) == pytest.approx((-1.645, 1.645), abs=0.15)


def test_it_is_kept_as_json() -> None:
    words = drawn_output(np.random.default_rng(8), 130)
    estimator = ErrorEstimator.fit(words)
    same = ErrorEstimator.from_dict(json.loads(json.dumps(estimator.to_dict())))
    assert np.array_equal(same.expected(words).wer, estimator.expected(words).wer)
    assert same.of_speakers is not None
    assert estimator.of_speakers is not None
    assert same.of_speakers.interval() == pytest.approx(estimator.of_speakers.interval(), abs=1e-3)
    assert same.of_utterances is not None
    assert same.of_utterances.speakers == 130
    assert estimator.of_utterances is not None
    assert len(same.of_utterances.parts) == 2
    rates_asked = np.linspace(0, 1, 9)
    one, other = (each.of_utterances.intervals(rates_asked) for each in (same, estimator) if each.of_utterances)
    assert one is not None
    assert other is not None
    assert np.allclose(one, other, atol=1e-3)
    assert same.of_utterances.intervals(rates_asked, 0.98) is not None  # parts are too small: by all together
    plain = ErrorEstimator.from_dict(estimator.without_intervals().to_dict())
    assert (plain.of_speakers, plain.of_utterances) == (None, None)
    assert not ErrorEstimator().knows_deletions(words)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"format": 2}, "of this format is not known"),
        ({"insertion_share": 1.5}, "insertion_share is 1.5"),
        ({"deletions": [1]}, "deletions are not two numbers"),
        ({"deletions": [99, 1]}, "deletions are 99 and 1"),
        ({"deletions_in_gaps": [1, 2, 3]}, "deletions_in_gaps are not two numbers"),
        ({"dispersion": -1}, "dispersion is -1"),
        ({"of_speakers": {"speakers": 2, "values": [2, 1]}}, "no residuals"),
        ({"of_speakers": {"speakers": 0, "values": [1]}}, "no residuals"),
        ({"of_speakers": {"speakers": 1, "values": []}}, "no residuals"),
        ({"of_utterances": {"speakers": 1, "values": [1], "weights": [-1]}}, "no residuals"),
        ({"of_speakers": {"speakers": 1, "values": [1], "scales": [1, 2]}}, "no residuals"),
        ({"of_speakers": {"speakers": 1, "values": ["x"]}}, "values"),
        ({"of_speakers": [1]}, "of_speakers"),
        ({"of_speakers": ONE | {"edges": [0.1], "parts": [ONE]}}, "no residuals by estimated rate"),
        ({"of_speakers": ONE | {"edges": [0.2, 0.1], "parts": [ONE] * 3}}, "no residuals by estimated rate"),
        (
            {"of_speakers": ONE | {"edges": [0.1 * each for each in range(20)], "parts": [ONE] * 21}},
            "no residuals by",
        ),
        (
            {"of_speakers": ONE | {"edges": [0.1], "parts": [ONE, ONE | {"edges": [], "parts": [ONE]}]}},
            "parts itself",
        ),
    ],
)
def test_what_is_none_is_refused(changed: dict[str, Any], message: str) -> None:
    good = {"format": 1, "insertion_share": 0.1, "dispersion": 1.0, "speaker_variance": 0.0}
    ErrorEstimator.from_dict(good)
    with pytest.raises(InputError, match=message):
        ErrorEstimator.from_dict(good | changed)


def test_one_known_speaker_far_off_does_not_move_the_interval_away_from_the_estimate() -> None:
    """The interval for 40 speakers beside the quantiles of sums of 40 that are drawn here."""
    generator = np.random.default_rng(3)
    values = np.append(generator.normal(0.0, 1.0, 1999), 200.0)
    residuals = Residuals.of(values, scale=np.ones(2000))
    assert residuals is not None
    ends = residuals.of_groups(np.ones(40), np.zeros(40, np.int64), 1, 0.9)[0]
    sums = generator.choice(values, (4000, 40)).sum(axis=1)
    assert ends.tolist() == pytest.approx(np.quantile(sums, [0.05, 0.95]).tolist(), abs=2.0)
    assert ends[0] < 0 < ends[1]

"""What the model sees of every arc: each column against a plain computation, and what normalisation does to it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.helpers.model_data import made_network, random_graph
from wordtrust.base.errors import InputError, OptionError
from wordtrust.confidence import features
from wordtrust.confidence.features import (
    EVIDENCE,
    FULL,
    LIMIT,
    OF_WORDS,
    PAPER,
    Arcs,
    Statistics,
    available,
    columns_of,
    matrix,
)
from wordtrust.lattices.evidence import OPTIONAL_EVIDENCE, OPTIONAL_NAMES
from wordtrust.lattices.lattice import Floats, Lattice, Lattices, concatenate

TOKENS = OPTIONAL_EVIDENCE["has_tokens"]
COMPUTED = (
    "posterior_logit", "local_posterior", "frequency", "depth", "acoustic_rate", "phone_rate",
    "word_posterior_logit", "utterance_posterior", "utterance_words",
)  # fmt: skip
PHONES = {"": 0.0, "a": 1.0, "see": 2.0, "seat": 3.0}
MASS = {"": 99.0, "a": 0.0, "see": 6.5, "seat": 2.0}


def network(
    time: list[float], arcs: list[tuple[int, int]], words: list[str], utt: str = "u", seed: int = 0
) -> Lattices:
    """A network with every score and evidence there is."""
    rng = np.random.default_rng(seed)

    def some(low: float, high: float) -> Floats:
        return rng.uniform(low, high, len(arcs)).astype(np.float32)

    return made_network(
        arcs,
        words,
        utt,
        time=np.array(time),
        acoustic=some(-90, -1),
        transition=some(-9, 0),
        posterior=some(0, 1),
        picked=rng.random(len(arcs)) < 0.5,
        extra={name: some(-3, 5) for name in (*EVIDENCE, *OPTIONAL_NAMES)},
    )


def small() -> Lattices:
    """`a see` (0 to 0.2 to 1 s), `seat` all along, and silence beside `see`."""
    made = network([0.0, 0.2, 1.0], [(0, 1), (0, 2), (1, 2), (1, 2)], ["a", "seat", "see", ""])
    given_posterior = np.array([0.75, 0.25, 0.6, 0.15], np.float32)
    made = replace(made, picked=np.array([True, False, True, False]))
    return replace(made, posterior=given_posterior, acoustic=np.array([-10, -200, -40, 0], np.float32))


def random_batch(seed: int) -> Lattices:
    rng = np.random.default_rng(seed)
    parts = []
    for index in range(6):
        nodes = int(rng.integers(2, 7))
        arcs = random_graph(rng, nodes, 9)
        frames = np.cumsum([0, *rng.integers(0, 30, nodes - 1)])
        words = rng.choice(list(PHONES), len(arcs)).tolist()
        parts.append(network((frames / 100).tolist(), arcs, words, f"u{index}", seed + index))
    return concatenate(parts)


def arcs_of(networks: Lattices) -> Arcs:
    words = networks.vocabulary.lookup(networks.word.tolist())
    return Arcs(networks, np.array([PHONES[word] for word in words]), np.array([MASS[word] for word in words]))


def column(networks: Lattices, name: str) -> list[float]:
    values: list[float] = matrix(arcs_of(networks), (name,))[:, 0].tolist()
    return values


def test_the_columns_of_a_small_network_by_hand() -> None:
    networks = small()
    hand = {
        "silence": [0, 0, 0, 1],
        "phones": [1, 3, 2, 0],
        "posterior": [0.75, 0.25, 0.6, 0.15],
        "frames": [20, 100, 80, 80],
        "acoustic": [-10, -200, -40, 0],
        "posterior_logit": [math.log(3), -math.log(3), math.log(1.5), math.log(0.15 / 0.85)],
        "local_posterior": [math.log(0.75), math.log(0.25), math.log(0.8), math.log(0.2)],
        "frequency": [0, math.log(3), math.log(7.5), 0],
        "depth": [math.log(2), math.log(3), math.log(3), math.log(3)],
        "acoustic_rate": [-0.5, -2, -0.5, 0],
        "phone_rate": [0.05, 0.03, 0.025, 0],
        "word_posterior_logit": [math.log(3), -math.log(3), math.log(1.5), math.log(0.15 / 0.85)],
        "utterance_posterior": [(math.log(0.75) + math.log(0.6)) / 2] * 4,
        "utterance_words": [math.log(3)] * 4,
    }
    for name, values in hand.items():
        assert column(networks, name) == pytest.approx(values, abs=1e-5), name
    assert networks.picked is not None
    assert networks.transition is not None
    assert column(networks, "one_best") == networks.picked.astype(float).tolist()
    assert column(networks, "transition") == networks.transition.tolist()
    assert column(networks, "has_tokens") == [1, 1, 1, 1]
    assert set(hand) | {"one_best", "transition", *EVIDENCE} | (features.OPTIONAL & set(FULL)) == set(FULL)


def test_evidence_is_taken_as_it_is_and_left_out_for_silence_where_it_is_about_words() -> None:
    networks = small()
    for name in (*EVIDENCE, *TOKENS):
        values = networks.extra[name].tolist()
        assert column(networks, name) == [*values[:3], 0.0 if name in OF_WORDS else values[3]], name


def word_posterior_of(lattice: Lattice, arc: int) -> float:
    """Summed over arcs that say the word while `arc` is in its middle; never less than its own, or more than 1."""
    assert lattice.posterior is not None
    hundredths = [round(100 * float(time)) for time in lattice.time]
    spans = [(hundredths[s], hundredths[t]) for s, t in zip(lattice.source, lattice.target, strict=True)]
    middle = sum(spans[arc])
    same = [
        float(lattice.posterior[k])
        for k, (start, end) in enumerate(spans)
        if lattice.words[k] == lattice.words[arc] and 2 * start <= middle < 2 * end
    ]
    return min(max(sum(same), float(lattice.posterior[arc])), 1.0)


def plainly(networks: Lattices, name: str) -> list[float]:
    """A column computed arc by arc."""
    values = []
    for lattice in networks:
        assert lattice.posterior is not None
        assert lattice.acoustic is not None
        assert lattice.picked is not None
        ends = list(zip(lattice.source.tolist(), lattice.target.tolist(), strict=True))
        hundredths = [round(100 * float(time)) for time in lattice.time]
        for arc, (source, target) in enumerate(ends):
            word, posterior = lattice.words[arc], float(lattice.posterior[arc])
            frames, middle = hundredths[target] - hundredths[source], hundredths[source] + hundredths[target]
            leaving = sum(float(lattice.posterior[k]) for k, (s, _) in enumerate(ends) if s == source)
            across = sum(2 * hundredths[s] <= middle < 2 * hundredths[t] for s, t in ends)
            clipped = min(max(posterior, 1e-6), 1 - 1e-6)
            alike = min(max(word_posterior_of(lattice, arc), 1e-6), 1 - 1e-6)
            best = [k for k, is_picked in enumerate(lattice.picked) if is_picked and lattice.words[k]]
            logs = [math.log(max(word_posterior_of(lattice, k), 1e-6)) for k in best]
            values.append(
                {
                    "posterior_logit": math.log(clipped / (1 - clipped)),
                    "local_posterior": math.log(min(max(posterior / leaving, 1e-6), 1)),
                    "frequency": math.log(1 + MASS[word]) if word else 0.0,
                    "depth": math.log(max(across, 1)),
                    "acoustic_rate": float(lattice.acoustic[arc]) / max(frames, 1),
                    "phone_rate": PHONES[word] / max(frames, 1),
                    "word_posterior_logit": math.log(alike / (1 - alike)),
                    "utterance_posterior": sum(logs) / max(len(logs), 1),
                    "utterance_words": math.log(1 + len(best)),
                }[name]
            )
    return values


@pytest.mark.parametrize("name", COMPUTED)
@pytest.mark.parametrize("seed", range(4))
def test_computed_columns_of_random_networks(seed: int, name: str) -> None:
    networks = random_batch(100 * seed)
    assert column(networks, name) == pytest.approx(plainly(networks, name), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_a_batch_has_the_features_of_its_utterances(seed: int) -> None:
    networks = random_batch(100 * seed)
    whole = matrix(arcs_of(networks), FULL)
    parts = [matrix(arcs_of(networks[number : number + 1]), FULL) for number in range(len(networks))]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_depth_does_not_depend_on_rounding_in_the_batch() -> None:
    """The middle of 0.01 and 0.09 is a little less than 0.05 on its own, and not beside large numbers."""
    odd = network([0.01, 0.05, 0.09], [(0, 1), (0, 2), (1, 2)], ["a", "see", "seat"])
    long = network([0.0, 900.0], [(0, 1)], ["a"])
    assert column(odd, "depth") == pytest.approx([math.log(2)] * 3)
    assert column(concatenate([long, odd]), "depth")[1:] == pytest.approx([math.log(2)] * 3)


def test_posteriors_of_one_word_add_up_over_its_arcs_that_are_said_together() -> None:
    """`see` in two segmentations, once more later, and in another utterance; `seat` is another word."""
    arcs = [(0, 1), (0, 2), (0, 2), (1, 3), (2, 3), (3, 4)]
    made = network([0.0, 0.4, 0.5, 1.0, 1.5], arcs, ["see", "see", "seat", "", "", "see"])
    networks = replace(made, posterior=np.array([0.4, 0.3, 0.3, 0.4, 0.6, 0.9], np.float32))
    batch = concatenate([networks, replace(networks, utts=("v",), picked=np.zeros(6, bool))])
    sums = [0.7, 0.7, 0.3, 1.0, 1.0, 0.9] * 2
    assert arcs_of(batch).word_posterior == pytest.approx(sums, abs=1e-6)
    assert column(batch, "utterance_words")[6:] == column(batch, "utterance_posterior")[6:] == [0.0] * 6


def test_certain_posteriors_stay_finite() -> None:
    networks = replace(small(), posterior=np.array([0, 1, 1e-30, 1], np.float32))
    columns = matrix(arcs_of(networks), ("posterior_logit", "local_posterior"))
    assert np.isfinite(columns).all()
    assert columns[:2, 0] == pytest.approx([-math.log(1e6 - 1), math.log(1e6 - 1)], rel=1e-3)


def test_nothing_has_features_of_no_rows() -> None:
    assert matrix(arcs_of(small()[:0]), FULL).shape == (0, len(FULL))


def test_what_a_recognizer_does_not_give_is_absent() -> None:
    bare = replace(small(), transition=None, acoustic=None, picked=None, extra={})
    assert available(bare, PAPER) == ("silence", "phones", "posterior", "frames")
    assert available(bare, FULL) == (
        *available(bare, PAPER), "posterior_logit", "local_posterior", "frequency", "depth", "phone_rate",
        "word_posterior_logit",
    )  # fmt: skip
    some = replace(bare, extra={"rank": small().extra["rank"]}, acoustic=small().acoustic)
    assert set(available(some, FULL)) - set(available(bare, FULL)) == {"rank", "acoustic", "acoustic_rate"}
    assert available(small(), FULL) == FULL
    assert available(replace(bare, posterior=None), ("posterior",)) == ("posterior",)  # every network has one


@pytest.mark.parametrize(
    "name",
    ["transition", "acoustic", "acoustic_rate", "one_best", "utterance_posterior", "utterance_words", *EVIDENCE],
)
def test_a_missing_column_is_an_error_never_a_zero(name: str) -> None:
    bare = replace(small(), transition=None, acoustic=None, picked=None, extra={})
    with pytest.raises(InputError, match=f"no '{name}' on the arcs.*trained with it"):
        matrix(arcs_of(bare), (name,))


def without_tokens(networks: Lattices) -> Lattices:
    return replace(networks, extra={name: values for name, values in networks.extra.items() if name not in TOKENS})


@pytest.mark.parametrize("seed", range(4))
def test_optional_evidence_that_is_missing_is_the_mean_and_flagged(seed: int) -> None:
    """Whether it is missing in a whole batch, or in some utterances of it."""
    networks, columns = random_batch(100 * seed), (*TOKENS, "posterior", "has_tokens")
    bare = without_tokens(networks)
    mixed = concatenate([bare[:2], networks[2:5], bare[5:]])
    arcs, half = arcs_of(networks), arcs_of(mixed)
    of_whole = Statistics.of(matrix(arcs, columns), columns, arcs.silence)
    made, absent = of_whole.normalise(matrix(half, columns), half.silence), np.isin(mixed.utterance_of_arc, [0, 1, 5])
    full = of_whole.normalise(matrix(arcs, columns), arcs.silence)
    np.testing.assert_array_equal(made[~absent], full[~absent])
    hidden = full.copy()
    hidden[:, features.optional_groups(columns)[0]] = 0
    np.testing.assert_array_equal(made[absent], hidden[absent])
    for lenient in (False, True):
        np.testing.assert_array_equal(features.normalised(arcs_of(bare), of_whole, lenient=lenient), hidden)
    there = networks[2:5]
    np.testing.assert_allclose(
        Statistics.of(matrix(half, columns), columns, half.silence).mean[:3],
        Statistics.of(matrix(arcs_of(there), columns), columns, arcs_of(there).silence).mean[:3],
        rtol=1e-6,
    )


def test_an_optional_group_is_there_as_a_whole_or_not_at_all() -> None:
    networks = small()
    part = replace(networks, extra={name: networks.extra[name] for name in networks.extra if name != TOKENS[2]})
    assert column(part, "has_tokens") == [0, 0, 0, 0]
    assert np.isnan(column(part, TOKENS[0])[:3]).all()
    assert set(FULL) - set(available(part, FULL)) == {"has_tokens", *TOKENS}


def test_lattices_without_posteriors_are_told() -> None:
    with pytest.raises(InputError, match=r"no posteriors.*Build networks first"):
        matrix(arcs_of(replace(small(), posterior=None)), ("posterior",))


def test_sets_and_columns_by_name() -> None:
    assert columns_of("paper") == PAPER == FULL[:7]
    assert columns_of("full") == FULL
    assert columns_of("posterior, rank") == ("posterior", "rank")
    assert len(set(FULL)) == len(FULL)
    assert set(features.ALL) >= OF_WORDS


UNKNOWN = r"no feature set or column.*paper, full.*posterior_logit"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *((name, UNKNOWN) for name in ("", "papers", "posterior,", "posterior,word", "utts")),
        ("posterior,rank,posterior", "twice"),
    ],
)
def test_unknown_and_repeated_columns_are_told(name: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        columns_of(name)


def test_the_version_is_that_of_the_columns() -> None:
    """Whoever changes what a column means has to change the version, and this test."""
    assert features.VERSION == 1
    assert len(FULL) == 35


def test_statistics_of_words_are_over_words() -> None:
    columns = ("silence", "phones", "posterior")
    raw = np.array([[0, 2, 0.1], [0, 4, 0.5], [1, 0, 0.9], [1, 0, 0.5]], np.float32)
    silence = np.array([False, False, True, True])
    statistics = Statistics.of(raw, columns, silence)
    assert statistics.mean == pytest.approx([0, 3, 0.5])
    assert statistics.std == pytest.approx([1, 1, math.sqrt(0.08)])
    root = math.sqrt(2)
    expected = np.array([[0, -1, -root], [0, 1, 0], [1, 0, root], [1, 0, 0]])
    np.testing.assert_allclose(statistics.normalise(raw, silence), expected, atol=1e-6)


def test_normalised_columns_have_mean_0_and_spread_1() -> None:
    networks = random_batch(7)
    arcs = arcs_of(networks)
    raw = matrix(arcs, FULL)
    statistics = Statistics.of(raw, FULL, arcs.silence)
    made = statistics.normalise(raw, arcs.silence).astype(np.float64)
    for index, name in enumerate(FULL):
        values = made[~arcs.silence if name in OF_WORDS else slice(None), index]
        if name in features.FLAGS:
            np.testing.assert_array_equal(values, raw[:, index])
        else:
            assert values.mean() == pytest.approx(0, abs=1e-4), name
            assert values.std() == pytest.approx(1, abs=1e-4), name
    for name in OF_WORDS & set(FULL):
        assert not made[arcs.silence, FULL.index(name)].any()


def test_nothing_lies_beyond_the_limit() -> None:
    statistics = Statistics(("posterior",), np.zeros(1, np.float32), np.full(1, 1e-3, np.float32))
    made = statistics.normalise(np.array([[3e38], [-3e38], [0.002]], np.float32), np.zeros(3, bool))
    assert made[:, 0] == pytest.approx([LIMIT, -LIMIT, 2])


@pytest.mark.parametrize(("column", "silent"), [("posterior", False), ("phones", True)])
def test_a_column_that_never_changes_or_has_no_word_is_not_blown_up(column: str, silent: bool) -> None:
    raw, silence = np.full((5, 1), 0.3, np.float32), np.full(5, silent)
    statistics = Statistics.of(raw, (column,), silence)
    assert (statistics.mean.tolist(), statistics.std.tolist()) == ([pytest.approx(0 if silent else 0.3)], [1.0])
    assert np.abs(statistics.normalise(raw, silence)).max() < 1e-6


def test_the_size_of_long_utterances_tells_nothing() -> None:
    statistics = Statistics(("length", "utterance_words", "rank"), np.zeros(3, "f4"), np.ones(3, "f4"))
    sizes = np.array([-9.0, -1.0, 0.5, 1.5, 1.75, 2.0, 2.25, 2.5, 99.0], "f4")
    seen = statistics.normalise(np.stack([sizes] * 3, axis=1), np.zeros(len(sizes), bool))
    assert seen[:, 0].tolist() == [-8.0, -1.0, 0.5, 1.5, 1.75, 2.0, 1.0, 0.0, 0.0]
    assert seen[:, 1].tolist() == [-8.0, -1.0, 0.5, 1.5, 0.5, 0.0, 0.0, 0.0, 0.0]
    assert seen[:, 2].tolist() == [-8.0, -1.0, 0.5, 1.5, 1.75, 2.0, 2.25, 2.5, 8.0]

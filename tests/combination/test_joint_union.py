"""The union of recognizers: nothing is lost, every output is a path, and the same words meet."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.joint_data import chain, corpus, shared
from tests.helpers.shared import SHARED, needs_shared
from tests.helpers.strategies import all_paths, assembled, lattices, rivals
from wordtrust import OptionError, build, stream
from wordtrust.combination.joint.evidence import evidence
from wordtrust.combination.joint.hypotheses import CONFIDENCE, hypotheses
from wordtrust.combination.joint.union import JointHypotheses, JointLattice
from wordtrust.formats.references import read_references
from wordtrust.lattices.lattice import Lattice, Lattices
from wordtrust.lattices.paths import Paths, best_confidence, best_paths, one_best
from wordtrust.lattices.vocabulary import Vocabulary
from wordtrust.networks.labels import score_paths
from wordtrust.networks.oracle import oracle_paths
from wordtrust.networks.reference_words import ReferenceWords

WORDS = ("i", "will", "sit", "there", "<sil>")


def said(network: Lattices, score: np.ndarray) -> list[str]:
    paths = best_paths(network, score)
    return [word for word in network.vocabulary.lookup(network.word[paths.arcs].tolist()) if word]


def output(network: Lattices) -> list[str]:
    arcs = one_best(network).arcs
    return [word for word in network.vocabulary.lookup(network.word[arcs].tolist()) if word]


def joined(*recognizers: Lattices) -> JointLattice:
    return JointHypotheses.of(shared(*recognizers)).union(range(len(recognizers)))


networks = lattices(words=WORDS, score_sets=(("posterior",),), utt="u").map(lambda each: build(each).lattices)


@given(st.lists(networks, min_size=1, max_size=4))
def test_every_output_is_a_path_and_no_word_is_lost(recognizers: list[Lattices]) -> None:
    prepared = shared(*recognizers)
    union = JointHypotheses.of(prepared).union(range(len(prepared)))
    merged = union.lattices
    assert (merged.source < merged.target).all()  # in topological order, so without a cycle
    assert (np.diff(merged.time) >= 0).all()
    for number, each in enumerate(prepared):
        own = np.where(union.in_output[:, number], 1.0, -1e6)
        assert said(merged, own) == output(each)
        words = set(each.word[each.extra[CONFIDENCE] > 0].tolist()) - {0}
        assert words <= set(merged.word[union.confidence[:, number] > 0].tolist())
    everything = sum(len(set(each.word.tolist()) - {0}) for each in prepared)
    assert len(set(merged.word.tolist()) - {0}) <= everything


@given(st.lists(networks, min_size=1, max_size=3))
def test_what_recognizers_print_is_a_path_too(recognizers: list[Lattices]) -> None:
    vocabulary, prepared = Vocabulary(), []
    for each in recognizers:
        assert each.posterior is not None
        best = best_confidence(each, each.posterior, "gain", threshold=0.9)
        prepared.append(hypotheses(each, each.posterior, best, vocabulary))
    union = JointHypotheses.of(prepared).union(range(len(prepared)))
    for number, each in enumerate(recognizers):
        assert said(union.lattices, np.where(union.in_one_best[:, number], 1.0, -1e6)) == output(each)


@given(networks)
def test_a_recognizer_joined_with_itself_is_itself(network: Lattices) -> None:
    alone, twice = joined(network), joined(network, network)
    assert twice.lattices[0].equals(alone.lattices[0], tolerance=1e-5)
    assert twice.confidence[:, 0] == pytest.approx(alone.confidence[:, 0], abs=1e-6)
    assert twice.confidence[:, 1] == pytest.approx(alone.confidence[:, 0], abs=1e-6)


def test_the_same_words_meet_though_clocks_differ() -> None:
    one = chain([("i", 0.0, 0.2), ("will", 0.2, 0.6), ("sit", 0.6, 1.0)], 1.0, 0.9)
    other = chain([("i", 0.0, 0.5), ("will", 0.5, 0.9), ("sip", 0.9, 1.4)], 1.4, 0.7)
    union = joined(one, other)
    by_word = dict(zip(union.lattices[0].words, union.confidence.tolist(), strict=True))
    assert by_word["i"] == pytest.approx([0.9, 0.7])
    assert by_word["will"] == pytest.approx([0.9, 0.7])
    assert by_word["sit"] == pytest.approx([0.9, 0.0])
    assert by_word["sip"] == pytest.approx([0.0, 0.7])
    assert len(union.lattices.word) == 4


def test_where_one_has_a_word_more_nothing_is_a_candidate() -> None:
    one = chain([("i", 0.0, 0.4), ("will", 0.4, 0.8), ("sit", 0.8, 1.2)], 1.2)
    other = chain([("i", 0.0, 0.6), ("sit", 0.6, 1.2)], 1.2)
    union = joined(one, other)
    silence = union.lattices.word == 0
    assert silence.sum() == 1
    assert union.confidence[silence][0].tolist() == pytest.approx([0.0, 0.9])
    nothing = np.where(union.lattices.word == union.lattices.vocabulary.find("will"), 0.0, 1.0)
    assert said(union.lattices, nothing) == ["i", "sit"]


def timed(union: JointLattice) -> dict[str, tuple[float, float]]:
    """Start and end of every word, and of the one silence."""
    lattices = union.lattices
    times = zip(lattices.start_time.tolist(), lattices.end_time.tolist(), strict=True)
    return dict(zip(lattices[0].words, times, strict=True))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_where_the_pivot_has_a_word_more_the_other_is_silent(place: int) -> None:
    """At the start, between two words and at the end: there the clock of the other jumps."""
    rest = ["i", "sit"]
    said = [*rest[:place], "will", *rest[place:]]
    one = chain([(word, k, k + 1.0) for k, word in enumerate(said)], 3.0, 0.9)
    other = chain([(word, 1.5 * k, 1.5 * k + 1.5) for k, word in enumerate(rest)], 3.0, 0.7)
    union = joined(one, other)
    expected = {word: (k, k + 1.0) for k, word in enumerate(said)} | {"": (place, place + 1.0)}
    for word, times in timed(union).items():
        assert times == pytest.approx(expected[word], abs=1e-4)
    silence = union.lattices.word == 0
    assert silence.sum() == 1
    assert len(union.lattices.word) == 4
    assert union.confidence[silence].tolist() == [pytest.approx([0.0, 0.7])]
    assert union.posterior[silence].tolist() == [pytest.approx([0.0, 0.7])]
    assert union.in_output[silence].tolist() == union.in_one_best[silence].tolist() == [[False, True]]
    assert union.lattices.time[[0, -1]] == pytest.approx([0.0, 3.0])


@pytest.mark.parametrize(
    ("before", "after", "mass"),
    [([0.7, 0.1], [0.5], 0.8), ([0.3], [0.4, 0.2], 0.6), ([0.7, 0.6], [0.5], 1.0), ([0.5], [0.9, 0.8], 1.0)],
)
def test_the_silence_where_a_clock_jumps_has_the_mass_of_its_node(
    before: list[float], after: list[float], mass: float
) -> None:
    """The larger of what enters and what leaves, and never more than all."""
    words = ["i", "eye"][: len(before)] + ["sit", "set"][: len(after)]
    ends = [(0, 1)] * len(before) + [(1, 2)] * len(after)
    other = assembled("utt", time=[0, 1, 2], ends=ends, tokens=words, posterior=before + after).batch()
    union = joined(chain([("i", 0.0, 1.0), ("will", 1.0, 2.0), ("sit", 2.0, 3.0)], 3.0), other)
    silence = union.lattices.word == 0
    assert union.confidence[silence].tolist() == [pytest.approx([0.0, mass])]
    assert union.posterior[silence].tolist() == [pytest.approx([0.0, mass])]
    assert union.lattices.posterior is not None
    assert union.lattices.posterior[silence].tolist() == [pytest.approx(mass / 2)]


def test_a_silence_is_in_the_one_best_if_that_comes_by_its_node() -> None:
    """The recognizer prints `isn't`; by confidence its words are `i sit`."""
    other = assembled(
        "utt", time=[0, 1, 2], ends=[(0, 1), (1, 2), (0, 2)], tokens=["i", "sit", "isn't"],
        posterior=[0.3, 0.3, 0.6], picked=[word == "isn't" for word in ("i", "sit", "isn't")],
    ).batch()  # fmt: skip
    assert other.posterior is not None
    pivot, vocabulary = chain([("i", 0.0, 1.0), ("will", 1.0, 2.0), ("sit", 2.0, 3.0)], 3.0), Vocabulary()
    [words] = [arcs for arcs in all_paths(other[0]) if len(arcs) == 2]
    output = Paths(np.array([0, 2]), np.array(words, np.int32))
    assert pivot.posterior is not None
    made = [
        hypotheses(pivot, pivot.posterior, one_best(pivot), vocabulary),
        hypotheses(other, other.posterior, output, vocabulary),
    ]
    union = JointHypotheses.of(made).union((0, 1))
    silence = union.lattices.word == 0
    assert union.in_output[silence].tolist() == [[False, True]]
    assert union.in_one_best[silence].tolist() == [[False, False]]
    own = union.lattices[0].words.index("isn't")
    assert union.in_one_best[own].tolist() == [False, True]
    assert union.in_output[own].tolist() == [False, False]


def test_parts_of_a_corpus_are_joined_alike() -> None:
    """Batches, chosen utterances and another order of recognizers give what all of it gives."""
    recognizers, _ = corpus(speakers=3, utterances=3, error=(0.2, 0.3, 0.4), seed=4)
    whole = JointHypotheses.of(recognizers)
    union = whole.union((0, 1, 2))
    for size, sizes in ((2, [2, 2, 2, 2, 1]), (4, [4, 4, 1]), (9, [9]), (100, [9])):
        parts = whole.batches(size)
        assert [len(part) for part in parts] == sizes
        unions = [part.union((0, 1, 2)) for part in parts]
        assert [utt for part in unions for utt in part.lattices.utts] == list(union.lattices.utts)
        for field in ("confidence", "posterior", "in_output", "in_one_best"):
            assert np.array_equal(np.concatenate([getattr(part, field) for part in unions]), getattr(union, field))
        assert np.array_equal(np.concatenate([part.lattices.time for part in unions]), union.lattices.time)
    rows = [7, 0, 3]
    taken = whole.take(rows).union((0, 1, 2))
    assert taken.lattices.utts == tuple(union.lattices.utts[row] for row in rows)
    assert all(taken.lattices[k].equals(union.lattices[row]) for k, row in enumerate(rows))
    turned = whole.order((2, 0)).union((0, 1))
    direct = whole.union((2, 0))
    assert np.array_equal(turned.confidence, direct.confidence)
    assert all(one.equals(two) for one, two in zip(turned.lattices, direct.lattices, strict=True))


def test_evidence_by_hand() -> None:
    one = chain([("i", 0.0, 0.4), ("will", 0.4, 0.8)], 0.8, 0.9)
    other = chain([("i", 0.0, 0.4), ("well", 0.4, 0.8)], 0.8, 0.6)
    union = joined(one, other)
    table = {
        word: {kind: values[arc].tolist() for kind, values in evidence(union)._asdict().items()}
        for arc, word in enumerate(union.lattices[0].words)
    }
    assert table["i"]["word"] == pytest.approx([0.9, 0.6])
    assert table["i"]["rival"] == [0.0, 0.0]
    assert table["will"]["word"] == pytest.approx([0.9, 0.0])
    assert table["will"]["rival"] == pytest.approx([0.0, 0.6])
    assert table["will"]["words"] == pytest.approx([0.9, 0.6])
    assert table["will"]["in_output"] == [1.0, 0.0]
    assert table["well"]["posterior"] == pytest.approx([0.0, 0.6])
    assert table["well"]["spelling_similarity"] == pytest.approx([0.75 * 0.9, 0.6])  # three of four letters
    assert table["well"]["output_similarity"] == pytest.approx([0.75, 1.0])
    assert table["i"]["spelling_similarity"] == pytest.approx([0.9, 0.6])
    assert table["i"]["mean_confidence"] == pytest.approx([(0.9 + 0.9 + 0.25) / 2.5, (0.6 + 0.6 + 0.25) / 2.5])
    assert table["i"]["peer_confidence"] == pytest.approx([(0.6 + 0.25) / 2.5, (0.9 + 0.25) / 2.5])


def test_how_sure_the_others_are() -> None:
    """Mean confidences over the words of an output and half a word of 0.5, with three recognizers and with one."""
    recognizers = [chain([("i", 0.0, 0.4)], 0.4, confidence) for confidence in (0.9, 0.6, 0.3)]
    three = evidence(joined(*recognizers))
    assert three.mean_confidence[0] == pytest.approx([(sure + 0.25) / 1.5 for sure in (0.9, 0.6, 0.3)])
    assert three.peer_confidence[0] == pytest.approx([(others + 0.25) / 1.5 for others in (0.45, 0.6, 0.75)])
    one = evidence(joined(recognizers[0]))
    assert one.peer_confidence[0] == pytest.approx([0.25 / 1.5])


def test_a_word_stays_if_its_confidence_or_its_posterior_is_enough() -> None:
    lattice = rivals(["best", "sure", "likely", "neither"], posterior=[0.5, 0.01, 0.3, 0.01], utt="utt").batch()
    kept = hypotheses(lattice, np.array([0.9, 0.4, 0.0, 0.015]), one_best(lattice), Vocabulary())
    assert kept[0].words == ("best", "sure", "likely")
    just = hypotheses(lattice, np.array([0.9, 0.4, 0.0, 0.0]), one_best(lattice), Vocabulary(), minimum=0.4)
    assert just[0].words == ("best",)


def test_silence_is_as_sure_as_its_posterior() -> None:
    network = chain([("i", 0.5, 1.0)], 1.0, 0.6)
    kept = hypotheses(network, np.array([0.2, 0.8]), one_best(network), Vocabulary())
    assert kept.extra[CONFIDENCE] == pytest.approx([0.6, 0.8])
    beyond = hypotheses(network, np.array([0.2, 1.5]), one_best(network), Vocabulary())
    assert beyond.extra[CONFIDENCE] == pytest.approx([0.6, 1.0])


@cache
def distance(one: str, other: str) -> int:
    """Edit distance as it is defined."""
    if not one or not other:
        return len(one) + len(other)
    changed = distance(one[1:], other[1:]) + (one[0] != other[0])
    return min(changed, distance(one[1:], other) + 1, distance(one, other[1:]) + 1)


@given(st.text("abcd", max_size=6), st.text("abcd", max_size=6))
def test_alike_words(one: str, other: str) -> None:
    recognizers = [chain([(f"x{word}", 0.0, 0.5)], 0.5, 0.5) for word in (one, other)]
    union = joined(*recognizers)
    found = evidence(union).output_similarity
    place = union.lattices[0].words.index(f"x{one}")
    assert found[place, 1] == pytest.approx(1 - distance(one, other) / max(len(one) + 1, len(other) + 1))


def test_long_words_are_compared_by_their_beginnings() -> None:
    one, other = (chain([("a" * 24 + "b" * count, 0.0, 0.5)], 0.5) for count in (1, 5000))
    assert evidence(joined(one, other)).output_similarity.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def plain_evidence(lattice: Lattice, union: JointLattice, arc: int, system: int) -> list[float]:
    """The definition, arc by arc."""
    time = lattice.time.copy()
    for node in range(1, len(time)):
        time[node] = max(time[node], time[node - 1] + 0.01)
    start, end = time[lattice.source], time[lattice.target]
    middle = (start[arc] + end[arc]) / 2
    word = rival = words = silence = own = posterior = 0.0
    for other in range(lattice.arcs):
        common = min(end[arc], end[other]) - max(start[arc], start[other])
        sure = float(union.confidence[other, system])
        same = (
            lattice.word[other] == lattice.word[arc]
            and common > 0
            and 2 * common >= min(end[arc] - start[arc], end[other] - start[other])
        )
        if same:
            word, own = word + sure, own + bool(union.in_output[other, system])
            posterior += float(union.posterior[other, system])
        if start[other] <= middle < end[other]:
            if lattice.word[other] == 0:
                silence += sure
            else:
                words += sure
                rival = rival if same else max(rival, sure)
    exact = float(union.confidence[arc, system])
    return [min(1.0, value) for value in (word, rival, words, silence, own, posterior, exact)]


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(st.lists(networks, min_size=2, max_size=3))
def test_evidence_is_what_its_definition_says(recognizers: list[Lattices]) -> None:
    union = joined(*recognizers)
    found, lattice = evidence(union), union.lattices[0]
    for arc in range(lattice.arcs):
        for system in range(len(recognizers)):
            plain = plain_evidence(lattice, union, arc, system)
            assert [values[arc, system] for values in found[: len(plain)]] == pytest.approx(plain, abs=1e-5)


@given(networks, st.floats(0.0, 1.0))
def test_what_is_believed_stays_on_whole_paths(network: Lattices, least: float) -> None:
    assert network.posterior is not None
    own = best_confidence(network, network.posterior)
    kept = hypotheses(network, network.posterior, own, Vocabulary(), minimum=least)
    before = network.vocabulary.lookup(network.word[network.posterior > least].tolist())
    after = kept.vocabulary.lookup(kept.word[kept.extra[CONFIDENCE] > least].tolist())
    assert sorted(before) == sorted(after)
    assert output(kept) == [word for word in network.vocabulary.lookup(network.word[own.arcs].tolist()) if word]


@pytest.mark.slow
@needs_shared
def test_real_recognizers_together_know_more() -> None:
    references = read_references(SHARED / "refs.tsv")
    made, vocabulary = [], Vocabulary()
    for name in ("whisper-small", "moonshine-base"):
        network = build(next(stream(SHARED / name / "dev.jsonl.gz"))[:60]).lattices
        assert network.posterior is not None
        made.append(hypotheses(network, network.posterior, one_best(network), vocabulary))
    union = JointHypotheses.of(made).union((0, 1))
    said = [references[utt].words for utt in union.lattices.utts]
    alone = [oracle_errors(each, said) for each in made]
    assert oracle_errors(union.lattices, said) < min(alone)
    for number, each in enumerate(made):
        own = best_paths(union.lattices, np.where(union.in_output[:, number], 1.0, -1e6))
        before = score_paths(each, one_best(each), ReferenceWords.of(said, each))
        assert score_paths(union.lattices, own, ReferenceWords.of(said, union.lattices)).errors == before.errors
    words = union.in_output[union.lattices.word > 0]
    assert words.all(axis=1).sum() > 0.85 * words[:, 0].sum()  # most words of both outputs meet in one arc


def oracle_errors(network: Lattices, said: list[tuple[str, ...]]) -> int:
    spoken = ReferenceWords.of(said, network)
    return score_paths(network, oracle_paths(network, spoken), spoken).errors


def test_recognizers_must_have_the_same_utterances_and_words() -> None:
    one, other = chain([("i", 0.0, 1.0)], 1.0), chain([("i", 0.0, 1.0)], 1.0, utt="other")
    with pytest.raises(OptionError, match="same utterances"):
        JointHypotheses.of(shared(one, other))
    with pytest.raises(OptionError, match="numbered alike"):
        JointHypotheses.of([*shared(one), *shared(one)])


def test_confidences_must_be_numbers() -> None:
    one = chain([("i", 0.0, 1.0)], 1.0)
    for bad in ([np.nan], [0.5, 0.5]):
        with pytest.raises(OptionError, match="one finite confidence"):
            hypotheses(one, np.array(bad), one_best(one), Vocabulary())
    with pytest.raises(OptionError, match="build networks first"):
        hypotheses(replace(one, posterior=None), np.array([0.5]), one_best(one), Vocabulary())

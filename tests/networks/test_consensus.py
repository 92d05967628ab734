"""Confusion networks against a plain transcription of the recursion and against enumeration of all paths."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from typing import Any

import jiwer
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

import wordtrust
from tests.helpers import reference_consensus as reference
from tests.helpers.shared import SHARED, needs_shared
from tests.helpers.strategies import all_paths, assembled, batch_of, lattices
from wordtrust.base.errors import OptionError
from wordtrust.formats.references import read_references
from wordtrust.lattices.lattice import Lattice, Lattices
from wordtrust.lattices.paths import Paths
from wordtrust.lattices.weights import Scales, log_scores
from wordtrust.networks.consensus import ConfusionNetwork, ConfusionNetworks, consensus

SCORED = ((), ("acoustic",), ("acoustic", "transition"))
MILD = Scales(acoustic=2e-4, transition=2e-4)  # random scores go to -10,000: this leaves all paths a chance


def path_words(lattice: Lattice, scales: Scales | None = None) -> dict[tuple[int, ...], float]:
    """The probability of every word sequence, by enumeration."""
    weights = log_scores(lattice.batch(), scales)
    paths = [list(path) for path in all_paths(lattice)]
    totals = np.array([weights[path].sum() for path in paths])
    chances = np.exp(totals - totals.max())
    chances_of_texts: dict[tuple[int, ...], float] = defaultdict(float)
    for path, chance in zip(paths, chances / chances.sum(), strict=True):
        chances_of_texts[tuple(word for word in lattice.word[path].tolist() if word)] += chance
    return chances_of_texts


def expected_distance(words: tuple[int, ...], chances_of_texts: dict[tuple[int, ...], float]) -> float:
    """The mean Levenshtein distance to all paths."""
    return sum(chance * Levenshtein.distance(words, other) for other, chance in chances_of_texts.items())


def best(networks: ConfusionNetworks, number: int = 0) -> tuple[int, ...]:
    """The word numbers that an utterance's network says."""
    rows = slice(*networks.best_offsets[number : number + 2])
    return tuple(networks.word[networks.best[rows]].tolist())


def contents(network: ConfusionNetwork) -> list[dict[str, float]]:
    """Word to posterior, slot by slot."""
    return [{entry.word: entry.posterior for entry in slot.entries} for slot in network.slots]


def utterance(words: str, time: list[float], **arrays: Any) -> Lattice:
    """A chain of words."""
    tokens = words.split()
    return assembled("u", time=time, ends=[(k, k + 1) for k in range(len(tokens))], tokens=tokens, **arrays)


def n_best(*hypotheses: tuple[str, float]) -> Lattice:
    """A chain for each hypothesis between a shared start and end, with probabilities."""
    time, ends, tokens, scores = [0.0], [], [], []
    end = 1 + sum(max(1, len(text.split())) - 1 for text, _ in hypotheses)
    for text, chance in hypotheses:
        words = text.split() or ["<sil>"]
        inner = range(len(time), len(time) + len(words) - 1)
        nodes = [0, *inner, end]
        time += [10 * (k + 1) / len(words) for k in range(len(words) - 1)]
        ends += list(itertools.pairwise(nodes))
        tokens += words
        scores += [math.log(chance)] + [0.0] * (len(words) - 1)
    return assembled("u", time=[*time, 10.0], ends=ends, tokens=tokens, acoustic=scores)


# By hand


@pytest.mark.parametrize(
    ("hypotheses", "slots", "errors", "rounds"),
    [
        # The best path says "sit"; half of the paths say "sat", and the tie stays with the word that is there.
        ({"we sit here": 0.5, "we sat here": 0.3, "we sat there": 0.2},
         [{"we": 1.0}, {"sit": 0.5, "sat": 0.5}, {"here": 0.8, "there": 0.2}], 0.7, 0),
        # The result need not be a path.
        ({"a x c": 0.4, "b x d": 0.35, "b x c": 0.25},
         [{"b": 0.6, "a": 0.4}, {"x": 1.0}, {"c": 0.65, "d": 0.35}], 0.4 + 0.35, 1),
        # A doubtful word is left out, ...
        ({"a b c": 0.4, "a c": 0.35, "a <sil> c": 0.25}, [{"a": 1.0}, {"": 0.6, "b": 0.4}, {"c": 1.0}], 0.4, 1),
        # ... a word that most paths have is put in, ...
        ({"a c": 0.4, "a b c": 0.35, "a b c d": 0.25},
         [{"a": 1.0}, {"b": 0.6, "": 0.4}, {"c": 1.0}, {"": 0.75, "d": 0.25}], 0.4 + 0.25, 1),
        # ... and the best path may be empty.
        ({"": 0.6, "yes yes": 0.25, "no": 0.15}, [{"": 0.6, "yes": 0.25, "no": 0.15}], 2 * 0.25 + 0.15, 0),
    ],
)  # fmt: skip
def test_n_best_lists_by_hand(
    hypotheses: dict[str, float], slots: list[dict[str, float]], errors: float, rounds: int
) -> None:
    (network,) = consensus(n_best(*hypotheses.items()))
    assert contents(network) == [pytest.approx(slot) for slot in slots]
    assert network.text == " ".join(word for word in (next(iter(slot)) for slot in slots) if word)
    assert network.errors == pytest.approx(errors, abs=1e-5)
    assert network.rounds == rounds


def test_without_rounds_the_slots_are_those_around_the_best_path() -> None:
    (around,) = consensus(n_best(("a x c", 0.4), ("b x d", 0.35), ("b x c", 0.25)), rounds=0)
    assert (around.text, around.rounds) == ("a x c", 0)
    assert around.errors == pytest.approx(2 * 0.35 + 0.25)


def test_times_are_means_over_the_arcs_of_a_slot() -> None:
    lattice = assembled(
        "u",
        time=[0.0, 1.0, 1.2, 2.0],
        ends=[(0, 1), (0, 2), (1, 3), (2, 3)],
        tokens=["a", "A,", "b", "c"],
        acoustic=[math.log(0.75), math.log(0.25), 0.0, 0.0],
    )
    (network,) = consensus(lattice)
    first, second = network.slots
    assert (first.start, first.end) == pytest.approx((0.0, 0.75 * 1.0 + 0.25 * 1.2))
    assert (second.start, second.end) == pytest.approx((1.05, 2.0))
    assert [tuple(entry) for entry in second.entries] == [
        ("b", "b", pytest.approx(0.75), pytest.approx(1.0), pytest.approx(2.0)),
        ("c", "c", pytest.approx(0.25), pytest.approx(1.2), pytest.approx(2.0)),
    ]
    assert first.entries[0].surface == "a"


def test_silence_between_two_words_does_not_take_the_place_of_a_word() -> None:
    lattice = assembled(
        "u",
        time=[0, 1, 2, 2.5, 3],
        ends=[(0, 1), (1, 2), (1, 3), (2, 3), (3, 4)],
        tokens=["a", "b", "<sil>", "<sil>", "c"],
        acoustic=[0.0, math.log(0.3), math.log(0.7), 0.0, 0.0],
    )
    (network,) = consensus(lattice)
    assert network.text == "a c"
    assert contents(network)[1] == {"": pytest.approx(0.7), "b": pytest.approx(0.3)}
    assert network.errors == pytest.approx(0.3, abs=1e-5)


def test_repr() -> None:
    lattice = n_best(("a b c", 0.75), ("a c", 0.25))
    shown = repr(consensus(lattice))
    assert shown.startswith("<ConfusionNetworks: 1 utterance, 3 slots, 4 entries")
    assert "<ConfusionNetwork u: 3 slots, 0.25 errors expected\n  a b c\n" in shown
    assert "b 0.75 | - 0.25" in shown


# What always holds


@settings(max_examples=60)
@given(lattices(score_sets=SCORED), st.booleans())
def test_equals_the_plain_transcription(lattice: Lattice, mild: bool) -> None:
    scales = MILD if mild else None
    (network,) = consensus(lattice, scales, window=math.inf)
    plain = reference.decode(lattice, scales)
    assert network.errors == pytest.approx(plain.errors, abs=1e-9)
    names = lattice.vocabulary
    assert [entry.word for entry in network.words] == [names[word] for word in plain.words]
    slots = [{names[word]: value for word, value in slot.items() if value[0] > 1e-12} for slot in plain.slots]
    slots = [slot for slot in slots if any(slot)]  # epsilon is ""
    assert [set(slot) for slot in contents(network)] == [set(slot) for slot in slots]
    for decoded, slot in zip(network.slots, slots, strict=True):
        for entry in decoded.entries:
            mass, begin, end = slot[entry.word]
            assert entry.posterior == pytest.approx(mass, abs=1e-9)
            assert not entry.word or (entry.start, entry.end) == pytest.approx((begin / mass, end / mass), abs=1e-6)


@given(lattices(score_sets=SCORED), st.sampled_from([0.1, math.inf]))
def test_expected_errors_are_an_upper_bound(lattice: Lattice, window: float) -> None:
    """Paths that meet must agree on the alignment from there on, and a window takes some alignments away."""
    chances_of_texts = path_words(lattice, MILD)
    for rounds in (0, 100):
        networks = consensus(lattice, MILD, window=window, rounds=rounds)
        assert networks.errors[0] >= expected_distance(best(networks), chances_of_texts) - 1e-9


texts = st.lists(st.sampled_from("a b c d".split()), max_size=5).map(" ".join)


@given(st.lists(st.tuples(texts, st.integers(1, 9)), min_size=1, max_size=6))
def test_expected_errors_of_an_n_best_list_are_exact(hypotheses: list[tuple[str, int]]) -> None:
    lattice = n_best(*hypotheses)
    chances_of_texts = path_words(lattice)
    for rounds in (0, 1, 100):
        networks = consensus(lattice, window=math.inf, rounds=rounds)
        assert networks.errors[0] == pytest.approx(expected_distance(best(networks), chances_of_texts), abs=2e-5)


@given(lattices(score_sets=SCORED))
def test_expected_errors_never_rise(lattice: Lattice) -> None:
    steps = [consensus(lattice, MILD, rounds=rounds) for rounds in range(6)]
    errors = [float(step.errors[0]) for step in steps]
    taken = [int(step.rounds[0]) for step in steps]
    assert all(later <= earlier for earlier, later in itertools.pairwise(errors))
    assert all(step <= rounds for rounds, step in enumerate(taken))
    assert taken[-1] == 5 or (errors[-1], best(steps[-1])) == (errors[-2], best(steps[-2]))


@given(lattices(score_sets=(*SCORED, ("posterior",))), st.sampled_from([0.05, 0.3, 2.0, math.inf]))
def test_slots(lattice: Lattice, window: float) -> None:
    """Posteriors sum to 1, the first entry is said, others follow by posterior; times are in order."""
    networks = consensus(lattice, window=window)
    (network,) = networks
    for slot in network.slots:
        masses = [entry.posterior for entry in slot.entries]
        assert sum(masses) == pytest.approx(1, abs=1e-9)
        assert masses[1:] == sorted(masses[1:], reverse=True)
        assert len({entry.word for entry in slot.entries}) == len(slot.entries)
        assert any(entry.word for entry in slot.entries)
        for entry in slot.entries:
            assert lattice.time[0] - 1e-9 <= entry.start <= entry.end + 1e-9 <= lattice.time[-1] + 2e-9
    times = [time for slot in network.slots for time in (slot.start, slot.end)]
    assert times == sorted(times)
    assert network.errors >= sum(1 - slot.entries[0].posterior for slot in network.slots) - 1e-6
    assert tuple(networks.vocabulary.lookup(best(networks))) == tuple(entry.word for entry in network.words)


@given(lattices(score_sets=SCORED, max_nodes=12, max_arcs=30))
def test_a_window_over_everything_is_exact(lattice: Lattice) -> None:
    everything, wide = (consensus(lattice, MILD, window=window) for window in (math.inf, lattice.duration + 1))
    assert_equal(everything, wide)


@given(st.lists(lattices(score_sets=(("acoustic",),)), min_size=1, max_size=4))
def test_a_batch_is_like_its_parts(parts: list[Lattice]) -> None:
    batch = batch_of(*parts)
    networks = consensus(batch)
    assert len(networks) == len(parts)
    for number, part in enumerate(parts):
        alone = consensus(part)[0]
        assert contents(networks[number]) == contents(alone)
        assert networks[number].errors == alone.errors


def assert_equal(one: ConfusionNetworks, other: ConfusionNetworks) -> None:
    for name in ("slot_offsets", "entry_offsets", "word", "surface", "rounds"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    for name in ("posterior", "start", "end", "entry_start", "entry_end", "errors"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-9, err_msg=name)


# Windows


def test_long_utterances_are_aligned_within_windows() -> None:
    """A ten-minute chain with a rival for every word: the same as without windows, and as by hand."""
    words = 1200
    ends = [(k, k + 1) for k in range(words) for _ in range(2)]
    tokens = [f"{kind}{k % 97}" for k in range(words) for kind in ("right", "wrong")]
    lattice = assembled("u", time=np.arange(words + 1) / 2, ends=ends, tokens=tokens, acoustic=[0.0, -2.0] * words)
    narrow, all_of_it = consensus(lattice), consensus(lattice, window=math.inf)
    assert_equal(narrow, all_of_it)
    assert narrow.errors[0] == pytest.approx(words / (1 + math.exp(2)))


def test_an_arc_longer_than_all_windows_drops_the_words_below_it() -> None:
    """One silence against 100 seconds of words: the words lie outside the windows of both its ends."""
    words = 200
    ends = [(k, k + 1) for k in range(words)] + [(0, words)]
    tokens = [f"word{k}" for k in range(words)] + ["<sil>"]
    scores = [0.0] * words + [-1.0]
    lattice = assembled("u", time=np.arange(words + 1) / 2, ends=ends, tokens=tokens, acoustic=scores)
    chance = 1 / (1 + math.exp(-1))
    networks = consensus(lattice, window=3.0)
    assert networks.errors[0] == pytest.approx(words * (1 - chance))
    assert networks.word.reshape(words, 2)[:, 1].tolist() == [0] * words
    assert networks.posterior.reshape(words, 2) == pytest.approx(np.tile([chance, 1 - chance], (words, 1)))
    assert_equal(networks, consensus(lattice, window=math.inf))


def test_a_narrow_window_never_breaks() -> None:
    lattice = assembled(
        "u",
        time=[0, 0, 0, 5, 5, 5],
        ends=[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 3), (2, 5)],
        tokens=["a", "b", "c", "d", "e", "f", "g"],
        acoustic=[0.0] * 7,
    )
    for window in (1e-6, 0.1, 1.0):
        networks = consensus(lattice, window=window)
        assert networks.errors[0] >= expected_distance(best(networks), path_words(lattice)) - 1e-9


def test_words_of_no_length_do_not_fill_windows() -> None:
    words = 5000
    lattice = utterance(" ".join(["a", "b"] * (words // 2)), [0.0] * words + [1.0])
    networks = consensus(lattice)
    assert networks.errors[0] == 0
    assert len(best(networks)) == words


# Degenerate lattices and options


def test_one_path_is_certain() -> None:
    (network,) = consensus(utterance("I will <sil> sit", [0, 0.5, 0.5, 2, 3], acoustic=[-5.0] * 4))
    assert network.text == "I will sit"
    assert [(e.start, e.end, e.posterior) for e in network.words] == [(0, 0.5, 1), (0.5, 0.5, 1), (2, 3, 1)]
    assert network.errors == 0


def test_silence_only() -> None:
    (network,) = consensus(utterance("<sil> <sil>", [0, 1, 2]))
    assert (network.slots, network.words, network.text, network.errors) == ((), (), "", 0)
    assert "(no words)" in repr(network)


def test_a_confidence_alone_weighs_rivals_only() -> None:
    lattice = assembled(
        "u", time=[0, 1, 2], ends=[(0, 1), (1, 2), (1, 2)], tokens=["a", "b", "c"], posterior=[0.0, 0.6, 0.2]
    )
    assert contents(consensus(lattice)[0]) == [{"a": 1.0}, {"b": pytest.approx(0.75), "c": pytest.approx(0.25)}]


def test_no_utterances() -> None:
    assert len(consensus(utterance("a", [0, 1]).batch()[:0])) == 0


@pytest.mark.parametrize("chance", [1e-6, 1e-300])
def test_a_start_of_ones_own(chance: float) -> None:
    lattice = n_best(("a b", 1.0), ("c d", chance))
    rare = [arc for arc in range(lattice.arcs) if lattice.words[arc] in ("c", "d")]
    start = Paths(np.array([0, 2]), np.array(rare, np.int32))
    (around,) = consensus(lattice, rounds=0, start=start)
    assert around.text == "c d"
    assert [entry.posterior for entry in around.words] == pytest.approx([chance, chance], abs=1e-11)
    assert [(entry.start, entry.end) for entry in around.words] == [(0, 5), (5, 10)]
    assert around.errors == pytest.approx(2, abs=1e-5)
    assert consensus(lattice, start=start)[0].text == "a b"


@pytest.mark.parametrize(("offsets", "arcs"), [([0], []), ([0, 1], [9]), ([0, 1], [-1]), ([0, 2], [0])])
def test_a_start_that_is_of_other_lattices(offsets: list[int], arcs: list[int]) -> None:
    with pytest.raises(OptionError, match="not those of these lattices"):
        consensus(n_best(("a b", 1.0)), start=Paths(np.array(offsets), np.array(arcs, np.int32)))


def test_views() -> None:
    batch = batch_of(n_best(("a", 1.0)), n_best(("b", 1.0)))
    networks = consensus(Lattices(**{**vars(batch), "utts": ("one", "two")}))
    assert networks["two"].text == networks[-1].text == "b"
    assert [network.text for network in networks[:]] == ["a", "b"]
    with pytest.raises(KeyError, match="no utterance 'three' among 2"):
        networks["three"]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"window": 0.0}, "window"), ({"window": math.nan}, "window"), ({"rounds": -1}, "rounds")],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        consensus(n_best(("a", 1.0)), **options)


# Real lattices

TUNED = Scales(acoustic=0.7 * 0.8, transition=0.7, word_penalty=-0.7)


@pytest.fixture(scope="module")
def dev() -> Lattices:
    return wordtrust.read(SHARED / "kaldi-small-2020" / "dev.ark.gz")


def wer(lattices: Lattices, networks: ConfusionNetworks) -> float:
    references = read_references(SHARED / "refs.tsv")
    decoded = [" ".join(networks.vocabulary.lookup(best(networks, index))) for index in range(len(networks))]
    return float(jiwer.wer([" ".join(references[utt].words) for utt in lattices.utts], decoded))


@pytest.mark.slow
@needs_shared
def test_decoding_for_few_errors_makes_fewer_than_the_best_path(dev: Lattices) -> None:
    around, networks = (consensus(dev, TUNED, rounds=rounds) for rounds in (0, 100))
    assert wer(dev, around) == pytest.approx(0.2034, abs=5e-4)  # the best path at these scales
    assert wer(dev, networks) == pytest.approx(0.2007, abs=5e-4)
    assert (networks.errors <= around.errors).all()
    assert np.add.reduceat(networks.posterior, networks.entry_offsets[:-1]) == pytest.approx(1, abs=1e-9)


@needs_shared
def test_windows_hardly_matter_in_real_lattices(dev: Lattices) -> None:
    narrow, everything = (consensus(dev[:300], TUNED, window=window) for window in (2.0, math.inf))
    np.testing.assert_array_equal(narrow.word[narrow.best], everything.word[everything.best])
    assert narrow.errors.sum() == pytest.approx(everything.errors.sum(), abs=0.02)


@needs_shared
def test_real_lattices_equal_the_plain_transcription(dev: Lattices) -> None:
    small = [lattice for lattice in dev[:80] if 30 < lattice.arcs <= 60]
    assert len(small) > 5
    for lattice in small:
        networks, plain = consensus(lattice, TUNED, window=math.inf), reference.decode(lattice, TUNED)
        assert list(best(networks)) == plain.words
        assert networks.errors[0] == pytest.approx(plain.errors, abs=1e-9)

"""Choosing outputs by confidence: hand-worked tables, a plain reference, and the argument of the paper as a test."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from statistics import pstdev
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests.helpers.system_outputs import outputs, several, side_by_side
from wordtrust.base.errors import InputError, OptionError
from wordtrust.combination.error_regression import ErrorRegression
from wordtrust.combination.rover import RoverSettings
from wordtrust.combination.subset_comparison import (
    SubsetComparison,
    all_subsets,
    compare_subsets,
    mean_confidence,
    select_system,
)
from wordtrust.combination.system_output import SystemOutputs
from wordtrust.networks.equivalents import NONE, Equate
from wordtrust.networks.segments import Comparison

# Utterances "a b" and "c d". Errors: A 0 and 2, B 1 and 0, C 2 and 2.
A = outputs(["a b", "x x"], [0.9, 0.7, 0.2, 0.4], calibrated=[0.8, 0.8, 0.9, 0.9])
B = outputs(["a x", "c d"], [0.8, 1.0, 0.5, 0.7], calibrated=[0.3, 0.5, 0.1, 0.1])
C = outputs(["", "y y"], [0.6, 0.6], calibrated=[0.5, 0.5])
SAID = ["a b", "c d"]


def _table(**how: Any) -> SubsetComparison:
    return compare_subsets(side_by_side({"A": A, "B": B, "C": C}, SAID), **how)


def test_mean_confidences() -> None:
    three = side_by_side({"A": A, "B": B, "C": C}, SAID)
    assert mean_confidence(three) == pytest.approx(np.array([[0.8, 0.3], [0.9, 0.6], [0.0, 0.6]]))
    assert mean_confidence(three, calibrated=True) == pytest.approx(np.array([[0.8, 0.9], [0.4, 0.1], [0.0, 0.5]]))


def test_a_hand_worked_table() -> None:
    comparison = _table(rover=RoverSettings())
    statistics, rates = comparison.rate_statistics["calibrated"], [0.5, 0.5, 0.75, 0.5]
    assert (statistics.low, statistics.high) == (min(rates), max(rates))
    assert statistics.deviation == pytest.approx(pstdev(rates))
    found = comparison.to_dict()
    assert found["systems"] == {"A": 0.5, "B": 0.25, "C": 1.0}
    assert found["subsets"] == [
        {"members": ["A", "B"], "best_member": 0.25, "raw": 0.25, "calibrated": 0.5, "rover": 0.5, "oracle": 0.0},
        {"members": ["A", "C"], "best_member": 0.5, "raw": 0.5, "calibrated": 0.5, "rover": 0.5, "oracle": 0.5},
        # B is right in the second: 0.6 each, and it is named first; calibrated, C is believed with 0.5 over 0.1.
        {"members": ["B", "C"], "best_member": 0.25, "raw": 0.25, "calibrated": 0.75, "rover": 0.25, "oracle": 0.25},
        {"members": ["A", "B", "C"], "best_member": 0.25, "raw": 0.25, "calibrated": 0.5, "rover": 0.5,
         "oracle": 0.0},
    ]  # fmt: skip
    assert found["better"] == {"raw": 0, "calibrated": 0, "rover": 0}
    assert found["equal"] == {"raw": 4, "calibrated": 1, "rover": 2}
    assert found["worse"] == {"raw": 0, "calibrated": 3, "rover": 2}
    assert (found["utterances"], found["words"]) == (2, 4)
    assert json.loads(json.dumps(found)) == found


def test_the_best_of_what_they_print_themselves() -> None:
    own = side_by_side({"A": ["a b", "c"], "B": ["", ""], "C": ["", "c d"]}, SAID)
    found = _table(one_best=own)
    assert [subset.best_member_one_best for subset in found.subsets] == [0.25, 0.25, 0.5, 0.25]
    with pytest.raises(ValueError, match="other recognizers"):
        _table(one_best=own.subset(["A", "B"]))


def test_further_methods_stand_in_the_same_table() -> None:
    errors = np.array([[0, 0], [1, 1], [0, 0], [0, 2]], np.int32)
    found = _table(others={"joint": errors}).to_dict()
    assert [subset["joint"] for subset in found["subsets"]] == [0, 0.5, 0, 0.5]
    assert [found[key]["joint"] for key in ("better", "equal", "worse")] == [2, 1, 1]
    with pytest.raises(ValueError, match="errors of joint are"):
        _table(others={"joint": errors[1:]})


def test_only_methods_that_there_are_confidences_for() -> None:
    bare = side_by_side({"A": outputs(["a"], None), "B": outputs(["b"], None)}, ["a"])
    found = compare_subsets(bare, rover=RoverSettings()).to_dict()
    assert set(found["better"]) == {"rover"}
    assert "raw" not in found["subsets"][0]
    with pytest.raises(OptionError, match="the words of A have no confidences"):
        mean_confidence(bare)
    with pytest.raises(OptionError, match="the words of A have no calibrated confidences"):
        mean_confidence(bare, calibrated=True)


def test_all_subsets_of_nine() -> None:
    found = all_subsets(9)
    assert len(found) == len(set(found)) == 2**9 - 10
    assert found[0] == (0, 1)
    assert found[-1] == tuple(range(9))
    with pytest.raises(OptionError, match="no word in the references"):
        compare_subsets(side_by_side({"A": ["a"], "B": ["b"]}, [""]))
    for count in (0, 1, 13):
        with pytest.raises(OptionError, match=f"2 to 12 recognizers, not of {count}"):
            all_subsets(count)


def _plain(recognizers: SystemOutputs) -> list[dict[str, Any]]:
    """The table, utterance by utterance."""
    rows = []
    errors = recognizers.errors.tolist()
    for size in range(2, len(errors) + 1):
        for members in combinations(range(len(errors)), size):
            total = dict.fromkeys(("raw", "calibrated", "oracle"), 0)
            for u in range(len(recognizers)):
                for method, name in (("raw", "confidence"), ("calibrated", "calibrated")):
                    best, sure = -1, -1.0
                    for k in members:
                        one = recognizers.outputs[k]
                        words = getattr(one, name)[one.offsets[u] : one.offsets[u + 1]].tolist()
                        mean = sum(words) / len(words) if words else 0.0
                        if mean > sure:
                            best, sure = k, mean
                    total[method] += errors[best][u]
                total["oracle"] += min(errors[k][u] for k in members)
            names = [recognizers.names[k] for k in members]
            rows.append({"members": names, "best_member": min(sum(errors[k]) for k in members), **total})
    return rows


@given(several())
def test_as_in_plain_python(recognizers: SystemOutputs) -> None:
    words, found = len(recognizers.reference_words), compare_subsets(recognizers, replicates=10).to_dict()
    expected = [
        {key: value if key == "members" else value / words for key, value in row.items()}
        for row in _plain(recognizers)
    ]
    assert found["subsets"] == expected
    for method in ("raw", "calibrated"):
        signs = [np.sign(row[method] - row["best_member"]) for row in expected]
        assert [found[key][method] for key in ("better", "equal", "worse")] == [signs.count(k) for k in (-1, 0, 1)]


@given(several())
@settings(max_examples=30)
def test_with_copies_of_itself_nothing_changes(recognizers: SystemOutputs) -> None:
    one = recognizers.outputs[0]
    same = replace(recognizers, names=("A", "B", "C"), outputs=(one, one, one))
    fitted = ErrorRegression.fit(same, all_subsets(3))
    found = compare_subsets(same, informed=fitted, rover=RoverSettings("maximum", 0.0, 0.5), replicates=10)
    assert set(found.equal.values()) == {4}
    assert all(subset.oracle == subset.best_member for subset in found.subsets)
    assert set(found.none_worse.values()) <= {1.0}


def test_ties_go_to_the_first_member() -> None:
    assert select_system(np.array([[0.5], [0.5], [0.4]]), [(0, 1), (1, 0), (2, 1, 0)]).tolist() == [[0], [1], [1]]


def test_share_of_draws_in_which_no_subset_is_worse() -> None:
    """Two speakers. B is better for y; one that takes the worse for y is worse unless only x is drawn: 1 in 4."""
    two = side_by_side({"A": ["a", "x"], "B": ["a", "b"]}, ["a", "b"], ["x", "y"])
    bad, good = np.array([[0, 1]], np.int32), np.array([[0, 0]], np.int32)
    found = compare_subsets(two, others={"bad": bad, "good": good}, replicates=4000).none_worse
    assert found["good"] == 1.0
    assert found["bad"] == pytest.approx(0.25, abs=0.03)
    again = compare_subsets(two, others={"bad": bad, "good": good}, replicates=4000).none_worse
    assert again == found
    assert compare_subsets(side_by_side({"A": ["a"], "B": ["b"]}, ["a"])).none_worse == {}  # one speaker


def test_the_best_member_is_that_of_each_draw() -> None:
    """A is better for x, B for y: as good as A is as good as the best in draws with x at least as often as y."""
    two = side_by_side({"A": ["a", "x"], "B": ["x", "b"]}, ["a", "b"], ["x", "y"])
    found = compare_subsets(two, others={"as A": two.errors[:1]}, replicates=4000).none_worse
    assert found["as A"] == pytest.approx(0.75, abs=0.03)


ITEMS = 30_000
Rates = NDArray[np.float64]


def _items(right: Rates, sure: Rates, seed: int) -> SystemOutputs:
    """One-word utterances: recognizer k is right with probability right[k, item] and says sure[k, item]."""
    random = np.random.default_rng(seed)
    systems = {}
    for number, (chances, says) in enumerate(zip(right, sure, strict=True)):
        texts = np.where(random.random(len(chances)) < chances, "yes", f"no{number}").tolist()
        systems["ABCD"[number]] = outputs(texts, says)
    return side_by_side(systems, ["yes"] * ITEMS, [f"s{item % 20}" for item in range(ITEMS)])


def _easy_and_hard() -> tuple[Rates, Rates]:
    easy = np.arange(ITEMS) % 2 == 0
    right = np.stack([np.where(easy, 0.95, 0.65), np.where(easy, 0.9, 0.1)])
    alone = np.stack([np.full(ITEMS, 0.8), right[1]])
    return right, alone


def test_calibrated_alone_the_choice_can_be_worse_than_the_best_member() -> None:
    right, alone = _easy_and_hard()
    items = _items(right, alone, seed=1)
    for k in range(2):  # each is calibrated: of the words with a score, that share is right
        for score in np.unique(alone[k]):
            share = 1 - items.errors[k][alone[k] == score].mean()
            assert share == pytest.approx(score, abs=0.01)
    (subset,) = compare_subsets(items).subsets
    assert 1 - subset.best_member == pytest.approx(0.8, abs=0.01)
    assert 1 - subset.methods["raw"] == pytest.approx(0.775, abs=0.01)
    assert subset.methods["raw"] > subset.best_member + 0.015


def test_calibrated_given_all_the_choice_is_as_good_as_the_best_member() -> None:
    right, _ = _easy_and_hard()
    (subset,) = compare_subsets(_items(right, right, seed=2)).subsets
    assert subset.methods["raw"] == subset.best_member
    assert 1 - subset.methods["raw"] == pytest.approx(0.8, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_true_probabilities_are_never_worse(seed: int) -> None:
    """Any recognizers at all: four kinds of items, the probability of being right given the kind as the score."""
    random = np.random.default_rng(seed)
    right = random.random((4, 4))[:, random.integers(0, 4, ITEMS)]
    found = compare_subsets(_items(right, right, seed=seed + 10), replicates=10)
    noise = 3 * np.sqrt(0.5 / ITEMS)
    assert all(subset.methods["raw"] <= subset.best_member + noise for subset in found.subsets)
    assert found.better["raw"] >= 6


def test_informed_choice_repairs_what_is_calibrated_alone() -> None:
    right, alone = _easy_and_hard()
    fitted = ErrorRegression.fit(_items(right, alone, seed=3), [(0, 1)], margin=0)
    items = _items(right, alone, seed=4)
    (subset,) = compare_subsets(items, informed=fitted).subsets
    assert subset.methods["informed"] <= subset.best_member < subset.methods["raw"]


def test_informed_choice_sees_missing_words() -> None:
    """A leaves the second word out in half of the utterances and is sure of the first; a mean cannot see that."""
    said = ["a b"] * 400
    short = outputs([["a b", "a"][k % 2] for k in range(400)], 1.0)
    whole = outputs(["a b"] * 399 + ["a x"], 0.9)
    two = side_by_side({"A": short, "B": whole}, said)
    (subset,) = compare_subsets(two, informed=ErrorRegression.fit(two, [(0, 1)], ridge=1.0)).subsets
    assert subset.methods["raw"] == 0.25
    assert subset.methods["informed"] <= subset.best_member == 1 / 800


def test_informed_choice_without_confidences_goes_by_agreement() -> None:
    """Three recognizers; two that agree are right."""
    random = np.random.default_rng(0)
    texts = np.full((3, 600), "yes", dtype="<U3")
    wrong = random.integers(0, 3, 600)
    texts[wrong, np.arange(600)] = [f"n{k}" for k in range(600)]
    three = side_by_side(
        {name: outputs(each.tolist(), None) for name, each in zip("ABC", texts, strict=True)}, ["yes"] * 600
    )
    fitted = ErrorRegression.fit(three, all_subsets(3), ridge=1.0)
    found = compare_subsets(three, informed=fitted).subsets[-1]
    assert found.methods["informed"] == 0
    assert found.best_member > 0.25


@given(several())
@settings(max_examples=30)
def test_informed_choice_is_kept_as_json_and_knows_members_by_name(recognizers: SystemOutputs) -> None:
    subsets = all_subsets(len(recognizers.names))
    fitted = ErrorRegression.fit(recognizers, subsets)
    kept = ErrorRegression.from_dict(json.loads(json.dumps(fitted.to_dict())))
    chosen = fitted.choose(recognizers, subsets)
    assert kept.choose(recognizers, subsets).tolist() == chosen.tolist()
    turned = recognizers.subset(recognizers.names[::-1])
    last = len(recognizers.names) - 1
    mirrored = [tuple(last - number for number in subset) for subset in subsets]
    assert (last - kept.choose(turned, mirrored)).tolist() == chosen.tolist()


def test_informed_choice_refuses_what_it_cannot_do() -> None:
    three = side_by_side({"A": A, "B": B, "C": C}, SAID)
    fitted = ErrorRegression.fit(three, [(0, 1)])
    with pytest.raises(OptionError, match="not fitted for A and C"):
        fitted.choose(three, [(0, 2)])
    with pytest.raises(OptionError, match="two or more different recognizers"):
        ErrorRegression.fit(three, [(0, 0)])
    with pytest.raises(OptionError, match="ridge must be over 0"):
        ErrorRegression.fit(three, [(0, 1)], ridge=0)
    bare = side_by_side({"A": replace(A, confidence=None, calibrated=None), "B": B}, SAID)
    with pytest.raises(OptionError, match="fitted with confidences"):
        fitted.choose(bare, [(0, 1)])


@pytest.mark.parametrize(
    "change",
    [
        {"margin": "x"},
        {"margin": float("nan")},
        {"margin": -1},
        {"subsets": 3},
        {"subsets": [{"members": ["A"], "leader": "A", "weights": [[1]]}]},
        {"subsets": [{"members": ["A", "B"], "leader": "A", "weights": [[1, 2]]}]},
        {"subsets": [{"members": ["A", "B"], "leader": "C", "weights": [[0, 0]] * 6}]},
        {"subsets": [{"members": ["A", "B"], "leader": "A", "weights": [[0, float("inf")]] * 6}]},
        {"subsets": [{"members": ["A", "B"], "leader": "A", "weights": [["a", 0]] * 6}]},
    ],
)
def test_informed_choice_from_a_damaged_file(change: dict[str, Any]) -> None:
    good = ErrorRegression.fit(side_by_side({"A": A, "B": B}, SAID), [(0, 1)]).to_dict()
    with pytest.raises(InputError, match="this is no choice among recognizers"):
        ErrorRegression.from_dict(good | change)
    with pytest.raises(InputError, match="this is no choice among recognizers"):
        ErrorRegression.from_dict([])


def test_errors_are_counted_as_written_and_with_spellings_equated() -> None:
    said = ["met six dogs", "it's a colour"]
    systems = {
        "A": outputs(["met 6 dogs", "it is a color"], [0.9] * 7, calibrated=[0.9] * 7),
        "B": outputs(["met six cats", "it's a colour"], [0.5] * 6, calibrated=[0.5] * 6),
        "C": outputs(["met 6 dogs", "it is the color"], [0.1] * 7, calibrated=[0.1] * 7),
    }
    three, others = side_by_side(systems, said), {"joint": np.ones((4, 2), np.int32)}
    found = compare_subsets(
        three, one_best=three, rover=RoverSettings(), others=others, lenient_others={"joint": others["joint"] * 0}
    ).to_dict()
    lenient = found["lenient"]
    assert found["systems"] == pytest.approx({"A": 4 / 6, "B": 1 / 6, "C": 5 / 6})  # 6, it is, color; the
    assert lenient["systems"] == pytest.approx({"A": 0, "B": 1 / 6, "C": 1 / 6})
    together, equated = found["subsets"][-1], lenient["subsets"][-1]
    assert (together["raw"], equated["raw"]) == pytest.approx((4 / 6, 0))  # A is surest
    assert (together["best_member"], equated["best_member"]) == pytest.approx((1 / 6, 0))
    assert (together["best_member_one_best"], equated["best_member_one_best"]) == pytest.approx((1 / 6, 0))
    assert (together["rover"], equated["rover"]) == pytest.approx((4 / 6, 0))  # met 6 dogs, it is a color
    assert (together["joint"], equated["joint"]) == pytest.approx((2 / 6, 0))
    assert [found[count]["raw"] for count in ("better", "equal", "worse")] == [0, 2, 2]
    assert [lenient[count]["raw"] for count in ("better", "equal", "worse")] == [0, 4, 0]


def test_spellings_are_equated_as_far_as_is_wanted() -> None:
    two = side_by_side({"A": ["met 6 dogs"], "B": ["met color"]}, ["met six colour"])
    numbers = replace(two, how=Comparison("wordtrust", equate=Equate.parse("numbers"))).leniently
    everything = two.leniently
    assert everything is not None
    assert everything.errors.tolist() == [[1], [1]]
    assert numbers is not None
    assert numbers.errors.tolist() == [[1], [2]]
    for how in (Comparison("wordtrust", equate=NONE), Comparison("sclite")):
        strict = replace(two, how=how)
        assert strict.leniently is None
        assert compare_subsets(strict).lenient is None
        assert "lenient" not in compare_subsets(strict).to_dict()


@given(several())
@settings(max_examples=20)
def test_where_every_word_has_one_spelling_both_counts_are_the_same(recognizers: SystemOutputs) -> None:
    found = compare_subsets(recognizers, rover=RoverSettings(), replicates=10).to_dict()
    assert found.pop("lenient") == found

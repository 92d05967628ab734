"""ROVER: hand-worked votes, the alignment against a plain reference, all subsets at once against one by one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations, permutations
from operator import mul

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.system_outputs import outputs, several, side_by_side
from wordtrust.base.errors import InputError, OptionError
from wordtrust.combination.rover import RoverSettings, grid, rover, rover_errors, tune_rover
from wordtrust.combination.system_output import SystemOutput, SystemOutputs
from wordtrust.formats.nbest.from_python import from_nbest
from wordtrust.formats.references import Reference
from wordtrust.networks.align import align
from wordtrust.networks.equivalents import NONE
from wordtrust.networks.segments import Comparison

SETTINGS = st.sampled_from([
    RoverSettings(),
    RoverSettings("average", 0.5, 0.5),
    RoverSettings("average", 0.0, 0.3, calibrated=True),
    RoverSettings("maximum", 0.2, 0.8),
    RoverSettings("maximum", 0.0, 1.0, calibrated=True),
    RoverSettings(votes=(("A", 2.5), ("C", 0.25))),
    RoverSettings("average", 0.5, 0.4, votes=(("B", 3.0), ("D", 0.5))),
])  # fmt: skip


def _voted(*texts: str, by: str = "frequency", alpha: float = 1.0, nothing: float = 0.0) -> str:
    """What recognizers say together; `word:0.7` has that confidence."""
    systems = {}
    for number, text in enumerate(texts):
        pairs = [(token + ":0.5").split(":")[:2] for token in text.split()]
        systems[f"r{number}"] = outputs([" ".join(word for word, _ in pairs)], [float(sure) for _, sure in pairs])
    return " ".join(rover(side_by_side(systems, ["a"]), RoverSettings(by, alpha, nothing)).words(0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["a b c", "a x c", "a b c d"], "a b c"),  # b has two votes, nothing has two where d has one
        (["a b c", "a c", "a c"], "a c"),  # nothing wins
        (["a c", "a b c", "a b c"], "a b c"),  # a new slot that the third joins
        (["a b", "a c"], "a b"),  # a tie goes to the first
        (["a b", "a b c"], "a b"),  # also where the first says nothing
        (["a b c", "a b"], "a b c"),
        (["", "a", "a"], "a"),
        (["a", "", ""], ""),
        (["", ""], ""),
        (["a b c d", "b c d", "x b c d"], "a b c d"),
        (["i will sit", "it will sit", "i'll sit", "it will simmer"], "it will sit"),
    ],
)
def test_by_frequency(texts: list[str], expected: str) -> None:
    assert _voted(*texts) == expected


@pytest.mark.parametrize(
    ("texts", "by", "alpha", "nothing", "expected"),
    [
        # b: 0.5 * 2/3 + 0.5 * 0.25 = 0.458; x: 0.5 * 1/3 + 0.5 * 0.9 = 0.617
        (["b:0.2", "b:0.3", "x:0.9"], "average", 0.5, 0.0, "x"),
        # b: 0.9 * 2/3 + 0.1 * 0.25 = 0.625; x: 0.9 * 1/3 + 0.1 * 0.9 = 0.39
        (["b:0.2", "b:0.3", "x:0.9"], "average", 0.9, 0.0, "b"),
        (["b:0.2", "b:0.3", "x:0.9"], "frequency", 1.0, 0.0, "b"),
        (["b:0.1", "b:0.9", "x:0.7"], "average", 0.0, 0.0, "x"),  # 0.5 against 0.7
        (["b:0.1", "b:0.9", "x:0.7"], "maximum", 0.0, 0.0, "b"),  # 0.9 against 0.7
        (["a b:0.6", "a"], "maximum", 0.0, 0.5, "a b"),  # 0.6 against the 0.5 of nothing
        (["a b:0.6", "a"], "maximum", 0.0, 0.7, "a"),
        # b or nothing: c stands there for 1; a slot of its own costs 3.001. So one of b and c is said ...
        (["a b:0.8", "a", "a c:0.9"], "maximum", 0.0, 0.0, "a c"),
        # ... while b where all agree keeps its slot, and a substitution (4) is cheaper than two gaps (6).
        (["a b:0.8", "a b:0.8", "a c:0.9"], "maximum", 0.0, 0.0, "a c"),
    ],
)
def test_by_confidence(texts: list[str], by: str, alpha: float, nothing: float, expected: str) -> None:
    assert _voted(*texts, by=by, alpha=alpha, nothing=nothing) == expected


def test_times_and_confidences_are_means() -> None:
    first, second = outputs(["a b"], [0.4, 0.8]), outputs(["a x"], [0.6, 0.1])
    found = rover(side_by_side({"A": first, "B": replace(second, start=second.start + 0.5)}, ["a"]))
    assert found.words(0) == ("a", "b")
    assert found.confidence is not None
    assert found.confidence == pytest.approx([0.5, 0.8])
    assert found.start == pytest.approx([0.25, 1.0])
    assert found.end == pytest.approx([1.0, 2.0])


Slot = tuple[str, ...]  # what each recognizer says, "" for nothing


def _joined(slots: list[Slot], members: int, words: list[str]) -> list[Slot]:
    """The network with one output more, as the module's text has it: recursion from the end, no tables."""

    def beside(slot: Slot, word: str) -> int:
        return 0 if word in slot else 1000 if "" in slot else 4000

    def alone(slot: Slot) -> int:
        return 1 if "" in slot else 3000

    @cache
    def cost(s: int, j: int) -> int:
        ways = [0] if s == j == 0 else []
        if s and j:
            ways.append(cost(s - 1, j - 1) + beside(slots[s - 1], words[j - 1]))
        if j:
            ways.append(cost(s, j - 1) + 3000)
        if s:
            ways.append(cost(s - 1, j) + alone(slots[s - 1]))
        return min(ways)

    found: list[Slot] = []
    s, j = len(slots), len(words)
    while s or j:
        if s and j and cost(s, j) == cost(s - 1, j - 1) + beside(slots[s - 1], words[j - 1]):
            s, j = s - 1, j - 1
            found.append((*slots[s], words[j]))
        elif j and cost(s, j) == cost(s, j - 1) + 3000:
            j -= 1
            found.append((*("",) * members, words[j]))
        else:
            s -= 1
            found.append((*slots[s], ""))
    return found[::-1]


def _winner(slot: Slot, sure: list[float], votes: list[float], how: RoverSettings) -> str:
    by, alpha, nothing, scores = how.by, how.alpha, how.nothing, {}
    for word in dict.fromkeys(slot):
        has = [own for other, own in zip(slot, votes, strict=True) if other == word]
        trust = (
            [one for other, one in zip(slot, sure, strict=True) if other == word] if word else [nothing] * len(has)
        )
        share = sum(has) / sum(votes)
        mean = max(trust) if by == "maximum" else sum(map(mul, trust, has)) / sum(has)
        scores[word] = share if by == "frequency" else alpha * share + (1 - alpha) * mean
    return next(word for word, score in scores.items() if score > max(scores.values()) - 1e-9)


def _plain(several: SystemOutputs, members: tuple[int, ...], utterance: int, how: RoverSettings) -> list[str]:
    """ROVER in plain Python; every word is tagged with its confidence by counting it off."""
    slots: list[Slot] = []
    for number, member in enumerate(members):
        words = list(several.outputs[member].words(utterance))
        slots = _joined(slots, number, words)
    sure = []
    for member in members:
        each = several.outputs[member]
        values = each.calibrated if how.calibrated else each.confidence
        assert values is not None
        sure.append(iter(values[each.offsets[utterance] : each.offsets[utterance + 1]].tolist()))
    heard = []
    for slot in slots:
        trust = [next(one) if word else 0.0 for word, one in zip(slot, sure, strict=True)]
        votes = how.votes_of([several.names[member] for member in members])
        heard.append(_winner(slot, trust, votes, how))
    return [word for word in heard if word]


@given(several(), SETTINGS)
@settings(max_examples=200)
def test_as_in_plain_python(recognizers: SystemOutputs, how: RoverSettings) -> None:
    every = tuple(range(len(recognizers.names)))
    found = rover(recognizers, how)
    for utterance in range(len(recognizers)):
        assert list(found.words(utterance)) == _plain(recognizers, every, utterance, how)


def _reference(recognizers: SystemOutputs, utterance: int) -> list[str]:
    first, last = recognizers.reference_offsets[utterance : utterance + 2]
    said = recognizers.reference_words[first:last]
    return list(recognizers.outputs[0].vocabulary.lookup(said.tolist()))


@given(several(max_utterances=2), SETTINGS, st.randoms(use_true_random=False))
def test_all_subsets_at_once(recognizers: SystemOutputs, how: RoverSettings, random: object) -> None:
    count = len(recognizers.names)
    subsets = [order for size in range(1, count + 1) for order in permutations(range(count), size)]
    random.shuffle(subsets)  # type: ignore[attr-defined]
    errors = rover_errors(recognizers, subsets[:20], how)
    for row, subset in enumerate(subsets[:20]):
        for utterance in range(len(recognizers)):
            found = align(_reference(recognizers, utterance), _plain(recognizers, subset, utterance, how))
            assert errors[row, utterance] == found.substitutions + found.deletions + found.insertions


@given(several(), SETTINGS, st.integers(2, 4))
def test_with_copies_of_itself_nothing_changes(recognizers: SystemOutputs, how: RoverSettings, copies: int) -> None:
    first, other = recognizers.outputs[0], recognizers.outputs[0]
    other = replace(other, confidence=other.calibrated, calibrated=other.confidence)
    same = replace(recognizers, names=tuple("abcd"[:copies]), outputs=(first, other, first, other)[:copies])
    found = rover(same, how)
    assert found.word.tolist() == first.word.tolist()
    assert found.offsets.tolist() == first.offsets.tolist()
    assert rover_errors(same, [tuple(range(copies))], how)[0].tolist() == recognizers.errors[0].tolist()


def test_one_setting_for_each_subset() -> None:
    both = side_by_side({"A": outputs(["b"], [0.2]), "B": outputs(["c"], [0.9]), "C": outputs(["b"], [0.1])}, ["c"])
    subsets, by_frequency, by_most = [(0, 1), (0, 2), (0, 1, 2)], RoverSettings(), RoverSettings("maximum", 0.0)
    assert rover_errors(both, subsets, by_frequency)[:, 0].tolist() == [1, 1, 1]
    assert rover_errors(both, subsets, by_most)[:, 0].tolist() == [0, 1, 0]
    assert rover_errors(both, subsets, [by_most, by_most, by_frequency])[:, 0].tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="1 settings for 3 subsets"):
        rover_errors(both, subsets, [by_most])


@given(several())
@settings(max_examples=30)
def test_tuned_settings_make_the_fewest_errors(recognizers: SystemOutputs) -> None:
    subsets = list(combinations(range(len(recognizers.names)), 2))
    tried = [RoverSettings(), *grid(calibrated=True)[1::9]]
    found = tune_rover(recognizers, subsets, tried)
    for subset, best in zip(subsets, found, strict=True):
        errors = [int(rover_errors(recognizers, [subset], one).sum()) for one in tried]
        assert best == tried[int(np.argmin(errors))]


def test_unless_told_otherwise_calibrated_confidences_are_tuned() -> None:
    calibrated = outputs(["b"], [0.9], calibrated=[0.1])
    both = side_by_side({"A": calibrated, "B": outputs(["c"], [0.2], calibrated=[0.8])}, ["c"])
    (found,) = tune_rover(both, [(0, 1)])
    assert found.calibrated
    assert rover_errors(both, [(0, 1)], found).tolist() == [[0]]


def test_votes_by_error_rate_are_tuned() -> None:
    """The best of three is outvoted by the other two, unless it has more votes."""
    said = ["a b c d", "e f g h"]
    texts = {"A": said, "B": ["a b c x", "e f g y"], "C": ["a b z x", "e f w y"]}
    three = side_by_side({name: outputs(text, None) for name, text in texts.items()}, said)
    (found,) = tune_rover(three, [(0, 1, 2)])
    assert rover_errors(three, [(0, 1, 2)], RoverSettings()).sum() > 0
    assert rover_errors(three, [(0, 1, 2)], found).sum() == 0
    votes = dict(found.votes)
    assert votes["A"] > votes["B"] > votes["C"]
    assert RoverSettings(**found.to_dict()) == found
    with pytest.raises(OptionError, match="more than 0 votes"):
        RoverSettings(votes=(("A", 0.0),))


def test_the_unknown_word_is_never_right() -> None:
    both = side_by_side({"A": ["<unk>"], "B": ["<unk>"]}, ["<unk>"])
    assert rover_errors(both, [(0, 1)], RoverSettings()).tolist() == [[1]]


def test_without_confidences_they_vote_by_frequency() -> None:
    both = side_by_side({"A": outputs(["a b"], None), "B": outputs(["a c"], 0.5)}, ["a"])
    found = rover(both)
    assert found.words(0) == ("a", "b")
    assert found.confidence is None
    with pytest.raises(OptionError, match="the words of A have no confidences: vote by frequency"):
        rover(both, RoverSettings("average", 0.5))
    with pytest.raises(OptionError, match="the words of A have no calibrated confidences"):
        rover(both, RoverSettings("average", 0.5, calibrated=True))


def test_bad_settings() -> None:
    with pytest.raises(OptionError, match="by frequency, average, maximum, not by 'most'"):
        RoverSettings("most")
    with pytest.raises(OptionError, match=r"from 0 to 1, not 2 and 0\.0"):
        RoverSettings("average", 2)
    both = side_by_side({"A": outputs(["a"], calibrated=[1]), "B": outputs(["a"], calibrated=[1])}, ["a"])
    with pytest.raises(OptionError, match="raw and calibrated"):
        tune_rover(both, [(0, 1)], [RoverSettings("average", 0.5), RoverSettings("average", 0.5, calibrated=True)])
    with pytest.raises(ValueError, match="each of them once"):
        rover_errors(both, [(0, 0)], RoverSettings())


def test_settings_are_kept_as_json() -> None:
    for one in grid(calibrated=True):
        assert RoverSettings(**one.to_dict()) == one


def test_too_long_to_align() -> None:
    long = " ".join(["a"] * 33_000)
    both = side_by_side({"A": [long], "B": [long]}, ["a"])
    for work in (lambda: rover(both), lambda: rover_errors(both, [(0, 1)], RoverSettings())):
        with pytest.raises(InputError, match=r"utterance u0: 66,000 words of 2 recognizers.*Cut the recording"):
            work()


def test_two_spellings_of_a_word_are_one_vote() -> None:
    said = {"a": "met 6 dogs", "b": "met sick dogs", "c": "met six dogs"}
    systems = {name: SystemOutput.one_best(from_nbest({"u": [(text, -1.0)]})) for name, text in said.items()}
    references = {"u": Reference("u", "", ("met", "six", "dogs"))}
    lenient = SystemOutputs.of(systems, references)
    strict = SystemOutputs.of(systems, references, how=Comparison("wordtrust", equate=NONE))
    assert rover(lenient.subset(["b", "a", "c"])).words(0) == ("met", "6", "dogs")
    assert rover(strict.subset(["b", "a", "c"])).words(0) == ("met", "sick", "dogs")  # a tie, to the first
    assert rover_errors(lenient, [(1, 0, 2), (1, 2, 0)], RoverSettings()).tolist() == [[1], [0]]  # as it is written
